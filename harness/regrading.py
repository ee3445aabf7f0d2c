"""Grading stored texts again, without sampling: `harness regrade`. Both verdicts are kept; none is
overwritten.

Beside a run's ledger, in `regrades/`, each regrading is two files: `001.parquet` with a row a sample, and
`001.json`
with the graders' versions and digests. A regrading by the study's own grader makes samples usable of which
nothing was
known, because the grader had failed. It changes no other verdict: the report counts how many it would have
changed.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from harness.cells import Cell, every_cell
from harness.chain import read_chain, verify_log
from harness.folders import read_json, write_json
from harness.golds import Golds, read_golds
from harness.grading.build import make_grader
from harness.grading.second import VERSION as SECOND
from harness.grading.second import opinion
from harness.ledger.duck import connect
from harness.ledger.reader import RunLedger, content_digest, read_run
from harness.now import utc_now
from harness.roots import StudyRoot
from prereg.events import append_event
from prereg.layout import StudyLayout
from prereg.lock import Lock, utc_text
from prereg.problems import LockMismatch, Problem, Refused
from prereg.source import LoadedStudy, load_study
from prereg.sources import Benchmark
from prereg.study import Study
from prereg.whole import write_whole

GraderChoice = Literal["study", "second"]

FOLDER = "regrades"
AT_ONCE = 5_000
"""Samples whose texts are held in memory together."""
NO_OPINION = "no_opinion"
VERDICTS = ("correct", "incorrect", "unparseable", "limit")
"""States that make a sample usable."""

SCHEMA = pa.schema([
    ("run_id", pa.string()), ("number", pa.int32()), ("grader", pa.string()), ("step", pa.int32()),
    ("benchmark", pa.string()), ("problem_id", pa.string()), ("sample", pa.int32()),
    ("state_before", pa.string()), ("state", pa.string()),
])  # fmt: skip
"""Columns of a regrading: `state_before` is the ledger's verdict, `state` the new one."""


@dataclass(frozen=True, slots=True)
class Regraded:
    """One regrading of one run."""

    run_id: str
    number: int
    """From 1, within the run."""
    samples: int
    changed: int
    """Samples whose state is not what it was."""
    usable: int
    """Samples whose grader had failed, and that have a verdict now."""
    file: Path

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self) | {"file": str(self.file)}


@dataclass(frozen=True, slots=True)
class Regrading:
    """What `harness regrade` did."""

    done: tuple[Regraded, ...]
    passed_over: tuple[str, ...]
    """Runs that are not finished."""


def regrade_study(path: Path, *, which: GraderChoice = "study", exploratory: bool = False) -> Regrading:
    """Grade the evaluation samples of every finished run again, by the study's grader or by the second one.

    Raises Refused if no run is finished or a problem set cannot be had, and LockMismatch if the records were
    altered or a problem set is not the one that was locked.
    """
    loaded, root, lock = _opened(path, exploratory)
    if not _graded_by(loaded.study, which):
        hint = "The second grader reads the answer in a `\\boxed{}`, which only the math grader asks for."
        raise Refused(Problem("no benchmark of this study is graded by `math`", file=str(path), hint=hint))
    golds = read_golds(loaded, lock)
    done, passed_over = [], []
    for cell in every_cell(loaded.study):
        folder = root.folder(cell)
        run = read_run(folder.path) if folder.finished else None
        if run is None:
            passed_over.append(cell.run_id)
            continue
        done.append(_regrade(root, cell, run, golds, which, lock))
    if not done:
        hint = "Run the study first: `harness run`."
        raise Refused(
            Problem("there is nothing to grade again: no run is finished", file=str(root.runs), hint=hint)
        )
    return Regrading(tuple(done), tuple(passed_over))


def _opened(path: Path, exploratory: bool) -> tuple[LoadedStudy, StudyRoot, Lock | None]:
    loaded = load_study(path)
    if exploratory:
        root = StudyRoot.apart(loaded)
        return root.loaded, root, None  # the study with the overrides of its runs
    layout = StudyLayout.of(path)
    chain = read_chain(layout)
    if damaged := verify_log(layout, chain):
        raise LockMismatch(*damaged)
    return loaded, StudyRoot.locked(loaded, chain[-1].sha256), chain[-1]


