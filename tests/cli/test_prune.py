"""rankjury prune: old runs go."""

import json
from pathlib import Path

import pytest

from rankjury.tracking.archive.archive import Archive
from tests.cli.archives import stepped
from tests.cli.conftest import Rankjury
from tests.cli.support import check_failure, put


@pytest.fixture(autouse=True)
def nobodys_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKJURY_ARCHIVE", raising=False)


def left(folder: Path) -> list[str]:
    return [run.name for run in Archive(folder / ".rankjury").runs()]


def test_only_the_last_are_kept(rankjury: Rankjury, folder: Path) -> None:
    runs = stepped(folder, runs=6)
    names = [run.name for run in runs]
    rankjury("baseline", "set", names[1])
    dry = rankjury("prune", "--keep", "2", "--dry-run")
    assert dry.code == 0 and left(folder) == names
    assert [line.split()[0] for line in dry.out.splitlines()[1:]] == [names[0], *names[2:4]]
    assert dry.out.splitlines()[0].startswith("3 runs of 6 would go: ")
    outcome = rankjury("prune", "--keep", "2", "--yes")
    assert outcome.code == 0 and outcome.err == "Removed 3 runs\n"
    assert left(folder) == [names[1], *names[4:]]


def test_without_a_limit_only_leftovers_go(rankjury: Rankjury, folder: Path) -> None:
    runs = stepped(folder, runs=2)
    (runs[0].path.parent / ".x.1-5-0123abcd-ab.part").mkdir()
    outcome = rankjury("prune")
    assert outcome.code == 0 and "2 runs stay: --keep N or --older-than 30d" in outcome.out
    assert outcome.err == "Removed 1 leftover\n" and len(left(folder)) == 2
    assert rankjury("prune").err == ""


def test_by_age_and_plan(rankjury: Rankjury, folder: Path) -> None:
    stepped(folder, runs=4)
    assert "None of 4 runs would go" in rankjury("prune", "--older-than", "9999w", "--dry-run").out
    form = json.loads(rankjury("prune", "--older-than", "1h", "--plan", "small", "--yes", "--json").out)
    assert len(form["runs"]) == 3 and form["dry_run"] is False and len(left(folder)) == 1


def test_nobody_to_be_asked(rankjury: Rankjury, folder: Path) -> None:
    stepped(folder, runs=3)
    outcome = rankjury("prune", "--keep", "1")
    assert outcome.code == 2 and "--yes" in outcome.err and len(left(folder)) == 3


def test_requests_that_make_no_sense(rankjury: Rankjury, folder: Path) -> None:
    stepped(folder, runs=2)
    for age in ("30", "d", "-1d", "30 days", "1y"):
        check_failure(rankjury("prune", f"--older-than={age}"), 2, "12h, 30d, 8w")
    check_failure(rankjury("prune", "--keep", "1", "--plan", "smal", "--yes"), 2, "Did you mean small?")
    assert rankjury("prune", "--keep", "0").code == 2 and len(left(folder)) == 2


def test_where_there_is_no_archive(rankjury: Rankjury, folder: Path) -> None:
    assert rankjury("prune", "--keep", "1", "--yes").code == 0 and not (folder / ".rankjury").exists()


def test_a_file_is_no_archive(rankjury: Rankjury) -> None:
    outcome = rankjury("prune", "--keep", "1", "--dry-run", "--json", "--archive", put("log.csv", "a\n"))
    assert outcome.code in (0, 3) and "Traceback" not in outcome.err
