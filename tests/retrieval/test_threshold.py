"""Results below a similarity are not shown."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import rankjury
from rankjury.core.types import Ranking
from rankjury.retrieval.rank import apply_threshold, drop_self

RUN = {"q": {"a": 0.92, "b": 0.15, "c": 0.12}, "r": {"d": 0.1}, "s": {"e": 0.15000001, "f": -1.0}}


def listed(ranking: Ranking) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {query: {} for query in ranking.queries}
    for query, item, score in ranking.frame().iter_rows():
        found[query][item] = score
    return found


def test_so_much_or_more() -> None:
    shown = apply_threshold(rankjury.as_ranking(RUN), 0.15)
    assert listed(shown) == {"q": {"a": 0.92, "b": 0.15}, "r": {}, "s": {"e": 0.15000001}}


def test_a_query_that_is_left_with_nothing_has_found_nothing() -> None:
    gold = {"q": {"a": 1, "b": 1}, "r": {"d": 1}}
    scores = rankjury.evaluate(
        gold, apply_threshold(rankjury.as_ranking({"q": RUN["q"], "r": RUN["r"]}), 0.5), "recall@2"
    )
    assert dict(zip(scores.queries, scores.values[:, 0].tolist(), strict=True)) == {"q": 0.5, "r": 0.0}
    assert not [one for one in map(str, scores.warnings) if "missing" in one]


def test_fewer_than_k_are_still_divided_by_k() -> None:
    """The protocol's example: four of five results are shown, all of them relevant."""
    run = {"cyclist": dict(zip("abcde", [0.92, 0.88, 0.85, 0.53, 0.12], strict=True))}
    gold = {"cyclist": dict.fromkeys("abcde", 1)}
    shown = apply_threshold(rankjury.as_ranking(run), 0.15)
    found = rankjury.evaluate(gold, shown, [f"recall(over=k)@{k}" for k in (1, 3, 5)])
    assert found.values.tolist() == [[1.0, 1.0, 0.8]]


def test_what_was_measured_stays() -> None:
    ranking = rankjury.as_ranking(RUN)
    timed = Ranking(ranking.queries, ranking.starts, ranking.items, ranking.scores, "mine", np.array([1.0, 2.0, 3.0]))
    shown = apply_threshold(timed, 0.15)
    assert shown.source == "mine"
    assert shown.seconds is not None
    assert shown.seconds.tolist() == [1.0, 2.0, 3.0]
    assert len(timed.items) == 6, "the ranking itself is as it was"


def test_a_ranking_without_scores() -> None:
    with pytest.raises(
        rankjury.UsageError, match=r"ranking: a threshold, but the ranking has no scores; expected scores"
    ):
        apply_threshold(rankjury.as_ranking({"q": ["a", "b"]}), 0.5)


@pytest.mark.parametrize("first", [0.0, -1.0])
def test_ranks_are_no_scores(first: float) -> None:
    run = {"q": {"a": first, "b": first - 1, "c": first - 2}, "r": {"d": first}}
    with pytest.raises(rankjury.UsageError, match="the ranking has no scores"):
        apply_threshold(rankjury.as_ranking(run), 0.5)


def test_ranks_with_gaps_are_no_scores() -> None:
    """Once a query's own item was dropped, the ranks of the others were taken for scores."""
    run = rankjury.as_ranking({"a": {"b": -1.0, "a": -2.0, "c": -3.0}})
    with pytest.raises(rankjury.UsageError, match="the ranking has no scores"):
        apply_threshold(drop_self(run), -1.5)


scores = st.floats(-0.875, 1, width=16)
runs = st.dictionaries(
    st.sampled_from("qrstu"), st.dictionaries(st.sampled_from("abcdefg"), scores, min_size=1), min_size=1
)


@given(run=runs, threshold=scores)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_like_a_plain_filter(run: dict[str, dict[str, float]], threshold: float) -> None:
    shown = apply_threshold(rankjury.as_ranking(run), threshold)
    assert listed(shown) == {
        query: {item: score for item, score in items.items() if score >= threshold} for query, items in run.items()
    }
    assert shown.queries.to_list() == list(run)
