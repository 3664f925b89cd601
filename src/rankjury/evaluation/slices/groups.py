"""Groups of queries or items by an attribute: its spelling, the counts of its values, and the members of each group."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.types import Bools, Floats, Ints
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.stats.estimates import FRACTION, bits_to_drop, round_bits

_SPELLING = re.compile(r"(?P<name>[^()*]+?)\s*(?:\(\s*(?P<option>quantiles|bins)\s*=\s*(?P<value>[^()]+)\))?")
MOST_GROUPS = 100


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
    if option == "quantiles" and len(numbers) == 1 and numbers[0] in range(2, MOST_GROUPS + 1):
        return Attribute(name, quantiles=int(numbers[0]))
    expected = "edges split by slashes, like bins=5/10" if option == "bins" else f"2 to {MOST_GROUPS}"
    raise UsageError(f"{option}={value}", where=where, expected=expected)


NO_VALUE = "(none)"
_BITS_AT_MOST = 24
"""Of the fractions of numbers where there are too many of these."""
_VALUE, _COUNT = "value", "count"


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
            found = values.clear()
        elif isinstance(dtype, pl.List):
            found = values_as_text(values).explode().drop_nulls()
        else:
            found = values.drop_nulls()
        return _counted(dtype, found, np.ones(len(found), dtype=np.int64), len(values), len(found) < len(values))

    def __add__(self, other: "ValueCounts") -> "ValueCounts":
        """Add the counts of other rows of the same column."""
        dropped = max(self.dropped, other.dropped)
        if self.dropped != other.dropped:
            return self._rounded(dropped) + other._rounded(dropped)
        values, counts = pl.concat([self.values, other.values]), np.concatenate((self.counts, other.counts))
        found = _counted(self.dtype, values, counts, self.rows + other.rows, self.lacks or other.lacks)
        return replace(found, dropped=dropped)

    def limited(self, most: int) -> "ValueCounts":
        """Return at most ``most`` distinct values: numbers are rounded, and texts beyond are dropped.

        Numbers keep 24 bits of their fractions, and fewer only where they are still too many. How many bits depends on
        all numbers, not on the blocks in which they came. So many texts make too many groups anyway.
        """
        if len(self.values) <= most:
            return self
        if not self.is_number:
            return replace(self, values=self.values.head(most + 1), counts=self.counts[: most + 1])
        return self._rounded(bits_to_drop(self.numbers[0], most, max(self.dropped, FRACTION - _BITS_AT_MOST)))

    def _rounded(self, dropped: int) -> "ValueCounts":
        numbers = pl.Series(_VALUE, round_bits(self.values.cast(pl.Float64).to_numpy(), dropped))
        found = _counted(pl.Float64(), numbers, self.counts, self.rows, self.lacks)
        return replace(found, dropped=dropped)

    @property
    def rounded(self) -> bool:
        return self.dropped > 0

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
        found = values_as_text(self.values).drop_nulls().unique().sort()
        if isinstance(self.dtype, pl.Enum):
            in_order = self.dtype.categories.str.strip_chars().unique(maintain_order=True)
            found = in_order.filter(in_order.is_in(found.implode()))
        return found

    @property
    def numbers(self) -> tuple[Floats, Ints]:
        """Distinct numbers, ascending, and how many rows have each."""
        found, place = np.unique(self.values.cast(pl.Float64).to_numpy(), return_inverse=True)
        return found, np.bincount(place, self.counts, found.size).astype(np.int64)


def _counted(dtype: pl.DataType, values: pl.Series, counts: Ints, rows: int, lacking: bool) -> ValueCounts:
    table = pl.DataFrame({_VALUE: values, _COUNT: counts}).group_by(_VALUE).agg(pl.col(_COUNT).sum())
    if not table[_VALUE].dtype.is_nested():
        table = table.sort(_VALUE)
    found = ValueCounts(dtype, table[_VALUE], table[_COUNT].to_numpy(), rows, table.height + lacking)
    return replace(found, distinct=0) if dtype.is_nested() else found


_USUAL_QUANTILES = 4
_MOST_GROUPS_UNASKED = 20
_FEW_NUMBERS = 5


@dataclass(frozen=True, eq=False)
class Group:
    """A group of ids: its name, and a mask of its members."""

    name: str
    note: str
    """What the name leaves open, such as the range of a quantile; else empty."""
    members: Bools

    @property
    def attribute(self) -> str:
        """What they are grouped by: of type=how-to, type; of a crossing, all of its name."""
        return self.name if "*" in self.name else self.name.partition("=")[0]


@dataclass(eq=False)
class AttributeRows:
    """Rows of a table of attributes; columns are converted to texts or numbers once."""

    table: pl.DataFrame
    _texts: dict[str, pl.Series] = field(default_factory=dict)
    _numbers: dict[str, Floats] = field(default_factory=dict)

    def texts(self, name: str) -> pl.Series:
        if name not in self._texts:
            self._texts[name] = values_as_text(normalize_values(self.table[name]))
        return self._texts[name]

    def numbers(self, name: str) -> Floats:
        if name not in self._numbers:
            self._numbers[name] = normalize_values(self.table[name]).cast(pl.Float64).to_numpy()
        return self._numbers[name]


@dataclass(frozen=True)
class _HasValue:
    """The value as written; None: no value."""

    name: str
    value: str | None

    def members(self, rows: AttributeRows) -> Bools:
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

    def members(self, rows: AttributeRows) -> Bools:
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

    def members(self, rows: AttributeRows) -> Bools:
        return np.isnan(rows.numbers(self.name))


@dataclass(frozen=True)
class GroupDefinition:
    """Definition of a group: its name, and the conditions that its members meet."""

    name: str
    note: str
    shared: tuple[_HasValue | _Lies | _NoNumber, ...]

    def members(self, rows: AttributeRows) -> Bools:
        found = self.shared[0].members(rows)
        for one in self.shared[1:]:
            found = found & one.members(rows)
        return found


def suitable_attributes(table: pl.DataFrame) -> list[tuple[Attribute, ...]]:
    """Return the columns that group well, for when none is named: numbers, and texts of 2 to 20 values."""
    return suitable_attributes_of({name: ValueCounts.of(table[name]) for name in table.columns})


def suitable_attributes_of(censuses: Mapping[str, ValueCounts]) -> list[tuple[Attribute, ...]]:
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
    rows = AttributeRows(table)
    others = None if members_of is None else AttributeRows(members_of)
    found: list[Group] = []
    for attributes in asked:
        censuses = {one.name: ValueCounts.of(table[one.name]) for one in _known(attributes, table.columns, where)}
        made: list[Group] = []
        for one in define_groups(attributes, censuses, where):
            members = one.members(rows)
            if members.any():
                made.append(Group(one.name, one.note, members if others is None else one.members(others)))
                check_group_count(len(made), crossing_name(attributes), where)
        found += made
    return found


def crossing_name(attributes: Sequence[Attribute]) -> str:
    return "*".join(one.name for one in attributes)


def _known(attributes: Sequence[Attribute], names: Collection[str], where: str) -> Sequence[Attribute]:
    for one in attributes:
        if one.name not in names:
            raise UnknownName("attribute", one.name, names, where=where)
    return attributes


def define_groups(
    attributes: Sequence[Attribute], censuses: Mapping[str, ValueCounts], where: str
) -> list[GroupDefinition]:
    """Define the groups of one attribute, or of two crossed; some may be empty."""
    first, *others = (_defined(one, censuses[one.name], where) for one in _known(attributes, censuses, where))
    for other in others:
        first = [
            GroupDefinition(
                f"{left.name}*{right.name}",
                ", ".join(filter(None, (left.note, right.note))),
                (*left.shared, *right.shared),
            )
            for left in first
            for right in other
        ]
    return first


def check_group_count(groups: int, what: str, where: str) -> None:
    if groups > MOST_GROUPS:
        raise DataError(
            f"{what} makes {groups:,} groups or more",
            where=where,
            expected=f"at most {MOST_GROUPS}",
            hint="Is this a text rather than a category? Cut numbers with (quantiles=4) or (bins=5/10).",
        )


def _defined(attribute: Attribute, census: ValueCounts, where: str) -> list[GroupDefinition]:
    name = attribute.name
    asked_as_number = attribute.quantiles or attribute.bins
    if asked_as_number and not census.is_number:
        raise DataError(f"{name} is not a number and cannot be cut", where=where, hint=f"Ask for {name} alone.")
    few = census.distinct <= _FEW_NUMBERS and not census.rounded
    if not census.is_number or (not asked_as_number and few):
        return _by_value(census, attribute, where)
    cut = _by_bins(attribute) if attribute.bins else _by_quantiles(census, attribute)
    return [*cut, GroupDefinition(f"{name}={NO_VALUE}", "", (_NoNumber(name),))]


def _by_value(census: ValueCounts, attribute: Attribute, where: str) -> list[GroupDefinition]:
    name, notes = attribute.name, dict(attribute.notes)
    if not can_group(census.dtype):
        raise DataError(
            f"{name} is of type {census.dtype}", where=where, expected="a text, a number, or a list of them"
        )
    found = census.texts
    check_group_count(len(found), name, where)
    groups = [GroupDefinition(f"{name}={value}", notes.get(value, ""), (_HasValue(name, value),)) for value in found]
    return [*groups, GroupDefinition(f"{name}={NO_VALUE}", "", (_HasValue(name, None),))]


def _by_quantiles(census: ValueCounts, attribute: Attribute) -> list[GroupDefinition]:
    """Define quantile groups, as even as possible without splitting equal numbers."""
    parts = attribute.quantiles or _USUAL_QUANTILES
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
            note = f"about {_range_of(inside)}" if census.rounded else _range_of(inside)
            groups.append(GroupDefinition(name, note, (_Lies(attribute.name, low, high, True),)))
    return groups


def _range_of(values: Floats) -> str:
    low, high = float(values.min()), float(values.max())
    return _shown(low) if low == high else f"{_shown(low)} to {_shown(high)}"


def _shown(number: float) -> str:
    """With as many digits as tell it from its neighbours in a table."""
    return f"{number:.15g}"


def _by_bins(attribute: Attribute) -> list[GroupDefinition]:
    name, edges = attribute.name, attribute.bins
    named: list[tuple[str, float | None, float | None]] = [(f"{name}<{_shown(edges[0])}", None, edges[0])]
    named += [(f"{name}={_shown(low)}..{_shown(high)}", low, high) for low, high in pairwise(edges)]
    named.append((f"{name}>={_shown(edges[-1])}", edges[-1], None))
    return [GroupDefinition(text, "", (_Lies(name, low, high, False),)) for text, low, high in named]
