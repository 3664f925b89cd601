"""The implicit dialect against implicit's own ranking_metrics_at_k, which asks a model for its recommendations."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import rankjury
from rankjury.errors import UnknownName
from rankjury.measures.dialects import resolve
from rankjury.measures.measure import METRICS
from tests.peers.agreement import assert_close
from tests.peers.strategies import ITEM_IDS, Case, cases, thorough

evaluation = pytest.importorskip("implicit.evaluation", reason="implicit is not installed")
sparse = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")

CUTS = (1, 3, 5, 10)


class Recommended:
    """What implicit calls a model: lists of item numbers, ended by −1 where there are fewer than asked for."""

    def __init__(self, lists: list[list[int]]) -> None:
        self.lists = lists

    def recommend(self, users: Any, seen: Any, N: int) -> tuple[Any, Any]:  # noqa: N803
        ids = np.full((len(users), N), -1, np.int32)
        for row, user in enumerate(users):
            shown = self.lists[user][:N]
            ids[row, : len(shown)] = shown
        return ids, np.zeros(ids.shape)


def said(case: Case, k: int) -> dict[str, float]:
    held = sparse.lil_matrix((len(case.qrels), len(ITEM_IDS)))
    lists = []
    for row, (user, judged) in enumerate(case.qrels.items()):
        for item, grade in judged.items():
            held[row, ITEM_IDS.index(item)] = max(grade, 0)
        ranked = sorted(case.run.get(user, {}).items(), key=lambda pair: pair[1], reverse=True)
        lists.append([ITEM_IDS.index(item) for item, _ in ranked])
    matrix = held.tocsr()
    matrix.eliminate_zeros()
    found: dict[str, float] = evaluation.ranking_metrics_at_k(
        Recommended(lists), matrix, matrix, K=k, show_progress=False
    )
    return found


def something_relevant(case: Case) -> bool:
    """Else implicit divides by zero."""
    return any(grade > 0 for judged in case.qrels.values() for grade in judged.values())


@thorough(120)
@given(cases().filter(something_relevant))
def test_every_measure(case: Case) -> None:
    names = ("ndcg", "map", "precision")
    scores = rankjury.evaluate(
        case.qrels, case.run, [f"{name}@{k}" for name in names for k in CUTS], dialect="implicit"
    )
    for k in CUTS:
        expected = said(case, k)
        for name in names:
            found = scores.summary(f"{name}@{k}")
            assert math.isclose(found.mean, expected[name], rel_tol=1e-12, abs_tol=1e-15), (name, k, found, expected)
            assert found.n == sum(any(grade > 0 for grade in judged.values()) for judged in case.qrels.values())


def test_precision_is_pooled() -> None:
    """One user finds 1 of 1, the other 1 of 3: 2 of 4, where the mean of shares would be two thirds."""
    gold, run = {"u": {"a": 1}, "v": {"a": 1, "b": 1, "c": 1}, "w": {"a": 0}}, {"u": ["a"], "v": ["x", "b"]}
    found = rankjury.evaluate(gold, run, "precision@5", dialect="implicit")
    assert found.conventions == ("pooled_precision(ties=order)@5",)
    assert found.summary("precision@5").mean == 0.5
    assert found["precision@5"].tolist() == pytest.approx([0.75, 0.25, math.nan], nan_ok=True)
    assert METRICS.get("pooled_precision").whole


def test_users_without_a_list_are_pooled_or_left_out() -> None:
    gold, run = {"u": {"a": 1}, "v": {"a": 1, "b": 1}, "w": {"a": 1}}, {"u": ["a"], "v": ["x", "b"]}
    zero, skip = "pooled_precision@5", "pooled_precision(missing=skip)@5"
    found = rankjury.evaluate(gold, run, [zero, skip])
    assert_close(found.summary(zero).mean, 2 / 4, "pooled as having found nothing")
    assert_close(found.summary(skip).mean, 2 / 3, "left out")


def test_nobody_has_anything_relevant() -> None:
    found = rankjury.evaluate({"u": {"a": 0}}, {"u": ["a"]}, "pooled_precision(empty=zero)@5")
    assert found["pooled_precision(empty=zero)@5"].tolist() == [0.0]


def test_options_of_a_name_are_read_with_it() -> None:
    """precision(rel=4) is implicit's precision too, pooled over users, and not rankjury's."""
    assert str(resolve("precision(rel=4)@2", "implicit").measure).startswith("pooled_precision(rel=4")
    assert resolve("HitRate(rel=4)@10").measure.name == "hit_rate"
    assert resolve("AveragePrecision(rel=4)@10", "lenskit").measure["over"] == "least"
    assert str(resolve("MeanInvUserFreq@10").measure) == "novelty(unseen=one,ties=order)@10"
    with pytest.raises(UnknownName, match="unknown option of hit_rate 'rell'"):
        resolve("HitRate(rell=4)@10")
