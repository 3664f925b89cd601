"""The worked examples and formulas of the five protocols, each with the conventions that its protocol uses."""

from math import log2

import pytest
from hypothesis import given, settings, strategies as st

import rankjury


def one(gold: object, ranking: object, measure: str) -> float:
    return rankjury.evaluate(gold, ranking, [measure]).mean()[measure]


def ordered(items: list[int]) -> rankjury.Gold:
    return rankjury.ordered_gold({"q": [str(item) for item in items]})


def listed(items: list[int]) -> dict[str, list[str]]:
    return {"q": [str(item) for item in items]}


class TestPapers:
    """A reference model's top k is the gold; it is cut at k and every item in it counts alike."""

    def test_recall_at_5(self) -> None:
        found = one(ordered([7, 23, 156, 89, 42]), listed([7, 89, 12, 23, 99]), "recall(over=k,gold=k)@5")
        assert found == 3 / 5

    def test_ndcg_at_5_with_three_gold_items(self) -> None:
        found = one(ordered([7, 23, 156]), listed([7, 99, 23, 156, 12]), "ndcg(gain=binary,gold=k)@5")
        dcg, ideal = 1 / log2(2) + 1 / log2(4) + 1 / log2(5), 1 / log2(2) + 1 / log2(3) + 1 / log2(4)
        assert (round(dcg, 2), round(ideal, 2), round(found, 2)) == (1.93, 2.13, 0.91)
        assert found == pytest.approx(dcg / ideal, rel=1e-15)

    def test_mrr(self) -> None:
        assert one(ordered([7, 23, 156, 89, 42]), listed([99, 7, 23]), "rr(gold=k)@5") == 0.5

    def test_map_at_5_is_over_those_found(self) -> None:
        found = one(ordered([7, 23, 156, 89, 42]), listed([7, 99, 23, 156, 12]), "ap(over=found,gold=k)@5")
        assert found == pytest.approx((1 + 2 / 3 + 3 / 4) / 3, rel=1e-15)
        assert round(found, 2) == 0.81

    def test_all_four_agree_at_k_1(self) -> None:
        """The protocol's printed table has the same figure in all four columns at k = 1."""
        gold = rankjury.ordered_gold({"hit": ["a", "b"], "miss": ["a", "b"]})
        ranking = {"hit": ["a", "b"], "miss": ["b", "a"]}
        names = ["recall(over=k,gold=k)@1", "ndcg(gain=binary,gold=k)@1", "rr(gold=k)@1", "ap(over=found,gold=k)@1"]
        assert set(rankjury.evaluate(gold, ranking, names).mean().values()) == {0.5}

    def test_the_gold_is_cut_at_k(self) -> None:
        """The reference's fourth item is no gold at k = 3."""
        gold, ranking = ordered([1, 2, 3, 4, 5]), listed([4, 1, 9])
        assert one(gold, ranking, "recall(over=k,gold=k)@3") == 1 / 3
        assert one(gold, ranking, "recall(over=k)@3") == 2 / 3


class TestDriving:
    """A clip is relevant when it has all keywords; recall divides by K, "precision" by the relevant."""

    def test_workflow_example(self) -> None:
        gold = {"urban_cyclist_crossing_001": {f"clip{n}": 1 for n in (2, 3, 4, 5, 9)}}
        ranking = {"urban_cyclist_crossing_001": ["clip1", "clip2", "clip3", "clip4", "clip5"]}
        names = ["recall(over=k)@1", "recall(over=k)@3", "recall(over=k)@5"]
        assert [round(v, 3) for v in rankjury.evaluate(gold, ranking, names).mean().values()] == [0.0, 0.667, 0.8]

    def test_text_example(self) -> None:
        """Four of five have both keywords; the fifth has one of two and does not count."""
        gold = {"cyclist entering ego lane": {f"v{n}": 1 for n in range(1, 5)}}
        ranking = {"cyclist entering ego lane": ["v1", "v2", "v3", "v4", "car2pedestrian_001"]}
        names = ["recall(over=k)@1", "recall(over=k)@3", "recall(over=k)@5"]
        assert list(rankjury.evaluate(gold, ranking, names).mean().values()) == [1.0, 1.0, 0.8]

    def test_video_example(self) -> None:
        gold = {"highway_merge_002": {f"r{n}": 1 for n in range(8)}}
        ranking = {"highway_merge_002": ["r0", "r1", "r2", "x", "y"]}
        assert one(gold, ranking, "recall(over=k)@5") == 0.6
        assert one(gold, ranking, "precision(over=relevant)@5") == 3 / 8
        assert one(gold, ranking, "ap") == pytest.approx(3 / 8)

    def test_fewer_than_k_retrieved_still_divides_by_k(self) -> None:
        assert one({"q": {"a": 1}}, {"q": ["a"]}, "recall(over=k)@5") == 0.2
        assert one({"q": {"a": 1}}, {"q": ["a"]}, "ndcg@5") == 1.0


def movies_ndcg(predicted: list[str], gold: list[str], k: int) -> float:
    """The protocol's steps, written out."""
    grade = {item: 5 - place for place, item in enumerate(gold)}
    dcg = sum((2 ** grade.get(item, 0) - 1) / log2(place + 2) for place, item in enumerate(predicted[:k]))
    ideal = sum((2 ** grade[item] - 1) / log2(place + 2) for place, item in enumerate(gold[:k]))
    return dcg / ideal


