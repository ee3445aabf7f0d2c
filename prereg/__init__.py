"""The plan of a study and its lock: what was decided before any run, and the proof of it.

This package imports nothing else of the project, so that a plan can be read, checked and verified
without a trainer, a model or a GPU.
"""
