"""The report as Markdown, for a pull request or a page."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from rankjury.core.text import escape_markdown
from rankjury.evaluation.gate import Gate
from rankjury.evaluation.report import Report
from rankjury.reporting.sections import SectionBlock, render_sections
from rankjury.reporting.tables import TextTable, headline_table
from rankjury.reporting.tables.differences import (
    ITEM_SLICES,
    changes_table,
    compared_labels,
    comparison_table,
    largest_losses,
    power_lines,
    slices_table,
    slices_title,
)
from rankjury.reporting.tables.verdicts import verdicts_table
from rankjury.reporting.writers import OutputRequest, writer


@writer("markdown", ".md")
def to_markdown(report: Report, request: OutputRequest | None = None) -> str:
    """Return the report as Markdown: the summary, verdicts, means, comparisons, losses, slices, sections, warnings."""
    if request is not None and request.gate is not None:
        report = report.with_sections(request.gate)
    blocks = [block for _, block in render_sections(report, "markdown")]
    lines = [part for line in report.summary for part in ("", escape_markdown(line))]
    gate = report.section(Gate)
    if gate is not None:
        lines += _block("Targets", verdicts_table(gate))
    headline = headline_table(report)
    lines += _block("", next(table for table in (headline, *headline.narrower) if table.header[0] == "measure"))
    if report.comparisons:
        lines += _block(f"Compared with {report.baseline}", comparison_table(report))
        compared = report.only(compared_labels(report))
        lines += [part for line in power_lines(compared) for part in ("", f"- {escape_markdown(line)}")]
        label = compared.labels[0]
        for system in report.systems:
            losses = changes_table(report, largest_losses(compared, label, system))
            lines += _block(f"Largest losses of {system} on {label}", losses)
    by_slice = report.slices and not any("slices" in block.replaces for block in blocks)
    for label in report.labels if by_slice else ():
        found = slices_table(report, label)
        notes = tuple(note for note in found.notes if note != ITEM_SLICES)
        lines += _block(slices_title(report, label), replace(found, notes=notes))
    if by_slice and any(part.of == "items" for part in report.slices):
        lines += ["", f"- {escape_markdown(ITEM_SLICES)}"]
    for block in blocks:
        lines += ["", f"### {escape_markdown(block.title)}", *section_lines(block)]
    if report.warnings:
        lines += ["", *(f"- warning: {escape_markdown(line)}" for line in report.warning_lines)]
    return "\n".join(lines).lstrip("\n") + "\n"


def section_lines(
    block: SectionBlock, *, brief: bool = False, text: Callable[[str], str] = escape_markdown
) -> Iterator[str]:
    """Return the tables and the sentences of a section.

    Args:
        block: What is shown of the section.
        brief: Without core tables; of long tables, only as many rows as a terminal shows.
        text: Turns a text into Markdown.
    """
    for whole in block.own_tables if brief else block.tables:
        hidden = max(0, len(whole.rows) - whole.shown) if brief and whole.shown else 0
        found = whole.first(whole.shown) if hidden else whole
        title, *lines = found.title.split("\n")
        yield from ("", f"**{text(title)}**") if title else ()
        yield from ("", *(f"- {text(line.strip())}" for line in lines)) if lines else ()
        yield from ("", *markdown_table(found, dict.fromkeys(found.header, text)))
        for note in (*([f"… {hidden:,} more in the report"] if hidden else ()), *found.notes):
            yield from ("", text(note))
    if block.lines:
        yield from ("", *(f"- {text(line.strip())}" for line in block.lines))


def _block(title: str, found: TextTable) -> Iterator[str]:
    """Return a heading, a table and its notes; nothing of a table without rows."""
    if found:
        yield from ("", f"### {escape_markdown(title)}") if title else ()
        yield from ("", *markdown_table(found))
        for note in found.notes:
            yield from ("", escape_markdown(note))


def markdown_table(found: TextTable, formats: Mapping[str, Callable[[str], str]] = MappingProxyType({})) -> list[str]:
    """Return the lines of a table: columns of text to the left, numbers to the right.

    Args:
        found: The table; its title and notes are not among the lines.
        formats: By column, a function that turns a cell's text into Markdown; cells of the others are escaped.
    """
    sides = "".join("|:--" if column.kind == "text" else "|--:" for column in found.columns)
    functions = [formats.get(name, escape_markdown) for name in found.header]
    body = ([function(cell) for function, cell in zip(functions, row, strict=True)] for row in found.texts)
    return [_line(map(escape_markdown, found.header)), f"{sides}|", *map(_line, body)]


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
