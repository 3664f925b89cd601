"""The report in a terminal, and the one function that fits a table to its width."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from rankjury.core.text import visible
from rankjury.evaluation.gate import Gate
from rankjury.evaluation.report import Report
from rankjury.reporting.sections import SectionBlock, render_sections
from rankjury.reporting.tables import CellStyle, TableCell, TextTable, headline_table, make_table
from rankjury.reporting.tables.differences import (
    LOSSES_SHOWN,
    changes_table,
    comparison_table,
    largest_losses,
    power_lines,
    slices_table,
    slices_title,
)
from rankjury.reporting.tables.verdicts import verdicts_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

_GAP = 2
_FOLDED = 8
"""Columns that a text is folded to at least: in fewer it cannot be read."""
_NARROWEST, _DEFAULT_WIDTH = 20, 80
"""The least columns of a terminal, and the columns of one of unknown width."""
REPORT_LINES = 44
"""Lines of a report that are printed, so that with the warnings and hints around it it is 60."""
_FEWEST_OF_PART = 6
"""Lines of a part that are printed at least: a table with fewer has no rows to speak of."""
_SLICES_SHOWN, _LOSSES_SHOWN = 8, 3
# A word or a sign always says the same as the colour: better and worse are Okabe and Ito's colours.
_STYLES = {"better": "#56B4E9", "worse": "#E69F00", "pass": "green", "fail": "bold red", "unsure": "yellow"}
_capturing: ContextVar["Console | None"] = ContextVar("capturing", default=None)
"""The console whose output is captured (``capture_lines``)."""


def print_report(report: Report, *, omit: Collection[str] = (), lines: int | None = None) -> None:
    """Print the summary, then verdicts, the main table, differences, slices and sections, as far as they fit.

    Args:
        report: The whole report.
        omit: Tables not to print: ``headline``, ``comparison``, ``slices``.
        lines: How many lines to print; None: all, and tables with all of their rows.
    """
    has_sections = bool(report.sections) or any(system.sections for system in report.systems.values())
    blocks = [block for _, block in render_sections(report, "console")] if has_sections else []
    omitted = {*omit, *(name for block in blocks for name in block.replaces)}
    headline = report.only(report.headline) if report.headline else report
    full, gate = lines is None, report.section(Gate)
    parts: list[Callable[[], None]] = [partial(_print_summary, report, gate)]
    first = [block for block in blocks if block.replaces or block.order < 0]
    parts += [part for block in first for part in _block_parts(block, full=full)]
    if "headline" not in omitted:
        parts.append(lambda: print_table(headline_table(headline)))
    if headline.comparisons and "comparison" not in omitted:
        parts.append(lambda: print_table(comparison_table(headline)))
    if headline.slices and "slices" not in omitted:
        parts.append(partial(_print_slices, headline, full=full))
    if headline.comparisons and "comparison" not in omitted:
        parts.append(partial(_print_losses, headline, full=full))
    parts += [part for block in blocks if block not in first for part in _block_parts(block, full=full)]
    print_parts(parts, lines)


def print_parts(parts: Sequence[Callable[[], None]], lines: int | None = REPORT_LINES) -> None:
    """Print parts with an empty line between them: at most so many lines, then how many more there are.

    Args:
        parts: Functions that print by this module.
        lines: How many lines to print; None: all.
    """
    printed = [captured for show in parts if (captured := capture_lines(show))]
    if lines is None or sum(len(part) + 1 for part in printed) - 1 <= lines:
        printed_lines = [line for number, part in enumerate(printed) for line in (*([""] if number else ()), *part)]
        print("\n".join(printed_lines))
        return
    kept: list[str] = []
    for number, part in enumerate(printed):
        room = lines - 1 - len(kept) - bool(number)
        if number and room < len(part):
            if room >= _FEWEST_OF_PART:
                kept += ["", *part[:room]]
            break
        kept += [*([""] if number else ()), *part]
    hidden = sum(map(len, printed)) - sum(map(bool, kept))
    kept += capture_lines(lambda: console().print(f"… {hidden:,} more lines: --full"))
    print("\n".join(kept))


def capture_lines(show: Callable[[], None]) -> list[str]:
    """Return the lines that a function prints by this module, with their colours, instead of printing them."""
    screen = console()
    token = _capturing.set(screen)
    try:
        with screen.capture() as captured:
            show()
    finally:
        _capturing.reset(token)
    return [line.rstrip() for line in captured.get().splitlines()]


def print_gate(gate: Gate) -> None:
    """Print whether it may ship, the verdicts, and what that means for the exit code."""
    _print_sentence(gate.sentence, gate.outcome)
    console().print()
    print_table(verdicts_table(gate))
    note = " · ".join(filter(None, (gate.baseline and f"baseline {gate.baseline}", gate.exit_note)))
    if note:
        console().print(note)


def _print_summary(report: Report, gate: Gate | None) -> None:
    for line in report.summary:
        _print_sentence(line, gate.outcome if gate is not None and line == gate.sentence else "")


def _print_sentence(text: str, style: CellStyle) -> None:
    from rich.text import Text

    console().print(Text(visible(text), _STYLES.get(style, "")))


def _print_losses(report: Report, *, full: bool) -> None:
    """Print the queries that lost most under the first measure, and how many queries a difference takes."""
    label, screen = report.labels[0], console()
    for comparison in report.comparisons:
        if comparison.measure == label:
            losses = largest_losses(report, label, comparison.system, most=LOSSES_SHOWN if full else _LOSSES_SHOWN)
            if losses:
                screen.print(f"Largest losses of {comparison.system} in {label}:")
                print_table(changes_table(report, losses))
    for line in power_lines(report):
        screen.print(line)


def _print_slices(report: Report, *, full: bool) -> None:
    """Print the slices under the first measure: the weakest or those that lose most, or all of them."""
    label = report.labels[0]
    found = slices_table(report, label)
    everything = len(found.rows)
    shown = everything if full else _SLICES_SHOWN
    if everything > shown:
        found = slices_table(report, label, changed=True)
    if not found:
        console().print(f"{label} by slice: in none of {everything:,} does a query differ from {report.baseline}")
        return
    same, left = everything - len(found.rows), len(found.rows) - shown
    notes = [f"{same:,} more, in which no query differs from {report.baseline}"] if same > 0 else []
    notes += [f"… {left} more: --full"] if left > 0 else []
    print_table(replace(found.first(shown), title=slices_title(report, label), notes=(*notes, *found.notes)))


def print_block(block: SectionBlock, *, full: bool = False) -> None:
    """Print a block: its tables, with an empty line between them, then its sentences."""
    for number, found in enumerate(block.tables):
        if number:
            console().print()
        print_table(replace(found, shown=0) if full else found)
    for line in block.lines:
        console().print(line)


def _block_parts(block: SectionBlock, *, full: bool) -> list[Callable[[], None]]:
    """Return functions that print a block: one per table, so that a cut comes after a table where it can."""
    tables = [replace(block, tables=[found], lines=()) for found in block.tables[:-1]]
    return [partial(print_block, part, full=full) for part in (*tables, replace(block, tables=block.tables[-1:]))]


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
    captured = _capturing.get()
    if captured is not None and not stderr:
        return captured
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
