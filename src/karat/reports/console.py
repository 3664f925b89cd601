"""The report in a terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from karat.reports.table import by_measure, by_system, one_by_one
from karat.results import Report

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["console", "print_report", "print_table"]

_MOST_SYSTEMS_ACROSS = 4
_GAP = 3


def print_report(report: Report) -> None:
    """The headline table on standard output, in the first layout that fits its width."""
    layouts = [by_measure, by_system] if len(report.systems) <= _MOST_SYSTEMS_ACROSS else [by_system, by_measure]
    screen = console()
    for layout in layouts:
        header, rows = layout(report)
        if _width(header, rows) <= screen.width:
            screen.print(_table(header, rows, text=(0,)))
            return
    screen.print(_table(*one_by_one(report), text=(0, 1), folding=(0, 1, 3)))


def _width(header: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """How wide a table is if nothing wraps."""
    from rich.cells import cell_len

    columns = zip(header, *rows, strict=True)
    return sum(max(map(cell_len, cells)) for cells in columns) + _GAP * (len(header) - 1)


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, text: Sequence[int] = (0,)) -> None:
    """A plain table: columns of ``text`` to the left, figures to the right; only the last column may wrap."""
    console().print(_table(header, rows, text=text, folding=(len(header) - 1,)))


def _table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, text: Sequence[int], folding: Sequence[int] = ()
) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for position, name in enumerate(header):
        side = "left" if position in text else "right"
        table.add_column(name, justify=side, no_wrap=position not in folding, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*row)
    return table


def console(*, stderr: bool = False) -> "Console":
    """A console that neither guesses at colours in figures nor reads brackets as markup."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Plain(stderr=stderr, highlight=False, markup=False, soft_wrap=False)
