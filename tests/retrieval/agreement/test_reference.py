"""A reference's ranking as gold: the papers protocol run plainly beside it, and ties at its k-th place."""

import json
from collections.abc import Callable, Mapping
from math import log2
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

import rankjury
from rankjury.core.convert import as_ranking
from rankjury.core.types import Floats, Gold, Ranking, Vectors
from rankjury.errors import DataError, RankjuryError, UnknownName, UsageError
from rankjury.evaluation.evaluate import Evaluation
from rankjury.measures.measure import Measure
from rankjury.plan.parse import check_plan
from rankjury.plan.run import execute_plan
from rankjury.reporting.sections.space import render
from rankjury.retrieval.agreement.reference import ReferenceJudgments, ReferenceTies, reference_gold
from rankjury.retrieval.agreement.stats import Agreement
from rankjury.retrieval.diagnostics import GoldSpaces, SpaceDiagnostics
from rankjury.retrieval.rank import rank_vectors
from tests.stats.support import thorough

Scored = Mapping[str, Mapping[str, float]]


# The four functions as the specification prints them, but for np.log2, np.mean and the names of the models.
def recall_at_k(best: list[str], model: list[str], k: int) -> float:
    return len(set(best[:k]) & set(model[:k])) / k


def ndcg_at_k(best: list[str], model: list[str], k: int) -> float:
    wanted = set(best[:k])
    relevances = [1.0 if idx in wanted else 0.0 for idx in model[:k]]
    dcg = sum(rel / log2(i + 2) for i, rel in enumerate(relevances))
    idcg = sum(1.0 / log2(i + 2) for i in range(min(k, len(wanted))))
    return dcg / idcg if idcg > 0 else 0.0


def mrr(best: list[str], model: list[str], k: int) -> float:
    wanted = set(best[:k])
    for position, idx in enumerate(model[:k]):
        if idx in wanted:
            return 1.0 / (position + 1)
    return 0.0


def map_at_k(best: list[str], model: list[str], k: int) -> float:
    wanted = set(best[:k])
    precisions = []
    relevant_count = 0
    for position, idx in enumerate(model[:k]):
        if idx in wanted:
            relevant_count += 1
            precisions.append(relevant_count / (position + 1))
    return sum(precisions) / len(precisions) if precisions else 0.0


SPEC: dict[str, Callable[[list[str], list[str], int], float]] = {
    "recall(over=k,gold={gold})@{k}": recall_at_k,
    "ndcg(gain=binary,gold={gold})@{k}": ndcg_at_k,
    "rr(gold={gold})@{k}": mrr,
    "ap(over=found,gold={gold})@{k}": map_at_k,
}


def ordered(scores: Mapping[str, float]) -> list[str]:
    return sorted(scores, key=lambda item: (-scores[item], item))


def tied(scores: Mapping[str, float], model: list[str], k: int) -> dict[str, float]:
    """An item counts if the reference scores it no lower than its k-th: all four by that word alone."""
    least = sorted(scores.values(), reverse=True)[k - 1]
    hits = [scores.get(item, least - 1) >= least for item in model[:k]]
    at_hits = [sum(hits[: rank + 1]) / (rank + 1) for rank, hit in enumerate(hits) if hit]
    ideal = sum(1 / log2(rank + 2) for rank in range(k))
    found = (
        sum(hits) / k,
        sum(1 / log2(rank + 2) for rank, hit in enumerate(hits) if hit) / ideal,
        max((1 / (rank + 1) for rank, hit in enumerate(hits) if hit), default=0.0),
        sum(at_hits) / len(at_hits) if at_hits else 0.0,
    )
    return dict(zip(SPEC, found, strict=True))


class Ranks:
    """A reference that holds all its scores, and keeps account of what it was asked for."""

    def __init__(self, scores: Scored) -> None:
        self.scores = scores
        self.asked: list[tuple[int, int]] = []

    def __call__(self, queries: pl.Series, k: int) -> Ranking:
        self.asked.append((len(queries), k))
        lists = {query: ordered(self.scores[query])[:k] for query in queries}
        return as_ranking({query: {one: self.scores[query][one] for one in lists[query]} for query in lists})


