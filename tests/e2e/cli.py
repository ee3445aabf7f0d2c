"""Calling the command line as a user does: a process of its own, and what it printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ENVIRONMENT = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "COLUMNS": "200"}


@dataclass(frozen=True, slots=True)
class Called:
    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


def harness(*arguments: str, folder: Path, timeout: float = 240, **environment: str) -> Called:
    """Run `harness ARGUMENTS` in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "harness", *arguments], cwd=folder, capture_output=True, text=True,
        timeout=timeout, env=os.environ | ENVIRONMENT | environment, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return Called(done.returncode, done.stdout, done.stderr)
