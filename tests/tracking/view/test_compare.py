"""Two runs compared: the same figures as rankjury diff, every query with both rankings."""

import re
from html import unescape
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.compare import compare_runs
from rankjury.tracking.view.compare import ALL, CHANGED, RunPair, SideBySide
from rankjury.tracking.view.open_run import RowRequest
from rankjury.tracking.view.overview import RunCatalog
from rankjury.tracking.view.server import ViewServer
from tests.tracking.archive.made import kept, put_small
from tests.tracking.view.asking import get, served
from tests.tracking.view.conftest import placed


@pytest.fixture(scope="module")
def pair(shelf: RunCatalog, names: list[str]) -> RunPair:
    return RunPair(shelf.open(names[3]), shelf.open(names[4]))


def test_only_what_changed_is_shown_at_first(pair: RunPair) -> None:
    assert pair.changed == ["combined"] and "denseanchor" in pair.systems and "random" not in pair.systems
    assert SideBySide(pair).systems == ["a: combined", "b: combined"] and SideBySide(pair).bases == [-1, 0]
    assert len(SideBySide(pair, ALL).systems) == 2 * len(pair.systems)
    assert SideBySide(pair, "system densevibe").names == ["densevibe"]


def test_the_page_has_the_figures_of_the_comparison(server: ViewServer, archive: Archive, names: list[str]) -> None:
    page = get(server, f"/compare?a={names[3]}&b={names[4]}").text
    table = page.split('id="comparison-table"')[1].split("</table>")[0]
    rows = [unescape(re.sub(r"<[^>]+>", " ", row)).split() for row in table.split("<tr")[2:]]
    expected = [
        one
        for one in compare_runs(archive.find(names[3]), archive.find(names[4])).comparisons
        if one.system == "combined"
    ]
    assert len(rows) == len(expected) == 3
    for row, one in zip(rows, expected, strict=True):
        assert (row[1], row[2]) == (one.measure, one.system)
        assert float(row[3]) == pytest.approx(one.baseline_mean, abs=1e-3)
        assert float(row[4]) == pytest.approx(one.mean, abs=1e-3)
        assert float(row[5].replace("−", "-")) == pytest.approx(one.difference, abs=1e-3)
        assert row[-2:] == [f"{one.better}/{one.equal}/{one.worse}", f"{one.n}"]
    assert "systems.combined.weights.denseanchor: 0.5 → 0.9" in page
    assert (
        "Exactly the same in both runs" in page
        and "densevibe" in page.split("Exactly the same in both runs")[1].split("</p>")[0]
    )


def test_changed_verdicts(tmp_path: Path) -> None:
    archive = Archive(tmp_path / ".rankjury")
    plan = put_small(tmp_path / "small")
    plan.write_text(plan.read_text().replace("rr >= 0.3", "rr >= 0.7"))
    for number, rank in enumerate((1, 3)):
        (plan.parent / "new.trec").write_text(placed(rank))
        kept(archive, plan, number)
    first, second = archive.runs()
    with served(RunCatalog(archive)) as server:
        page = get(server, f"/compare?a={first.name}&b={second.name}").text
    told = page.split("Changed verdicts")[1].split("</table>")[0]
    assert told.count("<tr>") == 2 and told.index("PASS") < told.index("FAIL")


def test_rows_hold_both_runs(pair: RunPair) -> None:
    beside = SideBySide(pair)
    found = beside.table.rows(RowRequest("hits@5", "loss", limit=100))
    before, after = (side.rounded("hits@5")[side.systems.index("combined")] for side in (pair.before, pair.after))
    assert found["total"] == len(before)
    gains = []
    for row in found["rows"]:
        assert row["values"] == [before[row["row"]], after[row["row"]]]
        gains.append(round(row["values"][1] - row["values"][0], 9))
    assert gains == sorted(gains) and gains[0] < 0 < gains[-1]


def test_a_query_has_both_rankings_and_one_gold(pair: RunPair) -> None:
    beside = SideBySide(pair, ALL)
    for id_ in beside.table.ids.to_list()[::9]:
        found = beside.query(id_)
        assert found is not None and found["held"]
        assert [one["name"] for one in found["systems"]] == beside.systems
        assert [gold["name"] for gold in found["golds"]] == ["overall", "content", "vibes"]
        sides = [side.query(id_) for side in (pair.before, pair.after)]
        for at, side in enumerate(sides):
            assert side is not None
            items = {one["name"]: one["items"] for one in side["systems"]}
            for name in pair.systems:
                assert found["systems"][beside.systems.index(f"{'ab'[at]}: {name}")]["items"] == items[name]
                label = f"{'ab'[at]}: {name}"
                place, row = beside.systems.index(label), beside.table.row_of(id_)
                shown = {measure: beside.rounded(measure)[place, row] for measure in beside.labels}
                assert found["scores"][label] == shown, "the digits are those of the table"
                assert shown == pytest.approx({measure: side["scores"][name][measure] for measure in shown}, rel=1e-3)
    assert beside.query("none") is None


