"""The GitHub Action: its steps are run with bash as a runner runs them, on a repository made from the help desk."""

import json
import re
from pathlib import Path
from shutil import copy, copytree
from typing import Any

import pytest
import yaml

import rankjury
from rankjury.evaluation.baseline_file import write_baseline
from rankjury.evaluation.report import read_report
from tests.ci.composite import ACTION, Ended, run_action
from tests.docs.pages import Page
from tests.paths import ROOT, SAMPLES

SAMPLE = ROOT / "tests" / "ci" / "sample_repository"
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
FEW = "--resamples 1000"
# The mean of dense is 0.673 [0.57, 0.76], that of bm25 is 0.497.
PASS, UNSURE, FAIL = "ndcg@10 >= 0.5", "ndcg@10 >= 0.6", "ndcg@10 >= 0.9"
NO_LOSS = "ndcg@10 drop <= 0.005"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of the sample repository, with a ranking that an earlier step of the job made."""
    folder = tmp_path / "checkout"
    copytree(SAMPLE, folder)
    (folder / "runs").mkdir()
    for name, place in (("qrels.trec", "."), ("queries.jsonl", "."), ("dense.trec", "runs"), ("bm25.trec", "runs")):
        copy(SAMPLES / "helpdesk" / name, folder / place / name)
    return folder


def put_targets(checkout: Path, *targets: str, **keys: str) -> None:
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in {"targets": targets, **keys}.items()]
    (checkout / "targets.toml").write_text("".join(lines), encoding="utf-8")


def run(checkout: Path, artifacts: dict[str, Path] | None = None, **inputs: str) -> Ended:
    return run_action(checkout, artifacts, **{"gold": "qrels.trec", "run": "runs/dense.trec", "args": FEW} | inputs)


def workflow_steps() -> list[dict[str, Any]]:
    (file,) = (SAMPLE / ".github" / "workflows").iterdir()
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    return [step for job in content["jobs"].values() for step in job["steps"]]


def test_every_script_names_its_shell_and_takes_inputs_from_variables_only() -> None:
    scripts = [step for step in STEPS if "run" in step]
    assert len(scripts) == 3
    for step in scripts:
        assert step["shell"] == "bash"
        assert step["run"].startswith("set -euo pipefail\n")
        assert "${{" not in step["run"]


def test_every_input_and_output_is_described_and_every_input_is_used() -> None:
    used = "".join(json.dumps(step) for step in STEPS)
    for name, entry in ACTION["inputs"].items():
        assert entry["description"] and f"inputs.{name}" in used, name
    assert set(ACTION["outputs"]) == {"verdict", "exit-code", "page", "comment"}
    assert all(entry["description"] for entry in ACTION["outputs"].values())


def test_the_workflow_of_the_sample_uses_inputs_and_outputs_that_exist() -> None:
    (step,) = [step for step in workflow_steps() if step.get("uses") == "OWNER/rankjury@v0"]
    assert step["with"].keys() <= ACTION["inputs"].keys()
    assert {name for name, entry in ACTION["inputs"].items() if entry.get("required")} <= step["with"].keys()
    read = {
        value.partition(f"steps.{step['id']}.outputs.")[2].split()[0]
        for other in workflow_steps()
        for value in other.get("env", {}).values()
        if f"steps.{step['id']}" in value
    }
    assert read and read <= ACTION["outputs"].keys()


def test_the_recipe_shows_this_workflow_and_every_input_and_output() -> None:
    page = Page.read(ROOT / "docs" / "recipes" / "github-actions.md")
    (shown,) = [block.text for block in page.blocks if block.title == ".github/workflows/ranking.yml"]
    assert shown == (SAMPLE / ".github" / "workflows" / "ranking.yml").read_text(encoding="utf-8")
    section = page.text.partition("## Inputs and outputs")[2].partition("\n## ")[0]
    table = {name for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for name in re.findall("`(.+?)`", row)}
    assert table == ACTION["inputs"].keys()
    assert all(f"`{name}`" in section.rpartition("|\n")[2] for name in ACTION["outputs"])
    others = [block.text for block in page.blocks if block.language == "yaml" and "OWNER/rankjury@v0" in block.text]
    for text in others:
        (used,) = [step["with"] for step in yaml.safe_load(text) if "with" in step] if text != shown else [{}]
        assert used.keys() <= ACTION["inputs"].keys()


def test_the_workflow_of_the_sample_passes_with_a_baseline_file(checkout: Path) -> None:
    put_targets(checkout, PASS, NO_LOSS)
    copy(checkout / "runs" / "dense.trec", checkout / "run.trec")
    report = rankjury.evaluate_files(checkout / "qrels.trec", {"dense": checkout / "runs" / "bm25.trec"}, ["ndcg@10"])
    write_baseline(report, checkout / "baseline.json")
    (step,) = [step for step in workflow_steps() if step.get("uses") == "OWNER/rankjury@v0"]
    ended = run_action(checkout, **{name.replace("-", "_"): value for name, value in step["with"].items()})
    assert ended.code == 0, ended.log
    comment = (checkout / ended.outputs["comment"]).read_text(encoding="utf-8")
    assert comment.startswith("### ✅ PASS") and "+0.176" in comment
    assert list(read_report(str(checkout / "rankjury.json")).systems) == ["run"]


def test_a_passed_gate_makes_page_comment_and_summary(checkout: Path) -> None:
    put_targets(checkout, PASS, NO_LOSS)
    (checkout / "polars.py").write_text("raise ImportError\n")  # modules of the checkout are not imported
    ended = run(checkout, baseline="runs/bm25.trec")
    assert ended.code == 0, ended.log
    assert (ended.outputs["verdict"], ended.outputs["exit-code"]) == ("pass", "0")
    assert ended.commands == []
    assert ended.summary.count("rankjury gate: PASS") == 1
    comment = (checkout / ended.outputs["comment"]).read_text(encoding="utf-8")
    assert comment.startswith("### ✅ PASS") and "dense is better than bm25: ndcg@10 +0.176" in comment
    page = (checkout / ended.outputs["page"]).read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and "bm25" in page and "dense" in page
    assert ended.used["Upload the page"]["path"].split() == [
        "rankjury.html",
        "rankjury.json",
        "rankjury-comment.md",
    ]
    assert ended.pip == ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--", str(ROOT)]
    assert ended.used["Set up Python"] == {"python-version": "3.13"}
    assert "Download the baseline" not in ended.used


def test_a_failed_gate_fails_the_job_after_the_upload(checkout: Path) -> None:
    put_targets(checkout, FAIL)
    ended = run(checkout, run="::error::x=runs/dense.trec\nruns/bm25.trec", baseline="bm25", version="rankjury==0.1.0")
    assert ended.code == 4, ended.log
    assert (ended.outputs["verdict"], ended.outputs["exit-code"]) == ("fail", "4")
    (command,) = ended.commands  # a name in the data is no workflow command
    assert command.startswith("::error title=rankjury%3A %3A%3Aerror%3A%3Ax::FAIL: ndcg@10 0.67")
    assert "Upload the page" in ended.used and (checkout / ended.outputs["page"]).exists()
    assert (checkout / ended.outputs["comment"]).read_text(encoding="utf-8").startswith("### ❌ FAIL")
    assert ended.summary.count("rankjury gate: FAIL") == 1
    assert ended.pip[-1] == "rankjury==0.1.0"


@pytest.mark.parametrize(("strict", "code"), [("false", 0), ("true", 5)])
def test_an_unsure_gate_warns_and_fails_only_if_strict(strict: str, code: int, checkout: Path) -> None:
    put_targets(checkout, UNSURE)
    ended = run(checkout, strict=strict)
    assert (ended.code, ended.outputs["exit-code"], ended.outputs["verdict"]) == (code, str(code), "unsure")
    (command,) = ended.commands
    assert command.startswith("::warning title=rankjury%3A dense::UNSURE: ndcg@10")
    assert "Upload the page" in ended.used


def test_names_in_the_data_are_no_workflow_commands(checkout: Path) -> None:
    name = f"{'long-' * 5} ::set-env::x"
    (checkout / "targets.toml").write_text(f'[[target]]\nrequire = "{FAIL}"\nname = "{name}"\n')
    ended = run(checkout)
    assert any(line.lstrip().startswith("::set-env::x") for line in ended.log.splitlines())  # a table wraps the name
    (command,) = ended.commands
    assert command.startswith("::error title=rankjury%3A dense::FAIL: long-")


def test_lenient_is_passed_on(checkout: Path) -> None:
    put_targets(checkout, "ndcg@10 >= 0.7")
    assert run(checkout, lenient="true").outputs["verdict"] == "unsure"


def test_bad_data_is_an_error_with_a_comment_and_no_verdict(checkout: Path) -> None:
    put_targets(checkout, PASS)
    (checkout / "runs" / "dense.trec").write_text("q1 Q0 d1 one 0.5\n")
    ended = run(checkout)
    assert ended.code == 3
    assert ended.outputs == {"verdict": "", "exit-code": "3", "page": "", "comment": "rankjury-comment.md"}
    (command,) = ended.commands
    assert command.startswith("::error title=rankjury::error: ") and "dense.trec" in command
    for text in (ended.summary, (checkout / "rankjury-comment.md").read_text(encoding="utf-8")):
        assert text.startswith("### ❌ rankjury has no verdict") and "dense.trec" in text
    assert ended.used["Upload the page"]["path"].split() == ["rankjury-comment.md"]


def test_paths_with_blanks_several_runs_and_slices_of_the_targets(checkout: Path) -> None:
    (checkout / "my data").mkdir()
    for name in ("qrels.trec", "queries.jsonl"):
        (checkout / name).rename(checkout / "my data" / name)
    put_targets(checkout, PASS, slices="queries.jsonl:type")
    (checkout / "targets.toml").rename(checkout / "my data" / "my targets.toml")
    (checkout / "runs" / "dense.trec").rename(checkout / "runs" / "dense 2.trec")
    ended = run(
        checkout,
        gold="my data/qrels.trec",
        run="runs/bm25.trec\n\n  two=runs/dense 2.trec\n",
        targets="my data/my targets.toml",
        page="site/my page.html",
        comment_file="my comment.md",
        artifact_name="my artifact",
        args=f"{FEW} --record 'latency ms=3'",
    )
    assert ended.code == 4, ended.log  # bm25 misses the target, too
    assert ended.outputs["page"] == "site/my page.html" and ended.outputs["comment"] == "my comment.md"
    assert ended.used["Upload the page"]["name"] == "my artifact"
    report = read_report(str(checkout / "site" / "my page.json"))
    assert list(report.systems) == ["bm25", "two"]
    assert "type=keyword" in {part.name for part in report.slices}
    assert report.systems["two"].recorded["latency ms"].value == 3
    assert "bm25" in (checkout / "my comment.md").read_text(encoding="utf-8")


ATTACK = "$(touch pwned) `touch pwned` ; touch pwned #"


@pytest.mark.parametrize(
    ("names", "code"), [(["gold"], 3), (["run"], 3), (["baseline"], 2), (["args"], 3), (["version", "strict"], 0)]
)
def test_inputs_are_no_shell_code(names: list[str], code: int, checkout: Path) -> None:
    """Targets and slices become arguments as gold and runs do."""
    put_targets(checkout, PASS)
    ended = run(checkout, **dict.fromkeys(names, ATTACK))
    assert ended.code == code, ended.log
    assert not list(checkout.parent.rglob("pwned"))


def test_quotes_that_do_not_end_are_an_error(checkout: Path) -> None:
    put_targets(checkout, PASS)
    ended = run(checkout, args="--record 'x=1")
    assert ended.code == 2 and "No closing quotation" in ended.commands[0]


def test_targets_on_a_difference_need_a_baseline(checkout: Path) -> None:
    put_targets(checkout, NO_LOSS)
    ended = run(checkout)
    assert ended.code == 2 and "needs a baseline" in ended.commands[0]


def test_the_baseline_is_the_report_in_an_artifact(checkout: Path, tmp_path: Path) -> None:
    put_targets(checkout, NO_LOSS)
    artifact = tmp_path / "artifact"
    artifact.mkdir()
    report = rankjury.evaluate_files(checkout / "qrels.trec", {"dense": checkout / "runs" / "bm25.trec"}, ["ndcg@10"])
    report.save(artifact / "rankjury.json")
    (artifact / "comment.md").touch()
    ended = run(checkout, {"main": artifact}, baseline_artifact="main", baseline_run_id="42")
    assert ended.code == 0, ended.log
    assert ended.outputs["verdict"] == "pass"
    used = ended.used["Download the baseline"]
    assert (used["name"], used["run-id"], used["github-token"]) == ("main", "42", "token")
    assert "+0.176" in (checkout / ended.outputs["comment"]).read_text(encoding="utf-8")


def test_an_artifact_of_the_same_run_is_read_without_a_token(checkout: Path, tmp_path: Path) -> None:
    put_targets(checkout, NO_LOSS)
    artifact = tmp_path / "artifact"
    artifact.mkdir()
    copy(checkout / "runs" / "bm25.trec", artifact)
    ended = run(checkout, {"main": artifact}, baseline_artifact="main")
    used = ended.used["Download the baseline"]
    assert (used["run-id"], used["github-token"]) == ("17", "")
    assert ended.code == 2 and "Name one as baseline" in ended.commands[0]  # it has no .json file


def test_the_baseline_is_an_archived_run(checkout: Path) -> None:
    put_targets(checkout, NO_LOSS)
    (checkout / "rankjury.toml").write_text(
        'name = "desk"\ngold = "qrels.trec"\nmeasures = ["ndcg@10"]\n[systems]\ndense = "runs/bm25.trec"\n'
    )
    rankjury.run_plan(checkout / "rankjury.toml", archive=checkout / ".rankjury")
    ended = run(checkout, baseline="latest")
    assert ended.code == 0, ended.log
    assert "+0.176" in (checkout / ended.outputs["comment"]).read_text(encoding="utf-8")
