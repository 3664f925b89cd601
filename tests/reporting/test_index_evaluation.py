"""One index in one file: every field that such a report is to have, and a file that other commands read."""

import json
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankjury.errors import UsageError
from rankjury.evaluation.drift import drift_between
from rankjury.evaluation.report import Report, looks_like_report, read_report
from rankjury.evaluation.sections import Fingerprints, SystemFacts
from rankjury.plan.outputs import file_parts, write_outputs
from rankjury.plan.run import Outcome, execute_plan
from rankjury.reporting.writers import OutputRequest
from rankjury.reporting.writers.index_evaluation import to_evaluation
from rankjury.retrieval.bench.result import IndexResult
from rankjury.retrieval.hints import Hints
from tests.cli.conftest import Rankjury, folder, rankjury
from tests.cli.support import check_failure, check_width
from tests.plan import checked
from tests.plan.systems.test_index import COSINES, GOLD, IVF, QUERIES, QUERY_IDS, Q, index, with_lab

__all__ = ["folder", "rankjury"]

MEASURES = ["ndcg(gain=exp)@10", "recall@10", "precision@10", "rr@10"]
UNIT = "normalise = true\n"
PLAN = f"""{GOLD}
baseline = "exact"
measures = {MEASURES}
slices = "queries.jsonl:type"
item_slices = "items.jsonl:category"
names = "items.jsonl:title"
{index("exact", "exact", UNIT)}
{index("ivf", "faiss-ivf", IVF + UNIT)}
[lab]
queries = "queries.jsonl"
items = "items.jsonl"
rounds = 2
warm_up = 0
concurrency = [1, 2]
rate = 2000
[meta]
dataset_version = "d7"
model_version = "m1"
chunking_config = "title"
owner = "search team"
[[output]]
file = "{{index}}.json"
form = "evaluation"
"""
BEST = -np.sort(-COSINES / np.linalg.norm(QUERIES, axis=1)[:, None], axis=1)[:, :10]
"""The ten highest cosines of every query."""
META = ["dataset_version", "model_version", "index_params", "chunking_config", "query_set_version"]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return execute_plan(checked(with_lab(tmp_path_factory.mktemp("evaluation")), PLAN))


@pytest.fixture(scope="module")
def report(outcome: Outcome) -> Report:
    return outcome.report


@pytest.fixture(scope="module")
def form(outcome: Outcome) -> dict[str, Any]:
    return form_of(outcome.report, "ivf", outcome)


def form_of(report: Report, system: str = "ivf", outcome: Outcome | None = None) -> dict[str, Any]:
    """As it is read by anybody: plain JSON, without numbers that are none."""
    text = to_evaluation(report, OutputRequest("e.json", system=system, gate=None if outcome is None else outcome.gate))
    assert text.endswith("\n") and "NaN" not in text and "Infinity" not in text
    return json.loads(text)  # type: ignore[no-any-return]


