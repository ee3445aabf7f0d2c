"""Tasks from files with named columns: local ones, files of the Hub, and published sets by name."""

from __future__ import annotations

import difflib
import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from harness.tasks.columns import Columns, answer_of, column_of, identity_of, problem_of
from harness.tasks.findings import sift
from harness.tasks.hub import hub_file, hub_split, kind_of
from harness.tasks.problems import Task, TaskItem, digest_of
from harness.tasks.rows import Number, Row, read_csv, read_jsonl, read_parquet
from prereg.namedsets import NAMED
from prereg.problems import Problem, Refused
from prereg.sources import Contradictions, FileTask, HubTask, NamedTask, Repeats

_SHOWN = 10
"""Faulty rows that are listed before the rest is only counted."""


def read_task_file(source: FileTask, study_folder: Path) -> Task:
    """The problems of a local file, in the file's order.

    Raises Refused, naming file and line, if the file or a column is missing, a row cannot be read, an id
    stands twice, or a problem or answer is empty. Numbers become text (27.0 is "27"); that and problems
    that stand twice are remarked on.
    """
    columns = Columns(source.problem, source.answer, source.answer_rule, source.id)
    path = locate(source.path, study_folder)
    items, remarks = _read([path], source.kind, (columns,))
    return _task(path.stem, items, remarks, source, source.repeats, source.contradictions, str(path))


def read_hub_task(source: HubTask) -> Task:
    """The problems of a data set on the Hub. Raises as `read_task_file`, and Unreachable without a
    network."""
    columns = Columns(source.problem, source.answer, source.answer_rule, source.id_column)
    if source.file is not None:
        paths = [hub_file(source.id, source.revision, source.file)]
    else:
        paths = hub_split(source.id, source.revision, source.config, source.split)
    items, remarks = _read(paths, kind_of(paths[0].name), (columns,))
    name = PurePosixPath(source.id).name
    return _task(name, items, remarks, source, source.repeats, source.contradictions, source.id)


def read_named_task(source: NamedTask, study_folder: Path) -> Task:
    """A published set, from a local copy or from the Hub, in whichever of its known layouts it comes.

    Raises as `read_task_file`, Unreachable without a network, and Refused if the number of problems is not
    that of any published copy.
    """
    named = NAMED[source.name]
    if source.path is not None:
        path = locate(source.path, study_folder)
    else:
        path = hub_file(named.id, source.revision or named.revision, named.file)
    layouts = tuple(
        Columns(one.problem, one.answer, one.rule, before=one.before, after=one.after)
        for one in named.layouts
    )
    items, remarks = _read([path], kind_of(path.name), layouts)
    if named.problems and len(items) not in named.problems:
        expected = " or ".join(str(number) for number in named.problems)
        message = f"{named.title} has {expected} problems, but this file holds {len(items)}"
        raise Refused(Problem(message, file=str(path), hint="Give the file as it was published."))
    repeats: Repeats = source.repeats or ("drop" if named.drops_repeats else "keep")
    against: Contradictions = source.contradictions or ("drop" if named.drops_repeats else "refuse")
    return _task(source.name, items, remarks, source, repeats, against, str(path))


def _task(
    name: str,
    items: list[TaskItem],
    remarks: list[str],
    source: FileTask | HubTask | NamedTask,
    repeats: Repeats,
    contradictions: Contradictions,
    place: str,
) -> Task:
    """The task that remains of the items after the source's rules."""
    sifted = sift(items, repeats, contradictions)
    kept = list(sifted.items)
    remarks = [*remarks, *sifted.remarks]
    too_long = 0
    if (most := source.max_characters) is not None:
        kept = [item for item in kept if len(item.problem) <= most]
        too_long = len(sifted.items) - len(kept)
        remarks.append(
            f"{too_long} of {len(sifted.items)} problems have more than {most} characters and were left out."
        )
    if not kept:
        raise Refused(Problem("no problem is left after the source's rules", file=place))
    if source.limit is not None:
        kept = _subset(kept, source.limit, source.subset_seed, place)
    return Task(name, tuple(kept), digest_of(kept), tuple(remarks), sifted.faults, too_long)


def locate(name: str, study_folder: Path) -> Path:
    """A file inside the study's folder. Raises Refused if it leaves the folder or is no regular file
    there."""
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts:
        hint = "Give a path relative to the study file, inside its folder."
        raise Refused(Problem(f"the path {name!r} leaves the study's folder", hint=hint))
    path = study_folder / relative
    if path.is_dir():
        raise Refused(Problem("a folder, not a file", file=str(path)))
    if path.exists() and not path.is_file():
        hint = "A pipe or a device gives no two readers the same rows; write them to a file."
        raise Refused(Problem("not a regular file", file=str(path), hint=hint))
    if not path.exists():
        there = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        raise Refused(Problem("there is no such file", file=str(path), hint=_nearest(path.name, there)))
    return path