def gold_of(scores: Scored, depth: int, ties: ReferenceTies = "id", **options: Any) -> ReferenceJudgments:
    return reference_gold(Ranks(scores), pl.Series(list(scores), dtype=pl.String), depth, ties=ties, **options)


def lists(gold: Gold) -> dict[str, list[tuple[str, float]]]:
    found: dict[str, list[tuple[str, float]]] = {query: [] for query in gold.queries}
    for query, item, grade in gold.frame().iter_rows():
        found[query].append((item, grade))
    return found


def values(gold: Gold, ranking: Ranking, measure: str) -> dict[str, float]:
    evaluation = Evaluation.match(gold, ranking)
    return dict(zip(evaluation.matched.queries, evaluation.values(Measure.parse(measure)).tolist(), strict=True))


def model(n: int, seed: int, kinds: int = 3, dimensions: int = 3) -> Floats:
    """Vectors of few small whole numbers: their products are exact, and many tie."""
    return np.random.default_rng(seed).integers(-kinds, kinds + 1, (n, dimensions)).astype(np.float64)


def scored(ids: list[str], matrix: Floats) -> Scored:
    products = matrix @ matrix.T
    return {query: {item: products[i, j] for j, item in enumerate(ids) if i != j} for i, query in enumerate(ids)}


@pytest.mark.parametrize("ties", ["id", "any"])
@pytest.mark.parametrize("seed", range(4))
def test_the_protocol_over_vectors(seed: int, ties: ReferenceTies) -> None:
    """Both models' full lists, plainly, beside rankjury's; ids in no order, ties everywhere."""
    ids = [str(number) for number in np.random.default_rng(seed).permutation(40)]
    matrices = model(40, seed), model(40, seed + 100, kinds=1 + seed)
    reference, candidate = (Vectors(pl.Series("id", ids), matrix) for matrix in matrices)

    def rank(queries: pl.Series, k: int) -> Ranking:
        return rank_vectors(reference, k=k, metric="ip", wanted=queries).ranking

    asked = pl.Series("id", sorted(ids)[:25] if seed % 2 else ids)
    found = reference_gold(rank, asked, 20, ties=ties)
    ranking = rank_vectors(candidate, metric="ip", wanted=asked).ranking
    theirs, ours = (scored(ids, matrix) for matrix in matrices)
    for k in (1, 3, 5, 10, 20):
        for spelling, function in SPEC.items():
            measured = values(found.gold, ranking, spelling.format(gold="k" if ties == "id" else "tied", k=k))
            expected = {
                query: function(ordered(theirs[query]), ordered(ours[query]), k)
                if ties == "id"
                else tied(theirs[query], ordered(ours[query]), k)[spelling]
                for query in asked
            }
            assert measured == pytest.approx(expected, abs=1e-12)
        assert found.tied_at(k) == sum(
            sorted(theirs[q].values())[-k] == sorted(theirs[q].values())[-k - 1] for q in asked
        )


grades = st.integers(0, 3).map(float)
runs = st.dictionaries(st.sampled_from("abcdefgh"), grades, min_size=1)


@given(st.lists(st.tuples(runs, runs), min_size=1, max_size=4), st.integers(1, 9), st.data())
@thorough(40)
def test_the_protocol_over_runs(rows: list[tuple[dict[str, float], dict[str, float]]], depth: int, data: Any) -> None:
    theirs = {f"q{number}": reference for number, (reference, _) in enumerate(rows)}
    ours = {f"q{number}": candidate for number, (_, candidate) in enumerate(rows)}
    shortest = min(len(scores) for scores in theirs.values())
    k = data.draw(st.integers(1, min(depth, shortest)))
    for ties, gold in (("id", "k"), ("any", "tied")):
        found = gold_of(theirs, depth, ties, needed=k)
        evaluation = Evaluation.match(found.gold, as_ranking(ours))
        for spelling, function in SPEC.items():
            measured = evaluation.values(Measure.parse(spelling.format(gold=gold, k=k)))
            for query, value in zip(evaluation.matched.queries, measured, strict=True):
                model_list = ordered(ours[query])
                plain = function(ordered(theirs[query]), model_list, k)
                expected = plain if ties == "id" else tied(theirs[query], model_list, k)[spelling]
                assert value == pytest.approx(expected, abs=1e-12)
        assert found.tied_at(k) == sum(
            len(scores) > k and sorted(scores.values())[-k] == sorted(scores.values())[-k - 1]
            for scores in theirs.values()
        )