class TestTemplate:
    """The reporting template: meta, quality, ANN, latency, stability, examples."""

    def test_what_a_reader_looks_for_comes_first(self, form: dict[str, Any]) -> None:
        parts = ["meta", "quality", "ann", "latency", "stability", "examples", "segments", "targets"]
        assert list(form)[:10] == ["schema", "rankjury", *parts]

    def test_meta(self, form: dict[str, Any], report: Report) -> None:
        meta = form["meta"]
        assert list(meta)[:5] == META
        assert (meta["dataset_version"], meta["model_version"], meta["chunking_config"]) == ("d7", "m1", "title")
        assert meta["query_set_version"] == "v1", "that of the query set, where the plan does not say"
        assert meta["index_params"] == {
            "engine": "faiss-ivf", "metric": "cosine", "build": {"nlist": 8}, "search": {"nprobe": 1},
            "vectors": {"normalise": True, "truncate": None, "dtype": None, "filter": None},
        }  # fmt: skip
        assert meta["owner"] == "search team", "whatever else is declared"
        assert (meta["index"], meta["date"]) == ("ivf", report.provenance["made"])
        assert meta["query_set"]["queries"] == Q and len(meta["query_set"]["sha256"]) == 64
        assert meta["fingerprints"] == report.sections_of(Fingerprints)["ivf"].to_json()

    def test_meta_as_declared_stands_before_what_was_found(self, report: Report) -> None:
        declared = {"index_params": "ivf, one list", "query_set_version": "mine"}
        found = form_of(replace(report, provenance=report.provenance | {"meta": declared}))["meta"]
        assert (found["index_params"], found["query_set_version"]) == ("ivf, one list", "mine")

    def test_meta_that_nobody_declared_is_there_and_null(self, report: Report) -> None:
        found = form_of(replace(report, provenance={}))["meta"]
        assert set(META) <= set(found) and found["index_params"]["engine"] == "faiss-ivf"
        assert [found[key] for key in META if key != "index_params"] == [None] * 4

    @pytest.mark.parametrize("measure", MEASURES)
    def test_quality_with_intervals(self, form: dict[str, Any], report: Report, measure: str) -> None:
        one = report.estimates["ivf"][measure]
        assert one.ci is not None and one.ci[0] < one.mean < one.ci[1]
        assert form["quality"][measure] == {"mean": one.mean, "ci": list(one.ci), "n": Q}
        assert form["resampling"]["level"] == 0.95

    def test_ann(self, form: dict[str, Any], report: Report) -> None:
        recall = report.sections_of(IndexResult)["ivf"].recall
        assert recall.ci is not None and 0 < recall.mean < 1
        expected = {"k": 10, "mean": recall.mean, "ci": list(recall.ci), "p5": recall.p5, "n": Q}
        assert form["ann"] == expected | {"own_exact": form["ann"]["own_exact"]}
        assert (form["ann"]["own_exact"]["k"], form["ann"]["own_exact"]["mean"]) == (10, 1.0)

    @pytest.mark.parametrize("clock", ["index_only", "end_to_end"])
    def test_latency(self, form: dict[str, Any], report: Report, clock: str) -> None:
        assert report.sections_of(IndexResult)["ivf"].latency is not None
        found, known = form["latency"][clock], getattr(report.sections_of(IndexResult)["ivf"].latency, clock)
        for name in ("p50", "p95", "p99"):
            assert found[name]["ms"] == known.percentiles[name].ms and len(found[name]["ci"]) == 2
        assert found["p50"]["ms"] <= found["p95"]["ms"] <= found["p99"]["ms"] <= found["max_ms"]
        assert (found["n"], found["failed"], found["kind"], found["concurrency"]) == (2 * Q, 0, "closed", 1)
        assert found["qps"] > 0 and {"gc_ms", "overhead_us"} <= set(found)

    def test_latency_under_load(self, form: dict[str, Any]) -> None:
        assert form["latency"]["includes"] == ["search", "rows to ids"]
        assert [one["concurrency"] for one in form["latency"]["closed"]] == [1, 2]
        assert (form["latency"]["open"]["kind"], form["latency"]["open"]["rate"]) == ("open", 2000)

    def test_stability(self, form: dict[str, Any]) -> None:
        """Of exact search, against NumPy; the index misses some, so that its similarities are no higher."""
        stable = form["stability"]
        assert list(stable) == ["k", "top1", "top10", "norm"] and stable["k"] == 10
        assert stable["norm"] == {"mean": pytest.approx(1.0, abs=1e-6), "std": pytest.approx(0.0, abs=1e-6)}
        assert stable["top1"]["mean"] <= BEST[:, 0].mean() + 1e-6 and stable["top1"]["std"] > 0
        assert stable["top10"]["mean"] < BEST.mean() and stable["top10"]["std"] > 0

    def test_stability_of_exact_search(self, report: Report) -> None:
        stable = form_of(report, "exact")["stability"]
        assert stable["top1"] == {"mean": pytest.approx(BEST[:, 0].mean(), abs=1e-6),
                                  "std": pytest.approx(BEST[:, 0].std(ddof=1), abs=1e-6)}  # fmt: skip
        assert stable["top10"]["mean"] == pytest.approx(BEST.mean(), abs=1e-6)
        assert stable["top10"]["std"] == pytest.approx(BEST.std(ddof=1), abs=1e-6)

    def test_examples(self, form: dict[str, Any], report: Report) -> None:
        """Five that went best and five that went worst, with the query's text and the items' names and grades."""
        found = form["examples"]
        assert list(found) == ["successes", "failures"] and {len(one) for one in found.values()} == {5}
        scores = dict(zip(QUERY_IDS, report.scores["ivf"]["ndcg(gain=exp)@10"].tolist(), strict=True))
        best, worst = ([one["score"] for one in found[kind]] for kind in ("successes", "failures"))
        assert best == sorted(scores.values(), reverse=True)[:5] and worst == sorted(scores.values())[:5]
        for one in (*found["successes"], *found["failures"]):
            assert one["score"] == scores[one["query"]] and one["text"] == f"text of {one['query']}"
            assert [item["id"] for item in one["items"]] == list(
                report.top_items["ivf"][QUERY_IDS.index(one["query"])]
            )[:10]
            assert all(item["name"] == f"Item {item['id']}" for item in one["items"] + one["missed"])
            assert all(item["grade"] > 0 for item in one["missed"])
        assert found["failures"][0]["missed"]

    def test_segments(self, form: dict[str, Any], report: Report) -> None:
        segments = {one["slice"]: one for one in form["segments"]}
        assert {"type=a", "type=b", "item.category=boots", "item.category=dress", "item.category=hats"} <= set(segments)
        assert (segments["type=a"]["of"], segments["item.category=hats"]["of"]) == ("queries", "items")
        part = next(one for one in report.slices if one.name == "type=b")
        assert segments["type=b"]["n"] == part.n == Q // 2
        assert segments["type=b"]["measures"][MEASURES[0]]["mean"] == part.estimates["ivf"][MEASURES[0]].mean

    def test_a_segment_has_the_n_of_each_measure(self, form: dict[str, Any], report: Report) -> None:
        """A segment had one n, though recall leaves out queries that precision counts."""
        for part, segment in zip(report.slices, form["segments"], strict=True):
            found = {label: one["n"] for label, one in segment["measures"].items()}
            assert found == {label: one.n for label, one in part.estimates["ivf"].items()}
        assert any(one["n"] < segment["n"] for segment in form["segments"] for one in segment["measures"].values())

    def test_targets_are_those_of_the_index(self, form: dict[str, Any], report: Report, outcome: Outcome) -> None:
        told = {one["measure"]: one["verdict"] for one in form["targets"]}
        assert list(told) == ["ndcg(gain=exp)@10", "ann_recall@10", "latency_p95_ms"]
        assert told["ann_recall@10"] == "fail" and {one["system"] for one in form["targets"]} == {"ivf"}
        assert form_of(report)["targets"] == [] and form_of(report, "exact", outcome)["targets"] == []

    def test_without_times(self, report: Report) -> None:
        untimed = replace(report.sections_of(IndexResult)["ivf"], latency=None)
        assert form_of(report.with_sections(untimed, system="ivf"))["latency"] is None


