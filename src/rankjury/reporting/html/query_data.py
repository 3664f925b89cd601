"""Queries of a page: scores, texts, slices, gold and rankings side by side; the best and worst of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, isfinite, isnan
from typing import Any

import numpy as np

from rankjury.core.types import Floats
from rankjury.evaluation.query_lists import Answers, ItemLists
from rankjury.evaluation.report import Report
from rankjury.labeling.keywords.partial_match import PartialMatches
from rankjury.reporting.html.rounding import round_list
from rankjury.stats.formatting import format_value

LONGEST_TEXT = 300
"""Of a query's text or an item's name on a page; what is longer is cut."""
_MOST_CASES = 5
_MOST_ITEMS = 5
_MOST_SYSTEMS = 8


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
            {name: {label: table[label] for label in table.by_query.labels} for name, table in report.scores.items()},
            {part.name: list(part.rows) for part in report.slices if part.of == "queries"},
            report.names,
            report.answers,
            keyword_results(report),
        )

    def query(self, row: int) -> dict[str, Any]:
        """Return all that is known of one query, as a page shows it."""
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
        entries = lists.of(row)
        scores = round_list([entry.score for entry in entries])
        return [
            {
                "id": entry.item,
                "name": shorten_text(self.names.get(entry.item)),
                "rank": entry.rank,
                "score": score,
                "grade": none_for_nan(entry.grade),
            }
            for entry, score in zip(entries, scores, strict=True)
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
                "results": {
                    result["item"]: {"has": result["has"], "lacks": result["lacks"]} for result in looked["results"]
                },
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
    """Return five successes and five failures of each system under a measure; no query is both.

    Args:
        details: The queries; equal scores are in their order.
        label: The measure.
        lower: Whether less of it is better.
        rel: The grade from which an item is relevant.
        k: The cut-off of the measure.
    """
    cases = []
    for system in list(details.scores)[:_MOST_SYSTEMS]:
        values = details.scores[system].get(label)
        if values is None or (details.answers is not None and system not in details.answers.systems):
            continue
        known = np.flatnonzero(~np.isnan(values))
        if not len(known):
            continue
        good = -values if lower else values
        best = known[np.argsort(-good[known], kind="stable")]
        half = min(_MOST_CASES, (len(best) + 1) // 2)
        rest = np.sort(best[half:])
        worst = rest[np.argsort(good[rest], kind="stable")][:_MOST_CASES]
        successes, failures = (
            [_case(details, system, row, float(values[row]), rel, k) for row in rows.tolist()]
            for rows in (best[:half], worst)
        )
        cases.append((system, successes, failures))
    return cases


def _case(details: QueryDetails, system: str, row: int, score: float, rel: float | None, k: int | None) -> QueryCase:
    """Return a query with the first items of its ranking, and the best items that the measure did not see."""

    def is_relevant(grade: float) -> bool:
        return grade > 0 if rel is None else grade >= rel

    def item_of(item: str, grade: float, rank: int | None = None) -> CaseItem:
        name, shown = shorten_text(details.names.get(item)) or item, "" if isnan(grade) else f"{grade:g}"
        return CaseItem(name, shown, is_relevant(grade), "" if rank is None else f"{rank:,}")

    found: list[CaseItem] = []
    missed: list[CaseItem] = []
    answers = details.answers
    if answers is not None:
        ranking = answers.systems[system].of(row)
        ranks = {entry.item: entry.rank for entry in ranking}
        found = [item_of(entry.item, entry.grade) for entry in ranking[:_MOST_ITEMS] if entry.rank <= _MOST_ITEMS]
        gold = (entry for entry in answers.golds[answers.gold_of[system]].of(row) if is_relevant(entry.grade))
        unseen = [entry for entry in gold if not 0 < ranks.get(entry.item, 0) <= (k or inf)]
        missed = [item_of(entry.item, entry.grade, ranks.get(entry.item)) for entry in unseen[:_MOST_ITEMS]]
    return QueryCase(details.ids[row], details.texts[row], format_value(score, 3), tuple(found), tuple(missed))
