"""A run that was opened answers as the report did from which it was stored."""

from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

from rankjury.evaluation.report import Report
from rankjury.reporting.html.page import page_context
from rankjury.reporting.html.query_data import QueryDetails, none_for_nan
from rankjury.reporting.html.rounding import round_for_display
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.view.open_run import LruCache, RowRequest
from rankjury.tracking.view.overview import RunCatalog
from rankjury.tracking.view.server import ViewServer
from tests.browser.hostile import hostile_plan
from tests.browser.reported import SAMPLES, movies_plan
from tests.tracking.archive.made import START, carried_out
from tests.tracking.view.asking import get, served

Made = tuple[QueryDetails, Report, RunCatalog, str]
PLANS = ["movies", "driving", "hostile"]


@pytest.fixture(scope="module", params=PLANS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """What the file shows of a report, the report read back, and a shelf with the run."""
    folder = tmp_path_factory.mktemp(request.param)
    plan = plan_of(request.param, folder)
    outcome, origin = carried_out(plan)
    archive = Archive(folder / ".rankjury")
    run = archive.store(outcome.report, origin, gate=outcome.gate, time=START)
    return QueryDetails.of(outcome.report), run.report, RunCatalog(archive), run.name


def plan_of(name: str, folder: Path) -> Path:
    if name == "movies":
        return movies_plan(folder / "plan")
    if name == "hostile":
        return hostile_plan(folder / "plan")
    import shutil

    shutil.copytree(SAMPLES / name, folder / "plan")
    return folder / "plan" / "rankjury.toml"


def test_every_query_is_told_as_the_file_tells_it(made: Made) -> None:
    details, _, shelf, name = made
    opened = shelf.open(name)
    rounded = {label: opened.rounded(label) for label in opened.labels}
    for row, id_ in enumerate(details.ids):
        found, expected = opened.query(id_), details.query(row)
        assert found is not None
        scores = {
            system: {label: none_for_nan(float(rounded[label][place, row])) for label in own}
            for place, (system, own) in enumerate(expected["scores"].items())
        }
        assert found == expected | {"scores": scores}
    assert opened.query("nobody asked this") is None


def bases_of(report: Report) -> list[int]:
    systems = list(report.systems)
    return [systems.index(report.baseline) if report.baseline in systems else -1] * len(systems)


def test_ids_texts_slices_and_scores_are_those_of_the_report(made: Made) -> None:
    details, report, shelf, name = made
    opened = shelf.open(name)
    assert opened.table.ids.to_list() == list(details.ids) and opened.table.texts.to_list() == list(details.texts)
    assert opened.slices == list(details.slices)
    for place, rows in enumerate(details.slices.values()):
        assert sorted(opened.members(place).tolist()) == sorted(rows)
    for label in opened.labels:
        nothing = np.full(len(details.ids), np.nan)
        expected = np.vstack([columns.get(label, nothing) for columns in details.scores.values()])
        np.testing.assert_array_equal(opened.scores(label), expected)
        shown = round_for_display(expected, bases_of(report))
        np.testing.assert_array_equal(opened.rounded(label), shown)


def test_the_page_says_what_the_file_says(made: Made) -> None:
    details, report, shelf, name = made
    opened = shelf.open(name)
    expected, found = page_context(report, details), page_context(report, opened.examples())
    for key in set(expected) - {"about"}:
        assert found[key] == expected[key], key
    assert found["about"] | {"large": False} == expected["about"] | {"large": False}
    assert opened.lists_no_gold == expected["about"]["large"]


def test_questions_over_the_wire(made: Made) -> None:
    details, _, shelf, name = made
    opened = shelf.open(name)
    label = opened.labels[0]
    with served(shelf) as server:
        api = f"/api/run/{quote(name)}"
        for id_ in details.ids[::7]:
            assert get(server, f"{api}/query?id={quote(id_)}").json == opened.query(id_)
        asked = f"label={quote(label)}&sort=score:0&down=true&offset=2&limit=7"
        assert get(server, f"{api}/rows?{asked}").json == opened.table.rows(
            RowRequest(label, "score:0", True, "", None, 2, 7)
        )
        assert get(server, f"{api}/query?id=none").status == 404
        assert get(server, f"{api}/other").status == 404


def test_slices_and_text_over_the_wire(server: ViewServer, shelf: RunCatalog, names: list[str]) -> None:
    table = shelf.open(names[3]).table
    api = f"/api/run/{names[3]}/rows?label={quote('hits@5')}"
    assert get(server, f"{api}&text=%20THE%20").json["total"] == sum("the" in text.lower() for text in table.texts)
    sizes = [get(server, f"{api}&slice={place}").json["total"] for place in range(len(shelf.open(names[3]).slices))]
    assert sum(sizes) == len(table.ids) and min(sizes) > 0


def test_the_last_few_runs_stay_open(shelf: RunCatalog, names: list[str]) -> None:
    first = shelf.open(names[0])
    assert shelf.open(names[0]) is first
    for name in names[1:]:
        shelf.open(name)
    assert shelf.open(names[0]) is not first


def test_a_cache_releases_waiting_threads_only_after_the_value_is_stored() -> None:
    cache: LruCache[str, int] = LruCache(2)
    stored = []

    class Computing(dict[str, object]):
        def pop(self, key: str, *default: object) -> object:  # type: ignore[override]
            stored.append(key in cache._values)
            return super().pop(key, *default)

    cache._computing = Computing()  # type: ignore[assignment]
    assert cache.get("a", lambda: 1) == 1 and cache.get("a", lambda: 2) == 1
    assert stored == [True]


def test_a_cache_computes_again_what_failed() -> None:
    cache: LruCache[str, float] = LruCache(2)
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: 1 / 0)
    assert cache.get("a", lambda: 1.0) == 1.0
