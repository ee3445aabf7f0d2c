"""SHA-256 of files and folders, over what they hold and not over when or by whom they were written."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from prereg.canonical import digest_of
from prereg.problems import Problem, Refused


@dataclass(frozen=True, slots=True)
class FolderDigest:
    """A folder's SHA-256, and that of each file by its path within the folder."""

    sha256: str
    files: dict[str, str]


def read_file(path: Path, most: int = 1 << 24) -> bytes:
    """The bytes of a regular file of at most `most` bytes. Raises Refused if it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with open(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise Refused(Problem("it is not a regular file", file=str(path)))
            content = stream.read(most + 1)
    except OSError as error:
        raise _unreadable(path, error) from None
    if len(content) > most:
        raise Refused(Problem(f"it has more than {most} bytes", file=str(path)))
    return content


def digest_file(path: Path) -> str:
    """SHA-256 of a regular file's bytes. Raises Refused if it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with open(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise Refused(Problem("it is not a regular file", file=str(path)))
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(path, error) from None


def digest_folder(
    folder: Path, keep: Callable[[PurePosixPath], bool] = lambda _: True, *, links_may_leave: bool = False
) -> FolderDigest:
    """SHA-256 of the canonical JSON of {path within the folder: SHA-256 of the file}.

    `keep` chooses files by their path within the folder. A link to a file counts as the file; it may lead
    out of the folder only with `links_may_leave` (as in the cache of the Hugging Face Hub). A link to a
    folder is refused, since it can lead in a circle. Empty folders do not count.
    """
    root = Path(os.path.realpath(folder))
    files: dict[str, str] = {}

    def fail(error: OSError) -> None:
        raise _unreadable(Path(error.filename or folder), error)

    for here, folders, names in os.walk(folder, onerror=fail):
        for name in folders:
            if (link := Path(here, name)).is_symlink():
                raise Refused(
                    Problem("a link to a folder stands in a folder that is digested", file=str(link))
                )
        for name in names:
            path = Path(here, name)
            inside = PurePosixPath(path.relative_to(folder).as_posix())
            if not keep(inside):
                continue
            if not links_may_leave and not Path(os.path.realpath(path)).is_relative_to(root):
                raise Refused(Problem("a link leads out of the folder that is digested", file=str(path)))
            files[_name(inside, path)] = digest_file(path)
    ordered = dict(sorted(files.items()))
    return FolderDigest(digest_of(ordered), ordered)


def _name(inside: PurePosixPath, path: Path) -> str:
    """The path as text; a name whose bytes are not UTF-8 has no place in JSON."""
    try:
        str(inside).encode()
    except UnicodeEncodeError:
        raise Refused(Problem("the file's name is not UTF-8", file=repr(str(path)))) from None
    return str(inside)


def _unreadable(path: Path, error: OSError) -> Refused:
    return Refused(Problem(f"it cannot be read: {error.strerror or error}", file=str(path)))
