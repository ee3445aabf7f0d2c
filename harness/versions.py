"""What a result depends on besides the study: packages, interpreter, machine, and the code itself."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath

from prereg.canonical import digest_of
from prereg.digests import digest_folder
from prereg.lock import CodeVersion

DISTRIBUTION = "matched-compute-harness"
ROOMS = ("harness", "prereg", "reports", "trainers")
PACKAGES = (
    "duckdb", "math-verify", "matplotlib", "numpy", "pandas", "peft", "pyarrow", "pydantic", "rfc8785",
    "ruamel.yaml", "safetensors", "scipy", "statsmodels", "tokenizers", "torch", "transformers", "typst",
)  # fmt: skip
"""Packages whose version is locked and reported."""


def environment() -> dict[str, str]:
    """Versions of the interpreter, the machine and every package that a result depends on."""
    found = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "(not installed)"
    return found


def code_version() -> CodeVersion:
    """The installed package: its version, a digest of its source files, and the commit of a work tree."""
    root = Path(__file__).resolve().parent.parent
    rooms = {room: digest_folder(root / room, _is_source).sha256 for room in ROOMS}
    commit, dirty = _git_state(root)
    try:
        installed = version(DISTRIBUTION)
    except PackageNotFoundError:
        installed = "(not installed)"
    return CodeVersion(version=installed, sha256=digest_of(rooms), commit=commit, dirty=dirty)


def _is_source(path: PurePosixPath) -> bool:
    return "__pycache__" not in path.parts and path.suffix not in (".pyc", ".pyo")


def _git_state(root: Path) -> tuple[str | None, bool]:
    """The commit of a work tree, and whether the code differs from it; (None, False) once installed."""
    if not (root / ".git").exists():
        return None, False
    try:
        commit = _git(root, "rev-parse", "HEAD")
        return commit or None, bool(_git(root, "status", "--porcelain", "--", *ROOMS))
    except (OSError, subprocess.SubprocessError):
        return None, False


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.strip()
