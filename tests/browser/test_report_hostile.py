"""Hostile texts in a report are text: nothing runs, nothing is asked for, and the layout holds."""

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from rankjury.core.text import visible
from rankjury.reporting.html.page import render_page
from tests.browser.ground import PHONE, overflow, pictured_if_thorough, serious_violations
from tests.browser.hostile import HOSTILE, LONE_SURROGATE, MARK, SYSTEMS, hostile_report, item_of, title_of
from tests.browser.reported import Reported, rows_on_all_pages

if TYPE_CHECKING:
    from playwright.sync_api import Page

TEXTS = list(HOSTILE.values())
PANE = """mark => {
  const every = (selector, of) => [...document.querySelectorAll(selector)].map(of);
  return [
    document.querySelector("#query-title").textContent,
    every("#query .gold li[data-item]", one => one.dataset.item),
    every("#query .column:not(.gold) h3 .name", one => one.textContent),
    mark in window,
  ];
}"""
LONGEST = 300
"""Characters of a text that the page promises to show."""


def seen(text: str) -> str:
    """As a page shows it: control characters by their symbols, and blanks as HTML folds them."""
    return folded(visible(text))


def folded(text: str) -> str:
    return " ".join(text.replace("…", "").split())


def opened(page: "Page", hostile: Reported, query: str) -> None:
    page.goto(f"{hostile.address}#query={quote(query, safe='')}")
    page.wait_for_function("id => document.querySelector('#query').dataset.shown === id", arg=query)


def test_no_text_runs_and_the_layout_holds(page: "Page", hostile: Reported) -> None:
    hostile.opened(page)
    assert page.evaluate(f"() => window.{MARK}") is None
    assert page.locator("#report img, #report iframe, #report base, main script").count() == 0
    for size in (PHONE, {"width": 1280, "height": 800}):
        page.set_viewport_size(size)
        assert overflow(page) == 0
    pictured_if_thorough(page, "hostile-report")


def test_every_query_is_listed(page: "Page", hostile: Reported) -> None:
    assert sorted(rows_on_all_pages(hostile.opened(page))) == sorted(TEXTS)


def test_every_query_opens_as_text(page: "Page", hostile: Reported) -> None:
    hostile.opened(page)
    faults = {name: found for place, name in enumerate(HOSTILE) if (found := faults_of(page, place))}
    assert faults == {}


def faults_of(page: "Page", place: int) -> list[str]:
    """What is wrong with the pane of a query."""
    page.evaluate("id => { location.hash = `query=${encodeURIComponent(id)}`; }", TEXTS[place])
    page.wait_for_function("id => document.querySelector('#query').dataset.shown === id", arg=TEXTS[place])
    title, items, systems, ran = page.evaluate(PANE, MARK)
    near = [item_of(TEXTS[(place + step) % len(TEXTS)]) for step in range(3)]
    checks = {
        "title": folded(title)[:LONGEST] == seen(title_of(place)[:LONGEST])[:LONGEST],
        "items": items == near,
        "systems": [folded(one) for one in systems] == [seen(name) for name in SYSTEMS],
        "ran": not ran,
        "width": overflow(page) == 0,
    }
    return [name for name, holds in checks.items() if not holds]


def test_a_query_holds_on_a_phone(page: "Page", hostile: Reported) -> None:
    page.set_viewport_size(PHONE)
    for name in ("long word", "long title", "long emoji", "combining", "override", "end of title"):
        opened(page, hostile, HOSTILE[name])
        assert overflow(page) == 0
    pictured_if_thorough(page, "hostile-query-phone")


def test_keys_walk_through_all_of_them(page: "Page", hostile: Reported) -> None:
    hostile.opened(page)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector("#query[data-shown]")
    walked = [page.get_attribute("#query", "data-shown")]
    for _ in TEXTS[1:]:
        page.keyboard.press("j")
        page.wait_for_function("last => document.querySelector('#query').dataset.shown !== last", arg=walked[-1])
        walked.append(page.get_attribute("#query", "data-shown"))
    assert sorted(filter(None, walked)) == sorted(TEXTS)


def test_hostile_texts_are_found_by_the_filter(page: "Page", hostile: Reported) -> None:
    hostile.opened(page)
    for name in ("script", "quotes", "selector", "template", "emoji", "right to left", "backslashes"):
        page.fill("#filter", HOSTILE[name])
        page.wait_for_function(
            "id => [...document.querySelectorAll('tr[data-query]')].some(row => row.dataset.query === id)"
            " && document.querySelectorAll('tr[data-query]').length < 4",
            arg=HOSTILE[name],
        )


def test_hostile_texts_make_nothing_hard_to_use(page: "Page", hostile: Reported, axe: None) -> None:
    hostile.opened(page)
    assert serious_violations(page) == []


def test_hostile_texts_make_no_query_hard_to_use(page: "Page", hostile: Reported, axe: None) -> None:
    page.emulate_media(color_scheme="dark")
    opened(page, hostile, HOSTILE["image"])
    assert serious_violations(page) == []
    pictured_if_thorough(page, "hostile-query-dark")


def test_half_of_a_pair_is_shown_as_unknown(page: "Page", tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(render_page(hostile_report()), encoding="utf-8")
    page.goto(file.as_uri())
    assert LONE_SURROGATE.replace("\ud83d", "\ufffd") in page.inner_text("#warnings")
