"""Runs and judgments that tools disagree about: ties, negative grades, unjudged and missing things, awkward ids."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from hypothesis import Phase, settings, strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

Value = TypeVar("Value")
Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]

# Order by code point, by byte and by number disagree about these, as do upper and lower case; the last three are
# beyond ASCII, one of them beyond 16 bits (where UTF-16 order differs from UTF-8 order).
AWKWARD_IDS = ("d1", "d10", "d2", "d02", "D2", "9", "10", "007", "7", "a", "B", "a-b", "a b", "_", "d1 ", "é", "ﬀ", "𝔸")
ITEM_IDS = (*AWKWARD_IDS, *(f"doc{n}" for n in range(16)))
QUERY_IDS = ("q1", "q10", "q2", "Q2", "7")
GRADES = (-2, -1, 0, 1, 2, 3)


FEW_SCORES = st.sampled_from((0.0, -0.0, 1.0, 2.0, 0.5, -1.0))
# Different in double precision; in single precision equal within each of the groups.
ALIKE_IN_SINGLE = st.sampled_from((1.0, 1.0 + 1e-9, 1.0 + 2e-9, 1.0 - 1e-9, 16777216.0, 16777217.0, 1e-60, 2e-60, 0.0))
ANY_SCORES = st.floats(-1000, 1000, allow_nan=False)
SCORES = st.one_of(FEW_SCORES, ALIKE_IN_SINGLE, ANY_SCORES)


@dataclass(frozen=True)
class Case:
    """Judgments and a run over them."""

    qrels: Qrels
    run: Run


@st.composite
def valued_items(
    draw: DrawFn, values: SearchStrategy[Value], sizes: tuple[int, int], items: tuple[str, ...] = ITEM_IDS
) -> dict[str, Value]:
    """Items with a value each, in no particular order; all sizes are as likely, so that cut-offs fall everywhere."""
    size = draw(st.integers(*sizes))
    chosen = draw(st.lists(st.sampled_from(items), unique=True, min_size=size, max_size=size))
    return dict(zip(chosen, draw(st.lists(values, min_size=size, max_size=size)), strict=True))


def judgments(grades: Iterable[int], sizes: tuple[int, int], items: tuple[str, ...]) -> SearchStrategy[dict[str, int]]:
    """What one query was judged for: item to grade, the best grade not negative.

    pytrec_eval 0.5.11 counts grades in an array of best grade + 1 places: where all are negative it writes outside of
    it and dies, now or later.
    """
    drawn = valued_items(st.sampled_from(tuple(grades)), sizes, items)
    return drawn.filter(lambda judged: not judged or max(judged.values()) >= 0)


@st.composite
def cases(
    draw: DrawFn,
    *,
    scores: SearchStrategy[float] = SCORES,
    grades: Iterable[int] = GRADES,
    depths: tuple[int, int] = (1, 30),
    judged: tuple[int, int] = (0, 15),
    queries: tuple[str, ...] = QUERY_IDS,
    items: tuple[str, ...] = ITEM_IDS,
) -> Case:
    """Some queries judged and retrieved, some only one of the two; at least one both (else rankjury raises, by design).

    A retrieved query has at least one item: pytrec_eval 0.5.11 dies of an empty result when it is asked for several
    measures.
    """
    shared = draw(st.sampled_from(queries))
    in_gold = {shared, *draw(st.sets(st.sampled_from(queries), max_size=3))}
    in_run = {shared, *draw(st.sets(st.sampled_from(queries), max_size=3))}
    qrels = {
        name: draw(judgments(grades, (max(1, judged[0]) if name == shared else judged[0], judged[1]), items))
        for name in queries
        if name in in_gold
    }
    return Case(qrels, {name: draw(valued_items(scores, depths, items)) for name in queries if name in in_run})


# Making a failing example small takes minutes at this size, so it is done on demand: RANKJURY_SHRINK=1 pytest …
PHASES = (Phase.explicit, Phase.generate, *((Phase.shrink,) if os.environ.get("RANKJURY_SHRINK") else ()))


def thorough(examples: int) -> settings:
    """The same examples in every run, so that a red test is a change in the code and not luck.

    A quarter of them, unless all are wanted: RANKJURY_THOROUGH=1 pytest …
    """
    examples = examples if os.environ.get("RANKJURY_THOROUGH") else examples // 4
    return settings(max_examples=examples, deadline=None, derandomize=True, database=None, phases=PHASES)
