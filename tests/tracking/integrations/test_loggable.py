"""A report as flat names and values: every figure is there, and no name is one that a tool would refuse."""

import json
import re
import sys
from copy import deepcopy
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rankjury.errors import DamagedRun, DataError, MissingExtra, UnknownName, UsageError
from rankjury.evaluation.report import Report
from rankjury.retrieval.bench.result import AnnRecall, IndexResult
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.integrations.loggable import (
    clean_name,
    flatten,
    loggable_report,
    report_artifacts,
    report_tables,
)
from tests.paths import ROOT
from tests.reporting.small import HOSTILE, gated, small
from tests.tracking.archive.made import carried_out, put_small

EMPTY: dict[str, Any] = {"items": [], "missed": []}
ALLOWED = re.compile(r"[\w./ -]{1,250}")


@pytest.fixture(scope="module")
def report() -> Report:
    return small()


@cache
def friendly() -> dict[str, Any]:
    return gated(small())[1]


@pytest.fixture
def form() -> dict[str, Any]:
    return deepcopy(friendly())


@pytest.fixture(scope="module")
def whole(report: Report) -> Report:
    """With its verdicts."""
    return report.with_sections(gated(report)[0])


class TestNames:
    @pytest.mark.parametrize(
        ("text", "name"),
        [
            ("ndcg@10", "ndcg_10"),
            ("ndcg(gain=exp)@10", "ndcg_gain_exp_10"),
            ("latency_p95_ms", "latency_p95_ms"),
            ("item-knn", "item-knn"),
            ("a/b", "a_b"),
            ("../../etc", "etc"),
            ("名前", "名前"),
            ("", "unnamed"),
            ("\x00\u202e", "unnamed"),
        ],
    )
    def test_what_a_name_becomes(self, text: str, name: str) -> None:
        assert clean_name(text) == name

    def test_long_names_are_cut_and_told_apart(self) -> None:
        one, other = clean_name("x" * 10_000), clean_name("x" * 10_001)
        assert one != other and len(one) == len(other) == 100
        assert len(clean_name("名" * 200).encode()) <= 100

    def test_names_that_become_alike_are_told_apart(self, form: dict[str, Any]) -> None:
        entry = form["systems"]["new"]["measures"]["ndcg@5"]
        form["systems"]["new"]["measures"] = {"Recall@5": {**entry, "mean": 0.1}, "recall_5": {**entry, "mean": 0.2}}
        form["systems"]["NEW"] = {"measures": {"Recall@5": {**entry, "mean": 0.3}}}
        metrics = flatten(Report.from_json({"schema": form["schema"], "systems": form["systems"]})).metrics
        assert (metrics["new/Recall_5"], metrics["new/recall_5_2"], metrics["NEW_2/Recall_5"]) == (0.1, 0.2, 0.3)

    @settings(max_examples=80, deadline=None)
    @given(names=st.lists(st.text(max_size=300) | st.sampled_from(HOSTILE), min_size=3, max_size=3, unique=True))
    def test_any_names_are_allowed_and_none_is_lost(self, names: list[str]) -> None:
        form = deepcopy(friendly())
        old = list(form["systems"])
        form["systems"] = dict(zip(names, form["systems"].values(), strict=True))
        for one in form["comparisons"]:
            one["system"] = names[old.index(one["system"])]
        form["slices"], form["changes"] = [], []  # they name systems too
        for one in form["systems"].values():
            one["facts"] = {names[0]: {names[1]: names[2]}}
        flat, plain = flatten(Report.from_json(form), prefix="nightly/"), flatten(Report.from_json(friendly()))
        assert sorted(flat.metrics.values()) == sorted(plain.metrics.values())
        for name in (*flat.metrics, *flat.params, *flat.tags):
            assert ALLOWED.fullmatch(name) and not re.search(r"(^|/)(\.|/|$)", name), name
            assert name.startswith("nightly/")
        assert len({name.casefold() for name in flat.metrics}) == len(flat.metrics)
        assert not any(re.search("[\x00-\x1f\ud800-\udfff]", text) for text in flat.params.values())

    @pytest.mark.parametrize("prefix", ["/a", "a//b", "../", "a:b", "x" * 101, "a\n"])
    def test_a_prefix_that_makes_no_name(self, report: Report, prefix: str) -> None:
        with pytest.raises(UsageError, match="prefix"):
            flatten(report, prefix=prefix)


