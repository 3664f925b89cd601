"""The report in a terminal, and the one function that fits a table to its width."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from rankjury.core.text import visible
from rankjury.evaluation.report import Report
from rankjury.reporting.sections import SectionBlock, render_sections
from rankjury.reporting.tables import TableCell, TextTable, headline_table, make_table
from rankjury.reporting.tables.differences import (
    changes_table,
    comparison_table,
    format_tally,
    largest_losses,
    power_lines,
    slices_table,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

_GAP = 2
_FOLDED = 8
"""Columns that a text is folded to at least: in fewer it cannot be read."""
_NARROWEST, _DEFAULT_WIDTH = 20, 80
"""The least columns of a terminal, and the columns of one of unknown width."""
_SLICES_SHOWN = 15
# Okabe and Ito's palette, for any colour vision. A sign or a word always says the same.
_STYLES = {"better": "#56B4E9", "pass": "#56B4E9", "worse": "#E69F00", "fail": "bold #E69F00", "unsure": "#CC79A7"}


def print_report(report: Report, *, omit: Collection[str] = ()) -> None:
    """Print the headline measures of a report, differences, slices, and its sections, some of which replace these.

    Args:
        report: The whole report.
        omit: Tables not to print: ``headline``, ``comparison``, ``slices``.
    """
    has_sections = bool(report.sections) or any(system.sections for system in report.systems.values())
    blocks = [block for _, block in render_sections(report, "console")] if has_sections else []
    omitted = {*omit, *(name for block in blocks for name in block.replaces)}
    headline = report.only(report.headline) if report.headline else report
    for line in report.summary:
        console().print(line)
    print()
    first = [block for block in blocks if block.replaces or block.order < 0]
    shown: list[Callable[[], None]] = [partial(print_block, block) for block in first]
    if "headline" not in omitted:
        shown.append(lambda: print_table(headline_table(headline)))
    if headline.comparisons and "comparison" not in omitted:
        shown.append(lambda: _print_comparison(headline))
    if headline.slices and "slices" not in omitted:
        shown.append(lambda: _print_slices(headline))
    shown += [partial(print_block, block) for block in blocks if not (block.replaces or block.order < 0)]
    for number, show in enumerate(shown):
        if number:
            print()
        show()


def _print_comparison(report: Report) -> None:
    """Print every system beside the baseline, the queries that lost most, and what could have been shown."""
    screen = console()
    print_table(comparison_table(report))
    label = report.labels[0]
    for comparison in report.comparisons:
        if comparison.measure == label:
            losses = largest_losses(report, label, comparison.system)
            screen.print(f"\n{format_tally(comparison)}" + ("; largest losses:" if losses else ""))
            if losses:
                print_table(changes_table(report, losses))
                screen.print()
    for line in power_lines(report):
        screen.print(line)


def _print_slices(report: Report) -> None:
    """Print the slices that lose most under the first measure."""
    label = report.labels[0]
    found = slices_table(report, label)
    everything = len(found.rows)
    if everything > _SLICES_SHOWN:
        found = slices_table(report, label, changed=True)
    if not found:
        console().print(f"{label} by slice: in none of {everything:,} does a query differ from {report.baseline}")
        return
    more, left = everything - len(found.rows) if "p" in found.header else 0, len(found.rows) - _SLICES_SHOWN
    notes = [f"{more:,} more, in which no query differs from {report.baseline}"] if more else []
    notes += [f"… {left} more, and the other measures: -o report.md"] if left > 0 else []
    title = f"{report.both_names(label)} by slice, worst first"
    print_table(replace(found.first(_SLICES_SHOWN), title=title, notes=(*notes, *found.notes)))


def print_block(block: SectionBlock) -> None:
    """Print a block: its tables, with an empty line between them, then its sentences."""
    for number, found in enumerate(block.tables):
        if number:
            print()
        print_table(found)
    for line in block.lines:
        console().print(line)


def print_table(found: TextTable) -> None:
    """Print a table in the first of its layouts that fits the terminal, with its title and notes.

    Where none fits, it is printed as several tables if it has ``fixed`` columns, else its columns that may wrap do so.
    Where the terminal is too narrow even for that, each row is printed as lines of names and values.
    """
    screen = console()
    hidden = max(0, len(found.rows) - found.shown) if found.shown else 0
    found = found.first(found.shown) if hidden else found
    layouts = (found, *found.narrower)
    chosen = next((layout for layout in layouts if sum(_widths(layout)) <= screen.width), layouts[-1])
    if found.title:
        screen.print(found.title)
    wide = chosen.fixed and sum(_widths(chosen)) > screen.width
    for number, part in enumerate(_parts(chosen, screen.width) if wide else [chosen]):
        if number:
            screen.print()
        _print_cells(screen, part)
    more = [f"… {hidden:,} more in the report"] if hidden else []
    for note in (*more, *(chosen.notes or found.notes)):
        screen.print(note)


def print_rows(
    header: Sequence[str],
    rows: Sequence[Sequence[str | TableCell]],
    *,
    text: Sequence[int] = (0,),
    wraps: Sequence[int] = (-1,),
    fixed: int = 0,
) -> None:
    """Print a table of plain values; columns of ``text`` are aligned to the left, those of ``wraps`` may wrap."""
    print_table(make_table(header, rows, text=text, wraps=wraps, fixed=fixed))


def _widths(found: TextTable) -> list[int]:
    """Return the columns' widths if nothing wraps, each but the first with the gap before it."""
    from rich.cells import cell_len

    widths = [max(cell_len(cell) for cell in cells) for cells in zip(found.header, *found.texts, strict=True)]
    return [width + (_GAP if place else 0) for place, width in enumerate(widths)]


