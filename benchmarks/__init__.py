"""What the project costs, as ratios measured in one run: `python -m benchmarks`, or one by its name.

Every script measures its peer and ours in the same process or in children started in turn, in rounds
A B A B, and holds ratios against targets. Absolute seconds belong to the machine that is named beside them.
"""
