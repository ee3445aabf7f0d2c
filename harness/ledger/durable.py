"""Writing so that it survives a crash, and saying plainly when a disk will not take it."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from prereg.problems import Problem, Refused

_FULL = {errno.ENOSPC, errno.EDQUOT}


def write_file(path: Path, data: bytes | memoryview) -> None:
    """Write a new file and flush it to the disk."""
    with open(path, "wb", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        os.fsync(file.fileno())


def flush(path: Path) -> None:
    """Flush a file's content, or a folder's list of names, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_tree(folder: Path) -> None:
    """Flush everything under a folder, and the folder itself last."""
    for directory, _, names in os.walk(folder, topdown=False):
        for name in names:
            flush(Path(directory, name))
        flush(Path(directory))


def replace_file(path: Path, data: bytes) -> None:
    """Replace a small file whole, without waiting for the disk: a reader sees the old or the new."""
    aside = path.with_name(f"{path.name}.tmp")
    aside.write_bytes(data)
    os.replace(aside, path)


@contextlib.contextmanager
def disk_errors_explained(folder: Path, doing: str) -> Iterator[None]:
    """Turn an OSError of the block into a Refused that names the folder, and its free space if it is full."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            message = f"{doing}: no space left in {folder} ({_free(folder)})"
            hint = "Free some space, then give the command again; it continues at the last commit."
        else:
            message = f"{doing}: {error.strerror or error}"
            hint = f"Check that {folder} can be written to, then give the command again."
        raise Refused(Problem(message, file=str(error.filename or folder), hint=hint)) from error


def _free(folder: Path) -> str:
    with contextlib.suppress(OSError):
        return f"{shutil.disk_usage(folder).free / 2**20:.1f} MiB free"
    return "free space unknown"
