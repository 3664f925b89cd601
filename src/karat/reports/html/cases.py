"""The queries that went best and worst, with what they found and missed, for a page."""

from dataclasses import dataclass
from math import isnan

import numpy as np

from karat.answers import Answers
from karat.reports.html.details import Details, shortened
from karat.wording import figure_shown

__all__ = ["Case", "Item", "cases_of"]

_MOST = 5
_ITEMS = 5
_MOST_SYSTEMS = 8


@dataclass(frozen=True)
class Item:
    name: str
    grade: str
    relevant: bool
    rank: str = ""
    """Of one that came too late."""


@dataclass(frozen=True)
class Case:
    """One query."""

    id: str
    text: str | None
    score: str
    found: tuple[Item, ...]
    missed: tuple[Item, ...]


def cases_of(
    details: Details, label: str, *, lower: bool, rel: float | None = None, k: int | None = None
) -> list[tuple[str, list[Case], list[Case]]]:
    """Of each system five successes and five failures under a measure; equal scores go by id, and none is both.

    ``rel`` is the grade from which an item is relevant, ``k`` how deep the measure looks.
    """
    found = []
    for system in list(details.scores)[:_MOST_SYSTEMS]:
        values = details.scores[system].get(label)
        if values is None or (details.answers is not None and system not in details.answers.systems):
            continue
        known = np.flatnonzero(~np.isnan(values))
        good = -values if lower else values
        best = known[np.argsort(-good[known], kind="stable")]
        half = min(_MOST, (len(best) + 1) // 2)
        rest = np.sort(best[half:])
        worst = rest[np.argsort(good[rest], kind="stable")][:_MOST]
        looked = _Looked(details, system, rel, k)
        if len(known):
            successes, failures = (
                [looked.case(row, float(values[row])) for row in rows.tolist()] for rows in (best[:half], worst)
            )
            found.append((system, successes, failures))
    return found


@dataclass(frozen=True, eq=False)
class _Looked:
    """How a system's queries are looked at."""

    details: Details
    system: str
    rel: float | None
    k: int | None

    def case(self, row: int, score: float) -> Case:
        answers, details = self.details.answers, self.details
        found, missed = ((), ()) if answers is None else self._items(answers, row)
        return Case(details.ids[row], details.texts[row], figure_shown(score, 3), found, missed)

    def _items(self, answers: Answers, row: int) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
        """The first that came, and the best that the measure did not see."""
        ours, gold = answers.systems[self.system], answers.golds[answers.gold_of[self.system]]
        came = ours.of(row)
        ranks = {one.item: one.rank for one in came}
        lacking = [one for one in gold.of(row) if self._is_relevant(one.grade) and not self._seen(ranks.get(one.item))]
        return (
            tuple(self._item(one.item, one.grade) for one in came[:_ITEMS] if one.rank <= _ITEMS),
            tuple(self._item(one.item, one.grade, ranks.get(one.item)) for one in lacking[:_ITEMS]),
        )

    def _seen(self, rank: int | None) -> bool:
        return rank is not None and (self.k is None or rank <= self.k)

    def _is_relevant(self, grade: float) -> bool:
        return grade > 0 if self.rel is None else grade >= self.rel

    def _item(self, item: str, grade: float, rank: int | None = None) -> Item:
        name = shortened(self.details.names.get(item)) or item
        return Item(
            name, "" if isnan(grade) else f"{grade:g}", self._is_relevant(grade), "" if rank is None else f"{rank:,}"
        )
