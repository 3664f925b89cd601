"""The pages of the archive: the list, the history, what is at work."""

import json
import os
import re
import shutil
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest

from rankjury.core.progress import NO_PROGRESS
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.history import build_series, series_steps
from rankjury.tracking.archive.manifest import manifest_bytes
from rankjury.tracking.archive.store import publish_progress
from rankjury.tracking.view.overview import PAGE, RunCatalog
from rankjury.tracking.view.server import ViewServer
from tests.tracking.archive.made import START, carried_out, put_small
from tests.tracking.archive.make_data import DATA
from tests.tracking.view.asking import get, served
from tests.tracking.view.conftest import tree_of


def listed(text: str) -> list[str]:
    """The names of the runs in a table, from above."""
    return re.findall(r'<tr data-run="([^"]+)"', text)


def test_runs_newest_first_with_what_tells_them_apart(server: ViewServer, names: list[str]) -> None:
    page = get(server, "/").text
    assert listed(page) == names[::-1]
    rows = dict(zip(listed(page), page.split("<tr data-run=")[1:], strict=True))
    assert ">baseline</span>" in rows[names[0]] and page.count(">baseline</span>") == 1
    assert "same inputs" in rows[names[2]] and page.count(">same inputs</span>") == 1
    assert '<span class="badge pass">PASS</span>' in rows[names[0]]
    assert '<span class="badge fail">FAIL</span>' in rows[names[3]]


def test_the_first_measure_of_every_system_with_its_interval(
    server: ViewServer, archive: Archive, names: list[str]
) -> None:
    row = get(server, "/").text.split(f'<tr data-run="{names[0]}"')[1].split("</tr>")[0]
    summary = archive.find(names[0]).manifest["summary"]
    for system in ("old", "new"):
        entry = summary[system]["rr"]
        low, high = entry["ci"]
        told = re.sub(r"<[^>]+>", " ", row)
        assert re.search(rf"{system}\s+{entry['mean']:.3f}\s+\[{low:.3f}, {high:.3f}\]", told), told


def test_filtered_by_the_server(server: ViewServer, names: list[str]) -> None:
    assert listed(get(server, "/?plan=small").text) == names[2::-1]
    assert listed(get(server, "/?text=MOVIES").text) == names[:2:-1]
    assert listed(get(server, "/?text=small+20260102").text) == [names[1]]
    assert listed(get(server, "/?text=combined&plan=small").text) == []
    assert listed(get(server, f"/?run={names[0]}&run={names[4]}").text) == [names[4], names[0]]
    assert "No matching runs" in get(server, "/?text=nothing+like+it").text
    script, closed = quote("<script>alert(1)</script>"), quote('"><b>')
    hostile = get(server, f"/?text={script}&plan={closed}").text
    assert "<script>alert" not in hostile and '"><b>' not in hostile


def test_many_runs_come_in_pages(tmp_path: Path, archive: Archive, names: list[str]) -> None:
    many = Archive(tmp_path / ".rankjury")
    first = archive.path / "runs" / names[0]
    for number in range(2 * PAGE + 3):
        folder = many.path / "runs" / f"20260101T{number:06}Z-small-{number:08x}"
        shutil.copytree(first, folder, copy_function=os.link)
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        (folder / "manifest.json").unlink()
        manifest["time"] = f"2026-01-01T{number // 60:02}:{number % 60:02}:00.000Z"
        (folder / "manifest.json").write_bytes(manifest_bytes(manifest))
    with served(RunCatalog(many)) as server:
        seen, target = [], "/?text=small"
        while target:
            page = get(server, target).text
            seen += listed(page)
            found = re.search(r'rel="next" href="([^"]+)"', page)
            target = found[1].replace("&amp;", "&") if found else ""
        assert len(seen) == len(set(seen)) == 2 * PAGE + 3 and seen == sorted(seen, reverse=True)
        assert listed(get(server, "/?page=99").text) == seen[-3:]


def test_an_archive_that_is_not_there_yet(tmp_path: Path) -> None:
    archive = Archive(tmp_path / ".rankjury")
    with served(RunCatalog(archive)) as server:
        assert "No runs yet" in get(server, "/").text
        assert get(server, "/history").status == 404
        assert get(server, "/api/running").json["running"] == []
        outcome, origin = carried_out(put_small(tmp_path / "small"))
        run = archive.store(outcome.report, origin, gate=outcome.gate, time=START)
        assert listed(get(server, "/").text) == [run.name]
        shutil.rmtree(run.path)
        assert get(server, f"/run/{run.name}").status == 404


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    archive = Archive(tmp_path / ".rankjury")
    (archive.path / "runs" / "20260101T000000Z-broken-00000000").mkdir(parents=True)
    with served(RunCatalog(archive)) as server:
        page = get(server, "/").text
        assert 'id="damaged"' in page and "20260101T000000Z-broken-00000000" in page


