"""The planned looks: what each says of every hypothesis, which one decides, and what came later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prereg.hypotheses import Hypothesis
from prereg.stopping import GroupSequential
from prereg.study import Study
from prereg.testkinds import BinomialScoreboard
from reports import words
from reports.content import Block, Column, Estimate, Listing, Prose, Section, Table, Value
from reports.looks import Judged, Made, Standing
from reports.scores import Evidence


@dataclass(frozen=True, slots=True)
class Stop:
    """A study that a look before its last has ended, as its plan allows."""

    look: int
    looks: int
    seeds: int
    """On which it stands."""
    unneeded: tuple[int, ...]
    """The seeds after them."""

    @property
    def _after(self) -> str:
        names = words.joined(tuple(map(str, self.unneeded)))
        return f"the seed {names} was" if len(self.unneeded) == 1 else f"the seeds {names} were"

    @property
    def line(self) -> str:
        """For the first page."""
        return (
            f"Stopped at look {self.look} of {self.looks} as planned, after {self.seeds} seeds: every "
            f"hypothesis was decided by then, and {self._after} not needed."
        )


def stop_of(study: Study, judged: Judged) -> Stop | None:
    """Where the study stopped; None if it needs, or needed, all of its seeds."""
    looks, look = study.looks, judged.look
    if look is None or look == len(looks):
        return None
    seeds = looks[look - 1].seeds
    unneeded = study.seeds[seeds:]
    return Stop(look, len(looks), seeds, unneeded) if unneeded else None


def standing_words(study: Study, standing: Standing) -> str:
    """`decided at look 1 of 2, after 3 of 5 seeds (...)`; empty where the number of seeds is fixed."""
    looks = study.looks
    if not isinstance(study.stopping, GroupSequential) or standing.look is None or not standing.made:
        return ""
    look = looks[standing.look - 1]
    head = "decided" if standing.decided else "judged"
    text = f"{head} at look {standing.look} of {len(looks)}, after {look.seeds} of {len(study.seeds)} seeds"
    later = any(one.look > standing.look for one in standing.made)
    after = "; the seeds after it are not in the verdict" if standing.decided and later else ""
    return f"{text} (its interval allows for its share of alpha, {100 * look.share:.3g} %){after}"


def spent_words(study: Study) -> str:
    """How a group-sequential plan spends alpha, to stand behind it; empty where seeds are fixed."""
    if not isinstance(study.stopping, GroupSequential):
        return ""
    parts = tuple(f"{100 * look.share:.3g} % after {look.seeds} seeds" for look in study.looks)
    return f" (spent at planned looks: {words.joined(parts)})"


def build(evidence: Evidence, judged: Judged) -> Section | None:
    """The section; None for a study with a fixed number of seeds."""
    study = evidence.study
    if not isinstance(study.stopping, GroupSequential):
        return None
    stop = stop_of(study, judged)
    blocks: list[Block] = [Prose(_RULE)]
    if stop is not None:
        blocks.append(Prose(stop.line))
    rows: list[tuple[Value, ...]] = []
    for hypothesis in study.hypotheses:
        if not isinstance(hypothesis.test, BinomialScoreboard):
            rows.extend(_rows(study, hypothesis, judged.standings[hypothesis.id]))
    blocks.append(Table("planned_looks", "What each look says", _COLUMNS, tuple(rows), _NOTE))
    if later := _later(study, judged.standings):
        blocks += [Prose("What came later, on seeds that no verdict uses:"), Listing(later)]
    return Section("planned-looks", "The planned looks", tuple(blocks))


_RULE = (
    "The plan looks at results more than once, and spends a declared share of alpha at each look. A p "
    "counts divided by its look's share; the p of a hypothesis is the smallest of these so far (a weighted "
    "Bonferroni correction, whatever the test and however the looks depend on each other). The first look at "
    "which it is small enough, within its family, decides. Each interval is the one at its look's share: all "
    "of a hypothesis's intervals together hold the truth at least as often as a single one would."
)
_NOTE = (
    "An estimate at a look that decides early is on average too large in size: a study that overestimates is "
    "more likely to stop. The interval allows for it, the estimate does not."
)
_COLUMNS = (
    Column("hypothesis", "Hypothesis"),
    Column("look", "Look", "integer"),
    Column("seeds", "Seeds", "integer"),
    Column("share", "Share of alpha", "percent"),
    Column("effect", "Effect, points", "estimate"),
    Column("level", "Level", "percent", 2),
    Column("p", "p", "p"),
    Column("p_looks", "p over the share", "p"),
    Column("what", "What it is"),
)


def _rows(study: Study, hypothesis: Hypothesis, standing: Standing) -> list[tuple[Value, ...]]:
    made = {one.look: one for one in standing.made}
    rows: list[tuple[Value, ...]] = []
    for number, look in enumerate(study.looks, start=1):
        head = (hypothesis.id, number, look.seeds, look.share)
        one = made.get(number)
        effect = None if one is None else one.comparison.effect
        if one is None or effect is None:
            rows.append((*head, None, None, None, None, _unmade(standing, number)))
            continue
        shown = Estimate(effect.estimate, effect.low, effect.high)
        rows.append((*head, shown, effect.level, one.raw, one.p, _made(standing, number)))
    return rows


def _made(standing: Standing, number: int) -> str:
    if standing.look is None or number < standing.look:
        return "decides nothing"
    if number > standing.look:
        return "came later, not in the verdict"
    return "decides" if standing.decided else "the last that was made"


def _unmade(standing: Standing, number: int) -> str:
    if standing.decided and standing.look is not None and number > standing.look:
        return "not needed"
    return "cannot be judged"


def _later(study: Study, standings: Mapping[str, Standing]) -> tuple[str, ...]:
    """The differences by seed that lie beyond the deciding look, where a later look could be judged."""
    lines = []
    for name, standing in standings.items():
        if not standing.decided or standing.look is None or not standing.made:
            continue
        last: Made = standing.made[-1]
        used = study.seeds[: study.looks[standing.look - 1].seeds]
        pairs = zip(last.comparison.seeds, last.comparison.per_seed, strict=True)
        found = tuple(f"seed {seed} {words.signed(value)}" for seed, value in pairs if seed not in used)
        if found:
            lines.append(f"{name}: {words.joined(found)} points.")
    return tuple(lines)
