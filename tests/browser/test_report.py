"""The report as a file that people open: what stands where, sorting, filtering, one query side by side, keys."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.browser.ground import watched
from tests.browser.reported import Reported, items_of, reported, rows_of, rows_on_all_pages
from tests.tracking.archive.made import put_small, ranked

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ORDER = [
    "summary",
    "headline",
    "verdicts",
    "slices",
    "queries",
    "examples",
    "curves",
    "first_scores",
    "space",
    "provenance",
    "warnings",
]
REVERSED = """
gold = "gold.qrels"
measures = ["rr@10"]
baseline = "old"

[systems]
new = "new.trec"
old = "old.trec"
"""
CLOSE = 2e-3
"""Scores on the page have fewer digits, by which they are also ordered."""


@pytest.fixture(scope="module")
def opened(browser: "Browser", movies: Reported) -> Iterator["Page"]:
    """The page for tests that only read it: it is opened once."""
    with watched(browser) as watch:
        yield movies.opened(watch.page)
        assert watch.faults == []


def losses(movies: Reported) -> dict[str, float]:
    """By query how much the headline's first measure lost to the baseline in the system where it lost most."""
    report = movies.report
    label = report.headline[0]
    compared = dict.fromkeys(one.system for one in report.comparisons)
    base = report.scores[report.baseline or ""][label]
    lost = np.min([report.scores[name][label] - base for name in compared], axis=0)
    return dict(zip(movies.queries, lost.tolist(), strict=True))


def scores_of(movies: Reported, place: int) -> dict[str, float]:
    scores = list(movies.report.scores.values())[place]
    return dict(zip(movies.queries, scores[movies.report.headline[0]].tolist(), strict=True))


def is_ascending(values: list[float]) -> bool:
    return bool((np.diff(values) >= -CLOSE).all())


def test_sections_stand_in_the_order_of_importance(opened: "Page", movies: Reported) -> None:
    found = opened.locator("#report > section").evaluate_all("parts => parts.map(part => part.id)")
    assert [one for one in found if one in ORDER] == ORDER
    linked = opened.locator("nav.sections a").evaluate_all("links => links.map(link => link.hash.slice(1))")
    assert linked == found
    assert opened.title() == "movies"


def test_verdicts_are_all_there_failures_first(opened: "Page", movies: Reported) -> None:
    assert movies.gate is not None
    shown = [text.lower() for text in opened.locator("#verdicts tbody .badge").all_inner_texts()]
    assert sorted(shown) == sorted(verdict.outcome for verdict in movies.gate.verdicts)
    places = [("fail", "unsure", "pass").index(one) for one in shown]
    assert places == sorted(places)
    assert set(shown) == {"fail", "unsure", "pass"}


def test_the_first_screen_answers(opened: "Page", movies: Reported) -> None:
    """The sentences, a chip for every verdict, the means with their intervals and differences, and the chart."""
    report = movies.report
    assert movies.gate is not None
    sentences = opened.inner_text("#summary")
    assert all(sentence in sentences for sentence in report.summary)
    assert opened.locator("#verdict-chips .badge").count() == min(12, len(movies.gate.verdicts))
    head = opened.locator("#headline-table thead th").all_inner_texts()
    rows = opened.locator("#headline-table tbody tr").all_inner_texts()
    assert len(rows) == len(report.headline) and len(head) == 1 + len(report.systems)
    for label, row in zip(report.headline, rows, strict=True):
        for name, estimates in report.estimates.items():
            estimate = estimates[label]
            assert any(title.startswith(name) for title in head)
            assert f"{estimate.mean:.2f}"[:3] in row
            assert estimate.ci is None or "[" in row
    compared = {one.system for one in report.comparisons}
    assert opened.locator("#headline-table .difference").count() == len(compared) * len(report.headline)
    box = opened.locator("#headline figure svg").first.bounding_box()
    assert box is not None and box["y"] < 800, "the chart begins on the first screen"


def test_the_largest_losses_come_first(page: "Page", movies: Reported) -> None:
    shown = rows_on_all_pages(movies.opened(page))
    lost = losses(movies)
    assert sorted(shown) == sorted(movies.queries)
    assert lost[shown[0]] < 0
    assert is_ascending([lost[query] for query in shown])


def test_a_heading_sorts_both_ways(page: "Page", movies: Reported) -> None:
    movies.opened(page)
    scores = scores_of(movies, 1)
    heading = page.locator('th:has(button[data-sort="score:1"])')
    for direction, sign in (("ascending", 1), ("descending", -1)):
        page.click('th button[data-sort="score:1"]')
        page.wait_for_selector(f'th[aria-sort="{direction}"]')
        assert heading.get_attribute("aria-sort") == direction
        assert is_ascending([sign * scores[query] for query in rows_on_all_pages(page)])
        page.click("#pager [data-page=first]")
    page.click('th button[data-sort="score:1"]')
    page.wait_for_function("() => document.activeElement.dataset.sort === 'score:1'")