@given(runs, st.integers(1, 9))
@thorough(50)
def test_what_the_gold_holds(scores: dict[str, float], depth: int) -> None:
    names = ordered(scores)
    plain = lists(gold_of({"q": scores}, depth).gold)["q"]
    kept = names[:depth]
    assert plain == [(name, float(len(kept) - place)) for place, name in enumerate(kept)]
    least = scores[kept[-1]]
    anyone = lists(gold_of({"q": scores}, depth, "any").gold)["q"]
    assert [name for name, _ in anyone] == [name for name in names if scores[name] >= least]
    for name, grade in anyone:
        assert grade == len(anyone) - sum(other > scores[name] for other in scores.values()) > 0


class TestTies:
    SCORES = {"q": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 2.0, "e": 1.0}, "r": dict(zip("abcde", range(5), strict=True))}

    def test_by_hand(self) -> None:
        by_id, anyone = (gold_of(self.SCORES, 2, ties) for ties in get_args(ReferenceTies))
        assert lists(by_id.gold)["q"] == [("a", 2.0), ("b", 1.0)]
        assert lists(anyone.gold)["q"] == [("a", 4.0), ("b", 3.0), ("c", 3.0), ("d", 3.0)]
        assert lists(anyone.gold)["r"] == lists(by_id.gold)["r"] == [("e", 2.0), ("d", 1.0)]
        assert by_id.gold.ordered and anyone.gold.ordered
        assert [found.tied_at(k) for found in (by_id, anyone) for k in (1, 2)] == [0, 1, 0, 1]

    def test_recall_is_capped(self) -> None:
        """Two of three that tie are two of two; none can make it more than 1."""
        gold = gold_of(self.SCORES, 2, "any").gold
        found = values(gold, as_ranking({"q": ["c", "d", "b"], "r": ["a", "d"]}), "recall(over=k,gold=tied)@2")
        assert found == {"q": 1.0, "r": 0.5}
        assert values(gold, as_ranking({"q": ["c", "d"], "r": ["a"]}), "recall(over=k,gold=k)@2")["q"] == 0

    def test_notes(self) -> None:
        by_id, anyone = (gold_of(self.SCORES, 4, ties) for ties in get_args(ReferenceTies))
        assert by_id.notes((1, 4)) == [] and anyone.notes(()) == []
        assert "1 at 2, 1 at 3:" in by_id.notes((1, 2, 3, 4))[0] and "the id decides" in by_id.notes((2,))[0]
        assert "all that tie count" in anyone.notes((2,))[0] and "id" not in anyone.notes((2,))[0].split(":")[-1]

    def test_ranked_further_only_where_all_tie(self) -> None:
        """q ties to its 40th place, r to its third, s nowhere; t has fewer than are asked for."""
        names = [f"i{number:02}" for number in range(50)]
        scores = {
            "q": {name: float(number < 40) for number, name in enumerate(names)},
            "r": {name: float(number < 3) * 2 - number * (number >= 3) for number, name in enumerate(names)},
            "s": {name: -float(number) for number, name in enumerate(names)},
            "t": {"a": 1.0, "b": 1.0},
        }
        ranks = Ranks(scores)
        gold = reference_gold(ranks, pl.Series(list(scores)), 2, ties="any").gold
        assert {query: len(rows) for query, rows in lists(gold).items()} == {"q": 40, "r": 3, "s": 2, "t": 2}
        assert ranks.asked[0] == (4, 3) and ranks.asked[1] == (2, 6)
        assert all(many == 1 for many, _ in ranks.asked[2:]) and ranks.asked[-1][1] > 40
        assert lists(gold)["q"] == [(name, 40.0) for name in names[:40]]

    def test_all_items_tie(self) -> None:
        everyone = {"q": dict.fromkeys("abcdefg", 0.0), "r": dict.fromkeys("ab", 0.5)}
        gold = gold_of(everyone, 1, "any").gold
        assert lists(gold) == {"q": [(one, 7.0) for one in "abcdefg"], "r": [("a", 2.0), ("b", 2.0)]}

    def test_equal_scores_of_two_queries_are_no_tie(self) -> None:
        found = gold_of({"q": {"a": 2.0, "b": 1.0}, "r": {"c": 1.0, "d": 0.5}}, 2)
        assert [found.tied_at(k) for k in (1, 2, 3)] == [0, 0, 0]

    def test_a_ranking_without_scores_has_none(self) -> None:
        def rank(queries: pl.Series, k: int) -> Ranking:
            return as_ranking({"q": ["b", "a"][:k]})

        for ties in get_args(ReferenceTies):
            found = reference_gold(rank, pl.Series(["q"]), 1, ties=ties)
            assert lists(found.gold) == {"q": [("b", 1.0)]} and found.tied_at(1) == 0


