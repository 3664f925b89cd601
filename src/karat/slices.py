"""Groups of queries, or of items, by their attributes: type=how-to, length=q1, type=how-to*lang=fr.

An attribute is asked for by its name, with how to cut it where it is a number: ``length`` (quartiles),
``length(quantiles=3)``, ``length(bins=5/10)``. ``type*lang`` crosses two.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import polars as pl

from karat.errors import DataError, UnknownName, UsageError
from karat.types import Bools, Floats
from karat.wording import count

__all__ = ["Attribute", "Cuts", "Group", "group_by", "parse_attributes", "suitable_attributes"]

_SPELLING = re.compile(r"(?P<name>[^()*]+?)\s*(?:\(\s*(?P<option>quantiles|bins)\s*=\s*(?P<value>[^()]+)\))?")
_USUAL_QUANTILES = 4
_MOST_GROUPS = 100
_MOST_GROUPS_UNASKED = 20
_FEW_NUMBERS = 5
NO_VALUE = "(none)"
_JOINED = "\0id"
"""A name that no column has."""


@dataclass(frozen=True)
class Attribute:
    """A column by which to group, and how a number is cut."""

    name: str
    quantiles: int | None = None
    bins: tuple[float, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    """What the names of values leave open, by value."""


@dataclass(frozen=True, eq=False)
class Group:
    """Some of the ids: what they share, and which they are."""

    name: str
    note: str
    """What the name leaves open, such as the range of a quantile; else empty."""
    members: Bools

    @property
    def attribute(self) -> str:
        """What they are grouped by: of type=how-to, type; of a crossing, all of its name."""
        return self.name if "*" in self.name else self.name.partition("=")[0]


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
        known = self.table[self.id_column].cast(pl.String).alias(_JOINED)
        if known.is_duplicated().any():
            twice = known.filter(known.is_duplicated())[0]
            raise DataError(f"the {self.id_column} {twice!r} stands twice", where=self.where, expected="each id once")
        lacking, unknown = ids.filter(~ids.is_in(known.implode())), known.filter(~known.is_in(ids.implode()))
        what = "query" if self.of == "queries" else "item"
        not_here = f"{len(lacking):,} of the gold's {len(ids):,}"
        not_there = f"{count(len(unknown), 'id is', 'ids are')} unknown to the gold"
        if len(lacking) == len(ids) or (what == "query" and len(lacking) and len(unknown)):
            raise DataError(
                f"{not_there}, such as {unknown[0]!r}, and {not_here} are not here, such as {lacking[0]!r}",
                where=self.where,
                expected="the ids of the gold, or more",
                hint=f"Are they spelled alike? Give every judged {what} a row, or take the unknown ones out.",
            )
        if len(lacking):
            warnings.append(f"{self.where}: {not_here} ids are not here ({lacking[0]} …): slices {NO_VALUE}")
        if len(unknown) and what == "query":
            warnings.append(f"{self.where}: {not_there} ({unknown[0]} …): not counted")
        attributes = self.table.drop(self.id_column).with_columns(known)
        joined = ids.to_frame(_JOINED).join(attributes, on=_JOINED, how="left", maintain_order="left")
        return joined.drop(_JOINED)


def parse_attributes(text: str) -> list[tuple[Attribute, ...]]:
    """``type,length(quantiles=4),type*lang``: one or two attributes each."""
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        crossed = tuple(_parse_one(one.strip(), part) for one in part.split("*"))
        if len(crossed) > 2 or len({one.name for one in crossed}) < len(crossed):
            raise UsageError(f"{part!r} crosses {len(crossed)} attributes", expected="two different ones at most")
        found.append(crossed)
    if not found:
        raise UsageError("no attribute was named", expected="something like queries.csv:type,length")
    return found


def _parse_one(text: str, where: str) -> Attribute:
    match = _SPELLING.fullmatch(text)
    if match is None:
        expected = "a column, perhaps with (quantiles=4) or (bins=5/10)"
        raise UsageError(f"cannot read the attribute {text!r}", where=where, expected=expected)
    name, option, value = match["name"].strip(), match["option"], match["value"] or ""
    if option is None:
        return Attribute(name)
    try:
        numbers = sorted({float(number) for number in value.split("/")})
    except ValueError:
        numbers = []
    if option == "bins" and numbers and np.isfinite(numbers).all():
        return Attribute(name, bins=tuple(numbers))
    if option == "quantiles" and len(numbers) == 1 and numbers[0] in range(2, _MOST_GROUPS + 1):
        return Attribute(name, quantiles=int(numbers[0]))
    expected = "edges split by slashes, like bins=5/10" if option == "bins" else f"2 to {_MOST_GROUPS}"
    raise UsageError(f"{option}={value}", where=where, expected=expected)


def suitable_attributes(table: pl.DataFrame) -> list[tuple[Attribute, ...]]:
    """The columns that group well, for when none is named: numbers, and texts of 2 to 20 values."""
    names = [name for name in table.columns if table[name].dtype.is_numeric() or _groups_few(table[name])]
    return [(Attribute(name),) for name in names]


def _groups_few(values: pl.Series) -> bool:
    return not values.dtype.is_nested() and 2 <= values.n_unique() <= _MOST_GROUPS_UNASKED


def group_by(table: pl.DataFrame, asked: Iterable[Sequence[Attribute]], where: str) -> list[Group]:
    """The groups that each attribute, or crossing of two, makes of the table's rows; empty ones are left out."""
    found: list[Group] = []
    for attributes in asked:
        groups = _groups_of(table, attributes[0], where)
        for attribute in attributes[1:]:
            crossing = f"{attributes[0].name}*{attribute.name}"
            groups = _crossed(groups, _groups_of(table, attribute, where), crossing, where)
        found += groups
    return found


