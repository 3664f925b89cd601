"""DataFrames of Spark as gold, rankings and attributes: columns found, types checked, ids alike."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from rankjury.core.convert import ITEM, QUERY, RANK, SCORE, find_id_column, match_columns
from rankjury.errors import DataError, UsageError
from rankjury.scale.spark.shuffle import BUCKET, arrow_to_polars

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_TEXTS = ("string", "decimal(20,0)")
"""Whole numbers without a sign, of 64 bits, come as the latter; they are compared as text, as everywhere."""


@dataclass(frozen=True, eq=False)
class SparkTable:
    """A DataFrame, and which of its columns is what."""

    frame: "DataFrame"
    kind: str
    where: str
    columns: dict[str, str]
    """rankjury's names → the given ones."""

    def type_of(self, name: str) -> str:
        return str(dict(self.frame.dtypes)[self.columns[name]])

    def bucketed(self, texts: Sequence[str], buckets: int) -> "DataFrame":
        """rankjury's columns in their order, ids of one type, and at last the bucket that the query belongs to.

        Spark's way to Arrow stumbles over dots in names, so the columns have none but their number.
        """
        from pyspark.sql import functions as f

        def typed(name: str) -> Any:
            column = f.col(quote_name(self.columns[name]))
            if name == QUERY or (name == ITEM and self.kind != "attributes"):
                return column.cast("string" if name in texts else "bigint")
            return column if self.kind == "attributes" else column.cast("double")

        rows = self.frame.select(*(typed(name).alias(f"c{place}") for place, name in enumerate(self.columns)))
        query = f"c{list(self.columns).index(QUERY)}"
        return rows.withColumn(BUCKET, f.pmod(f.xxhash64(f.col(query)), f.lit(buckets)).cast("int"))

    def schema(self, texts: Sequence[str]) -> pl.Schema:
        """Of the rows in a block; that of attributes is taken from an empty frame."""
        if self.kind == "attributes":
            empty = arrow_to_polars(self.bucketed(texts, 1).drop(BUCKET).limit(0).toArrow())
            return pl.Schema(zip(self.columns, empty.dtypes, strict=True))
        return pl.Schema(
            {
                name: (pl.String() if name in texts else pl.Int64()) if name in (QUERY, ITEM) else pl.Float64()
                for name in self.columns
            }
        )


def quote_name(name: str) -> str:
    """A name for Spark, whatever is in it."""
    return f"`{name.replace('`', '``')}`"


def spark_table(frame: Any, kind: str, where: str) -> SparkTable:
    """A DataFrame with the columns of a gold, a run, or attributes of queries."""
    if not hasattr(frame, "mapInArrow"):
        raise UsageError(f"the {where} is a {type(frame).__name__}", expected="a DataFrame of Spark")
    if frame.isStreaming:
        raise UsageError(f"the {where} is a stream, which has no end", expected="a DataFrame that is read once")
    names = list(frame.columns)
    if kind == "attributes":
        found = find_id_column(names, "query", where)
        columns = {QUERY: found} | {name: name for name in names if name not in (found, QUERY)}
    else:
        columns = match_columns(names, kind, where)
        if SCORE in columns:
            columns.pop(RANK, None)
    one = SparkTable(frame, kind, where, columns)
    _check_names(one)
    _check_types(one)
    return one


def _check_names(one: SparkTable) -> None:
    """Spark tells names apart by their case only where it was told to."""
    minds_case = str(one.frame.sparkSession.conf.get("spark.sql.caseSensitive")).lower() == "true"
    folded = str if minds_case else str.lower
    called = Counter(map(folded, one.frame.columns))
    for column in one.columns.values():
        if called[folded(column)] > 1:
            raise DataError(f"several columns are called {column!r}", where=one.where, expected="one of each name")


def _check_types(one: SparkTable) -> None:
    for name, column in one.columns.items():
        kind = one.type_of(name)
        if name == QUERY or (name == ITEM and one.kind != "attributes"):
            if kind not in (*_TEXTS, *_WHOLE):
                raise DataError(
                    f"the ids in column {column!r} are of type {kind}",
                    where=one.where,
                    expected="strings or whole numbers",
                )
        elif one.kind != "attributes" and kind not in (*_WHOLE, "float", "double", "boolean") and "decimal" not in kind:
            raise DataError(f"column {column!r} is of type {kind}", where=one.where, expected="numbers")


def text_ids(tables: Sequence[SparkTable]) -> list[str]:
    """The ids that are compared as text: those that are text in one of the tables."""
    return [
        name
        for name in (QUERY, ITEM)
        if any(one.type_of(name) in _TEXTS for one in tables if name == QUERY or one.kind != "attributes")
    ]
