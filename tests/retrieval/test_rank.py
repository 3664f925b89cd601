"""Rankings from vectors: hand-worked scores, the query's own item, subsets, ties, and no word of the order of rows."""

from dataclasses import replace
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st
from polars.testing import assert_frame_equal

import rankjury
from rankjury.core.types import Ranking, Vectors
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.evaluation.judge import judge
from rankjury.evaluation.query_lists import list_gold, list_ranking, top_rows
from rankjury.retrieval.agreement.reference import reference_gold
from rankjury.retrieval.bench.benchmark import IndexBenchmark
from rankjury.retrieval.rank import apply_threshold, as_vectors, check_same_items, drop_self, rank_listed, rank_vectors
from tests.stats.support import thorough


def vectors(ids: Any, values: Any, dtype: Any = np.float64, source: str = "corpus") -> Vectors:
    return Vectors(pl.Series("id", list(ids), dtype=pl.String), np.array(values, dtype=dtype), source)


def ranked(*arguments: Any, **options: Any) -> dict[str, list[tuple[str, float]]]:
    return lists(rank_vectors(*arguments, **options).ranking)


def lists(ranking: Ranking) -> dict[str, list[tuple[str, float]]]:
    """By query its items and scores, in their order."""
    bounds = zip(ranking.queries, ranking.starts[:-1].tolist(), ranking.starts[1:].tolist(), strict=True)
    assert ranking.scores is not None
    return {
        query: list(zip(ranking.items[first:last].to_list(), ranking.scores[first:last].tolist(), strict=True))
        for query, first, last in bounds
    }


def items(found: dict[str, list[tuple[str, float]]]) -> dict[str, list[str]]:
    return {query: [item for item, _ in pairs] for query, pairs in found.items()}


# a points right; b is the longest, at 45°; c points up; d left.
FOUR = vectors("abcd", [[3, 0], [4, 4], [0, 1], [-2, 0]])


class TestByHand:
    def test_cosine(self) -> None:
        found = ranked(FOUR, metric="cosine")
        assert items(found) == {
            "a": ["b", "c", "d"],
            "b": ["a", "c", "d"],  # cos 45° to both: a tie, by id
            "c": ["b", "a", "d"],  # a right angle to both
            "d": ["c", "b", "a"],
        }
        assert [score for _, score in found["a"]] == pytest.approx([sqrt(0.5), 0, -1], abs=1e-15)
        assert [score for _, score in found["d"]] == pytest.approx([0, -sqrt(0.5), -1], abs=1e-15)

    def test_inner_product(self) -> None:
        assert ranked(FOUR, metric="ip") == {
            "a": [("b", 12), ("c", 0), ("d", -6)],
            "b": [("a", 12), ("c", 4), ("d", -8)],
            "c": [("b", 4), ("a", 0), ("d", 0)],
            "d": [("c", 0), ("a", -6), ("b", -8)],
        }

    def test_distance(self) -> None:
        found = ranked(FOUR, metric="l2")
        expected = {
            "a": [("c", -sqrt(10)), ("b", -sqrt(17)), ("d", -5)],
            "b": [("a", -sqrt(17)), ("c", -5), ("d", -sqrt(52))],
            "c": [("d", -sqrt(5)), ("a", -sqrt(10)), ("b", -5)],
            "d": [("c", -sqrt(5)), ("a", -5), ("b", -sqrt(52))],
        }
        assert items(found) == items(expected)
        for query, pairs in expected.items():
            assert [score for _, score in found[query]] == pytest.approx([score for _, score in pairs], rel=1e-15)


