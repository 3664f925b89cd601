"""Reports as pages, for tests to open, with what was reported."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rankjury.evaluation.gate import Gate
from rankjury.evaluation.query_lists import Answers, ItemLists
from rankjury.evaluation.report import Report
from rankjury.plan.run import run_plan
from rankjury.reporting.writers.html import to_html
from tests import paths

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["Reported", "items_of", "movies_plan", "reported", "rows_of", "rows_on_all_pages"]

SAMPLES = paths.SAMPLES
TARGETS = ["ndcg(gain=exp)@5 >= 0.3", "hits@5 >= 0.6", "ndcg(gain=exp)@5 drop <= 0.02"]


@dataclass(frozen=True, eq=False)
class Reported:
    """A page and what it is about."""

    file: Path
    report: Report
    gate: Gate | None

    @property
    def address(self) -> str:
        return self.file.as_uri()

    @property
    def answers(self) -> Answers:
        assert self.report.answers is not None
        return self.report.answers

    @property
    def queries(self) -> list[str]:
        return [str(query) for query in self.answers.queries]

    def opened(self, page: "Page") -> "Page":
        """In a browser, with its table drawn."""
        page.goto(self.address)
        page.wait_for_selector("tr[data-query]")
        return page


def movies_plan(folder: Path) -> Path:
    """The sample about movies, with targets of all outcomes."""
    shutil.copytree(SAMPLES / "movies", folder)
    plan = folder / "rankjury.toml"
    plan.write_text(f"targets = {TARGETS!r}\n{plan.read_text(encoding='utf-8')}", encoding="utf-8")
    return plan


def reported(plan: Path, folder: Path) -> Reported:
    """Carry a plan out and write its page."""
    outcome = run_plan(plan, archive=False, write=False)
    file = folder / "report.html"
    file.write_text(to_html(outcome.report, outcome.gate), encoding="utf-8")
    return Reported(file, outcome.report, outcome.gate)


def items_of(listed: ItemLists, row: int) -> list[str]:
    return listed.items[int(listed.starts[row]) : int(listed.starts[row + 1])].to_list()


def rows_of(page: "Page") -> list[str]:
    """The ids of the queries in the table, from above."""
    found: list[str] = page.locator("tr[data-query]").evaluate_all("rows => rows.map(row => row.dataset.query)")
    return found


def rows_on_all_pages(page: "Page") -> list[str]:
    """Those of every page of the table, from the one that is shown to the last."""
    found = rows_of(page)
    while page.is_visible("#pager") and page.is_enabled("#pager [data-page=next]"):
        last = found[-1]
        page.click("#pager [data-page=next]")
        gone = "last => ![...document.querySelectorAll('tr[data-query]')].some(row => row.dataset.query === last)"
        page.wait_for_function(gone, arg=last)
        found += rows_of(page)
    return found
