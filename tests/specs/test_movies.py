"""The movies protocol, formula by formula and whole, against an implementation that shares nothing with rankjury."""

import json
import random
import tempfile
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from importlib.resources import files
from math import log2, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

import rankjury
from rankjury.core.types import Vectors
from rankjury.errors import DataError
from rankjury.plan.outputs import check_outputs, write_outputs
from rankjury.plan.parse import read_plan
from rankjury.plan.run import Outcome, execute_plan
from rankjury.retrieval.fusion.align import fuse
from rankjury.retrieval.fusion.fusion import Fusion
from rankjury.retrieval.rank import rank_vectors
from tests.specs import slow_movies as slow

SAMPLE = Path(str(files("rankjury.plan") / "samples" / "movies"))
GOLD = ["g1", "g2", "g3", "g4", "g5"]


def one(predicted: list[str], measure: str) -> float:
    """What rankjury makes of one ranking, against the ordered gold."""
    return rankjury.evaluate(rankjury.ordered_gold({"q": GOLD}), {"q": predicted}, [measure]).mean()[measure]


class TestByHand:
    """Every formula once, with small numbers."""

    def test_cosine(self) -> None:
        """(3, 4) and (8, 6): (24 + 24) / (5 · 10)."""
        vectors = Vectors(pl.Series("id", ["u", "v"]), np.array([[3.0, 4.0], [8.0, 6.0]]))
        assert (3 * 8 + 4 * 6) / (5 * 10) == 0.96
        assert slow.cosine([3, 4], [8, 6]) == pytest.approx(0.96, rel=1e-15)
        assert rank_vectors(vectors).ranking.frame()["score"].to_list() == pytest.approx([0.96, 0.96], rel=1e-15)

    @pytest.mark.parametrize("k", [None, 3])
    def test_a_zero_vector_has_the_cosine_0(self, k: int | None) -> None:
        """u / (|u| + eps): refused by default, and the error names the metric that gives the spec's result."""
        values = np.random.default_rng(5).normal(size=(60, 4))
        values[[7, 30, 31]] = 0
        ids = [f"tt{number:02}" for number in range(60)]
        vectors = Vectors(pl.Series("id", ids), values)
        with pytest.raises(DataError, match="cosine-zero"):
            rank_vectors(vectors, k=k)
        units = {name: slow.unit(row, 1e-12) for name, row in zip(ids, values.tolist(), strict=True)}
        found = rank_vectors(vectors, k=k, metric="cosine-zero").ranking.frame()
        for query in ids:
            rows = found.filter(pl.col("query_id") == query)
            expected = slow.ranked(units, query, ids)[:k]
            assert rows["item_id"].to_list() == expected
            scores = [slow.dot(units[query], units[item]) for item in expected]
            assert rows["score"].to_list() == pytest.approx(scores, abs=1e-10)
        kept = Vectors(vectors.ids.head(6), values[:6])
        plain, same = (rank_vectors(kept, k=k, metric=name).ranking for name in ("cosine", "cosine-zero"))
        assert plain.frame().equals(same.frame())

    def test_relevance_is_six_less_the_position(self) -> None:
        grades = [6 - 1, 6 - 2, 6 - 3, 6 - 4, 6 - 5]
        assert [slow.grade(GOLD, movie) for movie in [*GOLD, "x"]] == [*grades, 0]
        held = rankjury.ordered_gold({"q": GOLD}).frame().sort("item_id")
        assert held.rows() == [("q", movie, float(grade)) for movie, grade in zip(GOLD, grades, strict=True)]

    def test_hits(self) -> None:
        """g4 and g1 of five, whatever the order; g2 stands behind the fifth."""
        predicted = ["x", "g4", "g1", "y", "z", "g2"]
        assert slow.hits_at_k(predicted, GOLD, 5) == one(predicted, "hits@5") == 2 / 5
        assert one(predicted, "precision@5") == one(predicted, "recall@5") == 2 / 5

    def test_reciprocal_rank(self) -> None:
        assert slow.rr_at_k(["x", "y", "g5", "g1", "z"], GOLD, 5) == one(["x", "y", "g5", "g1", "z"], "rr@5") == 1 / 3
        behind = ["v", "w", "x", "y", "z", "g1"]
        assert slow.rr_at_k(behind, GOLD, 5) == one(behind, "rr@5") == 0

    def test_dcg_ideal_and_ndcg(self) -> None:
        """g3 (grade 3) first, g1 (grade 5) third: 7/1 + 31/2; the ideal has 31, 15, 7, 3 and 1."""
        predicted = ["g3", "x", "g1", "y", "z"]
        dcg = (2**3 - 1) / log2(2) + (2**5 - 1) / log2(4)
        assert dcg == 7 + 15.5 == slow.dcg_at_k(predicted, GOLD, 5)
        assert one(predicted, "dcg(gain=exp)@5") == pytest.approx(dcg, rel=1e-15)
        ideal = 31 / log2(2) + 15 / log2(3) + 7 / log2(4) + 3 / log2(5) + 1 / log2(6)
        assert slow.dcg_at_k(GOLD, GOLD, 5) == pytest.approx(ideal, rel=1e-15)
        assert one(GOLD, "dcg(gain=exp)@5") == pytest.approx(ideal, rel=1e-15)
        assert slow.ndcg_at_k(predicted, GOLD, 5) == pytest.approx(dcg / ideal, rel=1e-15)
        assert one(predicted, "ndcg(gain=exp)@5") == pytest.approx(dcg / ideal, rel=1e-15)
        assert one(predicted, "ndcg(gain=exp)@2") == pytest.approx(7 / (31 + 15 / log2(3)), rel=1e-15)

    @pytest.mark.parametrize(
        ("depth", "sums", "order"),
        [
            (None, {"a": 1 / 2 + 3 / 4, "b": 1 / 3 + 3 / 2, "c": 1 / 4 + 3 / 3}, ["b", "a", "c"]),
            (2, {"a": 1 / 2 + 0, "b": 1 / 3 + 3 / 2, "c": 0 + 3 / 3}, ["b", "c", "a"]),
            (1, {"a": 1 / 2 + 0, "b": 0 + 3 / 2, "c": 0 + 0}, ["b", "a", "c"]),
        ],
    )
    def test_weighted_rrf(self, depth: int | None, sums: dict[str, float], order: list[str]) -> None:
        """Lists abc of weight 1 and bca of weight 3, c = 1; whole, a and c tie at 5/4 and are ordered by id."""
        lists, weights = [["a", "b", "c"], ["b", "c", "a"]], (1.0, 3.0)
        ranks = {item: [items.index(item) + 1 for items in lists] for item in "abc"}
        for item, total in sums.items():
            counted = [rank if depth is None or rank <= depth else None for rank in ranks[item]]
            assert float(slow.rrf_score(counted, weights, 1.0)) == pytest.approx(total, rel=1e-15)
        assert slow.fused(lists, weights, 1.0, depth) == order
        found = fuse([rankjury.as_ranking({"q": items}) for items in lists], Fusion("rrf", weights, 1.0, depth)).frame()
        held = [item for item in order if sums[item]]
        assert found["item_id"].to_list()[: len(held)] == held
        assert found["score"].to_list()[: len(held)] == pytest.approx([sums[item] for item in held], rel=1e-15)


