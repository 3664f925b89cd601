"""The pages of rankjury view in a browser: the list, a run, two compared, the history, what is at work."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.view.overview import RunCatalog
from tests.browser.ground import (
    PHONE,
    misfits,
    overflow,
    pictured_if_thorough,
    serious_violations,
    serious_violations_light_and_dark,
    settled,
    watched,
)
from tests.browser.hostile import HOSTILE, MARK, hostile_plan
from tests.browser.reported import Reported, movies_plan, rows_of, rows_on_all_pages
from tests.tracking.archive.made import kept, put_small, ranked
from tests.tracking.view.asking import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TABLE = """[...document.querySelectorAll("#query-table tr")].map(row => row.innerText)"""
STEPS = f"""async (steps) => {{
  const body = document.querySelector("#query-table tbody");
  const found = [];
  for (const [selector, value] of steps) {{
    const one = document.querySelector(selector);
    const redrawn = new Promise((done) => new MutationObserver((_, own) => {{
      own.disconnect();
      setTimeout(done);
    }}).observe(body, {{ childList: true }}));
    if (value === null) one.click();
    else {{
      one.value = value;
      for (const what of ["input", "change"]) one.dispatchEvent(new Event(what, {{ bubbles: true }}));
    }}
    await redrawn;
    found.push([{TABLE}, document.querySelector("#range").innerText]);
  }}
  return found;
}}"""
"""Click an element or set a field, wait for the table that this draws, and take it: one call for many such steps."""
OPENED = """async (queries) => {
  const pane = document.querySelector("#query");
  const found = [];
  for (const query of queries) {
    const shown = new Promise((done) => new MutationObserver((_, own) => {
      if (pane.dataset.shown !== query) return;
      own.disconnect();
      setTimeout(done);
    }).observe(pane, { attributes: true, childList: true, subtree: true }));
    location.hash = `query=${encodeURIComponent(query)}`;
    await shown;
    const page = document.documentElement;
    found.push([pane.dataset.shown, pane.querySelectorAll(".column").length, page.scrollWidth <= page.clientWidth]);
  }
  return found;
}"""
"""Open queries one after the other: the id that is shown, the number of columns, whether the window is wide enough."""
SHOWN = "h2, td, th, h3, li > :not(.figures), .move, .grade, .score"
PANE = f"""() => [...document.querySelectorAll("#query :is({SHOWN})")].map((one) => one.innerText)"""
CHANGED = ("combined", ["denseanchor = 0.5", "denseanchor = 0.9"])


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """Of movies three runs, of which the second fuses otherwise; one of a small plan, set as a baseline."""
    folder = tmp_path_factory.mktemp("view")
    found = Archive(folder / ".rankjury")
    movies = movies_plan(folder / "movies")
    text = movies.read_text(encoding="utf-8")
    for number, own in enumerate((text, text.replace(*CHANGED[1]), text)):
        movies.write_text(own, encoding="utf-8")
        kept(found, movies, number)
    kept(found, put_small(folder / "small"), 3)
    found.set_baseline(found.runs("small")[0])
    return found


@pytest.fixture(scope="module")
def names(archive: Archive) -> list[str]:
    return [run.name for run in archive.runs()]


@pytest.fixture(scope="module")
def home(archive: Archive) -> Iterator[str]:
    """The address of a server over it."""
    with served(RunCatalog(archive)) as server:
        yield server.url


def runs_of(page: "Page") -> list[str]:
    found: list[str] = page.locator("tr[data-run]").evaluate_all("rows => rows.map(row => row.dataset.run)")
    return found


def table_drawn(page: "Page", url: str) -> "Page":
    page.goto(url)
    page.wait_for_selector("tr[data-query]")
    return page


def test_from_the_list_to_a_run_and_back_by_keys(page: "Page", home: str, names: list[str]) -> None:
    page.goto(home)
    assert runs_of(page) == names[::-1]
    for key in "jjjk":
        page.keyboard.press(key)
    assert page.locator("tr.at").get_attribute("data-run") == names[2]
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/run/{names[2]}")
    page.wait_for_selector("tr[data-query]")
    page.go_back()
    page.wait_for_selector("tr[data-run]")
    page.keyboard.press("?")
    assert page.is_visible("dialog[open]") and "choose a run" in page.inner_text("dialog")


def test_the_list_is_filtered_as_one_types(page: "Page", home: str, names: list[str]) -> None:
    page.goto(home)
    page.keyboard.press("/")
    page.keyboard.type("small")
    page.wait_for_function("() => document.querySelectorAll('tr[data-run]').length === 1")
    assert runs_of(page) == names[3:] and page.input_value("#filter") == "small"
    assert page.evaluate("() => document.activeElement.id") == "filter"
    page.keyboard.type(" no such")
    page.wait_for_selector("text=No matching runs")
    page.keyboard.press("Escape")
    page.wait_for_function("() => document.querySelectorAll('tr[data-run]').length === 4")
    page.select_option("#plan", "movies")
    page.wait_for_function("() => document.querySelectorAll('tr[data-run]').length === 3")
    assert "plan=movies" in page.url
    page.reload()
    assert runs_of(page) == names[2::-1]


def test_two_are_chosen_and_compared(page: "Page", home: str, names: list[str]) -> None:
    page.goto(home)
    assert page.is_disabled("#compare")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.locator(f'tr[data-run="{names[1]}"] input').check()
    assert page.inner_text("#chosen") == "2 chosen" and page.is_enabled("#compare")
    page.select_option("#plan", "movies")
    page.wait_for_function("() => document.querySelectorAll('tr[data-run]').length === 3")
    assert page.locator(".choose input:checked").count() == 2, "a choice outlives the filter"
    page.locator("h1").click()
    page.keyboard.press("c")
    page.wait_for_url(re.compile("/compare"))
    assert page.url.endswith(f"/compare?a={names[1]}&b={names[2]}")


def test_the_server_answers_as_the_file_does(browser: "Browser", home: str, names: list[str], movies: Reported) -> None:
    """The same script over the same report: what it shows is the same, from the file and from the server."""
    found = []
    for url in (movies.address, f"{home}run/{names[0]}"):
        with watched(browser) as watch:
            found.append(seen_in(watch.page, url))
            assert watch.faults == []
    file, server = found
    assert server == file
    steps = {**file["ordered"], **file["filtered"]}  # type: ignore[dict-item]
    assert len(steps) > 40 and len({str(table) for table in steps.values()}) > 20, "the steps change the table"


def seen_in(page: "Page", url: str) -> dict[str, object]:
    """Tables under all orders and several filters, and a few queries."""
    table_drawn(page, url)
    found: dict[str, object] = {"first": page.evaluate(f"() => {TABLE}")}
    sorts = page.locator("th button[data-sort]").evaluate_all("all => all.map(one => one.dataset.sort)")
    orders = page.locator("#order option").evaluate_all("all => all.map(one => one.value)")
    steps: list[tuple[str, str | None]] = []
    for measure in ("1", "0"):
        steps.append(("#measure", measure))
        steps += [("#order", order) for order in orders if order]
        steps += [(f'th button[data-sort="{sort}"]', None) for sort in [*sorts, *sorts[::-1]]]
    found["ordered"] = in_steps(page, steps)
    found["all"] = rows_on_all_pages(page)
    texts = ("THE", " of the ", "tt00", ":", "no such thing", "")
    found["filtered"] = in_steps(page, [*(("#filter", text) for text in texts), ("#slice", "0"), ("#slice", "3")])
    for id_ in rows_of(page)[:4]:
        page.goto(f"{url}#query={quote(id_)}")
        page.wait_for_function("id => document.querySelector('#query').dataset.shown === id", arg=id_)
        found[f"query {id_}"] = page.evaluate(PANE)
        assert page.locator("#query .items .score").count()
    return found


def in_steps(page: "Page", steps: list[tuple[str, str | None]]) -> dict[str, tuple[list[str], str]]:
    """By step, the rows of the table and the text about their number."""
    shown = page.evaluate(STEPS, steps)
    return {f"{number} {step}": table for number, (step, table) in enumerate(zip(steps, shown, strict=True))}


def test_two_runs_side_by_side(page: "Page", home: str, archive: Archive, names: list[str]) -> None:
    table_drawn(page, f"{home}compare?a={names[0]}&b={names[1]}")
    assert "systems.combined.weights.denseanchor: 0.5 → 0.9" in page.inner_text("#changed")
    assert page.locator("#comparison-table tbody tr").count() == 3
    losses = page.locator("#query-table .small.difference").evaluate_all("all => all.map(one => one.innerText)")
    numbers = [float(text.replace("−", "-").replace("+", "")) for text in losses]
    assert numbers == sorted(numbers) and numbers[0] < 0
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector("#query[data-shown]")
    query = page.get_attribute("#query", "data-shown")
    assert page.locator("#query .column:not(.gold) h3").all_inner_texts() == ["a: combined", "b: combined"]
    before, after = (archive.find(name).answer(str(query)) for name in names[:2])
    assert before is not None and after is not None
    ours, theirs = after.systems["combined"], before.systems["combined"]
    ranks = dict(zip(theirs.items, theirs.ranks.tolist(), strict=True))
    depth = int(theirs.first.sum())
    assert depth < theirs.total[0]
    moves = [moved(ranks.get(item), rank, depth) for item, rank in zip(ours.items, ours.ranks.tolist(), strict=True)]
    assert page.locator("#query .column:last-child .move").all_inner_texts() == moves
    assert set(moves) - {"="}, "something moved"
    page.keyboard.press("Escape")
    page.wait_for_selector("#query", state="hidden")


def moved(before: int | None, after: int, depth: int) -> str:
    if before is None:
        return f">{depth}"
    return "=" if before == after else f"{'▲' if before > after else '▼'}{abs(before - after)}"


def test_another_system_is_chosen(page: "Page", home: str, names: list[str]) -> None:
    table_drawn(page, f"{home}compare?a={names[0]}&b={names[1]}")
    page.select_option("#narrow select", "system densevibe")
    page.wait_for_url(re.compile("systems=system"))
    page.wait_for_selector("tr[data-query]")
    assert page.locator("#query-table thead th .name").all_inner_texts() == ["a: densevibe", "b: densevibe"]
    assert page.locator("#comparison-table tbody tr").count() == 3


def test_history_shows_steps_and_leads_to_runs(page: "Page", home: str, names: list[str]) -> None:
    page.goto(f"{home}history?plan=movies")
    assert runs_of(page) == names[2::-1]
    assert page.locator("#trend svg[role=img]:visible").count() == 1
    page.select_option("select[name=measure]", "hits@10")
    page.wait_for_url(re.compile("measure=hits"))
    assert page.inner_text(".about").startswith("hits@10")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/run/{names[2]}")


def test_what_is_at_work_is_shown_live(page: "Page", tmp_path: Path) -> None:
    """A real plan that waits for its data in a pipe: it is at work until they come."""
    plan = put_small(tmp_path / "small")
    own = Archive(tmp_path / ".rankjury")
    own.path.mkdir()
    pipe = plan.parent / "new.trec"
    pipe.unlink()
    os.mkfifo(pipe)
    with served(RunCatalog(own)) as server:
        page.goto(server.url)
        assert page.is_hidden("#running") and runs_of(page) == []
        command = [sys.executable, "-m", "rankjury", "run", str(plan), "--archive", str(own.path), "-q"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            page.wait_for_selector("#running progress", timeout=30_000)
            page.wait_for_function("() => document.querySelector('#running').innerText.includes('Ranking')")
            assert "small" in page.inner_text("#running")
            pictured_if_thorough(page, "view-running")
            pipe.write_text(ranked(1))
            assert process.wait(60) == 0
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        page.wait_for_selector("tr[data-run]")
        page.wait_for_selector("#running", state="hidden")
        assert runs_of(page) == [run.name for run in own.runs()]
        page.fill("#filter", "nothing")
        page.wait_for_selector("text=No matching runs")


def addresses(home: str, names: list[str]) -> dict[str, str]:
    return {
        "list": home,
        "history": f"{home}history?plan=movies",
        "run": f"{home}run/{names[0]}",
        "query": f"{home}run/{names[0]}#query=tt0133093",
        "compare": f"{home}compare?a={names[0]}&b={names[1]}",
        "compared query": f"{home}compare?a={names[0]}&b={names[1]}#query=tt0133093",
    }


READY = {"list": "tr[data-run]", "history": "tr[data-run]", "run": "tr[data-query]", "compare": "tr[data-query]"}


PAGES = ["list", "history", "run", "query", "compare", "compared query"]


@pytest.mark.parametrize("what", PAGES)
def test_nothing_is_seriously_hard_to_use(page: "Page", home: str, names: list[str], what: str, axe: None) -> None:
    page.goto(addresses(home, names)[what])
    page.wait_for_selector(READY.get(what, "#query[data-shown]"))
    assert serious_violations_light_and_dark(page, f"view-{what.replace(' ', '-')}") == {}


@pytest.mark.parametrize("what", PAGES)
def test_a_phone_needs_no_scrolling_sideways(page: "Page", home: str, names: list[str], what: str, axe: None) -> None:
    page.set_viewport_size(PHONE)
    page.goto(addresses(home, names)[what])
    page.wait_for_selector(READY.get(what, "#query[data-shown]"))
    assert overflow(page) == 0
    assert serious_violations(page) == []
    pictured_if_thorough(page, f"view-{what.replace(' ', '-')}-phone")


@pytest.mark.parametrize("what", PAGES)
def test_everything_fits_and_no_word_is_broken(page: "Page", home: str, names: list[str], what: str) -> None:
    page.goto(addresses(home, names)[what])
    page.wait_for_selector(READY.get(what, "#query[data-shown]"))
    assert misfits(page) == []
    page.set_viewport_size(PHONE)
    page.reload()
    page.wait_for_selector(READY.get(what, "#query[data-shown]"))
    assert misfits(page) == []


@pytest.fixture(scope="module")
def hostile_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[str]]]:
    """A server over two runs full of hostile texts, and their names."""
    folder = tmp_path_factory.mktemp("hostile-view")
    found = Archive(folder / ".rankjury")
    plan = hostile_plan(folder / "plan")
    first = kept(found, plan, 0)
    one, other = sorted(plan.parent.glob("run*.parquet"))[1:3]
    octets = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(octets)
    second = kept(found, plan, 1)
    with served(RunCatalog(found)) as server:
        yield server.url, [first.name, second.name]


def test_marks_of_differences_stay_on_one_line_on_a_phone(page: "Page", home: str, names: list[str]) -> None:
    page.set_viewport_size(PHONE)
    table_drawn(page, f"{home}compare?a={names[0]}&b={names[1]}")
    heights = page.eval_on_selector_all(
        "#comparison-table :is(.better, .worse, .noise)", "marks => marks.map(mark => mark.offsetHeight)"
    )
    assert heights and max(heights) < 30


@pytest.mark.parametrize("size", [PHONE, {"width": 1280, "height": 800}], ids=["phone", "desktop"])
def test_hostile_texts_are_text(page: "Page", hostile_home: tuple[str, list[str]], size: dict[str, int]) -> None:
    home, (a, b) = hostile_home
    page.set_viewport_size({"width": size["width"], "height": size["height"]})
    for target, ready in (
        ("", "tr[data-run]"),
        ("history", "tr[data-run]"),
        (f"run/{quote(a)}", "tr[data-query]"),
        (f"compare?a={quote(a)}&b={quote(b)}", "tr[data-query]"),
    ):
        page.goto(home + target)
        page.wait_for_selector(ready)
        settled(page)
        assert page.evaluate(f"() => window.{MARK}") is None
        assert page.locator("main img, main iframe, base, main script").count() == 0
        assert overflow(page) == 0, target


def test_hostile_queries_open_over_the_wire(page: "Page", hostile_home: tuple[str, list[str]]) -> None:
    """Each query opens on one of the pages, and on both with RANKJURY_THOROUGH; its neighbours' texts are its items."""
    home, (a, b) = hostile_home
    every = list(HOSTILE.values())
    one_page, other_page = (every, every) if os.environ.get("RANKJURY_THOROUGH") else (every[::2], every[1::2])
    for target, queries in ((f"run/{quote(a)}", one_page), (f"compare?a={quote(a)}&b={quote(b)}", other_page)):
        table_drawn(page, home + target)
        shown = page.evaluate(OPENED, queries)
        assert [query for query, _, _ in shown] == queries
        assert min(columns for _, columns, _ in shown) >= 3
        assert [query for query, _, fits in shown if not fits] == []
        assert page.evaluate(f"() => window.{MARK}") is None