def test_the_filter_finds_by_text_and_by_id(page: "Page", movies: Reported) -> None:
    movies.opened(page)
    every = movies.queries
    title = movies.report.names[every[7]]
    page.keyboard.press("/")
    assert page.evaluate("() => document.activeElement.id") == "filter"
    page.keyboard.type(title.upper())
    page.wait_for_function("() => document.querySelectorAll('tr[data-query]').length < 10")
    assert set(rows_of(page)) == {one for one in every if title.lower() in movies.report.names[one].lower()}
    page.fill("#filter", every[3])
    page.wait_for_selector(f'tr[data-query="{every[3]}"]')
    assert every[3] in rows_of(page)
    page.fill("#filter", "nothing is called like this")
    page.wait_for_function("() => !document.querySelector('tr[data-query]')")
    assert "no matching queries" in page.inner_text("#range")
    page.fill("#filter", "")
    page.wait_for_selector("tr[data-query]")
    assert sorted(rows_on_all_pages(page)) == sorted(every)


def test_a_slice_is_chosen(page: "Page", movies: Reported) -> None:
    movies.opened(page)
    part = movies.report.slices[-1]
    page.select_option("#slice", label=part.name)
    page.wait_for_function(f"() => document.querySelectorAll('tr[data-query]').length === {len(part.rows)}")
    assert set(rows_of(page)) == {movies.queries[row] for row in part.rows}


def test_keys_move_open_and_close(page: "Page", movies: Reported) -> None:
    first, second = rows_of(movies.opened(page))[:2]
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector("#query[data-shown]")
    assert page.get_attribute("#query", "data-shown") == first
    page.keyboard.press("j")
    page.wait_for_function(f"() => document.querySelector('#query').dataset.shown === {second!r}")
    page.keyboard.press("k")
    page.wait_for_function(f"() => document.querySelector('#query').dataset.shown === {first!r}")
    assert not page.is_visible("#query-table")
    page.keyboard.press("Escape")
    page.wait_for_selector("#query-table")
    assert not page.is_visible("#query")
    assert page.get_attribute("tr.at", "data-query") == first


def test_the_way_back_is_the_browsers_own(page: "Page", movies: Reported) -> None:
    first = rows_of(movies.opened(page))[0]
    page.click("tr[data-query] a")
    page.wait_for_selector("#query[data-shown]")
    page.go_back()
    page.wait_for_selector("#query-table")
    page.go_forward()
    page.wait_for_selector("#query[data-shown]")
    assert page.get_attribute("#query", "data-shown") == first


def test_a_query_has_its_own_address(page: "Page", movies: Reported) -> None:
    query = movies.queries[11]
    page.goto(f"{movies.address}#query={query}")
    page.wait_for_selector("#query[data-shown]")
    assert page.get_attribute("#query", "data-shown") == query
    assert movies.report.names[query] in page.inner_text("#query-title")


def test_gold_and_systems_stand_side_by_side(page: "Page", movies: Reported) -> None:
    row, answers = 4, movies.answers
    page.goto(f"{movies.address}#query={movies.queries[row]}")
    page.wait_for_selector("#query[data-shown]")
    columns = page.locator("#query .column")
    listed = [*answers.golds.values(), *answers.systems.values()]
    assert columns.count() == len(listed)
    for place, one in enumerate(listed):
        shown = columns.nth(place).locator("li[data-item]").evaluate_all("all => all.map(one => one.dataset.item)")
        assert shown == items_of(one, row)
    boxes = [columns.nth(place).bounding_box() for place in range(len(listed))]
    golds = len(answers.golds)
    for side in (boxes[:golds], boxes[golds:]):
        tops, lefts = zip(*((box["y"], box["x"]) for box in side if box), strict=True)
        assert len(set(tops)) == 1
        assert list(lefts) == sorted(set(lefts))
    item = items_of(listed[-1], row)[0]
    assert movies.report.names[item] in columns.last.locator("li[data-item]").first.inner_text()


def test_moves_are_those_of_the_rankings(page: "Page", movies: Reported) -> None:
    row, report, answers = 4, movies.report, movies.answers
    page.goto(f"{movies.address}#query={movies.queries[row]}")
    page.wait_for_selector("#query[data-shown]")
    base = {one.item: one.rank for one in answers.systems[report.baseline or ""].of(row)}
    compared = {one.system for one in report.comparisons} & set(answers.systems)
    assert compared
    for name in compared:
        column = page.locator("#query .column", has=page.locator("h3", has_text=re.compile(f"^{name}$")))
        assert column.locator(".move").all_inner_texts() == [
            moved(one.rank, base.get(one.item)) for one in answers.systems[name].of(row)
        ]


