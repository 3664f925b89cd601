"""Which items may be found: ids for all queries, or a table with candidates of each query's own."""

import polars as pl

from karat.columns import ITEM, QUERY, match_columns
from karat.errors import DataError
from karat.formats.attributes import read_attributes
from karat.formats.source import plain_suffix
from karat.formats.vectors.ids import read_ids

__all__ = ["read_candidates"]

_TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq")


def read_candidates(given: str) -> pl.Series | pl.DataFrame:
    """Ids, or a frame of query_id and item_id where the table has both."""
    if plain_suffix(given) in _TABLES:
        try:
            table, _ = read_attributes(given, "item")
            found = match_columns([*table.columns, "rank"], "run", given)
        except DataError:
            found = {}
        if QUERY in found and ITEM in found:
            pairs = table.select(pl.col(found[name]).cast(pl.String).alias(name) for name in (QUERY, ITEM))
            return pairs.unique(maintain_order=True)
    return read_ids(given).cast(pl.String).unique().sort()
