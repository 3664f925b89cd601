"""Commands on an archive with damaged runs: the others stay usable, the damaged one is an error with exit code 3."""

import json
from pathlib import Path

import pytest

from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.run import ArchivedRun
from tests.cli.archives import stepped
from tests.cli.conftest import Rankjury


@pytest.fixture(autouse=True)
def nobodys_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKJURY_ARCHIVE", raising=False)


@pytest.fixture
def runs(folder: Path) -> list[ArchivedRun]:
    """Four runs, of which the second has a damaged manifest and the last a damaged table."""
    found = stepped(folder, runs=4)
    (found[1].path / "manifest.json").write_text('{"schema": "rankjury.run/1", "summary": 3}')
    scores = found[3].path / "scores.parquet"
    octets = bytearray(scores.read_bytes())
    octets[len(octets) // 3] ^= 1
    scores.write_bytes(octets)
    return found


def test_other_runs_stay_usable(rankjury: Rankjury, runs: list[ArchivedRun]) -> None:
    first, damaged, third, _ = (run.name for run in runs)
    for command in (("show", third), ("show", "--pr", third), ("diff", first, third), ("baseline", "set", first)):
        assert rankjury(*command).code == 0, command
    for command in (("history",), ("diff", third), ("prune", "--keep", "9", "--dry-run")):
        outcome = rankjury(*command)
        assert outcome.code == 0 and damaged in outcome.err and "damaged: manifest.json" in outcome.err, command
    assert json.loads(rankjury("history", "--json").out)["damaged"][0]["run"] == damaged


def test_the_damaged_run_is_an_error(rankjury: Rankjury, runs: list[ArchivedRun]) -> None:
    first, damaged, third, cut = (run.name for run in runs)
    for command in (
        ("show", damaged),
        ("show", damaged[:16]),
        ("diff", damaged, third),
        ("diff", third, cut),
        ("baseline", "set", damaged),
        ("log", damaged, "--to", "mlflow"),
        ("show", cut, "-o", "report.json"),
    ):
        outcome = rankjury(*command)
        name = cut if cut in command else damaged
        assert outcome.code == 3 and name in outcome.err and "the run is damaged" in outcome.err, (command, outcome.err)
    # Tables are read when they are needed: these systems have no vectors, which is said first.
    assert rankjury("drift", cut, first).code == 2 and rankjury("drift", cut, first, "--system", "new").code == 3


def test_damaged_runs_are_removed_where_that_is_asked_for(
    rankjury: Rankjury, folder: Path, runs: list[ArchivedRun]
) -> None:
    archive = folder / ".rankjury"
    later = archive / "runs" / "20270101T000000Z-small-00000000"
    later.mkdir()
    (later / "manifest.json").write_text('{"schema": "rankjury.run/999"}')
    (archive / "runs" / "notes.txt").write_text("mine")
    assert rankjury("prune", "--damaged").code == 2, "nobody can be asked"
    first, second = rankjury("prune", "--damaged", "--dry-run").out.splitlines()
    assert first == "1 damaged run would go" and second.strip().startswith(f"{runs[1].name}  damaged: manifest.json")
    with_limit = rankjury("prune", "--damaged", "--keep", "9", "--dry-run").out.splitlines()
    assert with_limit == ["None of 3 runs would go", first, second]
    outcome = rankjury("prune", "--damaged", "--yes", "--json")
    assert outcome.code == 0 and json.loads(outcome.out)["runs"] == [runs[1].name]
    kept = Archive(archive)
    assert not runs[1].path.exists() and len(kept.runs()) == 3
    assert sorted(one.name for one in kept.damaged) == [later.name, "notes.txt"], "neither is a damaged run"


def test_odd_baselines_keep_nothing_from_being_shown(rankjury: Rankjury, folder: Path, runs: list[ArchivedRun]) -> None:
    (folder / ".rankjury" / "baselines.json").write_text("[]")
    for command in (("history",), ("show", runs[2].name), ("diff", runs[0].name, runs[2].name)):
        outcome = rankjury(*command)
        assert outcome.code == 0 and "baselines.json" in outcome.err, command
    assert rankjury("baseline").code == 3
