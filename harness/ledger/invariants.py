"""Conservation: what was generated is what was charged, step by step, and the running totals say the same.

Checked over the rows of each commit together with the totals of the commits before it, so that no commit
can be written after which the ledger as a whole would disagree with itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from harness.ledger.columns import LedgerInvariantError
from harness.ledger.schema import PURPOSES, UNCHARGED_PHASES

_RELATIVE, _ABSOLUTE = 1e-9, 1e-6
"""Slack for sums of seconds and operations, which depend on the order of addition; tokens are exact."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What is charged to the training budget: tokens, device-seconds and floating-point operations."""

    generated_tokens: int = 0
    device_seconds: float = 0.0
    flops: float = 0.0

    def __add__(self, other: Charge) -> Charge:
        return Charge(
            self.generated_tokens + other.generated_tokens,
            self.device_seconds + other.device_seconds,
            self.flops + other.flops,
        )


@dataclass(frozen=True, slots=True)
class Totals:
    """Running totals after a commit; kept in its manifest."""

    tokens: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(PURPOSES, 0))
    """Generated tokens by purpose."""
    updates: int = 0
    """Step of the last row of `updates`."""
    charged: Charge = Charge()
    """All that was charged in steps up to `updates`."""
    pending: Mapping[int, Charge] = field(default_factory=dict)
    """What was charged in later steps, whose update is not written yet, by step."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """Rows by table."""

    def to_json(self) -> dict[str, Any]:
        return {
            "tokens": dict(self.tokens),
            "updates": self.updates,
            "charged": _charge_json(self.charged),
            "pending": {str(step): _charge_json(charge) for step, charge in self.pending.items()},
            "rows": dict(self.rows),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Totals:
        return Totals(
            dict(data["tokens"]),
            int(data["updates"]),
            Charge(*data["charged"]),
            {int(step): Charge(*charge) for step, charge in data["pending"].items()},
            dict(data["rows"]),
        )


def advance(before: Totals, tables: Mapping[str, pa.Table]) -> Totals:
    """The totals after a commit of `tables`. Raises LedgerInvariantError where conservation fails."""
    generated, charged_tokens = _generated(tables), _cost_tokens(tables.get("costs"))
    for key in sorted(generated.keys() | charged_tokens.keys(), key=str):
        if generated.get(key, 0) != charged_tokens.get(key, 0):
            where = f"step {key[0]}, " if key[0] is not None else ""
            raise LedgerInvariantError(
                f"{where}{key[1]}: the rows hold {generated.get(key, 0)} generated tokens,"
                f" the costs {charged_tokens.get(key, 0)}"
            )
    _check_evaluations(tables)
    _check_token_rows(tables)
    _check_continuations(tables)
    tokens = {p: before.tokens[p] + sum(n for (_, q), n in generated.items() if p == q) for p in PURPOSES}
    updates, charged, pending = _follow_updates(before, tables)
    rows = {
        name: before.rows.get(name, 0) + (len(tables[name]) if name in tables else 0)
        for name in sorted({*before.rows, *tables})
    }
    return Totals(tokens, updates, charged, pending, rows)


def _charge_json(charge: Charge) -> list[float]:
    return [charge.generated_tokens, charge.device_seconds, charge.flops]


def _sums(table: pa.Table, keys: list[str]) -> dict[tuple[Any, ...], int]:
    grouped = table.group_by(keys, use_threads=False).aggregate([("generated_tokens", "sum")])
    columns = [grouped[name].to_pylist() for name in keys]
    return dict(zip(zip(*columns, strict=True), grouped["generated_tokens_sum"].to_pylist(), strict=True))


def _generated(tables: Mapping[str, pa.Table]) -> dict[tuple[Any, ...], int]:
    """Tokens of the generated rows by (step, purpose).

    Evaluation is summed over steps: its rows name the policy, its costs the update during which it ran.
    """
    found: dict[tuple[Any, ...], int] = {}
    if "sequences" in tables:
        found |= _sums(tables["sequences"], ["step", "purpose"])
    for name in ("samples", "reevaluations"):
        if name in tables:
            tokens = pc.sum(tables[name]["generated_tokens"]).as_py() or 0
            found[None, "evaluation"] = found.get((None, "evaluation"), 0) + tokens
    return {key: n for key, n in found.items() if n}


def _cost_tokens(costs: pa.Table | None) -> dict[tuple[Any, ...], int]:
    if costs is None:
        return {}
    found = {key: n for key, n in _sums(costs, ["step", "purpose"]).items() if n}
    if unnamed := [step for step, purpose in found if purpose is None]:
        raise LedgerInvariantError(f"step {unnamed[0]}: costs hold generated tokens without a purpose")
    evaluation = sum(n for (_, purpose), n in found.items() if purpose == "evaluation")
    trained = {key: n for key, n in found.items() if key[1] != "evaluation"}
    return trained | ({(None, "evaluation"): evaluation} if evaluation else {})


def _check_evaluations(tables: Mapping[str, pa.Table]) -> None:
    keys = ["step", "benchmark"]
    stated = _sums(tables["evaluations"], keys) if "evaluations" in tables else {}
    sampled = _sums(tables["samples"], keys) if "samples" in tables else {}
    for key in sorted(stated.keys() | sampled.keys()):
        if stated.get(key) != sampled.get(key):
            raise LedgerInvariantError(
                f"step {key[0]}, benchmark {key[1]}: evaluations hold {stated.get(key)} generated tokens,"
                f" samples {sampled.get(key)}"
            )


def _check_token_rows(tables: Mapping[str, pa.Table]) -> None:
    """Each row of `tokens` belongs to a rollout of that step, group and sample, and is as long as it."""
    if "tokens" not in tables:
        return
    tokens = tables["tokens"]
    lengths = pc.list_value_length(tokens["token_id"]).to_numpy()
    for name in ("logprob", "entropy", "margin", "credit"):
        if not np.array_equal(pc.list_value_length(tokens[name]).to_numpy(), lengths):
            raise LedgerInvariantError(f"tokens.{name}: its lists are not as long as those of token_id")
    if "sequences" not in tables:
        raise LedgerInvariantError("tokens without their sequences")
    sequences = _of_purpose(tables["sequences"], "rollout")
    mine = _rows_of(tokens, lengths)
    theirs = _rows_of(sequences, sequences["generated_tokens"].to_numpy())
    if np.array_equal(mine, theirs):
        return
    strange = ~np.isin(mine, theirs)
    if strange.any():
        step, group, sample, length = mine[int(np.argmax(strange))].item()
        raise LedgerInvariantError(
            f"tokens: step {step}, group {group}, sample {sample} has {length} tokens;"
            " no rollout of that name has so many"
        )


def _check_continuations(tables: Mapping[str, pa.Table]) -> None:
    """A continuation says what it scores: a prefix, shorter than the whole, of a rollout of its step."""
    if "sequences" not in tables:
        return
    sequences = tables["sequences"]
    continued = pc.equal(sequences["purpose"], "continuation")
    for name in ("boundary", "kept_tokens", "repeat"):
        if not pc.all(pc.equal(pc.is_valid(sequences[name]), continued)).as_py():
            raise LedgerInvariantError(
                f"sequences.{name}: set for exactly the continuations, but here it is not"
            )
    rows = sequences.filter(continued)
    if not len(rows):
        return
    rollouts = _of_purpose(sequences, "rollout")
    lengths = dict(zip(_names_of(rollouts), rollouts["generated_tokens"].to_pylist(), strict=True))
    for row, kept in zip(_names_of(rows), rows["kept_tokens"].to_pylist(), strict=True):
        if not 0 <= kept < lengths.get(row, 0):
            step, group, sample = row
            raise LedgerInvariantError(
                f"sequences: step {step} continues {kept} tokens of group {group}, sample {sample},"
                f" which has {lengths.get(row, 0)}"
            )


def _of_purpose(sequences: pa.Table, purpose: str) -> pa.Table:
    return sequences.filter(pc.equal(sequences["purpose"], purpose))


def _names_of(sequences: pa.Table) -> list[tuple[int, int, int]]:
    columns = (sequences[name].to_pylist() for name in ("step", "group_id", "sample"))
    return list(zip(*columns, strict=True))


def _rows_of(table: pa.Table, lengths: NDArray[Any]) -> NDArray[Any]:
    rows = np.empty(len(table), dtype=[("step", "i4"), ("group", "i4"), ("sample", "i4"), ("length", "i4")])
    for field_name, column in (("step", "step"), ("group", "group_id"), ("sample", "sample")):
        rows[field_name] = table[column].to_numpy()
    rows["length"] = lengths
    return rows


def _follow_updates(before: Totals, tables: Mapping[str, pa.Table]) -> tuple[int, Charge, dict[int, Charge]]:
    pending = dict(before.pending)
    for step, charge in _charges(tables.get("costs")):
        if before.updates and step <= before.updates and charge != Charge():
            raise LedgerInvariantError(
                f"step {step}: a cost is charged after the totals of update {before.updates} were committed"
            )
        pending[step] = pending.get(step, Charge()) + charge
    updates, charged = before.updates, before.charged
    if "updates" in tables:
        names = ["step", "cum_updates", "cum_generated_tokens", "cum_device_seconds", "cum_train_flops"]
        for step, cum_updates, tokens, seconds, flops in zip(
            *(tables["updates"][name].to_pylist() for name in names), strict=True
        ):
            if not step == cum_updates == updates + 1:
                raise LedgerInvariantError(
                    f"updates: step {step} with cum_updates {cum_updates} follows update {updates}"
                )
            updates = step
            for due in [s for s in sorted(pending) if s <= step]:
                charged += pending.pop(due)
            _compare(step, "cum_generated_tokens", tokens, charged.generated_tokens, exact=True)
            _compare(step, "cum_device_seconds", seconds, charged.device_seconds)
            _compare(step, "cum_train_flops", flops, charged.flops)
    return (
        updates,
        charged,
        {s: c for s, c in pending.items() if (s > updates or not updates) and c != Charge()},
    )


def _charges(costs: pa.Table | None) -> list[tuple[int, Charge]]:
    if costs is None:
        return []
    names = ["step", "phase", "purpose", "generated_tokens", "device_seconds", "flops"]
    rows = zip(*(costs[name].to_pylist() for name in names), strict=True)
    found = []
    for step, phase, purpose, tokens, seconds, flops in rows:
        if tokens < 0 or seconds < 0 or flops < 0:
            raise LedgerInvariantError(f"step {step}, phase {phase}: a negative cost")
        if (purpose == "evaluation") != (phase == "evaluate") and tokens:
            raise LedgerInvariantError(f"step {step}: {tokens} tokens of {purpose} in phase {phase}")
        if phase not in UNCHARGED_PHASES:
            found.append((step, Charge(tokens, seconds, flops)))
    return found


def _compare(step: int, column: str, found: float, expected: float, *, exact: bool = False) -> None:
    near = found == expected if exact else math.isclose(
        found, expected, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE
    )  # fmt: skip
    if not near:
        raise LedgerInvariantError(
            f"updates: step {step}: {column} is {found}, but the costs so far sum to {expected}"
        )