class TestItsOwnItem:
    def test_left_out_where_the_corpus_has_the_id(self) -> None:
        """By id, not by direction: the query's vector is another than the item's."""
        queries = vectors(["a", "q"], [[0, 1], [3, 0]])
        found = ranked(FOUR, queries, metric="ip", exclude_self=True)
        assert found == {
            "a": [("b", 4), ("c", 1), ("d", 0)],
            "q": [("b", 12), ("a", 9), ("c", 0), ("d", -6)],  # an equal vector of another id is kept
        }

    def test_kept_where_the_queries_are_not_the_corpus(self) -> None:
        """An item lost its place to nothing but having the id of a query."""
        queries = vectors(["a", "q"], [[0, 1], [3, 0]], source="asked")
        space = rank_vectors(FOUR, queries, metric="ip")
        assert items(lists(space.ranking))["a"] == ["b", "c", "a", "d"]
        (note,) = space.ranking.notes
        assert note.startswith("1 query has the id of an item (of 2), which is kept")
        (note,) = rank_vectors(FOUR, queries, exclude_self=True).ranking.notes
        assert note.startswith("1 query has the id of an item (of 2), which is excluded") and "--keep-self" in note
        assert rank_vectors(FOUR).ranking.notes == ()

    def test_the_same_object_is_the_corpus(self) -> None:
        assert ranked(FOUR, FOUR) == ranked(FOUR)
        assert items(ranked(FOUR, FOUR, exclude_self=False, k=1)) == {name: [name] for name in "abcd"}

    def test_the_same_file_is_the_corpus(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "a.npz", ids=np.array(list("abcd")), one=FOUR.values, other=FOUR.values)
        np.savez(tmp_path / "b.npz", ids=np.array(list("abcd")), one=FOUR.values)
        one, again, other, copy = (
            rankjury.read_vectors(tmp_path / name) for name in ("a.npz:one", "a.npz:one", "a.npz:other", "b.npz")
        )
        assert all(query not in found for query, found in items(ranked(one, again)).items())
        for different in (other, copy):
            assert all(query in found for query, found in items(ranked(one, different)).items())

    def test_listed_candidates_too(self) -> None:
        pairs = pl.DataFrame({"query_id": ["a", "a", "q"], "item_id": ["a", "c", "a"]})
        queries = vectors(["a", "q"], [[0, 1], [3, 0]], source="asked")
        assert items(lists(rank_listed(FOUR, queries, pairs))) == {"a": ["c", "a"], "q": ["a"]}
        assert items(lists(rank_listed(FOUR, queries, pairs, exclude_self=True))) == {"a": ["c"], "q": ["a"]}
        assert items(lists(rank_listed(FOUR, None, pairs.head(2)))) == {"a": ["c"]}

    def test_left_out_where_it_is_no_candidate_either(self) -> None:
        found = ranked(FOUR, candidates=pl.Series(["b", "d"]), metric="ip")
        assert items(found) == {"a": ["b", "d"], "b": ["d"], "c": ["b", "d"], "d": ["b"]}

    def test_k_others_are_found_all_the_same(self) -> None:
        assert {query: len(found) for query, found in ranked(FOUR, k=2).items()} == dict.fromkeys("abcd", 2)


class TestHowMany:
    def test_k_are_the_first_of_all(self) -> None:
        rng = np.random.default_rng(3)
        corpus = vectors(map(str, range(60)), np.round(rng.normal(size=(60, 3)), 1))  # coarse: ties
        for metric in ("cosine", "ip", "l2"):
            whole = ranked(corpus, metric=metric)
            assert all(len(found) == 59 for found in whole.values())
            for k in (1, 2, 7, 58, 59, 60, 500):
                assert ranked(corpus, k=k, metric=metric) == {query: found[:k] for query, found in whole.items()}

    @pytest.mark.parametrize("k", [0, -1])
    def test_none_is_no_request(self, k: int) -> None:
        with pytest.raises(UsageError, match=f"k is {k}; expected 1 or more"):
            rank_vectors(FOUR, k=k)

    def test_one_vector_finds_nothing(self) -> None:
        assert ranked(vectors("a", [[1, 0]])) == {"a": []}


