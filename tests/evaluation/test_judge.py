"""The judge against a plain sort: order, ties, duplicates, widths, self-matches, places."""

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

import rankjury
import rankjury.core.types
from rankjury.evaluation.judge import MatchedRanking, OrderRules, judge
from rankjury.measures.judged import Judged

QUERIES = ["q1", "q10", "q2", "é", "Q"]
ITEMS = ["a", "b", "B", "aa", "1", "10", "2", "ü", "zzzzzzzzzzzzzzzzzz1", "zzzzzzzzzzzzzzzzzz2", "q1", "q2"]
scores = st.one_of(st.sampled_from([0.0, 1.0, 1.0 + 1e-9, -2.5, 1e300]), st.floats(-10, 10, width=32))
runs = st.dictionaries(
    st.sampled_from(QUERIES), st.dictionaries(st.sampled_from(ITEMS), scores, min_size=1), min_size=1
)
golds = st.dictionaries(
    st.sampled_from(QUERIES), st.dictionaries(st.sampled_from(ITEMS), st.integers(-1, 3), min_size=1), min_size=1
)


def plain_order(items: dict[str, float], ties: str, width: str) -> list[str]:
    """The ranking by Python's own sort."""
    with np.errstate(over="ignore"):
        kept = {item: float(np.float32(s)) if width == "single" else s for item, s in items.items()}
    if ties == "order":
        return sorted(kept, key=lambda item: -kept[item])
    by_id = sorted(kept, reverse=ties == "id-desc")
    return sorted(by_id, key=lambda item: -kept[item])


def flat(judged: Judged) -> list[tuple[str, int, float]]:
    names = judged.queries.to_list()
    rows = zip(judged.row, judged.rank, judged.grade, strict=True)
    return [(names[row], int(rank), float(grade)) for row, rank, grade in rows]


RULES = list(product(("id", "id-desc", "order"), ("double", "single"), ("keep", "drop")))


@given(gold=golds, run=runs)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_like_a_plain_sort(gold: Any, run: Any) -> None:
    """Under every rule for ties, width of scores and rule for self-matches."""
    if not set(gold) & set(run):
        return
    held, found = rankjury.as_gold(gold), rankjury.as_ranking(run)
    for ties, width, self_matches in RULES:
        judged = judge(held, found, ties=ties, scores=width, self_matches=self_matches)  # type: ignore[arg-type]
        expected, depth = [], []
        for query in sorted(gold):
            items = {i: s for i, s in run.get(query, {}).items() if self_matches == "keep" or i != query}
            ranked = plain_order(items, ties, width)
            depth.append(len(ranked))
            expected += [(query, r, float(gold[query][i])) for r, i in enumerate(ranked, 1) if i in gold[query]]
        rules = (ties, width, self_matches)
        assert flat(judged) == expected, rules
        assert judged.depth.tolist() == depth, rules
        assert judged.present.tolist() == [query in run for query in sorted(gold)], rules


@given(gold=golds, run=runs)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_tie_bounds_and_places(gold: Any, run: Any) -> None:
    if not set(gold) & set(run):
        return
    judged = judge(rankjury.as_gold(gold), rankjury.as_ranking(run), places=True)
    assert judged.place is not None
    frame = rankjury.as_gold(gold).frame()
    names = judged.queries.to_list()
    for n, row in enumerate(judged.row):
        query, item = names[row], frame["item_id"][int(judged.gold_index[n])]
        equal = [other for other, s in run[query].items() if s == run[query][item]]
        above = sum(s > run[query][item] for s in run[query].values())
        assert (judged.tie_first[n], judged.tie_last[n]) == (above + 1, above + len(equal))
        by_grade = sorted(gold[query], key=lambda other: (-gold[query][other], other))
        assert by_grade[judged.place[n] - 1] == item


@given(gold=golds, run=runs, size=st.integers(1, 9))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_block_size_is_of_no_account(gold: Any, run: Any, size: int) -> None:
    if not set(gold) & set(run):
        return
    whole = judge(rankjury.as_gold(gold), rankjury.as_ranking(run))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rankjury.core.types, "ROWS_PER_BLOCK", size)
        parts = judge(rankjury.as_gold(gold), rankjury.as_ranking(run))
    assert flat(whole) == flat(parts)
    for name in ("tie_first", "tie_last", "gold_index", "depth", "gold_grades", "gold_starts"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))


def frame_of(rows: list[tuple[str, str, float]], value: str) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["query_id", "item_id", value], orient="row")