def test_a_page_that_is_not_there(browser: "Browser", home: str) -> None:
    with watched(browser) as watch:
        watch.page.goto(f"{home}run/none")
        assert watch.page.inner_text("h1") == "There is no such page"
        watch.page.click("text=Runs")
        watch.page.wait_for_selector("tr[data-run]")
        assert len(watch.faults) == 1 and "404" in watch.faults[0]


def test_without_a_script_the_list_can_be_used(browser: "Browser", home: str, names: list[str]) -> None:
    with watched(browser, java_script_enabled=False) as watch:
        watch.page.goto(home)
        for name in names[:2]:
            watch.page.locator(f'tr[data-run="{name}"] input').check()
        watch.page.click("#compare")
        watch.page.wait_for_url(re.compile("/compare"))
        assert watch.page.locator("#comparison-table tbody tr").count() == 3
        assert watch.foreign == [] and watch.complaints == []


def test_escape_leaves_the_field_and_keeps_what_it_filters_by(page: "Page", home: str, names: list[str]) -> None:
    table_drawn(page, f"{home}run/{names[0]}")
    page.keyboard.press("/")
    page.keyboard.type("lord of")
    page.wait_for_function("() => document.querySelectorAll('tr[data-query]').length === 1")
    page.keyboard.press("Escape")
    assert page.input_value("#filter") == "lord of" and len(rows_of(page)) == 1