class TestSubsets:
    def test_wanted_queries_come_in_the_order_asked_for(self) -> None:
        found = ranked(FOUR, wanted=pl.Series(["d", "a"]))
        assert list(found) == ["d", "a"]
        assert found == {query: ranked(FOUR)[query] for query in ("d", "a")}

    def test_wanted_of_queries_of_their_own(self) -> None:
        queries = vectors("pqr", [[1, 0], [0, 1], [1, 1]])
        assert ranked(FOUR, queries, wanted=pl.Series(["q"]), metric="ip") == {
            "q": [("b", 4), ("c", 1), ("a", 0), ("d", 0)]
        }

    def test_candidates_do_not_change_scores(self) -> None:
        whole, part = ranked(FOUR), ranked(FOUR, candidates=pl.Series(["d", "b"]))
        assert part == {query: [pair for pair in whole[query] if pair[0] in "bd"] for query in whole}

    @pytest.mark.parametrize(("option", "what"), [("wanted", "query"), ("candidates", "candidate")])
    def test_ids_without_a_vector_are_listed(self, option: str, what: str) -> None:
        with pytest.raises(DataError, match=rf"^corpus: the {what} id has no vector: z; expected a vector for each"):
            rank_vectors(FOUR, **{option: pl.Series(["a", "z"])})  # type: ignore[arg-type]
        with pytest.raises(DataError, match=rf"7 {what} ids have no vector: t, u, v, w, x, y, z;"):
            rank_vectors(FOUR, **{option: pl.Series(list("atuvwxyz"))})  # type: ignore[arg-type]
        with pytest.raises(DataError, match=rf"101 {what} ids have no vector: n0, .*, n99 …;"):
            rank_vectors(FOUR, **{option: pl.Series([f"n{number}" for number in range(101)])})  # type: ignore[arg-type]

    def test_no_candidates_at_all(self) -> None:
        with pytest.raises(DataError, match="no candidates"):
            rank_vectors(FOUR, candidates=pl.Series([], dtype=pl.String))


class TestDoor:
    def test_dimensions(self) -> None:
        queries = vectors("q", [[1, 2, 3]], source="queries")
        pairs = pl.DataFrame({"query_id": ["q"], "item_id": ["a"]})
        for call in (lambda: rank_vectors(FOUR, queries), lambda: rank_listed(FOUR, queries, pairs)):
            with pytest.raises(DataError, match="queries, corpus: queries of 3 dimensions and a corpus of 2") as caught:
                call()
            assert caught.value.exit_code == 3

    def test_vectors_without_direction_are_named(self) -> None:
        with pytest.raises(DataError, match="the vector of b is zero") as caught:
            rank_vectors(vectors("abc", [[1, 0], [0, 0], [1, 1]]))
        assert "l2" in str(caught.value.hint)
        with pytest.raises(DataError, match="6 vectors are zero, which has no direction: b, c, d, e, f, g;"):
            rank_vectors(vectors("abcdefg", [[1, 0], *[[0, 0]] * 6]))
        with pytest.raises(DataError, match=r"^queries: the vector of q is zero"):
            rank_vectors(FOUR, vectors("q", [[0, 0]], source="queries"))

    @pytest.mark.parametrize("metric", ["ip", "l2"])
    def test_vectors_without_direction_have_a_place(self, metric: str) -> None:
        found = ranked(vectors("abc", [[3, 4], [0, 0], [-3, -4]]), metric=metric)
        assert found["b"] == ([("a", 0), ("c", 0)] if metric == "ip" else [("a", -5), ("c", -5)])

    @pytest.mark.parametrize(("metric", "long"), [("cosine", 1e200), ("ip", 1e160), ("l2", 1e154)])
    def test_vectors_too_long_to_be_squared_are_named(self, metric: str, long: float) -> None:
        with pytest.raises(DataError, match="a, b") as caught:
            rank_vectors(vectors("abc", [[long, 0], [-long, 0], [1, 1]]), metric=metric)
        assert "too long" in caught.value.found

    def test_names_that_are_not_known(self) -> None:
        pairs = pl.DataFrame({"query_id": ["a"], "item_id": ["b"]})
        for call in (
            lambda: rank_vectors(FOUR, metric="cosin"),
            lambda: rank_listed(FOUR, None, pairs, metric="cosin"),
        ):
            with pytest.raises(UnknownName, match=r"unknown similarity 'cosin'. Did you mean cosine"):
                call()


def test_short_vectors_are_told_apart() -> None:
    """Shorter than what 32 bits can hold one over: the same neighbours as those of the same vectors made long."""
    values = np.random.default_rng(1).normal(size=(300, 4)).astype(np.float32)
    tiny = values * np.float32(2.0**-130)  # a power of two, though the last bits are lost
    again = tiny.astype(np.float64) * 2.0**130
    names = list(map(str, range(300)))
    assert items(ranked(vectors(names, tiny, np.float32), k=5)) == items(ranked(vectors(names, again), k=5))


