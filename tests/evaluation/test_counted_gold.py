"""A gold told by number scores as the same gold told by name: every metric, to the last digit."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

import rankjury
import rankjury.core.types
from rankjury.core.types import Gold, Ranking, Runs, gathered
from rankjury.evaluation.compare import assess
from rankjury.evaluation.evaluate import Evaluation, evaluate, resolve_measures
from rankjury.evaluation.explain import explain
from rankjury.evaluation.judge import judge
from rankjury.evaluation.random_baseline import RandomRanking, expected_scores
from rankjury.evaluation.slices import SliceTable
from rankjury.evaluation.slices.groups import Attribute
from rankjury.labeling.keywords.gold import Predicates
from rankjury.measures.judged import count_relevant
from rankjury.measures.measure import METRICS, Measure, Metric
from rankjury.stats.resampling import Resampling
from tests.labeling.keywords import plain
from tests.labeling.keywords.test_predicates import CLIPS, by_items, by_words

NUMBERS = {"rel": (0.5, 1.0), "max": (2.0,), "p": (0.5,), "at": (0.0, 0.3, 1.0)}
"""Values of options that are numbers."""


def spelled(metric: Metric) -> Iterator[Measure]:
    """The metric at several cut-offs, and with each of its conventions changed by itself."""
    cuts = [None] if metric.cut == "none" else [1, 3, 10] + ([None] if metric.cut == "optional" else [])
    for k in cuts:
        yield Measure(metric.name, k)
    for option in metric.all_options:
        values = option.choices[1:] if option.choices else NUMBERS.get(option.name, ())
        for value in values:
            if value != "error" and not (option.name == "gold" and value in ("k", "tied")):
                yield Measure(metric.name, cuts[1 if len(cuts) > 1 else 0], ((option.name, value),))


MEASURES = [one for metric in METRICS for one in spelled(metric) if not metric.needs_places and not metric.of_lists]


def ways(predicates: Predicates, ranking: Ranking) -> dict[str, Gold]:
    return {
        "by name": predicates.gold(),
        "for the ranking": predicates.gold_for(ranking),
        "by number": predicates.gold_by_number(),
    }


def check_alike(predicates: Predicates, ranking: Ranking, parts: int, measures: list[Measure] = MEASURES) -> None:
    """With the gold's grades laid out in about so many parts."""
    asked = resolve_measures(measures)
    laid_out = max(1, int(predicates.relevant_counts.sum()) // parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankjury.measures.judged._MOST_LAID_OUT", laid_out)
        found = {way: evaluate(gold, ranking, asked) for way, gold in ways(predicates, ranking).items()}
    whole = found.pop("by name")
    for way, scores in found.items():
        assert scores.queries.equals(whole.queries), way
        for column, label in enumerate(whole.labels):
            told = f"{label}, {way}"
            np.testing.assert_array_equal(scores.values[:, column], whole.values[:, column], err_msg=told)
        assert scores.mean() == pytest.approx(whole.mean(), rel=0, abs=0, nan_ok=True), way
        assert scores.warnings == tuple(one for one in whole.warnings if not _is_of_few_ids(str(one))), way


def _is_of_few_ids(warning: str) -> bool:
    """A gold by number does not list its items: where there are too few ids for an error, it cannot warn of them."""
    return warning.startswith("no item in common")


def test_measures_are_many_and_of_all_families() -> None:
    names = {one.name for one in MEASURES}
    assert {"ndcg", "dcg", "ap", "rr", "recall", "precision", "err", "rbp", "bpref", "num_rel", "f1"} <= names
    assert {one.name for one in METRICS if not one.needs_places and not one.of_lists} == names
    assert {one["rel"] for one in MEASURES if one.name == "ndcg"} == {None, 0.5, 1.0}


@given(data=st.data(), table=plain.tables(), match=st.sampled_from(plain.MATCHES), parts=st.integers(1, 5))
@settings(max_examples=5, deadline=None, derandomize=True)
def test_items_as_queries(data: Any, table: plain.Table, match: str, parts: int) -> None:
    run = data.draw(plain.runs_of(table, table))
    check_alike(by_items(table, match), rankjury.as_ranking(run), parts)


@given(data=st.data(), table=plain.tables(), match=st.sampled_from(plain.MATCHES), parts=st.integers(1, 5))
@settings(max_examples=5, deadline=None, derandomize=True)
def test_keywords_as_queries(data: Any, table: plain.Table, match: str, parts: int) -> None:
    queries = data.draw(plain.asked_of(table))
    run: Any = data.draw(plain.runs_of(table, queries))
    if data.draw(st.booleans()):
        run = {query: list(items) for query, items in run.items()}
    check_alike(by_words(table, queries, match), rankjury.as_ranking(run), parts)


RANKING = rankjury.as_ranking(
    {
        "still": {"car": 0.9, "bike": 0.8},
        "bike": {"car": 3.0, "bike2": 1.0, "other": 3.0},
        "car": {"void": 1.0, "still": 1.0},
    }
)


class TestByHand:
    @pytest.mark.parametrize("match", plain.MATCHES)
    def test_every_metric(self, match: str) -> None:
        for parts in (1, 2, 100):
            check_alike(by_items(CLIPS, match), RANKING, parts)

    def test_ndcg_of_shares(self) -> None:
        """bike: bike2 has 2 of 3 keywords, car 1 of 3; car and a stranger tie before bike2."""
        scores = evaluate(by_items(CLIPS, "graded").gold_by_number(), RANKING, resolve_measures(["ndcg@3", "recall@1"]))
        at = scores.queries.to_list().index("bike")
        best = (2 / 3) / np.log2(2) + (1 / 3) / np.log2(3)
        assert scores.values[at].tolist() == [
            pytest.approx(((1 / 3) / np.log2(2) + (2 / 3) / np.log2(4)) / best),
            0.5,
        ]

    def test_relevant_items_by_level(self) -> None:
        judged = judge(by_items(CLIPS, "graded").gold_by_number(), RANKING)
        assert judged.queries.to_list() == ["bike", "bike2", "car", "still", "void"]
        assert count_relevant(judged, None).tolist() == [2, 2, 3, 1, 4]
        assert count_relevant(judged, 0.5).tolist() == [1, 2, 3, 1, 4]
        assert count_relevant(judged, 1.0).tolist() == [0, 1, 0, 1, 4]

    def test_queries_in_any_order(self) -> None:
        asked = {"z": frozenset({("object", "car")}), "a": frozenset(), "m": frozenset({("doing", "turning")})}
        judged = judge(by_words(CLIPS, asked, "all").gold_by_number(), rankjury.as_ranking({"m": ["bike"]}))
        assert judged.queries.to_list() == ["a", "m", "z"]
        assert count_relevant(judged, None).tolist() == [5, 1, 2]

    def test_nothing_is_laid_out_before_it_is_asked_for(self) -> None:
        judged = judge(by_items(CLIPS, "graded").gold_by_number(), RANKING)
        assert judged.gold_grades.size == 0
        assert judged.counted is not None

    @pytest.mark.parametrize(("most", "sizes"), [(1, [1, 1, 1, 1, 1]), (4, [2, 2, 1]), (5, [2, 2, 1]), (12, [5])])
    def test_parts_hold_so_many_grades(self, monkeypatch: pytest.MonkeyPatch, most: int, sizes: list[int]) -> None:
        """The queries have 2, 2, 3, 1 and 4 relevant items."""
        monkeypatch.setattr("rankjury.measures.judged._MOST_LAID_OUT", most)
        judged = judge(by_items(CLIPS, "graded").gold_by_number(), RANKING)
        parts = list(judged.parts())
        assert [len(part) for part in parts] == sizes
        assert pl.concat([part.queries for part in parts]).equals(judged.queries)
        laid_out = [part.gold_grades[a:b].tolist() for part in parts for a, b in zip(
            part.gold_starts[:-1], part.gold_starts[1:], strict=True)]  # fmt: skip
        assert laid_out == [[2 / 3, 1 / 3], [1.0, 0.5], [0.5, 0.5, 0.5], [1.0], [1.0, 1.0, 1.0, 1.0]]
        assert all([*part.parts()] == [part] for part in parts)
        assert [part.queries[int(row)] for part in parts for row in part.ties.row] == ["bike", "car"]

    def test_the_highest_grade_is_of_all_queries(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Also where a part has none as high, and where the only item of a grade is the query itself."""
        monkeypatch.setattr("rankjury.measures.judged._MOST_LAID_OUT", 1)
        table = {"a": frozenset({("g", "x"), ("g", "y")}), "b": frozenset({("g", "x"), ("g", "z")})}
        judged = judge(by_items(table, "graded").gold_by_number(), rankjury.as_ranking({"a": ["b"]}))
        assert judged.highest == 0.5
        larger = judge(by_items(CLIPS, "graded").gold_by_number(), RANKING)
        assert {part.highest for part in larger.parts()} == {1.0}

    def test_segments_gathered(self) -> None:
        starts, at = gathered(np.array([0, 2, 2, 5]), np.array([2, 1, 0, 2]))
        assert starts.tolist() == [0, 3, 3, 5, 8]
        assert at.tolist() == [2, 3, 4, 0, 1, 2, 3, 4]

    def test_runs_are_read_only(self) -> None:
        runs = Runs(np.array([0, 1]), np.array([1.0]), np.array([3]))
        with pytest.raises(ValueError, match="read-only"):
            runs.counts[0] = 4

    def test_against_is_itself_where_all_is_listed(self) -> None:
        gold = by_items(CLIPS, "all").gold()
        assert gold.against(RANKING) is gold
        assert len(by_items(CLIPS, "all").gold_by_number().against(RANKING).items) == 1


@pytest.mark.parametrize("match", ["all", "any", "at-least-2", "graded"])
@pytest.mark.parametrize("at_once", [1, 1 << 22])
def test_the_random_baseline(match: str, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankjury.measures.judged._MOST_LAID_OUT", at_once)
    asked = resolve_measures(
        ["recall@2", "recall(over=k)@2", "precision(rel=1)@2", "ap", "ndcg@3", "ndcg", "rr", "hit_rate@1"]
    )
    predicates = by_items(CLIPS, match)
    listed, by_number = (
        expected_scores(gold, RandomRanking(4), asked) for gold in (predicates.gold(), predicates.gold_by_number())
    )
    assert np.array_equal(listed.values, by_number.values, equal_nan=True)


def test_too_few_candidates_of_a_random_order() -> None:
    with pytest.raises(rankjury.DataError, match="judged items to be among the candidates"):
        expected_scores(by_items(CLIPS, "any").gold_by_number(), RandomRanking(1), resolve_measures(["recall@2"]))


class TestWhatIsRefused:
    """What needs every item by name says so."""

    def gold(self) -> Gold:
        return by_items(CLIPS, "graded").gold_by_number()

    def test_measures_of_the_order_of_the_gold(self) -> None:
        by_order = next(one for one in METRICS if one.needs_places)
        for measure in ("recall(gold=k)@2", f"{by_order.name}@2"):
            with pytest.raises(rankjury.UsageError, match="the gold is too large to be put in order"):
                evaluate(self.gold(), RANKING, resolve_measures([measure]))

    def test_slices_of_items(self) -> None:
        table = pl.DataFrame({"item_id": list(CLIPS), "kind": ["a", "a", "b", "b", "b"]})
        cuts = SliceTable(table, "item_id", "items", [(Attribute("kind"),)], "kinds")
        with pytest.raises(rankjury.UsageError, match="too large for slices of items"):
            assess(self.gold(), {"one": RANKING}, resolve_measures(["recall@2"]), resampling=HOW, item_slices=[cuts])

    def test_nothing_in_common(self) -> None:
        with pytest.raises(rankjury.DataError, match="no query in common"):
            judge(self.gold(), rankjury.as_ranking({"nobody": ["car"]}))


HOW = Resampling(resamples=100)
TWICE = pl.DataFrame({"query_id": ["still"] * 3, "item_id": ["car", "car", "bike"], "score": [1.0, 2.0, 3.0]})


class TestDuplicatesInTheRanking:
    @pytest.mark.parametrize("rule", ["first", "last", "max"])
    def test_scores(self, rule: Any) -> None:
        ranking = rankjury.as_ranking(TWICE)
        found = [
            evaluate(gold, ranking, resolve_measures(["rr", "recall@1", "num_rel_ret"]), duplicates=rule).values
            for gold in ways(by_items(CLIPS, "all"), ranking).values()
        ]
        np.testing.assert_array_equal(found[1], found[0])
        np.testing.assert_array_equal(found[2], found[0])

    def test_the_error_names_the_ranking(self) -> None:
        gold = by_items(CLIPS, "all").gold_by_number()
        with pytest.raises(rankjury.DataError, match=r"^ranking: duplicate item 'car'"):
            evaluate(gold, rankjury.as_ranking(TWICE), resolve_measures(["rr"]))

    def test_how_many_were_dropped(self) -> None:
        gold = by_items(CLIPS, "all").gold_by_number()
        scores = evaluate(gold, rankjury.as_ranking(TWICE), resolve_measures(["rr"]), duplicates="max")
        assert "1 duplicate row was dropped" in map(str, scores.warnings)


TIED = [
    Measure(metric.name, k, (("gold", "tied"),))
    for metric in METRICS
    for k in (1, 2, 5)
    if metric.needs_relevant and metric.cut != "none" and not metric.needs_places and not metric.of_lists
]


@given(data=st.data(), table=plain.tables(), match=st.sampled_from(plain.MATCHES), parts=st.integers(1, 5))
@settings(max_examples=5, deadline=None, derandomize=True)
def test_gold_with_what_ties(data: Any, table: plain.Table, match: str, parts: int) -> None:
    """Only the k best items of each query, and all that tie with the k-th."""
    run = data.draw(plain.runs_of(table, table))
    check_alike(by_items(table, match), rankjury.as_ranking(run), parts, TIED)


def test_moves_between_two_systems() -> None:
    """Before, void finds bike and car; after, only car, which has moved up."""
    before = rankjury.as_ranking({"void": ["bike", "car"], "still": ["bike"]})
    after = rankjury.as_ranking({"void": ["car"], "still": ["bike"]})
    predicates = by_items(CLIPS, "all")
    moves = []
    for gold in (predicates.gold(), predicates.gold_by_number()):
        rankings = {"before": before, "after": after}
        report = assess(gold, rankings, resolve_measures(["recall@2"]), resampling=HOW, baseline="before")
        change = next(one for one in report.changes if one.query == "void")
        moves.append({move.item: (move.before, move.after) for move in change.moves})
    assert {item: moves[0][item] for item in ("bike", "car")} == {"bike": (1, None), "car": (2, 1)}
    assert {item: moves[1][item] for item in ("bike", "car")} == {"bike": (1, None), "car": (2, 1)}


def test_explained_with_every_convention() -> None:
    """Also from each grade of the gold on; what cannot be told of such a gold is left open."""
    predicates = by_items(CLIPS, "graded")
    whole = {one.who: one.mean for one in explain(predicates.gold(), RANKING, "recall@2").rows}
    found = {one.who: one.mean for one in explain(predicates.gold_by_number(), RANKING, "recall@2").rows}
    assert found.keys() == whole.keys()
    told = {who for who, mean in found.items() if not np.isnan(mean)}
    assert {"rel=0.5", "rel=1", "empty=zero"} <= told
    assert {who: found[who] for who in told} == {who: whole[who] for who in told}


def test_errors_count_all_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankjury.measures.judged._MOST_LAID_OUT", 1)
    told = []
    for gold in (by_items(CLIPS, "all").gold(), by_items(CLIPS, "all").gold_by_number()):
        with pytest.raises(rankjury.DataError) as caught:
            evaluate(gold, RANKING, resolve_measures(["recall(missing=error)@2"]))
        told.append(str(caught.value))
    assert "2 such queries" in told[0]
    assert told[1] == told[0]


def test_one_judging_serves_measures_that_order_alike() -> None:
    evaluation = Evaluation.match(by_items(CLIPS, "all").gold_by_number(), RANKING)
    assert evaluation.judged(Measure.parse("ap")) is evaluation.judged(Measure.parse("recall@2"))


def test_a_ranking_of_other_ids_is_refused_by_every_gold() -> None:
    """``clip_7`` and ``7``: nothing was found, and nothing was said."""
    table = {f"clip_{number}": frozenset({("object", "car")}) for number in range(12)}
    ranking = rankjury.as_ranking({item: [str(number) for number in range(12)] for item in table})
    predicates = by_items(table, "all")
    for gold in (predicates.gold(), predicates.gold_by_number()):
        with pytest.raises(rankjury.DataError, match="no item in common"):
            evaluate(gold, ranking, resolve_measures(["recall@2"]))
