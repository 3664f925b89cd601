"""A row for each cut-off: tables of mean±std for the console."""

from collections.abc import Iterator, Sequence
from math import isnan

from karat.report import Report
from karat.reports.console import console, print_rows
from karat.reports.cutoffs import ByCutoff, by_cutoff
from karat.reports.table import Table, legend
from karat.statistics.estimates import Estimate
from karat.wording import NOTHING, figure_shown

__all__ = ["cutoff_tables", "print_cutoffs"]

_DECIMALS = 3
_GAP = 2
_INDENT = "  "


def cutoff_tables(report: Report) -> list[tuple[str, Table]]:
    """For each system its name and a table: cut-offs down, measures across, cells like ``0.156±0.363``.

    The spread is the sample standard deviation over queries (divisor n − 1), as everywhere in karat; numpy's default,
    with divisor n, is smaller by the factor √((n − 1) / n).
    """
    grid = by_cutoff(report)
    header = ["k", *(measure.both_names for measure in grid.measures)]
    return [(system, (header, _rows(grid, system))) for system in grid.systems]


def _rows(grid: ByCutoff, system: str) -> list[list[str]]:
    return [[str(k), *(_cell(grid.at(system, measure, k)) for measure in grid.measures)] for k in grid.ks]


def _cell(estimate: Estimate | None) -> str:
    if estimate is None or not estimate.n:
        return NOTHING
    mean = figure_shown(estimate.mean, _DECIMALS)
    return mean if isnan(estimate.std) else f"{mean}±{estimate.std:.{_DECIMALS}f}"


def print_cutoffs(report: Report) -> None:
    """Each system's table on standard output; measures that do not fit beside the others stand in a table below."""
    screen = console()
    for system, (header, rows) in cutoff_tables(report):
        screen.print(f"{system}:")
        for columns in _blocks(header, rows, screen.width - len(_INDENT)):
            shown = [[f"{_INDENT}{row[0]}", *(row[place] for place in columns)] for row in [header, *rows]]
            print_rows(shown[0], shown[1:])
        screen.print()
    grid = by_cutoff(report)
    screen.print(f"mean±standard deviation over {grid.over}")
    for convention in grid.conventions:
        screen.print(convention)
    if legend(report):
        screen.print(legend(report))


def _blocks(header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[list[int]]:
    """The columns after the first, in as many groups as it takes for each to fit the width."""
    widths = [max(map(len, cells)) for cells in zip(header, *rows, strict=True)]
    block: list[int] = []
    for place in range(1, len(header)):
        if block and widths[0] + sum(_GAP + widths[column] for column in (*block, place)) > width:
            yield block
            block = []
        block.append(place)
    yield block
