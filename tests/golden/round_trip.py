"""Check that a report's JSON is read back as the same report, also while commands run."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from rankjury.errors import DataError
from rankjury.evaluation.report import Report


def check_round_trip(report: Report, to_json: Callable[..., dict[str, Any]] = Report.to_json) -> None:
    """Check that a report's JSON, also with its queries, is read back as the same report."""
    form = json.loads(json.dumps(to_json(report, queries=True), allow_nan=False))
    read = Report.from_json(form)
    assert read == report
    assert to_json(read) == to_json(report)
    if report.keeps_queries:
        assert to_json(read, queries=True) == form


@contextmanager
def every_report_checked() -> Iterator[list[Exception | None]]:
    """Check every report that is written meanwhile; yield a fault, or None, for each.

    The faults are collected, since the command line would turn them into an exit code.
    """
    to_json, faults = Report.to_json, []

    def check(report: Report, **options: Any) -> dict[str, Any]:
        try:
            check_round_trip(report, to_json)
            assert all(warning.code for warning in report.warnings)
            faults.append(None)
        except (AssertionError, DataError) as error:
            faults.append(error)
        return to_json(report, **options)

    with patch.object(Report, "to_json", check):
        yield faults
