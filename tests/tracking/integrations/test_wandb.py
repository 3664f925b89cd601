"""Reports in Weights & Biases, for real: offline, and read back from the file that would be sent. No network."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from rankjury.evaluation.report import Report
from rankjury.reporting.writers.pull_request import to_comment
from rankjury.tracking.integrations.loggable import flatten, report_tables
from tests.paths import ROOT
from tests.reporting.small import HOSTILE, gated, small

pytestmark = pytest.mark.skipif(
    find_spec("wandb") is None, reason="wandb is not installed: pip install 'rankjury[wandb]'"
)
REPORT = small()
GATE, FORM = gated(REPORT)
GATED = REPORT.with_sections(GATE)


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What ``logging_to_wandb.py`` logged and read back."""
    folder = tmp_path_factory.mktemp("wandb")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
    places = {f"WANDB_{name}": str(folder / name.lower()) for name in ("CACHE_DIR", "CONFIG_DIR", "DATA_DIR")}
    quiet = {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_ERROR_REPORTING": "false"}
    path = os.pathsep.join((str(ROOT), str(ROOT / "src")))
    ended = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("logging_to_wandb.py")), str(folder)],
        env={**kept, **places, **quiet, "WANDB_DIR": str(folder), "PYTHONPATH": path, "HOME": str(folder)},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def run(logged: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = logged["runs"][name]
    return found


def to_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def test_figures_are_in_the_history_and_in_the_summary(logged: dict[str, Any]) -> None:
    wanted = flatten(GATED).metrics
    assert len(wanted) > 50
    (row,) = run(logged, "report")["history"]
    assert wanted.items() <= row.items()
    assert wanted.items() <= run(logged, "report")["summary"].items()


def test_verdict_version_and_conventions(logged: dict[str, Any]) -> None:
    found = run(logged, "report")
    assert found["summary"]["rankjury/verdict"] == "fail" and found["summary"]["rankjury/version"] == FORM["rankjury"]
    assert flatten(GATED).params.items() <= found["config"].items()
    assert (found["name"], found["project"]) == ("nightly", "search")


def test_tables_have_all_digits(logged: dict[str, Any]) -> None:
    found = run(logged, "report")["tables"]
    wanted = report_tables(GATED)
    assert {f"rankjury/{name}" for name in wanted} == set(found) and len(found) == 3
    for name, (columns, rows) in wanted.items():
        assert found[f"rankjury/{name}"]["columns"] == columns
        assert found[f"rankjury/{name}"]["data"] == to_json(rows)


def test_the_artifact_is_the_whole_report(logged: dict[str, Any]) -> None:
    files = run(logged, "report")["artifacts"]["rankjury-report"]
    assert json.loads(files["report.json"]) == to_json(REPORT.to_json(queries=True) | {"gate": GATE.to_json()})
    assert files["report.md"] == to_comment(Report.from_json(FORM))
    assert "<!doctype html>" in files["report.html"].lower()[:200]


def test_a_form_gives_the_same_figures_and_no_files_where_none_are_wanted(logged: dict[str, Any]) -> None:
    one, other = run(logged, "report"), run(logged, "form")
    assert one["tables"] == other["tables"]
    assert flatten(GATED).metrics.items() <= other["summary"].items()
    assert not any(name.endswith("report") for name in other["artifacts"])


def test_hostile_names(logged: dict[str, Any]) -> None:
    hostile = gated(small(tuple(HOSTILE[6:10]), tuple(HOSTILE), HOSTILE[7]))[1]
    found = run(logged, "hostile")
    assert flatten(Report.from_json(hostile)).metrics.items() <= found["summary"].items()
    assert {row[0] for row in found["tables"]["rankjury/headline"]["data"]} == set(HOSTILE[6:10])


def test_into_the_active_run_and_twice_by_prefix(logged: dict[str, Any]) -> None:
    assert logged["told"]["into the active run"] is True
    assert logged["told"]["another is started where a project is named"] is True
    summary = run(logged, "active")["summary"]
    assert summary["dev/new/ndcg_5"] == summary["new/ndcg_5"] == REPORT.estimates["new"]["ndcg@5"].mean
    assert "new/unjudged_5" in summary and "dev/new/unjudged_5" not in summary
    assert run(logged, "active")["history"][0]["_step"] == 3
    tables = run(logged, "active")["tables"]
    assert {row[1] for row in tables["dev/rankjury/headline"]["data"]} == {"ndcg@5"}
    assert len({row[1] for row in tables["rankjury/headline"]["data"]}) == 3


def test_refusals_are_told_in_a_line(logged: dict[str, Any]) -> None:
    assert logged["told"]["a run that is finished"].startswith("Weights & Biases refuses: Run (")
    refused = logged["told"]["nobody is logged in"]
    assert refused.startswith("Weights & Biases refuses: ") and refused.count("\n") == 0
    assert refused.endswith(". WANDB_MODE=offline keeps it on this machine.")