def moved(rank: int, earlier: int | None) -> str:
    if earlier is None:
        return ">10"  # of 49, of which the first 10 are kept
    return "=" if earlier == rank else f"{'▲' if earlier > rank else '▼'}{abs(earlier - rank)}"


def test_examples_are_five_and_five_and_open(page: "Page", movies: Reported) -> None:
    movies.opened(page)
    best, worst = page.locator(".examples:not([hidden]) .cases").all()
    assert (best.locator("> li").count(), worst.locator("> li").count()) == (5, 5)
    worst.locator("a").first.click()
    page.wait_for_selector("#query[data-shown]")
    name = page.locator("select[data-switch=examples] option").first.inner_text()
    assert name == "combined", "the system that the report is about comes first"
    place = list(movies.report.systems).index(name)
    scores = scores_of(movies, place)
    opened = page.get_attribute("#query", "data-shown")
    assert scores[opened or ""] == pytest.approx(min(scores.values()))


def test_charts_say_what_they_show(opened: "Page", movies: Reported) -> None:
    charts = opened.locator("figure svg[role=img]")
    assert charts.count() >= 4
    named = charts.evaluate_all(
        "all => all.map(one => [...one.getAttribute('aria-labelledby').split(' ')]"
        ".map(id => document.getElementById(id).textContent.length > 3))"
    )
    assert all(map(all, named))


def test_conventions_provenance_and_warnings_are_whole(opened: "Page", movies: Reported) -> None:
    opened.click("#provenance summary")
    text = opened.inner_text("#provenance")
    for scores in movies.report.scores.values():
        assert all(f"@{label.partition('@')[2]}" in text for label in scores.labels)
        assert all(label.partition("@")[0] in text for label in scores.labels)
    assert movies.report.provenance["made"] in text
    warned = opened.inner_text("#warnings")
    assert all(warning in warned for warning in movies.report.warning_lines)


def test_all_but_queries_is_there_without_a_script(browser: "Browser", movies: Reported) -> None:
    with watched(browser, java_script_enabled=False) as watch:
        watch.page.goto(movies.address)
        text = watch.page.inner_text("main")
    assert "The table of queries needs JavaScript" in text
    assert all(name in text for name in movies.report.systems)


def test_the_policy_lets_no_other_script_run(browser: "Browser", movies: Reported) -> None:
    with watched(browser) as watch:
        movies.opened(watch.page)
        watch.page.evaluate(
            "() => { const one = document.createElement('script'); one.textContent = 'window.ran = 1';"
            " document.body.append(one); }"
        )
        assert watch.page.evaluate("() => window.ran") is None
        assert any("Content Security Policy" in fault for fault in watch.faults)


@pytest.fixture(scope="module")
def reversed_plan(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    """Two systems, of which the plan names the baseline last; one query has an item that only the first finds."""
    folder = tmp_path_factory.mktemp("reversed")
    plan = put_small(folder / "plan", REVERSED)
    (plan.parent / "old.trec").write_text("q00 Q0 a 1 2.5241 t\n" + ranked(0).split("\n", 3)[3])
    (plan.parent / "new.trec").write_text("q00 Q0 b 1 2.5241 t\nq00 Q0 a 2 2.4348 t\n" + ranked(1).split("\n", 3)[3])
    return reported(plan, folder)


def test_the_baseline_comes_first_whatever_the_order_of_the_plan(page: "Page", reversed_plan: Reported) -> None:
    reversed_plan.opened(page)
    assert list(reversed_plan.report.systems) == ["new", "old"]
    heads = page.locator("#query-table thead th").all_inner_texts()
    assert [head.split()[0] for head in heads[1:]] == ["old", "new"] and ["Δ" in head for head in heads[1:]] == [
        False,
        True,
    ]
    place = reversed_plan.queries.index("q00")
    label = page.locator("#measure option").first.inner_text()
    exact = [float(reversed_plan.report.scores[name][label][place]) for name in ("old", "new")]
    assert exact[0] > exact[1]
    cells = page.locator('tr[data-query="q00"] td')
    assert [float(cell.split()[0]) for cell in cells.all_inner_texts()] == pytest.approx(exact, abs=0.0005)
    page.goto(f"{reversed_plan.address}#query=q00")
    page.wait_for_selector("#query[data-shown]")
    assert page.locator("#query .column:not(.gold) h3 bdi").all_inner_texts() == ["old", "new"]
    assert page.locator("#query-body tbody th").all_inner_texts() == ["old", "new"]


def test_an_item_that_the_baseline_did_not_find_says_so(page: "Page", reversed_plan: Reported) -> None:
    page.goto(f"{reversed_plan.address}#query=q00")
    page.wait_for_selector("#query[data-shown]")
    assert page.locator("#query .column .move").all_inner_texts() == ["not in baseline", "▼1"]
    assert page.locator("#query .column .score").all_inner_texts() == ["2.524", "2.524", "2.435"]
