"""Two runs held against each other, query by query."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from karat.answers import Answers
from karat.archive.differences import Difference, differences_between
from karat.archive.run import Run
from karat.archive.tables import SCORES, asked_of, read_rows
from karat.changes import Change, Move
from karat.columns import QUERY
from karat.errors import DamagedRun, DataError, UnknownName
from karat.measure import Aggregate, is_descriptive
from karat.saved import Saved
from karat.statistics.comparison import Paired, compare_pairs, correct
from karat.statistics.differences import Comparison
from karat.statistics.intervals import Resampling
from karat.statistics.streams import keys_of
from karat.types import Floats

__all__ = ["Compared", "compare_runs"]

SCHEMA = "karat.diff/1"
_ROUNDING = 2.0**-36
"""Share of the largest score under which two are equal."""
_LOSSES = 5


@dataclass(frozen=True)
class Compared:
    """An earlier and a later run of the same or of different plans."""

    before: Run
    after: Run
    how: Resampling
    changed: tuple[Difference, ...]
    asked: Mapping[str, int]
    """How many queries both asked (common), only the earlier (before) and only the later (after)."""
    comparisons: tuple[Comparison, ...]
    """Systems of the later run beside themselves in the earlier one."""
    not_compared: tuple[str, ...]
    """What could not be, and why."""
    losses: tuple[Change, ...]
    """Under the first measure, the queries of each system that lost most."""
    verdicts: tuple[dict[str, Any], ...]
    """Targets whose verdict is another now: target, system, before and after."""

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "before": self.before.name,
            "after": self.after.name,
            "resampling": self.how.to_json(),
            "changed": [one.to_json() for one in self.changed],
            "queries": dict(self.asked),
            "comparisons": [one.to_json() for one in self.comparisons],
            "not_compared": list(self.not_compared),
            "losses": [one.to_json() for one in self.losses],
            "verdicts": list(self.verdicts),
        }


def compare_runs(
    before: Run, after: Run, *, measures: Sequence[str] | None = None, systems: Sequence[str] | None = None
) -> Compared:
    """Every system and measure that both runs have, over the queries that both asked; of these some, where named."""
    names = _common("system", before.systems, after.systems, systems)
    chance = {name for run in (before, after) for name in run.manifest.get("by_chance") or ()}
    names = [name for name in names if name not in chance or (systems and name in systems)]
    if not names:
        raise DataError(
            "the runs have no system in common",
            where=f"{before.name}, {after.name}",
            expected=f"one of {', '.join(before.systems)}",
            hint=f"The other has {', '.join(after.systems)}.",
        )
    labels = _common("measure", _labels(before), _labels(after), measures or None)
    if measures is None:
        labels = [label for label in after.headline if label in labels] or labels
    how = Saved(after.form, after.name).how
    scores = _Scores.of(before, after)
    told: list[str] = list(_only_in_one(before, after))
    pairs = list(_pairs(scores, names, labels, told))
    found = correct(compare_pairs(pairs, keys_of(scores.common, how.seed), how))
    losses = [one for pair in pairs if pair.measure == pairs[0].measure for one in _losses(pair, scores)]
    return Compared(
        before,
        after,
        how,
        tuple(differences_between(before, after)),
        scores.asked,
        tuple(found),
        tuple(told),
        tuple(losses),
        tuple(_verdicts(before, after)),
    )


@dataclass(frozen=True, eq=False)
class _Scores:
    """The scores of two runs over the queries that both asked."""

    before: Run
    after: Run
    common: pl.Series
    asked: Mapping[str, int]
    sides: tuple[pl.DataFrame, pl.DataFrame]

    @classmethod
    def of(cls, before: Run, after: Run) -> "_Scores":
        old, new = (asked_of(run) for run in (before, after))
        common = new.join(old, on=QUERY, how="semi", maintain_order="left")[QUERY]
        asked = {"common": len(common), "before": len(old) - len(common), "after": len(new) - len(common)}
        if not len(common):
            raise DataError("the runs have no query in common", where=f"{before.name}, {after.name}")
        return cls(before, after, common, asked, (read_rows(before, SCORES), read_rows(after, SCORES)))

    def column(self, side: int, system: str, label: str) -> Floats:
        """In the order of the common queries; NaN is undefined."""
        frame = self.sides[side]
        own = frame.filter(pl.col("system") == system).select(QUERY, label)
        joined = self.common.to_frame(QUERY).join(own, on=QUERY, how="left", maintain_order="left")
        if len(joined) != len(self.common):
            raise DamagedRun((self.before, self.after)[side].path / SCORES, f"a query of {system} occurs twice")
        return joined[label].cast(pl.Float64).fill_null(np.nan).to_numpy()

    @property
    def same_queries(self) -> bool:
        return not (self.asked["before"] or self.asked["after"])


def _common(kind: str, old: Sequence[str], new: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
    """Names that both have, in the order of the later; all of them, or those wanted."""
    both = [name for name in new if name in old]
    for name in wanted or ():
        if name not in both:
            raise UnknownName(f"{kind} in both runs:", name, both)
    return list(dict.fromkeys(wanted)) if wanted else both


def _labels(run: Run) -> list[str]:
    return list(dict.fromkeys(label for held in run.manifest["summary"].values() for label in held))


def _about(run: Run, label: str) -> Mapping[str, Any]:
    return (run.manifest.get("measures") or {}).get(label) or {}


def _only_in_one(before: Run, after: Run) -> Iterator[str]:
    for kind, old, new in (("system", before.systems, after.systems), ("measure", _labels(before), _labels(after))):
        for word, names in (
            ("was there before only", [name for name in old if name not in new]),
            ("is new", [name for name in new if name not in old]),
        ):
            for name in names:
                yield f"{kind} {name} {word}"


def _pairs(scores: _Scores, systems: Sequence[str], labels: Sequence[str], told: list[str]) -> Iterator[Paired]:
    """What can be compared; of the rest it is told why not."""
    for label in labels:
        sides = [_about(run, label) for run in (scores.before, scores.after)]
        old, new = (str(side.get("convention") or label) for side in sides)
        if old != new:
            told.append(f"{label} follows other conventions now: {old} before, {new} after")
            continue
        about = sides[1]
        whole = bool(about.get("whole"))
        if whole and not scores.same_queries:
            told.append(f"{label} is one figure over all queries, and these are not the same")
            continue
        for system in systems:
            if any(label not in run.manifest["summary"][system] for run in (scores.before, scores.after)):
                continue
            theirs, values = (scores.column(side, system, label) for side in (0, 1))
            lower = bool(about.get("lower_is_better"))
            aggregate: Aggregate = about.get("aggregate") or "mean"
            yield Paired(system, system, label, values, theirs, aggregate, lower, whole, is_descriptive(new))


def _losses(pair: Paired, scores: _Scores) -> Iterator[Change]:
    """The queries that lost most, with where their judged items went."""
    if pair.whole:
        return
    gains = pair.values - pair.baseline_values
    gains = -gains if pair.lower_is_better else gains
    known = np.concatenate((pair.values, pair.baseline_values, [0.0]))
    least = _ROUNDING * float(np.nanmax(np.abs(known)))
    for row in np.argsort(gains, kind="stable")[:_LOSSES].tolist():
        if not gains[row] < -least:
            return
        query = str(scores.common[row])
        moves = _moves(pair.system, [run.answer(query) for run in (scores.before, scores.after)])
        ends = float(pair.baseline_values[row]), float(pair.values[row])
        yield Change(pair.system, pair.measure, query, *ends, tuple(moves), pair.lower_is_better)


def _moves(system: str, sides: Sequence[Answers | None]) -> list[Move]:
    """The ranks of the judged items of a query that were kept."""
    grades: dict[str, float] = {}
    ranks: list[dict[str, int]] = []
    for side in sides:
        listed = None if side is None else side.systems.get(system)
        ranks.append({} if listed is None else dict(zip(listed.items, listed.ranks.tolist(), strict=True)))
        if side is not None and system in side.gold_of:
            gold = side.golds[side.gold_of[system]]
            for one in (gold, listed):
                if one is not None:
                    grades |= {i: g for i, g in zip(one.items.to_list(), one.grades.tolist(), strict=True) if g > 0}
    moves = [Move(item, grade, ranks[0].get(item), ranks[1].get(item)) for item, grade in grades.items()]
    return sorted(moves, key=lambda move: (-move.grade, move.item))


def _verdicts(before: Run, after: Run) -> Iterator[dict[str, Any]]:
    old, new = (
        {
            (one["target"], one.get("wanted"), one["system"], one.get("slice")): one["verdict"]
            for one in (run.form.get("gate") or {}).get("targets") or ()
        }
        for run in (before, after)
    )
    for key in dict.fromkeys((*new, *old)):
        if old.get(key) != new.get(key):
            named = dict(zip(("target", "wanted", "system", "slice"), key, strict=True))
            yield named | {"before": old.get(key), "after": new.get(key)}
