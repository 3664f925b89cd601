"""rankjury run keeps what it found, and says so; gate and drift take runs by name."""

import json
import re
from pathlib import Path

import pytest

from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.manifest import manifest_bytes
from tests.cli.conftest import Rankjury
from tests.tracking.archive.made import PLAN, put_small


@pytest.fixture(autouse=True)
def nobodys_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKJURY_ARCHIVE", raising=False)


NAME = r"\d{8}T\d{6}Z-small-[0-9a-f]{8}"


@pytest.fixture
def small(folder: Path) -> Path:
    put_small(folder)
    return folder


def test_kept_with_its_page_and_said(rankjury: Rankjury, small: Path) -> None:
    outcome = rankjury("run", "plan.toml")
    assert outcome.code == 0 and re.search(rf"^Kept as {NAME} in \.rankjury$", outcome.err, re.MULTILINE)
    archive = Archive(small / ".rankjury")
    (run,) = archive.runs()
    assert run.faults() == [] and "report.html" in run.files and run.manifest["seconds"] > 0
    page = (run.path / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html") and str(small) not in page
    form = run.report.to_json()
    assert form == json.loads(rankjury("run", "plan.toml", "--json", "--no-archive").out) | {
        "gate": form["gate"],
        "provenance": form["provenance"],
    }
    assert form["gate"]["report"] == "plan.toml" and not archive.running() and len(archive.runs()) == 1


def test_the_next_step_works(rankjury: Rankjury, small: Path) -> None:
    step = rankjury("run", "plan.toml").err.splitlines()[-1]
    assert step == "Next: rankjury show latest, rankjury history, or rankjury view"
    (small / "targets.toml").write_text('targets = ["rr >= 0.3"]')
    assert (
        rankjury("show", "latest").code
        == rankjury("history").code
        == rankjury("gate", "targets.toml", "latest").code
        == 0
    )


def test_a_repetition_is_recognised(rankjury: Rankjury, small: Path) -> None:
    first = re.search(NAME, rankjury("run", "plan.toml").err)
    assert first is not None
    again = rankjury("run", "plan.toml").err
    assert f"The same plan and inputs as {first[0]}: all values are equal to the last digit" in again
    (small / "items.csv").write_text("item_id,title\na,Ace\n")
    assert "same plan and inputs" not in rankjury("run", "plan.toml").err


def test_a_repetition_that_came_out_otherwise_is_told(rankjury: Rankjury, small: Path) -> None:
    """As of a service that answers otherwise the second time: here the first is said to have been otherwise."""
    assert rankjury("run", "plan.toml").code == 0
    archive = Archive(small / ".rankjury")
    (run,) = archive.runs()
    manifest = json.loads((run.path / "manifest.json").read_text())
    manifest["summary"]["new"]["rr"]["mean"] += 1e-16 * 8
    (run.path / "manifest.json").write_bytes(manifest_bytes(manifest))
    assert f"The same plan and inputs as {run.name}: but not all values are equal" in rankjury("run", "plan.toml").err


def test_not_kept_where_it_is_not_wanted(rankjury: Rankjury, small: Path) -> None:
    outcome = rankjury("run", "plan.toml", "--no-archive")
    assert outcome.code == 0 and "Kept" not in outcome.err and not (small / ".rankjury").exists()
    assert rankjury("demo", "movies").code == 0 and not (small / ".rankjury").exists()


def test_where_it_is_kept(rankjury: Rankjury, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (small / "sub").mkdir()
    monkeypatch.chdir(small / "sub")
    assert rankjury("run", "../plan.toml", "--archive", "there").code == 0
    monkeypatch.setenv("RANKJURY_ARCHIVE", str(small / "mine"))
    assert rankjury("run", "../plan.toml").code == 0
    monkeypatch.delenv("RANKJURY_ARCHIVE")
    (small / ".rankjury").mkdir()
    assert rankjury("run", "../plan.toml").code == 0
    found = [len(Archive(path).runs()) for path in (small / "sub" / "there", small / "mine", small / ".rankjury")]
    assert found == [1, 1, 1] and not (small / "sub" / ".rankjury").exists()


def test_a_run_that_fails_leaves_nothing(rankjury: Rankjury, small: Path) -> None:
    (small / "new.trec").write_text("broken")
    assert rankjury("run", "plan.toml").code == 3 and not (small / ".rankjury").exists()


def test_gate_and_drift_take_runs(rankjury: Rankjury, small: Path) -> None:
    (small / "targets.toml").write_text('targets = ["rr drop <= 0.01"]')
    for _ in range(2):
        assert rankjury("run", "plan.toml", "-q").code == 0
    rankjury("baseline", "set", "latest")
    passed = rankjury("gate", "targets.toml", "latest", "--baseline", "baseline")
    assert passed.code == 0 and "PASS" in passed.out
    (small / "new.trec").write_text((small / "new.trec").read_text().replace(" a ", " x "))
    assert rankjury("run", "plan.toml", "-q").code in (0, 4)
    failed = rankjury("gate", "targets.toml", "latest", "--baseline", "baseline", "--json")
    verdicts = {one["system"]: one["verdict"] for one in json.loads(failed.out)["targets"]}
    assert failed.code == 4 and verdicts["new"] == "fail"
    within = rankjury("gate", "targets.toml", "latest", "--baseline", "old")
    assert within.code == 4, "a system of the report goes before a run"
    assert rankjury("gate", "targets.toml", "20999999").code == 2
    assert rankjury("gate", "targets.toml", "missing.json").code == 3
    drift = rankjury("drift", "baseline", "latest", "--system", "old")
    assert drift.code == 3 and "similarities" in drift.err, "runs without vectors have nothing to drift"


def test_drift_of_archived_indexes(rankjury: Rankjury, small: Path) -> None:
    import numpy as np

    values = np.random.default_rng(1).normal(size=(30, 8)).astype(np.float32)
    np.savez("v.npz", items=values[:20], queries=values[20:])
    Path("v.ids.txt").write_text("".join(f"i{n}\n" for n in range(20)))
    gold = "".join(f"q{n} 0 i{n} 1\n" for n in range(10))
    Path("g.qrels").write_text(gold)
    Path("iids.txt").write_text("".join(f"i{n}\n" for n in range(20)))
    Path("qids.txt").write_text("".join(f"q{n}\n" for n in range(10)))
    system = 'kind = "index"\nengine = "exact"\npath = "v.npz:items"\nids = "iids.txt"\nqueries = "v.npz:queries"'
    top = 'name = "ix"\ngold = "g.qrels"\nmeasures = ["rr"]\ntargets = ["rr >= 0"]'
    Path("ix.toml").write_text(f'{top}\n[systems.x]\n{system}\nqueries_ids = "qids.txt"\n')
    for _ in range(2):
        assert rankjury("run", "ix.toml").code == 0
    runs = Archive(small / ".rankjury").runs("ix")
    outcome = rankjury("drift", runs[0].name, runs[1].name)
    assert outcome.code == 0 and "PASS" in outcome.out.upper()
    assert runs[0].manifest["versions"]["index"]["index"]["x"]["engine"] == "exact"


def test_the_plan_keeps_its_name(rankjury: Rankjury, small: Path) -> None:
    (small / "rankjury.toml").write_text(PLAN.replace('name = "small"\n', ""))
    assert rankjury("run").code == 0
    assert [run.plan for run in Archive(small / ".rankjury").runs()] == [small.name]
