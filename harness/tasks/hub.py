"""Files of data sets on the Hugging Face Hub, at a pinned revision: into the local cache, never executed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from harness.hubaccess import hub_reachable, is_network_failure
from prereg.problems import Problem, Refused, Unreachable

READABLE = {".jsonl": "jsonl", ".json": "jsonl", ".csv": "csv", ".parquet": "parquet"}
"""File endings that are read, and how. Scripts and pickles are not among them."""


def hub_file(repository: str, revision: str, file: str) -> Path:
    """The local copy of one file, fetched if it is not in the cache yet.

    Raises Unreachable without a network, and Refused if there is no such data set, revision or file.
    """
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    _check_readable(repository, file)
    try:
        return Path(
            hf_hub_download(
                repository, file, repo_type="dataset", revision=revision, local_files_only=not hub_reachable()
            )
        )
    except LocalEntryNotFoundError as error:
        raise _unreachable(repository, revision, error) from error
    except EntryNotFoundError as error:
        message = f"the data set {repository} at {revision[:12]} has no file {file!r}"
        raise Refused(Problem(message)) from error
    except Exception as error:  # whatever the client raises is sorted, and a bug goes on as it is
        raise _failure(repository, revision, error) from error


def hub_split(repository: str, revision: str, config: str, split: str) -> list[Path]:
    """The local copies of the files of a split, in the order of their names.

    Raises as `hub_file` does, and Refused if no file of the repository bears the split's name.
    """
    from huggingface_hub import list_repo_files

    if not hub_reachable():
        raise _unreachable(
            repository, revision, OSError("its list of files needs the network; name the `file`")
        )
    try:
        names = list_repo_files(repository, repo_type="dataset", revision=revision)
    except Exception as error:
        raise _failure(repository, revision, error) from error
    files = files_of_split(names, config, split)
    if not files:
        listed = ", ".join(name for name in sorted(names) if PurePosixPath(name).suffix in READABLE)
        message = (
            f"the data set {repository} at {revision[:12]} has no file for split {split!r} of {config!r}"
        )
        hint = f"Name the `file`; it has {listed or 'none that can be read'}."
        raise Refused(Problem(message, hint=hint))
    return [hub_file(repository, revision, name) for name in files]


def files_of_split(names: Sequence[str], config: str, split: str) -> list[str]:
    """The files that hold a split by the Hub's conventions: `{split}.ext` or `{split}-*.ext`.

    They stand in the folder of the configuration, and for `default` also in `data` or at the top. Files of
    one folder and one ending are taken, the first of these places that has any.
    """
    folders = [config] + (["data", "."] if config == "default" else [f"data/{config}"])
    for folder in folders:
        for ending in READABLE:
            found = [
                name
                for name in sorted(names)
                if str(PurePosixPath(name).parent) == folder
                and PurePosixPath(name).suffix == ending
                and (PurePosixPath(name).stem == split or PurePosixPath(name).stem.startswith(f"{split}-"))
            ]
            if found:
                return found
    return []


def kind_of(file: str) -> str:
    """How a file is read, by its ending. Raises Refused for one that is not read."""
    ending = PurePosixPath(file).suffix
    if ending not in READABLE:
        hint = f"Only {', '.join(READABLE)} are read; scripts and pickles never are."
        raise Refused(Problem(f"{file!r} is not a data file", hint=hint))
    return READABLE[ending]


def _check_readable(repository: str, file: str) -> None:
    kind_of(file)
    if ".." in PurePosixPath(file).parts or PurePosixPath(file).is_absolute():
        raise Refused(Problem(f"{file!r} is not a path inside {repository}"))


def _failure(repository: str, revision: str, error: Exception) -> Exception:
    """What an error of the Hub's client means: nothing to be had from here, no such thing, or a bug."""
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError

    if isinstance(error, RepositoryNotFoundError | RevisionNotFoundError):
        message = f"there is no data set {repository} at {revision[:12]} on the Hub, or it is not public"
        return Refused(Problem(message, hint="Check id and revision; a gated one needs `hf auth login`."))
    if is_network_failure(error):
        return _unreachable(repository, revision, error)
    if isinstance(error, HfHubHTTPError | OSError):
        return Refused(Problem(f"the data set {repository} at {revision[:12]} cannot be had: {error}"))
    return error


def _unreachable(repository: str, revision: str, error: Exception) -> Unreachable:
    first = str(error).strip().splitlines()
    why = first[0] if first else type(error).__name__
    message = f"the data set {repository} at {revision[:12]} cannot be had from here: {why}"
    return Unreachable(Problem(message, hint="Check the network, or give a local copy."))
