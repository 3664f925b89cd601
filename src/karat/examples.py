"""The queries that went best and worst, with what they found and what they missed: for people who judge by eye."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from karat.results import Scores
from karat.types import Gold

__all__ = ["Example", "examples_of"]

_SHOWN = 10
_MISSED_SHOWN = 5


@dataclass(frozen=True)
class Example:
    """One query: its score, the items that came first with their grades, and the best that did not come."""

    kind: str
    """success or failure."""
    query: str
    score: float
    found: tuple[tuple[str, float], ...]
    """Item and grade, 0 where it is not judged."""
    missed: tuple[tuple[str, float], ...]

    def as_json(self, texts: Mapping[str, str], names: Mapping[str, str]) -> dict[str, Any]:
        """With what queries and items are called, where that is known."""

        def items(listed: Sequence[tuple[str, float]]) -> list[dict[str, Any]]:
            return [{"id": item, "name": names.get(item), "grade": grade} for item, grade in listed]

        return {
            "kind": self.kind,
            "query": self.query,
            "text": texts.get(self.query),
            "score": self.score,
            "items": items(self.found),
            "missed": items(self.missed),
        }


def examples_of(
    scores: Scores, label: str, top: Sequence[Sequence[str]], gold: Gold, *, most: int = 5
) -> tuple[Example, ...]:
    """The ``most`` queries that went best under a measure, then those that went worst, worst first.

    Equal scores go by id. A query is never shown as both: of few queries the successes come first.
    """
    values = scores[label]
    ids = scores.queries.cast(pl.String)
    known = np.flatnonzero(~np.isnan(values))
    places = ids.rank("ordinal").to_numpy()
    good = -values if label in scores.lower_is_better else values
    best = known[np.lexsort((places[known], -good[known]))]
    half = min(most, (len(best) + 1) // 2)
    worst = best[half:][np.lexsort((places[best[half:]], good[best[half:]]))][:most]
    return tuple(_examples(scores, values, best[:half].tolist(), worst.tolist(), top, _grades(gold)))


def _examples(
    scores: Scores,
    values: Any,
    best: list[int],
    worst: list[int],
    top: Sequence[Sequence[str]],
    grades: Mapping[str, Mapping[str, float]],
) -> Iterator[Example]:
    for kind, rows in (("success", best), ("failure", worst)):
        for row in rows:
            query = str(scores.queries[row])
            judged = grades.get(query, {})
            found = [(item, judged.get(item, 0.0)) for item in top[row][:_SHOWN]]
            rest = sorted(
                (item for item in judged if item not in top[row][:_SHOWN]), key=lambda one: (-judged[one], one)
            )
            missed = [(item, judged[item]) for item in rest if judged[item] > 0][:_MISSED_SHOWN]
            yield Example(kind, query, float(values[row]), tuple(found), tuple(missed))


def _grades(gold: Gold) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    frame = gold.frame()
    columns = frame["query_id"].cast(pl.String), frame["item_id"].cast(pl.String), frame["grade"]
    for query, item, grade in zip(*(column.to_list() for column in columns), strict=True):
        found.setdefault(query, {})[item] = grade
    return found
