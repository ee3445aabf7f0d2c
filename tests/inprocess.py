"""Calling the command line in this process: quicker than a process of its own, where many calls are made."""

from __future__ import annotations

import contextlib
import io
import sys
from unittest.mock import patch

from harness.cli import main


def called(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of `harness ARGUMENTS`, in this process."""
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["harness", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()
