"""Which items may be found: ids for all queries, or a table with candidates of each query's own."""

import polars as pl

from rankjury.core.convert import ITEM, QUERY, RANK, match_columns
from rankjury.core.types import names_of
from rankjury.errors import DataError, guard_reading
from rankjury.io.source import Source, plain_suffix
from rankjury.io.vectors.ids import TABLES, read_ids, read_table


def read_candidates(given: str) -> pl.Series | pl.DataFrame:
    """Ids, or a frame of query_id and item_id where the table has both."""
    with guard_reading(given, "a list of candidates"):
        pairs = _pairs(given) if plain_suffix(given) in TABLES else None
        found = pairs if pairs is not None else names_of(read_ids(given), given).unique().sort()
    if not len(found):
        raise DataError("found no candidates", where=given, expected="at least one")
    return found


def _pairs(given: str) -> pl.DataFrame | None:
    table = read_table(Source.open(given), plain_suffix(given))
    try:
        found = match_columns([*table.columns, RANK], "run", given)
    except DataError:
        return None
    return pl.DataFrame({name: names_of(table[found[name]], given) for name in (QUERY, ITEM)}).unique(
        maintain_order=True
    )
