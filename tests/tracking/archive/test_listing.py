"""Which archive, and which of its runs."""

from collections.abc import Callable
from datetime import timedelta
from itertools import count
from json import loads
from pathlib import Path
from shutil import copytree

import pytest

from rankjury.errors import DataError, RankjuryError, UnknownName, UsageError
from rankjury.plan.run import Outcome
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.manifest import Origin, manifest_bytes
from rankjury.tracking.archive.run import ArchivedRun
from tests.tracking.archive.made import PLAN, START, kept, put_small


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A work tree with folders in it, and nobody's home above."""
    monkeypatch.setenv("HOME", str(tmp_path))
    inner = tmp_path / "tree" / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "tree" / ".git").mkdir()
    monkeypatch.chdir(inner)
    return inner


def test_the_nearest(here: Path) -> None:
    assert Archive.at().path == Path(".rankjury"), "where there is none, here"
    (here.parents[1] / ".rankjury").mkdir()
    assert Archive.at().path == here.parents[1] / ".rankjury", "the folder with .git is looked at too"
    (here.parent / ".rankjury").mkdir()
    assert Archive.at().path == here.parent / ".rankjury"
    (here / ".rankjury").mkdir()
    assert Archive.at().path == Path(".rankjury")
    assert Archive.at(here.parent).path == here.parent / ".rankjury"


def test_not_beyond_the_work_tree_nor_home(here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".rankjury").mkdir()
    assert Archive.at().path == Path(".rankjury")
    (tmp_path / "tree" / ".git").rmdir()
    assert Archive.at().path == tmp_path / ".rankjury"
    monkeypatch.setenv("HOME", str(tmp_path / "tree"))
    assert Archive.at().path == Path(".rankjury")


def test_a_file_of_that_name_is_none(here: Path) -> None:
    (here.parent / ".rankjury").write_text("")
    assert Archive.at().path == Path(".rankjury")


def test_what_is_given_goes_before_the_environment(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / ".rankjury").mkdir()
    monkeypatch.setenv("RANKJURY_ARCHIVE", "/somewhere")
    assert Archive.at().path == Path("/somewhere")
    assert Archive.at(path=Path("/else")).path == Path("/else")
    assert Archive.at(path=here).path == here / ".rankjury", "the folder that holds it is meant as well"


@pytest.fixture
def several(archive: Archive, tmp_path: Path) -> list[ArchivedRun]:
    """Three runs of one plan, of which the last two are the same; then one of another plan."""
    plan = put_small(tmp_path / "small")
    first = kept(archive, plan, 0)
    plan.write_text(PLAN.replace("0.3", "0.35"))
    second, third = kept(archive, plan, 1), kept(archive, plan, 2)
    other = kept(archive, put_small(tmp_path / "other", PLAN.replace('"small"', '"other"')), 3)
    return [first, second, third, other]


def test_names_beginnings_and_hashes(archive: Archive, several: list[ArchivedRun]) -> None:
    first, second, third, other = several
    assert [run.name for run in archive.runs()] == [run.name for run in several]
    assert archive.find(second.name).name == second.name
    assert archive.find("20260102").name == second.name
    assert archive.find(first.digest[:8]).name == archive.find(first.digest).name == first.name
    assert archive.find(third.digest[:6]).name == third.name, "of the same plan and inputs the last"
    assert archive.find(str(other.path)).name == other.name
    assert archive.find(str(other.path)).path == other.path


def test_words(archive: Archive, several: list[ArchivedRun]) -> None:
    _, second, third, other = several
    assert archive.find("latest").name == other.name
    assert archive.find("latest:small").name == third.name
    archive.set_baseline(second)
    assert archive.find("baseline").name == archive.find("baseline:small").name == second.name
    archive.set_baseline(other)
    with pytest.raises(UsageError, match="several plans have a baseline; expected baseline:small or baseline:other"):
        archive.find("baseline")


def test_what_names_no_run_or_several(archive: Archive, several: list[ArchivedRun]) -> None:
    with pytest.raises(UsageError, match=r"'2026' names several runs"):
        archive.find("2026")
    with pytest.raises(UnknownName, match="Did you mean latest"):
        archive.find("lates")
    with pytest.raises(UnknownName, match="Did you mean small"):
        archive.find("latest:smal")
    with pytest.raises(DataError, match="no baseline is set for small"):
        archive.find("baseline:small")