class TestMovies:
    """Ordered top-5 lists; the grade is 6 − position, the gain 2^grade − 1."""

    GOLD = ("g1", "g2", "g3", "g4", "g5")

    def test_grades_come_from_positions(self) -> None:
        gold = rankjury.ordered_gold({"tt1": self.GOLD})
        assert gold.frame()["grade"].to_list() == [5, 4, 3, 2, 1]
        assert gold.ordered

    def test_by_hand(self) -> None:
        """Second, first and a stranger: 15 and 31 at ranks 1 and 2 of 31 + 15/log2(3) + 7/2 + …"""
        gold, ranking = rankjury.ordered_gold({"tt1": self.GOLD}), {"tt1": ["g2", "g1", "x", "y", "z"]}
        ideal = 31 + 15 / log2(3) + 7 / 2 + 3 / log2(5) + 1 / log2(6)
        assert one(gold, ranking, "ndcg(gain=exp)@5") == pytest.approx((15 + 31 / log2(3)) / ideal, rel=1e-15)
        assert one(gold, ranking, "hits@5") == 0.4
        assert one(gold, ranking, "precision@5") == one(gold, ranking, "recall@5") == 0.4
        assert one(gold, ranking, "mrr@5") == 1.0

    @given(st.permutations([*GOLD, *"vwxyz"]), st.integers(1, 10))
    @settings(max_examples=60, deadline=None, derandomize=True)
    def test_against_the_protocols_steps(self, predicted: list[str], k: int) -> None:
        gold = rankjury.ordered_gold({"tt1": self.GOLD})
        found = one(gold, {"tt1": predicted}, f"ndcg(gain=exp)@{k}")
        assert found == pytest.approx(movies_ndcg(predicted, list(self.GOLD), k), rel=1e-12)

    def test_ties_break_by_id_ascending(self) -> None:
        gold = rankjury.ordered_gold({"tt1": ["b"]})
        assert one(gold, {"tt1": {"b": 1.0, "a": 1.0}}, "rr@5") == 0.5


class TestFashion:
    """Grades 0–3, exponential gain, relevant from grade 2."""

    GOLD = {"q": {"a": 3, "b": 2, "c": 1, "d": 0, "e": 2}}
    RANKING = {"q": ["c", "a", "u", "b", "d"]}

    def test_ndcg(self) -> None:
        dcg = 1 / log2(2) + 7 / log2(3) + 3 / log2(5)
        ideal = 7 / log2(2) + 3 / log2(3) + 3 / log2(4) + 1 / log2(5)
        assert one(self.GOLD, self.RANKING, "ndcg(gain=exp)@10") == pytest.approx(dcg / ideal, rel=1e-15)

    def test_the_others_count_grade_2_and_up(self) -> None:
        names = ["recall(rel=2)@10", "precision(rel=2)@10", "rr(rel=2)@10", "hit_rate(rel=2)@10"]
        found = list(rankjury.evaluate(self.GOLD, self.RANKING, names).mean().values())
        assert found == [2 / 3, 0.2, 0.5, 1.0]

    def test_ann_recall_is_the_overlap_with_the_exact_top_k(self) -> None:
        exact, approximate = ordered([1, 2, 3, 4]), listed([2, 1, 9, 3])
        assert one(exact, approximate, "recall(over=k,gold=k)@4") == 0.75
        assert one(exact, approximate, "recall(over=k,gold=k)@2") == 1.0


class TestMovielens:
    """Held-out ratings: graded nDCG with linear gain, precision and recall from rating 4."""

    GOLD = {"u": {"m1": 5, "m2": 3, "m3": 4, "m4": 1}}
    RANKING = {"u": {"m2": 0.9, "m9": 0.8, "m1": 0.7, "m4": 0.6, "m3": 0.5}}

    def test_ndcg_is_graded(self) -> None:
        dcg = 3 / log2(2) + 5 / log2(4) + 1 / log2(5) + 4 / log2(6)
        ideal = 5 / log2(2) + 4 / log2(3) + 3 / log2(4) + 1 / log2(5)
        assert one(self.GOLD, self.RANKING, "ndcg@10") == pytest.approx(dcg / ideal, rel=1e-15)

    def test_precision_and_recall_are_binary(self) -> None:
        names = ["precision(rel=4)@5", "recall(rel=4)@5", "precision(rel=4)@3", "recall(rel=4)@3"]
        assert list(rankjury.evaluate(self.GOLD, self.RANKING, names).mean().values()) == [0.4, 1.0, 1 / 3, 0.5]

    def test_a_user_without_liked_items_is_undefined_for_recall_only(self) -> None:
        scores = rankjury.evaluate({"u": {"m": 3}}, {"u": ["m"]}, ["ndcg@10", "recall(rel=4)@10"])
        assert scores.summary("ndcg@10").mean == 1.0
        assert (scores.summary("recall(rel=4)@10").n, scores.summary("recall(rel=4)@10").undefined) == (0, 1)
