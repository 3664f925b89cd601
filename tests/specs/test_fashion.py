"""The fashion protocol against an implementation that shares nothing with rankjury."""

import json
import math
from importlib.resources import files
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

import rankjury
from rankjury.evaluation.examples import Examples
from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import Stability
from rankjury.retrieval.bench.result import IndexResult
from tests.specs import slow_fashion as slow

MEASURES = ("ndcg(gain=exp)@10", "recall(rel=2)@10", "precision(rel=2)@10", "rr(rel=2)@10")
PLAN = """
gold = "labels.jsonl"
measures = ["ndcg(gain=exp)@10", "recall(rel=2)@10", "precision(rel=2)@10", "rr(rel=2)@10"]
targets = []
[systems.exact]
kind = "index"
engine = "exact"
path = "vectors.npz:items"
queries = "vectors.npz:queries"
normalise = true
[systems.rough]
kind = "index"
engine = "faiss-ivf"
path = "vectors.npz:items"
queries = "vectors.npz:queries"
normalise = true
build = { nlist = 16 }
search = { nprobe = 2 }
[lab]
rounds = 0
queries = "queries.jsonl"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("fashion") / "sample"
    copytree(str(files("rankjury.plan") / "samples" / "fashion"), place)
    (place / "plan.toml").write_text(PLAN, encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def report(folder: Path) -> Report:
    return rankjury.run_plan(folder / "plan.toml", archive=False).report


@pytest.fixture(scope="module")
def exact(folder: Path) -> dict[str, list[tuple[str, float]]]:
    items, queries = slow.read_vectors(folder, "items"), slow.read_vectors(folder, "queries")
    return {query: slow.ranked(vector, items) for query, vector in queries.items()}


def by_query(report: Report, system: str, label: str) -> dict[str, float]:
    scores = report.scores[system]
    return dict(zip(scores.queries.to_list(), scores[label].tolist(), strict=True))


def test_lists_of_exact_search(report: Report, exact: dict[str, list[tuple[str, float]]]) -> None:
    queries = report.scores["exact"].queries.to_list()
    for query, items in zip(queries, report.top_items["exact"], strict=True):
        assert list(items) == [item for item, _ in exact[query][: len(items)]]


@pytest.mark.parametrize("system", ["exact", "rough"])
def test_quality_of_every_query(report: Report, folder: Path, system: str) -> None:
    grades = slow.read_grades(folder / "labels.jsonl")
    queries = report.scores[system].queries.to_list()
    for query, items in zip(queries, report.top_items[system], strict=True):
        expected = slow.quality(items, grades[query])
        for label in MEASURES:
            assert by_query(report, system, label)[query] == pytest.approx(expected[label], abs=1e-12, nan_ok=True)


def test_means_are_over_queries_that_are_defined(report: Report, folder: Path) -> None:
    grades = slow.read_grades(folder / "labels.jsonl")
    tops = dict(zip(report.scores["exact"].queries.to_list(), report.top_items["exact"], strict=True))
    for label in MEASURES:
        expected = slow.mean([slow.quality(tops[query], grades[query])[label] for query in tops])
        assert report.estimates["exact"][label].mean == pytest.approx(expected, abs=1e-12)
        low, high = report.estimates["exact"][label].ci
        assert low < expected < high


def test_recall_against_exact_search(report: Report, exact: dict[str, list[tuple[str, float]]]) -> None:
    indexed = report.sections_of(IndexResult)["rough"]
    queries = report.scores["rough"].queries.to_list()
    found = dict(zip(queries, report.top_items["rough"], strict=True))
    expected = [slow.overlap(found[query], [item for item, _ in exact[query]]) for query in queries]
    assert indexed.recall.values == pytest.approx(expected, abs=1e-12)
    assert 0.3 < indexed.recall.mean < 1.0  # two cells of sixteen do miss some
    assert indexed.recall.p5 == pytest.approx(np.percentile(expected, 5))
    assert report.sections_of(IndexResult)["exact"].recall.mean == 1.0


def test_loss_is_parted_between_embedding_and_index(report: Report) -> None:
    loss = report.sections_of(IndexResult)["rough"].loss
    exact, index = (report.estimates[name]["ndcg(gain=exp)@10"].mean for name in ("exact", "rough"))
    form = loss.to_json()
    assert form["embedding_loss"] == pytest.approx(1 - exact, abs=1e-12)
    assert form["index_loss"]["mean"] == pytest.approx(exact - index, abs=1e-12)
    assert form["index_loss"]["mean"] > 0


def test_stability(report: Report, folder: Path, exact: dict[str, list[tuple[str, float]]]) -> None:
    found = report.sections_of(Stability)["exact"]
    first = [ordered[0][1] for ordered in exact.values()]
    ten = [score for ordered in exact.values() for _, score in ordered[:10]]
    assert (found.top1.mean, found.top1.std) == pytest.approx((slow.mean(first), slow.deviation(first)), abs=1e-9)
    assert (found.topk.mean, found.topk.std) == pytest.approx((slow.mean(ten), slow.deviation(ten)), abs=1e-9)
    norms = [math.sqrt(float(one @ one)) for one in slow.read_vectors(folder, "items").values()]
    assert found.norm.mean == pytest.approx(slow.mean(norms), abs=1e-9)


def test_cosine_and_inner_product_rank_alike(report: Report) -> None:
    for one in report.sections_of(IndexResult).values():
        assert one.equivalence is not None and one.equivalence.normalised and one.equivalence.differing == 0


def test_five_best_and_five_worst(report: Report, folder: Path) -> None:
    grades = slow.read_grades(folder / "labels.jsonl")
    texts = {
        query["id"]: query["text"]
        for query in map(json.loads, (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines())
    }
    found = report.sections_of(Examples)["exact"]
    scores = {query: value for query, value in by_query(report, "exact", MEASURES[0]).items() if not math.isnan(value)}
    ordered = sorted(scores, key=lambda query: (-scores[query], query))
    assert [one.query for one in found if one.kind == "success"] == ordered[:5]
    assert [one.query for one in found if one.kind == "failure"] == sorted(scores, key=lambda q: (scores[q], q))[:5]
    for one in found:
        assert all(item.grade == grades[one.query].get(item.id, 0) for item in (*one.found, *one.missed))
        assert report.queries.query_texts[one.query] == texts[one.query]


def test_the_query_set_is_recorded(report: Report) -> None:
    query_set = report.provenance["query_set"]
    assert query_set["version"] == "2026-11" and query_set["queries"] == 80 and len(query_set["sha256"]) == 64
