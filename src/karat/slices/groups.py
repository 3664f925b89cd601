"""Which groups an attribute makes, and who is in them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import polars as pl

from karat.errors import DataError, UnknownName
from karat.slices.attributes import MOST_GROUPS, Attribute
from karat.slices.census import NO_VALUE, Census, can_group, prepared, written
from karat.types import Bools, Floats

__all__ = [
    "NO_VALUE",
    "Definition",
    "Group",
    "Rows",
    "check_number",
    "define",
    "group_by",
    "spelled",
    "suitable_attributes",
    "suitable_names",
]

_USUAL_QUANTILES = 4
_MOST_GROUPS_UNASKED = 20
_FEW_NUMBERS = 5


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


@dataclass(eq=False)
class Rows:
    """Some rows of a table of attributes; columns are brought into the form that groups ask for once."""

    table: pl.DataFrame
    _texts: dict[str, pl.Series] = field(default_factory=dict)
    _numbers: dict[str, Floats] = field(default_factory=dict)

    def texts(self, name: str) -> pl.Series:
        if name not in self._texts:
            self._texts[name] = written(prepared(self.table[name]))
        return self._texts[name]

    def numbers(self, name: str) -> Floats:
        if name not in self._numbers:
            self._numbers[name] = prepared(self.table[name]).cast(pl.Float64).to_numpy()
        return self._numbers[name]


@dataclass(frozen=True)
class _HasValue:
    """The value as written; None: no value."""

    name: str
    value: str | None

    def members(self, rows: Rows) -> Bools:
        texts = rows.texts(self.name)
        if self.value is None:
            return texts.is_null().to_numpy()
        listed = isinstance(texts.dtype, pl.List)
        found = texts.list.contains(self.value) if listed else texts == self.value
        return found.fill_null(False).to_numpy()


@dataclass(frozen=True)
class _Lies:
    """Between two numbers, or beyond one; of a quantile the upper one counts, of a bin the lower."""

    name: str
    low: float | None
    high: float | None
    upper_counts: bool

    def members(self, rows: Rows) -> Bools:
        numbers = rows.numbers(self.name)
        found = ~np.isnan(numbers)
        if self.low is not None:
            found &= numbers > self.low if self.upper_counts else numbers >= self.low
        if self.high is not None:
            found &= numbers <= self.high if self.upper_counts else numbers < self.high
        return found


@dataclass(frozen=True)
class _NoNumber:
    name: str

    def members(self, rows: Rows) -> Bools:
        return np.isnan(rows.numbers(self.name))


@dataclass(frozen=True)
class Definition:
    """A group before anybody is looked up: its name, and what its members share."""

    name: str
    note: str
    shared: tuple[_HasValue | _Lies | _NoNumber, ...]

    def members(self, rows: Rows) -> Bools:
        found = self.shared[0].members(rows)
        for one in self.shared[1:]:
            found = found & one.members(rows)
        return found


def suitable_attributes(table: pl.DataFrame) -> list[tuple[Attribute, ...]]:
    """The columns that group well, for when none is named: numbers, and texts of 2 to 20 values."""
    return suitable_names({name: Census.of(table[name]) for name in table.columns})


def suitable_names(censuses: Mapping[str, Census]) -> list[tuple[Attribute, ...]]:
    return [
        (Attribute(name),)
        for name, one in censuses.items()
        if one.is_number or 2 <= one.distinct <= _MOST_GROUPS_UNASKED
    ]


def group_by(
    table: pl.DataFrame, asked: Iterable[Sequence[Attribute]], where: str, members_of: pl.DataFrame | None = None
) -> list[Group]:
    """Return the groups that each attribute, or crossing of two, makes of the table's rows, without empty ones.

    ``members_of`` is another table with the same columns: the groups are those of ``table``, their members its rows.
    """
    rows = Rows(table)
    others = None if members_of is None else Rows(members_of)
    found: list[Group] = []
    for attributes in asked:
        censuses = {one.name: Census.of(table[one.name]) for one in _known(attributes, table.columns, where)}
        made: list[Group] = []
        for one in define(attributes, censuses, where):
            members = one.members(rows)
            if members.any():
                made.append(Group(one.name, one.note, members if others is None else one.members(others)))
                check_number(len(made), spelled(attributes), where)
        found += made
    return found


def spelled(attributes: Sequence[Attribute]) -> str:
    return "*".join(one.name for one in attributes)


def _known(attributes: Sequence[Attribute], names: Collection[str], where: str) -> Sequence[Attribute]:
    for one in attributes:
        if one.name not in names:
            raise UnknownName("attribute", one.name, names, where=where)
    return attributes


def define(attributes: Sequence[Attribute], censuses: Mapping[str, Census], where: str) -> list[Definition]:
    """The groups of one attribute, or those of two crossed; of some there may be nobody."""
    first, *others = (_defined(one, censuses[one.name], where) for one in _known(attributes, censuses, where))
    for other in others:
        first = [_crossed(one, two) for one in first for two in other]
    return first


def _crossed(one: Definition, other: Definition) -> Definition:
    note = ", ".join(filter(None, (one.note, other.note)))
    return Definition(f"{one.name}*{other.name}", note, (*one.shared, *other.shared))


def check_number(groups: int, what: str, where: str) -> None:
    if groups > MOST_GROUPS:
        raise DataError(
            f"{what} makes {groups:,} groups or more",
            where=where,
            expected=f"at most {MOST_GROUPS}",
            hint="Is this a text rather than a category? Cut numbers with (quantiles=4) or (bins=5/10).",
        )


def _defined(attribute: Attribute, census: Census, where: str) -> list[Definition]:
    name = attribute.name
    asked_as_number = attribute.quantiles or attribute.bins
    if asked_as_number and not census.is_number:
        raise DataError(f"{name} is no number, and cannot be cut", where=where, hint=f"Ask for {name} alone.")
    few = census.distinct <= _FEW_NUMBERS and not census.rounded
    if not census.is_number or (not asked_as_number and few):
        return _by_value(census, attribute, where)
    cut = _by_bins(attribute) if attribute.bins else _by_quantiles(census, attribute)
    return [*cut, Definition(f"{name}={NO_VALUE}", "", (_NoNumber(name),))]


def _by_value(census: Census, attribute: Attribute, where: str) -> list[Definition]:
    name, notes = attribute.name, dict(attribute.notes)
    if not can_group(census.dtype):
        raise DataError(
            f"{name} is of type {census.dtype}", where=where, expected="a text, a number, or a list of them"
        )
    found = census.texts
    check_number(len(found), name, where)
    groups = [Definition(f"{name}={value}", notes.get(value, ""), (_HasValue(name, value),)) for value in found]
    return [*groups, Definition(f"{name}={NO_VALUE}", "", (_HasValue(name, None),))]


def _by_quantiles(census: Census, attribute: Attribute) -> list[Definition]:
    """As even as equal numbers allow; these are never parted."""
    parts = attribute.quantiles or _USUAL_QUANTILES
    distinct, counts = census.numbers
    if distinct.size == 0:
        return []
    below = np.cumsum(counts)[:-1] / counts.sum()
    wanted = np.arange(1, parts) / parts
    nearest = np.abs(below[None, :] - wanted[:, None]).argmin(axis=1) if below.size else np.empty(0, dtype=int)
    edges = distinct[np.unique(nearest)]
    place = np.searchsorted(edges, distinct, side="left")
    groups: list[Definition] = []
    for number, (low, high) in enumerate(pairwise([None, *edges.tolist(), None])):
        inside = distinct[place == number]
        if inside.size:
            name = f"{attribute.name}=q{len(groups) + 1}"
            note = f"about {_range_of(inside)}" if census.rounded else _range_of(inside)
            groups.append(Definition(name, note, (_Lies(attribute.name, low, high, True),)))
    return groups


def _range_of(values: Floats) -> str:
    low, high = float(values.min()), float(values.max())
    return _shown(low) if low == high else f"{_shown(low)} to {_shown(high)}"


def _shown(number: float) -> str:
    """With as many digits as tell it from its neighbours in a table."""
    return f"{number:.15g}"


def _by_bins(attribute: Attribute) -> list[Definition]:
    name, edges = attribute.name, attribute.bins
    named: list[tuple[str, float | None, float | None]] = [(f"{name}<{_shown(edges[0])}", None, edges[0])]
    named += [(f"{name}={_shown(low)}..{_shown(high)}", low, high) for low, high in pairwise(edges)]
    named.append((f"{name}>={_shown(edges[-1])}", edges[-1], None))
    return [Definition(text, "", (_Lies(name, low, high, False),)) for text, low, high in named]
