"""The sklearn dialect against scikit-learn, whose equal scores share what their ranks are worth."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from numpy.typing import NDArray
from sklearn.metrics import (
    average_precision_score,
    dcg_score,
    label_ranking_average_precision_score,
    ndcg_score,
)

import rankjury
from tests.peers.agreement import assert_close, assert_same, per_query
from tests.peers.strategies import SCORES, thorough

Matrix = NDArray[np.float64]
CUT_OFFS = {"": None, **{f"@{k}": k for k in (1, 2, 3, 5, 10, 40)}}
FUNCTIONS = (ndcg_score, dcg_score)


@dataclass(frozen=True)
class Dense:
    """Every document of every query is judged and scored."""

    truth: Matrix
    scores: Matrix

    def as_dicts(self) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
        return _dicts(self.truth), _dicts(self.scores)

    def rows(self) -> dict[str, tuple[Matrix, Matrix]]:
        """Each query as a matrix of one row."""
        return {f"q{i}": (self.truth[i : i + 1], self.scores[i : i + 1]) for i in range(len(self.truth))}


def _dicts(matrix: Matrix) -> dict[str, dict[str, float]]:
    return {f"q{i}": {f"d{j}": float(value) for j, value in enumerate(row)} for i, row in enumerate(matrix)}


@st.composite
def dense(
    draw: DrawFn, grades: SearchStrategy[float], scores: SearchStrategy[float] = SCORES, distinct: bool = False
) -> Dense:
    shape = draw(st.integers(1, 3)), draw(st.integers(2, 20))
    truth = [draw(st.lists(grades, min_size=shape[1], max_size=shape[1])) for _ in range(shape[0])]
    found = [draw(st.lists(scores, min_size=shape[1], max_size=shape[1], unique=distinct)) for _ in range(shape[0])]
    return Dense(np.array(truth, dtype=float), np.array(found))


GRADES = st.sampled_from((0.0, 0.0, 1.0, 2.0, 3.0, 0.5))
BINARY = st.sampled_from((0.0, 1.0))


@thorough(60)
@given(dense(GRADES))
def test_gains_with_ties(data: Dense) -> None:
    names = [f"{function.__name__}{cut}" for function in FUNCTIONS for cut in CUT_OFFS]
    found = [rankjury.evaluate(*data.as_dicts(), names, dialect=dialect) for dialect in ("sklearn", None)]
    for cut, k in CUT_OFFS.items():
        for function in FUNCTIONS:
            name = f"{function.__name__}{cut}"
            expected = {query: float(function(*row, k=k)) for query, row in data.rows().items()}
            mean = function(data.truth, data.scores, k=k)
            for scores in found:
                assert_same(per_query(scores, name), expected, name, exact=False)
                assert_close(scores.summary(name).mean, mean, f"{name} of all")


@thorough(60)
@given(dense(GRADES, distinct=True))
def test_gains_without_ties(data: Dense) -> None:
    """ignore_ties=True leaves the order of equal scores to a sort; where there are none, it is the ranking."""
    names = [f"{name}(ties=order){cut}" for name in ("ndcg", "dcg") for cut in CUT_OFFS]
    scores = rankjury.evaluate(*data.as_dicts(), names, dialect="sklearn")
    for cut, k in CUT_OFFS.items():
        for name, function in zip(("ndcg", "dcg"), FUNCTIONS, strict=True):
            expected = {q: float(function(*row, k=k, ignore_ties=True)) for q, row in data.rows().items()}
            label = f"{name}(ties=order){cut}"
            assert_same(per_query(scores, label), expected, label, exact=False)


@thorough(60)
@given(dense(GRADES, distinct=True), st.integers(1, 20))
def test_rows_of_the_retrieved_documents_alone(data: Dense, found: int) -> None:
    """Such a row gives the value for a gold that lacks what was not found, which is never lower."""
    for truth, scores in zip(data.truth, data.scores, strict=True):
        best = np.argsort(-scores)[:found]
        if best.size < 2:  # scikit-learn refuses a row of one document
            continue
        gold, run = _dicts(truth[None, :])["q0"], _dicts(scores[None, :])["q0"]
        run = {f"d{place}": run[f"d{place}"] for place in best}
        name = f"ndcg@{best.size}"
        whole, part = (
            rankjury.evaluate({"q": judged}, {"q": run}, name, empty="zero").mean()[name]
            for judged in (gold, {item: gold[item] for item in run})
        )
        assert_close(part, float(ndcg_score(truth[best][None, :], scores[best][None, :])), name)
        assert part >= whole - 1e-12


def something_relevant(data: Dense) -> bool:
    return bool(data.truth.any(axis=1).all())


@thorough(100)
@given(dense(BINARY).filter(something_relevant))
def test_average_precision_with_ties(data: Dense) -> None:
    names = ["average_precision_score"]
    scores = rankjury.evaluate(*data.as_dicts(), names, dialect="sklearn")
    rows = data.rows()
    precision = {query: float(average_precision_score(truth[0], found[0])) for query, (truth, found) in rows.items()}
    assert_same(per_query(scores, names[0]), precision, names[0], exact=False)
    by_samples = average_precision_score(data.truth, data.scores, average="samples")
    assert_close(scores.summary(names[0]).mean, float(by_samples), f"{names[0]} of all")
    ranking = {query: float(label_ranking_average_precision_score(*row)) for query, row in rows.items()}
    assert_same(per_query(scores, names[0]), ranking, "label_ranking_average_precision_score", exact=False)


NOTHING_RELEVANT = Dense(np.array([[0.0, 0.0]]), np.array([[1.0, 0.5]]))


def test_average_precision_of_nothing_relevant() -> None:
    with pytest.warns(UserWarning, match="No positive class"):
        expected = average_precision_score(NOTHING_RELEVANT.truth[0], NOTHING_RELEVANT.scores[0])
    found = rankjury.evaluate(*NOTHING_RELEVANT.as_dicts(), ["average_precision_score"], dialect="sklearn").mean()
    assert found == {"average_precision_score": expected}


def test_label_ranking_average_precision_is_not_read() -> None:
    """It is 1 for a query with nothing relevant, which no policy of rankjury's says, so its name is left alone."""
    assert label_ranking_average_precision_score(NOTHING_RELEVANT.truth, NOTHING_RELEVANT.scores) == 1.0
    with pytest.raises(rankjury.UsageError, match="unknown measure"):
        rankjury.evaluate(*NOTHING_RELEVANT.as_dicts(), ["label_ranking_average_precision_score"], dialect="sklearn")


def test_groups_of_equal_scores_end_with_their_query() -> None:
    """The last group of q0 ends at rank 3 and the first of q1 at rank 2: one query more, one rank less."""
    data = Dense(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]), np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]]))
    expected = {q: float(average_precision_score(truth[0], found[0])) for q, (truth, found) in data.rows().items()}
    scores = rankjury.evaluate(*data.as_dicts(), ["average_precision_score"], dialect="sklearn")
    assert_same(per_query(scores, "average_precision_score"), expected, "average_precision_score", exact=False)