class TestErrors:
    def test_a_cut_off_past_what_is_ranked(self) -> None:
        with pytest.raises(DataError) as caught:
            gold_of({"q": dict.fromkeys("abc", 1.0), "r": {"a": 1.0}, "s": {"a": 1.0}}, 3, needed=3, source="ada.npy")
        assert caught.value.exit_code == 3 and caught.value.where == "ada.npy"
        assert "'r'" in caught.value.found and "2 of 3 queries" in caught.value.found
        assert caught.value.expected == "cut-offs up to 1"

    def test_as_many_as_are_needed(self) -> None:
        assert len(gold_of({"q": dict.fromkeys("abc", 1.0)}, 3, needed=3).gold.items) == 3

    def test_a_query_of_which_nothing_is_ranked_is_not_passed_over(self) -> None:
        with pytest.raises(DataError, match="'r'") as caught:
            reference_gold(lambda asked, k: as_ranking({"q": {"a": 1.0}}), pl.Series(["q", "r"]), 1, source="ada.trec")
        assert caught.value.where == "ada.trec"


def test_one_query_with_one_item() -> None:
    found = gold_of({"ü": {"日": 0.5}}, 10)
    assert lists(found.gold) == {"ü": [("日", 1.0)]} and found.notes((1, 10)) == []


def test_the_order_of_queries_and_rows_is_of_no_account() -> None:
    ids = [f"{number}" for number in range(30)]
    matrix = model(30, 5)
    order = np.random.default_rng(1).permutation(30)
    found = []
    for names, rows in ((ids, matrix), ([ids[place] for place in order], matrix[order])):
        vectors = Vectors(pl.Series("id", names), rows)
        for queries in (names, names[::-1], sorted(names)):

            def rank(wanted: pl.Series, k: int, vectors: Vectors = vectors) -> Ranking:
                return rank_vectors(vectors, k=k, metric="ip", wanted=wanted).ranking

            found.append(lists(reference_gold(rank, pl.Series(queries), 3, ties="any").gold))
    assert all(one == found[0] for one in found)


RANDOM = np.random.default_rng(5)
TRUE = RANDOM.normal(size=(60, 12)).astype(np.float32)
NEAR = TRUE + RANDOM.normal(size=TRUE.shape).astype(np.float32)
FAR = TRUE + 3 * RANDOM.normal(size=TRUE.shape).astype(np.float32)
QUICK = rankjury.Resampling(resamples=100)


def agreed(**options: Any) -> rankjury.Report:
    return rankjury.agree(TRUE, {"near": NEAR, "far": FAR}, **{"pairs": 500, "resampling": QUICK} | options)