def test_ties_go_by_id_as_strings() -> None:
    names = ["9", "10", "b", "B", "é", "a"]
    found = ranked(vectors(names, [[1, 0]] * 6), vectors("q", [[1, 0]]))
    assert [item for item, _ in found["q"]] == ["10", "9", "B", "a", "b", "é"]
    assert {score for _, score in found["q"]} == {1.0}


@pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_order_of_rows_is_of_no_account(metric: str, dtype: Any) -> None:
    """The same frame, to the last bit, with copies among the vectors and lists short and long."""
    rng = np.random.default_rng(7)
    values = rng.normal(size=(300, 24)).astype(dtype)
    values[200:] = values[:100]
    names = np.array([str(number) for number in rng.permutation(300)])
    asked = pl.Series(names[::7].tolist()).sort()
    for k in (5, None):
        first = rank_vectors(vectors(names, values, dtype), k=k, metric=metric, wanted=asked, cuts=[5])
        for seed in range(3):
            order = np.random.default_rng(seed).permutation(300)
            shuffled = vectors(names[order], values[order], dtype)
            again = rank_vectors(shuffled, k=k, metric=metric, wanted=asked, cuts=[5])
            assert_frame_equal(again.ranking.frame(), first.ranking.frame(), check_exact=True)
            assert again.hygiene == first.hygiene


whole_vectors = st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.just(1)), min_size=2, max_size=9)


@pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
@given(rows=whole_vectors, data=st.data())
@thorough(40)
def test_listed_candidates_have_the_scores_of_all(metric: str, rows: Any, data: st.DataObject) -> None:
    corpus = vectors(map(str, range(8, 8 + len(rows))), rows)
    whole = ranked(corpus, metric=metric)
    chosen = data.draw(st.sets(st.tuples(*[st.sampled_from(corpus.ids.to_list())] * 2), min_size=1))
    pairs = pl.DataFrame(sorted(chosen, reverse=True), schema=["query_id", "item_id"], orient="row")
    expected = {q: [pair for pair in whole[q] if (q, pair[0]) in chosen] for q in sorted({q for q, _ in chosen})}
    assert lists(rank_listed(corpus, None, pairs, metric=metric)) == expected


class TestListed:
    def test_each_query_has_its_own(self) -> None:
        pairs = pl.DataFrame({"query_id": ["q", "p", "q", "p"], "item_id": ["a", "c", "b", "a"]})
        queries = vectors("pq", [[1, 0], [0, 1]])
        ranking = rank_listed(FOUR, queries, pairs, metric="ip")
        assert lists(ranking) == {"p": [("a", 3), ("c", 0)], "q": [("b", 4), ("a", 0)]}

    @pytest.mark.parametrize("k", [1, 2, 3, 9])
    def test_k_are_the_first_of_each(self, k: int) -> None:
        pairs = pl.DataFrame({"query_id": [*"aaabbc"], "item_id": [*"bcdadc"]})
        whole = lists(rank_listed(FOUR, None, pairs, metric="ip"))
        assert whole == {"a": [("b", 12), ("c", 0), ("d", -6)], "b": [("a", 12), ("d", -8)], "c": []}
        found = lists(rank_listed(FOUR, None, pairs, k=k, metric="ip"))
        assert found == {query: listed[:k] for query, listed in whole.items()}

    def test_a_query_left_with_nothing_is_still_asked(self) -> None:
        pairs = pl.DataFrame({"query_id": ["a", "b", "c"], "item_id": ["a", "a", "c"]})
        assert lists(rank_listed(FOUR, None, pairs, metric="ip")) == {"a": [], "b": [("a", 12)], "c": []}

    @pytest.mark.parametrize(("query", "item", "what"), [("z", "a", "query"), ("a", "z", "candidate")])
    def test_ids_without_a_vector_are_listed_once(self, query: str, item: str, what: str) -> None:
        pairs = pl.DataFrame({"query_id": [query, query, "a"], "item_id": [item, item, "b"]})
        with pytest.raises(DataError, match=rf"^corpus: the {what} id has no vector: z;"):
            rank_listed(FOUR, None, pairs)

    def test_vectors_without_direction_are_named(self) -> None:
        pairs = pl.DataFrame({"query_id": ["b"], "item_id": ["a"]})
        with pytest.raises(DataError, match="the vector of a is zero"):
            rank_listed(vectors("ab", [[0, 0], [1, 0]]), None, pairs)


