"""Numbers that the page's script shows: those of the exact scores, as Python rounds them."""

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rankjury.stats.formatting import format_difference, format_value
from tests.browser.reported import Reported
from tests.reporting.html.test_rounding import is_correctly_rounded, page_text

if TYPE_CHECKING:
    from playwright.sync_api import Page

CELLS = """() => [...document.querySelectorAll("tr[data-query]")].map((row) => [
  row.dataset.query,
  ...[...row.querySelectorAll("td")].map((cell) => [...cell.children].map((one) => one.innerText))])"""
HEADS = """() => [...document.querySelectorAll("#query-table thead th bdi")].map((one) => one.innerText)"""
LISTED = """() => [...document.querySelectorAll("#query .column:not(.gold)")].map((column) => [
  column.querySelector("h3 bdi").innerText, [...column.querySelectorAll(".score")].map((one) => one.innerText)])"""


def values_to_show() -> list[float]:
    """Halves, numbers near halves, and numbers of all sizes."""
    rng = np.random.default_rng(5)
    halves = [sign * number / 16 for number in range(1, 4000, 7) for sign in (1, -1)]
    near = [
        0.71048,
        0.7105,
        0.00049999,
        0.0005,
        99.99996,
        999.96,
        1000.5,
        1001.5,
        2.0,
        0.0,
        -0.0,
        1e-6,
        12345.678,
        -4321.5,
    ]
    spread = (rng.normal(size=400) * 10.0 ** rng.integers(-8, 6, 400)).tolist()
    return [*halves, *near, *spread]


def as_python(text: str) -> str:
    return text.replace("−", "-").replace(",", "")


def test_the_script_rounds_as_python_does(page: "Page", movies: Reported) -> None:
    movies.opened(page)
    values = values_to_show()
    texts = page.evaluate("values => values.map((value) => rankjury.number(value))", values)
    for value, text in zip(values, texts, strict=True):
        assert is_correctly_rounded(as_python(text), value), (value, text)
        assert float(as_python(text)) == float(page_text(value)), (value, text)


@pytest.mark.parametrize("phone", [False, True])
def test_the_table_shows_the_exact_scores_and_differences(page: "Page", movies: Reported, phone: bool) -> None:
    report = movies.report
    baseline, rows = report.baseline or "", {query: row for row, query in enumerate(movies.queries)}
    compared = {comparison.system for comparison in report.comparisons}
    if phone:
        page.set_viewport_size({"width": 375, "height": 700})
    movies.opened(page)
    systems = page.evaluate(HEADS)[-len(report.systems) :]
    assert systems[0] == baseline and sorted(systems) == sorted(report.systems)
    seen = 0
    for place, label in enumerate(page.locator("#measure option").all_inner_texts()):
        page.select_option("#measure", str(place))
        page.wait_for_timeout(200)
        for query, *cells in page.evaluate(CELLS):
            exact = {name: float(scores[label][rows[query]]) for name, scores in report.scores.items()}
            for name, (score, *more) in zip(systems, cells, strict=True):
                assert score == format_value(exact[name], 3) or float(score) == exact[name]
                difference = format_difference(exact[name] - exact[baseline], None, decimals=3)
                shown = [difference] if name in compared and re.search("[1-9]", difference) else []
                assert [f"{text[0]}{abs(float(as_python(text))):.3f}" for text in more] == shown
                seen += 1
    assert seen > 100


def test_scores_of_items_have_the_digits_that_are_kept(page: "Page", movies: Reported) -> None:
    row = 4
    page.goto(f"{movies.address}#query={movies.queries[row]}")
    page.wait_for_selector("#query[data-shown]")
    columns = page.evaluate(LISTED)
    assert any(texts for _, texts in columns)
    for name, texts in columns:
        exact = [one.score for one in movies.answers.systems[name].of(row) if np.isfinite(one.score)]
        assert len(texts) == len(exact)
        assert all(map(is_correctly_rounded, map(as_python, texts), exact)), (name, texts, exact)
