"""A table of attributes held against the ids that are to be grouped."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import polars as pl

from karat.errors import DataError
from karat.slices.attributes import Attribute
from karat.slices.groups import NO_VALUE, Group, group_by, suitable_attributes
from karat.wording import count

__all__ = ["Cuts", "Shared", "align"]

_JOINED = "\0id"
"""A name that no column has."""


@dataclass(frozen=True, eq=False)
class Cuts:
    """A table of attributes with an id column, and what to group by; None: whatever groups well."""

    table: pl.DataFrame
    id_column: str
    of: str
    """``queries`` or ``items``: whose ids."""
    asked: Sequence[Sequence[Attribute]] | None
    where: str

    def groups(self, ids: pl.Series, warnings: list[str]) -> list[Group]:
        """The groups that these ids fall in; what the table and the ids do not share is warned of, or an error.

        For the same ids they are made once: systems are assessed by the hundred where something is tuned.
        """
        if not self._made or not self._made[0][0].equals(ids):
            told: list[str] = []
            self._made[:] = [(ids, self._groups(ids, told), told)]
        warnings += self._made[0][2]
        return self._made[0][1]

    @cached_property
    def _made(self) -> list[tuple[pl.Series, list[Group], list[str]]]:
        """The last ids, their groups, and what was warned of."""
        return []

    def _groups(self, ids: pl.Series, warnings: list[str]) -> list[Group]:
        attributes = self._aligned(ids.cast(pl.String), warnings)
        asked = self.asked or suitable_attributes(attributes)
        if not asked:
            raise DataError("found no attribute that groups", where=self.where, expected="a category or a number")
        return group_by(attributes, asked, self.where)

    def _aligned(self, ids: pl.Series, warnings: list[str]) -> pl.DataFrame:
        """The attributes row by row with the ids."""
        attributes, shared = align(self.table, self.id_column, ids, self.where)
        warnings += shared.told(self.of, self.where)
        return attributes


@dataclass(frozen=True)
class Shared:
    """How far a table of attributes has the ids of the gold; of parts of both it can be joined."""

    ids: int
    lacking: int
    unknown: int
    examples: tuple[str | None, str | None]
    """The first id that is lacking, and the first that is unknown, in the order of text."""

    def __add__(self, other: "Shared") -> "Shared":
        ours, theirs = self.examples, other.examples
        examples = tuple(min(filter(None, pair), default=None) for pair in zip(ours, theirs, strict=True))
        return Shared(
            self.ids + other.ids,
            self.lacking + other.lacking,
            self.unknown + other.unknown,
            (examples[0], examples[1]),
        )

    def told(self, of: str, where: str) -> list[str]:
        """Warnings; an error where so little is shared that ids must be spelled otherwise."""
        what = "query" if of == "queries" else "item"
        lacking, unknown = self.examples
        not_here = f"{self.lacking:,} of the gold's {self.ids:,}"
        not_there = f"{count(self.unknown, 'id is', 'ids are')} unknown to the gold"
        if self.lacking == self.ids or (what == "query" and self.lacking and self.unknown):
            raise DataError(
                f"{not_there}, such as {unknown!r}, and {not_here} are not here, such as {lacking!r}",
                where=where,
                expected="the ids of the gold, or more",
                hint=f"Are they spelled alike? Give every judged {what} a row, or take the unknown ones out.",
            )
        warnings = []
        if self.lacking:
            warnings.append(f"{where}: {not_here} ids are not here ({lacking} …): slices {NO_VALUE}")
        if self.unknown and what == "query":
            warnings.append(f"{where}: {not_there} ({unknown} …): not counted")
        return warnings


def align(table: pl.DataFrame, id_column: str, ids: pl.Series, where: str) -> tuple[pl.DataFrame, Shared]:
    """The attributes row by row with the ids, which are strings; and how far they are shared."""
    known = table[id_column].cast(pl.String).alias(_JOINED)
    if known.is_duplicated().any():
        twice = known.filter(known.is_duplicated())[0]
        raise DataError(f"the {id_column} {twice!r} stands twice", where=where, expected="each id once")
    lacking, unknown = ids.filter(~ids.is_in(known.implode())), known.filter(~known.is_in(ids.implode()))
    attributes = table.drop(id_column).with_columns(known)
    joined = ids.to_frame(_JOINED).join(attributes, on=_JOINED, how="left", maintain_order="left")
    first = cast(str | None, lacking.min()), cast(str | None, unknown.min())
    return joined.drop(_JOINED), Shared(len(ids), len(lacking), len(unknown), first)
