"""Runs and judgments that tools disagree about: ties, negative grades, unjudged and missing things, awkward ids."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]

# Order by code point, by byte and by number disagree about these, as do upper and lower case; the last three are
# beyond ASCII, one of them beyond 16 bits (where UTF-16 order differs from UTF-8 order).
AWKWARD_IDS = ("d1", "d10", "d2", "d02", "D2", "9", "10", "007", "7", "a", "B", "a-b", "a b", "_", "d1 ", "é", "ﬀ", "𝔸")
ITEM_IDS = (*AWKWARD_IDS, *(f"doc{n}" for n in range(24)))
QUERY_IDS = ("q1", "q10", "q2", "Q2", "7")
GRADES = (-2, -1, 0, 1, 2, 3)


def as_single(value: float) -> float:
    """The value as a 32-bit number holds it."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


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

    def common_queries(self) -> set[str]:
        return {query for query, grades in self.qrels.items() if grades} & set(self.run)


def rankings(
    scores: SearchStrategy[float] = SCORES, *, max_size: int = 30, min_size: int = 1, items: Iterable[str] = ITEM_IDS
) -> SearchStrategy[dict[str, float]]:
    """What one query retrieved: item to score, in no particular order.

    At least one item: pytrec_eval 0.5.11 dies of a query with an empty result when it is asked for several measures.
    """
    pairs = st.tuples(st.sampled_from(tuple(items)), scores)
    lists = st.lists(pairs, unique_by=lambda pair: pair[0], max_size=max_size, min_size=min_size)
    return lists.map(dict)


def judgments(
    grades: Iterable[int] = GRADES, *, max_size: int = 15, min_size: int = 0, items: Iterable[str] = ITEM_IDS
) -> SearchStrategy[dict[str, int]]:
    """What one query was judged for: item to grade, the best grade not negative.

    pytrec_eval 0.5.11 counts grades in an array of best grade + 1 places: where all are negative it writes outside of
    it and dies, now or later.
    """
    pairs = st.tuples(st.sampled_from(tuple(items)), st.sampled_from(tuple(grades)))
    lists = st.lists(pairs, unique_by=lambda pair: pair[0], max_size=max_size, min_size=min_size)
    return lists.map(dict).filter(lambda judged: not judged or max(judged.values()) >= 0)


@st.composite
def cases(
    draw: DrawFn,
    *,
    scores: SearchStrategy[float] = SCORES,
    grades: Iterable[int] = GRADES,
    max_depth: int = 30,
    min_depth: int = 1,
    min_judged: int = 0,
    queries: Iterable[str] = QUERY_IDS,
    items: Iterable[str] = ITEM_IDS,
) -> Case:
    """Some queries judged and retrieved, some only one of the two; at least one both (else karat raises, by design)."""
    names = tuple(queries)
    shared = draw(st.sampled_from(names))
    in_gold = {shared, *draw(st.sets(st.sampled_from(names), max_size=4))}
    in_run = {shared, *draw(st.sets(st.sampled_from(names), max_size=4))}
    judged = judgments(grades, min_size=min_judged, items=items)
    found = rankings(scores, max_size=max_depth, min_size=min_depth, items=items)
    at_least_one = judgments(grades, min_size=max(1, min_judged), items=items)
    qrels = {name: draw(at_least_one if name == shared else judged) for name in names if name in in_gold}
    return Case(qrels, {name: draw(found) for name in names if name in in_run})


def thorough(examples: int) -> settings:
    """The same examples in every run, so that a red test is a change in the code and not luck."""
    return settings(max_examples=examples, deadline=None, derandomize=True, database=None)
