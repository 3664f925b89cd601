"""The report in a terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from karat.reports.table import headline
from karat.results import Report

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["print_report", "print_table"]


def print_report(report: Report) -> None:
    """The headline table on standard output."""
    header, rows = headline(report)
    print_table(header, rows)


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, text: Sequence[int] = (0,)) -> None:
    """A plain table: columns of ``text`` to the left, figures to the right; only the last column may wrap."""
    table = _new_table()
    for position, name in enumerate(header):
        last = position == len(header) - 1
        table.add_column(name, justify="left" if position in text else "right", no_wrap=not last)
    for row in rows:
        table.add_row(*row)
    console().print(table)


def _new_table() -> "Table":
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")


def console(*, stderr: bool = False) -> "Console":
    """A console that neither guesses at colours in figures nor reads brackets as markup."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, soft_wrap=False)
