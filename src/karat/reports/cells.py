"""Table model: cells as text with a meaning, which every writer renders in its own way.

A table is built once. The console fits it to the terminal (``karat.reports.console``), Markdown, HTML, notebooks and
pull requests render the same cells.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

__all__ = ["Cell", "Column", "Style", "Table", "table"]

Style = Literal["", "better", "worse", "noise", "pass", "fail", "unsure", "muted", "baseline"]
"""What a cell says, for colours and marks; its text says the same. A row that begins with ``baseline`` is shaded."""


@dataclass(frozen=True)
class Cell:
    """The text of a cell and what it means."""

    text: str
    style: Style = ""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Column:
    """The head of a column."""

    name: str
    kind: Literal["text", "number"] = "number"
    """Text is aligned to the left, numbers to the right."""
    wraps: bool = False
    """Whether its cells may be broken into lines where there is too little room."""
    strong: bool = False
    """Whether the values in it, without their intervals and further lines, are in bold on a page."""


@dataclass(frozen=True)
class Table:
    """A table with its title, notes, and narrower layouts of itself for narrow terminals."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    """Shown above; lines after the first say more."""
    notes: tuple[str, ...] = ()
    """Lines under the table: what brackets and marks mean."""
    narrower: tuple["Table", ...] = ()
    """The same in fewer columns, the widest first; where none fits, rows are printed as lines of names and values."""
    shown: int = 0
    """Rows that a terminal shows; 0: all. Files and pages have every row."""
    fixed: int = 0
    """So many first columns are repeated where a table that is too wide is printed as several; 0: it is not."""

    def __bool__(self) -> bool:
        return bool(self.rows)

    @property
    def header(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def texts(self) -> list[list[str]]:
        """The rows as text."""
        return [[cell.text for cell in row] for row in self.rows]

    def without(self, *names: str) -> "Table":
        """Return it without some columns."""
        return self.columns_at([place for place, column in enumerate(self.columns) if column.name not in names])

    def columns_at(self, places: Sequence[int]) -> "Table":
        """Return it with the columns at some places."""
        columns = tuple(self.columns[place] for place in places)
        return replace(self, columns=columns, rows=tuple(tuple(row[place] for place in places) for row in self.rows))

    def dropping(self, *names: str) -> "Table":
        """Return it with narrower layouts: without the first of these columns, without the first two, and so on.

        Columns that are empty in all rows are removed at once.
        """
        empty = [one.name for place, one in enumerate(self.columns) if not any(row[place].text for row in self.rows)]
        found = self.without(*empty) if self.rows else self
        narrower = tuple(found.without(*names[: number + 1]) for number in range(len(names)))
        return replace(found, narrower=tuple(dict.fromkeys(narrower)))

    def first(self, most: int) -> "Table":
        """Return it with its first rows."""
        return replace(self, rows=self.rows[:most], narrower=tuple(one.first(most) for one in self.narrower))


def table(
    header: Sequence[str | Column],
    rows: Iterable[Sequence[str | Cell]],
    *,
    text: Sequence[int] = (0,),
    wraps: Sequence[int] = (),
    title: str = "",
    notes: Sequence[str] = (),
    narrower: Sequence[Table] = (),
    fixed: int = 0,
    shown: int = 0,
) -> Table:
    """Return a table of plain values.

    Args:
        header: Names of columns, or columns.
        rows: Texts or cells.
        text: Places of the columns that hold text; the others hold numbers.
        wraps: Places of the columns whose cells may be broken into lines; -1 is the last.
        title: A line above the table.
        notes: Lines under it.
        narrower: Narrower layouts.
        fixed: First columns to repeat where it is printed as several tables.
        shown: Rows that a terminal shows; 0: all.
    """
    columns = tuple(
        one
        if isinstance(one, Column)
        else Column(one, "text" if place in text else "number", place in wraps or place - len(header) in wraps)
        for place, one in enumerate(header)
    )
    cells = tuple(tuple(one if isinstance(one, Cell) else Cell(one) for one in row) for row in rows)
    return Table(columns, cells, title, tuple(notes), tuple(narrower), shown, fixed)
