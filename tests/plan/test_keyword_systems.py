"""Systems held against keywords: thresholds of every kind of system, vectors that are not there, and the report."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankjury.errors import DataError, UsageError
from rankjury.evaluation.sections import SystemFacts
from rankjury.labeling.keywords.partial_match import PartialMatches
from rankjury.retrieval.bench.result import IndexResult
from tests.plan import carried_out, checked, put
from tests.plan.keyword_plans import (
    CLIPS,
    GOLD,
    HEAD,
    ON_CLIPS,
    ON_TEXTS,
    SHOWN_FROM,
    SIMILARITIES,
    WITH_TEXTS,
    at,
    ran,
    scores,
    warned,
)


def found_by_vector(query: Any, k: int) -> list[tuple[str, float]]:
    """A service that is asked with a vector and returns similarities."""
    pairs = [(clip, float(np.dot(query, at(one)))) for clip, one in zip(CLIPS, SIMILARITIES, strict=True)]
    return sorted(pairs, key=lambda pair: -pair[1])[:k]


def ids_by_vector(query: Any, k: int) -> list[str]:
    """One that returns ids alone."""
    return [clip for clip, _ in found_by_vector(query, k)]


INDEX = '[systems.s]\nkind = "index"\npath = "vectors.npz:clips"\nqueries = "vectors.npz:texts"\n'
LAB = "[lab]\nrounds = 0\nk = 5\nwarm_up = 0\n"
ENGINES = {
    "exact": 'engine = "exact"\n',
    "hnsw": 'engine = "faiss-hnsw"\n',
    "endpoint": f'engine = "endpoint"\nopen = {{ call = "{__name__}:found_by_vector" }}\n',
}
SYSTEMS = {
    **SHOWN_FROM,
    **{name: f"targets = []\n{INDEX}{text}threshold = 0.5\n{LAB}" for name, text in ENGINES.items()},
}


class TestThreshold:
    """Of 0.5: three of six results are shown, the third exactly at it."""

    @pytest.mark.parametrize("kind", SYSTEMS)
    def test_every_kind_of_system(self, folder: Path, kind: str) -> None:
        outcome = ran(folder, WITH_TEXTS, system=SYSTEMS[kind].replace("0.5", "0.4999"))
        report = outcome.report
        assert [scores(report, "Recall@3")[query] for query in ("t1", "t2", "t3")] == [2 / 3, 1 / 3, 1 / 3]
        assert [scores(report, "MAP")[query] for query in ("t1", "t2")] == pytest.approx([1.0, 1 / 6])
        looked = report.sections_of(PartialMatches)["s"].of("t2")
        assert looked is not None and [one.shown for one in looked.results] == [True] * 3
        assert (
            report.sections_of(SystemFacts)["s"]["threshold"]
            == report.sections_of(PartialMatches)["s"].threshold
            == 0.4999
        )

    @pytest.mark.parametrize("kind", SYSTEMS)
    def test_what_is_below_it_does_not_count(self, folder: Path, kind: str) -> None:
        """c3 and c4, the bikes, are below: t2 has found nothing, and K is still 3."""
        outcome = ran(folder, WITH_TEXTS, system=SYSTEMS[kind].replace("0.5", "0.6"))
        assert [scores(outcome.report, "Recall@3")[query] for query in ("t1", "t2", "t3")] == [2 / 3, 0.0, 1 / 3]
        partial = outcome.report.sections_of(PartialMatches)["s"]
        looked = partial.of("t2")
        assert looked is not None and [one.shown for one in looked.results] == [True, True, False]
        assert sum(partial.results.to_json().values()) == 6, "results that are shown"

    def test_it_is_shown_from_it_on(self, folder: Path) -> None:
        put(folder, run__trec="t2 Q0 c3 1 0.5 x\nt2 Q0 c4 2 0.49999 x\n")
        assert scores(ran(folder, WITH_TEXTS, system=SYSTEMS["run"]).report, "Recall@3")["t2"] == 1 / 3

    def test_a_query_with_nothing_left_has_found_nothing(self, folder: Path) -> None:
        """It is in the ranking: nothing is said of missing queries."""
        outcome = ran(folder, WITH_TEXTS, system=SYSTEMS["vectors"].replace("0.5", "2"))
        assert set(scores(outcome.report, "Recall@3").values()) == {0.0} and not warned(outcome, "missing")

    def test_of_a_fusion(self, folder: Path) -> None:
        """By the fused scores; what it is made of is not held to it."""
        both = 'systems.a = "run.trec"\n' + ON_TEXTS.replace("systems.s", "systems.b")
        fused = (
            '[systems.s]\nkind = "fusion"\nof = ["a", "b"]\nmethod = "combsum"\nnormalise = "none"\nthreshold = 1.2\n'
        )
        outcome = ran(folder, WITH_TEXTS, system=both + fused)
        assert scores(outcome.report, "Recall@3")["t1"] == 2 / 3 and scores(outcome.report, "Recall@3")["t2"] == 0.0
        assert scores(outcome.report, "Recall@3", "a")["t2"] == 1 / 3
        assert outcome.report.sections_of(SystemFacts)["s"].content == {
            "threshold": 1.2
        } and "a" not in outcome.report.sections_of(SystemFacts)

    def test_a_fusion_is_of_what_is_shown(self, folder: Path) -> None:
        one = '[systems.a]\npath = "run.trec"\nthreshold = 0.8\n[systems.s]\nkind = "fusion"\nof = ["a"]\n'
        looked = ran(folder, WITH_TEXTS, system=one).report.sections_of(PartialMatches)["s"].of("t1")
        assert looked is not None and [one.item for one in looked.results] == ["c1"]

    def test_a_random_order_has_no_scores(self, folder: Path) -> None:
        with pytest.raises(UsageError, match=r"systems\.s\.threshold: is for systems that have scores"):
            checked(folder, HEAD + GOLD + 'systems.s = { kind = "random", threshold = 0.1 }\n')

    @pytest.mark.parametrize("form", ["csv", "json"])
    def test_ranks_are_no_scores(self, folder: Path, form: str) -> None:
        put(folder, run__csv="query_id,item_id,rank\nt1,c1,1\nt1,c2,2\n", run__json='{"t1": ["c1", "c2"]}')
        with pytest.raises(UsageError, match="a threshold, but the ranking has no scores"):
            ran(folder, WITH_TEXTS, system=SYSTEMS["run"].replace("run.trec", f"run.{form}"))

    def test_a_service_that_tells_no_scores(self, folder: Path) -> None:
        text = SYSTEMS["endpoint"].replace("found_by_vector", "ids_by_vector")
        with pytest.raises(UsageError, match="a threshold, but the ranking has no scores"):
            ran(folder, WITH_TEXTS, system=text)

    def test_no_loss_of_the_index(self, folder: Path) -> None:
        """An exact index loses nothing."""
        head = HEAD.replace('"NDCG@3"', '"NDCG@5"')
        text = f"{head}{GOLD}{WITH_TEXTS}{SYSTEMS['exact'].replace('0.5', '0.6')}"
        loss = carried_out(folder, text).report.sections_of(IndexResult)["s"].loss
        assert loss is not None and loss.to_json()["index_loss"]["mean"] == 0.0


class TestRandom:
    RANDOM = 'systems.s = { kind = "random" }\n'

    def test_of_clips(self, folder: Path) -> None:
        """All clips but the query's own: one of five is relevant to c5."""
        found = scores(ran(folder, system=self.RANDOM).report, "Recall@3")
        assert found["c5"] == pytest.approx(1 / 5) and found["c1"] == 0.0

    def test_of_texts(self, folder: Path) -> None:
        """All clips; two of six are relevant to each text."""
        found = scores(ran(folder, WITH_TEXTS, system=self.RANDOM).report, "Recall@3")
        assert found == pytest.approx({"t1": 2 / 6, "t2": 2 / 6, "t3": 2 / 6})

    def test_as_many_as_are_said(self, folder: Path) -> None:
        text = 'systems.s = { kind = "random", candidates = 20 }\n'
        assert scores(ran(folder, WITH_TEXTS, system=text).report, "Recall@3")["t1"] == pytest.approx(2 / 20)

    def test_it_has_no_partial_matches(self, folder: Path) -> None:
        report = ran(folder, system=self.RANDOM + ON_CLIPS.replace("systems.s", "systems.v")).report
        assert (
            set(report.sections_of(PartialMatches)) == {"v"}
            and "partial_matches" not in report.to_json()["systems"]["s"]
        )


