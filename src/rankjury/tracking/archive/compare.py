"""Comparison of two archived runs, query by query."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rankjury.core.text import join_names
from rankjury.errors import DataError, UnknownName
from rankjury.evaluation.gate import Gate
from rankjury.evaluation.paired import Change, Move, compare_scores, largest_drops, pair_scores
from rankjury.evaluation.provenance import ManifestDifference, differences_between
from rankjury.evaluation.query_lists import Answers
from rankjury.evaluation.summary import describe_comparison
from rankjury.stats.comparison import Comparison, PairedValues
from rankjury.stats.resampling import Resampling
from rankjury.tracking.archive.run import ArchivedRun

DIFF_SCHEMA = "rankjury.diff/1"
_LOSSES = 5
MOST_NAMED = 3


@dataclass(frozen=True)
class RunComparison:
    """An earlier and a later run of the same or of different plans."""

    before: ArchivedRun
    after: ArchivedRun
    resampling: Resampling
    changed: tuple[ManifestDifference, ...]
    queries: Mapping[str, int]
    """Number of queries of both runs (common), only of the earlier (before) and only of the later (after)."""
    comparisons: tuple[Comparison, ...]
    """Systems of the later run compared with themselves in the earlier one."""
    not_compared: tuple[str, ...]
    """What could not be compared, and why."""
    losses: tuple[Change, ...]
    """Queries of each system that lost most, under the first measure."""
    verdicts: tuple[dict[str, Any], ...]
    """Targets whose verdict changed: target, system, before and after."""

    @property
    def summary(self) -> tuple[str, ...]:
        """Whether the later run is better under the first measure, by how much, and what changed in its inputs."""
        lines = []
        first = self.comparisons[0].measure if self.comparisons else None
        tests = sum(comparison.tested for comparison in self.comparisons)
        unit, level = self.after.report.unit, self.resampling.level
        same = []
        for comparison in self.comparisons:
            if comparison.measure != first:
                continue
            if comparison.equal == comparison.n and comparison.n and not comparison.whole:
                same.append(comparison.system)
            else:
                now = replace(comparison, system=f"{comparison.system} now", baseline="before")
                lines.append((-abs(comparison.gain), describe_comparison(now, level, unit, tests)))
        texts = [text for _, text in sorted(lines)]
        if same:
            systems = join_names(same, MOST_NAMED)
            texts.append(f"Unchanged under {first} on all {self.queries['common']:,} {unit[1]}: {systems}.")
        causes = [str(cause) for cause in self.changed]
        more = f"; {len(causes) - MOST_NAMED} more" if len(causes) > MOST_NAMED else ""
        named = f"Changed: {'; '.join(causes[:MOST_NAMED])}{more}."
        return (*texts, named if causes else "No recorded input, setting or version changed.")

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": DIFF_SCHEMA,
            "before": self.before.name,
            "after": self.after.name,
            "resampling": self.resampling.to_json(),
            "changed": [difference.to_json() for difference in self.changed],
            "queries": dict(self.queries),
            "comparisons": [comparison.to_json() for comparison in self.comparisons],
            "not_compared": list(self.not_compared),
            "losses": [loss.to_json() for loss in self.losses],
            "verdicts": list(self.verdicts),
        }


def compare_runs(
    before: ArchivedRun,
    after: ArchivedRun,
    *,
    measures: Sequence[str] | None = None,
    systems: Sequence[str] | None = None,
) -> RunComparison:
    """Compare every system and measure that both runs have, over the queries in both.

    Args:
        before: The earlier run.
        after: The later one.
        measures: Which measures to compare; by default the later run's headline.
        systems: Which systems to compare; by default all but random ones.

    Raises:
        UnknownName: Where a name is not in both runs.
        DataError: Where the runs have no system or no query in common.
    """
    names = _common("system", before.systems, after.systems, systems)
    old, new = before.report, after.report
    random = {*old.random_systems, *new.random_systems}
    names = [name for name in names if name not in random or (systems and name in systems)]
    if not names:
        raise DataError(
            "the runs have no system in common",
            where=f"{before.name}, {after.name}",
            expected=f"one of {', '.join(before.systems)}",
            hint=f"The other has {', '.join(after.systems)}.",
        )
    labels = _common("measure", old.labels, new.labels, measures or None)
    if measures is None:
        labels = [label for label in after.headline if label in labels] or labels
    pairs = []
    for name in names:
        sides = old.systems[name].estimates, new.systems[name].estimates
        shared = [label for label in labels if all(label in side for side in sides)]
        pairs.append(pair_scores(name, new.scores[name].only(shared), name, old.scores[name].only(shared)))
    common, (only_after, only_before) = pairs[0].queries, pairs[0].only
    if not len(common):
        raise DataError("the runs have no query in common", where=f"{before.name}, {after.name}")
    not_compared = list(_only_in_one("system", before.systems, after.systems))
    not_compared += _only_in_one("measure", old.labels, new.labels)
    for label in labels:
        if any(label in pair.unmatched for pair in pairs):
            was, now = (
                next(result.conventions[label] for result in side.systems.values() if label in result.conventions)
                for side in (old, new)
            )
            not_compared.append(f"{label} follows other conventions now: {was} before, {now} after")
        if any(label in pair.incomplete for pair in pairs):
            not_compared.append(f"{label} is one value over all queries, and these are not the same")
    resampling = new.resampling or Resampling()
    compared = compare_scores(pairs, resampling)
    comparisons = [
        comparison
        for label in labels
        for of_system in compared
        for comparison in of_system
        if comparison.measure == label
    ]
    columns = [column for pair in pairs for column in pair.columns() if column.measure == comparisons[0].measure]
    return RunComparison(
        before,
        after,
        resampling,
        tuple(differences_between(before.manifest, after.manifest)),
        {"common": len(common), "before": only_before, "after": only_after},
        tuple(comparisons),
        tuple(not_compared),
        tuple(loss for column in columns for loss in _losses(column, common.to_list(), before, after)),
        tuple(_verdicts(before, after)),
    )


def _common(kind: str, old: Sequence[str], new: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
    """Return the names of both runs, in the order of the later; all of them, or those wanted."""
    both = [name for name in new if name in old]
    for name in wanted or ():
        if name not in both:
            raise UnknownName(f"{kind} in both runs:", name, both)
    return list(dict.fromkeys(wanted)) if wanted else both


def _only_in_one(kind: str, old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    yield from (f"{kind} {name} was there before only" for name in old if name not in new)
    yield from (f"{kind} {name} is new" for name in new if name not in old)


def _losses(pair: PairedValues, queries: Sequence[str], before: ArchivedRun, after: ArchivedRun) -> Iterator[Change]:
    """Yield the queries that lost most, with the moves of their judged items."""
    if pair.whole:
        return
    sides = (pair.values, pair.baseline_values) if pair.lower_is_better else (pair.baseline_values, pair.values)
    for row in largest_drops(*sides, _LOSSES):
        query = queries[row]
        moves = _moves(pair.system, [run.answer(query) for run in (before, after)])
        ends = float(pair.baseline_values[row]), float(pair.values[row])
        yield Change(pair.system, pair.measure, query, *ends, tuple(moves), pair.lower_is_better)


def _moves(system: str, sides: Sequence[Answers | None]) -> list[Move]:
    """Return the ranks of the stored judged items of a query in both runs."""
    grades: dict[str, float] = {}
    ranks: list[dict[str, int]] = []
    for side in sides:
        listed = None if side is None else side.systems.get(system)
        ranks.append({} if listed is None else dict(zip(listed.items, listed.ranks.tolist(), strict=True)))
        if side is not None and system in side.gold_of:
            gold = side.golds[side.gold_of[system]]
            for items in (gold, listed):
                if items is not None:
                    graded = zip(items.items.to_list(), items.grades.tolist(), strict=True)
                    grades |= {item: grade for item, grade in graded if grade > 0}
    moves = [Move(item, grade, ranks[0].get(item), ranks[1].get(item)) for item, grade in grades.items()]
    return sorted(moves, key=lambda move: (-move.grade, move.item))


def _verdicts(before: ArchivedRun, after: ArchivedRun) -> Iterator[dict[str, Any]]:
    gates = (run.report.section(Gate) for run in (before, after))
    old, new = (
        {
            (verdict.target.title, verdict.target.wanted, verdict.system, verdict.target.slice): verdict.outcome
            for verdict in ([] if gate is None else gate.verdicts)
        }
        for gate in gates
    )
    for key in dict.fromkeys((*new, *old)):
        if old.get(key) != new.get(key):
            target = dict(zip(("target", "wanted", "system", "slice"), key, strict=True))
            yield target | {"before": old.get(key), "after": new.get(key)}
