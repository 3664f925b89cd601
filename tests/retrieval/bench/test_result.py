"""Recall against exact search: worked by hand, against plain NumPy, and where very many items are equally near."""

import json
from math import isnan
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from rankjury.core.types import Floats
from rankjury.retrieval.bench.result import AnnRecall, estimate_recall, recall_by_query
from rankjury.retrieval.knn.search import Neighbours, nearest
from rankjury.retrieval.knn.select import MISSING
from rankjury.stats.resampling import Resampling

thorough = settings(max_examples=60, deadline=None, derandomize=True, database=None)
NAN = float("nan")
LINE = np.arange(10.0)[:, None]
"""Ten items on a line, at 0 to 9: with l2 the query at 0 has them in this order."""


def found_by(*rows: list[int]) -> Neighbours:
    """What came back, in whatever order; the scores that an engine gives are not looked at."""
    width = max(map(len, rows))
    items = np.array([row + [MISSING] * (width - len(row)) for row in rows], dtype=np.int64).reshape(len(rows), width)
    return Neighbours(items, np.full(items.shape, 99.0))


def shares(queries: Any, items: Any, k: int, *rows: list[int], metric: str = "l2") -> list[float]:
    asked, held = np.atleast_2d(np.asarray(queries, float)), np.asarray(items, float)
    truth = nearest(asked, held, k, metric=metric)
    return recall_by_query(found_by(*rows), truth, k, asked, held, metric=metric).tolist()


class TestByHand:
    @pytest.mark.parametrize(
        ("came", "share"),
        [
            ([0, 1, 2, 3], 1.0),
            ([3, 1, 0, 2], 1.0),  # the order is no matter of recall
            ([0, 1, 2, 4], 0.75),
            ([9, 8, 7, 6], 0.0),
            ([0, 1], 0.5),  # fewer came than were asked for
            ([], 0.0),
            ([9, 8, 7, 6, 0, 1, 2, 3], 0.0),  # what comes after k does not count
        ],
    )
    def test_the_share_of_the_four_nearest(self, came: list[int], share: float) -> None:
        assert shares([0.0], LINE, 4, came) == [share]

    @pytest.mark.parametrize("came", [[0, 0, 0, 0], [0, 0, 0, 5], [0, MISSING, 0, MISSING]])
    def test_one_that_comes_back_twice_counts_once(self, came: list[int]) -> None:
        assert shares([0.0], LINE, 4, came) == [0.25]

    def test_each_query_is_its_own(self) -> None:
        assert shares([[0.0], [9.0]], LINE, 2, [0, 1], [0, 9]) == [1.0, 0.5]

    def test_an_equally_near_item_counts(self) -> None:
        """From 4.5 the items 4 and 5 are equally near, and so are 3 and 6: any of the last two completes three."""
        for last in (3, 6):
            assert shares([4.5], LINE, 3, [4, 5, last]) == [1.0]
        assert shares([4.5], LINE, 3, [4, 3, 6]) == [1.0], "both are as near as the third"
        assert shares([4.5], LINE, 3, [4, 3, 7]) == [pytest.approx(2 / 3)]

    def test_no_more_than_all_are_found(self) -> None:
        """Four that are all as near as the second are no more than two of two."""
        assert shares([0.0], [[1.0], [-1.0], [1.0], [-1.0]], 2, [2, 3]) == [1.0]
        assert shares([0.0], [[1.0], [-1.0], [1.0], [-1.0]], 2, [0, 0]) == [0.5]

    @pytest.mark.parametrize(("came", "share"), [([0, 1, 2], 1.0), ([0, 1], 2 / 3), ([0, 0, 1], 2 / 3), ([], 0.0)])
    def test_divided_by_how_many_there_are_where_these_are_fewer_than_k(self, came: list[int], share: float) -> None:
        assert shares([0.0], LINE[:3], 10, came) == [pytest.approx(share)]

    def test_divided_by_how_many_pass_for_each_query(self) -> None:
        """The truth holds one item for the first query, as under a filter, three for the second, none for the last."""
        truth = Neighbours(
            np.array([[5, MISSING, MISSING], [0, 1, 2], [MISSING] * 3]),
            np.array([[-5.0, -np.inf, -np.inf], [-0.0, -1.0, -2.0], [-np.inf] * 3]),
        )
        came = found_by([5, 9, 8], [0, 7, 8], [1, 2, 3])
        found = recall_by_query(came, truth, 3, np.zeros((3, 1)), LINE, metric="l2")
        assert found[:2].tolist() == [1.0, pytest.approx(1 / 3)]
        assert isnan(found[2]), "there was nothing to find"
        nearer = found_by([5, 0, 1], [0, 7, 8], [1, 2, 3])
        assert recall_by_query(nearer, truth, 3, np.zeros((3, 1)), LINE, metric="l2")[0] == 1.0, "and no more than all"

    def test_the_engines_own_scores_do_not_matter(self) -> None:
        truth = nearest(np.zeros((1, 1)), LINE, 2, metric="l2")
        lying = Neighbours(np.array([[8, 9]]), np.array([[np.inf, 1e9]]))
        assert recall_by_query(lying, truth, 2, np.zeros((1, 1)), LINE, metric="l2").tolist() == [0.0]

    @pytest.mark.parametrize(
        ("metric", "best"), [("cosine", [0, 1]), ("ip", [2, 1]), ("l2", [0, 3])], ids=["cosine", "ip", "l2"]
    )
    def test_near_by_the_metric(self, metric: str, best: list[int]) -> None:
        """(1, 0) beside itself doubled, a long one aslant, and a short one further aslant."""
        items = [[1.0, 0.0], [2.0, 0.0], [9.0, 9.0], [0.6, 0.6]]
        assert shares([1.0, 0.0], items, 2, best, metric=metric) == [1.0]
        others = [item for item in range(4) if item not in best]
        assert shares([1.0, 0.0], items, 2, others, metric=metric) == [0.0]

    def test_what_was_found_is_left_as_it_was(self) -> None:
        came = found_by([0, 0, 1])
        recall_by_query(came, nearest(np.zeros((1, 1)), LINE, 3, metric="l2"), 3, np.zeros((1, 1)), LINE, metric="l2")
        assert came.items.tolist() == [[0, 0, 1]]