class TestVectors:
    def test_rows_of_ids_and_those_that_are_not_there(self) -> None:
        assert FOUR.rows_of(pl.Series(["c", "z", "a", "c"])).tolist() == [2, -1, 0, 2]

    def test_some_of_them(self) -> None:
        part = FOUR.take(np.array([2, 0]))
        assert (part.ids.to_list(), part.values.tolist(), part.source) == (["c", "a"], [[0, 1], [3, 0]], "corpus")

    def test_what_it_is(self) -> None:
        assert (len(FOUR), FOUR.dimensions, repr(FOUR)) == (4, 2, "Vectors(corpus: 4 × 2, float64)")
        with pytest.raises(ValueError, match="read-only"):
            FOUR.values[0, 0] = 1


def test_queries_that_are_no_items_may_have_their_ids() -> None:
    """Rows numbered from 0 on both sides: the item of the same number is not the query."""
    asked = vectors("ab", [[1, 0], [0, 1]])
    kept, apart = (rank_vectors(FOUR, asked, k=4, exclude_self=one).ranking for one in (True, False))
    assert "a" not in items_of(kept, "a") and "a" in items_of(apart, "a") and "b" in items_of(apart, "b")


def items_of(ranking: Ranking, query: str) -> list[str]:
    return ranking.frame().filter(pl.col("query_id") == query)["item_id"].to_list()


class TestRowNumbers:
    """Rows without ids are called by their number: equal scores put '10' before '2', as strings are sorted."""

    N = 12
    SAME = as_vectors(np.ones((N, 2)), None, "same")

    def others(self, query: str) -> list[str]:
        return [str(number) for number in range(self.N) if str(number) != query]

    def test_neighbours_tie_by_number(self) -> None:
        ranking = rank_vectors(self.SAME).ranking
        lists = [ranking.items[first:last].cast(pl.String).to_list() for first, last in pairwise(ranking.starts)]
        assert lists == [self.others(query) for query in ranking.queries]
        assert ranking.frame().schema["item_id"] == pl.String

    def test_listed_candidates_tie_by_number(self) -> None:
        pairs = pl.DataFrame({"query_id": ["0"] * 3, "item_id": ["10", "2", "9"]})
        assert rank_listed(self.SAME, None, pairs).items.cast(pl.String).to_list() == ["2", "9", "10"]

    @pytest.mark.parametrize("as_number", [True, False])
    def test_judge_lists_and_page_agree(self, as_number: bool) -> None:
        """Also where the gold's ids are strings of a file."""
        ranking = rank_vectors(self.SAME, wanted=pl.Series(["0"])).ranking
        gold = rankjury.as_gold({"0": {str(item): 1.0 for item in range(1, self.N)}})
        if as_number:
            gold = replace(gold, items=gold.items.cast(ranking.items.dtype))
        judged = judge(gold, ranking)
        found = gold.items.cast(pl.String).gather(judged.gold_index).to_list()
        assert found == self.others("0")
        assert top_rows(ranking, ranking.queries, None)["item_id"].to_list() == found
        assert [one.item for one in list_ranking(ranking, gold.sorted_queries, 20, gold).of(0)] == found

    def test_a_gold_of_row_numbers_ties_by_number(self) -> None:
        gold = reference_gold(lambda wanted, k: rank_vectors(self.SAME, wanted=wanted, k=k).ranking,
                              pl.Series(["0"]), 11, ties="any").gold  # fmt: skip
        assert [one.item for one in list_gold(gold, gold.sorted_queries, 20).of(0)] == self.others("0")
        judged = judge(gold, rankjury.as_ranking({"0": ["10", "2", "1"]}), places=True)
        assert judged.place is not None
        assert judged.place.tolist() == [10, 2, 1]

    @pytest.mark.parametrize("run", [None, {"0": {"10": 1.0, "9": 1.0, "2": 1.0}}])
    def test_fusion_ties_by_number(self, run: dict[str, dict[str, float]] | None) -> None:
        """Also with a run, whose ids then name the same rows."""
        ranking = rank_vectors(self.SAME, wanted=pl.Series(["0"])).ranking
        other = ranking if run is None else rankjury.as_ranking(run)
        fused = rankjury.fuse([ranking, other], rankjury.Fusion("combsum", normalise="none"))
        found = fused.items.cast(pl.String).to_list()
        assert found == (self.others("0") if run is None else ["2", "9", "10", *"1345678", "11"])

    def test_ids_that_are_given_tie_as_strings(self) -> None:
        named = rankjury.Vectors(pl.Series([str(row) for row in range(self.N)]), np.ones((self.N, 2)))
        assert rank_vectors(named, wanted=pl.Series(["0"]), k=3).ranking.items.to_list() == ["1", "10", "11"]

    def test_the_exact_engine_ties_by_number(self) -> None:
        bench = IndexBenchmark(self.SAME, self.SAME, engine="exact", k=3, own=np.arange(self.N))
        with bench.build() as built:
            assert built.search().items[0].tolist() == [1, 2, 3]
        assert bench.truth().items[0].tolist() == [1, 2, 3]


