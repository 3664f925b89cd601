"""Warnings as values: what a reader of a report should know before trusting it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from karat.records import Record

__all__ = ["QUERIES", "ReportWarning", "as_warnings", "merge_warnings", "warning_lines", "with_unit"]

QUERIES = ("query", "queries")
"""What a query is called, and queries are, unless they are users."""
_MANY = 3
"""Systems from which on a warning that they share is shown once."""


@dataclass(frozen=True)
class ReportWarning(Record):
    """One warning. The same warning of several systems is shown once (``merge_warnings``)."""

    text: str
    """A sentence without the system's name. ``{query}`` and ``{queries}`` stand for what the queries of the report
    are (users of a recommender, for example) until the report is assembled (``with_unit``)."""
    system: str | None = None
    """The system that it is about; None: all, or the data."""
    code: str = ""
    """A short name for programs, such as ``missing-queries``."""
    count: int | None = None
    """How many queries, items or rows it is about, where that is known."""

    def about(self, system: str) -> "ReportWarning":
        """Return it as a warning about a system, unless it is about one already."""
        return self if self.system is not None else replace(self, system=system)

    def with_unit(self, one: str, many: str) -> "ReportWarning":
        """Return it with the words for a query and for queries filled in."""
        return replace(self, text=self.text.replace("{query}", one).replace("{queries}", many))

    def __str__(self) -> str:
        text = self.with_unit(*QUERIES).text
        return text if self.system is None else f"{self.system}: {text}"


def with_unit(warnings: Iterable[ReportWarning], unit: tuple[str, str] = QUERIES) -> tuple[ReportWarning, ...]:
    """Return warnings with the words for a query and for queries filled in."""
    return tuple(one.with_unit(*unit) for one in warnings)


def as_warnings(texts: Iterable[str], system: str | None = None) -> list[ReportWarning]:
    """Return texts as warnings, about a system where one is given."""
    return [ReportWarning(text, system) for text in texts]


def warning_lines(form: Mapping[str, Any]) -> list[str]:
    """Return the warnings of a report's JSON as lines to show."""
    found = [ReportWarning.from_json(one) for one in form.get("warnings") or ()]
    return merge_warnings(found, list(form["systems"]))


def merge_warnings(warnings: Iterable[ReportWarning], systems: Sequence[str]) -> list[str]:
    """Return warnings as lines to show: each once, and what holds of three or more systems in one line."""
    distinct = list(dict.fromkeys(replace(one, code="", count=None) for one in warnings))
    owners: dict[str, list[str]] = {}
    for one in distinct:
        if one.system is not None:
            owners.setdefault(one.text, []).append(one.system)
    lines = []
    for one in distinct:
        names = owners[one.text] if one.system is not None else []
        if len(names) < _MANY:
            lines.append(str(one))
        elif one.system == names[0]:
            lines.append(f"{', '.join(names) if len(names) < len(systems) else 'all systems'}: {one.text}")
    return lines