class TestVectors:
    """Clips without a vector, vectors without a clip, queries without a vector: all are named."""

    def with_ids(self, folder: Path, clips: Sequence[str], texts: Sequence[str]) -> None:
        arrays = {"clips": np.array([at(one) for one in SIMILARITIES]), "clips_ids": np.array(clips)}
        put(folder, vectors__npz=arrays | {"texts": np.array([[1.0, 0.0]] * 3), "texts_ids": np.array(texts)})

    @pytest.mark.parametrize("system", [ON_TEXTS, SYSTEMS["exact"]])
    def test_clips(self, folder: Path, system: str) -> None:
        self.with_ids(folder, ["c1", "c2", "c3", "c4", "z8", "z9"], ["t1", "t2", "t3"])
        outcome = ran(folder, WITH_TEXTS, system=system)
        assert warned(outcome, "s: 2 annotated items have no vector, and cannot be found: c5, c6")
        assert warned(outcome, "s: 2 vectors are of no annotated item, and never relevant: z8, z9")

    @pytest.mark.parametrize("system", [ON_TEXTS, SYSTEMS["exact"]])
    def test_texts(self, folder: Path, system: str) -> None:
        self.with_ids(folder, list(CLIPS), ["t1", "t2", "t9"])
        outcome = ran(folder, WITH_TEXTS, system=system)
        assert warned(outcome, "s: 1 query has no vector: t3") and scores(outcome.report, "Recall@3")["t3"] == 0.0

    def test_clips_that_ask(self, folder: Path) -> None:
        self.with_ids(folder, ["c1", "c2", "c3", "c4", "z8", "c6"], ["t1", "t2", "t3"])
        outcome = ran(folder)
        assert warned(outcome, "1 annotated item has no vector", "c5") and warned(outcome, "missing", "c5")
        assert scores(outcome.report, "Recall@3")["c5"] == 0.0

    def test_none_of_the_queries(self, folder: Path) -> None:
        self.with_ids(folder, list(CLIPS), ["x1", "x2", "x3"])
        with pytest.raises(DataError, match=r"no query has a vector.*t1, t2, t3.*x1, x2, x3"):
            ran(folder, WITH_TEXTS, system=ON_TEXTS)
