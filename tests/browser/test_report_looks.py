"""How the report looks: light and dark, on paper, on a phone, without motion, for people who see or steer otherwise."""

import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.ground import (
    DESKTOP,
    PHONE,
    misfits,
    overflow,
    pdf_pages,
    pdf_text_drawn,
    serious_violations,
    serious_violations_light_and_dark,
    settled,
    watched,
)
from tests.browser.reported import Reported
from tests.demos import run_demo_once
from tests.paths import SAMPLES

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

BRIGHTNESS = """() => {
  const [red, green, blue] = getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).map(Number);
  return (red + green + blue) / 3;
}"""


def with_query(page: "Page", movies: Reported) -> "Page":
    page.goto(f"{movies.address}#query={movies.queries[4]}")
    page.wait_for_selector("#query[data-shown]")
    return page


def unfolded(page: "Page") -> "Page":
    page.evaluate("() => { for (const one of document.querySelectorAll('details')) one.open = true; }")
    return page


@pytest.mark.parametrize("what", ["report", "query", "phone"])
def test_nothing_is_seriously_hard_to_use(page: "Page", movies: Reported, what: str, axe: None) -> None:
    if what == "phone":
        page.set_viewport_size(PHONE)
    if what == "query":
        with_query(page, movies)
    else:
        unfolded(movies.opened(page))
    assert serious_violations_light_and_dark(page, f"movies-{what}") == {}


def test_the_help_is_usable_too(page: "Page", movies: Reported, axe: None) -> None:
    movies.opened(page)
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    assert serious_violations(page) == []
    page.keyboard.press("Escape")
    assert not page.is_visible("dialog")


def test_the_system_decides_on_light_or_dark(page: "Page", movies: Reported) -> None:
    movies.opened(page)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(BRIGHTNESS)
    page.emulate_media(color_scheme="light")
    assert dark < 60 < 200 < page.evaluate(BRIGHTNESS)


def test_the_button_goes_before_the_system(page: "Page", movies: Reported) -> None:
    movies.opened(page)
    page.emulate_media(color_scheme="light")
    found = []
    for _ in range(3):
        page.click("#theme")
        found.append((page.inner_text("#theme").rpartition(" ")[2], page.evaluate(BRIGHTNESS) < 60))
    assert found == [("light", False), ("dark", True), ("auto", False)]
    page.emulate_media(color_scheme="dark")
    page.click("#theme")
    assert page.evaluate(BRIGHTNESS) > 200


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_paper_holds_everything_on_white(page: "Page", movies: Reported, scheme: str) -> None:
    movies.opened(page)
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light", media="print")
    settled(page)
    assert page.evaluate(BRIGHTNESS) > 250
    assert not page.is_visible("nav.sections")
    pdf = page.pdf(format="A4")
    assert 3 <= pdf_pages(pdf) <= 40
    assert pdf_text_drawn(pdf) > 200


def test_paper_has_what_is_folded_on_the_screen(page: "Page", movies: Reported) -> None:
    movies.opened(page)
    folded = page.locator("details:not([open])").count()
    printed = pdf_text_drawn(page.pdf())
    assert folded > 0
    assert page.locator("details:not([open])").count() == folded
    assert printed == pdf_text_drawn(unfolded(page).pdf())


def test_a_query_is_printed_alone(page: "Page", movies: Reported) -> None:
    pdf = with_query(page, movies).pdf(format="A4")
    assert 1 <= pdf_pages(pdf) <= 6
    assert pdf_text_drawn(pdf) > 50


def test_a_phone_need_not_scroll_sideways(page: "Page", movies: Reported) -> None:
    page.set_viewport_size(PHONE)
    unfolded(movies.opened(page))
    assert overflow(page) == 0
    with_query(page, movies)
    assert overflow(page) == 0


PAGES = {
    "compare": ("report.html",),
    "movies": ("report.html",),
    "papers": ("report.html",),
    "fashion": ("report.html",),
    "driving": ("report.html", "clips.html"),
    "movielens": ("report.html",),
}
"""By sample, the pages that it writes; ``compare`` is the page of two runs with slices."""


def written_pages(sample: str, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The pages, written by the commands that a new user types."""
    if sample == "compare":
        folder = tmp_path_factory.mktemp("compare")
        runs = [str(SAMPLES / "helpdesk" / f"{name}.trec") for name in ("qrels", "bm25", "dense")]
        queries = SAMPLES / "helpdesk" / "queries.jsonl"
        options = ("--slices", f"{queries}:type", "--texts", f"{queries}:text", "-o", "report.html", "-q")
        command: Sequence[str] = (sys.executable, "-m", "rankjury", "compare", *runs, *options)
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    else:
        folder, _ = run_demo_once(sample, tmp_path_factory)
    return [folder / name for name in PAGES[sample]]


@pytest.mark.parametrize("sample", PAGES)
def test_everything_fits_and_no_word_is_broken(
    browser: "Browser", tmp_path_factory: pytest.TempPathFactory, sample: str
) -> None:
    found = []
    for file, size in product(written_pages(sample, tmp_path_factory), (DESKTOP, PHONE)):
        with watched(browser, viewport=size) as watch:
            watch.page.goto(file.as_uri())
            watch.page.wait_for_selector("tr[data-query]")
            found += [f"{file.name} at {size['width']}: {one}" for one in misfits(watch.page)]
            watch.page.click("tr[data-query] a")
            watch.page.wait_for_selector("#query[data-shown]")
            found += [f"a query of {file.name} at {size['width']}: {one}" for one in misfits(watch.page)]
            found += watch.faults
    assert found == []


@pytest.mark.parametrize("width", [320, 768, 1280, 2560])
def test_no_width_makes_the_page_scroll_sideways(page: "Page", movies: Reported, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    unfolded(movies.opened(page))
    assert overflow(page) == 0


def test_what_is_tapped_on_a_phone_opens(browser: "Browser", movies: Reported) -> None:
    with watched(browser, viewport=PHONE, has_touch=True, is_mobile=True, device_scale_factor=2) as watch:
        movies.opened(watch.page)
        watch.page.tap("tr[data-query] a")
        watch.page.wait_for_selector("#query[data-shown]")
        watch.page.tap("#query-back")
        watch.page.wait_for_selector("#query-table")
        assert overflow(watch.page) == 0
        assert watch.faults == []


def test_nothing_moves_for_those_who_do_not_want_it(page: "Page", movies: Reported) -> None:
    page.emulate_media(reduced_motion="reduce")
    movies.opened(page)
    moving = page.evaluate(
        "() => [...document.querySelectorAll('*')].filter(one => { const style = getComputedStyle(one);"
        " return style.scrollBehavior === 'smooth' || parseFloat(style.transitionDuration) > 0 ||"
        " style.animationName !== 'none'; }).length"
    )
    assert moving == 0


def test_the_first_stop_of_the_tab_key_skips_to_the_content(page: "Page", movies: Reported) -> None:
    movies.opened(page)
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "skip"
    box = page.locator(".skip").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "main"


def test_focus_is_seen_and_follows_into_a_query_and_back(page: "Page", movies: Reported) -> None:
    movies.opened(page)
    page.keyboard.press("j")
    outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"
    page.keyboard.press("Enter")
    page.wait_for_selector("#query[data-shown]")
    assert page.evaluate("() => document.querySelector('#query').contains(document.activeElement)")
    page.keyboard.press("Escape")
    page.wait_for_selector("#query-table")
    assert page.evaluate("() => document.activeElement.closest('tr[data-query]') !== null")