class TestValues:
    def test_every_figure_with_its_interval_and_difference(self, report: Report) -> None:
        metrics = flatten(report).metrics
        for system, estimates in report.estimates.items():
            for label, one in estimates.items():
                name = f"{system}/{clean_name(label)}"
                assert one.ci is not None
                found = [metrics[name + end] for end in ("", "_ci_low", "_ci_high", "_n")]
                assert found == [one.mean, *one.ci, one.n]
        for comparison in report.comparisons:
            name = f"{comparison.system}/{clean_name(comparison.measure)}"
            assert comparison.ci is not None
            ends = ("_difference", "_difference_ci_low", "_difference_ci_high", "_p")
            found = [metrics.get(name + end) for end in ends]
            assert found == [comparison.difference, *comparison.ci, comparison.p_holm]
        assert metrics["new/num_rel_ret_sum"] == report.estimates["new"]["num_rel_ret"].total

    def test_only_some_measures(self, whole: Report) -> None:
        names = {name.split("/")[1] for name in flatten(whole, measures=["unjudged@5"]).metrics}
        assert {"unjudged_5", "unjudged_5_difference", "fail"} <= names
        assert not any(name.startswith(("ndcg", "num")) for name in names)
        with pytest.raises(UnknownName, match="unjudged@5"):
            flatten(whole, measures=["unjudgd@5"])

    def test_what_is_undefined_is_left_out(self, form: dict[str, Any]) -> None:
        form["systems"]["new"]["measures"]["ndcg@5"] |= {"mean": None, "ci": None, "n": 0}
        metrics = flatten(Report.from_json(form)).metrics
        assert "new/ndcg_5" not in metrics and "new/ndcg_5_ci_low" not in metrics
        assert metrics["new/ndcg_5_n"] == 0

    def test_figures_beside_the_measures(self, form: dict[str, Any]) -> None:
        form["systems"]["new"]["figures"] = {"latency_ms": {"value": 2.5, "ci": [2.0, 3.0], "n": 9}, "index_mb": 4.0}
        metrics = flatten(Report.from_json(form)).metrics
        assert [metrics[f"new/{name}"] for name in ("latency_ms", "latency_ms_ci_high", "index_mb")] == [2.5, 3.0, 4.0]

    def test_params_tags_and_verdict(self, form: dict[str, Any]) -> None:
        form["provenance"] = {"plan": "rankjury.toml", "made": "2026-01-02T03:04:05Z", "meta": {"model": {"name": "m"}}}
        form["systems"]["new"]["facts"] = {"params": {"factors": 32}, "layers": [1, 2], "text": "x" * 9_000}
        for one in form["systems"].values():
            one["measures"]["ndcg@5"]["convention"] = "ndcg(gain=exp)@5"
        recall = AnnRecall(10, np.array([1.0]), 1.0, None, 1.0)
        index = IndexResult("hnsw", "cosine", {}, {}, {"dsn": "postgres://secret"}, 9, 3, 0.1, None, recall, None, 0)
        flat = flatten(Report.from_json(form).with_sections(index, system="new"))
        wanted = {"plan": "rankjury.toml", "seed": "0", "baseline": "old", "systems": "old, new, third"}
        wanted |= {"meta.model.name": "m", "new.params.factors": "32", "new.layers": "1, 2", "new.engine": "hnsw"}
        wanted["convention.ndcg_5"] = "ndcg(gain=exp)@5"
        assert wanted.items() <= flat.params.items()
        assert len(flat.params["new.text"]) == 500 and "secret" not in str(flat.params)
        assert "dialect" not in flat.params and "2026" not in str(flat.params)
        assert flat.tags["rankjury.verdict"] == "fail" and flat.tags["rankjury.made"] == "2026-01-02T03:04:05Z"
        assert [flat.metrics[f"targets/{one}"] for one in ("pass", "fail", "unsure")] == [2, 2, 2]


def test_the_page_says_what_is_called_how(whole: Report) -> None:
    page = (ROOT / "docs" / "recipes" / "experiment-trackers.md").read_text(encoding="utf-8")
    flat = flatten(whole)
    endings = {name.removeprefix("new/ndcg_5") for name in flat.metrics if name.startswith("new/ndcg_5")} - {""}
    assert {"_ci_low", "_n", "_difference", "_p"} <= endings
    told = {*endings, *(name for name in flat.metrics if name.startswith("targets/")), *flat.tags, "rankjury.made"}
    told |= {f"`rankjury/{name}`" for name in report_tables(whole)} | set(report_artifacts(whole, whole))
    assert {one for one in told if one not in page} == set()


