"""The queries that went best and worst, with what they found and what they missed: for people who judge by eye."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.types import Gold
from rankjury.core.validation import Record
from rankjury.evaluation.scores import Scores
from rankjury.evaluation.sections import Section

_SHOWN = 10
_MISSED_SHOWN = 5


@dataclass(frozen=True)
class ExampleItem(Record):
    """An item of an example."""

    id: str
    grade: float
    """0 where it is not judged."""
    name: str | None = None
    """What people call it, where that is known."""


@dataclass(frozen=True)
class Example(Record):
    """One query: its score, the items that came first with their grades, and the best that did not come."""

    json_keys = MappingProxyType({"found": "items"})

    kind: str
    """success or failure."""
    query: str
    score: float
    found: tuple[ExampleItem, ...]
    missed: tuple[ExampleItem, ...]
    text: str | None = None
    """What the query says, where that is known."""


@dataclass(frozen=True, eq=False)
class Examples(Section):
    """The queries of a system that went best, then those that went worst."""

    name = "examples"
    system_only = True
    json_field = "examples"

    examples: tuple[Example, ...] = ()

    def __iter__(self) -> Iterator[Example]:
        return iter(self.examples)


def select_examples(
    scores: Scores,
    label: str,
    top: Sequence[Sequence[str]],
    gold: Gold,
    *,
    texts: Mapping[str, str] = MappingProxyType({}),
    names: Mapping[str, str] = MappingProxyType({}),
    most: int = 5,
) -> Examples:
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
    rows = best[:half].tolist(), worst.tolist()
    return Examples(tuple(_examples(scores, values, *rows, top, _grades(gold), texts, names)))


def _examples(
    scores: Scores,
    values: Any,
    best: list[int],
    worst: list[int],
    top: Sequence[Sequence[str]],
    grades: Mapping[str, Mapping[str, float]],
    texts: Mapping[str, str],
    names: Mapping[str, str],
) -> Iterator[Example]:
    def listed(items: Sequence[str], judged: Mapping[str, float]) -> tuple[ExampleItem, ...]:
        return tuple(ExampleItem(item, judged.get(item, 0.0), names.get(item)) for item in items)

    for kind, rows in (("success", best), ("failure", worst)):
        for row in rows:
            query = str(scores.queries[row])
            judged = grades.get(query, {})
            rest = sorted(
                (item for item in judged if item not in top[row][:_SHOWN]), key=lambda one: (-judged[one], one)
            )
            missed = [item for item in rest if judged[item] > 0][:_MISSED_SHOWN]
            found = listed(top[row][:_SHOWN], judged)
            yield Example(kind, query, float(values[row]), found, listed(missed, judged), texts.get(query))


def _grades(gold: Gold) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    frame = gold.frame()
    columns = frame["query_id"].cast(pl.String), frame["item_id"].cast(pl.String), frame["grade"]
    for query, item, grade in zip(*(column.to_list() for column in columns), strict=True):
        found.setdefault(query, {})[item] = grade
    return found
