"""A simulated study through the real report: the truth comes out again, and every page says what it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.ledger.invariants import Totals, advance
from harness.ledger.reader import content_digest, read_run
from harness.ledger.schema import TABLES
from harness.reporting import report_study
from harness.simulation.study import simulate_study
from harness.simulation.truth import Lengths, Truth
from harness.simulation.world import World, cut_share, draw_lengths
from prereg.problems import Refused
from tests.harness.simulation.truths import COST, LENGTHS, arm, study, truth, write


def exported(folder: Path, name: str) -> Any:
    return json.loads((folder / "study.simulated/report/tables" / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any]:
    folder = tmp_path_factory.mktemp("rehearsed")
    paths = write(folder)
    made = simulate_study(*paths)
    report = report_study(paths[0], exploratory=False, folder=None, simulated=True)
    return folder, made, report


def test_the_report_finds_the_true_effect(rehearsed: tuple[Path, Any, Any]) -> None:
    folder, made, _ = rehearsed
    (verdict,) = exported(folder, "verdicts")
    effect = verdict["effect"]
    assert made.effects["h1"] > 4
    assert abs(effect["estimate"] - made.effects["h1"]) < 3.5 * effect["se"]
    assert verdict["word"] == "UNREGISTERED"
    assert verdict["outcome"] == "CONFIRMED"


def test_every_page_is_marked_and_no_verdict_stands(rehearsed: tuple[Path, Any, Any]) -> None:
    folder, _, report = rehearsed
    assert report.verdicts == {"h1": "UNREGISTERED"}
    html = (folder / "study.simulated/report/report.html").read_text(encoding="utf-8")
    assert "SIMULATED: made up from a declared truth" in html
    assert "the runs were simulated: no model was trained" in html
    assert report.paths.pdf.read_bytes().startswith(b"%PDF-")
    assert not (folder / "study.report").exists()
    assert not (folder / "study.events.jsonl").exists()


def test_the_report_finds_the_true_costs(rehearsed: tuple[Path, Any, Any]) -> None:
    # By hand: 16 completions an update, of 20 + 10 (1 - exp(-.05 u)) tokens; the cap of 48 is five sds away.
    folder, _, _ = rehearsed
    tokens = sum(16 * (20 + 10 * (1 - np.exp(-0.05 * u))) for u in range(30))
    seconds = 30 * COST["seconds"] + COST["seconds_per_token"] * tokens
    rows = exported(folder, "evaluations")["rows"]
    at_end = [row for row in rows if row["updates"] == 30 and row["benchmark"] == "easy"]
    assert len(at_end) == 16
    assert np.mean([row["cost_generated_tokens"] for row in at_end]) == pytest.approx(tokens, rel=0.01)
    assert np.mean([row["cost_device_seconds"] for row in at_end]) == pytest.approx(seconds, rel=0.02)
    flops = np.mean([row["cost_train_flops"] for row in at_end])
    assert flops == pytest.approx(COST["flops_per_token"] * tokens, rel=0.01)


def test_the_ledger_is_one_that_the_reader_and_its_invariants_accept(
    rehearsed: tuple[Path, Any, Any],
) -> None:
    folder, made, _ = rehearsed
    place = folder / "study.simulated/mcpo.small.s3"
    run = read_run(place)
    assert run is not None
    tables = {name: run.table(name) for name in TABLES if len(run.table(name))}
    assert advance(Totals(), tables) == run.totals
    marker = json.loads((place / "complete.json").read_text())
    assert content_digest(run) == marker["content_digest"]
    problems = run.table("evaluations")["problems"].to_pylist()
    assert len(run.table("samples")) == 8 * sum(problems)
    assert made.samples > len(run.table("samples"))
    (place / "tables/samples.parquet").write_bytes(b"altered")
    with pytest.raises(Refused):
        read_run(place)


def test_the_same_truth_gives_the_same_study_and_another_seed_another(tmp_path: Path) -> None:
    digests = []
    for number, seed in enumerate((0, 0, 1)):
        folder = tmp_path / str(number)
        folder.mkdir()
        paths = write(folder, seed=seed)
        simulate_study(*paths, folder / "out")
        marker = json.loads((folder / "out/grpo.small.s1/complete.json").read_text())
        digests.append(marker["content_digest"])
    assert digests[0] == digests[1] != digests[2]


def test_failures_reach_the_report(tmp_path: Path) -> None:
    failing = {"grpo": arm(failures={"divergence": 1.0}), "mcpo": arm(failures={"crash": 1.0})}
    paths = write(tmp_path, study(seeds=[1, 2, 3]), arms=failing)
    simulate_study(*paths)
    report = report_study(paths[0], exploratory=False, folder=None, simulated=True)
    assert (report.finished, report.planned) == (3, 6)
    html = report.paths.html.read_text(encoding="utf-8")
    assert "Diverged: grpo.small.s1" in html
    assert "simulated crash after" in html
    (verdict,) = exported(tmp_path, "verdicts")
    assert verdict["outcome"] == "INADMISSIBLE"


def test_simulated_runs_among_others_still_mark_the_report(tmp_path: Path) -> None:
    paths = write(tmp_path, study(seeds=[1, 2]))
    simulate_study(*paths, tmp_path / "study.exploratory")
    report = report_study(paths[0], exploratory=True, folder=None)
    html = report.paths.html.read_text(encoding="utf-8")
    assert "SIMULATED: made up from a declared truth" in html


def test_only_a_simulation_is_replaced(tmp_path: Path) -> None:
    paths = write(tmp_path, study(seeds=[1, 2]))
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    with pytest.raises(Refused, match="holds something else"):
        simulate_study(*paths, other)
    assert (other / "thesis.txt").read_text() == "mine"
    simulate_study(*paths, tmp_path / "new")
    simulate_study(*paths, tmp_path / "new")


def test_budgets_out_of_reach_are_refused(tmp_path: Path) -> None:
    paths = write(tmp_path, study(budget={"generated_tokens": 10**12}))
    with pytest.raises(Refused, match="does not reach its budgets"):
        simulate_study(*paths)


def test_accuracies_are_those_declared() -> None:
    made = Truth.model_validate_json(json.dumps(truth()))
    world = World.of(made, "s", {"easy": 500, "hard": 400})
    assert world.chances("grpo", "easy", 0, 0.7).mean() == pytest.approx(0.5, abs=1e-9)
    assert world.chances("mcpo", "hard", 0, 0.0).mean() == pytest.approx(0.2, abs=1e-9)
    # At the end of learning: log-odds + gain, averaged by brute force over runs and problems.
    rng = np.random.default_rng(0)
    deviations = rng.normal(0, (0.2**2 + 0.1**2) ** 0.5, 4_000)
    odds = world.log_odds["easy"][None] + 1.0 + deviations[:, None] + world.own["grpo", "easy"][None]
    expected = 100 * float((1 / (1 + np.exp(-odds))).mean())
    assert world.accuracy("grpo", 10_000, {"easy": 1.0}, {"easy": 10_000}) == pytest.approx(expected, abs=0.2)
    # Without the spread of runs, the mean over log-odds would be another number.
    naive = 100 / (1 + np.exp(-float(world.log_odds["easy"].mean() + 1.0)))
    assert abs(naive - expected) > 1


def test_the_share_that_a_cap_cuts() -> None:
    lengths = Lengths(start=20, end=30, spread=0.4)
    drawn = draw_lengths(np.random.default_rng(0), lengths, 0.5, 36, (200_000,))
    share = cut_share(lengths, 0.5, 36)
    assert float((drawn == 36).mean()) == pytest.approx(share, abs=4 * (share / 200_000) ** 0.5)
    assert drawn.min() >= 1
    uncut = draw_lengths(np.random.default_rng(0), lengths, 0.5, 10_000, (200_000,))
    assert uncut.mean() == pytest.approx(25, rel=0.005)
    assert cut_share(Lengths(**(LENGTHS | {"spread": 0.0})), 1.0, 30) == 1.0