def carried_out(plan: Path, folder: Path) -> dict[str, Any]:
    """The plan run start to end; what it wrote in the form retrievers."""
    checked = read_plan(plan)
    check_outputs(checked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", slow.EPOCH)
        written = list(write_outputs(checked, execute_plan(checked).report, folder))
    found: dict[str, Any] = json.loads(written[-1].read_text())
    return found


def check_same(found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """The same keys all the way down, numbers to 1e-12, everything else exactly."""
    assert list(found) == list(expected)
    for key, value in expected.items():
        if isinstance(value, dict):
            check_same(found[key], value)
        elif isinstance(value, float):
            assert found[key] == pytest.approx(value, rel=1e-12, abs=1e-12), key
        else:
            assert found[key] == value, key


@cache
def sample() -> slow.World:
    """The bundled sample, read with the standard library and NumPy's reader alone."""
    entries = json.loads((SAMPLE / "gold.json").read_text())
    golds = {
        aspect: {entry["movie_id"]: entry[f"5_most_similar_movies_{aspect}_ordered"] for entry in entries}
        for aspect in ("overall", "content", "vibes")
    }
    with np.load(SAMPLE / "vectors.npz") as held:
        ids = held["ids"].tolist()
        arrays = {"denseanchor": "anchor", "densecontent": "content", "densevibe": "vibe"}
        spaces = {name: dict(zip(ids, held[key].tolist(), strict=True)) for name, key in arrays.items()}
    return slow.World(golds, spaces, {"denseanchor": 0.5, "densecontent": 0.25, "densevibe": 0.25})


@cache
def expected_of_sample() -> dict[str, Any]:
    return sample().expected()


@cache
def first_ten() -> dict[str, dict[str, list[str]]]:
    """By query and system, of which shorter lists are the beginnings."""
    whole = slow.World(sample().golds, sample().spaces, sample().weights, k=10).expected()["per_query"]
    return {query: {name: one["topK"] for name, one in of.items()} for query, of in whole.items()}


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return execute_plan(read_plan(SAMPLE / "rankjury.toml"))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return carried_out(SAMPLE / "rankjury.toml", tmp_path_factory.mktemp("movies"))


class TestSample:
    def test_the_bundled_plan_in_full(self, written: dict[str, Any]) -> None:
        check_same(written, expected_of_sample() | {"model_tag": "all-MiniLM-L6-v2"})

    def test_the_report_has_the_schema_of_section_8(self, written: dict[str, Any]) -> None:
        spaces = ["denseanchor", "densecontent", "densevibe"]
        metadata = ["K", "weights", "c", "timestamp", "model_tag"]
        assert list(written) == [*metadata, *spaces, "combined_weighted_rrf", "per_query"]
        assert (written["K"], written["c"], written["timestamp"]) == (5, 60, slow.TIME)
        assert written["weights"] == dict(zip(spaces, (0.5, 0.25, 0.25), strict=True))
        for name in (*spaces, "combined_weighted_rrf"):
            assert list(written[name]) == ["mean_hits", "mean_mrr", "mean_ndcg"]
        assert set(written["per_query"]) == set(sample().golds["overall"]) and len(written["per_query"]) == 50
        for query in written["per_query"].values():
            assert list(query) == [*spaces, "combined"]
            for entry in query.values():
                assert list(entry) == ["hits", "rr", "ndcg", "topK"]
                assert len(set(entry["topK"])) == 5

    @pytest.mark.parametrize("k", [1, 2, 3, 5, 10])
    def test_every_cut_off_in_rankjurys_own_report(self, outcome: Outcome, k: int) -> None:
        """Section 10: K ∈ {1, 2, 3, 5, 10}."""
        form = outcome.report.to_json(queries=True)
        assert form["queries"]["ids"] == list(first_ten())
        labels = {"hits": f"hits@{k}", "rr": f"rr@{k}", "ndcg": f"ndcg(gain=exp)@{k}"}
        for system in ("denseanchor", "densecontent", "densevibe", "combined"):
            gold = sample().golds[slow.ASPECTS.get(system, "overall")]
            wanted = {query: of[system][:k] for query, of in first_ten().items()}
            assert [top[:k] for top in form["queries"]["top"][system]] == list(wanted.values())
            expected = [slow.figures(top, gold[query], k) for query, top in wanted.items()]
            for short, label in labels.items():
                values = [one[short] for one in expected]
                assert form["queries"]["scores"][system][label] == pytest.approx(values, rel=1e-12, abs=1e-12)
                assert form["systems"][system]["measures"][label]["mean"] == pytest.approx(slow.mean(values), rel=1e-12)

    def test_the_random_baseline_against_2000_random_rankings(self, outcome: Outcome) -> None:
        chance, gold = random.Random(5), sample().golds["overall"]
        rankings = [(query, chance.sample(sorted(set(gold) - {query}), 10)) for query in gold for _ in range(40)]
        assert len(rankings) == 2_000
        for k in (1, 2, 3, 5, 10):
            drawn = [slow.figures(ranking, gold[query], k) for query, ranking in rankings]
            for short, label in {"hits": f"hits@{k}", "rr": f"rr@{k}", "ndcg": f"ndcg(gain=exp)@{k}"}.items():
                values = [one[short] for one in drawn]
                middle = slow.mean(values)
                error = sqrt(slow.mean([(value - middle) ** 2 for value in values]) / len(values))
                assert 0 < error < 0.02
                assert abs(outcome.report.estimates["random"][label].mean - middle) < 4 * error, label

    def test_clusters_are_means_over_their_queries(self, outcome: Outcome) -> None:
        movies = [json.loads(line) for line in (SAMPLE / "movies.jsonl").read_text().splitlines()]
        clusters = {movie["cluster"] for movie in movies}
        expected = expected_of_sample()["per_query"]
        assert {part.name for part in outcome.report.slices} == {f"cluster={name}" for name in clusters}
        for part in outcome.report.slices:
            members = [movie["movie_id"] for movie in movies if f"cluster={movie['cluster']}" == part.name]
            assert part.n == len(members)
            for system in ("denseanchor", "densecontent", "densevibe", "combined"):
                for short, label in {"hits": "hits@5", "rr": "rr@5", "ndcg": "ndcg(gain=exp)@5"}.items():
                    wanted = slow.mean([expected[movie][system][short] for movie in members])
                    assert part.estimates[system][label].mean == pytest.approx(wanted, rel=1e-12, abs=1e-12)


class TestMadeUp:
    @given(world=slow.worlds())
    @settings(max_examples=30, deadline=None, derandomize=True)
    def test_means_queries_and_lists(self, world: slow.World) -> None:
        with tempfile.TemporaryDirectory() as folder:
            check_same(carried_out(world.write(Path(folder)), Path(folder)), world.expected())

    def test_the_worlds_tie(self) -> None:
        """In every kind of space but one, places within the first five hang on ids."""
        movies = [f"tt{number}" for number in range(12)]
        for kind, ties in (("quarters", True), ("duplicates", True), ("apart", False)):
            space = slow.a_space(movies, kind, random.Random(1))
            scores = [slow.cosine(space["tt0"], space[movie]) for movie in movies[1:]]
            assert (len(set(scores)) < len(scores)) is ties

    def test_truncated_below_k(self, tmp_path: Path) -> None:
        """Section 7.2 ranks all candidates: those in no list score 0, and are ordered by id."""
        world = sample()
        world = slow.World(world.golds, world.spaces, world.weights, depth=1)
        check_same(carried_out(world.write(tmp_path), tmp_path), world.expected())


FIELD = "5_most_similar_movies_overall_ordered"


def broken(change: str) -> list[dict[str, Any]]:
    """The sample's entries with one hard constraint of section 1.3 broken."""
    entries = deepcopy(sample().entries)
    listed: list[str] = entries[3][FIELD]
    stranger = next(entry["movie_id"] for entry in entries if entry["movie_id"] not in (*listed, "tt0000000"))
    if change == "short":
        listed.pop()
    elif change == "long":
        listed.append(stranger)
    elif change == "itself":
        listed[2] = entries[3]["movie_id"]
    elif change == "twice":
        listed[4] = listed[0]
    elif change == "stranger":
        listed[1] = "tt0000000"
    else:
        entries.append(deepcopy(entries[3]))
    return entries


class TestConstraints:
    @pytest.mark.parametrize(
        ("change", "fact"),
        [
            ("short", "4 items, expected exactly 5"),
            ("long", "6 items, expected exactly 5"),
            ("itself", "at 3"),
            ("twice", "2 times"),
            ("stranger", "tt0000000"),
            ("entry twice", "entry 51"),
        ],
    )
    def test_a_violation_stops_it(self, change: str, fact: str, tmp_path: Path) -> None:
        entries = broken(change)
        fields = [name for name in entries[0] if name != "movie_id"]
        assert slow.violations(sample().entries, fields, 5) == []
        assert len(slow.violations(entries, fields, 5)) == 1
        with pytest.raises(DataError, match=r"gold\.json .*: 1 violation of the rules") as caught:
            execute_plan(read_plan(sample().write(tmp_path, entries)))
        (detail,) = caught.value.details
        assert entries[3]["movie_id"] in detail and fact in detail

    def test_a_movie_without_a_vector_stops_it(self, tmp_path: Path) -> None:
        world = deepcopy(sample())
        del world.spaces["densevibe"]["tt0034583"]
        with pytest.raises(DataError, match="no vector: tt0034583"):
            execute_plan(read_plan(world.write(tmp_path)))
