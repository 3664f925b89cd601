"""Evaluations drawn from a seed, for pages: queries, systems, golds and names of any number."""

import numpy as np
import polars as pl

from rankjury.core.types import segments_within
from rankjury.evaluation.query_lists import Answers, ItemLists
from rankjury.reporting.html.query_data import QueryDetails

LABELS = ("ndcg@10", "rr@10", "recall@10")


def listed(rng: np.random.Generator, queries: int, items: int, depth: int, *, scores: bool = True) -> ItemLists:
    """Lists of 0 to ``depth`` items, each once."""
    lengths = rng.integers(0, depth + 1, queries)
    chosen = [rng.choice(items, length, replace=False) for length in lengths]
    codes = np.concatenate([*chosen, np.empty(0, dtype=np.int64)]).astype(int)
    values = [np.sort(rng.normal(0, 10.0 ** rng.integers(-3, 4), length))[::-1] for length in lengths]
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return ItemLists(
        starts,
        pl.Series([f"item {code}" for code in codes], dtype=pl.String),
        np.where(rng.random(len(codes)) < 0.5, rng.integers(0, 4, len(codes)).astype(float), np.nan),
        np.concatenate([*values, np.empty(0)]) if scores else None,
        (lengths + rng.integers(0, 5, queries)).astype(np.int64),
        segments_within(starts) + 1 + rng.integers(0, 2, len(codes)) * rng.integers(0, 500, len(codes)),
    )


def details(
    seed: int, queries: int = 30, systems: int = 3, items: int = 60, depth: int = 12, *, names: bool = True
) -> QueryDetails:
    """Two golds where there are several systems, the last of which is held against the second."""
    rng = np.random.default_rng(seed)
    called = [f"system {number}" for number in range(systems)]
    golds = ["", "other"][: min(systems, 2)]
    answers = Answers(
        pl.Series([f"q{number:05}" for number in range(queries)]),
        {name: listed(rng, queries, items, depth, scores=False) for name in golds},
        {name: listed(rng, queries, items, depth, scores=number != 1) for number, name in enumerate(called)},
        {name: golds[-1] if name == called[-1] else golds[0] for name in called},
    )
    values = {name: {label: rng.random(queries) for label in LABELS} for name in called}
    values[called[0]][LABELS[1]][::7] = np.nan
    return QueryDetails(
        answers.queries.to_list(),
        [f"text of {number}" if number % 3 else None for number in range(queries)],
        values,
        {f"part={number}": list(range(number, queries, number + 2)) for number in range(3)},
        {f"item {number}": f"the item that is called {number}" for number in range(0, items, 2)} if names else {},
        answers,
    )
