"""How often each value of an attribute stands; of parts of a table it can be joined."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from karat.statistics.quantiles import FRACTION, about, bits_to_drop
from karat.types import Floats, Ints

__all__ = ["Census", "can_group", "prepared", "written"]

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


def prepared(values: pl.Series) -> pl.Series:
    """NaN is no value, and a zero has no sign; arrays are lists, and bytes are text."""
    if values.dtype == pl.Binary:
        texts = [None if value is None else value.decode("utf-8", "replace") for value in values]
        return pl.Series(values.name, texts, dtype=pl.String)
    if isinstance(values.dtype, pl.Array):
        values = values.arr.to_list()
    if not values.dtype.is_float():
        return values
    return values.to_frame(_VALUE).select(_unsigned(pl.col(_VALUE)).fill_nan(None)).to_series()


def written(values: pl.Series) -> pl.Series:
    """As a person would write them: 2 rather than 2.0; an empty text is no value, nor is the name of none."""
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
    """Zero for minus zero. To add 0.0 does not do: Polars leaves it out."""
    return pl.when(value == 0).then(0.0).otherwise(value)


@dataclass(frozen=True, eq=False)
class Census:
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
    def of(cls, column: pl.Series) -> "Census":
        values = prepared(column)
        dtype = values.dtype
        if not can_group(dtype):
            found = values.clear()
        elif isinstance(dtype, pl.List):
            found = written(values).explode().drop_nulls()
        else:
            found = values.drop_nulls()
        return _counted(dtype, found, np.ones(len(found), dtype=np.int64), len(values), len(found) < len(values))

    def __add__(self, other: "Census") -> "Census":
        """Of other rows of the same column."""
        dropped = max(self.dropped, other.dropped)
        if self.dropped != other.dropped:
            return self._rounded(dropped) + other._rounded(dropped)
        values, counts = pl.concat([self.values, other.values]), np.concatenate((self.counts, other.counts))
        found = _counted(self.dtype, values, counts, self.rows + other.rows, self.lacks or other.lacks)
        return replace(found, dropped=dropped)

    def limited(self, most: int) -> "Census":
        """With no more values than so many: numbers are rounded then, and of texts some left out.

        Numbers keep 24 bits of their fractions, and fewer only where they are still too many. How many hangs on what
        numbers there are in all, not on the parts in which they came. So many texts make too many groups anyhow.
        """
        if len(self.values) <= most:
            return self
        if not self.is_number:
            return replace(self, values=self.values.head(most + 1), counts=self.counts[: most + 1])
        return self._rounded(bits_to_drop(self.numbers[0], most, max(self.dropped, FRACTION - _BITS_AT_MOST)))

    def _rounded(self, dropped: int) -> "Census":
        numbers = pl.Series(_VALUE, about(self.values.cast(pl.Float64).to_numpy(), dropped))
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
        found = written(self.values).drop_nulls().unique().sort()
        if isinstance(self.dtype, pl.Enum):
            in_order = self.dtype.categories.str.strip_chars().unique(maintain_order=True)
            found = in_order.filter(in_order.is_in(found.implode()))
        return found

    @property
    def numbers(self) -> tuple[Floats, Ints]:
        """Distinct numbers, ascending, and how many rows have each."""
        found, place = np.unique(self.values.cast(pl.Float64).to_numpy(), return_inverse=True)
        return found, np.bincount(place, self.counts, found.size).astype(np.int64)


def _counted(dtype: pl.DataType, values: pl.Series, counts: Ints, rows: int, lacking: bool) -> Census:
    table = pl.DataFrame({_VALUE: values, _COUNT: counts}).group_by(_VALUE).agg(pl.col(_COUNT).sum())
    if not table[_VALUE].dtype.is_nested():
        table = table.sort(_VALUE)
    found = Census(dtype, table[_VALUE], table[_COUNT].to_numpy(), rows, table.height + lacking)
    return replace(found, distinct=0) if dtype.is_nested() else found