class TestVectorsInPython:
    """rankjury.Vectors from Python values: lists of ids, NaN and duplicates."""

    ROWS = ((1.0, 0.0), (0.6, 0.8), (0.0, 1.0))

    @pytest.mark.parametrize(
        "given",
        [
            (["a", "b", "c"], ROWS),
            (("a", "b", "c"), [list(row) for row in ROWS]),
            (np.array(["a", "b", "c"]), np.array(ROWS)),
            (np.array(["a", "b", "c"], dtype=object), np.array(ROWS)),
            (pl.Series(["a", "b", "c"]), np.array(ROWS)),
            ({"a": ROWS[0], "b": np.array(ROWS[1]), "c": list(ROWS[2])},),
        ],
    )
    def test_lists_arrays_and_dicts(self, given: Any) -> None:
        vectors = rankjury.Vectors(*given)
        assert vectors.ids.to_list() == ["a", "b", "c"]
        assert vectors.values.tolist() == [list(row) for row in self.ROWS]

    def test_whole_numbers_are_ids_and_the_callers_matrix_stays_the_callers(self) -> None:
        matrix = np.array(self.ROWS)
        assert rankjury.Vectors([3, 1, 2], matrix).ids.to_list() == ["3", "1", "2"]
        assert rankjury.Vectors(np.array([3, 1, 2]), matrix).rows_of(pl.Series(["2"])).tolist() == [2]
        assert matrix.flags.writeable

    @pytest.mark.parametrize(
        ("given", "found"),
        [
            ((["a", "b"], ROWS), "found 3 vectors and 2 ids"),
            ((pl.Series(["a", "b"]), np.array(ROWS)), "found 3 vectors and 2 ids"),
            ((["a", "b", "a"], ROWS), "duplicate ids: a"),
            (({1: ROWS[0], "1": ROWS[1]},), "duplicate ids: 1"),
            ((["a", "b", "c"], [[1.0, 0.0], [np.nan, 1.0], [np.inf, 0.0]]), "in the vectors of b, c"),
            ((["a", "b", "c"], [[1.0], [1.0, 2.0], [3.0]]), "the values are not a matrix"),
            (({"a": [1.0], "b": [1.0, 2.0]},), "the values are not a matrix"),
            ((["a", None, "c"], ROWS), "found the id None"),
            (([0.5, 1.5, 2.5], ROWS), "found the id 0.5"),
            ((["a", "", "c"], ROWS), "row 2 has no id"),
            ((["a", "b", "c"], [1.0, 2.0, 3.0]), "shape 3"),
            ((["a", "b", "c"], [["x"], ["y"], ["z"]]), "type <U1"),
            (({},), "shape 0"),
        ],
    )
    def test_what_is_wrong_with_the_data_is_named(self, given: Any, found: str) -> None:
        with pytest.raises(rankjury.DataError) as caught:
            rankjury.Vectors(*given)
        assert found in str(caught.value)

    @pytest.mark.parametrize("given", [(np.array(ROWS), ["a", "b", "c"]), (np.array(ROWS),), ("abc", ROWS), (["a"],),
                                       (None, ROWS), (5, ROWS), (["a"], 5)])  # fmt: skip
    def test_wrong_arguments_are_errors_of_usage(self, given: Any) -> None:
        with pytest.raises(rankjury.UsageError, match="Vectors"):
            rankjury.Vectors(*given)

    def test_functions_check_vectors_that_were_not_checked_before(self) -> None:
        """A Series and a matrix are taken as they are until they are used."""
        for ids, rows in ((["a", "b", "a"], self.ROWS), (["a", "b", "c"], ((1.0, 0.0), (np.nan, 1.0), (0.0, 1.0)))):
            unchecked = rankjury.Vectors(pl.Series(ids), np.array(rows))
            with pytest.raises(rankjury.DataError, match=r"duplicate ids: a|the vectors of b"):
                rankjury.agree(np.array(self.ROWS), {"one": unchecked}, [1], ids=ids, resampling=None)

    def test_functions_take_a_dict(self) -> None:
        by_id = dict(zip("abc", self.ROWS, strict=True))
        found = rankjury.agree(by_id, {"same": by_id}, [1], resampling=None, pairs=0)
        assert found.estimates["same"]["rbo@1"].mean == 1.0


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
@thorough(60)
def test_like_a_plain_filter(run: dict[str, dict[str, float]], threshold: float) -> None:
    shown = apply_threshold(rankjury.as_ranking(run), threshold)
    assert listed(shown) == {
        query: {item: score for item, score in items.items() if score >= threshold} for query, items in run.items()
    }
    assert shown.queries.to_list() == list(run)


