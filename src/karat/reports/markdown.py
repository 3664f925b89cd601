"""The report as Markdown, for a pull request or a page."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from karat.common_sections import Interactions, Quantiles
from karat.exposures import Exposure
from karat.hygiene import Hygiene
from karat.markup import markdown_text
from karat.partial import Partial
from karat.report import Report
from karat.reports.comparison import changes_table, comparison_table, losses_of, p_told, power_lines, slices_table
from karat.reports.partial import missed_table, notes_of, quality_table, shown_queries
from karat.reports.quantiles import quantiles_note, quantiles_table
from karat.reports.recommendations import (
    cutoffs_told,
    empty_tiers_told,
    exposure_table,
    ranges_told,
    split_told,
    tiers_legend,
    tiers_table,
    windows_table,
)
from karat.reports.spaces import spaces_table
from karat.reports.table import Table, by_measure, caption, legend
from karat.wording import ITEM_SLICES

__all__ = ["markdown_table", "to_markdown"]


def to_markdown(report: Report) -> str:
    lines = [*(_log(report) if report.section(Interactions) else ()), *markdown_table(*by_measure(report))]
    if caption(report):
        lines += ["", markdown_text(caption(report))]
    if legend(report):
        lines += ["", markdown_text(legend(report))]
    if report.sections_of(Quantiles):
        table = quantiles_table(report.sections_of(Quantiles), report.labels, report.both_names)
        lines += [
            "",
            *markdown_table(*table, text=(0, 1)),
            "",
            markdown_text(quantiles_note(report.sections_of(Quantiles))),
        ]
    if report.comparisons:
        lines += ["", f"### Compared with {markdown_text(report.baseline or '')}", ""]
        lines += markdown_table(*comparison_table(report), text=(0, 1))
        lines += [
            "",
            f"{p_told(report)}, corrected for all comparisons after Holm; +/=/−: {_who(report)} better, equal, worse.",
        ]
        compared = report.only(list(dict.fromkeys(one.measure for one in report.comparisons)))
        lines += ["", *(f"- {markdown_text(line)}" for line in power_lines(compared))]
        for title, table in _changed(compared):
            lines += ["", f"### {markdown_text(title)}", "", *markdown_table(*table, text=(0, 3))]
    if report.section(Interactions):
        lines += [*_tiers(report), *_exposure(report)]
    for label in report.labels if report.slices and not report.section(Interactions) else ():
        header, rows = slices_table(report, label)
        if not rows:
            continue
        text = (*range(header.index("n")), len(header) - 1)
        lines += [
            "",
            f"### {markdown_text(report.both_names(label))} by slice, worst first",
            "",
            *markdown_table(header, rows, text=text),
        ]
    if any(part.of == "items" for part in report.slices):
        lines += ["", f"- {markdown_text(ITEM_SLICES)}"]
    for system in report.sections_of(Partial):
        lines += _partial(report, system)
    quality = quality_table(report)
    if quality is not None:
        lines += ["", "### Texts mapped onto keywords", "", *markdown_table(*quality)]
    if report.sections_of(Hygiene):
        lines += ["", "### Spaces", "", *markdown_table(*spaces_table(report), text=(0, 7))]
    if report.warnings:
        lines += ["", *(f"- warning: {markdown_text(line)}" for line in report.warning_lines)]
    return "\n".join(lines) + "\n"


def _who(report: Report) -> str:
    return "users" if report.section(Interactions) else "queries"


def _log(report: Report) -> Iterator[str]:
    """What was held out of which log."""
    yield from ("### The log", "", markdown_text(split_told(report.needed_section(Interactions))), "")
    if cutoffs_told(report.needed_section(Interactions)):
        yield from (f"Cut-off times: {markdown_text(cutoffs_told(report.needed_section(Interactions)))}", "")
    yield from markdown_table(*windows_table(report.needed_section(Interactions)), text=(0, 6))
    yield from ("", "new: of whom training has nothing.", "", "### Measures", "")


def _tiers(report: Report) -> Iterator[str]:
    """Every measure in every tier, those that were compared first."""
    compared = [one.measure for one in report.comparisons]
    for label in dict.fromkeys((*compared, *report.labels)):
        header, rows = tiers_table(report, label, ends=True)
        if rows:
            yield from ("", f"### {markdown_text(report.both_names(label))} by tier of training interactions", "")
            yield from markdown_table(header, rows)
    if report.slices:
        yield from ("", *(f"- {markdown_text(line)}" for line in (*ranges_told(report), *empty_tiers_told(report))))
        yield f"- {markdown_text(tiers_legend(report, report.labels))}."


def _exposure(report: Report) -> Iterator[str]:
    """Where in the catalogue recommendations come from."""
    if report.sections_of(Exposure):
        k = next(iter(report.sections_of(Exposure).values())).k
        yield from (
            "",
            f"### Which share of the first {k} recommendations is of the most popular items of training",
            "",
        )
        yield from markdown_table(*exposure_table(report))


def _partial(report: Report, system: str) -> Iterator[str]:
    """What results have and lack of the keywords."""
    yield from ("", f"### Partial matches of {markdown_text(system)}")
    for shown in shown_queries(report, system):
        yield from (
            "",
            f"**{markdown_text(shown.title)}**",
            "",
            *(f"- {markdown_text(line)}" for line in shown.lines),
            "",
        )
        yield from markdown_table(*shown.table, text=range(2, len(shown.table[0])))
        yield from ("", markdown_text(shown.scores))
    header, rows = missed_table(report.sections_of(Partial)[system])
    if rows:
        yield from ("", "Missed most:", "", *markdown_table(header, rows, text=(0, 1, 5)))
    yield from ("", *(f"- {markdown_text(line)}" for line in notes_of(report, system)))


def _changed(report: Report) -> Iterator[tuple[str, Table]]:
    """The largest losses of each system under the first measure."""
    for system in report.systems:
        losses = losses_of(report, system)
        if losses:
            table = changes_table(losses, report)
            yield f"Largest losses of {system} on {report.labels[0]}", table


def markdown_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    text: Sequence[int] = (0,),
    formats: Sequence[Callable[[str], str]] | None = None,
) -> list[str]:
    """Return the lines of a table: columns of ``text`` to the left, figures to the right.

    Args:
        header: Names of the columns.
        rows: Cells as plain text.
        text: Places of the columns that hold words.
        formats: A function per column that turns a cell into Markdown; without it every cell is escaped.
    """
    sides = "".join("|:--" if place in text else "|--:" for place in range(len(header)))
    functions = formats or [markdown_text] * len(header)
    body = ([function(cell) for function, cell in zip(functions, row, strict=True)] for row in rows)
    return [_line(map(markdown_text, header)), f"{sides}|", *map(_line, body)]


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
