"""Arrays of codes score as the same recommendations do by name."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

import rankjury
import rankjury.evaluation.coded
from rankjury.core.convert import as_gold, as_ranking
from rankjury.core.types import Background, Ints
from rankjury.errors import DataError, RankjuryError, UsageError
from rankjury.evaluation.coded import evaluate_arrays, find_duplicate, look_up
from rankjury.evaluation.evaluate import evaluate, resolve_measures
from rankjury.measures.measure import METRICS

ITEMS = 12


def spelling(name: str, k: int | None) -> str:
    return name if k is None or METRICS.get(name).cut == "none" else f"{name}@{k}"


def names(*, of_lists: bool) -> list[str]:
    METRICS.load_own()
    return sorted(name for name in METRICS.names() if METRICS.get(name).of_lists == of_lists)


def user(row: int) -> str:
    return f"{row:03}"


def item(code: int) -> str:
    return f"i{code:04}"


def table(lists: list[list[int]]) -> Ints:
    width = max(1, *map(len, lists))
    return np.array([one + [-1] * (width - len(one)) for one in lists])


def csr(lists: list[list[int]]) -> tuple[Ints, Ints]:
    starts = np.concatenate(([0], np.cumsum([len(one) for one in lists])))
    return starts, np.array([code for one in lists for code in one], dtype=np.int64)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[list[int]], list[list[int]], list[list[float]]]:
    """Of some users what is recommended and what was held out, with grades; something is held out of the first."""
    some = st.lists(st.integers(0, ITEMS - 1), unique=True, max_size=6)
    shown = draw(st.lists(some, min_size=1, max_size=6))
    held = [draw(some) for _ in shown]
    held[0] = held[0] or [0]
    distinct = draw(st.booleans())
    grades = [
        draw(st.permutations(range(1, len(one) + 1)))
        if distinct
        else draw(st.lists(st.sampled_from([-1, 0, 1, 2, 4.5]), min_size=len(one), max_size=len(one)))
        for one in held
    ]
    return shown, held, [[float(grade) for grade in one] for one in grades]


def by_name(
    shown: list[list[int]], held: list[list[int]], grades: list[list[float]] | None
) -> tuple[dict[str, dict[str, float]], dict[str, list[str]]]:
    gold = {
        user(row): {item(code): 1.0 if grades is None else grades[row][place] for place, code in enumerate(codes)}
        for row, codes in enumerate(held)
        if codes
    }
    return gold, {user(row): [item(code) for code in codes] for row, codes in enumerate(shown)}


def outcome(work: Any) -> Any:
    """What came out, or the error that did."""
    try:
        return work()
    except RankjuryError as error:
        return str(error)


def without_ids(warnings: Sequence[object]) -> list[str]:
    """Examples of ids stand in brackets, and are codes on one side and names on the other."""
    return [re.sub(r" \([^)]*\)", "", str(warning)) for warning in warnings]


@settings(max_examples=10, deadline=None)
@given(cases(), st.sampled_from([None, 1, 3, 5]), st.booleans(), st.booleans())
def test_every_measure_is_as_by_name(case: Any, k: int | None, graded: bool, as_csr: bool) -> None:
    shown, held, grades = case
    gold, ranking = by_name(shown, held, grades if graded else None)
    values, out = None, csr(held) if as_csr else table(held)
    if graded:
        width = max(1, *map(len, held))
        values = np.array([one + [np.nan] * (width - len(one)) for one in grades])
        values = np.concatenate([np.array(one) for one in grades]) if as_csr else values
    for name in names(of_lists=False):
        measure = spelling(name, k)
        if METRICS.get(name).cut == "required" and k is None:
            continue
        ours = outcome(partial(evaluate_arrays, table(shown), out, values, measures=measure))
        theirs = outcome(partial(rankjury.evaluate, gold, ranking, measure))
        if isinstance(theirs, str):
            assert ours == theirs, measure
            continue
        assert [user(int(row)) for row in ours.queries] == theirs.queries.to_list()
        np.testing.assert_array_equal(ours.values, theirs.values, err_msg=measure)
        assert without_ids(ours.warnings) == without_ids(theirs.warnings)


@settings(max_examples=15, deadline=None)
@given(cases(), st.sampled_from([1, 3, 6]))
def test_with_the_gold_cut(case: Any, k: int) -> None:
    shown, held, grades = case
    gold, ranking = by_name(shown, held, grades)
    values = np.concatenate([np.array(one) for one in grades])
    measures = [f"{name}(gold={cut})@{k}" for name in ("recall", "ap", "ndcg") for cut in ("k", "tied")]
    ours = evaluate_arrays(table(shown), csr(held), values, measures=measures)
    np.testing.assert_array_equal(ours.values, rankjury.evaluate(gold, ranking, measures).values)


def background(users: int, rng: np.random.Generator) -> Background:
    taken = [np.sort(rng.choice(ITEMS, size=rng.integers(0, 5), replace=False)) for _ in range(users)]
    history = np.concatenate(taken).astype(np.int64)
    return Background(
        items=pl.Series([item(code) for code in range(ITEMS)]),
        popularity=np.bincount(history, minlength=ITEMS).astype(np.int64),
        n_users=users,
        users=pl.Series([user(row) for row in range(users)]),
        starts=np.concatenate(([0], np.cumsum([len(one) for one in taken]))).astype(np.int64),
        history=history,
        features={name: (rng.random((ITEMS, 4)) < 0.5).astype(float) for name in ("genre", "text", "tag", "category")},
    )


@settings(max_examples=30, deadline=None)
@given(cases(), st.sampled_from([None, 1, 3, 8]), st.integers(0, 2**16))
def test_measures_of_lists_are_as_by_name(case: Any, k: int | None, seed: int) -> None:
    shown, held, grades = case
    gold, ranking = by_name(shown, held, grades)
    known = background(len(shown), np.random.default_rng(seed))
    values = np.concatenate([np.array(one) for one in grades])
    measures = [spelling(name, k) for name in names(of_lists=True)]
    assert len(measures) >= 9
    ours = evaluate_arrays(table(shown), csr(held), values, measures=measures, background=known)
    theirs = evaluate(as_gold(gold), as_ranking(ranking), resolve_measures(measures), background=known)
    np.testing.assert_allclose(ours.values, theirs.values, rtol=1e-12, atol=1e-12)


def many(seed: int = 0, users: int = 500, items: int = 40) -> tuple[Ints, Ints]:
    rng = np.random.default_rng(seed)
    drawn = np.argsort(rng.random((users, items)), axis=1)
    return drawn[:, :10].copy(), np.argsort(rng.random((users, items)), axis=1)[:, :5].copy()


def test_means_do_not_hang_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, held = many()
    whole = evaluate_arrays(shown, held, measures=["ndcg@10", "ap@10"])
    for size in (1, 7, 100):
        monkeypatch.setattr(rankjury.evaluation.coded, "_PAIRS_AT_ONCE", size)
        np.testing.assert_array_equal(evaluate_arrays(shown, held, measures=["ndcg@10", "ap@10"]).values, whole.values)


def test_codes_of_any_whole_number_and_far_apart() -> None:
    shown, held = many(1)
    whole = evaluate_arrays(shown, held, measures="ndcg@10").values
    for kind in (np.int16, np.uint8, np.int32, np.uint64):
        np.testing.assert_array_equal(
            evaluate_arrays(shown.astype(kind), held.astype(kind), measures="ndcg@10").values, whole
        )
    far = 1 << 34
    np.testing.assert_array_equal(evaluate_arrays(shown * far, held * far, measures="ndcg@10").values, whole)
    turned = np.asfortranarray(shown)
    np.testing.assert_array_equal(evaluate_arrays(turned, held, measures="ndcg@10").values, whole)


def test_given_arrays_stay_writable() -> None:
    shown, held = many(2, users=3)
    evaluate_arrays(shown, (np.arange(4) * 5, held.reshape(-1)), measures="rr")
    shown[0, 0], held[0, 0] = 1, 1


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 60), unique=True, max_size=40), st.lists(st.integers(0, 60), max_size=60))
def test_keys_are_found_where_they_stand(held: list[int], wanted: list[int]) -> None:
    at, place = look_up(np.array(held, dtype=np.int64), np.array(wanted, dtype=np.int64))
    assert at.tolist() == [number for number, key in enumerate(wanted) if key in held]
    assert place.tolist() == [held.index(key) for key in wanted if key in held]


def test_keys_that_want_one_slot_are_all_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankjury.evaluation.coded._STRIDE", np.uint64(0))
    held, wanted = np.array([5, 3, 9, 1]), np.array([1, 2, 3, 9, 5, 7])
    at, place = look_up(held, wanted)
    assert (at.tolist(), place.tolist()) == ([0, 2, 3, 4], [3, 1, 2, 0])


@pytest.mark.parametrize("stride", [None, 0])
def test_the_first_that_stands_twice(stride: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if stride is not None:  # all keys want one slot
        monkeypatch.setattr("rankjury.evaluation.coded._STRIDE", np.uint64(stride))
    assert find_duplicate(np.array([4, 2, 9, 2, 4])) == 0
    assert find_duplicate(np.array([4, 2, 9, 2])) == 1
    assert find_duplicate(np.array([4, 2, 9])) is None


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 400), max_size=60))
def test_whatever_stands_twice_is_seen(keys: list[int]) -> None:
    again = [place for place, key in enumerate(keys) if key in keys[place + 1 :]]
    assert find_duplicate(np.array(keys, dtype=np.int64)) == (again[0] if again else None)


@pytest.mark.parametrize(
    ("shown", "held", "grades", "options", "message"),
    [
        ([[1, 2], [3, 3]], [[1], [2]], None, {}, "recommendations, row 1: duplicate item 3"),
        ([[1, 2], [3, 4]], [[-1, -1], [2, 2]], None, {}, "held out, row 1: duplicate item 2"),
        ([[1, 2]], [[7]], None, {"n_items": 7}, "held out, row 0: the code 7; expected 0 to 6"),
        ([[1, -2]], [[1]], None, {}, "recommendations, row 0: the code -2"),
        ([[-1, 2]], [[1]], None, {}, "row 0: an item follows −1"),
        ([[1, 2]], [[1], [2]], None, {}, "1 rows of recommendations, and 2 of held-out items"),
        ([1, 2], [[1]], None, {}, "in 1 dimensions; expected whole numbers: one row per user"),
        ([[1.0, 2.0]], [[1]], None, {}, "an array of type float64"),
        ([["a"]], [[1]], None, {}, "expected whole numbers"),
        ([[1, 2], [3]], [[1], [2]], None, {}, "rows of different lengths"),
        ([[1]], ([0, 2], [5]), None, {}, "starts do not partition the 1 items"),
        ([[1]], ([1, 1], [5]), None, {}, "starts do not partition"),
        ([[1], [2]], ([0, 3, 2], [5, 6]), None, {}, "starts do not partition"),
        ([[1]], [[1, 2]], [[1.0]], {}, "grades of shape (1, 1)"),
        ([[1]], [[1, 2]], [["x", "y"]], {}, "grades of shape (1, 2) and type <U1"),
        ([[1], [2]], [[1, 2], [3, -1]], [[1.0, 2.0], [np.nan, 0.0]], {}, "grades, row 1: a grade is not a finite"),
        ([[1]], [[1]], [[np.inf]], {}, "a grade is not a finite number"),
        ([[1]], [[-1]], None, {}, "no item was held out for any user"),
        ([[1]], [[1]], None, {"n_items": 1 << 50}, "items; expected 0 to"),
        ([[1]], [[1]], None, {"self": "drop"}, "self=drop"),
    ],
)  # fmt: skip
def test_what_is_refused(shown: Any, held: Any, grades: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((DataError, UsageError)) as caught:
        evaluate_arrays(shown, held, grades, measures="ndcg@10", **options)
    assert message in str(caught.value)


def test_the_row_of_a_fault_is_the_one_given() -> None:
    shown, held = np.array([[1, 2], [3, 4], [5, 5]]), np.array([[1], [-1], [2]])
    with pytest.raises(DataError, match="row 2: duplicate item 5"):
        evaluate_arrays(shown, held, measures="rr")


def test_a_background_of_others_is_refused() -> None:
    known = background(2, np.random.default_rng(0))
    with pytest.raises(DataError, match="a background of 2 users and 12 items, for 1 rows"):
        evaluate_arrays([[1]], [[1]], measures="coverage", background=known)
    with pytest.raises(DataError, match="for 2 rows and 5 items"):
        evaluate_arrays([[1], [2]], [[1], [1]], measures="coverage", n_items=5, background=known)
    with pytest.raises(UsageError, match="looks at what was known before"):
        evaluate_arrays([[1]], [[1]], measures="coverage")


def test_users_of_whom_nothing_was_held_out_are_told() -> None:
    found = evaluate_arrays([[1, 2], [2, 1], [-1, -1]], [[1], [-1], [2]], measures=["rr", "num_q"])
    assert found.queries.to_list() == ["0", "2"]
    assert found["rr"].tolist() == [1.0, 0.0]
    assert any(str(warning).startswith("1 retrieved query has no gold") for warning in found.warnings)


def test_a_mask_is_not_passed_over() -> None:
    shown = np.ma.masked_array([[1, 5], [2, 3]], [[0, 1], [0, 0]])
    with pytest.raises(DataError, match="a masked array; expected a plain one"):
        evaluate_arrays(shown, [[5], [2]], measures="rr")
    with pytest.raises(UsageError, match="n_items is '10'"):
        evaluate_arrays([[1]], [[1]], measures="rr", n_items="10")  # type: ignore[arg-type]
