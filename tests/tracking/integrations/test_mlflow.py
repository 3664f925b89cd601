"""Reports in MLflow, for real: logged into files in a folder, and read back by MLflow's own client. No network."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rankjury.errors import DataError
from rankjury.evaluation.report import Report
from rankjury.tracking.integrations.loggable import flatten
from tests.reporting.small import HOSTILE, gated, small

with pytest.MonkeyPatch.context() as before_import:
    before_import.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed: pip install 'rankjury[mlflow]'")
    from rankjury.tracking.integrations.mlflow import log_report

REPORT = small()
GATE, FORM = gated(REPORT)
GATED = REPORT.with_sections(GATE)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a store in a folder of its own, which is what MLflow logs to unless told otherwise."""
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    earlier = mlflow.get_tracking_uri()
    uri = (tmp_path / "runs").as_uri()
    mlflow.set_tracking_uri(uri)
    yield uri
    while mlflow.active_run() is not None:
        mlflow.end_run()
    mlflow.set_tracking_uri(earlier)


def run_of(run_id: str, uri: str | None = None) -> Any:
    return mlflow.MlflowClient(tracking_uri=uri).get_run(run_id)


def file_of(run_id: str, name: str) -> str:
    place = run_of(run_id).info.artifact_uri
    return Path(place.removeprefix("file://"), name).read_text(encoding="utf-8")


class TestWhatIsLogged:
    def test_figures_params_tags_and_files_are_read_back(self, store: str) -> None:
        run = run_of(run_id := log_report(REPORT, gate=GATE))
        flat = flatten(GATED)
        assert run.data.metrics == flat.metrics and len(flat.metrics) > 50
        assert run.data.params == flat.params
        assert flat.tags.items() <= run.data.tags.items()
        assert run.data.tags["rankjury.verdict"] == "fail"
        assert run.data.metrics["new/ndcg_5"] == REPORT.estimates["new"]["ndcg@5"].mean
        assert run.info.status == "FINISHED" and mlflow.active_run() is None
        assert {one.path for one in mlflow.MlflowClient().list_artifacts(run_id)} == {
            *("report.json", "report.md", "report.html")
        }
        assert json.loads(file_of(run_id, "report.json"))["gate"] == GATE.to_json()
        assert file_of(run_id, "report.md").startswith("### ❌ FAIL")

    def test_the_report_in_the_store_is_one_that_rankjury_reads(self, store: str, tmp_path: Path) -> None:
        text = file_of(log_report(REPORT), "report.json")
        assert Report.from_json(json.loads(text)).queries.ids[0] == "q00"

    def test_a_form_and_an_archived_run_give_the_same(self, store: str) -> None:
        logged = [run_of(log_report(one, gate=GATE)).data for one in (REPORT, FORM, SimpleNamespace(report=GATED))]
        assert logged[0].metrics == logged[1].metrics == logged[2].metrics
        assert logged[0].params == logged[1].params == logged[2].params

    def test_hostile_names(self, store: str) -> None:
        _, form = gated(small(tuple(HOSTILE[:6]), tuple(HOSTILE), HOSTILE[7]))
        form["provenance"] = {"name": HOSTILE[0], "meta": dict(zip(HOSTILE, HOSTILE, strict=True))}
        run = run_of(log_report(form))
        assert run.data.metrics == flatten(Report.from_json(form)).metrics
        assert len(run.data.metrics) > 100

    def test_more_params_and_metrics_than_go_at_once(self, store: str) -> None:
        entry = FORM["systems"]["new"]["measures"]["ndcg@5"]
        many = {"measures": {f"ndcg@{k}": entry for k in range(1, 400)}, "facts": {f"f{n}": n for n in range(250)}}
        run = run_of(log_report({"schema": FORM["schema"], "systems": {"one": many}}, artifacts=False))
        assert len(run.data.metrics) == 399 * 4 and len(run.data.params) > 250
        assert mlflow.MlflowClient().list_artifacts(run.info.run_id) == []


class TestWhereItGoes:
    def test_into_the_active_run_which_goes_on(self, store: str) -> None:
        with mlflow.start_run() as active:
            assert log_report(FORM, artifacts=False) == active.info.run_id
            assert mlflow.active_run().info.run_id == active.info.run_id
            mlflow.log_metric("own", 1.0)
        assert run_of(active.info.run_id).data.metrics["own"] == 1.0

    def test_into_a_run_by_itself_or_by_its_id(self, store: str) -> None:
        with mlflow.start_run() as run:
            pass
        for given in (run, run.info.run_id):
            assert log_report(FORM, run=given, artifacts=False) == run.info.run_id

    def test_into_an_experiment_of_another_store(self, store: str, tmp_path: Path) -> None:
        other = (tmp_path / "other").as_uri()
        options = {"experiment": "search", "tracking_uri": other, "artifacts": False}
        with mlflow.start_run() as active:
            ids = [log_report(FORM, run_name="nightly", **options) for _ in range(2)]
        runs = [run_of(one, other) for one in ids]
        assert active.info.run_id not in ids and mlflow.get_tracking_uri() == store
        assert {one.info.experiment_id for one in runs} == {
            mlflow.MlflowClient(tracking_uri=other).get_experiment_by_name("search").experiment_id
        }
        assert [(one.info.run_name, one.info.status) for one in runs] == [("nightly", "FINISHED")] * 2

    def test_steps_are_a_history(self, store: str) -> None:
        with mlflow.start_run() as run:
            for step in (1, 2):
                log_report(FORM, step=step, artifacts=False)
        history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "new/ndcg_5")
        assert [one.step for one in history] == [1, 2]

    def test_two_reports_in_one_run_by_prefix(self, store: str) -> None:
        other = json.loads(json.dumps(FORM)) | {"baseline": "new"}
        with mlflow.start_run() as run:
            log_report(FORM)
            with pytest.raises(DataError, match=r"MLflow refuses: .*prefix"):
                log_report(other)
            log_report(other, prefix="dev/")
        data = run_of(run.info.run_id).data
        assert (data.params["baseline"], data.params["dev/baseline"]) == ("old", "new")
        assert data.metrics["dev/new/ndcg_5"] == data.metrics["new/ndcg_5"]
        assert file_of(run.info.run_id, "dev/report.md").startswith("### ❌ FAIL")

    def test_a_run_that_is_not_there(self, store: str) -> None:
        with pytest.raises(DataError, match="MLflow refuses") as raised:
            log_report(FORM, run="0" * 32)
        assert raised.value.where == store

    def test_a_new_run_that_fails_is_marked_so(self, store: str, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("", encoding="utf-8")
        client = mlflow.MlflowClient()
        place = client.create_experiment("search", artifact_location=(tmp_path / "file" / "below").as_uri())
        with pytest.raises(OSError, match="Not a directory"):
            log_report(FORM, experiment="search")
        (found,) = client.search_runs([place])
        assert found.info.status == "FAILED"
