"""Worked examples of measures: small data as Python literals, shown on the page, and the values computed from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import Any

import numpy as np
import polars as pl

import rankjury
from rankjury.core.types import Background
from rankjury.errors import RankjuryError
from rankjury.evaluation.evaluate import Evaluation
from rankjury.measures.measure import Measure, Metric
from rankjury.stats.estimates import summarise
from reference.markdown import code, codes, fence, table, text

CUT = 3
GOLD = {"q1": {"a": 3, "b": 1, "c": 0}, "q2": {"d": 1, "e": 2}, "q3": {"f": 0}, "q4": {"g": 1}}
RUN = {
    "q1": {"x": 0.9, "a": 0.8, "b": 0.8, "c": 0.5, "y": 0.4},
    "q2": {"q2": 0.9, "d": 0.7},
    "q3": {"f": 0.6, "z": 0.5},
}
ABOUT_RUN = (
    "In `q1` the items `a` and `b` have the same score, and `x` and `y` are not judged. In `q2` the query itself was "
    "retrieved, and `e` was not. `q3` has no relevant item, and the run lacks `q4`."
)
ORDERED = {"q1": ["a", "b", "c", "d", "e"], "q2": ["f", "g", "h"]}
ORDERED_RUN = {"q1": {"b": 0.9, "a": 0.8, "x": 0.7, "c": 0.6}, "q2": {"f": 0.9, "h": 0.9}}
ABOUT_ORDERED = (
    "The gold is in order, best first: `rankjury.ordered_gold` makes one of lists. In `q2` the items `f` and "
    "`h` have the same score."
)
SAMPLED = {"q1": {"a": 1, "b": -1, "c": 0, "d": 1, "e": -1}, "q2": {"f": 1, "g": -1}}
SAMPLED_RUN = {
    "q1": {"b": 0.9, "a": 0.8, "c": 0.7, "x": 0.6, "d": 0.5},
    "q2": {"g": 0.9, "f": 0.8},
}
ABOUT_SAMPLED = "A grade of −1 is an item of the pool that was not judged; `x` is not in the pool."
TAKEN = {"u1": {"b": 1, "e": 1}, "u2": {"a": 1}, "u3": {"c": 1}}
LISTS = {
    "u1": {"b": 0.9, "c": 0.8, "e": 0.7},
    "u2": {"b": 0.9, "a": 0.7, "e": 0.7},
}
HISTORY = {"u1": ["a"], "u2": ["b", "c"], "u3": ["a", "b"], "u4": ["a", "b", "c"], "u5": ["a"]}
GENRES = {"a": [1, 0], "b": [1, 1], "c": [0, 1], "d": [1, 0], "e": [0, 1]}
ABOUT_LISTS = (
    "The catalogue has the items `a` to `e`; `d` and `e` have no user in training. `u3` has no list. In Python "
    "`background=task.background`, of the task that `rankjury.held_out` makes, has the training data and the genres."
)


@dataclass
class Example:
    """Data that a measure is computed on."""

    gold: Any
    run: Any
    shown: list[str]
    """The data as Markdown."""
    background: Background | None = None

    @cached_property
    def evaluation(self) -> Evaluation:
        gold, ranking = rankjury.as_gold(self.gold), rankjury.as_ranking(self.run)
        return Evaluation.match(gold, ranking, background=self.background)

    def value(self, measure: Measure) -> tuple[str, str]:
        """Return the value of the measure over all queries, and those of each query; of an error, its text."""
        try:
            values = self.evaluation.values(measure)
        except RankjuryError as error:
            return "error", text(error.found)
        estimate = summarise(values, measure.metric.aggregate)
        single = zip(self.evaluation.queries.to_list(), values.tolist(), strict=True)
        each = ", ".join(f"{code(query)} {_number(value)}" for query, value in single)
        return _number(estimate.mean if estimate.total is None else estimate.total), each


def _number(value: float) -> str:
    if isnan(value):
        return "undefined"
    return f"{value:.0f}" if value == round(value) else f"{value:.4f}"


def example_of(metric: Metric) -> Example:
    """Return the data that shows how a metric is computed."""
    if metric.of_lists:
        return Example(TAKEN, LISTS, _lists_shown(metric), _background())
    if metric.needs_places:
        gold = rankjury.ordered_gold(ORDERED)
        return Example(gold, ORDERED_RUN, _literals(ORDERED, ORDERED_RUN, ABOUT_ORDERED, ordered=True))
    if metric.name == "inf_ap":
        return Example(SAMPLED, SAMPLED_RUN, _literals(SAMPLED, SAMPLED_RUN, ABOUT_SAMPLED))
    return Example(GOLD, RUN, _literals(GOLD, RUN, ABOUT_RUN))


def measure_of(metric: Metric) -> Measure:
    """Return the measure that the example computes: with a cut-off where the metric takes one."""
    return Measure(metric.name, None if metric.cut == "none" else CUT)


def _literals(gold: Any, run: Any, about: str, *, ordered: bool = False) -> list[str]:
    made = f"rankjury.ordered_gold({gold})" if ordered else str(gold)
    lines = _wrapped("gold", made, gold) + _wrapped("run", str(run), run)
    return [*fence("pycon", lines), "", about]


def _wrapped(name: str, whole: str, data: dict[str, Any]) -> list[str]:
    """Return an assignment as lines of an interactive session, one query per line."""
    begin, end = whole.split(str(data))
    rows = [f"...     {query!r}: {value!r}," for query, value in data.items()]
    lines = [f">>> {name} = {begin}{{", *rows, f"... }}{end}"]
    return [line.replace("'", '"') for line in lines]


def _lists_shown(metric: Metric) -> list[str]:
    """Return the recommended lists, the training data, and the held-out items where the metric needs them."""
    users = sorted({*HISTORY, *LISTS})
    header = ["user", "in training", "recommended (score)"]
    if metric.needs_relevant:
        header.append("taken later")
    rows = []
    for user in users:
        scored = ", ".join(f"{code(item)} {score}" for item, score in LISTS.get(user, {}).items())
        row = [code(user), codes(HISTORY.get(user, ())), scored]
        rows.append([*row, codes(TAKEN.get(user, {}))] if metric.needs_relevant else row)
    genres = table(["item", "genre g1", "genre g2"], [[code(item), *map(str, of)] for item, of in GENRES.items()])
    needs_genres = any(option.name == "by" for option in metric.options)
    return [*table(header, rows), *(["", *genres] if needs_genres else []), "", ABOUT_LISTS]


def _background() -> Background:
    items, users = sorted(GENRES), sorted(HISTORY)
    codes_of = [[items.index(item) for item in sorted(HISTORY[user])] for user in users]
    history: Sequence[int] = [number for of_user in codes_of for number in of_user]
    return Background(
        items=pl.Series("item", items),
        popularity=np.bincount(history, minlength=len(items)).astype(np.int64),
        n_users=len(users),
        users=pl.Series("user", users),
        starts=np.cumsum([0, *map(len, codes_of)]).astype(np.int64),
        history=np.array(history, dtype=np.int64),
        features={"genre": np.array([GENRES[item] for item in items], dtype=np.float64)},
    )