@pytest.mark.parametrize("text", ["", "..", ".", "/", "../runs", "x" * 5000, "a\0b", "latest:", "*"])
def test_odd_texts_are_refused(archive: Archive, run: ArchivedRun, text: str) -> None:
    for look in (archive.find, archive.named):
        with pytest.raises(RankjuryError):
            look(text)


def test_exactly_this_name(archive: Archive, several: list[ArchivedRun]) -> None:
    assert archive.named(several[0].name).name == several[0].name
    for text in (
        several[0].name[:-1],
        "latest",
        str(several[0].path),
        f"../runs/{several[0].name}",
        f"{several[0].name}/",
    ):
        with pytest.raises(UnknownName):
            archive.named(text)


@pytest.mark.parametrize("text", ["latest", "baseline", "anything"])
def test_an_empty_archive_says_so(archive: Archive, text: str) -> None:
    with pytest.raises(DataError, match=r"rankjury run stores one|rankjury baseline set"):
        archive.find(text)
    assert archive.runs() == [] and archive.troubles == [] and not archive.path.exists()


def test_runs_that_are_gone_are_not_listed(archive: Archive, several: list[ArchivedRun], made: Outcome) -> None:
    assert len(archive.runs()) == 4
    several[1].path.rename(several[1].path.with_name(".hidden"))
    assert [run.name for run in archive.runs()] == [several[n].name for n in (0, 2, 3)]


@pytest.fixture
def stored(archive: Archive, made: tuple[Outcome, Origin]) -> Callable[[], ArchivedRun]:
    """Stores a run, a minute after the last."""
    outcome, origin = made
    minutes = count()
    return lambda: archive.store(
        outcome.report, origin, gate=outcome.gate, time=START + timedelta(minutes=next(minutes))
    )


class TestDamage:
    """A damaged run says so, and never lets an older one pass for it."""

    def test_the_latest_is_not_an_older_one(self, archive: Archive, stored: Callable[[], ArchivedRun]) -> None:
        first, last = stored(), stored()
        (last.path / "manifest.json").write_text("{")
        fresh = Archive(archive.path)
        with pytest.raises(DataError, match="a later run cannot be read"):
            fresh.find("latest")
        assert fresh.find(first.name).name == first.name

    def test_by_its_whole_name_it_tells_what_is_wrong(
        self, archive: Archive, stored: Callable[[], ArchivedRun]
    ) -> None:
        run = stored()
        (run.path / "manifest.json").write_text("{")
        with pytest.raises(DataError, match="not JSON"):
            Archive(archive.path).find(run.name)

    @pytest.mark.parametrize(
        "spoiled",
        [{"summary": []}, {"files": {"a": 3}}, {"measures": 3}, {"time": "yesterday"}, {"time": "2026-11-17T05:09:35"}],
    )
    def test_odd_manifests_are_troubles(
        self, archive: Archive, stored: Callable[[], ArchivedRun], spoiled: dict[str, object]
    ) -> None:
        whole, odd = stored(), stored()
        manifest = loads((odd.path / "manifest.json").read_text())
        (odd.path / "manifest.json").write_bytes(manifest_bytes(manifest | spoiled))
        fresh = Archive(archive.path)
        assert [run.name for run in fresh.runs()] == [whole.name]
        assert len(fresh.troubles) == 1

    def test_a_file_that_was_cut_is_named(self, archive: Archive, stored: Callable[[], ArchivedRun]) -> None:
        run = stored()
        path = run.path / "scores.parquet"
        path.write_bytes(path.read_bytes()[:-20])
        with pytest.raises(DataError, match="bytes") as told:
            run.report.to_json(queries=True)
        assert "scores.parquet" in str(told.value)

    def test_a_baseline_is_one_of_its_own_runs(
        self, archive: Archive, stored: Callable[[], ArchivedRun], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run = stored()
        monkeypatch.chdir(run.path)
        archive.set_baseline(archive.find("."))
        assert archive.baselines == {run.plan: run.name}
        elsewhere = tmp_path / "elsewhere" / run.name
        copytree(run.path, elsewhere)
        with pytest.raises(UsageError, match="not in this archive"):
            archive.set_baseline(ArchivedRun.open(elsewhere))


@pytest.mark.parametrize("name", ["x" * 5000, "x\0y"])
def test_a_name_that_no_folder_can_have(name: str) -> None:
    with pytest.raises(DataError, match="cannot be an archive"):
        Archive.at(path=Path(name))