class TestDuplicates:
    ROWS = [("q", "a", 1.0), ("q", "b", 2.0), ("q", "a", 3.0), ("q", "a", 2.5)]

    def ranks(self, rule: Any) -> float:
        bench = MatchedRanking(
            rankjury.as_gold({"q": {"a": 1}}), rankjury.as_ranking(frame_of(self.ROWS, "score")), duplicates=rule
        )
        assert bench.dropped == 2
        return float(bench.judge(OrderRules()).rank[0])

    def test_an_error_by_default(self) -> None:
        ranking = rankjury.as_ranking(frame_of(self.ROWS, "score"))
        with pytest.raises(rankjury.DataError, match=r"duplicate item 'a' for query 'q' \(1 duplicate pair\)"):
            judge(rankjury.as_gold({"q": {"a": 1}}), ranking)

    @pytest.mark.parametrize(("rule", "rank"), [("first", 2), ("last", 1), ("max", 1)])
    def test_the_rules(self, rule: str, rank: int) -> None:
        assert self.ranks(rule) == rank

    def test_in_the_gold(self) -> None:
        gold = rankjury.as_gold(frame_of([("q", "a", 1.0), ("q", "a", 3.0)], "grade"))
        ranking = rankjury.as_ranking({"q": ["a"]})
        with pytest.raises(rankjury.DataError, match="gold: duplicate item 'a'"):
            judge(gold, ranking)
        assert judge(gold, ranking, duplicates="max").grade.tolist() == [3.0]
        assert judge(gold, ranking, duplicates="first").grade.tolist() == [1.0]

    def test_the_same_item_for_two_queries_is_none(self) -> None:
        ranking = rankjury.as_ranking({"q": ["a"], "r": ["a"]})
        assert judge(rankjury.as_gold({"q": {"a": 1}, "r": {"a": 1}}), ranking).rank.tolist() == [1, 1]


class TestIds:
    def test_numbers_stand_for_their_decimal_form(self) -> None:
        numbers = pl.DataFrame({"query_id": [1, 1, 1], "item_id": [9, 10, 11], "score": [1.0, 1.0, 2.0]})
        text = numbers.with_columns(pl.col("query_id", "item_id").cast(pl.String))
        gold_numbers = pl.DataFrame({"query_id": [1], "item_id": [9], "grade": [1]})
        gold_text = gold_numbers.with_columns(pl.col("query_id", "item_id").cast(pl.String))
        for gold in (gold_numbers, gold_text):
            for run in (numbers, text):
                judged = judge(rankjury.as_gold(gold), rankjury.as_ranking(run))
                assert judged.rank.tolist() == [3], "'10' stands before '9' as text"

    def test_self_matches_among_numbers(self) -> None:
        run = pl.DataFrame({"query_id": [7, 7], "item_id": [7, 8], "score": [2.0, 1.0]})
        gold = pl.DataFrame({"query_id": [7], "item_id": [8], "grade": [1]})
        judged = judge(rankjury.as_gold(gold), rankjury.as_ranking(run), self_matches="drop")
        assert (judged.rank.tolist(), judged.depth.tolist()) == ([1], [1])

    def test_nothing_in_common_shows_both_sides(self) -> None:
        with pytest.raises(rankjury.DataError, match=r"the gold has 'q1', the ranking has 'Q1'"):
            judge(rankjury.as_gold({"q1": {"a": 1}}), rankjury.as_ranking({"Q1": ["a"]}))


def test_single_precision_ties_what_double_tells_apart() -> None:
    """The ninth digit: trec_eval 9 gives RR 0.5 where trec_eval 10 gives 1."""
    gold, run = {"q": {"a": 1}}, {"q": {"a": 0.1234567891, "b": 0.1234567890}}
    assert rankjury.evaluate(gold, run, "recip_rank").mean()["recip_rank"] == 0.5
    assert rankjury.evaluate(gold, run, "recip_rank", dialect="trec_eval-10").mean()["recip_rank"] == 1.0


def test_arrays_are_read_only() -> None:
    judged = judge(rankjury.as_gold({"q": {"a": 1}}), rankjury.as_ranking({"q": ["a"]}))
    with pytest.raises(ValueError, match="read-only"):
        judged.rank[0] = 2


def test_a_large_unsorted_interleaved_run() -> None:
    """Many blocks, rows in any order: the same as the sorted run."""
    rng = np.random.default_rng(5)
    n = 400_000
    frame = pl.DataFrame(
        {
            "query_id": rng.integers(0, 300, n),
            "item_id": rng.integers(0, 10**9, n),
            "score": np.round(rng.normal(size=n), 2),
        }
    ).unique(["query_id", "item_id"], maintain_order=True)
    gold = frame.sample(3000, seed=1).select("query_id", "item_id", grade=pl.lit(1.0))
    in_order = frame.sort(["query_id", "score"], descending=[False, True])
    first = judge(rankjury.as_gold(gold), rankjury.as_ranking(frame))
    second = judge(rankjury.as_gold(gold), rankjury.as_ranking(in_order))
    assert flat(first) == flat(second)
    assert first.row.size == gold.height


def test_row_numbers_instead_of_ids_are_named() -> None:
    with pytest.raises(rankjury.DataError, match=r"--ids"):
        rankjury.evaluate({"a": {"b": 1}}, np.array([[1, 2], [0, 2], [0, 1]]))