def _crossed(left: Sequence[Group], right: Sequence[Group], crossing: str, where: str) -> list[Group]:
    crossed: list[Group] = []
    for one in left:
        for other in right:
            members = one.members & other.members
            if members.any():
                note = ", ".join(filter(None, (one.note, other.note)))
                crossed.append(Group(f"{one.name}*{other.name}", note, members))
        _check_number(len(crossed), crossing, where)
    return crossed


def _check_number(groups: int, what: str, where: str) -> None:
    if groups > _MOST_GROUPS:
        raise DataError(
            f"{what} makes {groups:,} groups or more",
            where=where,
            expected=f"at most {_MOST_GROUPS}",
            hint="Is this a text rather than a category? Cut numbers with (quantiles=4) or (bins=5/10).",
        )


def _groups_of(table: pl.DataFrame, attribute: Attribute, where: str) -> list[Group]:
    name = attribute.name
    if name not in table.columns:
        raise UnknownName("attribute", name, table.columns, where=where)
    values = table[name].fill_nan(None) if table[name].dtype.is_float() else table[name]
    asked_as_number = attribute.quantiles or attribute.bins
    if asked_as_number and not values.dtype.is_numeric():
        raise DataError(f"{name} is no number, and cannot be cut", where=where, hint=f"Ask for {name} alone.")
    if not values.dtype.is_numeric() or (not asked_as_number and values.n_unique() <= _FEW_NUMBERS):
        return _by_value(values, attribute, where)
    numbers = values.cast(pl.Float64)
    cut = _by_bins(numbers, attribute) if attribute.bins else _by_quantiles(numbers, attribute)
    return [*cut, *_without_value(numbers.is_null(), name)]


def _by_value(values: pl.Series, attribute: Attribute, where: str) -> list[Group]:
    """In the order of their spelling, or in that of an ordered category (Enum)."""
    name, notes = attribute.name, dict(attribute.notes)
    if isinstance(values.dtype, pl.Array):
        values = values.arr.to_list()
    listed = isinstance(values.dtype, pl.List)
    if values.dtype.is_nested() and not listed:
        raise DataError(
            f"{name} is of type {values.dtype}", where=where, expected="a text, a number, or a list of them"
        )
    if listed:
        texts = values.list.eval(_written(pl.element(), values.dtype.inner)).list.drop_nulls()  # type: ignore[attr-defined]
        texts = texts.set(texts.list.len() == 0, None)
    else:
        texts = values.to_frame("value").select(_written(pl.col("value"), values.dtype)).to_series()
    found = (texts.explode() if listed else texts).drop_nulls().unique().sort()
    if isinstance(values.dtype, pl.Enum):
        in_order = values.dtype.categories.str.strip_chars().unique(maintain_order=True)
        found = in_order.filter(in_order.is_in(found.implode()))
    _check_number(len(found), name, where)
    groups = []
    for value in found:
        members = (texts.list.contains(value) if listed else texts == value).fill_null(False).to_numpy()
        groups.append(Group(f"{name}={value}", notes.get(value, ""), members))
    return [*groups, *_without_value(texts.is_null(), name)]


def _written(value: pl.Expr, dtype: "pl.DataType | type[pl.DataType]") -> pl.Expr:
    """As a person would write it: 2 rather than 2.0; an empty text is no value, nor is the name of none."""
    if dtype.is_temporal() and not isinstance(dtype, pl.Date | pl.Datetime):
        text = value.dt.to_string()
    elif dtype.is_float():
        text = (value + 0.0).cast(pl.String).str.strip_suffix(".0")
    else:
        text = value.cast(pl.String).str.strip_chars()
    return pl.when(~text.is_in(["", NO_VALUE])).then(text)


def _without_value(absent: pl.Series, name: str) -> list[Group]:
    return [Group(f"{name}={NO_VALUE}", "", absent.to_numpy())] if absent.any() else []


def _by_quantiles(numbers: pl.Series, attribute: Attribute) -> list[Group]:
    """As even as equal numbers allow; these are never parted."""
    parts = attribute.quantiles or _USUAL_QUANTILES
    values = numbers.to_numpy()
    known = values[~np.isnan(values)]
    if known.size == 0:
        return []
    distinct, counts = np.unique(known, return_counts=True)
    below = np.cumsum(counts)[:-1] / known.size
    wanted = np.arange(1, parts) / parts
    nearest = np.abs(below[None, :] - wanted[:, None]).argmin(axis=1) if below.size else np.empty(0, dtype=int)
    edges = distinct[np.unique(nearest)]
    place = np.searchsorted(edges, values, side="left")
    groups: list[Group] = []
    for number in range(edges.size + 1):
        members = (place == number) & ~np.isnan(values)
        if members.any():
            groups.append(Group(f"{attribute.name}=q{len(groups) + 1}", _range_of(values[members]), members))
    return groups


def _range_of(values: Floats) -> str:
    low, high = float(values.min()), float(values.max())
    return _shown(low) if low == high else f"{_shown(low)} to {_shown(high)}"


def _shown(number: float) -> str:
    """With as many digits as tell it from its neighbours in a table."""
    return f"{number:.15g}"


def _by_bins(numbers: pl.Series, attribute: Attribute) -> list[Group]:
    values, name, edges = numbers.to_numpy(), attribute.name, attribute.bins
    named = [(f"{name}<{_shown(edges[0])}", values < edges[0])]
    for low, high in pairwise(edges):
        named.append((f"{name}={_shown(low)}..{_shown(high)}", (values >= low) & (values < high)))
    named.append((f"{name}>={_shown(edges[-1])}", values >= edges[-1]))
    return [Group(text, "", members) for text, members in named if members.any()]
