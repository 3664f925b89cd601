"""Tables that fit the screen: columns that are least asked for are left out first."""

from collections.abc import Mapping, Sequence

__all__ = ["columns_that_fit", "print_fitting"]

_GAP = 2


def columns_that_fit(
    header: Sequence[str], rows: Sequence[Sequence[str]], drop: Sequence[str], width: int
) -> list[int]:
    """The places of the columns to show: no empty ones, and none of ``drop`` that there is no room for."""
    from rich.cells import cell_len

    kept = [place for place in range(len(header)) if any(row[place] for row in rows)]
    widths = [max(map(cell_len, (name, *(row[place] for row in rows)))) for place, name in enumerate(header)]
    for name in drop:
        if sum(widths[place] for place in kept) + _GAP * (len(kept) - 1) <= width:
            break
        kept = [place for place in kept if header[place] != name]
    return kept


def print_fitting(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    text: Sequence[str],
    drop: Sequence[str] = (),
    folding: Sequence[str] = (),
    styles: Mapping[tuple[int, str], str] | None = None,
) -> None:
    """On standard output; columns of the names ``text`` are words. ``styles`` are by row and column."""
    from karat.reports.console import console, print_table

    kept = columns_that_fit(header, rows, drop, console().width)
    names = [header[place] for place in kept]
    places = {(row, names.index(name)): style for (row, name), style in (styles or {}).items() if name in names}
    print_table(
        names,
        [[row[place] for place in kept] for row in rows],
        text=[place for place, name in enumerate(names) if name in text],
        folding=[place for place, name in enumerate(names) if name in folding] or (len(names),),
        styles=places,
    )