class TestReadBack:
    """It is a report as any other, of one system."""

    @pytest.fixture
    def path(self, report: Report, tmp_path: Path) -> str:
        path = tmp_path / "eval.json"
        path.write_text(to_evaluation(report, OutputRequest("e.json", system="ivf")), encoding="utf-8")
        return str(path)

    def test_as_a_report(self, path: str, report: Report) -> None:
        saved = read_report(path)
        assert looks_like_report(path) and list(saved.systems) == ["ivf"] and saved.baseline is None
        assert saved.systems["ivf"] == report.systems["ivf"]
        assert set(saved.scores) == set(saved.top_items) == {"ivf"}
        assert {name for part in saved.slices for name in part.estimates} == {"ivf"}
        assert {hint.system for hint in saved.needed_section(Hints)} == {"ivf"}
        assert saved.provenance == report.provenance
        assert saved.warnings == tuple(one for one in report.warnings if one.system != "exact")

    def test_by_the_gate(self, rankjury: Rankjury, path: str) -> None:
        targets = ["recall@10 >= 0.01", "ann_recall@10 <= 0.99", "latency_p95_ms <= 100000", "index_mb <= 5"]
        Path("targets.toml").write_text(f"targets = {json.dumps(targets)}\n")
        found = rankjury("gate", "targets.toml", path)
        assert found.code == 0 and found.out.count("PASS") == 4, found
        Path("targets.toml").write_text('targets = ["ann_recall@10 >= 0.999"]\n')
        assert rankjury("gate", "targets.toml", path).code == 4
        Path("targets.toml").write_text('[[target]]\nrequire = "rr@10 >= 0.01"\nslice = "type=a"\n')
        assert rankjury("gate", "targets.toml", path).code == 0

    def test_by_drift(self, rankjury: Rankjury, path: str, report: Report) -> None:
        assert rankjury("drift", path, path).code == 0
        Path("exact.json").write_text(to_evaluation(report, OutputRequest("e.json", system="exact")))
        other = json.loads(rankjury("drift", path, "exact.json", "--json").out)
        (one,) = other.get("drifts", [other])
        assert (one["system"], one["old_system"]) == ("exact", "ivf")
        assert "index" in [change["what"] for change in one["changed"]]

    def test_drift_is_that_of_the_whole_report(self, path: str) -> None:
        found = drift_between(read_report(path), read_report(path))
        assert found.outcome == "pass" and found.churn is not None and found.churn.overlap == 1.0

    def test_compared_with_another(self, rankjury: Rankjury, path: str, report: Report) -> None:
        """An evaluation is a baseline of another, query by query."""
        Path("exact.json").write_text(to_evaluation(report, OutputRequest("e.json", system="exact")))
        Path("targets.toml").write_text('targets = ["recall@10 drop <= 0.0001"]\n')
        found = rankjury("gate", "targets.toml", path, "--baseline", "exact.json", "--json")
        (verdict,) = json.loads(found.out)["targets"]
        means = (report.estimates[name]["recall@10"].mean for name in ("ivf", "exact"))
        assert found.code == 4 and verdict["value"] == pytest.approx(next(means) - next(means)) and verdict["n"] == Q

    def test_a_file_that_was_cut_is_refused(self, rankjury: Rankjury, path: str) -> None:
        Path("cut.json").write_text(Path(path).read_text()[:-100])
        check_failure(rankjury("drift", path, "cut.json"), 3, "cut.json:", "not JSON")

    def test_a_plan_writes_the_same(self, outcome: Outcome, tmp_path: Path) -> None:
        plan = checked(with_lab(tmp_path), PLAN)
        paths = list(write_outputs(plan, outcome.report, tmp_path / "out", outcome.gate))
        assert [path.name for path in paths] == ["exact.json", "ivf.json"]
        assert paths[1].read_text("utf-8") == to_evaluation(
            outcome.report, OutputRequest("e.json", system="ivf", gate=outcome.gate)
        )