def model(ids: Any, source: str, *, numbered: bool = False) -> Vectors:
    names = pl.Series("id", [str(one) for one in ids], dtype=pl.String)
    return Vectors(names, np.ones((len(names), 2)), source, numbered)


def refused(reference: Vectors, candidate: Vectors) -> DataError:
    with pytest.raises(DataError) as caught:
        check_same_items(reference, candidate)
    assert caught.value.exit_code == 3
    assert caught.value.where == f"{reference.source}, {candidate.source}"
    return caught.value


@pytest.mark.parametrize("ids", ["abc", ["é", "日本", "a b"], range(12), ["x"]])
def test_models_are_matched_whatever_the_order_of_rows(ids: Any) -> None:
    check_same_items(model(ids, "ada.npz"), model(reversed(list(ids)), "base.npz"))


def test_without_ids_both_have_the_same_rows() -> None:
    check_same_items(model(range(5), "ada.npy", numbered=True), model(range(5), "base.npy", numbered=True))


def test_without_ids_and_of_other_lengths() -> None:
    error = refused(model(range(5_000), "ada.npy", numbered=True), model(range(4_999), "base.npy", numbered=True))
    assert "5,000 rows and 4,999 rows" in error.found and error.hint


@pytest.mark.parametrize("reference_is_numbered", [True, False])
def test_one_with_ids_and_one_without(reference_is_numbered: bool) -> None:
    """Even where the ids are those that numbering would give: that is luck."""
    reference = model(range(4), "ada.npy", numbered=reference_is_numbered)
    candidate = model(range(4), "base.npz", numbered=not reference_is_numbered)
    error = refused(reference, candidate)
    without = reference if reference_is_numbered else candidate
    assert error.found.startswith(f"{without.source} has no ids")


def test_ids_of_one_only() -> None:
    error = refused(model("abcd", "ada.npz"), model("bcd", "base.npz"))
    assert "only in ada.npz (a)" in error.found and "base.npz (" not in error.found
    error = refused(model("bcd", "ada.npz"), model("abcd", "base.npz"))
    assert "only in base.npz (a)" in error.found and "ada.npz (" not in error.found


def test_ids_of_either_only() -> None:
    error = refused(model("abc", "ada.npz"), model("bcd", "base.npz"))
    assert "only in ada.npz (a) and " in error.found and "only in base.npz (d)" in error.found


def test_many_ids_are_not_all_listed() -> None:
    error = refused(model(range(1_500), "ada.npz"), model(["x"], "base.npz"))
    assert (
        "1,500 ids are only in ada.npz (0, 1, 2, 3, " in error.found and "99 …)" in error.found and "(x)" in error.found
    )


def test_ids_are_compared_as_they_stand() -> None:
    error = refused(model(["1", "02"], "ada.npz"), model(["1", "2"], "base.npz"))
    assert "(02)" in error.found and "(2)" in error.found


def test_what_is_shown_of_a_space_is_short() -> None:
    shown = repr(rank_vectors(np.eye(12), k=2))
    assert "12 queries" in shown
    assert "12 vectors of 12 dimensions" in shown
    assert len(shown) < 200