class TestFigures:
    def test_are_those_of_a_plan(self, tmp_path: Path) -> None:
        for name, matrix in (("true", TRUE), ("near", NEAR), ("far", FAR)):
            np.save(tmp_path / f"{name}.npy", matrix)
        content = {
            "name": "same",
            "gold": {"kind": "reference", "path": "true.npy", "sample": 40},
            "systems": {name: {"kind": "vectors", "path": f"{name}.npy"} for name in ("near", "far")},
            "baseline": "near",
            "measures": [
                "recall(over=k,gold=k)",
                "ndcg(gain=binary,gold=k)",
                "rr(gold=k)",
                "ap(over=found,gold=k)",
                "rbo",
            ],
            "cutoffs": [1, 5],
            "headline": ["ndcg(gain=binary,gold=k)@5"],
            "agreement": {"pairs": 500},
            "statistics": {"resamples": 100},
        }
        planned = execute_plan(check_plan(content, "same", tmp_path)).report
        report = agreed(k_values=(1, 5), n_samples=40)
        assert report.estimates == planned.estimates
        assert {n: a.to_json() for n, a in report.sections_of(Agreement).items()} == {
            n: a.to_json() for n, a in planned.sections_of(Agreement).items()
        }
        assert list(report.needed_section(GoldSpaces).spaces) == ["reference"]
        assert list(report.sections_of(SpaceDiagnostics)) == ["near", "far"]

    def test_the_nearer_agrees_more(self) -> None:
        report = agreed()
        assert report.baseline == "near" and len(report.scores["near"].queries) == 60
        near, far = (report.estimates[name]["recall(over=k,gold=k)@10"].mean for name in ("near", "far"))
        assert far < near < 1
        (one,) = [one for one in report.comparisons if one.measure == "ndcg(gain=binary,gold=k)@10"]
        assert one.relative is not None and one.relative < 0 and one.relative_ci is not None
        json.dumps(report.to_json(), allow_nan=False)

    def test_a_candidate_named_reference_has_its_own_diagnostics(self) -> None:
        report = rankjury.agree(TRUE, {"reference": TRUE * 2}, resampling=None)
        (gold,) = report.needed_section(GoldSpaces).spaces.values()
        assert report.sections_of(SpaceDiagnostics)["reference"].norm.mean == pytest.approx(2 * gold.norm.mean)
        shown = render(report, False)
        assert shown is not None
        assert [row[0].text for row in shown.tables[0].rows] == ["reference (gold)", "reference"]

    def test_the_same_model_agrees_wholly(self) -> None:
        report = rankjury.agree(TRUE, {"same": TRUE * 2}, resampling=None)
        assert {round(one.mean, 12) for one in report.estimates["same"].values()} == {1.0}
        assert report.sections_of(Agreement)["same"].figures["spearman"].value == pytest.approx(1.0)
        assert report.sections_of(Agreement)["same"].figures["mae"].value == pytest.approx(0.0, abs=1e-12)

    def test_rows_are_matched_by_id(self) -> None:
        names = [f"p{row}" for row in range(60)]
        order = RANDOM.permutation(60)
        vectors = [
            _vectors([names[row] for row in rows], matrix[rows])
            for matrix, rows in ((TRUE, np.arange(60)), (NEAR, order))
        ]
        shuffled = rankjury.agree(vectors[0], {"near": vectors[1]}, resampling=None, pairs=0)
        straight = rankjury.agree(TRUE, {"near": NEAR}, ids=names, resampling=None, pairs=0)
        assert shuffled.estimates == straight.estimates

    def test_paths_do_too(self, tmp_path: Path) -> None:
        np.save(tmp_path / "true.npy", TRUE)
        report = rankjury.agree(tmp_path / "true.npy", {"near": NEAR}, resampling=None, pairs=0)
        assert report.estimates == rankjury.agree(TRUE, {"near": NEAR}, resampling=None, pairs=0).estimates

    def test_the_callers_matrix_stays_the_callers(self) -> None:
        mine = NEAR.copy()
        rankjury.agree(TRUE, {"mine": mine}, resampling=None)
        mine[0] = 0.0


