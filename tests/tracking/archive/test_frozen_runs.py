"""Runs that earlier versions stored open for ever; ``make_data`` stored them."""

import json
from pathlib import Path

import pytest

from rankjury.evaluation.gate import check_targets
from rankjury.evaluation.targets import parse_target
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.compare import compare_runs
from rankjury.tracking.archive.history import build_series
from rankjury.tracking.archive.manifest import CURRENT
from rankjury.tracking.archive.run import ArchivedRun
from tests.tracking.archive.made import QUERIES, kept, put_small, ranked
from tests.tracking.archive.make_data import DATA

VERSIONS = sorted(path.name for path in DATA.iterdir())


@pytest.fixture(params=VERSIONS)
def old(request: pytest.FixtureRequest) -> ArchivedRun:
    archive = Archive(DATA / request.param)
    assert archive.troubles == []
    (run,) = archive.runs()
    return run


def test_every_version_is_there() -> None:
    assert [f"version-{number}" for number in range(1, CURRENT + 1)] == VERSIONS
    for name in VERSIONS:
        (manifest,) = (DATA / name).glob("runs/*/manifest.json")
        assert json.loads(manifest.read_bytes())["schema"] == f"rankjury.run/{name.rpartition('-')[2]}", (
            "as it was stored"
        )


def test_all_of_it_is_read(old: ArchivedRun) -> None:
    assert old.faults() == [] and old.plan == "small" and old.time == "2026-01-01T06:30:00.000Z"
    assert old.verdict == "pass" and old.systems == ["old", "new"] and old.headline == ["rr", "ndcg@3"]
    expected = [1 / (1 + (query + 1) % 3) for query in range(QUERIES)]
    assert old.report.scores["new"]["rr"].tolist() == pytest.approx(expected)
    assert old.report.estimates["new"]["rr"].mean == pytest.approx(sum(expected) / QUERIES)
    one = old.answer("q01")
    assert one is not None and one.systems["new"].items.to_list() == ["b", "c", "a"]
    assert one.golds[one.gold_of["new"]].items.to_list()[0] == "a"
    assert old.tables.item_names() == {"a": "Anchor", "b": "Buoy"} and old.tables.scan("queries.parquet").collect()[
        "slices"
    ][3].to_list() == ["type=odd"]


def test_it_is_compared_gated_and_shown_with_runs_of_today(old: ArchivedRun, archive: Archive, tmp_path: Path) -> None:
    folder = tmp_path / "small"
    plan = put_small(folder)
    (folder / "new.trec").write_text(ranked(2))
    new = kept(archive, plan, 1)
    compared = compare_runs(old, new)
    assert {one.n for one in compared.comparisons} == {QUERIES} and compared.not_compared == ()
    (series,) = build_series([old, new], ["rr"], ["old"])
    assert series.points[1].difference == 0.0
    gate = check_targets([parse_target("rr drop <= 0.5")], new.report, old.report)
    assert [one.outcome for one in gate.verdicts] == ["pass", "pass"]