def slowly(queries: Any, items: Any, k: int, metric: str, rows: Any) -> list[float]:
    """In the words of the definition: whole numbers, so that no rounding makes or breaks a tie."""
    found = []
    for query, row in zip(queries.tolist(), rows.tolist(), strict=True):
        if metric == "ip":
            near = [sum(a * b for a, b in zip(query, item, strict=True)) for item in items.tolist()]
        else:
            near = [-sum((a - b) ** 2 for a, b in zip(query, item, strict=True)) for item in items.tolist()]
        kth = sorted(near, reverse=True)[: min(k, len(near))][-1]
        good = {item for item in row[:k] if item != MISSING and near[item] >= kth}
        found.append(min(len(good), k, len(near)) / min(k, len(near)))
    return found


@st.composite
def searches(draw: st.DrawFn) -> tuple[Any, Any, int, str, Any]:
    """Few different numbers, so that most neighbours tie; rows with repeats and with places left empty."""
    dimensions, n = draw(st.integers(1, 3)), draw(st.integers(1, 14))
    numbers = st.integers(-2, 2)
    items = draw(st.lists(st.lists(numbers, min_size=dimensions, max_size=dimensions), min_size=n, max_size=n))
    asked = draw(st.lists(st.lists(numbers, min_size=dimensions, max_size=dimensions), min_size=1, max_size=4))
    width = draw(st.integers(1, 12))
    row = st.lists(st.integers(MISSING, n - 1), min_size=width, max_size=width)
    rows = [draw(row) for _ in asked]
    k, metric = draw(st.integers(1, 16)), draw(st.sampled_from(["ip", "l2"]))
    return np.array(asked, float), np.array(items, float), k, metric, np.array(rows)


@given(searches())
@thorough
def test_against_a_naive_implementation(search: tuple[Any, Any, int, str, Any]) -> None:
    queries, items, k, metric, rows = search
    truth = nearest(queries, items, k, metric=metric)
    found = recall_by_query(Neighbours(rows.copy(), np.zeros(rows.shape)), truth, k, queries, items, metric=metric)
    assert found.tolist() == slowly(queries, items, k, metric, rows)


@given(searches(), st.randoms(use_true_random=False))
@thorough
def test_what_exact_search_brings_is_all_whichever_way_ties_are_broken(search: Any, chance: Any) -> None:
    queries, items, k, metric, _ = search
    order = list(range(len(items)))
    chance.shuffle(order)
    truth = nearest(queries, items, k, metric=metric)
    other = nearest(queries, items, k, metric=metric, places=np.array(order))
    assert recall_by_query(other, truth, k, queries, items, metric=metric).tolist() == [1.0] * len(queries)