def test_history_says_that_a_damaged_run_is_not_in_it(tmp_path: Path) -> None:
    archive = Archive(tmp_path / ".rankjury")
    outcome, origin = carried_out(put_small(tmp_path / "small"))
    runs = [archive.store(outcome.report, origin, time=START + timedelta(days=day)) for day in range(2)]
    for damaged in (False, True):
        if damaged:
            (runs[0].path / "manifest.json").write_bytes(b"{}")
        with served(RunCatalog(Archive(archive.path))) as server:
            assert ('id="damaged"' in get(server, "/history?plan=small").text) is damaged


def test_a_run_whose_files_are_gone_is_told(tmp_path: Path) -> None:
    archive = Archive(tmp_path / ".rankjury")
    outcome, origin = carried_out(put_small(tmp_path / "small"))
    run = archive.store(outcome.report, origin, gate=outcome.gate, time=START)
    (run.path / "scores.parquet").unlink()
    with served(RunCatalog(archive)) as server:
        page = get(server, f"/run/{run.name}")
        assert page.status == 400 and "scores.parquet: the run is damaged" in page.text
        assert get(server, f"/api/run/{run.name}/rows?label=rr&sort=loss").status == 400
        assert get(server, "/").status == 200


def test_what_is_at_work_and_that_the_list_is_another_by_now(
    tmp_path: Path, names: list[str], archive: Archive
) -> None:
    own = Archive(tmp_path / ".rankjury")
    own.path.mkdir()
    with (
        served(RunCatalog(own)) as server,
        publish_progress(own.path, "a <plan>", "plan.toml", NO_PROGRESS) as progress,
    ):
        before = get(server, "/api/running").json
        (one,) = before["running"]
        assert one["name"] == "a <plan>" and one["of"] == 0 and "pid" not in one
        shutil.copytree(archive.path / "runs" / names[0], own.path / "runs" / names[0])
        after = get(server, "/api/running").json
        assert after["runs"] != before["runs"]
        assert f'data-runs="{after["runs"]}"' in get(server, "/").text
        progress.update("Ranking", 3, 7)


def test_history_with_steps_and_what_changed_there(server: ViewServer, archive: Archive, names: list[str]) -> None:
    page = get(server, "/history?plan=small&measure=rr").text
    assert listed(page) == names[2::-1]
    runs = archive.runs("small")
    (series,) = build_series(runs, ["rr"], ["new"])
    (step,) = series_steps(series, {run.name: run for run in runs})
    assert step.after.name == names[1]
    told = page.split('id="steps"')[1].split("</section>")[0]
    assert f"/run/{names[1]}" in told and "new.trec" in told and f"/compare?a={names[0]}&amp;b={names[1]}" in told
    assert "step: new" in page and "<svg" in page


def test_history_of_one_system_and_another_measure(server: ViewServer) -> None:
    page = get(server, f"/history?plan=movies&measure={quote('hits@10')}&system=combined").text
    heads = re.findall(r"<th scope=\"col\" class=\"number\">(.*?)</th>", page)
    assert len(heads) == 1 and "combined" in heads[0] and "hits@10" in page


@pytest.mark.parametrize(
    ("query", "status"), [("plan=none", 404), ("plan=small&measure=none", 404), ("plan=small&system=none", 404)]
)
def test_history_of_what_is_not_there(server: ViewServer, query: str, status: int) -> None:
    assert get(server, f"/history?{query}").status == status


def test_a_run_from_elsewhere_can_be_named(tmp_path: Path, archive: Archive, names: list[str]) -> None:
    other = Archive(tmp_path / "other")
    shutil.copytree(archive.path / "runs" / names[0], other.path / "runs" / names[0])
    run = other.find(names[0])
    with served(RunCatalog(Archive(tmp_path / "empty"), [run])) as server:
        assert listed(get(server, "/").text) == [names[0]]
        assert get(server, f"/run/{names[0]}").status == 200


@pytest.mark.parametrize("version", sorted(path.name for path in DATA.iterdir()))
def test_runs_of_earlier_versions_open_for_ever(version: str) -> None:
    shelf = RunCatalog(Archive(DATA / version))
    (run,) = shelf.runs()
    before = tree_of(DATA / version)
    with served(shelf) as server:
        assert listed(get(server, "/").text) == [run.name]
        page = get(server, f"/run/{run.name}")
        assert page.status == 200 and 'id="queries"' in page.text
        rows = get(server, f"/api/run/{run.name}/rows?label={quote(run.headline[0])}&sort=score:0&limit=1").json
        found = get(server, f"/api/run/{run.name}/query?id={quote(rows['rows'][0]['id'])}").json
        assert found["held"] and found["systems"][0]["items"]
        assert get(server, f"/compare?a={run.name}&b={run.name}").status == 200
    assert tree_of(DATA / version) == before
