"""The bundled papers are what their README says: made by the script, and two models that agree in part."""

import importlib.util
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from rankjury.io.vectors import read_vectors
from tests import paths

FOLDER = paths.SAMPLES / "papers"
SCRIPT = Path(__file__).parents[2] / "scripts" / "make_papers.py"
PAPERS: list[dict[str, str]] = [json.loads(line) for line in (FOLDER / "papers.jsonl").read_text("utf-8").splitlines()]
IDS = [paper["id"] for paper in PAPERS]
TOPICS = np.array([paper["topic"] for paper in PAPERS])
WIDTHS = {"reference": 384, "candidate": 256}


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    """The generator, imported by its path; it must be registered while its dataclasses are made."""
    spec = importlib.util.spec_from_file_location("make_papers", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_papers"] = module
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules["make_papers"]


def load(model: str) -> np.ndarray:
    """The vectors of a model, widened to float64."""
    with np.load(FOLDER / f"{model}.npz", allow_pickle=False) as held:
        return np.asarray(held["vectors"], dtype=np.float64)


def nearest(model: str, k: int) -> np.ndarray:
    """The rows of the k nearest papers by cosine, never the paper itself."""
    vectors = load(model)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    similarity = vectors @ vectors.T
    np.fill_diagonal(similarity, -np.inf)
    return np.argsort(-similarity, axis=1, kind="stable")[:, :k]


def share_of_topic(rows: np.ndarray) -> float:
    """How many of the neighbours are of the topic of their paper."""
    return float((TOPICS[rows] == TOPICS[:, None]).mean())


class TestGenerator:
    def test_it_makes_the_file(self, script: ModuleType) -> None:
        assert script.to_lines(script.compose()).encode() == (FOLDER / "papers.jsonl").read_bytes()

    def test_another_seed_makes_other_papers(self, script: ModuleType) -> None:
        others = script.compose(seed=script.SEED + 1)
        assert len(others) == len(PAPERS)
        assert len({paper["abstract"] for paper in others} & {paper["abstract"] for paper in PAPERS}) < 10

    def test_every_phrase_is_told_once(self, script: ModuleType) -> None:
        """A phrase pasted into two topics would make neighbours of papers that have nothing in common."""
        parts = ("names", "tasks", "problems", "data", "measures", "baselines", "closings")
        phrases = [phrase for topic in script.TOPICS for part in parts for phrase in getattr(topic, part)]
        phrases += [phrase for method in script.METHODS for phrase in (*method.uses, *method.hows)]
        assert [phrase for phrase, times in Counter(phrases).items() if times > 1] == []


class TestPapers:
    def test_a_thousand_with_ids_in_order(self) -> None:
        assert [f"p{number:04}" for number in range(1, 1_001)] == IDS
        assert all(list(paper) == ["id", "title", "abstract", "field", "topic", "method"] for paper in PAPERS)
        assert (FOLDER / "papers.jsonl").stat().st_size < 800_000

    def test_no_two_are_alike(self) -> None:
        assert len({paper["abstract"] for paper in PAPERS}) == len({paper["title"] for paper in PAPERS}) == 1_000

    def test_lengths(self) -> None:
        assert [paper["id"] for paper in PAPERS if not 45 <= len(paper["abstract"].split()) <= 80] == []
        assert [paper["title"] for paper in PAPERS if not 3 <= len(paper["title"].split()) <= 20] == []

    def test_they_are_made_of_sentences(self) -> None:
        """No slot left open, no space too many, each sentence from a capital letter to a full stop."""
        for paper in PAPERS:
            text = paper["abstract"]
            assert re.search(r"[{}]|  |\.\.| [,.]", paper["title"] + text) is None, text
            assert text.endswith(".") and 3 <= text.count(". ") + 1 <= 7, text
            assert all(part[0].isupper() for part in text.split(". ")), text

    @pytest.mark.parametrize(("label", "kinds", "least"), [("field", 8, 120), ("topic", 24, 41), ("method", 20, 15)])
    def test_labels_are_large_enough_to_be_slices(self, label: str, kinds: int, least: int) -> None:
        sizes = Counter(paper[label] for paper in PAPERS)
        assert len(sizes) == kinds and min(sizes.values()) >= least

    def test_topics_and_methods_cross(self) -> None:
        """Each topic is worked on in many ways and stands in one field; each method serves several topics."""
        for topic in set(TOPICS.tolist()):
            of_topic = [paper for paper in PAPERS if paper["topic"] == topic]
            assert len({paper["method"] for paper in of_topic}) >= 8
            assert len({paper["field"] for paper in of_topic}) == 1
        for method in {paper["method"] for paper in PAPERS}:
            assert len({paper["topic"] for paper in PAPERS if paper["method"] == method}) >= 6


class TestVectors:
    @pytest.mark.parametrize("model", WIDTHS)
    def test_arrays(self, model: str) -> None:
        with np.load(FOLDER / f"{model}.npz", allow_pickle=False) as held:
            assert sorted(held.files) == ["ids", "vectors"]
            assert held["ids"].tolist() == IDS
            assert held["vectors"].dtype == np.float16 and held["vectors"].shape == (1_000, WIDTHS[model])
            assert np.isfinite(held["vectors"]).all()
            assert len(np.unique(held["vectors"], axis=0)) == 1_000

    @pytest.mark.parametrize("model", WIDTHS)
    def test_they_are_read_with_their_ids(self, model: str) -> None:
        vectors = read_vectors(f"{FOLDER / model}.npz:vectors")
        assert vectors.ids.to_list() == IDS

    def test_lengths_of_rows(self) -> None:
        """The reference has unit length, the candidate the lengths that its model gives, as the README says."""
        np.testing.assert_allclose(np.linalg.norm(load("reference"), axis=1), 1.0, atol=1e-3)
        lengths = np.linalg.norm(load("candidate"), axis=1)
        assert (round(lengths.min(), 2), round(lengths.max(), 2)) == (0.88, 1.60)


class TestAgreement:
    def test_the_models_agree_in_part(self) -> None:
        """Chance would give 0.01, the same model 1."""
        pairs = zip(nearest("reference", 10), nearest("candidate", 10), strict=True)
        shared = [len(set(reference) & set(candidate)) / 10 for reference, candidate in pairs]
        assert 0.4 < np.mean(shared) < 0.7
        assert f"{np.mean(shared):.0%}".replace("%", " %") in (FOLDER / "README.md").read_text("utf-8")

    def test_neighbours_share_the_topic(self) -> None:
        """Chance would give 0.04; the reference is the better of the two."""
        reference, candidate = (share_of_topic(nearest(model, 10)) for model in WIDTHS)
        assert reference > 0.9
        assert 0.8 < candidate < reference - 0.01

    def test_papers_of_a_method_attract_each_other(self) -> None:
        """Weaker than topics, yet twice what chance would give."""
        methods = np.array([paper["method"] for paper in PAPERS])
        chance = (methods[:, None] == methods).mean()
        assert (methods[nearest("reference", 10)] == methods[:, None]).mean() > 2 * chance
