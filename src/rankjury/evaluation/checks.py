"""Findings: counts behind the warnings about a ranking compared with a gold; those of parts can be added."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankjury.core.text import join_names, plural
from rankjury.evaluation.judge import MatchedRanking
from rankjury.evaluation.sections import GOLD_DUPLICATES, ReportWarning
from rankjury.evaluation.shared_ids import SharedIds, no_item_in_common
from rankjury.measures.dialects import NamedMeasure
from rankjury.measures.judged import Judged, count_relevant, within
from rankjury.measures.measure import Measure
from rankjury.stats.formatting import format_percent

_LISTED = 3


@dataclass(frozen=True)
class Findings:
    """Counts over queries, and the names of the first few that are missing."""

    missing: int
    missing_names: tuple[str, ...]
    extra: int
    """Queries of the ranking that the gold lacks."""
    empty: Mapping[float | None, int]
    """Queries with nothing relevant, by the grade from which an item is."""
    dropped: int
    """Duplicate rows of the ranking."""
    cuts: Mapping[int, tuple[int, int, int]]
    """By cut-off: items retrieved, judged ones among them, and queries whose scores tie there."""
    closed: bool
    """Whatever the gold does not list is known not to be relevant."""
    lists: tuple[int, int, int] = (0, 0, 0)
    """How many queries have a list, how many of these lists are as long as the longest, and how long that is; zeros
    where lists are known to hold all candidates."""
    pairs: tuple[int, int] = (0, 0)
    """Judged items of the queries that have a list, and how many of them were retrieved, at whatever rank; zeros where
    ids are known to be spelled alike."""
    shared: SharedIds | None = None
    """Which item ids both sides have; None where nothing depends on it."""
    dropped_of_gold: int = 0
    """Duplicate rows of the gold."""

    @classmethod
    def of(cls, matched: MatchedRanking, judged: Judged, measures: Sequence[Measure]) -> "Findings":
        absent = ~judged.present
        names = judged.queries.filter(absent).head(_LISTED).to_list() if absent.any() else []
        rels = dict.fromkeys(by.relevant_from for by in measures if by.metric.needs_relevant)
        cuts = sorted({by.k for by in measures if by.k is not None and not by.metric.of_lists}) or [10]
        lengths = judged.depth[judged.depth > 0]
        longest = int(lengths.max(initial=0))
        whole = matched.depth is not None and longest < matched.depth
        lists = (0, 0, 0) if whole else (lengths.size, int((lengths == longest).sum()), longest)
        pairs = (0, 0)
        if not matched.same_ids:
            pairs = (int(np.diff(judged.gold_starts)[judged.present].sum()), judged.row.size)
        wanted = matched.joinable or _are_few(pairs) or _are_cut(lists, measures)
        return cls(
            int(absent.sum()),
            tuple(names),
            matched.extra_queries,
            {rel: int((count_relevant(judged, rel) == 0).sum()) for rel in rels},
            matched.dropped,
            {
                k: (
                    int(np.minimum(judged.depth, k).sum()),
                    int(within(judged, k).sum()),
                    judged.ties.queries_tied_at(k),
                )
                for k in cuts
            },
            matched.gold.ordered or matched.gold.complete,
            lists,
            pairs,
            matched.shared_ids if wanted else None,
            matched.dropped_of_gold,
        )

    def __add__(self, other: "Findings") -> "Findings":
        """Add the counts of the same measures over other queries."""
        longest = max(self.lists[2], other.lists[2])
        as_long = sum(lists[1] for lists in (self.lists, other.lists) if lists[2] == longest)
        return Findings(
            self.missing + other.missing,
            tuple(sorted((*self.missing_names, *other.missing_names))[:_LISTED]),
            self.extra + other.extra,
            {rel: number + other.empty[rel] for rel, number in self.empty.items()},
            self.dropped + other.dropped,
            {
                k: (retrieved + other.cuts[k][0], judged + other.cuts[k][1], tied + other.cuts[k][2])
                for k, (retrieved, judged, tied) in self.cuts.items()
            },
            self.closed,
            (self.lists[0] + other.lists[0], as_long, longest),
            (self.pairs[0] + other.pairs[0], self.pairs[1] + other.pairs[1]),
            None if self.shared is None or other.shared is None else self.shared + other.shared,
            self.dropped_of_gold + other.dropped_of_gold,
        )

    def check(self, where: str) -> None:
        """Refuse item ids that are spelled differently in gold and ranking."""
        if self.pairs[0] and not self.pairs[1] and self.shared is not None and self.shared.surely_disjoint:
            raise no_item_in_common(self.shared, where)

    def warnings(self, measures: Sequence[Measure]) -> Iterator[ReportWarning]:
        """Return the counts as warnings."""
        yield from self._warn_of_ids()
        yield from self._warn_of_lists(measures)
        if self.missing:
            more = " …" if self.missing > _LISTED else ""
            scored = _missing_scored([by for by in measures if not by.metric.of_lists or by.metric.needs_relevant])
            yield ReportWarning(
                f"{plural(self.missing, 'judged {query} is', 'judged {queries} are')} missing from the ranking "
                f"({', '.join(self.missing_names)}{more}) and {scored}",
                code="missing-queries",
                count=self.missing,
            )
        if self.extra:
            text = f"{plural(self.extra, 'retrieved {query} has', 'retrieved {queries} have')} no gold: not counted; "
            text += "judge them, or leave them out of the run"
            yield ReportWarning(text, code="extra-queries", count=self.extra)
        yield from self._warn_of_empty([measure for measure in measures if measure.metric.needs_relevant])
        if self.dropped:
            text = f"{plural(self.dropped, 'duplicate row was', 'duplicate rows were')} dropped"
            yield ReportWarning(text, code="duplicates", count=self.dropped)
        if self.dropped_of_gold:
            text = f"{plural(self.dropped_of_gold, 'duplicate row', 'duplicate rows')} of the gold "
            text += "was dropped" if self.dropped_of_gold == 1 else "were dropped"
            yield ReportWarning(text, code=GOLD_DUPLICATES, count=self.dropped_of_gold)
        yield from self._warn_of_cuts()

    def _warn_of_ids(self) -> Iterator[ReportWarning]:
        """Warn of item ids that may be spelled differently."""
        if self.shared is None or not _are_few(self.pairs):
            return
        gold, run = self.shared.gold, self.shared.run
        if self.pairs[1] == 0 and self.shared.disjoint:
            yield ReportWarning(
                f"no item in common: none of the gold's items ({gold.shown}) is in the ranking ({run.shown}), so that "
                "all scores are those of nothing found; check that ids are spelled alike",
                code="no-common-items",
            )
        elif (share := self.shared.low_share) is not None:
            yield ReportWarning(
                f"{format_percent(share, 2)} of the gold's items ({gold.shown}) are anywhere in the ranking "
                f"({run.shown}); "
                "check that ids are spelled alike",
                code="few-common-items",
            )

    def _warn_of_lists(self, measures: Sequence[Measure]) -> Iterator[ReportWarning]:
        """Warn of lists that were cut before the cut-off."""
        number, as_long, length = self.lists
        if self.shared is not None and _are_cut(self.lists, measures) and self.shared.more_than(length + 1):
            deep = [by.name + f"@{by.k}" for by in measures if by.k is not None and by.k > length]
            deep = list(dict.fromkeys(deep))
            more = " …" if len(deep) > _LISTED else ""
            lists = f"all {number:,} lists have" if as_long == number else f"{as_long:,} of {number:,} lists have"
            items = plural(length, "item", "items") + ("" if as_long == number else " and none has more")
            yield ReportWarning(
                f"{lists} {items}, fewer than the cut-off of {', '.join(deep[:_LISTED])}{more}: what was cut off "
                f"counts as not retrieved; rank more items, or use cut-offs up to {length:,}",
                code="short-lists",
                count=as_long,
            )

    def _warn_of_empty(self, measures: Sequence[Measure]) -> Iterator[ReportWarning]:
        """Warn of queries with nothing relevant; where measures treat them differently, with the metrics' names."""
        levels: dict[int, list[float | None]] = {}
        for rel in dict.fromkeys(measure.relevant_from for measure in measures):
            if self.empty[rel]:
                levels.setdefault(self.empty[rel], []).append(rel)
        for empty, rels in levels.items():
            level = "" if rels[0] is None else f" of grade {rels[0]:g} or better"
            scored = _empty_scored([measure for measure in measures if measure.relevant_from in rels])
            text = f"{plural(empty, '{query} has', '{queries} have')} nothing relevant{level} in the gold: {scored}"
            yield ReportWarning(text, code="nothing-relevant", count=empty)

    def _warn_of_cuts(self) -> Iterator[ReportWarning]:
        shares = {}
        for k, (retrieved, judged, _) in self.cuts.items() if not self.closed else ():
            if judged < retrieved:
                shares[k] = 1 - judged / retrieved
        if shares:
            listed = ", ".join(f"{format_percent(share, 1)} of the top {k}" for k, share in shares.items())
            text = f"unjudged items count as not relevant: {listed}; judge them, or use bpref, which omits them"
            first = min(shares)  # the sentence above all tables names the share nearest to the top, and its depth
            yield ReportWarning(text, code="unjudged", count=first, share=shares[first])
        tied = {k: number for k, (_, _, number) in self.cuts.items() if number}
        if tied:
            at = ", ".join(f"{plural(number, '{query}', '{queries}')} at {k}" for k, number in tied.items())
            text = f"the cut-off falls within equal scores, so the tie rule decides what counts: {at}; return scores "
            text += "with more digits, or choose the rule (ties=id, id-desc or order)"
            yield ReportWarning(text, code="ties", count=max(tied.values()))


