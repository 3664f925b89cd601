"""Slices: every measure in every group of queries or items, compared with the baseline or with the other queries.

A slice of items restricts what counts as relevant. Measures that depend on positions (ndcg, ap, rr …) rank the items of
the slice alone, so that the best ranking scores 1 in every slice; the others (recall, precision …) look at the top k of
the whole ranking. Crossed with a group of queries it is that slice over these queries:
activity=low*item.popularity=tail.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import isnan
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankjury.core.progress import Progress
from rankjury.core.types import Bools, Floats, Gold
from rankjury.core.validation import Record, to_json
from rankjury.errors import UsageError
from rankjury.evaluation.paired import pair_with_baseline
from rankjury.evaluation.scores import Scores, estimate_systems
from rankjury.evaluation.sections import ReportWarning
from rankjury.evaluation.slices import NO_ITEM_GROUPS, ItemGroups, SliceTable
from rankjury.evaluation.slices.groups import Group
from rankjury.stats.comparison import Comparison, compare_pairs, correct_p_values
from rankjury.stats.estimates import (
    Estimate,
    ResampledSums,
    add_interval,
    from_mean_scale,
    resample_columns,
    summarise,
    to_mean_scale,
)
from rankjury.stats.mergeable import ScoreColumn
from rankjury.stats.resampling import Bounds, Keys, Resampling, interval, query_keys
from rankjury.stats.significance import is_significant, moments, two_sample_test
from rankjury.stats.sums import FixedPoint, to_fixed

_TESTS_PER_RESAMPLES = 100  # so many tests can be corrected for with the default number of signs


@dataclass(frozen=True)
class Gap(Record):
    """Difference of a system's mean in a slice to its mean over the other queries."""

    omitted = ("lower_is_better",)

    system: str
    measure: str
    difference: float
    ci: Bounds | None
    p: float | None
    """The larger of Welch's test's and Student's."""
    lower_is_better: bool = False
    p_holm: float | None = None
    p_bh: float | None = None
    n: int = 0
    """The slice's queries for which the measure is defined."""

    at_floor: ClassVar[bool] = False
    """The test is not by resampling, so that its p-value has no floor."""

    @property
    def tested(self) -> bool:
        """Whether it counts among the tests that p-values are corrected for."""
        return self.p is not None

    @property
    def gain(self) -> float:
        return -self.difference if self.lower_is_better else self.difference


@dataclass(frozen=True)
class Slice:
    """Results in one group of queries, or within one group of items."""

    name: str
    note: str
    of: str
    """``queries`` or ``items``."""
    n: int
    estimates: dict[str, dict[str, Estimate]]
    """By system and measure."""
    rows: Sequence[int] = field(default=(), compare=False)
    """Which queries they are, by their place among all; none for a group of items."""
    beside: tuple[Comparison | Gap, ...] = ()
    """Differences to the baseline within the slice; to the other queries where there is no baseline."""

    @property
    def label(self) -> str:
        return f"{self.name} ({self.note})" if self.note else self.name

    def only(self, labels: Collection[str]) -> "Slice":
        """Return the slice with some of the measures."""
        estimates = {
            system: {label: measures[label] for label in labels if label in measures}
            for system, measures in self.estimates.items()
        }
        beside = tuple(difference for difference in self.beside if difference.measure in labels)
        return replace(self, estimates=estimates, beside=beside)

    def to_json(self) -> dict[str, Any]:
        """Return one entry of the report's slices; the rows of queries are written with the queries' scores."""
        return {
            "slice": self.name,
            "note": self.note,
            "of": self.of,
            **({"positions": "within the slice"} if self.of == "items" else {}),
            "n": self.n,
            "systems": {system: {"measures": to_json(measures)} for system, measures in self.estimates.items()},
            "comparisons": [part.to_json() for part in self.beside if isinstance(part, Comparison)],
            "gaps": [part.to_json() for part in self.beside if isinstance(part, Gap)],
        }


