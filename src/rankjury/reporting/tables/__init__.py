"""Tables as cells, and those that every report has: means, recorded values, conventions.

A table is built once, as cells with a meaning. The console fits it to the terminal (``rankjury.reporting.console``);
Markdown, HTML, notebooks and pull requests render the same cells. Tables of differences are in
``rankjury.reporting.tables.differences``, verdicts in ``rankjury.reporting.writers.gate``, tables of sections in their
renderers (``rankjury.reporting.sections``).
"""

from collections.abc import Iterable, Sequence
from csv import writer as csv_writer
from dataclasses import dataclass, replace
from io import StringIO
from typing import Literal

from rankjury.core.text import escape_spreadsheet, plural
from rankjury.evaluation.report import Report
from rankjury.evaluation.scores import RecordedValue
from rankjury.measures.measure import common_name, common_names_note
from rankjury.stats.estimates import Estimate
from rankjury.stats.formatting import (
    NO_VALUE,
    format_estimate,
    format_percent,
    format_rounded,
    format_with_interval,
)

_MOST_SYSTEMS_ACROSS = 4
_MOST_HEADLINE = 8
_MOST_ROWS = 24
"""Rows of means that are shown at once."""
_LOOKED_UP = ("end_to_end_", "open_loop_")
"""How the names of recorded values begin that are looked up, not read."""
CellStyle = Literal["", "better", "worse", "noise", "pass", "fail", "unsure", "muted", "baseline"]
"""What a cell says, for colours and marks; its text says the same. A row that begins with ``baseline`` is shaded."""


@dataclass(frozen=True)
class TableCell:
    """The text of a cell and what it means."""

    text: str
    style: CellStyle = ""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class TableColumn:
    """The head of a column."""

    name: str
    kind: Literal["text", "number"] = "number"
    """Text is aligned to the left, numbers to the right."""
    wraps: bool = False
    """Whether its cells may be broken into lines where there is too little room."""
    strong: bool = False
    """Whether the values in it, without their intervals and further lines, are in bold on a page."""


