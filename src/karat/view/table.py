"""The table of queries, sorted and filtered: the answers that the script of a report's file would give itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from karat.errors import UnknownName, UsageError
from karat.reports.html.details import LONGEST_TEXT
from karat.types import Floats, Ints
from karat.view.recent import Recent

__all__ = ["MOST_ROWS", "Asked", "Table"]

MOST_ROWS = 500
"""That are given at a time."""
_ORDERS_KEPT = 20
_BLANKS = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
"""What a script's trim() takes away."""


@dataclass(frozen=True)
class Asked:
    """Which rows, in which order."""

    label: str
    sort: str = "row"
    """loss, gain, difference:i, score:i (of the i-th system) or row."""
    down: bool = False
    text: str = ""
    slice: int | None = None
    offset: int = 0
    limit: int = 20
    find: str = ""
    """A query: the page that it stands on, whatever the offset."""


@dataclass(frozen=True, eq=False)
class Table:
    """Queries with their scores, the latter read when a measure is first asked for."""

    ids: pl.Series
    whole_texts: pl.Series
    """What queries say; null where it is not known."""
    systems: Sequence[str]
    bases: Sequence[int]
    """Of every system the place of the one that it is compared with; −1 where there is none."""
    lower: Mapping[str, bool]
    """By measure whether less is better."""
    column: Callable[[str], Floats]
    """Of a measure the scores, systems × queries, rounded as they are shown."""
    members: Callable[[int], Ints]
    """The rows of the queries in a slice, by its place."""
    idle: Sequence[int] = ()
    """The places of systems that nobody asks about, such as a random one."""
    _orders: Recent[tuple[str, bool, str], Ints] = field(default_factory=lambda: Recent(_ORDERS_KEPT))

    def rows(self, asked: Asked) -> dict[str, Any]:
        """How many fit, and those of the page that is asked for."""
        if asked.label not in self.lower:
            raise UnknownName("measure", asked.label, self.lower)
        order = self._orders.get((asked.sort, asked.down, asked.label), lambda: self._order(asked))
        kept = self._kept(asked)
        found = order if kept is None else order[kept[order]]
        limit = min(asked.limit, MOST_ROWS)
        offset = self._offset(asked, found, limit)
        shown = found[offset : offset + limit]
        values = self.column(asked.label)[:, shown].T
        listed = zip(shown.tolist(), self.ids.gather(shown), self.texts.gather(shown), values.tolist(), strict=True)
        rows = [{"row": row, "id": id_, "text": text, "values": _plain(own)} for row, id_, text, own in listed]
        return {"total": len(found), "offset": offset, "rows": rows}

    def _offset(self, asked: Asked, found: Ints, limit: int) -> int:
        """Where the page begins: that of the query that is to be found, where it is among these."""
        row = self.row_of(asked.find) if asked.find and limit else None
        places = np.flatnonzero(found == (-1 if row is None else row))
        return int(places[0]) // limit * limit if len(places) else asked.offset

    def row_of(self, id_: str) -> int | None:
        """Where a query stands."""
        found = (self.ids == id_).arg_true()
        return int(found[0]) if len(found) else None

    @cached_property
    def texts(self) -> pl.Series:
        """As they are shown: what is longer is cut."""
        cut = pl.concat_str(pl.col("text").str.head(LONGEST_TEXT), pl.lit("…"))
        long = pl.col("text").str.len_chars() > LONGEST_TEXT
        frame = self.whole_texts.alias("text").to_frame()
        return frame.select(pl.when(long).then(cut).otherwise("text").alias("text"))["text"]

    @cached_property
    def _searched(self) -> pl.Series:
        parts = pl.DataFrame({"id": self.ids, "text": self.texts.fill_null("")})
        return parts.select(pl.concat_str("id", "text", separator="\n").str.to_lowercase().alias("searched"))[
            "searched"
        ]

    def _kept(self, asked: Asked) -> Any:
        """Which rows a filter leaves, as booleans; None where there is none."""
        wanted = pl.Series([asked.text.strip(_BLANKS)]).str.to_lowercase()[0]
        kept = None
        if wanted:
            kept = self._searched.str.contains(wanted, literal=True).to_numpy()
        if asked.slice is not None:
            within = np.zeros(len(self.ids), dtype=bool)
            within[self.members(asked.slice)] = True
            kept = within if kept is None else kept & within
        return kept

    def _order(self, asked: Asked) -> Ints:
        """All rows; what is undefined comes last, and equal ones go by row."""
        if asked.sort == "row":
            rows = np.arange(len(self.ids), dtype=np.int64)
            return rows[::-1] if asked.down else rows
        key = self._key(asked.sort, asked.label)
        return np.argsort(-key if asked.down else key, kind="stable").astype(np.int64)

    def _key(self, sort: str, label: str) -> Floats:
        kind, _, place = sort.partition(":")
        values = self.column(label)
        if kind in ("loss", "gain") and not place and self.compared:
            pick = np.fmin if kind == "loss" else np.fmax
            busy = [system for system in self.compared if system not in self.idle] or self.compared
            return np.asarray(pick.reduce([self._gain(values, system, label) for system in busy]))
        system = int(place) if place.isascii() and place.isdigit() and len(place) < 6 else -1
        if kind == "score" and 0 <= system < len(self.systems):
            return np.asarray(values[system])
        if kind == "difference" and system in self.compared:
            return self._difference(values, system)
        raise UsageError(f"cannot sort by {sort!r}", expected="loss, gain, difference:i, score:i or row")

    @cached_property
    def compared(self) -> list[int]:
        """The places of the systems that are held against another."""
        return [system for system, base in enumerate(self.bases) if base >= 0]

    def _difference(self, values: Floats, system: int) -> Floats:
        """Equal ones are equal, whatever the last digits of a subtraction say; halves go up, as in a script."""
        return np.asarray(np.floor((values[system] - values[self.bases[system]]) * 1e9 + 0.5) / 1e9)

    def _gain(self, values: Floats, system: int, label: str) -> Floats:
        change = self._difference(values, system)
        return -change if self.lower[label] else change


def _plain(values: list[float]) -> list[float | None]:
    return [None if value != value else value for value in values]
