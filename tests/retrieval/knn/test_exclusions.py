"""What queries are not to find, looked up by pair, by tile and by query."""

import numpy as np
from hypothesis import given, settings, strategies as st

from rankjury.retrieval.knn.search import LeftOut

N_ITEMS = 9


def left_out(lists: list[list[int]]) -> LeftOut:
    starts = np.concatenate(([0], np.cumsum([len(one) for one in lists])))
    return LeftOut(starts, np.array([item for one in lists for item in sorted(one)], dtype=np.int64), N_ITEMS)


LISTS = st.lists(st.lists(st.integers(0, N_ITEMS - 1), unique=True), min_size=1, max_size=7)


@given(LISTS)
def test_pairs_that_are_left_out_are_told_from_the_others(lists: list[list[int]]) -> None:
    queries, items = np.divmod(np.arange(len(lists) * N_ITEMS), N_ITEMS)
    expected = [item in lists[query] for query, item in zip(queries, items, strict=True)]
    assert left_out(lists).holds(queries, items).tolist() == expected
    assert left_out(lists).counts.tolist() == [len(one) for one in lists]


@settings(max_examples=200)
@given(LISTS, st.data())
def test_a_tile_has_the_pairs_within_it(lists: list[list[int]], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(lists) - 1))
    last = data.draw(st.integers(first, len(lists)))
    low = data.draw(st.integers(0, N_ITEMS - 1))
    high = data.draw(st.integers(low, N_ITEMS))
    row, column = left_out(lists).between(first, last, low, high)
    assert sorted(zip(row.tolist(), column.tolist(), strict=True)) == [
        (query - first, item - low)
        for query in range(first, last)
        for item in sorted(lists[query])
        if low <= item < high
    ]


@given(LISTS, st.data())
def test_any_queries_in_any_order(lists: list[list[int]], data: st.DataObject) -> None:
    queries = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=8))
    row, item = left_out(lists).of(np.array(queries, dtype=np.int64))
    assert list(zip(row.tolist(), item.tolist(), strict=True)) == [
        (place, one) for place, query in enumerate(queries) for one in sorted(lists[query])
    ]


def test_each_query_leaves_out_itself() -> None:
    own = LeftOut.own(np.array([2, -1, 0]), N_ITEMS)
    assert own.starts.tolist() == [0, 1, 1, 2]
    assert own.items.tolist() == [2, 0]
    assert own.holds(np.array([0, 1, 2, 2]), np.array([2, 2, 0, 2])).tolist() == [True, False, True, False]


def test_nothing_is_left_out() -> None:
    nothing = left_out([[], []])
    assert not nothing.holds(np.array([0, 1]), np.array([0, 8])).any()
    assert nothing.between(0, 2, 0, N_ITEMS)[0].size == 0