def warn_of_names(asked: Sequence[NamedMeasure]) -> Iterator[ReportWarning]:
    """Warn of measures that only by their case differ from rankjury's own, and are read as another tool's."""
    groups: dict[tuple[str | None, tuple[str, ...]], list[NamedMeasure]] = {}
    for named in asked:
        if named.by_case is not None:
            groups.setdefault((named.tool, named.differences), []).append(named)
    for (tool, differences), same in groups.items():
        labels = join_names([named.label for named in same], _LISTED)
        own = join_names(dict.fromkeys(named.by_case.label for named in same if named.by_case), _LISTED)
        one = len(same) == 1
        conventions = f" ({', '.join(differences)})" if differences else ""
        yield ReportWarning(
            f"{labels} {'is' if one else 'are'} read as {tool} computes {'it' if one else 'them'}{conventions}; "
            f"{own} {'has' if one else 'have'} rankjury's conventions",
            code="name-of-other-tool",
        )


def _empty_scored(measures: Sequence[Measure]) -> str:
    """Say for which measures queries with nothing relevant are left out, and for which they count 0."""
    by_policy: dict[str, list[Measure]] = {}
    for measure in measures:
        by_policy.setdefault(str(measure["empty"]), []).append(measure)
    clauses = []
    for policy, same in by_policy.items():
        others = {measure.name for measure in measures if measure not in same}
        names = dict.fromkeys(str(measure) if measure.name in others else measure.name for measure in same)
        whose = f" for {', '.join(names)}" if len(by_policy) > 1 else ""
        if policy == "skip":
            clauses.append(f"left out{whose} (empty=zero scores 0)")
        else:
            clauses.append(f"scored 0{whose} (empty=skip leaves out)")
    return "; ".join(clauses)


def _are_few(pairs: tuple[int, int]) -> bool:
    """Whether less than 1 % of the judged items was retrieved for their query."""
    return pairs[0] > 100 * pairs[1]


def _are_cut(lists: tuple[int, int, int], measures: Sequence[Measure]) -> bool:
    """Whether several lists, nine in ten or more, are as long as the longest, and shorter than a measure looks.

    They may have been cut. Of a run that was cut some lists are shorter still, where a query matched few items.
    """
    number, as_long, longest = lists
    many = number > 1 and as_long * 10 >= number * 9
    return many and any(measure.k is not None and measure.k > longest for measure in measures)


def _missing_scored(measures: Sequence[Measure]) -> str:
    """Say how missing queries count under the first of the measures that look at the gold."""
    if not measures:
        return "without a list to look at"
    scored = {"zero": "scored 0", "skip": "left out"}.get(str(measures[0]["missing"]), "an error")
    other = "skip leaves them out" if scored == "scored 0" else "zero scores them 0"
    return f"{scored} (missing={other})"
