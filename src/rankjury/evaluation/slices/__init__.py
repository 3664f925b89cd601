"""Groups of queries, or of items, by their attributes: type=how-to, length=q1, type=how-to*lang=fr.

An attribute is asked for by its name, with how to cut it where it is a number: ``length`` (quartiles),
``length(quantiles=3)``, ``length(bins=5/10)``. ``type*lang`` crosses two. What groups there are follows from how often
each value occurs (``ValueCounts``), which can be counted block by block.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import polars as pl

from rankjury.core.text import join_names, plural
from rankjury.core.types import Bools, places_in
from rankjury.errors import DataError
from rankjury.evaluation.sections import ReportWarning
from rankjury.evaluation.slices.groups import NO_VALUE, Attribute, Group, group_by, suitable_attributes

_JOINED = "\0id"  # a name that no column has
_UNKNOWN = "\0unknown"  # an id that no table has


@dataclass(frozen=True, eq=False)
class SliceTable:
    """A table of attributes with an id column, and the attributes to group by; None: whatever groups well."""

    table: pl.DataFrame
    id_column: str
    of: str
    """``queries`` or ``items``: whose ids."""
    asked: Sequence[Sequence[Attribute]] | None
    where: str

    def groups(self, ids: pl.Series, warnings: list[ReportWarning], members_of: pl.Series | None = None) -> list[Group]:
        """Return the groups that these ids fall in; warn, or raise an error, where the table lacks ids.

        ``members_of`` are other ids: the groups are those of ``ids``, their members are among these. For the same ids
        groups are made once: systems are assessed by the hundred where something is tuned.
        """
        key = (ids, ids if members_of is None else members_of)
        if not self._made or not all(old.equals(new) for old, new in zip(self._made[0][0], key, strict=True)):
            attributes, overlap = align(self.table, self.id_column, ids.cast(pl.String), self.where)
            further = list(overlap.warnings(self.of, self.where))
            asked = self.asked or suitable_attributes(attributes)
            if not asked:
                found = f"found no attribute that groups among {join_names(attributes.columns)}"
                raise DataError(found, where=self.where, expected="a category or a number")
            others = None if members_of is None else align(self.table, self.id_column, members_of, self.where)[0]
            self._made[:] = [(key, group_by(attributes, asked, self.where, others), further)]
        warnings += self._made[0][2]
        return self._made[0][1]

    @cached_property
    def _made(self) -> list[tuple[tuple[pl.Series, pl.Series], list[Group], list[ReportWarning]]]:
        """The last ids, their groups, and what was warned of."""
        return []


@dataclass(frozen=True, eq=False)
class ItemGroups:
    """Groups of items, such as categories or tiers of popularity, with their members, judged or not."""

    items: pl.Series
    """All items of the tables and all judged ones, as strings, ascending."""
    names: tuple[str, ...]
    notes: tuple[str, ...]
    members: Bools
    """As groups × items, with one more column for items that no table has: where they are ``(none)``, it is true."""
    warnings: tuple[ReportWarning, ...] = ()
    """Of what the tables of attributes and the gold do not share."""

    @classmethod
    def of(cls, judged: pl.Series, cuts: Sequence[SliceTable]) -> "ItemGroups":
        """Return the groups that the judged items, which are strings, fall in."""
        known = [table.table[table.id_column].cast(pl.String).alias("item") for table in cuts]
        items = pl.concat([judged.alias("item"), *known]).unique().sort()
        every = items.append(pl.Series("item", [_UNKNOWN]))
        warnings: list[ReportWarning] = []
        groups = [group for table in cuts for group in table.groups(judged, warnings, every)]
        return cls(
            every.head(len(every) - 1),
            tuple(group.name if group.name.startswith("item=") else f"item.{group.name}" for group in groups),
            tuple(group.note for group in groups),
            np.array([group.members for group in groups], dtype=bool).reshape(len(groups), len(every)),
            tuple(warnings),
        )

    def rows(self, group: int, items: pl.Series) -> Bools:
        """Return for each of these items whether it is in the group."""
        return np.asarray(self.members[group][places_in(self.items, items.cast(pl.String))])


NO_ITEM_GROUPS = ItemGroups(pl.Series("item", dtype=pl.String), (), (), np.empty((0, 1), dtype=bool))


@dataclass(frozen=True)
class IdOverlap:
    """Overlap of the ids of a table of attributes with those of the gold; overlaps of parts can be added."""

    ids: int
    lacking: int
    unknown: int
    examples: tuple[str | None, str | None]
    """The first id that is lacking, and the first that is unknown, in the order of text."""

    def __add__(self, other: "IdOverlap") -> "IdOverlap":
        pairs = zip(self.examples, other.examples, strict=True)
        lacking, unknown = (min(filter(None, pair), default=None) for pair in pairs)
        numbers = (self.ids + other.ids, self.lacking + other.lacking, self.unknown + other.unknown)
        return IdOverlap(*numbers, (lacking, unknown))

    def warnings(self, of: str, where: str) -> Iterator[ReportWarning]:
        """Return warnings; raise an error where so few ids are shared that they must be spelled differently."""
        what = "query" if of == "queries" else "item"
        lacking, unknown = self.examples
        not_here = f"{self.lacking:,} of the gold's {self.ids:,}"
        not_there = f"{plural(self.unknown, 'id is', 'ids are')} unknown to the gold"
        if self.lacking == self.ids or (what == "query" and self.lacking and self.unknown):
            raise DataError(
                f"{not_there}, such as {unknown!r}, and {not_here} are not here, such as {lacking!r}",
                where=where,
                expected="the ids of the gold, or more",
                hint=f"Are they spelled alike? Give every judged {what} a row, or take the unknown ones out.",
            )
        if self.lacking:
            text = f"{where}: {not_here} ids are not here ({lacking} …): slices {NO_VALUE}"
            yield ReportWarning(text, code="ids-without-attributes", count=self.lacking)
        if self.unknown and what == "query":
            text = f"{where}: {not_there} ({unknown} …): not counted"
            yield ReportWarning(text, code="unknown-ids", count=self.unknown)


def align(table: pl.DataFrame, id_column: str, ids: pl.Series, where: str) -> tuple[pl.DataFrame, IdOverlap]:
    """Return the attributes in the order of the ids, which are strings, and the overlap of ids."""
    if table[id_column].dtype.is_nested():
        problem = f"the {id_column} is of type {table[id_column].dtype}"
        raise DataError(problem, where=where, expected="an id in every row")
    known = table[id_column].cast(pl.String).alias(_JOINED)
    if known.is_duplicated().any():
        duplicate = known.filter(known.is_duplicated())[0]
        raise DataError(f"duplicate {id_column} {duplicate!r}", where=where, expected="each id once")
    lacking, unknown = ids.filter(~ids.is_in(known.implode())), known.filter(~known.is_in(ids.implode()))
    attributes = table.drop(id_column).with_columns(known)
    joined = ids.to_frame(_JOINED).join(attributes, on=_JOINED, how="left", maintain_order="left")
    first = cast(str | None, lacking.min()), cast(str | None, unknown.min())
    return joined.drop(_JOINED), IdOverlap(len(ids), len(lacking), len(unknown), first)
