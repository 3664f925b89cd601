"""rankjury log: saved reports and archived runs, logged to a store of MLflow in the folder, and read back."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Rankjury
from tests.cli.gating import WORSE
from tests.cli.made import RANKS, put_gold, put_run
from tests.cli.support import Outcome, check_failure, check_width, put

PLAN = """gold = "g.qrels"
name = "nightly"
measures = ["rr", "ap"]
baseline = "old"
outputs = ["report.json"]
targets = ["rr >= 0"]
[systems]
old = "old.trec"
new = "new.trec"
"""


@pytest.fixture(autouse=True)
def files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_gold()
    put_run("new.trec", RANKS)
    put_run("old.trec", WORSE)
    put("rankjury.toml", PLAN)
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.delenv("RANKJURY_ARCHIVE", raising=False)


@pytest.fixture
def store(folder: Path, files: None) -> str:
    pytest.importorskip("mlflow", reason="mlflow is not installed: pip install 'rankjury[mlflow]'")
    return (folder / "runs").as_uri()


def logged(outcome: Outcome, store: str) -> Any:
    """The run of MLflow whose id was printed."""
    import mlflow

    assert outcome.code == 0, outcome.err
    assert outcome.out.endswith("\n") and outcome.out.count("\n") == 1
    return mlflow.MlflowClient(tracking_uri=store).get_run(outcome.out.strip())


def test_a_saved_report(rankjury: Rankjury, store: str) -> None:
    assert rankjury("run", "--no-archive").code == 0
    outcome = rankjury("log", "report.json", "--to", "mlflow", "--tracking", store, "--experiment", "search")
    run = logged(outcome, store)
    entry = json.loads(Path("report.json").read_text(encoding="utf-8"))["systems"]["new"]["measures"]["rr"]
    assert run.data.metrics["new/rr"] == entry["mean"] and run.data.metrics["new/rr_ci_low"] == entry["ci"][0]
    assert run.data.params["name"] == "nightly"
    assert "Logged report.json to MLflow" in outcome.err
    place = Path(run.info.artifact_uri.removeprefix("file://"))
    assert {one.name for one in place.iterdir()} == {"report.json", "report.md", "report.html"}


def test_the_latest_run_of_the_archive_with_its_verdict_and_its_queries(rankjury: Rankjury, store: str) -> None:
    assert rankjury("run").code == 0
    outcome = rankjury("log", "--to", "mlflow", "--tracking", store)
    run = logged(outcome, store)
    (kept,) = (one.name for one in Path(".rankjury/runs").iterdir() if one.name[0] != ".")
    assert run.info.run_name == kept and f"Logged {kept} to MLflow" in outcome.err
    assert run.data.tags["rankjury.verdict"] == "pass"
    place = Path(run.info.artifact_uri.removeprefix("file://"))
    form = json.loads((place / "report.json").read_text(encoding="utf-8"))
    assert form["gate"]["verdict"] == "pass" and len(form["queries"]["ids"]) == len(RANKS)
    page = Path(".rankjury/runs", kept, "report.html")
    assert (place / "report.html").read_bytes() == page.read_bytes()


def test_some_measures_under_a_prefix_without_files(rankjury: Rankjury, store: str) -> None:
    rankjury("run", "--no-archive")
    options = ("-m", "ap", "--prefix", "dev/", "--no-files", "--name", "by hand", "-q")
    outcome = rankjury("log", "report.json", "--to", "mlflow", "--tracking", store, *options)
    run = logged(outcome, store)
    assert outcome.err == "" and run.info.run_name == "by hand"
    assert "dev/new/ap" in run.data.metrics and "dev/new/rr" not in run.data.metrics
    assert not Path(run.info.artifact_uri.removeprefix("file://"), "dev").exists()


def test_what_is_refused(rankjury: Rankjury, store: str) -> None:
    rankjury("run", "--no-archive")
    to = ("--to", "mlflow", "--tracking", store)
    check_failure(rankjury("log", "report.json", *to, "-m", "apq"), 2, "unknown measure of the report 'apq'")
    check_failure(rankjury("log", "report.json", *to, "--prefix", "/"), 2, "the prefix is '/'")
    check_failure(rankjury("log", "nothing", *to), 3, "no run 'nothing'")
    check_failure(rankjury("log", "g.qrels", *to), 3, "not a report of rankjury")
    check_failure(rankjury("log", "report.json", "--to", "mlflow", "--tracking", "nowhere://x"), 3, "MLflow refuses")


def test_tracking_is_only_of_mlflow(rankjury: Rankjury) -> None:
    check_failure(rankjury("log", "report.json", "--to", "wandb", "--tracking", "x"), 2, "--tracking is MLflow's")


def test_where_to_must_be_said(rankjury: Rankjury) -> None:
    outcome = rankjury("log", "report.json")
    assert outcome.code == 2 and "--to" in outcome.err


def test_help_teaches(rankjury: Rankjury) -> None:
    outcome = rankjury("log", "--help")
    check_width(outcome.out)
    assert "rankjury log --to mlflow --experiment search" in outcome.out