def _vectors(names: list[str], matrix: Any) -> rankjury.Vectors:
    return rankjury.Vectors(pl.Series("id", names), matrix.copy())


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"k_values": 0}, UsageError, "cut-offs"),
        ({"k_values": [2.5]}, UsageError, "whole numbers"),
        ({"k_values": []}, UsageError, "cut-offs"),
        ({"k_values": [60]}, DataError, "the cut-off is 60"),
        ({"n_samples": 61}, DataError, "a sample of 61 from 60"),
        ({"n_samples": 2.5}, UsageError, "n_samples is 2.5"),
        ({"n_samples": 0}, UsageError, "n_samples is 0"),
        ({"seed": -1}, UsageError, "seed is -1"),
        ({"pairs": -5}, UsageError, "pairs is -5"),
        ({"ties": "foo"}, UnknownName, "rule for ties 'foo'"),
        ({"baseline": "fat", "resampling": None}, UnknownName, "Did you mean far"),
        ({"metric": "cosinus"}, UnknownName, "cosinus"),
        ({"ids": ["a"] * 60}, DataError, "duplicate ids: a"),
        ({"ids": ["a"]}, DataError, "60 vectors and 1 ids"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], error: type[RankjuryError], told: str) -> None:
    with pytest.raises(error, match=told):
        agreed(**options)


@pytest.mark.parametrize(
    ("candidates", "told"),
    [
        (NEAR, "found no candidates by name"),
        ({}, "found no candidates by name"),
        ({"short": NEAR[:59]}, "60 rows and 59 rows, without ids"),
        ({"gap": np.where(np.arange(60)[:, None] == 7, np.nan, NEAR)}, "NaN or infinite numbers in the vectors of 7"),
        ({"flat": NEAR[:, 0]}, "expected a row of numbers for each id"),
        ({"text": [["a", "b"]]}, "text"),
    ],
)
def test_candidates_that_do_not_fit_are_refused(candidates: Any, told: str) -> None:
    with pytest.raises(RankjuryError, match=told):
        rankjury.agree(TRUE, candidates, resampling=None)


class TestListedQueries:
    IDS = ("5", "3", "1", "0", "2", "4")
    VALUES = np.random.default_rng(0).normal(size=(6, 3))

    def test_numbers_are_ids_where_rows_have_ids(self) -> None:
        """Row 5 has the id 4: which of both is meant is said."""
        report = rankjury.agree(
            self.VALUES, {"x": self.VALUES}, [1], ids=self.IDS, queries=[5, 3], pairs=0, resampling=None
        )
        assert [str(query) for query in report.scores["x"].queries] == ["3", "5"]
        assert any("2 numbers are taken as ids" in warning for warning in report.warning_lines)
        plain = rankjury.agree(self.VALUES, {"x": self.VALUES}, [1], queries=[5, 3], pairs=0, resampling=None)
        assert not any("taken as ids" in warning for warning in plain.warnings)

    @pytest.mark.parametrize(
        ("queries", "found"),
        [
            ([6, 1], "1 query is not known: 6"),
            ([-1], "not known: -1"),
            ([1, 1], "duplicate queries: 1"),
            ([], "no queries"),
            ([1.5], "type Float64"),
            (7, "queries"),
            ([None, 1], "has no id"),
        ],
    )
    def test_refused(self, queries: Any, found: str) -> None:
        with pytest.raises(rankjury.DataError, match=found):
            rankjury.agree(self.VALUES, {"x": self.VALUES}, [1], queries=queries)

    def test_row_numbers_of_rows_with_ids(self) -> None:
        with pytest.raises(rankjury.DataError, match="row numbers cannot be used"):
            rankjury.agree(self.VALUES, {"x": self.VALUES}, [1], ids=list("abcdef"), queries=[0, 1])

    def test_a_sample_as_well(self) -> None:
        with pytest.raises(rankjury.UsageError, match="both queries and n_samples"):
            rankjury.agree(self.VALUES, {"x": self.VALUES}, [1], queries=[0], n_samples=2)
