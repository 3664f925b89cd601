"""Slices on a page: one table per measure, slices × systems, the worst slice first."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from karat.reports.charts.from_form.reading import labels_of, less_is_better, level_of
from karat.reports.html.figures import Cell, Form, cell_of
from karat.reports.html.sections import title_of

__all__ = ["SliceRow", "SliceTable", "slice_tables", "slices_of"]

_FULL_CELL, _BRIEF_CELL = 330, 40
"""Bytes of a cell of a table of slices, about."""
_FEWEST_SLICES = 10


@dataclass(frozen=True)
class SliceRow:
    slice: str
    n: str
    system: str
    cell: Cell
    gain: float
    """The difference, or the mean where nothing is compared, counted so that more is better; for ordering."""


def slices_of(form: Form, label: str) -> list[SliceRow]:
    """One measure in every slice, worst first; systems that are compared where there are such, else all."""
    level, lower = level_of(form), less_is_better(form, label)
    rows = list(_slice_rows(form, label, level, lower))
    return sorted(rows, key=lambda row: (row.gain, row.slice, row.system))


@dataclass(frozen=True)
class SliceTable:
    """One measure: slices × systems, worst slice first."""

    label: str
    title: str
    full: bool
    """With intervals and p-values."""
    systems: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[Cell, ...]], ...]
    """Slice, number of queries, one cell per system."""


def slice_tables(form: Form, labels: Sequence[str], idle: Collection[str], room: int) -> tuple[list[SliceTable], int]:
    """Return the tables of all measures that slices have, and how many there was no room for.

    Those of ``labels`` come first, and the first of all has intervals and p-values. Where not all slices fit into about
    ``room`` bytes, each table has the worst of them; ten at least.
    """
    parts = {part["slice"]: part for part in form.get("slices") or ()}
    systems = tuple(name for name in form["systems"] if name not in idle)
    ordered = {
        label: list(dict.fromkeys(row.slice for row in slices_of(form, label) if row.system not in idle))
        for label in dict.fromkeys((*labels, *labels_of(form)))
    }
    known = {label: names for label, names in ordered.items() if names}
    row_bytes = len(systems) * (_FULL_CELL + _BRIEF_CELL * (len(known) - 1))
    most = max(_FEWEST_SLICES, room // max(1, row_bytes))
    tables: list[SliceTable] = []
    used = 0
    for label, names in known.items():
        used += min(most, len(names)) * len(systems) * (_BRIEF_CELL if tables else _FULL_CELL)
        if tables and used > 2 * room:
            break
        rows = tuple(_row(form, parts[name], label, systems) for name in names[:most])
        tables.append(SliceTable(label, title_of(form, label), not tables, systems, rows))
    return tables, len(known) - len(tables)


def _row(form: Form, part: Form, label: str, systems: Sequence[str]) -> tuple[str, str, tuple[Cell, ...]]:
    """Return slice, number of queries that the measure is over (a range where systems differ), and cells."""
    compared = {one["system"]: one for one in part.get("comparisons") or () if one["measure"] == label}
    entries = {name: ((part["systems"].get(name) or {}).get("measures") or {}).get(label) for name in systems}
    how: dict[str, Any] = {"lower": less_is_better(form, label), "level": level_of(form)}
    cells = tuple(cell_of(entries[name], compared.get(name), **how) for name in systems)
    numbers = {entry["n"] for entry in entries.values() if entry is not None} or {0}
    return part["slice"], "–".join(f"{n:,}" for n in sorted({min(numbers), max(numbers)})), cells


def _slice_rows(form: Form, label: str, level: float, lower: bool) -> Iterator[SliceRow]:
    parts = form.get("slices") or ()
    comparing = any(one["measure"] == label for part in parts for one in part.get("comparisons") or ())
    for part in parts:
        compared = {one["system"]: one for one in part.get("comparisons") or () if one["measure"] == label}
        for name, one in part["systems"].items():
            entry = one["measures"].get(label)
            if entry is None or entry.get("mean") is None or (comparing and name not in compared):
                continue
            if comparing and compared[name].get("difference") is None:
                continue
            value = compared[name]["difference"] if comparing else entry["mean"]
            cell = cell_of(entry, compared.get(name), lower=lower, level=level)
            n = compared[name]["n"] if comparing else entry["n"]
            yield SliceRow(part["slice"], f"{n:,}", name, cell, -value if lower else value)