def signs_for(tests: int, resampling: Resampling) -> int:
    """Return how many assignments of signs let the smallest p-value pass a correction for so many tests."""
    return resampling.resamples * max(1, -(-tests // _TESTS_PER_RESAMPLES))


def break_down(
    systems: Mapping[str, Scores],
    groups: Sequence[Group],
    resampling: Resampling,
    baseline: str | None,
    signs: int | None = None,
    compared: Mapping[str, Scores] | None = None,
    expected: Collection[str] = (),
) -> Iterator[Slice]:
    """Evaluate every system in every group of queries; p-values are not yet corrected.

    ``compared`` are the systems and measures to compare with the baseline; None: all. Of systems whose scores are but
    ``expected``, as those of a random order are, no group is compared with the rest.
    """
    keys = query_keys(next(iter(systems.values())).queries, resampling.seed)
    whole = _Prepared.of(systems, keys, resampling)
    pairs = [] if baseline is None else pair_with_baseline(systems if compared is None else compared, baseline)
    for group in groups:
        part = whole.within(group.members)
        estimates: dict[str, dict[str, Estimate]] = {}
        for column, estimate in zip(whole.columns, part.estimates(), strict=True):
            estimates.setdefault(column.system, {})[column.measure] = estimate
        beside: Iterable[Comparison | Gap]
        if baseline is None:
            beside = (gap for gap in whole.gaps(part, group.members) if gap.system not in expected)
        else:
            columns = [column for pair in pairs for column in pair.columns(group.members)]
            beside = compare_pairs(columns, keys[group.members], resampling, signs=signs)
        rows = tuple(np.flatnonzero(group.members).tolist())
        yield Slice(group.name, group.note, "queries", len(rows), estimates, rows, tuple(beside))


def slice_items(
    group: Group,
    systems: Mapping[str, Scores],
    resampling: Resampling | None,
    baseline: str | None,
    signs: int | None = None,
    compared: Mapping[str, Scores] | None = None,
) -> Slice:
    """Compare systems that were scored within a group of items; p-values are not yet corrected."""
    estimates = estimate_systems(systems, resampling)
    comparisons: list[Comparison] = []
    if baseline is not None and resampling is not None:
        compared = systems if compared is None else compared
        keys = query_keys(compared[baseline].queries, resampling.seed)
        columns = [column for pair in pair_with_baseline(compared, baseline) for column in pair.columns()]
        comparisons = compare_pairs(columns, keys, resampling, signs=signs)
    size = len(next(iter(systems.values())).queries)
    return Slice(group.name, group.note, "items", size, estimates, beside=tuple(comparisons))


@dataclass(frozen=True, eq=False)
class _Prepared:
    """All systems' scores in fixed point, and their resampled sums: over all queries, or over a part of them."""

    columns: list[ScoreColumn]
    values: list[Floats]
    fixed: list[FixedPoint]
    keys: Keys
    resampling: Resampling

    @classmethod
    def of(cls, systems: Mapping[str, Scores], keys: Keys, resampling: Resampling) -> "_Prepared":
        columns, values = [], []
        for name, scores in systems.items():
            for label, aggregate in zip(scores.labels, scores.aggregates, strict=True):
                lower, describes = label in scores.lower_is_better, label in scores.descriptive
                columns.append(ScoreColumn(name, label, aggregate, lower, describes))
                values.append(scores[label])
        prepared = cls(columns, values, [], keys, resampling)
        prepared.fixed.extend(to_fixed(scaled)[0] for scaled in prepared.scaled)
        return prepared

    @cached_property
    def scaled(self) -> list[Floats]:
        pairs = zip(self.values, self.columns, strict=True)
        return [to_mean_scale(values, column.aggregate) for values, column in pairs]

    @cached_property
    def pooled(self) -> list[ResampledSums]:
        return list(resample_columns(self.fixed, self.scaled, self.keys, self.resampling))

    def within(self, members: Bools) -> "_Prepared":
        """Return a part to the scale of the whole, so that sums over the rest are differences."""
        values = [column[members] for column in self.values]
        fixed = [replace(column, whole=column.whole[members]) for column in self.fixed]
        return _Prepared(self.columns, values, fixed, self.keys[members], self.resampling)

    def estimates(self) -> Iterator[Estimate]:
        """Return the estimates, of a part as if it were all there is, to the last digit."""
        for place, column in enumerate(self.columns):
            summary = summarise(self.values[place], column.aggregate)
            (fixed,) = to_fixed(self.scaled[place])
            if fixed.unit == self.fixed[place].unit:
                sums = self.pooled[place]
            else:
                sums = next(resample_columns([fixed], [self.scaled[place]], self.keys, self.resampling))
            yield add_interval(summary, column.aggregate, sums, self.resampling)

    def gaps(self, part: "_Prepared", members: Bools) -> Iterator[Gap]:
        """Compare the part with the queries outside of it, for each system and measure."""
        for place, column in enumerate(self.columns):
            inside = part.pooled[place]
            rest = self.pooled[place].without(inside)
            if inside.n and rest.n:
                values, scaled = self.values[place], self.scaled[place]
                mean, others = (summarise(values[which], column.aggregate).mean for which in (members, ~members))
                defined = ~np.isnan(scaled)
                p = two_sample_test(*(moments(scaled[which & defined]) for which in (members, ~members)))
                yield gap_between(column, inside, rest, mean - others, p, self.resampling)


def gap_between(
    column: ScoreColumn,
    inside: ResampledSums,
    rest: ResampledSums,
    difference: float,
    p: float,
    resampling: Resampling,
) -> Gap:
    """Return the gap of a part to the rest, both to the same scale; without interval where one has one query."""
    gap = Gap(column.system, column.measure, difference, None, p, column.lower_is_better, n=inside.n)
    if isnan(p) or column.descriptive:
        gap = replace(gap, p=None)
    if inside.n < 2 or rest.n < 2:
        return gap
    drawn = (inside.drawn > 0) & (rest.drawn > 0)
    ours, theirs = (replace(side, sums=side.sums[drawn], drawn=side.drawn[drawn]).means() for side in (inside, rest))
    means, weights = [inside.mean, rest.mean], [1 / inside.n, -1 / rest.n]
    if column.aggregate == "geometric":
        ours, theirs = np.exp(ours), np.exp(theirs)
        means = [from_mean_scale(mean, column.aggregate) for mean in means]
        weights = [mean * weight for mean, weight in zip(means, weights, strict=True)]
    influence = inside.influence.scaled(weights[0]) + rest.influence.scaled(weights[1])
    ci = interval(ours - theirs, means[0] - means[1], influence, resampling.level, resampling.of_differences)
    return replace(gap, ci=ci)


def correct_slices(slices: Sequence[Slice]) -> list[Slice]:
    """Fill in the p-values, corrected under each measure for all systems and slices."""
    corrected: dict[int, Comparison | Gap] = {}
    differences = [difference for part in slices for difference in part.beside]
    for measure in {difference.measure for difference in differences}:
        family = [difference for difference in differences if difference.measure == measure]
        corrected |= zip(map(id, family), correct_p_values(family), strict=True)
    return [replace(part, beside=tuple(corrected[id(old)] for old in part.beside)) for part in slices]


@dataclass(frozen=True)
class WorstSlice:
    """A slice that does worse than the baseline there, or than the other queries."""

    slice: Slice
    found: Comparison | Gap
    noise: bool
    """Chance alone makes such a difference often enough, all slices considered."""

    def to_json(self) -> dict[str, Any]:
        form = self.found.to_json()
        shown = {name: form[name] for name in ("system", "measure", "difference", "ci", "p_holm")}
        return {"slice": self.slice.name, "n": self.found.n, **shown, "within_noise": self.noise}


def worst_slices(slices: Sequence[Slice], level: float, *, measure: str | None = None) -> list[WorstSlice]:
    """Return the slices that lose, largest loss first; of one measure, or of all."""
    lost = [
        WorstSlice(part, found, noise=not is_significant(found.p_holm, level))
        for part in slices
        for found in part.beside
        if found.gain < 0 and (measure is None or found.measure == measure)
    ]
    return sorted(lost, key=lambda worst: (worst.found.gain, worst.slice.name, worst.found.system, worst.found.measure))


Crossings = Sequence[tuple[str, str]]
"""Attributes of queries and of items, by the names that slices begin with: (activity, item.popularity)."""


@dataclass(frozen=True, eq=False)
class SliceGroups:
    """Groups of queries and of each gold's items, which scores are broken down by."""

    groups: Sequence[Group]
    item_groups: Mapping[int, ItemGroups]
    """By the identity of the gold."""
    warnings: Sequence[ReportWarning]

    @classmethod
    def of(
        cls, queries: Gold, golds: Iterable[Gold], slices: Iterable[SliceTable], item_slices: Sequence[SliceTable]
    ) -> "SliceGroups":
        """Group the queries, which all golds share, and the items of every gold."""
        warnings: list[ReportWarning] = []
        groups = [group for cuts in slices for group in cuts.groups(queries.sorted_queries, warnings)]
        golds = list(golds)
        item_groups = dict.fromkeys(map(id, golds), NO_ITEM_GROUPS)
        for gold in golds if item_slices else ():
            if gold.lookup is not None:
                raise UsageError(
                    "the gold is too large for slices of items", where=gold.source, hint="Ask fewer queries."
                )
            if item_groups[id(gold)] is NO_ITEM_GROUPS:
                item_groups[id(gold)] = ItemGroups.of(gold.item_places[0], item_slices)
        for of_gold in item_groups.values():
            check_slice_names([*(group.name for group in groups), *of_gold.names])
            warnings += of_gold.warnings
        return cls(groups, item_groups, warnings)

    def slices(
        self,
        scores: Mapping[str, Scores],
        of_items: Mapping[str, Mapping[str, Scores]],
        crossings: Crossings,
        resampling: Resampling | None,
        baseline: str | None,
        compared: Mapping[str, Scores],
        expected: Collection[str],
        progress: Progress,
    ) -> list[Slice]:
        """Break the scores of systems down by these groups; with ``resampling``, with intervals and differences.

        Args:
            scores: The scores by system.
            of_items: By system and the name of a group of items, the scores with the gold restricted to it.
            crossings: Attributes of queries and of items whose groups are crossed.
            resampling: How intervals and tests are made; None: means only, without a baseline.
            baseline: The system that the others are compared with.
            compared: The systems and measures to compare with the baseline.
            expected: Systems whose scores are expectations, as those of a random order are.
            progress: Reports each finished slice.
        """
        by_query = {name: table.by_query for name, table in scores.items()}
        compared = {name: table.by_query for name, table in compared.items()}
        first = next(iter(by_query.values()))
        groups = self.groups if first.labels else ()
        restricted = list(self._restricted(first.queries, of_items, crossings))
        steps = len(groups) + len(restricted)
        signs = None if resampling is None else signs_for(steps * (len(by_query) - 1), resampling)
        slices = []
        if resampling is None:
            for group in groups:
                rows = np.flatnonzero(group.members)
                means = estimate_systems({name: table.part(rows) for name, table in by_query.items()}, None)
                slices.append(Slice(group.name, group.note, "queries", rows.size, means, tuple(rows.tolist())))
        elif groups:
            for part in break_down(by_query, groups, resampling, baseline, signs, compared, expected):
                slices.append(part)
                progress.update("Breaking down", len(slices), steps)
        for group, parts in restricted:
            others = {
                name: parts[name].only([label for label in table.labels if label in parts[name].labels])
                for name, table in compared.items()
                if name in parts
            }
            slices.append(
                slice_items(group, parts, resampling, baseline if baseline in others else None, signs, others)
            )
            if resampling is not None:
                progress.update("Breaking down", len(slices), steps)
        return correct_slices(slices)

    def _restricted(
        self, queries: pl.Series, of_items: Mapping[str, Mapping[str, Scores]], crossings: Crossings
    ) -> Iterator[tuple[Group, dict[str, Scores]]]:
        """Yield the slices of items, then those crossed with a group of queries that any query falls in."""
        item_groups = {
            name: Group(name, of_gold.notes[number], of_gold.members[number])
            for of_gold in self.item_groups.values()
            for number, name in enumerate(of_gold.names)
        }
        slices = [
            (group, {system: parts[name] for system, parts in of_items.items() if name in parts})
            for name, group in item_groups.items()
        ]
        slices = [(group, parts) for group, parts in slices if next(iter(parts.values())).labels]
        yield from slices
        for attributes, group, (item_group, parts) in product(crossings, self.groups, slices):
            if (group.attribute, item_group.attribute) != attributes:
                continue
            members = queries.filter(pl.Series(group.members)).implode()
            crossed = {name: part.part(np.flatnonzero(part.queries.is_in(members))) for name, part in parts.items()}
            if all(len(part.queries) for part in crossed.values()):
                note = "; ".join(filter(None, (group.note, item_group.note)))
                yield Group(f"{group.name}*{item_group.name}", note, group.members), crossed


def check_slice_names(names: Sequence[str]) -> None:
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        hint = "Rename one of the columns."
        raise UsageError(f"duplicate slice {duplicate!r}", expected="each attribute once", hint=hint)
