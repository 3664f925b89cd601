"""Reports of so many queries that their scores are not held: every form shows what it can, and says what it lacks."""

from dataclasses import replace
from math import nan

import polars as pl
import pytest

import rankjury
from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import Quantiles
from rankjury.reporting.html.query_data import QueryDetails
from rankjury.reporting.writers.html import to_html
from rankjury.reporting.writers.markdown import to_markdown
from rankjury.reporting.writers.pull_request import to_comment
from rankjury.stats.estimates import QuantileValues
from rankjury.tracking.integrations.loggable import report_artifacts
from tests.scale.made import Study

TARGETS = ["ndcg@10 >= 0.01", "ap drop <= 0.5"]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Report]:
    """At once, and in blocks."""
    folder = tmp_path_factory.mktemp("without_queries")
    pl.DataFrame({"query_id": range(40), "type": ["x", "y"] * 20}).write_csv(folder / "queries.csv")
    study = Study.of(folder / "tables", "sorted", queries=40)
    study = study.asking(baseline="a", slices=[(folder / "queries.csv", "type")])
    return study.at_once(), study.in_blocks()


def without_losses(report: Report) -> Report:
    return replace(report, changes=())


def test_texts_lack_nothing_but_the_largest_losses(reports: tuple[Report, Report]) -> None:
    whole, blocks = without_losses(reports[0]), reports[1]
    assert to_markdown(blocks) == to_markdown(whole)
    assert to_comment(blocks) == to_comment(whole)
    assert repr(blocks) == repr(whole) and blocks._repr_html_() == whole._repr_html_()


def test_scores_in_a_notebook(reports: tuple[Report, Report]) -> None:
    whole, blocks = reports
    assert blocks.queries is None and blocks.systems["b"] == whole.systems["b"]
    assert (
        blocks._repr_html_() == without_losses(whole)._repr_html_() and "Report on 40 queries" in blocks._repr_html_()
    )


def test_the_page_has_charts_and_says_that_it_lacks_queries(reports: tuple[Report, Report]) -> None:
    assert QueryDetails.of(reports[1]) is None
    page = to_html(reports[1])
    assert page.count("<svg") > 1 and "This report does not have the scores of single queries." in page
    assert 'id="query-table"' not in page and 'id="table"' not in page
    assert "does not have the scores" not in to_html(reports[0])


def test_the_page_names_where_they_were_written(reports: tuple[Report, Report]) -> None:
    page = to_html(replace(reports[1], provenance={"per_query": "<b>/scores"}))
    assert "they are in <code><bdi>&lt;b&gt;/scores</bdi></code>" in page


def test_the_gate_holds_it_against_targets(reports: tuple[Report, Report]) -> None:
    expected, found = (rankjury.gate(report, *TARGETS) for report in reports)
    assert found.to_json() == expected.to_json() and found.outcome == "pass"
    assert found._repr_html_() == expected._repr_html_()


def test_what_is_logged_has_no_queries(reports: tuple[Report, Report]) -> None:
    files = report_artifacts(reports[1], reports[1])
    assert '"queries": {' not in files["report.json"] and "does not have the scores" in files["report.html"]


def test_quantiles_are_shown_where_they_were_asked_for(reports: tuple[Report, Report]) -> None:
    known = Quantiles({"ap": QuantileValues({"0.05": 0.25, "0.5": nan}, 2.0**-12)})
    report = reports[1]
    for name in "ab":
        report = report.with_sections(known, system=name)
    note = "Scores at shares of the queries; counted after rounding, off by 0.02 % at most."
    assert "| measure | system | 5 % | 50 % |" in to_markdown(report) and "| ap | b | 0.2500 | – |" in to_markdown(
        report
    )
    assert note in to_markdown(report) and note in to_html(report)
    assert '<td class="number">0.2500<td class="number">–' in to_html(report)
    assert "Quantiles</summary>" not in to_html(reports[1])