def test_against_numpy_where_nothing_ties() -> None:
    rng = np.random.default_rng(0)
    queries, items = rng.normal(size=(40, 8)), rng.normal(size=(300, 8))
    rows = np.stack([rng.permutation(60)[:12] for _ in queries])
    cosines = (queries @ items.T) / np.linalg.norm(queries, axis=1)[:, None] / np.linalg.norm(items, axis=1)
    tops = np.argsort(-cosines, axis=1)[:, :10]
    overlap = [len(set(row[:10]) & set(top)) / 10 for row, top in zip(rows.tolist(), tops.tolist(), strict=True)]
    assert 0 < np.mean(overlap) < 1
    found = recall_by_query(Neighbours(rows, np.zeros(rows.shape)), nearest(queries, items, 10), 10, queries, items)
    assert found.tolist() == overlap


def test_duplicates_of_an_item_tie_exactly_whatever_the_numbers() -> None:
    """Of forty copies of the nearest vector any ten are the ten nearest."""
    rng = np.random.default_rng(1)
    one, rest = rng.normal(size=(1, 33)).astype(np.float32), rng.normal(size=(60, 33)).astype(np.float32)
    items = np.concatenate([rest, np.repeat(one, 40, axis=0)])
    queries = one + np.float32(0.01)
    for metric in ("cosine", "l2"):
        truth = nearest(queries, items, 10, metric=metric)
        came = found_by(list(range(90, 100)))
        assert recall_by_query(came, truth, 10, queries, items, metric=metric).tolist() == [1.0]


class TestOverAllQueries:
    NAMES = pl.Series([f"q{number}" for number in range(40)])

    def of(self, values: Any, resampling: Resampling | None = None, k: int = 10) -> AnnRecall:
        given = np.array(values, dtype=np.float64)
        return estimate_recall(given, k, self.NAMES[: given.size], resampling)

    def test_mean_and_fifth_percentile(self) -> None:
        """The 5th percentile of 21 values is the second lowest: the mean alone hides it."""
        found = self.of([1.0] * 18 + [0.9, 0.2, 0.0])
        assert (found.mean, found.p5, found.n) == (pytest.approx(19.1 / 21), pytest.approx(0.2), 21)

    def test_the_percentile_lies_between_two_queries(self) -> None:
        """Of 11 queries it lies half-way between the lowest two."""
        assert self.of([0.0, 0.5, *[1.0] * 9]).p5 == pytest.approx(0.25)

    def test_undefined_queries_are_left_out_and_not_counted(self) -> None:
        found = self.of([1.0, NAN, 0.5, NAN])
        assert (found.mean, found.n) == (0.75, 2)
        assert found.p5 == pytest.approx(0.525)

    def test_nothing_is_known(self) -> None:
        found = self.of([NAN, NAN], Resampling(resamples=100))
        assert isnan(found.mean) and isnan(found.p5) and found.n == 0 and found.ci is None
        assert found.to_json() == {"k": 10, "mean": None, "ci": None, "p5": None, "n": 0}

    def test_the_interval_is_about_the_mean_and_hangs_on_ids_alone(self) -> None:
        values: Floats = np.random.default_rng(2).integers(5, 11, size=40) / 10
        resampling = Resampling(resamples=500)
        found = estimate_recall(values, 10, self.NAMES, resampling)
        assert found.ci is not None
        low, high = found.ci
        error = values.std(ddof=1) / np.sqrt(values.size)
        assert low < found.mean < high
        assert high - low == pytest.approx(2 * 1.96 * error, rel=0.25)
        order = np.random.default_rng(3).permutation(values.size)
        again = estimate_recall(values[order], 10, self.NAMES.gather(order), resampling)
        assert (again.mean, again.ci, again.p5) == (found.mean, found.ci, found.p5)

    def test_without_resampling_there_is_no_interval(self) -> None:
        assert self.of([1.0, 0.5]).ci is None

    def test_all_alike_is_an_interval_of_no_width(self) -> None:
        assert self.of([1.0] * 8, Resampling(resamples=100)).ci == (1.0, 1.0)

    def test_form(self) -> None:
        form = self.of([1.0, 0.5], Resampling(resamples=100), k=3).to_json()
        assert list(form) == ["k", "mean", "ci", "p5", "n"]
        assert (form["k"], form["mean"], form["n"]) == (3, 0.75, 2)
        assert form["ci"][0] <= 0.75 <= form["ci"][1] and isinstance(form["ci"], list)
        json.dumps(form, allow_nan=False)
