"""The report in a terminal."""

from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from karat.common_sections import Quantiles
from karat.markup import visible
from karat.report import Report
from karat.reports.comparison import (
    changes_table,
    comparison_table,
    losses_of,
    p_told,
    power_lines,
    slices_table,
    stacked_comparison_table,
    tally,
)
from karat.reports.quantiles import quantiles_note, quantiles_table
from karat.reports.spaces import spaces_table
from karat.reports.table import by_measure, by_system, by_system_only, caption, legend, one_by_one, queries_averaged
from karat.wording import ITEM_SLICES, count

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = [
    "console",
    "print_comparison",
    "print_first_fitting",
    "print_parted",
    "print_quantiles",
    "print_report",
    "print_slices",
    "print_spaces",
    "print_table",
    "verdict_style",
]

_MOST_SYSTEMS_ACROSS = 4
_GAP = 2
_FOLDED = 8
"""Columns that a text is folded to at most: in fewer it cannot be read."""
_NARROWEST, _DEFAULT_WIDTH = 20, 80
"""Columns of a screen that can be written to at all, and of one that does not say how many it has."""
_SLICES_SHOWN = 15
# Okabe and Ito's palette: told apart by people with any colour vision. A sign or a word always says the same.
_STYLES = {"better": "#56B4E9", "pass": "#56B4E9", "worse": "#E69F00", "fail": "bold #E69F00", "unsure": "#CC79A7"}


def print_report(report: Report) -> None:
    """The headline table on standard output, in the first layout that fits its width."""
    layouts = [by_measure, by_system] if len(report.systems) <= _MOST_SYSTEMS_ACROSS else [by_system, by_measure]
    layouts += [by_system_only] if queries_averaged(report) else []
    chosen = one_by_one
    screen = console()
    for layout in layouts:
        header, rows = layout(report)
        if _width(header, rows) <= screen.width:
            _print_rows(screen, header, rows, text=(0,))
            chosen = layout
            break
    else:
        _print_rows(screen, *one_by_one(report), text=(0, 1), folding=(0, 1, 3))
    told = caption(report, count_of_queries=chosen is by_system_only)
    for line in filter(None, (told, legend(report))):
        screen.print(line)
    if report.golds:
        screen.print(_golds_told(report))


def _golds_told(report: Report) -> str:
    """``against overall: a, b · content: c``"""
    by_gold: dict[str, list[str]] = {}
    for name, gold in report.golds.items():
        by_gold.setdefault(gold, []).append(name)
    return "against " + " · ".join(f"{gold}: {', '.join(names)}" for gold, names in by_gold.items())


def print_comparison(report: Report) -> None:
    """Every system beside the baseline, the queries that lost most, and what could have been shown."""
    screen = console()
    layouts = [
        comparison_table(report),
        stacked_comparison_table(report),
        stacked_comparison_table(report, counts=False),
    ]
    header, rows = next((table for table in layouts if _width(*table) <= screen.width), layouts[-1])
    names = (0, 1) if header[1] == "system" else (0,)
    styles = _styles_of_differences(report, rows, len(names) + 1)
    _print_rows(screen, header, rows, text=names, folding=names, styles=styles)
    screen.print(f"{p_told(report)}, Holm's correction · +/=/−: queries better, equal, worse")
    if legend(report):
        screen.print(legend(report))
    for one in report.comparisons:
        if one.measure == report.labels[0]:
            screen.print(f"\n{tally(one)}" + ("; largest losses:" if losses_of(report, one.system) else ""))
            _print_losses(screen, report, one.system)
    for line in power_lines(report):
        screen.print(line)


def _styles_of_differences(report: Report, rows: Sequence[Sequence[str]], place: int) -> dict[tuple[int, int], str]:
    """Colours for differences that chance would hardly make; rows come measure by measure, the baseline first."""
    shown = iter(one for label in report.labels for one in report.comparisons if one.measure == label)
    styles = {}
    for number, row in enumerate(rows):
        one = next(shown) if row[place] else None
        if one is not None and one.is_shown(report.level):
            styles[number, place] = verdict_style("better" if one.gain > 0 else "worse")
    return styles


def _print_losses(screen: "Console", report: Report, system: str) -> None:
    losses = losses_of(report, system)
    if losses:
        _print_rows(screen, *changes_table(losses, report), text=(0, 3), folding=(0, 3))
        screen.print()


def print_quantiles(report: Report) -> None:
    """Scores at some shares of the queries."""
    print()
    print_table(*quantiles_table(report.sections_of(Quantiles), report.labels, report.both_names), text=(0, 1))
    print(visible(quantiles_note(report.sections_of(Quantiles))))


