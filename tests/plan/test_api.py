"""rankjury.run_plan does what rankjury run does: outputs, gate, and the archive."""

import json
import sys
from pathlib import Path
from types import FrameType

import pytest

import rankjury
from rankjury.tracking.archive.archive import Archive
from tests import paths
from tests.plan import SHORT, plan_in, with_runs

PLAN = "outputs = ['r.json']\ntargets = ['ap >= 0.0']\n" + SHORT


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("RANKJURY_ARCHIVE", raising=False)
    monkeypatch.chdir(tmp_path)
    return plan_in(with_runs(tmp_path), PLAN)


class TestFiles:
    def test_beside_the_plan(self, plan: Path) -> None:
        result = rankjury.run_plan(plan, archive=False)
        assert list(result.written) == [plan.parent / "r.json"] and result.record is None
        assert json.loads((plan.parent / "r.json").read_text())["systems"].keys() == result.report.systems.keys()
        assert not (plan.parent / ".rankjury").exists()

    def test_in_another_folder(self, plan: Path, tmp_path: Path) -> None:
        assert list(rankjury.run_plan(plan, output=tmp_path / "out", archive=False).written) == [
            tmp_path / "out/r.json"
        ]
        assert not (plan.parent / "r.json").exists()

    def test_none(self, plan: Path) -> None:
        assert not rankjury.run_plan(plan, archive=False, write=False).written
        assert not (plan.parent / "r.json").exists()


class TestWhatIsNotThere:
    """A plan of run files does not run functions of what it has no table for."""

    @staticmethod
    def visited(plan: Path) -> set[str]:
        """Return the modules in which a function runs; the first run, which imports them, does not count."""
        root, found = Path(rankjury.__file__).parent, set[str]()

        def note(frame: FrameType, event: str, argument: object) -> None:
            path = Path(frame.f_code.co_filename)
            if event == "call" and frame.f_code.co_name != "<module>" and path.is_relative_to(root):
                found.add(path.relative_to(root).with_suffix("").as_posix())

        rankjury.run_plan(plan, archive=False)
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            rankjury.run_plan(plan, archive=False)
        finally:
            sys.setprofile(before)
        return found

    def test_is_not_visited(self, tmp_path: Path) -> None:
        found = self.visited(plan_in(with_runs(tmp_path), SHORT))
        assert {"plan/run", "plan/parse", "plan/systems/run", "evaluation/compare"} <= found
        other = {"archive", "bench", "draft", "earlier_reports", "folder_scan", "input_digests", "outputs", "trials"}
        assert not found & {f"plan/{name}" for name in (*other, "systems/index", "gold/keywords")}
        lower = {"core/secrets", "core/temp_files", "io/atomic", "reporting/writers/__init__"}
        assert not found & {"retrieval/engines/temp_folder", *lower}

    def test_is_visited_where_it_is_there(self, tmp_path: Path) -> None:
        found = self.visited(plan_in(with_runs(tmp_path), f"outputs = ['r.json']\nmeta.model = 'm'\n{SHORT}"))
        assert {"plan/outputs", "core/secrets", "core/temp_files", "io/atomic", "reporting/writers/__init__"} <= found


class TestArchive:
    def test_the_nearest_unless_one_is_given(self, plan: Path, tmp_path: Path) -> None:
        first = rankjury.run_plan(plan, write=False)
        assert first.record is not None and first.repeats is None and first.archive_error is None
        assert [run.name for run in Archive.at(given=tmp_path / ".rankjury").runs()] == [first.record.name]
        other = rankjury.run_plan(plan, archive=tmp_path / "kept", write=False)
        assert other.record is not None and len(Archive.at(given=tmp_path / "kept").runs()) == 1

    def test_as_the_environment_says(self, plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RANKJURY_ARCHIVE", str(tmp_path / "named"))
        rankjury.run_plan(plan, write=False)
        assert len(Archive.at(given=tmp_path / "named").runs()) == 1

    def test_a_repetition_comes_to_the_same(self, plan: Path) -> None:
        first, again = rankjury.run_plan(plan, write=False), rankjury.run_plan(plan, write=False)
        assert first.record is not None and again.repeats == (first.record.name, True)

    def test_what_cannot_be_kept_is_not_lost(self, plan: Path, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("no folder")
        result = rankjury.run_plan(plan, archive=tmp_path / "file", write=False)
        assert result.record is None and result.archive_error is not None and result.report.systems


def test_the_gate_is_strict_where_that_is_asked(plan: Path) -> None:
    assert not rankjury.run_plan(plan, archive=False, write=False).gate.strict  # type: ignore[union-attr]
    assert rankjury.run_plan(plan, archive=False, write=False, strict=True).gate.strict  # type: ignore[union-attr]


def test_an_archived_run_calls_queries_as_the_fresh_report_does(tmp_path: Path) -> None:
    movies = paths.SAMPLES / "movies" / "rankjury.toml"
    result = rankjury.run_plan(movies, archive=tmp_path / "kept", write=False)
    (run,) = Archive.at(given=tmp_path / "kept").runs()
    queries = [change.query for change in result.report.changes]
    assert [run.report.query_name(query) for query in queries] == [result.report.query_name(query) for query in queries]
    assert any(result.report.query_name(query) != query for query in queries)
