"""Gold and rankings side by side: the items that judging ranks first, with the gold's grades."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from rankjury.core.convert import as_gold, as_ranking
from rankjury.evaluation.query_lists import Answers, list_gold, list_ranking

GOLD = {"q2": {"a": 1, "b": 3, "c": 0}, "q1": {"x": 2}, "q3": {"y": 1}}
RUN = {"q1": {"z": 0.5, "x": 0.5, "w": 0.1}, "q2": {"c": 3.0, "b": 2.0, "other": 1.0}, "q9": {"x": 1.0}}

names = st.sampled_from("abcdef")
queries = st.sampled_from(["q1", "q2", "q3", "q4"])


def answers(gold: dict[str, dict[str, float]], run: dict[str, dict[str, float]], k: int = 2) -> Answers:
    truth = as_gold(gold)
    asked = truth.sorted_queries
    judged = list_gold(truth, asked, k)
    ranking = list_ranking(as_ranking(run), asked, k, truth, judged)
    return Answers(asked.cast(pl.String), {"": judged}, {"run": ranking}, {"run": ""})


class TestLists:
    def test_the_first_come_with_scores_and_grades(self) -> None:
        found = answers(GOLD, RUN).systems["run"]
        assert found.of(0) == [(1, "x", 0.5, 2.0), (2, "z", 0.5, pytest.approx(float("nan"), nan_ok=True))]
        assert found.of(1) == [(1, "c", 3.0, 0.0), (2, "b", 2.0, 3.0)]
        assert found.of(2) == []
        assert found.total.tolist() == [3, 3, 0]

    def test_a_gold_has_its_best_first_and_says_how_many_there_are(self) -> None:
        found = answers(GOLD, RUN).golds[""]
        assert [[one.item for one in found.of(row)] for row in range(3)] == [["x"], ["b", "a"], ["y"]]
        assert found.total.tolist() == [1, 3, 1]

    def test_a_histogram_is_of_the_systems_own_scores_without_those_of_a_fallback(self) -> None:
        """Popularity counts of users whom a model does not know stood among its scores, hundreds of times as large."""
        truth = as_gold(GOLD)
        run = as_ranking({"q1": {"x": 0.5, "z": 0.1}, "q2": {"b": 306.0, "c": 250.0}})
        mixed = list_ranking(run, truth.sorted_queries, 5, truth).histogram()
        assert mixed is not None and mixed.edges[-1] == 306.0 and mixed.fallback_queries is None
        served = replace(run, fallback=np.array([str(query) == "q2" for query in run.queries]))
        own = list_ranking(served, truth.sorted_queries, 5, truth).histogram()
        assert own is not None
        assert (own.edges[0], own.edges[-1], sum(own.counts)) == (0.1, 0.5, 2)
        assert own.fallback_queries == 1

    def test_an_order_alone_has_no_scores(self) -> None:
        truth = as_gold(GOLD)
        found = list_ranking(as_ranking({"q1": ["z", "x"]}), truth.sorted_queries, 5, truth)
        assert found.scores is None
        assert found.histogram() is None
        assert [one.item for one in found.of(0)] == ["z", "x"]

    def test_a_ranking_with_only_ranks_shows_no_scores(self) -> None:
        """Of a file with a rank and no score, minus the rank was shown as the score."""
        truth = as_gold(GOLD)
        run = pl.DataFrame({"query_id": ["q1", "q1", "q2"], "item_id": ["z", "x", "b"], "rank": [1, 4, 7]})
        found = list_ranking(as_ranking(run), truth.sorted_queries, 5, truth)
        assert found.scores is None
        assert [one.item for one in found.of(0)] == ["z", "x"]

    def test_whole_number_ids_are_text(self) -> None:
        truth = as_gold(pl.DataFrame({"query_id": [10, 9], "item_id": [1, 2], "grade": [1, 1]}))
        run = as_ranking(pl.DataFrame({"query_id": [9, 10], "item_id": [2, 3], "score": [1.0, 1.0]}))
        found = list_ranking(run, truth.sorted_queries, 5, truth)
        in_order = truth.sorted_queries.cast(pl.String).to_list()
        assert found.of(in_order.index("9")) == [(1, "2", 1.0, 1.0)]

    @settings(deadline=None)
    @given(
        st.dictionaries(queries, st.dictionaries(names, st.integers(0, 3), min_size=1), min_size=1),
        # Not below 0: scores that equal minus the ranks are taken for ranks.
        st.dictionaries(
            queries, st.dictionaries(names, st.integers(0, 50).map(lambda tenths: tenths / 10), min_size=1)
        ),
        st.integers(1, 5),
    )
    def test_they_are_what_plain_python_finds(
        self, gold: dict[str, dict[str, float]], run: dict[str, dict[str, float]], k: int
    ) -> None:
        if not run:
            return
        found = answers(gold, run, k)
        for row, query in enumerate(sorted(gold)):
            ordered = sorted(run.get(query, {}).items(), key=lambda one: (-one[1], one[0]))
            best = sorted(gold[query].items(), key=lambda one: (-one[1], one[0]))[:k]
            assert [(one.item, one.grade) for one in found.golds[""].of(row)] == best
            further = [(rank, item, score) for rank, (item, score) in enumerate(ordered, 1)
                       if rank <= k or item in dict(best)]  # fmt: skip
            assert [one[:3] for one in found.systems["run"].of(row)] == further
            assert found.systems["run"].tuples(k)[row] == tuple(item for item, _ in ordered[:k])
            for one in found.systems["run"].of(row):
                assert one.grade == gold[query].get(one.item) or (np.isnan(one.grade) and one.item not in gold[query])

    def test_judged_ones_further_down_have_their_ranks(self) -> None:
        gold = {"q": {"a": 1, "b": 2, "c": 0}}
        found = answers(gold, {"q": ["x", "y", "b", "z", "c", "a"]}).systems["run"]
        assert [(one.rank, one.item) for one in found.of(0)] == [(1, "x"), (2, "y"), (3, "b"), (6, "a")]
        assert found.tuples() == (("x", "y", "b"),)  # b follows without a gap
        assert found.tuples(2) == (("x", "y"),)
        assert found.total.tolist() == [6]


class TestFrames:
    def test_they_come_back_from_their_frames(self) -> None:
        found = answers(GOLD, RUN)
        again = Answers.from_frames(
            found.queries, ["run"], [""], found.gold_of, found.rankings_frame(), found.golds_frame()
        )
        for ours, theirs in ((found.systems["run"], again.systems["run"]), (found.golds[""], again.golds[""])):
            assert ours.tuples() == theirs.tuples()
            np.testing.assert_array_equal(ours.ranks, theirs.ranks)
            np.testing.assert_array_equal(ours.grades, theirs.grades)
            held = np.diff(ours.starts) > 0  # of a query without rows nothing is known
            np.testing.assert_array_equal(ours.total[held], theirs.total[held])
        np.testing.assert_array_equal(found.systems["run"].scores, again.systems["run"].scores)

    def test_rows_stand_by_query_and_rank(self) -> None:
        frame = answers(GOLD, RUN).rankings_frame()
        assert frame.columns == ["query_id", "system", "rank", "item_id", "score", "grade", "of"]
        assert frame.select("query_id", "rank", "item_id").rows() == [
            ("q1", 1, "x"), ("q1", 2, "z"), ("q2", 1, "c"), ("q2", 2, "b"),
        ]  # fmt: skip

    def test_golds_can_be_called_otherwise(self) -> None:
        found = answers(GOLD, RUN).called({"run": "overall"})
        assert list(found.golds) == ["overall"]
        assert found.gold_of == {"run": "overall"}

    def test_a_histogram_counts_every_score(self) -> None:
        found = answers(GOLD, RUN).systems["run"].histogram(bins=5)
        assert found is not None
        assert sum(found.counts) == 4
        assert (found.edges[0], found.edges[-1]) == (0.5, 3.0)