def test_from_the_plan_to_the_gate_and_to_drift(rankjury: Rankjury, folder: Path) -> None:
    """As a user does it, week by week, on a screen of 80 columns."""
    (with_lab(folder) / "plan.toml").write_text(PLAN)
    first = rankjury("run", "plan.toml", "-o", "old", "--full")
    assert first.code == 4, first.err
    check_width(first.out)
    assert "ANN recall@10" in first.out and "FAIL" in first.out and "Hint: ivf: ANN recall@10" in first.out
    assert "Wrote old/exact.json, old/ivf.json" in first.err
    Path("targets.toml").write_text('targets = ["ann_recall@10 >= 0.999"]\n')
    assert rankjury("gate", "targets.toml", "old/ivf.json").code == 4
    assert rankjury("gate", "targets.toml", "old/exact.json").code == 0
    Path("plan.toml").write_text(PLAN.replace("[lab]", "[lab]\nearlier = 'old/ivf.json'"))
    again = rankjury("run", "plan.toml", "-o", "new", "--json")
    verdicts = {one["measure"]: one["verdict"] for one in json.loads(again.out)["gate"]["targets"]}
    assert verdicts["drift"] == "pass" and rankjury("drift", "old/ivf.json", "new/ivf.json").code == 0


class TestNames:
    @pytest.mark.parametrize(
        ("meta", "facts", "model"),
        [
            ({"model_version": "m1", "model": "m2"}, {"model": "m3"}, "m1"),
            ({"model": "m2"}, {"model": "m3"}, "m2"),
            ({}, {"model": "m3"}, "m3"),
            ({}, {}, "model"),
        ],
    )
    def test_the_model_by_what_is_known_of_it(
        self, report: Report, meta: dict[str, str], facts: dict[str, str], model: str
    ) -> None:
        made = {"made": "2026-11-16T12:00:00Z", "meta": meta}
        found = replace(report, provenance=made).with_sections(SystemFacts(facts), system="ivf")
        parts = file_parts(found, "ivf")
        assert parts == {"date": "2026-11-16", "model": model, "index": "ivf"}

    def test_an_index_that_is_there(self) -> None:
        OutputRequest("e.json", "evaluation", "a", indexes=["a"]).check()
        with pytest.raises(UsageError, match=r"no index is called 'b'; expected \{index\} in the name of the file"):
            OutputRequest("e.json", "evaluation", "b", indexes=["a"]).check()
        with pytest.raises(UsageError, match="which index is not said"):
            OutputRequest("e.json", "evaluation", indexes=["a"]).check()


def test_a_measure_that_no_query_defines_is_null(report: Report) -> None:
    """Of a measure that no query defines there is no mean, and none is made up."""
    estimates = dict(report.estimates["ivf"])
    estimates["rr@10"] = replace(estimates["rr@10"], mean=sqrt(2), n=0, ci=None)
    system = replace(report.systems["ivf"], estimates=estimates)
    found = form_of(replace(report, systems={**report.systems, "ivf": system}))
    assert found["quality"]["rr@10"] == {"mean": None, "ci": None, "n": 0}