def _parts(found: TextTable, room: int) -> Iterator[TextTable]:
    """Yield a table as several under each other that fit the room; the ``fixed`` columns are in each."""
    widths, fixed = _widths(found), list(range(found.fixed))
    places = fixed
    for place in range(found.fixed, len(found.columns)):
        if len(places) > found.fixed and sum(widths[column] for column in (*places, place)) > room:
            yield found.columns_at(places)
            places = fixed
        places = [*places, place]
    yield found.columns_at(places)


def _print_cells(screen: "Console", found: TextTable) -> None:
    wrapped = sum(
        min(width, _FOLDED + _GAP) if column.wraps else width
        for width, column in zip(_widths(found), found.columns, strict=True)
    )
    if wrapped <= screen.width:
        screen.print(_rich_table(found))
        return
    header = found.header
    if header[0].strip():
        screen.print(f"{header[0]}:")
    for row in found.texts:
        screen.print(row[0])
        for name, cell in zip(header[1:], row[1:], strict=True):
            if cell:
                screen.print(f"  {name}: {cell}" if name.strip() else f"  {cell}")


def _rich_table(found: TextTable) -> "RichTable":
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    made = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True, header_style="bold")
    for column in found.columns:
        side: Literal["left", "right"] = "left" if column.kind == "text" else "right"
        made.add_column(visible(column.name), justify=side, no_wrap=not column.wraps, overflow="fold")
    for row in found.rows:
        made.add_row(*(Text(visible(cell.text), _STYLES.get(cell.style, "")) for cell in row))
    return made


def console(*, stderr: bool = False) -> "Console":
    """Return a console that neither colours numbers nor reads brackets as markup."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

        def print(self, *objects: Any, **options: Any) -> None:
            super().print(*(visible(text) if isinstance(text, str) else text for text in objects), **options)

    made = Plain(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=False)
    if made.width < _NARROWEST:  # as with COLUMNS=0, where rich would print nothing
        made.width = _NARROWEST if made.width else _DEFAULT_WIDTH
    return made
