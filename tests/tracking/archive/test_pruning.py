"""Which runs may go, and that nothing else does."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.plan.run import Outcome
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.manifest import Origin
from rankjury.tracking.archive.run import ArchivedRun
from tests.tracking.archive.made import START


@pytest.fixture
def runs(archive: Archive, made: tuple[Outcome, Origin]) -> list[ArchivedRun]:
    """Five of one plan and two of another, in turns, one a day."""
    report = made[0].report
    names = ["a", "b", "a", "a", "b", "a", "a"]
    return [archive.store(report, Origin(name), time=START + timedelta(days=day)) for day, name in enumerate(names)]


def names_of(runs: list[ArchivedRun]) -> list[str]:
    return [run.name[:8] for run in runs]


def test_all_but_the_last_of_each_plan(archive: Archive, runs: list[ArchivedRun]) -> None:
    assert names_of(archive.prunable(keep=2)) == ["20260101", "20260103", "20260104"]
    assert names_of(archive.prunable(keep=1, plan="b")) == ["20260102"]
    assert archive.prunable() == [] and archive.prunable(plan="a") == []
    assert len(archive.runs()) == len(runs), "looking removes nothing"


def test_by_age(archive: Archive, runs: list[ArchivedRun]) -> None:
    now = datetime.now(UTC)
    age = now - (START + timedelta(days=2, hours=12))
    assert names_of(archive.prunable(older_than=age)) == ["20260101", "20260102", "20260103"]
    assert names_of(archive.prunable(older_than=age, keep=4)) == ["20260101"], "with both, only what both let go"
    ancient = timedelta(0)
    assert names_of(archive.prunable(older_than=ancient)) == [f"202601{day:02}" for day in (1, 2, 3, 4, 6)]


def test_never_a_baseline_never_the_last(archive: Archive, runs: list[ArchivedRun]) -> None:
    archive.set_baseline(runs[0])
    gone = archive.prune(keep=1, older_than=timedelta(0))
    assert names_of(gone) == ["20260102", "20260103", "20260104", "20260106"]
    assert names_of(Archive(archive.path).runs()) == ["20260101", "20260105", "20260107"]
    assert all(run.faults() == [] for run in archive.runs()) and archive.troubles == []
    assert not list((archive.path / "runs").glob(".*"))
    assert archive.prune(keep=1) == []


def test_leftovers_go_even_where_no_run_does(archive: Archive, runs: list[ArchivedRun]) -> None:
    (archive.path / "runs" / ".x.1-5-0123abcd-ab.part").mkdir()
    assert archive.prune() == [] and archive.leftovers() == [] and len(archive.runs()) == len(runs)


def test_an_unknown_plan(archive: Archive, runs: list[ArchivedRun]) -> None:
    with pytest.raises(UnknownName, match="plan in the archive"):
        archive.prune(keep=1, plan="c")
    assert len(archive.runs()) == len(runs)


def test_where_there_is_no_archive(archive: Archive) -> None:
    assert archive.prune(keep=1) == [] and not archive.path.exists()


def test_baselines_by_plan(archive: Archive, runs: list[ArchivedRun]) -> None:
    assert archive.baselines == {} and archive.baseline("a") is None
    archive.set_baseline(runs[0])
    archive.set_baseline(runs[1])
    archive.set_baseline(runs[2])
    assert archive.baselines == {"a": runs[2].name, "b": runs[1].name}
    found = Archive(archive.path).baseline("a")
    assert found is not None and found.name == runs[2].name
    archive.unset_baseline("a")
    archive.unset_baseline("nothing")
    assert archive.baselines == {"b": runs[1].name}


def test_a_baseline_that_is_gone_is_none(archive: Archive, runs: list[ArchivedRun]) -> None:
    archive.set_baseline(runs[0])
    runs[0].path.rename(runs[0].path.with_name(".away"))
    assert archive.baseline("a") is None
    with pytest.raises(DataError, match="no baseline is set for a"):
        archive.find("baseline:a")


def test_a_run_of_another_archive_is_no_baseline(archive: Archive, runs: list[ArchivedRun], tmp_path: Path) -> None:
    other = Archive(tmp_path / "other")
    with pytest.raises(UsageError, match="not in this archive"):
        other.set_baseline(runs[0])


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"schema": "rankjury.baselines/9", "baselines": {}}'])
def test_baselines_that_cannot_be_read_are_told_not_replaced(
    archive: Archive, runs: list[ArchivedRun], content: str
) -> None:
    (archive.path / "baselines.json").write_text(content)
    with pytest.raises(DataError, match="baselines"):
        archive.set_baseline(runs[0])
    assert (archive.path / "baselines.json").read_text() == content