def test_queries_and_golds_that_only_one_run_has(tmp_path: Path) -> None:
    archive = Archive(tmp_path / ".rankjury")
    plan = put_small(tmp_path / "small")
    first = kept(archive, plan)
    gold, kinds = plan.parent / "gold.qrels", plan.parent / "queries.csv"
    gold.write_text(gold.read_text().replace("q01 0 a 1\nq01 0 b 0", "q01 0 a 0\nq01 0 b 1") + "q99 0 a 1\n")
    for file, more in ((gold, ""), (kinds, "q99,odd\n")):
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(line for line in lines if not line.startswith("q03")) + more)
    second = kept(archive, plan, 1)
    shelf = RunCatalog(archive)
    beside = SideBySide(RunPair(shelf.open(first.name), shelf.open(second.name)), ALL)
    ids = beside.table.ids.to_list()
    assert ids[-1] == "q03" and "q99" in ids[:-1] and len(ids) == 13
    rows = {row["id"]: row["values"] for row in beside.table.rows(RowRequest("rr", limit=50))["rows"]}
    assert rows["q99"][0] is None and rows["q99"][1] is not None
    assert rows["q03"][1] is None and rows["q03"][0] is not None
    names = lambda id_: [gold["name"] for gold in (beside.query(id_) or {})["golds"]]  # noqa: E731
    assert names("q00") == [""] and names("q01") == ["", "b"]
    assert [one["name"] for one in (beside.query("q03") or {})["systems"]] == ["a: old", "a: new"]
    last = beside.table.rows(RowRequest("rr", "loss", limit=50))["rows"]
    assert {row["id"] for row in last[-2:]} == {"q03", "q99"}, "what is undefined comes last"


def test_over_the_wire(server: ViewServer, pair: RunPair, names: list[str]) -> None:
    api = f"/api/compare/{names[3]}/{names[4]}"
    beside = SideBySide(pair, CHANGED)
    asked = f"label={quote('hits@5')}&sort=difference:1&limit=9"
    assert get(server, f"{api}/changed/rows?{asked}").json == beside.table.rows(
        RowRequest("hits@5", "difference:1", limit=9)
    )
    assert get(server, f"{api}/changed/query?id=tt0133093").json == beside.query("tt0133093")
    one = get(server, f"{api}/{quote('system densevibe')}/rows?label={quote('hits@5')}").json
    assert len(one["rows"][0]["values"]) == 2
    assert get(server, f"{api}/{quote('system none')}/rows?label={quote('hits@5')}").status == 404
    assert get(server, f"{api}/nothing/rows?label={quote('hits@5')}").status == 404


def test_what_cannot_be_compared_is_told(server: ViewServer, names: list[str]) -> None:
    apart = get(server, f"/compare?a={names[0]}&b={names[4]}")
    assert apart.status == 400 and "no system in common" in apart.text
    for query in ("", f"a={names[0]}", f"run={names[0]}", "&".join(f"run={name}" for name in names[:3])):
        found = get(server, f"/compare?{query}")
        assert found.status == 400 and "choose two" in found.text
    assert get(server, f"/compare?a={names[0]}&b=none").status == 404


def test_the_form_of_the_list_leads_to_the_same_page(server: ViewServer, names: list[str]) -> None:
    chosen = get(server, f"/compare?run={names[4]}&run={names[3]}")
    assert chosen.status == 200 and chosen.body == get(server, f"/compare?a={names[3]}&b={names[4]}").body


def test_a_run_beside_itself(server: ViewServer, names: list[str]) -> None:
    page = get(server, f"/compare?a={names[0]}&b={names[0]}").text
    assert "Every value of every query is the same in both" in page and "Nothing that was recorded" in page


def test_a_long_comparison_is_waited_for(shelf: RunCatalog, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from threading import Event

    done = Event()

    def slowly(*runs: object) -> object:
        done.wait(20)
        return compare_runs(*runs)  # type: ignore[arg-type]

    monkeypatch.setattr("rankjury.tracking.view.compare.compare_runs", slowly)
    monkeypatch.setattr("rankjury.tracking.view.pages._SECONDS_BEFORE_WAITING", 0.05)
    target = f"/compare?a={names[0]}&b={names[1]}"
    with served(shelf) as server:
        waiting = get(server, target)
        assert waiting.headers["refresh"] == "1" and "being compared" in waiting.text
        done.set()
        while (found := get(server, target)).headers.get("refresh"):
            pass
        assert found.status == 200 and 'id="comparison-table"' in found.text


def test_scores_of_both_are_rounded_as_of_one(pair: RunPair) -> None:
    beside = SideBySide(pair, ALL)
    np.testing.assert_array_equal(beside.rounded("rr@5")[0], pair.before.rounded("rr@5")[0])
