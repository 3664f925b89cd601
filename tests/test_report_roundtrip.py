"""A report read back equals the report that was written: of every sample plan and command, and of generated forms."""

import json
from typing import Any
from unittest.mock import patch

import pytest

from karat.report import Report

from .golden.cases import CASES
from .golden.recording import record

CASES_WITH_REPORTS = [name for name in CASES if name != "frozen"]


def check_round_trip(report: Report) -> None:
    """Check that a report's JSON, also with its queries, is read back as the same report."""
    form = json.loads(json.dumps(report.to_json(queries=True), allow_nan=False))
    read = Report.from_json(form)
    assert read == report
    assert read.to_json() == report.to_json()
    if report.keeps_queries:
        assert read.to_json(queries=True) == form


def reports_of(case: str) -> list[Report]:
    """Return every report that is written while a golden case runs."""
    found: list[Report] = []
    to_json = Report.to_json

    def remember(report: Report, **options: Any) -> dict[str, Any]:
        found.append(report)
        return to_json(report, **options)

    with patch.object(Report, "to_json", remember):
        record(case, CASES[case])
    return found


@pytest.mark.parametrize("case", CASES_WITH_REPORTS)
def test_reports_of_samples_and_commands(case: str) -> None:
    found = reports_of(case)
    assert found
    for report in found:
        check_round_trip(report)