def _regrade(
    root: StudyRoot, cell: Cell, run: RunLedger, golds: Golds, which: GraderChoice, lock: Lock | None
) -> Regraded:
    folder = run.folder / FOLDER
    folder.mkdir(exist_ok=True)
    number = max((int(p.stem) for p in folder.glob("*.json") if p.stem.isdigit()), default=0) + 1
    tables, versions = [], {}
    with connect([run]) as connection:
        for name, benchmark in _graded_by(root.loaded.study, which).items():
            part, versions[name] = _benchmark(connection, name, benchmark, golds, which)
            tables.append(part.append_column("number", pa.array([number] * len(part), pa.int32())))
    table = pa.concat_tables(tables).append_column(
        "grader", pa.array([which] * sum(map(len, tables)), pa.string())
    )
    run_column = pa.array([run.run_id] * len(table), pa.string())
    table = table.append_column("run_id", run_column).select(SCHEMA.names).cast(SCHEMA)
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    content = sink.getvalue()
    target = folder / f"{number:03d}.parquet"
    write_whole(target, content)
    before, after = table["state_before"].to_pylist(), table["state"].to_pylist()
    result = Regraded(
        run.run_id, number, len(table),
        sum(_changed(b, a, which) for a, b in zip(after, before, strict=True)),
        sum(b == "grader_error" and a in VERDICTS for a, b in zip(after, before, strict=True)),
        target,
    )  # fmt: skip
    now = utc_now()
    facts = {
        "run_id": run.run_id, "number": number, "grader": which, "at": utc_text(now), "versions": versions,
        "versions_before": _versions_before(lock), "content_digest": content_digest(run),
        "sha256": hashlib.sha256(content).hexdigest(), "samples": result.samples, "changed": result.changed,
        "usable": result.usable,
    }  # fmt: skip
    # The facts come last: a file without them was cut off, and is not read.
    write_json(target.with_suffix(".json"), facts)
    record = {"run": run.run_id, "number": number, "sha256": facts["sha256"]}
    summary = f"graded {cell.run_id} again ({which}): {result.changed} of {result.samples} verdicts differ"
    append_event(root.events, "regrade", summary, now, record)
    return result


def _versions_before(lock: Lock | None) -> dict[str, str]:
    """The graders' versions as the lock has them, by benchmark; empty apart from a lock."""
    found = {}
    for name, source in lock.sources.items() if lock is not None else ():
        if match := re.fullmatch(r"data\.benchmarks\.(.+)\.grader", name):
            found[match[1]] = source.what.removeprefix("the grader ")
    return found


def _benchmark(
    connection: duckdb.DuckDBPyConnection, name: str, benchmark: Benchmark, golds: Golds, which: GraderChoice
) -> tuple[pa.Table, str]:
    """The new states of a benchmark's samples, and the version of the grader that gave them."""
    stored = connection.sql(
        "SELECT s.step, s.benchmark, s.problem_id, s.sample, s.grader_state AS state_before, "
        "s.finish_reason, t.text FROM samples AS s JOIN texts AS t USING (text_digest) WHERE s.benchmark = ? "
        "ORDER BY s.step, s.problem_id, s.sample",
        params=[name],
    )
    reader = stored.to_arrow_reader(AT_ONCE)
    parts = []
    if which == "second":
        for batch in reader:
            parts.append(_with_states(batch, [_second(*one) for one in _rows(batch, golds, name)]))
        return _whole(parts), SECOND
    with make_grader(benchmark.grader) as grader:
        for batch in reader:
            rows = list(_rows(batch, golds, name))
            found = grader([g for g, _, _ in rows], [t for _, t, _ in rows], [f for _, _, f in rows])
            parts.append(_with_states(batch, [grade.state for grade in found]))
        return _whole(parts), grader.version