class TestForms:
    def test_a_report_its_json_and_a_run_are_the_same(self, report: Report, whole: Report) -> None:
        gate, form = gated(report)
        assert loggable_report(report, gate) == loggable_report(form) == loggable_report(SimpleNamespace(report=whole))
        assert loggable_report(report.to_json(), gate.to_json()) == whole == loggable_report(whole)

    @pytest.mark.parametrize(
        "given", [{}, {"schema": "rankjury.sweep/1"}, 7, {"schema": "rankjury.report/1", "systems": {}}]
    )
    def test_what_is_no_report(self, given: Any) -> None:
        with pytest.raises(DataError, match=r"expected a report.*\(rankjury.report/1\)|the report has no system"):
            loggable_report(given)

    def test_files_hold_the_whole_report(self, report: Report, whole: Report) -> None:
        files = report_artifacts(report, whole)
        assert json.loads(files["report.json"]) == whole.to_json(queries=True)
        assert files["report.md"].startswith("### ❌ FAIL")
        assert "<!doctype html>" in files["report.html"].lower()[:200]

    def test_files_of_a_form_alone(self, form: dict[str, Any]) -> None:
        files = report_artifacts(form, loggable_report(form))
        assert json.loads(files["report.json"]) == form
        assert "<!doctype html>" in files["report.html"].lower()[:200]

    def test_an_archived_run_keeps_its_page(self, tmp_path: Path) -> None:
        outcome, origin = carried_out(put_small(tmp_path / "small"))
        run = Archive(tmp_path / "archive").store(outcome.report, origin, page=lambda report, run: "as it was")
        assert report_artifacts(run, run.report)["report.html"] == "as it was"
        (run.path / "report.html").write_text("as it is ", encoding="utf-8")
        with pytest.raises(DamagedRun, match=r"report\.html"):
            report_artifacts(run, run.report)


class TestTables:
    def test_headline_and_slices_have_all_digits(self, report: Report) -> None:
        tables = report_tables(report)
        columns, rows = tables["headline"]
        found = {(row[0], row[1]): dict(zip(columns, row, strict=True)) for row in rows}
        assert len(found) == 9
        one = report.comparisons[0]
        row = found[one.system, one.measure]
        assert (row["mean"], row["difference"], row["p"]) == (one.mean, one.difference, one.p_holm)
        assert found["old", "ndcg@5"]["difference"] is None
        columns, rows = tables["slices"]
        assert len(rows) == 2 * 9
        first = dict(zip(columns, rows[3], strict=True))
        assert (first["slice"], first["system"], first["measure"]) == ("type=a", "new", "ndcg@5")
        assert first["mean"] == report.slices[0].estimates["new"]["ndcg@5"].mean
        assert first["difference"] == report.slices[0].beside[0].difference

    def test_only_the_measures_that_are_asked_for(self, report: Report, form: dict[str, Any]) -> None:
        tables = report_tables(report, ["ndcg@5"])
        assert set(tables) == {"headline", "slices", "worst_queries"}
        for columns, rows in tables.values():
            assert {row[columns.index("measure")] for row in rows} == {"ndcg@5"}
        form["systems"]["new"]["examples"] = [{"kind": "failure", "query": "q1", "score": 0.1} | EMPTY]
        bare = {"schema": form["schema"], "systems": form["systems"], "headline": ["ndcg@5"]}
        other = next(label for label in report.labels if label != "ndcg@5")
        assert set(report_tables(Report.from_json(bare), [other])) == {"headline"}

    def test_worst_queries_worst_first(self, report: Report) -> None:
        columns, rows = report_tables(report)["worst_queries"]
        gains = {(one.system, one.measure, one.query): one.gain for one in report.changes}
        found = [gains[row[0], row[1], row[2]] for row in rows]
        assert found == sorted(found) and found[-1] < 0
        assert len(columns) == len(rows[0]) == 7

    def test_without_baseline_the_failures_kept_as_examples(self, form: dict[str, Any]) -> None:
        kept = [{"kind": "failure", "query": f"q{n}", "text": "why?", "score": 0.1 * n} | EMPTY for n in (2, 1)]
        form["systems"]["new"]["examples"] = [*kept, {"kind": "success", "query": "q9", "score": 1.0} | EMPTY]
        bare = {"schema": form["schema"], "systems": form["systems"], "headline": ["ndcg@5"]}
        _, rows = report_tables(Report.from_json(bare))["worst_queries"]
        assert rows == [
            ["new", "ndcg@5", "q1", "why?", None, 0.1, None],
            ["new", "ndcg@5", "q2", "why?", None, 0.2, None],
        ]

    def test_a_bare_form_has_no_other_tables(self, form: dict[str, Any]) -> None:
        assert list(report_tables(Report.from_json({"schema": form["schema"], "systems": form["systems"]}))) == [
            "headline"
        ]


@pytest.mark.parametrize("library", ["mlflow", "wandb"])
def test_without_the_library_the_extra_is_named(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"rankjury.tracking.integrations.{library}", raising=False)
    with pytest.raises(MissingExtra, match=rf"pip install 'rankjury\[{library}\]'"):
        import_module(f"rankjury.tracking.integrations.{library}")
