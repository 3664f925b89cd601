"""The report as Markdown, for a pull request or a page."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from karat.exposures import Exposure
from karat.hygiene import Hygiene
from karat.interactions.summary import Interactions
from karat.markup import markdown_text
from karat.partial import Partial
from karat.report import Report
from karat.reports.cells import Table, table
from karat.reports.partial import missed_table, notes_of, quality_table, shown_queries
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
from karat.reports.tables import (
    changes_table,
    comparison_table,
    headline_table,
    largest_losses,
    power_lines,
    quantiles_table,
    slices_table,
)
from karat.wording import ITEM_SLICES

__all__ = ["markdown_table", "to_markdown"]


def to_markdown(report: Report) -> str:
    """Return the report as Markdown: means, comparisons, losses, slices, sections, warnings."""
    lines = list(_log(report) if report.section(Interactions) else ())
    headline = headline_table(report)
    lines += _block("", next(one for one in (headline, *headline.narrower) if one.header[0] == "measure"))
    lines += _block("", quantiles_table(report))
    if report.comparisons:
        lines += _block(f"Compared with {report.baseline}", comparison_table(report))
        compared = report.only(list(dict.fromkeys(one.measure for one in report.comparisons)))
        lines += ["", *(f"- {markdown_text(line)}" for line in power_lines(compared))]
        label = compared.labels[0]
        for system in report.systems:
            losses = changes_table(report, largest_losses(compared, label, system))
            lines += _block(f"Largest losses of {system} on {label}", losses)
    if report.section(Interactions):
        lines += [*_tiers(report), *_exposure(report)]
    for label in report.labels if report.slices and not report.section(Interactions) else ():
        found = replace(slices_table(report, label), notes=())
        lines += _block(f"{report.both_names(label)} by slice, worst first", found)
    if any(part.of == "items" for part in report.slices):
        lines += ["", f"- {markdown_text(ITEM_SLICES)}"]
    for system in report.sections_of(Partial):
        lines += _partial(report, system)
    quality = quality_table(report)
    if quality is not None:
        lines += _block("Texts mapped onto keywords", table(*quality))
    if report.sections_of(Hygiene):
        lines += _block("Spaces", table(*spaces_table(report), text=(0, 7)))
    if report.warnings:
        lines += ["", *(f"- warning: {markdown_text(line)}" for line in report.warning_lines)]
    return "\n".join(lines).lstrip("\n") + "\n"


def _block(title: str, found: Table) -> Iterator[str]:
    """Return a heading, a table and its notes; nothing of a table without rows."""
    if found:
        yield from ("", f"### {markdown_text(title)}") if title else ()
        yield from ("", *markdown_table(found))
        for note in found.notes:
            yield from ("", markdown_text(note))


def _log(report: Report) -> Iterator[str]:
    """What was held out of which log."""
    yield from ("### The log", "", markdown_text(split_told(report.needed_section(Interactions))), "")
    if cutoffs_told(report.needed_section(Interactions)):
        yield from (f"Cut-off times: {markdown_text(cutoffs_told(report.needed_section(Interactions)))}", "")
    yield from markdown_table(table(*windows_table(report.needed_section(Interactions)), text=(0, 6)))
    yield from ("", "new: of whom training has nothing.", "", "### Measures")


def _tiers(report: Report) -> Iterator[str]:
    """Every measure in every tier, those that were compared first."""
    compared = [one.measure for one in report.comparisons]
    for label in dict.fromkeys((*compared, *report.labels)):
        header, rows = tiers_table(report, label, ends=True)
        if rows:
            yield from ("", f"### {markdown_text(report.both_names(label))} by tier of training interactions", "")
            yield from markdown_table(table(header, rows))
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
        yield from markdown_table(table(*exposure_table(report)))


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
        yield from markdown_table(table(*shown.table, text=range(2, len(shown.table[0]))))
        yield from ("", markdown_text(shown.scores))
    header, rows = missed_table(report.sections_of(Partial)[system])
    if rows:
        yield from ("", "Missed most:", "", *markdown_table(table(header, rows, text=(0, 1, 5))))
    yield from ("", *(f"- {markdown_text(line)}" for line in notes_of(report, system)))


def markdown_table(found: Table, formats: Mapping[str, Callable[[str], str]] = MappingProxyType({})) -> list[str]:
    """Return the lines of a table: columns of text to the left, numbers to the right.

    Args:
        found: The table; its title and notes are not among the lines.
        formats: By column, a function that turns a cell's text into Markdown; cells of the others are escaped.
    """
    sides = "".join("|:--" if column.kind == "text" else "|--:" for column in found.columns)
    functions = [formats.get(name, markdown_text) for name in found.header]
    body = ([function(cell) for function, cell in zip(functions, row, strict=True)] for row in found.texts)
    return [_line(map(markdown_text, found.header)), f"{sides}|", *map(_line, body)]


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
