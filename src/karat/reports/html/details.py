"""Queries of a page: scores, texts, slices, and gold and rankings side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Any

from karat.answers import Answers, Listed
from karat.partial import Partial
from karat.report import Report
from karat.types import Floats

__all__ = ["LONGEST_TEXT", "Details", "keywords_of", "shortened"]

LONGEST_TEXT = 300
"""Of a query's text or an item's name on a page; what is longer is cut."""


@dataclass(frozen=True, eq=False)
class Details:
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
    def of(cls, report: Report) -> "Details | None":
        """Return those of a report; None where it does not have the queries' scores."""
        if report.queries is None:
            return None
        ids = [str(query) for query in report.queries.ids]
        texts = report.texts
        return cls(
            ids,
            [shortened(texts.get(id_)) for id_ in ids],
            {name: {label: one[label] for label in one.by_query.labels} for name, one in report.scores.items()},
            {part.name: list(part.rows) for part in report.slices if part.of == "queries"},
            report.names,
            report.answers,
            keywords_of(report),
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
                {"name": name, "total": int(one.total[row]), "items": self._items(one, row)}
                for name, one in answers.golds.items()
            ],
            "systems": [
                {
                    "name": name,
                    "gold": golds.index(answers.gold_of[name]),
                    "total": int(one.total[row]),
                    "items": self._items(one, row),
                }
                | self._keywords(name, self.ids[row])
                for name, one in answers.systems.items()
            ],
            "held": True,
        }

    @cached_property
    def _members(self) -> dict[str, frozenset[int]]:
        return {name: frozenset(rows) for name, rows in self.slices.items()}

    def _items(self, one: Listed, row: int) -> list[dict[str, Any]]:
        return [
            {
                "id": item,
                "name": shortened(self.names.get(item)),
                "rank": rank,
                "score": none_for_nan(score),
                "grade": none_for_nan(grade),
            }
            for rank, item, score, grade in one.of(row)
        ]

    def _keywords(self, system: str, query: str) -> dict[str, Any]:
        found = self.keywords.get(system, {}).get(query)
        return {} if found is None else {"keywords": found}


def keywords_of(report: Report) -> dict[str, dict[str, Any]]:
    """Return by system and query the keywords that were asked for, and which of them each result has and lacks."""
    return {
        name: {
            looked["query"]: {
                "asked": looked["keywords"],
                "results": {one["item"]: {"has": one["has"], "lacks": one["lacks"]} for one in looked["results"]},
            }
            for looked in section.to_json()["queries"]
        }
        for name, section in report.sections_of(Partial).items()
    }


def shortened(text: str | None) -> str | None:
    if text is None or len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}…"


def none_for_nan(value: float) -> float | None:
    return value if isfinite(value) else None
