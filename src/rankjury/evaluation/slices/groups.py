"""Groups of queries or items by an attribute: its spelling, the counts of its values, and the members of each group."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.types import Bools, Floats, Ints
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.stats.estimates import FRACTION, bits_to_drop, round_bits

_SPELLING = re.compile(r"(?P<name>[^()*]+?)\s*(?:\(\s*(?P<option>quantiles|bins)\s*=\s*(?P<value>[^()]+)\))?")
_MAX_GROUPS = 100
_FEW_NUMBERS = 5
NO_VALUE = "(none)"
_VALUE, _COUNT = "value", "count"


@dataclass(frozen=True)
class Attribute:
    """An attribute to group by: a column, and how its numbers are cut."""

    name: str
    quantiles: int | None = None
    bins: tuple[float, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    """What the names of values leave open, by value."""


def parse_attributes(text: str) -> list[tuple[Attribute, ...]]:
    """Parse ``type,length(quantiles=4),type*lang`` into groupings of one or two attributes each."""
    groupings = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        crossed = tuple(_parse_attribute(name.strip(), part) for name in part.split("*"))
        if len(crossed) > 2 or len({attribute.name for attribute in crossed}) < len(crossed):
            raise UsageError(f"{part!r} crosses {len(crossed)} attributes", expected="two different ones at most")
        groupings.append(crossed)
    if not groupings:
        raise UsageError("no attribute was named", expected="something like queries.csv:type,length")
    return groupings


def _parse_attribute(text: str, where: str) -> Attribute:
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
    if option == "quantiles" and len(numbers) == 1 and numbers[0] in range(2, _MAX_GROUPS + 1):
        return Attribute(name, quantiles=int(numbers[0]))
    expected = "edges split by slashes, like bins=5/10" if option == "bins" else f"2 to {_MAX_GROUPS}"
    raise UsageError(f"{option}={value}", where=where, expected=expected)


def can_group(dtype: pl.DataType) -> bool:
    """Return whether rows can be grouped by values of a type: single values, or lists of single values."""
    if isinstance(dtype, pl.List):
        inner = pl.Series(dtype=dtype.inner).dtype
        return not inner.is_nested() and inner != pl.Binary
    return not dtype.is_nested()


def normalize_values(values: pl.Series) -> pl.Series:
    """Normalize values: NaN becomes null, −0 becomes 0, arrays become lists and bytes become text."""
    if values.dtype == pl.Binary:
        texts = [None if value is None else value.decode("utf-8", "replace") for value in values]
        return pl.Series(values.name, texts, dtype=pl.String)
    if isinstance(values.dtype, pl.Array):
        values = values.arr.to_list()
    if not values.dtype.is_float():
        return values
    return values.to_frame(_VALUE).select(_unsigned(pl.col(_VALUE)).fill_nan(None)).to_series()


def values_as_text(values: pl.Series) -> pl.Series:
    """Return values as text, 2 rather than 2.0; null for an empty text and for the name of no value."""
    if isinstance(values.dtype, pl.List):
        texts = values.list.eval(_written(pl.element(), values.dtype.inner)).list.drop_nulls()
        return texts.set(texts.list.len() == 0, None)
    return values.to_frame(_VALUE).select(_written(pl.col(_VALUE), values.dtype)).to_series()


def _written(value: pl.Expr, dtype: Any) -> pl.Expr:
    if dtype.is_temporal() and not isinstance(dtype, pl.Date | pl.Datetime):
        text = value.dt.to_string()
    elif dtype.is_float():
        text = _unsigned(value).cast(pl.String).str.strip_suffix(".0")
    else:
        text = value.cast(pl.String).str.strip_chars()
    return pl.when(~text.is_in(["", NO_VALUE])).then(text)


def _unsigned(value: pl.Expr) -> pl.Expr:
    """Replace −0 by 0. Adding 0.0 does not work: Polars optimizes it away."""
    return pl.when(value == 0).then(0.0).otherwise(value)


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """The distinct values of an attribute, ascending, with how many rows have each; of lists, what they hold."""

    dtype: pl.DataType
    values: pl.Series
    counts: Ints
    rows: int
    distinct: int
    """How many values there are, none at all being one; of lists, 0."""
    dropped: int = 0
    """Of so many bits each number was rid, as there were too many: it stands for all that are about the same."""

    @classmethod
    def of(cls, column: pl.Series) -> "ValueCounts":
        values = normalize_values(column)
        dtype = values.dtype
        if not can_group(dtype):
            known = values.clear()
        elif isinstance(dtype, pl.List):
            known = values_as_text(values).explode().drop_nulls()
        else:
            known = values.drop_nulls()
        return _counted(dtype, known, np.ones(len(known), dtype=np.int64), len(values), len(known) < len(values))

    def __add__(self, other: "ValueCounts") -> "ValueCounts":
        """Add the counts of other rows of the same column."""
        dropped = max(self.dropped, other.dropped)
        if self.dropped != other.dropped:
            return self._rounded(dropped) + other._rounded(dropped)
        values, counts = pl.concat([self.values, other.values]), np.concatenate((self.counts, other.counts))
        return _counted(self.dtype, values, counts, self.rows + other.rows, self.lacks or other.lacks, dropped)

    def limited(self, most: int) -> "ValueCounts":
        """Return at most ``most`` distinct values: numbers are rounded, and texts beyond are dropped.

        Numbers keep 24 bits of their fractions, and fewer only where they are still too many. How many bits depends on
        all numbers, not on the blocks in which they came. So many texts make too many groups anyway.
        """
        if len(self.values) <= most:
            return self
        if not self.is_number:
            return replace(self, values=self.values.head(most + 1), counts=self.counts[: most + 1])
        return self._rounded(bits_to_drop(self.numbers[0], most, max(self.dropped, FRACTION - 24)))

    def _rounded(self, dropped: int) -> "ValueCounts":
        numbers = pl.Series(_VALUE, round_bits(self.values.cast(pl.Float64).to_numpy(), dropped))
        return _counted(pl.Float64(), numbers, self.counts, self.rows, self.lacks, dropped)

    @property
    def lacks(self) -> bool:
        """Whether some row has no value; of lists it is not known."""
        return self.distinct > len(self.values)

    @property
    def is_number(self) -> bool:
        return self.dtype.is_numeric()

    @property
    def texts(self) -> pl.Series:
        """The values as written, each once; in the order of their spelling, or in that of an ordered category."""
        texts = values_as_text(self.values).drop_nulls().unique().sort()
        if isinstance(self.dtype, pl.Enum):
            in_order = self.dtype.categories.str.strip_chars().unique(maintain_order=True)
            return in_order.filter(in_order.is_in(texts.implode()))
        return texts

    @property
    def numbers(self) -> tuple[Floats, Ints]:
        """Distinct numbers, ascending, and how many rows have each."""
        numbers, place = np.unique(self.values.cast(pl.Float64).to_numpy(), return_inverse=True)
        return numbers, np.bincount(place, self.counts, numbers.size).astype(np.int64)


def _counted(
    dtype: pl.DataType, values: pl.Series, counts: Ints, rows: int, lacking: bool, dropped: int = 0
) -> ValueCounts:
    table = pl.DataFrame({_VALUE: values, _COUNT: counts}).group_by(_VALUE).agg(pl.col(_COUNT).sum())
    if not table[_VALUE].dtype.is_nested():
        table = table.sort(_VALUE)
    distinct = 0 if dtype.is_nested() else table.height + lacking
    return ValueCounts(dtype, table[_VALUE], table[_COUNT].to_numpy(), rows, distinct, dropped)


@dataclass(frozen=True, eq=False)
class Group:
    """A group of ids: its name, and a mask of its members."""

    name: str
    note: str
    """Details that the name leaves open, such as the range of a quantile; else empty."""
    members: Bools

    @property
    def attribute(self) -> str:
        """What they are grouped by: of type=how-to, type; of a crossing, all of its name."""
        return self.name if "*" in self.name else self.name.partition("=")[0]


class AttributeRows:
    """Rows of a table of attributes; columns are converted to texts or numbers once."""

    def __init__(self, table: pl.DataFrame) -> None:
        self.table = table
        self.texts: Callable[[str], pl.Series] = cache(lambda name: values_as_text(normalize_values(table[name])))
        self.numbers: Callable[[str], Floats] = cache(
            lambda name: normalize_values(table[name]).cast(pl.Float64).to_numpy()
        )


@dataclass(frozen=True)
class _HasValue:
    """The value as written; None: no value."""

    name: str
    value: str | None

    def members(self, rows: AttributeRows) -> Bools:
        if self.value is None and rows.table[self.name].dtype.is_numeric():
            return np.isnan(rows.numbers(self.name))
        texts = rows.texts(self.name)
        if self.value is None:
            return texts.is_null().to_numpy()
        equal = texts.list.contains(self.value) if isinstance(texts.dtype, pl.List) else texts == self.value
        return equal.fill_null(False).to_numpy()


@dataclass(frozen=True)
class _Lies:
    """Between two numbers, or beyond one; of a quantile the upper one counts, of a bin the lower."""

    name: str
    low: float | None
    high: float | None
    upper_counts: bool

    def members(self, rows: AttributeRows) -> Bools:
        numbers = rows.numbers(self.name)
        inside = ~np.isnan(numbers)
        if self.low is not None:
            inside &= numbers > self.low if self.upper_counts else numbers >= self.low
        if self.high is not None:
            inside &= numbers <= self.high if self.upper_counts else numbers < self.high
        return inside


@dataclass(frozen=True)
class GroupDefinition:
    """Definition of a group: its name, and the conditions that its members meet."""

    name: str
    note: str
    conditions: tuple[_HasValue | _Lies, ...]

    def members(self, rows: AttributeRows) -> Bools:
        return np.asarray(np.logical_and.reduce([condition.members(rows) for condition in self.conditions]))


def suitable_attributes(table: pl.DataFrame) -> list[tuple[Attribute, ...]]:
    """Return the columns to group by where none is named: numbers, and texts of 2 to 20 values."""
    return suitable_attributes_of({name: ValueCounts.of(table[name]) for name in table.columns})


def suitable_attributes_of(censuses: Mapping[str, ValueCounts]) -> list[tuple[Attribute, ...]]:
    return [(Attribute(name),) for name, census in censuses.items() if census.is_number or 2 <= census.distinct <= 20]


def group_by(
    table: pl.DataFrame, asked: Iterable[Sequence[Attribute]], where: str, members_of: pl.DataFrame | None = None
) -> list[Group]:
    """Return the groups that each attribute, or crossing of two, makes of the table's rows, without empty ones.

    ``members_of`` is another table with the same columns: the groups are those of ``table``, their members its rows.
    """
    rows = AttributeRows(table)
    others = None if members_of is None else AttributeRows(members_of)
    groups: list[Group] = []
    for attributes in asked:
        _check_names(attributes, table.columns, where)
        censuses = {attribute.name: ValueCounts.of(table[attribute.name]) for attribute in attributes}
        first = len(groups)
        for group in define_groups(attributes, censuses, where):
            members = group.members(rows)
            if members.any():
                groups.append(Group(group.name, group.note, members if others is None else group.members(others)))
                check_group_count(len(groups) - first, crossing_name(attributes), where)
    return groups


def crossing_name(attributes: Sequence[Attribute]) -> str:
    return "*".join(attribute.name for attribute in attributes)


def _check_names(attributes: Sequence[Attribute], names: Collection[str], where: str) -> None:
    for attribute in attributes:
        if attribute.name not in names:
            raise UnknownName("attribute", attribute.name, names, where=where)


def define_groups(
    attributes: Sequence[Attribute], censuses: Mapping[str, ValueCounts], where: str
) -> list[GroupDefinition]:
    """Define the groups of one attribute, or of two crossed; some may be empty."""
    _check_names(attributes, censuses, where)
    first, *others = (_define_groups(attribute, censuses[attribute.name], where) for attribute in attributes)
    for other in others:
        first = [
            GroupDefinition(
                f"{left.name}*{right.name}",
                ", ".join(filter(None, (left.note, right.note))),
                (*left.conditions, *right.conditions),
            )
            for left in first
            for right in other
        ]
    return first


def check_group_count(groups: int, what: str, where: str) -> None:
    if groups > _MAX_GROUPS:
        raise DataError(
            f"{what} makes {groups:,} groups or more",
            where=where,
            expected=f"at most {_MAX_GROUPS}",
            hint="Is this a text rather than a category? Cut numbers with (quantiles=4) or (bins=5/10).",
        )


def _define_groups(attribute: Attribute, census: ValueCounts, where: str) -> list[GroupDefinition]:
    name, notes = attribute.name, dict(attribute.notes)
    asked_as_number = attribute.quantiles or attribute.bins
    if asked_as_number and not census.is_number:
        raise DataError(f"{name} is not a number and cannot be cut", where=where, hint=f"Ask for {name} alone.")
    without_value = GroupDefinition(f"{name}={NO_VALUE}", "", (_HasValue(name, None),))
    few = census.distinct <= _FEW_NUMBERS and not census.dropped
    if census.is_number and (asked_as_number or not few):
        return [*(_by_bins(attribute) if attribute.bins else _by_quantiles(census, attribute)), without_value]
    if not can_group(census.dtype):
        expected = "a text, a number, or a list of them"
        raise DataError(f"{name} is of type {census.dtype}", where=where, expected=expected)
    values = census.texts
    check_group_count(len(values), name, where)
    groups = [GroupDefinition(f"{name}={value}", notes.get(value, ""), (_HasValue(name, value),)) for value in values]
    return [*groups, without_value]


def _by_quantiles(census: ValueCounts, attribute: Attribute) -> list[GroupDefinition]:
    """Define quantile groups, as even as possible without splitting equal numbers."""
    parts = attribute.quantiles or 4
    distinct, counts = census.numbers
    if distinct.size == 0:
        return []
    below = np.cumsum(counts)[:-1] / counts.sum()
    wanted = np.arange(1, parts) / parts
    nearest = np.abs(below[None, :] - wanted[:, None]).argmin(axis=1) if below.size else np.empty(0, dtype=int)
    edges = distinct[np.unique(nearest)]
    place = np.searchsorted(edges, distinct, side="left")
    groups: list[GroupDefinition] = []
    for number, (low, high) in enumerate(pairwise([None, *edges.tolist(), None])):
        inside = distinct[place == number]
        if inside.size:
            name = f"{attribute.name}=q{len(groups) + 1}"
            note = f"{inside[0]:.15g}" if inside.size == 1 else f"{inside[0]:.15g} to {inside[-1]:.15g}"
            note = f"about {note}" if census.dropped else note
            groups.append(GroupDefinition(name, note, (_Lies(attribute.name, low, high, True),)))
    return groups


def _by_bins(attribute: Attribute) -> list[GroupDefinition]:
    edges = attribute.bins
    labels = [
        f"<{edges[0]:.15g}",
        *(f"={low:.15g}..{high:.15g}" for low, high in pairwise(edges)),
        f">={edges[-1]:.15g}",
    ]
    return [
        GroupDefinition(f"{attribute.name}{label}", "", (_Lies(attribute.name, low, high, False),))
        for label, (low, high) in zip(labels, pairwise([None, *edges, None]), strict=True)
    ]
