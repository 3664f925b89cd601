"""Sweeps: every build once, needless points left out, nothing measured twice, nothing lost."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rankjury.core.journal import Journal
from rankjury.core.progress import Progress
from rankjury.errors import UnknownName, UsageError
from rankjury.retrieval.bench.grid import SweepGrid
from rankjury.retrieval.bench.sweep import find_dominating, library_versions, run_sweep, sweep_conditions
from rankjury.retrieval.bench.sweep_result import PAIRED_ROUNDS, SweepPoint, SweepResult
from tests.retrieval.bench.support import ITEMS, Glance, bench, journal_in, lines_of, point

GRID = SweepGrid({"m": [4, 8]}, {"reach": [400, 50, 200, 100]})
"""Of 200 items, a reach of 200 finds everything."""
QUICK: dict[str, Any] = {"rounds": 1, "warm_up": 0}


def swept(grid: SweepGrid = GRID, folder: Path | None = None, **more: Any) -> SweepResult:
    """With a journal where there is a folder for it."""
    tried = more.pop("bench", None) or bench()
    given = QUICK | more
    if folder is None:
        return run_sweep(tried, grid, name="glance", **given)
    with journal_in(folder) as journal:
        return run_sweep(tried, grid, name="glance", journal=journal, **given)


def statuses(points: Sequence[SweepPoint]) -> list[str]:
    return [one.status for one in points]


@pytest.mark.usefixtures("glance")
class TestMeasuring:
    def test_each_build_is_made_once_and_closed_and_all_its_searches_share_it(self) -> None:
        found = swept(prune=False)
        assert Glance.built == [4, 8]
        assert Glance.searched == 2 * [50, 100, 200, 400]
        assert [dict(one.build) for one in found.points] == 4 * [{"m": 4}] + 4 * [{"m": 8}]
        assert [one.search["reach"] for one in found.points] == 2 * [50, 100, 200, 400]

    def test_points_tell_what_the_bench_measures(self) -> None:
        found = swept(SweepGrid({}, {"reach": [100]}), target=0.5, limit_p95_ms=9.0)
        (one,) = found.points
        with bench().build() as built:
            recall = built.recall({"reach": 100})
        assert (one.recall, one.recall_ci, one.recall_p5, one.n) == (recall.mean, recall.ci, recall.p5, recall.n)
        assert one.p50 and one.p95 and one.p99 and one.p50.ms <= one.p95.ms <= one.p99.ms
        assert one.build_seconds is not None and one.size_bytes == ITEMS * 8 * 4
        assert (found.k, found.items, found.dimensions, found.queries, found.level) == (5, 200, 8, 12, 0.95)
        assert (found.target, found.limit_p95_ms) == (0.5, 9.0)
        assert dict(found.timed) == {"rounds": 1, "warm_up": 0, "concurrency": 1}

    def test_recall_rises_to_all(self) -> None:
        recalls = [one.recall or 0.0 for one in swept(SweepGrid({}, GRID.search), prune=False).points]
        assert recalls == sorted(recalls)
        assert recalls[0] < recalls[1] < recalls[2] == recalls[3] == 1.0

    def test_progress_tells_builds_and_points_and_ends_with_all(self) -> None:
        told: list[tuple[str, int, int]] = []
        swept(progress=Progress(lambda *step: told.append(step)))
        assert {of for _, _, of in told} == {10}
        done = [step for _, step, _ in told]
        assert done == sorted(done) and done[0] == 0 and done[-1] == 10
        assert ("glance m=8: building", 5, 10) in told
        assert ("glance m=8: reach=50", 6, 10) in told

    def test_what_the_engine_does_not_know_is_refused_before_anything_is_built(self) -> None:
        with pytest.raises(UnknownName, match=r"search\.depth"):
            swept(SweepGrid({}, {"depth": [1]}))
        with pytest.raises(UsageError, match="found 0 rounds"):
            swept(rounds=0)
        assert Glance.built == []


@pytest.mark.usefixtures("glance")
class TestPruning:
    def test_above_a_setting_that_finds_everything_nothing_is_measured(self) -> None:
        found = swept()
        assert statuses(found.points) == 2 * ["measured", "measured", "measured", "pruned"]
        assert Glance.searched == 2 * [50, 100, 200]
        pruned = found.points[3]
        assert pruned.by == {"reach": 200}
        assert pruned.because == "reach=200 finds everything, and is no slower"
        assert pruned.recall is None and pruned.p95 is None

    def test_all_are_there_measured_or_not(self) -> None:
        pruned, whole = swept(), swept(prune=False)
        assert [one.title for one in pruned.points] == [one.title for one in whole.points]
        assert statuses(whole.points) == 8 * ["measured"]

    def test_other_parameters_are_not_held_against_each_other(self) -> None:
        found = swept(SweepGrid({}, {"twice": [False, True], "reach": [200, 300]}))
        assert statuses(found.points) == ["measured", "pruned", "measured", "pruned"]

    def test_two_parameters_at_once(self) -> None:
        found = swept(SweepGrid({}, {"reach": [200, 400], "share": [0.5, 1.0]}))
        assert {one.title: one.status for one in found.points} == {
            "reach=200 share=0.5": "measured",
            "reach=200 share=1": "measured",
            "reach=400 share=0.5": "measured",
            "reach=400 share=1": "pruned",
        }

    def test_what_is_pruned_would_have_found_no_more(self) -> None:
        whole = {one.title: one for one in swept(prune=False).points}
        for one in swept().of("pruned"):
            assert one.by is not None
            by = whole[f"m={one.build['m']} reach={one.by['reach']}"]
            assert (whole[one.title].recall or 0.0) <= (by.recall or 0.0)

    def test_between_two_that_find_equally_much_nothing_is_needed(self) -> None:
        low, high = point(0.8, 1.0, reach=100), point(0.8, 2.0, reach=300)
        assert find_dominating({"reach": 200}, [low, high], Glance.search_params) is low
        assert find_dominating({"reach": 400}, [low, high], Glance.search_params) is None
        assert find_dominating({"reach": 50}, [low, high], Glance.search_params) is None

    def test_the_target_prunes_nothing_for_more_may_be_found_above(self) -> None:
        low = point(0.96, 1.0, reach=100)
        assert find_dominating({"reach": 200}, [low], Glance.search_params) is None

    def test_a_point_with_unanswered_queries_makes_none_needless(self) -> None:
        assert find_dominating({"reach": 200}, [point(1.0, 1.0, reach=100, failed=1)], Glance.search_params) is None


@pytest.mark.usefixtures("glance")
class TestResuming:
    def test_nothing_is_built_or_searched_twice(self, tmp_path: Path) -> None:
        first = swept(folder=tmp_path)
        before = (tmp_path / "journal.jsonl").read_bytes()
        Glance.built.clear()
        Glance.searched.clear()
        again = swept(folder=tmp_path)
        assert (Glance.built, Glance.searched) == ([], [])
        assert again.points == first.points
        assert (first.resumed, again.resumed) == (0, 6)
        assert (tmp_path / "journal.jsonl").read_bytes() == before

    def test_a_line_a_point_none_for_what_was_pruned(self, tmp_path: Path) -> None:
        swept(folder=tmp_path)
        assert len(lines_of(tmp_path / "journal.jsonl")) == 6

    def test_new_values_are_measured_beside_the_old_ones(self, tmp_path: Path) -> None:
        swept(SweepGrid({"m": [4]}, {"reach": [50]}), tmp_path)
        Glance.searched.clear()
        found = swept(SweepGrid({"m": [4, 8]}, {"reach": [50, 100]}), tmp_path)
        assert Glance.searched == [100, 50, 100]
        assert found.resumed == 1
        assert found.notes == ("m=4 was built again for the searches that were left",)

    def test_without_pruning_what_was_pruned_is_measured_now(self, tmp_path: Path) -> None:
        swept(folder=tmp_path)
        Glance.searched.clear()
        assert statuses(swept(folder=tmp_path, prune=False).points) == 8 * ["measured"]
        assert Glance.searched == [400, 400]

    def test_usual_values_spelled_out_are_the_same(self, tmp_path: Path) -> None:
        swept(SweepGrid({}, {"reach": [50]}), tmp_path)
        again = swept(SweepGrid({"m": [8]}, {"reach": [50], "twice": [False]}), tmp_path)
        assert again.resumed == 1

    @pytest.mark.parametrize(
        ("change", "word"),
        [
            ({"bench": {"k": 4}}, "(k)"),
            ({"bench": {"seed": 7}}, "(the items' vectors, the queries' vectors)"),
            ({"bench": {"metric": "ip"}}, "(metric)"),
            ({"bench": {"settings": {"url": "http://other"}}}, "(where the engine is)"),
            ({"rounds": 2}, "(rounds)"),
            ({"warm_up": 1}, "(warm_up)"),
        ],
    )
    def test_under_other_conditions_it_begins_anew_and_says_why(
        self, tmp_path: Path, change: dict[str, Any], word: str
    ) -> None:
        grid = SweepGrid({"m": [4]}, {"reach": [50, 100]})
        swept(grid, tmp_path)
        found = swept(grid, tmp_path, **{**change, "bench": bench(**change.get("bench", {}))})
        assert found.resumed == 0
        assert found.notes == (f"2 settings were measured before under other conditions {word}: measured again",)
        assert swept(grid, tmp_path).resumed == 2  # the old ones are still there

    def test_another_sweep_of_the_same_index_shares_its_points(self, tmp_path: Path) -> None:
        swept(folder=tmp_path)
        with journal_in(tmp_path) as journal:
            assert run_sweep(bench(), GRID, name="other", journal=journal, **QUICK).resumed == 6

    def test_a_line_that_was_tampered_with_is_measured_anew(self, tmp_path: Path) -> None:
        swept(SweepGrid({}, {"reach": [50]}), tmp_path)
        path = tmp_path / "journal.jsonl"
        path.write_text(path.read_text().replace('"build_seconds"', '"seconds"'))
        found = swept(SweepGrid({}, {"reach": [50]}), tmp_path)
        assert (statuses(found.points), found.resumed) == (["measured"], 0)

    def test_secrets_are_neither_kept_nor_part_of_what_decides(self, tmp_path: Path) -> None:
        settings = {"url": "postgresql://me:hunter2@host/db", "api_key": "s3cret"}
        secret = bench(settings=settings)
        swept(SweepGrid({}, {"reach": [50]}), tmp_path, bench=secret)
        kept = (tmp_path / "journal.jsonl").read_text()
        assert "hunter2" not in kept and "s3cret" not in kept
        other = bench(settings={"url": "postgresql://me:changed@host/db", "api_key": "new"})
        timed = {"rounds": 1, "warm_up": 0, "concurrency": 1}
        assert sweep_conditions(secret, **timed) == sweep_conditions(other, **timed)
        assert sweep_conditions(secret, **timed) != sweep_conditions(
            bench(settings={"url": "postgresql://me@else/db"}), **timed
        )

    def test_what_may_be_secret_decides_but_cannot_be_guessed_back(self) -> None:
        """A parameter of no known name may change what is found; a password cannot."""
        timed = {"rounds": 1, "warm_up": 0, "concurrency": 1}

        def identity(**params: Any) -> str:
            settings = {"url": "http://host/find", "params": json.dumps(params)}
            return str(sweep_conditions(bench("endpoint", settings=settings), **timed)["settings"])

        assert identity(depth_of_mine=1, key="a") == identity(depth_of_mine=1, key="b")
        assert identity(depth_of_mine=1) != identity(depth_of_mine=2)
        plain = json.dumps({"params": json.dumps({"depth_of_mine": 1}), "url": "http://host/find"}, sort_keys=True)
        assert identity(depth_of_mine=1) != sha256(plain.encode()).hexdigest(), "not a quick hash"


def test_the_libraries_of_an_engines_extra_decide_too() -> None:
    class OfVectors(Glance):
        extra = "vectors"

    assert library_versions(OfVectors).keys() - library_versions(Glance).keys() == {"safetensors"}
    assert {"rankjury", "numpy"} <= library_versions(Glance).keys()


@pytest.mark.usefixtures("glance")
class TestFailures:
    def test_a_lost_engine_keeps_what_was_measured_and_the_next_build_is_tried(self, tmp_path: Path) -> None:
        Glance.lost_at.add((4, 100))
        found = swept(folder=tmp_path)
        assert statuses(found.points) == ["measured", "failed", "failed", "failed", *3 * ["measured"], "pruned"]
        assert found.points[1].because == "RuntimeError: server closed the connection unexpectedly"
        why = "not tried after reach=100 failed: RuntimeError: server closed the connection unexpectedly"
        assert {one.because for one in found.points[2:4]} == {why}
        assert len(lines_of(tmp_path / "journal.jsonl")) == 4

    def test_a_second_sweep_tries_only_what_failed(self, tmp_path: Path) -> None:
        Glance.lost_at.add((4, 100))
        first = swept(folder=tmp_path)
        Glance.lost_at.clear()
        Glance.built.clear()
        Glance.searched.clear()
        again = swept(folder=tmp_path)
        assert (Glance.built, Glance.searched) == ([4], [100, 200])
        assert statuses(again.points) == 2 * [*3 * ["measured"], "pruned"]
        assert again.points[0] == first.points[0] and again.points[4:] == first.points[4:]

    def test_an_engine_that_is_lost_while_it_is_timed_has_failed(self) -> None:
        Glance.lost_when_timed.add((4, 50))
        found = swept(SweepGrid({"m": [4, 8]}, {"reach": [50]}))
        assert statuses(found.points) == ["failed", "measured"]
        assert found.points[0].because is not None
        assert "12 of 12 timed queries failed: RuntimeError: server closed the connection" in found.points[0].because

    def test_a_lost_engine_is_not_waited_for_query_by_query(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("rankjury.retrieval.bench.sweep._SILENT", 0.05)
        monkeypatch.setattr(Glance, "waits", 0.11)  # the loop tells of itself ten times a second
        Glance.lost_when_timed.add((4, 50))
        found = swept(SweepGrid({"m": [4]}, {"reach": [50, 100]}), rounds=100)
        assert statuses(found.points) == ["failed", "failed"]
        assert found.points[0].because == "RuntimeError: server closed the connection unexpectedly"
        assert Glance.lost < 5

    def test_an_impossible_setting_is_skipped_and_not_tried_again(self, tmp_path: Path) -> None:
        """It used to fail in every sweep again, and its build was made anew each time."""
        Glance.impossible |= {4, 100}
        first = swept(SweepGrid({"m": [4, 8]}, {"reach": [50, 100, 200]}), tmp_path)
        assert statuses(first.points) == [*3 * ["skipped"], "measured", "skipped", "measured"]
        assert first.points[0].because == "m is 4; expected a divisor of 8"
        assert first.points[4].because == "reach is 100; expected k or more"
        Glance.built.clear()
        again = swept(SweepGrid({"m": [4, 8]}, {"reach": [50, 100, 200]}), tmp_path)
        assert (Glance.built, again.points, again.resumed) == ([], first.points, 2)

    def test_an_impossible_setting_is_tried_where_the_data_is_another(self, tmp_path: Path) -> None:
        Glance.impossible.add(4)
        grid = SweepGrid({"m": [4]}, {"reach": [50]})
        swept(grid, tmp_path)
        Glance.impossible.clear()
        assert statuses(swept(grid, tmp_path, bench=bench(seed=7)).points) == ["measured"]

    def test_a_setting_that_is_refused_loses_only_itself(self) -> None:
        Glance.refused.add(100)
        found = swept(SweepGrid({"m": [4]}, GRID.search))
        assert statuses(found.points) == ["measured", "failed", "measured", "pruned"]
        assert found.points[1].because == "reach is 100; expected another"

    def test_a_build_that_fails_loses_its_points(self, tmp_path: Path) -> None:
        Glance.unbuildable.add(4)
        found = swept(folder=tmp_path)
        assert statuses(found.points) == [*4 * ["failed"], *3 * ["measured"], "pruned"]
        assert found.points[0].because == "could not be built: no room for m=4"
        told: list[tuple[str, int, int]] = []
        swept(progress=Progress(lambda *step: told.append(step)))
        assert told[-1][1:] == (10, 10)

    def test_an_index_that_cannot_be_closed_costs_nothing_but_a_note(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Glance, "stuck", True)
        found = swept(SweepGrid({"m": [4]}, {"reach": [50]}))
        assert statuses(found.points) == ["measured"]
        assert found.notes == ("m=4 could not be closed: OSError: will not close",)

    def test_ctrl_c_ends_it_closed_and_with_what_was_measured(self, tmp_path: Path) -> None:
        def interrupt(what: str, done: int, of: int) -> None:
            if what.endswith("reach=200"):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            swept(folder=tmp_path, progress=Progress(interrupt))
        assert len(lines_of(tmp_path / "journal.jsonl")) == 2
        assert swept(folder=tmp_path).resumed == 2


@pytest.mark.usefixtures("glance")
class TestComparing:
    AIMED: ClassVar[dict[str, Any]] = {"target": 0.1, "rounds": 2}
    GRID = SweepGrid({"m": [4, 8]}, {"reach": [100, 200]})

    def test_the_settings_that_meet_the_target_take_turns_in_every_round(self) -> None:
        found = swept(self.GRID, **self.AIMED)
        assert Glance.built == [4, 8], "what is compared is not built again"
        assert found.times is not None
        assert (found.times.rounds, found.times.asked) == (PAIRED_ROUNDS, 2)
        settings = [(one.build["m"], one.search["reach"]) for one in found.points]
        assert [(build["m"], search["reach"]) for build, search in found.times.settings] == settings
        turns = Glance.turns[-PAIRED_ROUNDS * 4 * 2 :]
        rounds = [turns[start : start + 8 : 2] for start in range(0, len(turns), 8)]
        assert all(sorted(one) == sorted(settings) for one in rounds)
        assert len({tuple(one) for one in rounds}) > 4, "their order is another in most rounds"
        assert {found.times.mean(one) is not None for one in found.points} == {True}

    def test_those_below_the_target_are_neither_compared_nor_held_open(self) -> None:
        found = swept(SweepGrid({"m": [4, 8, 16]}, {"reach": [5, 50]}), target=1.0)
        assert (found.times, Glance.most_open) == (None, 1)

    def test_without_a_target_or_by_size_nothing_is_compared(self) -> None:
        assert swept(self.GRID).times is None
        assert swept(self.GRID, cheapest="size", **self.AIMED).times is None

    def test_a_second_sweep_takes_the_comparison_from_the_journal(self, tmp_path: Path) -> None:
        first = swept(self.GRID, tmp_path, **self.AIMED)
        Glance.built.clear()
        Glance.turns.clear()
        again = swept(self.GRID, tmp_path, **self.AIMED)
        assert (Glance.built, Glance.turns) == ([], [])
        assert (again.times, again.points, again.cheapest()) == (first.times, first.points, first.cheapest())
        assert swept(self.GRID, tmp_path, target=0.1, rounds=2).resumed == 4

    def test_interrupted_while_comparing_it_compares_again_and_measures_nothing_else(self, tmp_path: Path) -> None:
        def interrupt(what: str, done: int, of: int) -> None:
            if what.endswith("comparing 4 settings, round 3 of 16"):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            swept(self.GRID, tmp_path, progress=Progress(interrupt), **self.AIMED)
        Glance.built.clear()
        Glance.searched.clear()
        found = swept(self.GRID, tmp_path, **self.AIMED)
        assert (Glance.built, Glance.searched, found.resumed) == ([4, 8], [], 4)
        assert found.times is not None
        assert found.notes == ("m=4 was built again to be compared", "m=8 was built again to be compared")

    def test_an_engine_that_is_lost_while_comparing_leaves_no_winner(self) -> None:
        def lose(what: str, done: int, of: int) -> None:
            if what.endswith("round 3 of 16"):
                Glance.lost_when_timed.add((8, 100))

        found = swept(SweepGrid({"m": [4, 8]}, {"reach": [100]}), progress=Progress(lose), **self.AIMED)
        assert statuses(found.points) == ["measured", "measured"]
        assert found.times is None
        assert "could not be compared: 2 of 2 timed queries failed: RuntimeError: server closed" in found.notes[0]

    def test_more_builds_than_memory_holds_are_not_held_together(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("rankjury.retrieval.bench.sweep._MAX_OPEN_BYTES", 3 * ITEMS * 8 * 4)
        found = swept(SweepGrid({"m": [4, 5, 6, 7, 8]}, {"reach": [100]}), **self.AIMED)
        assert Glance.most_open == 4, "three, and the one that is being measured"
        assert found.times is not None and len(found.times.settings) == 3
        assert found.notes[0].startswith("2 settings that met the target took no part in the interleaved rounds")
        slowest = sorted((one.p95.ms, one.title) for one in found.points if one.p95)[3:]
        assert {title for _, title in slowest} == {one.title for one in found.points if found.times.of(one) is None}

    def test_progress_ends_with_all(self) -> None:
        told: list[tuple[str, int, int]] = []
        swept(self.GRID, progress=Progress(lambda *step: told.append(step)), **self.AIMED)
        assert {of for _, _, of in told} == {7}
        assert told[-1][1] == 7 and ("glance: comparing 4 settings, round 1 of 16", 6, 7) in told


REAL = SweepGrid({"m": [4, 16]}, {"ef_search": [8, 16, 32, 300]})
KILLED = """
import sys, time
from pathlib import Path
from rankjury.core.journal import Journal
from rankjury.retrieval.bench.sweep import run_sweep
from rankjury.core.progress import Progress
from tests.retrieval.bench.support import bench
from tests.retrieval.bench.test_sweep import QUICK, REAL

