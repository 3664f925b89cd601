"""What can be logged: a report, its saved form, an archived run; and the files that go with it."""

from collections.abc import Mapping
from dataclasses import replace
from json import dumps
from typing import Any

from karat.archive.run import PAGE, Run
from karat.errors import DataError
from karat.gates import Gate
from karat.report import SCHEMA, Report
from karat.reports.html import Details, page_of
from karat.reports.pull_request import summary_of

__all__ = ["files_of", "form_of"]

Form = Mapping[str, Any]


def form_of(given: Any, gate: Gate | Form | None = None) -> dict[str, Any]:
    """The versioned form of a report, or of whatever has one, with its verdicts."""
    found = given.to_json() if isinstance(given, Report) else getattr(given, "form", given)
    if not isinstance(found, Mapping) or found.get("schema") != SCHEMA or not found.get("systems"):
        about = f"the schema {found.get('schema')!r}" if isinstance(found, Mapping) else type(given).__name__
        raise DataError(f"found {about}", expected=f"a report, its form ({SCHEMA}), or an archived run")
    if gate is None:
        return dict(found)
    return {**found, "gate": gate.to_json() if isinstance(gate, Gate) else dict(gate)}


def files_of(given: Any, form: Form) -> dict[str, str]:
    """By name: the form as JSON, with every query's scores where they are known; a summary; and the page for people."""
    return {
        "report.json": dumps(_whole(given, form), indent=2, ensure_ascii=False, allow_nan=False) + "\n",
        "report.md": summary_of(_report(given, form)),
        "report.html": _page(given, form),
    }


def _whole(given: Any, form: Form) -> dict[str, Any]:
    """An archived run keeps the queries' scores beside its form."""
    if isinstance(given, Report):
        return {**form, **given.to_json(queries=True)}
    return {**given.form_with_queries(), **form} if isinstance(given, Run) else dict(form)


def _report(given: Any, form: Form) -> Report:
    """The report of a form, with the names of queries and items where they are known."""
    known = given if isinstance(given, Report) else getattr(given, "report", None)
    return replace(Report.from_json(form), queries=None if known is None else known.queries)


def _page(given: Any, form: Form) -> str:
    """The page that a run was archived with; else one made now, without the queries where they are not at hand."""
    if isinstance(given, Report):
        return page_of(form, Details.of(given))
    if isinstance(given, Run) and given.file(PAGE) is not None:
        return given.read(PAGE).decode("utf-8", "replace")
    return page_of(form, None)
