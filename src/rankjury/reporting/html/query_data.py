"""Queries of a page: scores, texts, slices, gold and rankings side by side; the best and worst of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite, isnan
from typing import Any

import numpy as np

from rankjury.core.types import Floats
from rankjury.evaluation.query_lists import Answers, ItemLists
from rankjury.evaluation.report import Report
from rankjury.labeling.keywords.partial_match import PartialMatches
from rankjury.stats.formatting import format_value

LONGEST_TEXT = 300
"""Of a query's text or an item's name on a page; what is longer is cut."""
_MOST_CASES = 5
_MOST_ITEMS = 5
_MOST_SYSTEMS = 8
_DIGITS = 4
"""Significant ones; the report's JSON has all."""
_MOST_DECIMALS = 17
_POWERS = np.array([float(f"1e{power}") for power in range(_MOST_DECIMALS + 1)])
_NEARLY_HALF = 1e-6


@dataclass(frozen=True, eq=False)
class QueryDetails:
    """Queries one by one, in the order of scores."""

    ids: Sequence[str]
    texts: Sequence[str | None]
    """What the queries say, where it is known."""
    scores: Mapping[str, Mapping[str, Floats]]
    """By system and measure; NaN is undefined."""
    slices: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """By name, the rows of the queries in it."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What items are called."""
    answers: Answers | None = None
    keywords: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By system and query, which keywords were asked for, and which of them each result has and lacks."""

    @classmethod
    def of(cls, report: Report) -> "QueryDetails | None":
        """Return those of a report; None where it does not have the queries' scores."""
        if report.queries is None:
            return None
        ids = [str(query) for query in report.queries.ids]
        texts = report.texts
        return cls(
            ids,
            [shorten_text(texts.get(id_)) for id_ in ids],
            {name: {label: one[label] for label in one.by_query.labels} for name, one in report.scores.items()},
            {part.name: list(part.rows) for part in report.slices if part.of == "queries"},
            report.names,
            report.answers,
            keyword_results(report),
        )

    def query(self, row: int) -> dict[str, Any]:
        """All that is known of one query, as a page shows it."""
        answers = self.answers
        about = {
            "row": row,
            "id": self.ids[row],
            "text": self.texts[row],
            "slices": [name for name, rows in self._members.items() if row in rows],
            "scores": {
                name: {label: none_for_nan(float(values[row])) for label, values in columns.items()}
                for name, columns in self.scores.items()
            },
        }
        if answers is None:
            return about | {"golds": [], "systems": [], "held": False}
        golds = list(answers.golds)
        return about | {
            "golds": [
                {"name": name, "total": int(gold.total[row]), "items": self._items(gold, row)}
                for name, gold in answers.golds.items()
            ],
            "systems": [
                {
                    "name": name,
                    "gold": golds.index(answers.gold_of[name]),
                    "total": int(system.total[row]),
                    "items": self._items(system, row),
                }
                | self._keywords(name, self.ids[row])
                for name, system in answers.systems.items()
            ],
            "held": True,
        }

    @cached_property
    def _members(self) -> dict[str, frozenset[int]]:
        return {name: frozenset(rows) for name, rows in self.slices.items()}

    def _items(self, lists: ItemLists, row: int) -> list[dict[str, Any]]:
        return [
            {
                "id": item,
                "name": shorten_text(self.names.get(item)),
                "rank": rank,
                "score": none_for_nan(score),
                "grade": none_for_nan(grade),
            }
            for rank, item, score, grade in lists.of(row)
        ]

    def _keywords(self, system: str, query: str) -> dict[str, Any]:
        found = self.keywords.get(system, {}).get(query)
        return {} if found is None else {"keywords": found}


def keyword_results(report: Report) -> dict[str, dict[str, Any]]:
    """Return by system and query the keywords that were asked for, and which of them each result has and lacks."""
    return {
        name: {
            looked["query"]: {
                "asked": looked["keywords"],
                "results": {one["item"]: {"has": one["has"], "lacks": one["lacks"]} for one in looked["results"]},
            }
            for looked in section.to_json()["queries"]
        }
        for name, section in report.sections_of(PartialMatches).items()
    }


def shorten_text(text: str | None) -> str | None:
    if text is None or len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}…"


def none_for_nan(value: float) -> float | None:
    return value if isfinite(value) else None


@dataclass(frozen=True)
class CaseItem:
    name: str
    grade: str
    relevant: bool
    rank: str = ""
    """Of one that came too late."""


@dataclass(frozen=True)
class QueryCase:
    """One query."""

    id: str
    text: str | None
    score: str
    found: tuple[CaseItem, ...]
    missed: tuple[CaseItem, ...]


def select_cases(
    details: QueryDetails, label: str, *, lower: bool, rel: float | None = None, k: int | None = None
) -> list[tuple[str, list[QueryCase], list[QueryCase]]]:
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
        half = min(_MOST_CASES, (len(best) + 1) // 2)
        rest = np.sort(best[half:])
        worst = rest[np.argsort(good[rest], kind="stable")][:_MOST_CASES]
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

    details: QueryDetails
    system: str
    rel: float | None
    k: int | None

    def case(self, row: int, score: float) -> QueryCase:
        answers, details = self.details.answers, self.details
        found, missed = ((), ()) if answers is None else self._items(answers, row)
        return QueryCase(details.ids[row], details.texts[row], format_value(score, 3), found, missed)

    def _items(self, answers: Answers, row: int) -> tuple[tuple[CaseItem, ...], tuple[CaseItem, ...]]:
        """The first that came, and the best that the measure did not see."""
        ours, gold = answers.systems[self.system], answers.golds[answers.gold_of[self.system]]
        came = ours.of(row)
        ranks = {one.item: one.rank for one in came}
        lacking = [
            item for item in gold.of(row) if self._is_relevant(item.grade) and not self._seen(ranks.get(item.item))
        ]
        return (
            tuple(self._item(one.item, one.grade) for one in came[:_MOST_ITEMS] if one.rank <= _MOST_ITEMS),
            tuple(self._item(one.item, one.grade, ranks.get(one.item)) for one in lacking[:_MOST_ITEMS]),
        )

    def _seen(self, rank: int | None) -> bool:
        return rank is not None and (self.k is None or rank <= self.k)

    def _is_relevant(self, grade: float) -> bool:
        return grade > 0 if self.rel is None else grade >= self.rel

    def _item(self, item: str, grade: float, rank: int | None = None) -> CaseItem:
        name = shorten_text(self.details.names.get(item)) or item
        return CaseItem(
            name, "" if isnan(grade) else f"{grade:g}", self._is_relevant(grade), "" if rank is None else f"{rank:,}"
        )


def round_significant(values: Floats) -> Floats:
    """To four significant digits, whole numbers to the unit; what is not finite becomes NaN.

    The same numbers as Python's ``round``: a whole number divided by a power of ten is the double that is nearest to
    the decimal. Where a product may have been rounded over a half, Python decides.
    """
    known = np.isfinite(values)
    held = np.where(known, values, 0.0)
    with np.errstate(divide="ignore"):
        power = np.where(held != 0, np.floor(np.log10(np.abs(held))), 0.0)
    decimals = np.clip(_DIGITS - 1 - power, 0, _MOST_DECIMALS).astype(np.int64)
    scale = _POWERS[decimals]
    scaled = held * scale
    found = np.rint(scaled) / scale
    for at in zip(*np.nonzero(np.abs(np.abs(scaled - np.trunc(scaled)) - 0.5) < _NEARLY_HALF), strict=True):
        found[at] = round(float(held[at]), int(decimals[at]))
    return np.where(known, found, np.nan)