def print_slices(report: Report) -> None:
    """The slices that lose most under the first measure."""
    measure = report.labels[0]
    header, rows = slices_table(report, measure)
    everything = len(rows)
    if everything > _SLICES_SHOWN:
        header, rows = slices_table(report, measure, changed=True)
    screen = console()
    if not rows:
        screen.print(f"\n{measure} by slice: in none of {everything:,} does a query differ from {report.baseline}")
        return
    last = len(header) - 1
    styles = {(number, last): verdict_style(row[-1]) for number, row in enumerate(rows)}
    screen.print(f"\n{report.both_names(measure)} by slice, worst first")
    names = (0, 1) if header[1] == "system" else (0,)
    _print_rows(screen, header, rows[:_SLICES_SHOWN], text=(*names, last), folding=names, styles=styles)
    if everything > len(rows):
        screen.print(f"{everything - len(rows):,} more, in which no query differs from {report.baseline}")
    if len(rows) > _SLICES_SHOWN:
        screen.print(f"… {len(rows) - _SLICES_SHOWN} more, and the other measures: -o report.md")
    if "p" in header:
        tested = sum(one.tested for part in report.slices for one in part.beside if one.measure == measure)
        screen.print(f"p: Holm's correction for {count(tested, 'test', 'tests')} · noise: chance alone would do")
    if any(part.of == "items" for part in report.slices):
        screen.print(ITEM_SLICES)


def print_spaces(report: Report) -> None:
    """What is to be known of the vectors that systems searched."""
    _print_rows(console(), *spaces_table(report), text=(0, 7), folding=(0, 7))


def verdict_style(verdict: str) -> str:
    return _STYLES.get(verdict, "")


def _width(header: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """How wide a table is if nothing wraps."""
    from rich.cells import cell_len

    columns = zip(header, *rows, strict=True)
    return sum(max(map(cell_len, cells)) for cells in columns) + _GAP * (len(header) - 1)


def print_first_fitting(layouts: Sequence[tuple[Sequence[str], Sequence[Sequence[str]]]], text: Container[str]) -> None:
    """The first of several layouts that fits the screen, else the last; columns of these names are text."""
    screen = console()
    header, rows = next((table for table in layouts if _width(*table) <= screen.width), layouts[-1])
    words = [place for place, name in enumerate(header) if name in text]
    _print_rows(screen, header, rows, text=words, folding=words)


def print_parted(header: Sequence[str], rows: Sequence[Sequence[str]], *, fixed: int) -> None:
    """A table too wide for the screen as several under each other; the first ``fixed`` columns stand in each."""
    places = list(range(fixed, len(header)))
    while places:
        taken = next((n for n in range(len(places), 1, -1) if _fits(header, rows, fixed, places[:n])), 1)
        chosen = [*range(fixed), *places[:taken]]
        print_table([header[one] for one in chosen], [[row[one] for one in chosen] for row in rows], folding=(0,))
        places = places[taken:]
        if places:
            print()


def _fits(header: Sequence[str], rows: Sequence[Sequence[str]], fixed: int, places: Sequence[int]) -> bool:
    chosen = [*range(fixed), *places]
    cells = [[row[one] for one in chosen] for row in rows]
    return _width([header[one] for one in chosen], cells) <= console().width


def print_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    text: Sequence[int] = (0,),
    folding: Sequence[int] | None = None,
    styles: Mapping[tuple[int, int], str] | None = None,
) -> None:
    """A plain table: columns of ``text`` to the left, figures to the right; ``folding`` ones, or the last, may wrap."""
    _print_rows(console(), header, rows, text=text, folding=folding or (len(header) - 1,), styles=styles)


def _print_rows(
    screen: "Console",
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    text: Sequence[int],
    folding: Sequence[int] = (),
    styles: Mapping[tuple[int, int], str] | None = None,
) -> None:
    """Print a table; where the screen is too narrow for its figures, each row as lines of a name and a value."""
    widths = [_width([name], [[row[place]] for row in rows]) for place, name in enumerate(header)]
    least = sum(min(width, _FOLDED) if place in folding else width for place, width in enumerate(widths))
    if least + _GAP * (len(header) - 1) <= screen.width:
        screen.print(_table(header, rows, text=text, folding=folding, styles=styles))
        return
    if header[0].strip():
        screen.print(f"{header[0]}:")
    for row in rows:
        screen.print(row[0])
        for name, cell in zip(header[1:], row[1:], strict=True):
            if cell:
                screen.print(f"  {name}: {cell}" if name.strip() else f"  {cell}")


def _table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    text: Sequence[int],
    folding: Sequence[int] = (),
    styles: Mapping[tuple[int, int], str] | None = None,
) -> "Table":
    """``styles`` are of single cells, by row and column."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True, header_style="bold")
    for position, name in enumerate(header):
        side = "left" if position in text else "right"
        table.add_column(visible(name), justify=side, no_wrap=position not in folding, overflow="fold")  # type: ignore[arg-type]
    for number, row in enumerate(rows):
        table.add_row(*(Text(visible(cell), (styles or {}).get((number, place), "")) for place, cell in enumerate(row)))
    return table


def console(*, stderr: bool = False) -> "Console":
    """A console that neither guesses at colours in figures nor reads brackets as markup."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

        def print(self, *objects: Any, **options: Any) -> None:
            super().print(*(visible(one) if isinstance(one, str) else one for one in objects), **options)

    made = Plain(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=False)
    if made.width < _NARROWEST:  # as with COLUMNS=0, where rich would print nothing
        made.width = _NARROWEST if made.width else _DEFAULT_WIDTH
    return made