@dataclass(frozen=True)
class TextTable:
    """A table with its title, notes, and narrower layouts of itself for narrow terminals."""

    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    title: str = ""
    """Shown above; lines after the first say more."""
    notes: tuple[str, ...] = ()
    """Lines under the table: what brackets and marks mean."""
    narrower: tuple["TextTable", ...] = ()
    """The same in fewer columns, the widest first; where none fits, rows are printed as lines of names and values."""
    shown: int = 0
    """Rows that a terminal shows; 0: all. Files and pages have every row."""
    fixed: int = 0
    """So many first columns are repeated where a table that is too wide is printed as several; 0: it is not."""

    def __bool__(self) -> bool:
        return bool(self.rows)

    @property
    def header(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def texts(self) -> list[list[str]]:
        """The rows as text."""
        return [[cell.text for cell in row] for row in self.rows]

    def without(self, *names: str) -> "TextTable":
        """Return it without some columns."""
        return self.columns_at([place for place, column in enumerate(self.columns) if column.name not in names])

    def columns_at(self, places: Sequence[int]) -> "TextTable":
        """Return it with the columns at some places."""
        columns = tuple(self.columns[place] for place in places)
        return replace(self, columns=columns, rows=tuple(tuple(row[place] for place in places) for row in self.rows))

    def dropping(self, *names: str) -> "TextTable":
        """Return it with narrower layouts: without the first of these columns, without the first two, and so on.

        Columns that are empty in all rows are removed at once.
        """
        filled = [place for place in range(len(self.columns)) if any(row[place].text for row in self.rows)]
        table = self.columns_at(filled) if self.rows else self
        narrower = (table.without(*names[: number + 1]) for number in range(len(names)))
        return replace(table, narrower=tuple(dict.fromkeys(narrower)))

    def first(self, most: int) -> "TextTable":
        """Return it with its first rows."""
        return replace(self, rows=self.rows[:most], narrower=tuple(layout.first(most) for layout in self.narrower))


def make_table(
    header: Sequence[str | TableColumn],
    rows: Iterable[Sequence[str | TableCell]],
    *,
    text: Sequence[int] = (0,),
    wraps: Sequence[int] = (),
    title: str = "",
    notes: Sequence[str] = (),
    narrower: Sequence[TextTable] = (),
    fixed: int = 0,
    shown: int = 0,
) -> TextTable:
    """Return a table of plain values.

    Args:
        header: Names of columns, or columns.
        rows: Texts or cells.
        text: Places of the columns that hold text; the others hold numbers.
        wraps: Places of the columns whose cells may be broken into lines; -1 is the last.
        title: A line above the table.
        notes: Lines under it.
        narrower: Narrower layouts.
        fixed: First columns to repeat where it is printed as several tables.
        shown: Rows that a terminal shows; 0: all.
    """
    columns = tuple(
        name
        if isinstance(name, TableColumn)
        else TableColumn(name, "text" if place in text else "number", place in wraps or place - len(header) in wraps)
        for place, name in enumerate(header)
    )
    cells = tuple(tuple(cell if isinstance(cell, TableCell) else TableCell(cell) for cell in row) for row in rows)
    return TextTable(columns, cells, title, tuple(notes), tuple(narrower), shown, fixed)


def about_line(report: Report) -> str:
    """``50 queries · 5 systems · compared with bm25``"""
    parts = [plural(report.n_queries, *report.unit), plural(len(report.systems), "system", "systems")]
    return " · ".join([*parts, *([f"compared with {report.baseline}"] if report.baseline else ())])


def headline_labels(report: Report) -> list[str]:
    """Return the measures to show first."""
    chosen = [label for label in report.headline if label in report.labels]
    return (chosen or list(report.labels))[:_MOST_HEADLINE]


def first_labels(report: Report) -> tuple[list[str], list[str]]:
    """Return the measures to show at once, as many as a reader takes in, and the others."""
    compared = {comparison.measure for comparison in report.comparisons}
    headline = headline_labels(report)
    if not report.headline:
        headline = [label for label in headline if label in compared] or headline
    shown = headline[: max(1, _MOST_ROWS // max(1, len(report.systems)))]
    return shown, [label for label in report.labels if label not in shown]


def idle_systems(report: Report) -> frozenset[str]:
    """Return random orders, whose slices and losses say nothing; none where there are no other systems."""
    found = {name for name, system in report.systems.items() if system.random or report.fact(name, "model") == "random"}
    return frozenset(found) if len(found) < len(report.systems) else frozenset()


def interval_note(report: Report, *, with_count: bool = False) -> str:
    """Return what brackets after means are, and over how many queries; empty where there are none."""
    if not any(estimate.ci for system in report.systems.values() for estimate in system.estimates.values()):
        return ""
    many = report.unit[1]
    averaged = _queries_averaged(report)
    over = f"{averaged} {many}" if with_count and averaged else many
    return f"[{format_percent(report.level)} interval over {over}]"


def headline_table(report: Report) -> TextTable:
    """Return the means of all measures: measures down and systems across, or the other way round for many systems."""
    systems = report.systems
    titles = {label: report.both_names(label) for label in report.labels}

    def cells(*estimates: Estimate) -> list[str]:
        return [*map(format_estimate, estimates), _counts(estimates)]

    by_measure = make_table(
        ["measure", *systems, "n"],
        [[title, *cells(*(of.estimates[label] for of in systems.values()))] for label, title in titles.items()],
    )
    by_system = make_table(
        ["system", *titles.values(), "n"],
        [[name, *cells(*(system.estimates[label] for label in titles))] for name, system in systems.items()],
    )
    pairs = [(name, label) for label in titles for name in systems]
    one_by_one = make_table(
        ["system", "measure", "mean", "n"],
        [[name, titles[label], *cells(systems[name].estimates[label])] for name, label in pairs],
        text=(0, 1),
        wraps=(0, 1, 3),
    )
    by_gold: dict[str, list[str]] = {}
    for name, gold in report.golds.items():
        by_gold.setdefault(gold, []).append(name)
    golds = " · ".join(f"{gold}: {', '.join(names)}" for gold, names in by_gold.items())
    more = (common_names_note(report.common_names), f"against {golds}" if golds else "")

    def noted(found: TextTable, *, with_count: bool = False) -> TextTable:
        return replace(found, notes=tuple(filter(None, (interval_note(report, with_count=with_count), *more))))

    layouts = [noted(by_measure), noted(by_system)]
    if len(systems) > _MOST_SYSTEMS_ACROSS:
        layouts.reverse()
    if _queries_averaged(report):
        layouts.append(noted(by_system.without("n"), with_count=True))
    return replace(layouts[0], narrower=(*layouts[1:], noted(one_by_one)))


def _queries_averaged(report: Report) -> str | None:
    """Return how many queries every estimate is over; None where they differ."""
    found = {_counts([estimate]) for system in report.systems.values() for estimate in system.estimates.values()}
    return found.pop() if len(found) == 1 else None


def _counts(estimates: Sequence[Estimate]) -> str:
    """Return how many queries were averaged, and how many omitted; once where they agree."""
    shown = [f"{e.n:,}" + (f" ({e.undefined:,} undefined)" if e.undefined else "") for e in estimates]
    return shown[0] if len(set(shown)) == 1 else " | ".join(shown)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV: numbers with all digits, nothing for None, and texts as ones that no spreadsheet runs."""
    text = StringIO()
    lines = csv_writer(text, lineterminator="\n")
    lines.writerow(map(_csv_cell, header))
    lines.writerows(map(_csv_cell, row) for row in rows)
    return text.getvalue()


def _csv_cell(value: object) -> object:
    if isinstance(value, str):
        return escape_spreadsheet(value)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else repr(value) if isinstance(value, float) else value


def cut_name(name: str, longest: int) -> str:
    """Return the beginning of a name that is longer, with an ellipsis."""
    return name if len(name) <= longest else f"{name[: longest - 1].rstrip()}…"


def recorded_table(report: Report, *, everything: bool = True) -> TextTable:
    """Return recorded values, such as latencies: one row per value, systems across.

    Args:
        report: The report.
        everything: With values that are looked up rather than read, such as percentiles of an open loop.
    """
    systems = {name: system.recorded for name, system in report.systems.items() if system.recorded}
    every = list(dict.fromkeys(name for recorded in systems.values() for name in recorded))
    names = every if everything else [name for name in every if not name.startswith(_LOOKED_UP)] or every
    rows = [[name, *(_format_recorded(recorded.get(name)) for recorded in systems.values())] for name in names]
    more = len(every) - len(names)
    notes = [f"and {plural(more, 'other value', 'other values')}: --json has them"] if more else []
    return make_table(["value", *systems], rows, notes=notes, fixed=1, wraps=(0,))


def _format_recorded(recorded: RecordedValue | None) -> str:
    if recorded is None:
        return NO_VALUE
    if recorded.ci is None or recorded.ci[0] == recorded.ci[1]:
        return format_rounded(recorded.value)
    return format_with_interval(recorded.value, recorded.ci)


@dataclass(frozen=True)
class Convention:
    """A measure with all its conventions, what it is and where it is from."""

    label: str
    spelled_out: str
    title: str = ""
    formula: str = ""
    source: str = ""
    common: str = ""


def list_conventions(report: Report) -> list[Convention]:
    """Return every measure with its conventions; of one that is not installed here, its spelling alone."""
    found: dict[str, Convention] = {}
    for system in report.systems.values():
        for label, spelling in system.conventions.items():
            if label in found:
                continue
            found[label] = Convention(label, spelling)
            if (measure := system.measures[label]) is not None:
                metric, name = measure.metric, common_name(measure) or ""
                about = metric.title, metric.formula, metric.source, name
                found[label] = Convention(label, measure.spelled_out(), *about)
    return list(found.values())
