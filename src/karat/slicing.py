"""Every system in every slice: groups of queries, of items, and of both crossed; with intervals, or means alone.

A slice of items restricts what counts as relevant. Measures that depend on positions (ndcg, ap, rr …) rank the items of
the slice alone, so that the best ranking scores 1 in every slice; the others (recall, precision …) look at the top k of
the whole ranking. Crossed with a group of queries it is that slice over these queries:
activity=low*item.popularity=tail.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from karat.breakdown import Slice, break_down, estimates_of, signs_for, slice_of_items
from karat.progress import Progress
from karat.results import Scores
from karat.slices import Group
from karat.statistics.intervals import Resampling

__all__ = ["Crossings", "Sliced"]

Crossings = Sequence[tuple[str, str]]
"""Attributes of queries and of items, by the names that slices begin with: (activity, item.popularity)."""


@dataclass(frozen=True, eq=False)
class Sliced:
    """The systems' scores, and what they are to be broken down by."""

    scores: Mapping[str, Scores]
    """By system; only measures that each query has a value of."""
    groups: Sequence[Group]
    """Of queries, as the scores have them."""
    item_groups: Sequence[Group]
    of_items: Mapping[str, Mapping[str, Scores]]
    """By system and the name of a group of items, with the gold restricted to it; systems may have different golds."""
    crossings: Crossings = ()

    @property
    def _groups(self) -> Sequence[Group]:
        """None where no measure has a value by query."""
        return self.groups if next(iter(self.scores.values())).labels else ()

    def plainly(self) -> Iterator[Slice]:
        """Means alone, where nothing is resampled."""
        for group in self._groups:
            rows = np.flatnonzero(group.members)
            means = estimates_of({name: one.part(rows) for name, one in self.scores.items()}, None)
            yield Slice(group.name, group.note, "queries", rows.size, means, tuple(rows.tolist()))
        for group, parts in self._restricted():
            size = len(next(iter(parts.values())).queries)
            yield Slice(group.name, group.note, "items", size, estimates_of(parts, None))

    def resampled(
        self,
        how: Resampling,
        baseline: str | None,
        compared: Mapping[str, Scores],
        expected: Sequence[str],
        progress: Progress,
    ) -> Iterator[Slice]:
        """With intervals and differences; p-values are not yet corrected.

        ``compared`` are the systems and measures to hold against the baseline; scores of the systems ``expected`` are
        expectations, as those of a random order are.
        """
        restricted = list(self._restricted())
        steps = len(self._groups) + len(restricted)
        signs = signs_for(steps * (len(self.scores) - 1), how)
        done = 0
        if self._groups:
            for part in break_down(self.scores, self._groups, how, baseline, signs, compared, expected):
                yield part
                done += 1
                progress.update("Breaking down", done, steps)
        for group, parts in restricted:
            beside = {
                name: parts[name].only([label for label in one.labels if label in parts[name].labels])
                for name, one in compared.items()
                if name in parts
            }
            yield slice_of_items(group, parts, how, baseline if baseline in beside else None, signs, beside)
            done += 1
            progress.update("Breaking down", done, steps)

    def _restricted(self) -> Iterator[tuple[Group, dict[str, Scores]]]:
        """The slices of items, then those of both crossed that any query falls in."""
        of_items = [
            (group, {name: parts[group.name] for name, parts in self.of_items.items() if group.name in parts})
            for group in self.item_groups
        ]
        of_items = [(group, parts) for group, parts in of_items if next(iter(parts.values())).labels]
        yield from of_items
        for of_queries, of_item in self.crossings:
            for group in self.groups:
                for other, parts in of_items:
                    if (group.attribute, other.attribute) == (of_queries, of_item):
                        yield from self._crossed(group, other, parts)

    def _crossed(
        self, group: Group, other: Group, parts: Mapping[str, Scores]
    ) -> Iterator[tuple[Group, dict[str, Scores]]]:
        every = next(iter(self.scores.values())).queries
        members = every.filter(pl.Series(group.members)).implode()
        found = {name: one.part(np.flatnonzero(one.queries.is_in(members))) for name, one in parts.items()}
        if all(len(one.queries) for one in found.values()):
            note = "; ".join(filter(None, (group.note, other.note)))
            yield Group(f"{group.name}*{other.name}", note, group.members), found
