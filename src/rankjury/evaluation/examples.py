"""The queries that went best and worst, with what they found and what they missed: for people who judge by eye."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

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
    """Return the ``most`` queries with the best scores under a measure, then those with the worst, worst first.

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
    grades: dict[str, dict[str, float]] = {}
    for query, item, grade in gold.frame().cast({"query_id": pl.String, "item_id": pl.String}).iter_rows():
        grades.setdefault(query, {})[item] = grade
    examples = []
    for kind, rows in (("success", best[:half]), ("failure", worst)):
        for row in rows.tolist():
            query = str(scores.queries[row])
            judged, shown = grades.get(query, {}), top[row][:_SHOWN]
            missed = [item for item, grade in judged.items() if grade > 0 and item not in shown]
            missed = sorted(missed, key=lambda item: (-judged[item], item))[:_MISSED_SHOWN]
            items, missed_items = (
                tuple(ExampleItem(item, judged.get(item, 0.0), names.get(item)) for item in listed)
                for listed in (shown, missed)
            )
            examples.append(Example(kind, query, float(values[row]), items, missed_items, texts.get(query)))
    return Examples(tuple(examples))
