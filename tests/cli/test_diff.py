"""rankjury diff: two archived runs."""

import json
from pathlib import Path

import pytest

from rankjury.tracking.archive.archive import Archive
from tests.cli.archives import two_runs
from tests.cli.conftest import Rankjury
from tests.cli.support import check_failure, check_width
from tests.tracking.archive.made import PLAN, kept, put_small, ranked


@pytest.fixture(autouse=True)
def nobodys_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKJURY_ARCHIVE", raising=False)


def test_what_changed_and_what_came_of_it(rankjury: Rankjury, folder: Path) -> None:
    first, last = two_runs(folder)
    outcome = rankjury("diff")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    answer = " ".join(outcome.out.partition("\n\n")[0].split())
    assert answer.startswith("new now is not shown to be ") and "than before: rr " in answer
    assert "all 12 queries: old." in answer
    assert answer.endswith("Changed: input new.trec has other contents.")
    start = lines.index(f"before  2026-01-01 06:30  {first.name}")
    assert lines[start + 1] == f"after   2026-01-02 06:30  {last.name}"
    row = next(line for line in lines if line.startswith("new ") and not line.startswith("new now"))
    means = [run.report.estimates["new"]["rr"].mean for run in (first, last)]
    assert f"{means[0]:.3f}" in row and f"{means[1]:.3f}" in row
    assert any(line.startswith("old ") and "= same" in line for line in lines)
    assert "new, rr: 4 better · 8 worse · 0 equal; largest losses:" in lines
    assert any("Anchor (1): 1 → 2" in line for line in lines)
    check_width(outcome.out)


def test_the_baseline_goes_before_the_run_before(rankjury: Rankjury, folder: Path) -> None:
    first, last = two_runs(folder)
    newest = kept(Archive(folder / ".rankjury"), folder / "plan.toml", 2)
    assert json.loads(rankjury("diff", "--json").out)["before"] == last.name
    rankjury("baseline", "set", first.name)
    form = json.loads(rankjury("diff", "latest", "--json").out)
    assert (form["before"], form["after"]) == (first.name, newest.name)
    (line,) = [line for line in rankjury("diff").out.splitlines() if line.startswith("before ")]
    assert line.endswith(" (baseline)")
    form = json.loads(rankjury("diff", last.name, "latest", "--json").out)
    assert (form["before"], form["after"]) == (last.name, newest.name)
    check_failure(rankjury("diff", first.name), 3, "there is no run of this plan before it")


def test_some_measures_and_systems(rankjury: Rankjury, folder: Path) -> None:
    two_runs(folder)
    form = json.loads(rankjury("diff", "-m", "precision(missing=zero)@3", "--system", "new", "--json").out)
    assert [(one["measure"], one["system"]) for one in form["comparisons"]] == [("precision@3", "new")]
    check_failure(rankjury("diff", "-m", "ap"), 2, "unknown measure in these runs: 'ap'")
    check_failure(rankjury("diff", "--system", "nwe"), 2, "Did you mean new?")


def test_verdicts_and_conventions_are_told(rankjury: Rankjury, folder: Path) -> None:
    two_runs(folder)
    (folder / "new.trec").write_text(ranked(1).replace(" a ", " x "))
    plan = PLAN.replace('["rr", "ndcg@3", "precision@3"]', '["rr", "ndcg(gain=exp)@3"]')
    (folder / "plan.toml").write_text(plan.replace('headline = ["rr", "ndcg@3"]\n', ""))
    kept(Archive(folder / ".rankjury"), folder / "plan.toml", 2)
    out = rankjury("diff").out
    assert "  pass → fail: rr at least 0.3 (new)" in out.splitlines()
    assert "measure ndcg@3 was there before only" in out and "measure ndcg(gain=exp)@3 is new" in out
    check_width(out)


@pytest.mark.parametrize("width", ["60", "80", "200"])
def test_it_fits_the_screen(rankjury: Rankjury, folder: Path, monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    two_runs(folder)
    monkeypatch.setenv("COLUMNS", width)
    assert max(map(len, rankjury("diff").out.splitlines())) <= int(width)


def test_requests_that_make_no_sense(rankjury: Rankjury, folder: Path) -> None:
    check_failure(rankjury("diff"), 3, "the archive has no run")
    plan = put_small(folder)
    only = kept(Archive(folder / ".rankjury"), plan)
    check_failure(rankjury("diff"), 3, only.name, "Name two runs")
    check_failure(rankjury("diff", "latest", "nothing"), 2, "unknown run 'nothing'")