def wait(what, done, of):
    if done == 7:  # one point of the second build is measured
        print("there", flush=True)
        time.sleep(60)

with Journal(Path(sys.argv[1])) as journal:
    run_sweep(bench("faiss-hnsw"), REAL, name="hnsw", journal=journal, prune=False, progress=Progress(wait), **QUICK)
"""


class TestRealEngines:
    def test_killed_in_the_midst_it_goes_on_where_it_was(self, tmp_path: Path) -> None:
        path = tmp_path / "journal.jsonl"
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None and process.stdout.readline() == "there\n"
        finally:
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
        kept = lines_of(path)
        assert [json.loads(line)["point"]["build"]["m"] for line in kept] == [4, 4, 4, 4, 16]
        told: list[str] = []
        with Journal(path) as journal:
            found = run_sweep(
                bench("faiss-hnsw"), REAL, name="hnsw", journal=journal, prune=False, **QUICK,
                progress=Progress(lambda what, done, of: told.append(what)),
            )  # fmt: skip
        assert lines_of(path)[:5] == kept
        assert [json.loads(line)["point"]["search"]["ef_search"] for line in lines_of(path)[5:]] == [16, 32, 300]
        assert told == ["hnsw", "hnsw m=16: building", *(f"hnsw m=16: ef_search={n}" for n in (16, 32, 300)), "hnsw"]
        assert (found.resumed, statuses(found.points)) == (5, 8 * ["measured"])
        assert found.notes == ("m=16 was built again for the searches that were left",)

    @pytest.mark.parametrize(
        ("engine", "grid", "least", "most"),
        [
            ("faiss-hnsw", SweepGrid({"m": [4, 16]}, {"ef_search": [5, 200]}), "m=4 ef_search=5", "m=16 ef_search=200"),
            (
                "faiss-ivf",
                SweepGrid({"nlist": [16]}, {"nprobe": [16, 1, 4]}),
                "nlist=16 nprobe=1",
                "nlist=16 nprobe=16",
            ),
            ("exact", SweepGrid({}, {}), "as usual", "as usual"),
        ],
    )
    def test_more_finds_more(self, engine: str, grid: SweepGrid, least: str, most: str) -> None:
        found = run_sweep(bench(engine), grid, name=engine, prune=False, **QUICK)
        recalls = {one.title: one.recall or 0.0 for one in found.points}
        assert recalls[least] == min(recalls.values())
        assert recalls[most] == max(recalls.values()) == 1.0
        assert found.frontier()[-1].recall == 1.0

    def test_impossible_settings_of_faiss_are_skipped_and_the_rest_is_compared(self, tmp_path: Path) -> None:
        grid = SweepGrid({"nlist": [4, 5000], "m": [3, 4]}, {"nprobe": [1, 4]})
        found = [swept(grid, tmp_path, bench=bench("faiss-ivfpq"), target=0.01, rounds=4) for _ in range(2)]
        assert {statuses(one.points)[place] for one in found for place in (0, 1, 4, 5, 6, 7)} == {"skipped"}
        assert statuses(found[0].points)[2:4] == ["measured", "measured"]
        assert "does not divide 8 dimensions" in (found[0].points[0].because or "")
        assert "the corpus has 200 vectors" in (found[0].points[6].because or "")
        assert found[0].times is not None and len(found[0].times.settings) == 2
        assert (found[1].times, found[1].points) == (found[0].times, found[0].points)

    def test_the_times_are_of_the_sweep(self) -> None:
        started = time.perf_counter()
        (one,) = run_sweep(bench("exact"), SweepGrid({}, {}), name="exact", rounds=2, warm_up=0).points
        spent = 1e3 * (time.perf_counter() - started)
        assert one.latency["n"] == 24
        assert one.p99 is not None and 0 < one.p99.ms < spent
