"""How commands speak: documents on stdout, everything else on stderr, an exit code that means something."""

from __future__ import annotations

import json
import sys
from typing import Any, NoReturn

from prereg.problems import LockMismatch, Refused

DONE, BUG, USAGE, REFUSED, MISMATCH, SOME_FAILED, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
"""Exit codes: done; a bug; usage; a study or input refused; not as locked; some runs failed; interrupted."""


def emit(document: Any) -> None:
    """Print one JSON document on stdout."""
    print(json.dumps(document, indent=1, sort_keys=True, default=str))


def note(line: str) -> None:
    """Print a line for the person, on stderr."""
    print(line, file=sys.stderr, flush=True)


def refuse(error: Refused, *, as_json: bool = False) -> NoReturn:
    """Print every problem and exit with 3, or 4 where something is not as it was locked."""
    code = MISMATCH if isinstance(error, LockMismatch) else REFUSED
    if as_json:
        problems = [
            {
                "message": p.message, "field": ".".join(map(str, p.path)) or None, "file": p.file,
                "line": p.line, "column": p.column, "hint": p.hint,
            }
            for p in error.problems
        ]  # fmt: skip
        emit({"refused": problems, "exit_code": code})
    else:
        for problem in error.problems:
            note(str(problem))
    sys.exit(code)
