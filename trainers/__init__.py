"""One training run: the update, credit, reward, selection and engines.

What a run needs of the world (a meter, a grader, a clock) is passed in behind protocols that this package
owns, so that a method can be read, tested and used without the harness.
"""
