"""Measures over runs, their steps, and what changed there."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from rankjury.errors import UnknownName
from rankjury.evaluation.provenance import differences_between
from rankjury.plan.run import Outcome
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.files import format_time
from rankjury.tracking.archive.history import build_series, series_steps
from rankjury.tracking.archive.manifest import Origin
from rankjury.tracking.archive.run import ArchivedRun
from tests.tracking.archive.made import START


def after(run: ArchivedRun, day: int, mean: float | None, **changes: Any) -> ArchivedRun:
    """A run as it would have been on another day, with another mean of rr in the system new."""
    manifest = json.loads(json.dumps(run.manifest))
    manifest |= {"time": format_time(START + timedelta(days=day))} | changes
    entry = manifest["summary"]["new"]["rr"]
    ci = None if mean is None else [mean - 0.05, mean + 0.05]
    manifest["summary"]["new"]["rr"] = entry | {"mean": mean, "ci": ci, "se": 0.02}
    return ArchivedRun(run.path.with_name(f"day-{day:03}"), manifest)


def stepping(run: ArchivedRun) -> list[ArchivedRun]:
    inputs = {**run.manifest["inputs"], "new.trec": "f" * 64}
    runs = [after(run, day, 0.5 + 0.001 * (day % 2)) for day in range(6)]
    return runs + [after(run, day, 0.6 + 0.001 * (day % 2), inputs=inputs) for day in range(6, 10)]


def test_points_with_intervals_and_changes(run: ArchivedRun) -> None:
    runs = stepping(run)
    (series,) = build_series(runs, ["rr"], ["new"])
    assert (series.system, series.measure, len(series.points)) == ("new", "rr", 10)
    first, second = series.points[:2]
    assert (first.time, first.run, first.mean) == ("2026-01-01T06:30:00.000Z", "day-000", 0.5)
    assert (first.low, first.high, first.difference) == (0.45, 0.55, None)
    assert second.difference == pytest.approx(0.001)


def test_a_step_and_what_changed_there(run: ArchivedRun) -> None:
    runs = stepping(run)
    (series,) = build_series(runs, ["rr"], ["new"])
    (found,) = series_steps(series, {one.name: one for one in runs})
    assert (found.before.name, found.after.name, found.step.index) == ("day-005", "day-006", 6)
    assert found.step.difference == pytest.approx(0.1) and found.step.beyond is True
    assert [str(one) for one in found.changed] == ["input new.trec has other contents"]
    assert found.to_json()["run"] == "day-006" and json.dumps(found.to_json(), allow_nan=False)


def test_runs_without_it_and_gaps(run: ArchivedRun) -> None:
    runs = stepping(run)
    summary = {"old": run.manifest["summary"]["old"]}
    runs[3] = after(run, 3, None)
    runs[4] = ArchivedRun(runs[4].path, {**runs[4].manifest, "summary": summary})
    (series,) = build_series(runs, ["rr"], ["new"])
    assert len(series.points) == 9 and series.points[3].mean is None and series.points[4].difference is None
    (found,) = series_steps(series, {one.name: one for one in runs})
    assert (found.after.name, found.step.index) == ("day-006", 5)


def test_other_conventions_begin_anew(run: ArchivedRun) -> None:
    runs = stepping(run)
    for one in runs[6:]:
        one.manifest["measures"]["rr"]["convention"] = "rr(rel=2)"
    (series,) = build_series(runs, ["rr"], ["new"])
    assert series.points[6].difference is None and series.points[7].difference is not None
    assert series_steps(series, {one.name: one for one in runs}) == [], "no step where nothing can be compared"
    assert "convention rr: rr → rr(rel=2)" in [
        str(one) for one in differences_between(runs[5].manifest, runs[6].manifest)
    ]


def test_names_that_no_run_has(run: ArchivedRun) -> None:
    with pytest.raises(UnknownName, match="Did you mean new"):
        build_series([run], ["rr"], ["nwe"])
    with pytest.raises(UnknownName, match=r"unknown measure in these runs: 'ndcg@33'\. Did you mean ndcg@3"):
        build_series([run], ["ndcg@33"], ["new"])
    assert build_series([], [], []) == []


def test_everything_that_may_differ_is_told(run: ArchivedRun) -> None:
    old = run.manifest
    plan = {**old["plan"], "content": {**old["plan"]["content"], "targets": ["rr >= 0.5"], "name": "x"}}
    new = after(
        run,
        1,
        0.5,
        plan=plan,
        packages={**old["packages"], "numpy": "99.0"},
        versions={**old["versions"], "model": {"declared": "v2"}},
        git={"commit": "c" * 40, "dirty": False},
        machine={**old["machine"], "cores": 1000},
        inputs={"gold.qrels": old["inputs"]["gold.qrels"]},
    )
    told = [str(one) for one in differences_between(run.manifest, new.manifest)]
    assert 'plan targets: ["rr >= 0.3"] → ["rr >= 0.5"]' in told and not [one for one in told if "plan name" in one]
    assert "input new.trec is gone" in told and "version model.declared is new: v2" in told
    assert f"package numpy: {old['packages']['numpy']} → 99.0" in told
    assert "git is new" in told and f"machine cores: {old['machine']['cores']} → 1000" in told
    assert differences_between(run.manifest, run.manifest) == []


def test_commits(run: ArchivedRun) -> None:
    sides = [
        after(run, 0, 0.5, git=git)
        for git in ({"commit": "a" * 40, "dirty": False}, {"commit": "b" * 40, "dirty": True})
    ]
    assert [str(one) for one in differences_between(*(one.manifest for one in sides))] == ["git: aaaaaaaa → bbbbbbbb"]
    dirty = after(run, 0, 0.5, git={"commit": "a" * 40, "dirty": True})
    assert [str(one) for one in differences_between(sides[0].manifest, dirty.manifest)] == [
        "git work tree: as committed → with changes"
    ]


def test_real_runs(archive: Archive, made: tuple[Outcome, Origin], tmp_path: Path) -> None:
    report, origin = made[0].report, made[1]
    for day in range(4):
        archive.store(report, origin, time=START + timedelta(days=day))
    runs = archive.runs()
    series = build_series(runs, ["rr", "ndcg@3"], ["old", "new"])
    assert [(one.measure, one.system) for one in series] == [
        *(("rr", "old"), ("rr", "new"), ("ndcg@3", "old"), ("ndcg@3", "new"))
    ]
    assert all(series_steps(one, {run.name: run for run in runs}) == [] for one in series)
    assert {point.difference for one in series for point in one.points[1:]} == {0.0}


def test_the_last_runs_keep_the_steps_of_all() -> None:
    from rankjury.tracking.archive.history import HistoryPoint, Series, SeriesStep, Step, last_points

    points = tuple(HistoryPoint(f"t{n}", f"r{n}", 0.5, None, None, None, 9, "rr") for n in range(5))
    steps = [SeriesStep(Step(index, 0.4, 0.5, None), None, None, ()) for index in (1, 4)]  # type: ignore[arg-type]
    series, kept = last_points(Series("s", "rr", points), steps, {"r3", "r4"})
    assert [point.run for point in series.points] == ["r3", "r4"]
    assert [one.step.index for one in kept] == [1]