def _nearest(name: str, names: Iterable[str]) -> str | None:
    near = difflib.get_close_matches(name, list(names), 1)
    return f"Did you mean {near[0]!r}?" if near else None


def _read(paths: Sequence[Path], kind: str, layouts: tuple[Columns, ...]) -> tuple[list[TaskItem], list[str]]:
    """The items of files that belong together; their rows are numbered through."""
    items: list[TaskItem] = []
    remarks: list[str] = []
    for path in paths:
        found, said = _items(path, kind, layouts, len(items))
        items.extend(found)
        remarks.extend(said)
    return items, remarks


def _rows(path: Path, kind: str, layouts: tuple[Columns, ...]) -> tuple[Columns, Iterator[Row]]:
    """The layout that fits the file, and its rows, read as they are asked for."""
    chosen = [layouts[0]]

    def wanted(there: list[str]) -> list[str]:
        chosen[0] = _fitting(path, layouts, there)
        return list(dict.fromkeys(c for n in chosen[0].wanted if (c := column_of(n, there))))

    rows = read_parquet(path, wanted) if kind == "parquet" else _text_rows(path, kind)
    first = next(rows, None)
    if first is None:
        return chosen[0], iter(())
    if kind != "parquet":
        chosen[0] = _fitting(path, layouts, list(first.values))
    return chosen[0], itertools.chain([first], rows)


def _text_rows(path: Path, kind: str) -> Iterator[Row]:
    return read_csv(path) if kind == "csv" else read_jsonl(path)


def _fitting(path: Path, layouts: tuple[Columns, ...], there: list[str]) -> Columns:
    for layout in layouts:
        if all(column_of(name, there) for name in layout.wanted):
            return layout
    missing = next(name for name in layouts[0].wanted if not column_of(name, there))
    raise _no_column(path, missing, there)


def _no_column(path: Path, name: str, there: Sequence[str]) -> Refused:
    listed = ", ".join(repr(column) for column in there) or "none"
    message = f"there is no column {name!r}; the columns are {listed}"
    return Refused(Problem(message, file=str(path), hint=_nearest(name, there)))


def _items(
    path: Path, kind: str, layouts: tuple[Columns, ...], before: int
) -> tuple[list[TaskItem], list[str]]:
    try:
        return _items_of(path, *_rows(path, kind, layouts), before)
    except OSError as error:
        raise Refused(Problem(f"cannot be read: {error.strerror or error}", file=str(path))) from None


def _items_of(
    path: Path, columns: Columns, rows: Iterator[Row], before: int
) -> tuple[list[TaskItem], list[str]]:
    faults: list[Problem] = []
    items: list[TaskItem] = []
    places: dict[str, Row] = {}
    numbers: list[Number] = []
    # Some training sets repeat each problem a hundred times: one copy of its text is enough.
    texts: dict[str, str] = {}
    for row in rows:
        try:
            identity = identity_of(row, columns)
            if columns.id is None:
                identity = str(row.number + before)
            if identity in places:
                raise ValueError(f"the id {identity!r} stands already {_place(places[identity])}")
            problem = problem_of(row, columns)
            answer = answer_of(row, columns, numbers)
        except ValueError as error:
            faults.append(row.problem(str(path), str(error)))
            continue
        places[identity] = row
        items.append(TaskItem(identity, texts.setdefault(problem, problem), answer))
    if not items and not faults:
        raise Refused(Problem("the file holds no rows", file=str(path)))
    if faults:
        more = [Problem(f"{len(faults) - _SHOWN} more rows are at fault", file=str(path))]
        raise Refused(*faults[:_SHOWN], *(more if len(faults) > _SHOWN else []))
    remarks = []
    if changed := [n for n in numbers if n.text != n.as_written]:
        example = f"{changed[0].as_written} as {changed[0].text!r}"
        remarks.append(f"{len(changed)} answers are numbers and were written as plain text, e.g. {example}.")
    return items, remarks


def _place(row: Row) -> str:
    return f"in row {row.number + 1}" if row.line is None else f"on line {row.line}"


def _subset(items: list[TaskItem], limit: int, seed: int, place: str) -> list[TaskItem]:
    """`limit` items by the hash of seed and id, in the file's order: the others do not matter for which."""
    if limit > len(items):
        message = f"`limit` asks for {limit} rows, but the file holds {len(items)}"
        raise Refused(Problem(message, file=place, hint="Leave `limit` out to take all rows."))
    rank = {item.id: hashlib.sha256(f"{seed}/{item.id}".encode()).digest() for item in items}
    chosen = set(sorted(rank, key=lambda identity: rank[identity])[:limit])
    return [item for item in items if item.id in chosen]