def _rows(batch: pa.RecordBatch, golds: Golds, benchmark: str) -> Iterator[tuple[str, str, bool]]:
    """Gold answer, text and whether it was finished, of each sample."""
    for problem, text, reason in zip(
        batch["problem_id"].to_pylist(),
        batch["text"].to_pylist(),
        batch["finish_reason"].to_pylist(),
        strict=True,
    ):
        yield golds[benchmark][problem], text, reason == "stop"


def _graded_by(study: Study, which: GraderChoice) -> dict[str, Benchmark]:
    """The benchmarks that a grader can grade: the second one reads boxes, and `exact` asks for none."""
    benchmarks = study.data.benchmarks
    if which == "study":
        return dict(benchmarks)
    return {name: one for name, one in benchmarks.items() if one.grader.kind == "math"}


def _changed(before: str, after: str, which: GraderChoice) -> bool:
    """Whether a verdict differs. Of the second grader's, where it has one: is the answer right."""
    if which == "study":
        return before != after
    if after == NO_OPINION:
        return False
    return before not in VERDICTS or (before == "correct") != (after == "correct")


def _second(gold: str, text: str, finished: bool) -> str:
    found = opinion(gold, text, finished)
    return NO_OPINION if found is None else "correct" if found else "incorrect"


def _with_states(batch: pa.RecordBatch, states: Sequence[str]) -> pa.Table:
    table = pa.Table.from_batches([batch]).drop_columns(["finish_reason", "text"])
    return table.append_column("state", pa.array(states, pa.string()))


def _whole(parts: list[pa.Table]) -> pa.Table:
    if parts:
        return pa.concat_tables(parts)
    names = ("step", "benchmark", "problem_id", "sample", "state_before", "state")
    return pa.schema([SCHEMA.field(name) for name in names]).empty_table()


def regrades_of(folder: Path) -> list[dict[str, Any]]:
    """The facts of a run's regradings, oldest first, each with `file`, its Parquet file.

    Raises LockMismatch if a file is not as it was written.
    """
    found = []
    for path in sorted((folder / FOLDER).glob("*.json")):
        facts = read_json(path)
        table = path.with_suffix(".parquet")
        content = table.read_bytes() if table.is_file() else b""
        if facts is None or hashlib.sha256(content).hexdigest() != facts.get("sha256"):
            hint = "Restore it from a copy, or move both files away and grade again."
            raise LockMismatch(Problem("this regrading is not as it was written", file=str(table), hint=hint))
        found.append(facts | {"file": table})
    return found


def attach(connection: duckdb.DuckDBPyConnection, runs: Iterable[RunLedger]) -> list[dict[str, Any]]:
    """Give samples whose grader had failed the verdict of the newest regrading by the study's grader.

    Changes the view `samples` of the connection; no other verdict changes. Returns the facts of all
    regradings.
    """
    facts = [one for run in runs for one in regrades_of(run.folder)]
    files = [str(one["file"]) for one in facts if one["grader"] == "study"]
    if files:
        connection.register("regraded", pq.ParquetDataset(files).read())
        connection.execute("ALTER VIEW samples RENAME TO samples_as_first_graded")
        connection.execute(_PATCHED)
    return facts


_PATCHED = """
CREATE VIEW samples AS
WITH newest AS (
    SELECT run_id, step, benchmark, problem_id, sample, arg_max(state, number) AS state
    FROM regraded WHERE state_before = 'grader_error' AND state <> 'grader_error'
    GROUP BY run_id, step, benchmark, problem_id, sample
)
SELECT s.* REPLACE (
    CASE WHEN n.state IS NULL THEN s.correct ELSE n.state = 'correct' END AS correct,
    coalesce(n.state, s.grader_state) AS grader_state
)
FROM samples_as_first_graded AS s
LEFT JOIN newest AS n ON s.grader_state = 'grader_error' AND s.run_id = n.run_id AND s.step = n.step
    AND s.benchmark = n.benchmark AND s.problem_id = n.problem_id AND s.sample = n.sample
"""
