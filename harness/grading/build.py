"""From a grader's declaration in a study to the grader."""

from __future__ import annotations

from harness.grading.exact import ExactGrader
from harness.grading.protocol import Grader
from prereg import sources


def make_grader(spec: sources.Grader) -> Grader:
    """The grader that a study declares. Close it, or use it in a `with`: it may hold processes."""
    if isinstance(spec, sources.ExactGrader):
        return ExactGrader(spec)
    from harness.grading.math import MathGrader

    return MathGrader(spec)
