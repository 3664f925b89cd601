"""Files → what an evaluation in blocks works on: tables, tables of attributes among them, and groups of items."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os.path import exists, isdir
from pathlib import Path

import polars as pl

from rankjury.core.convert import ITEM, QUERY
from rankjury.errors import DataError, guard_reading
from rankjury.evaluation.slices import ItemGroups, SliceTable
from rankjury.evaluation.slices.groups import Attribute
from rankjury.io.attributes import check_attributes, read_attributes
from rankjury.io.parquet import read_whole
from rankjury.scale.memory import Budget
from rankjury.scale.parquet import ParquetTable, open_table
from rankjury.scale.parquet_files import hive_columns, is_parquet, parquet_files
from rankjury.scale.request import EvaluationRequest, SliceAttributes
from rankjury.scale.storage import temporary_folder

_SHARE_OF_ATTRIBUTES = 10
_ITEMS_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class SliceFile:
    """A file of attributes, and what to group by; None: whatever groups well."""

    path: str
    asked: Sequence[Sequence[Attribute]] | None = None


@contextmanager
def open_inputs(
    request: EvaluationRequest,
    slices: Sequence[SliceFile],
    item_slices: Sequence[SliceFile],
    budget: Budget,
    temp: Path | None = None,
) -> Iterator[tuple[EvaluationRequest, list[ParquetTable]]]:
    """The request with its slices, and the tables in the order of blocks."""
    for path in (request.gold, *request.systems.values()):
        if exists(path) and not is_parquet(path):
            raise DataError(
                "this is no Parquet, which is what can be read in blocks",
                where=path,
                expected="a Parquet file, or a folder of them",
                hint="Convert it: rankjury convert RUN run.parquet. Folders, --memory and --on need it.",
            )
    gold = open_table(request.gold, "gold")
    tables = [gold, *(open_table(path, "run") for path in request.systems.values())]
    groups = ItemGroups.of(_judged_items(gold), read_item_cuts(item_slices)) if item_slices else None
    as_text = any(table.schema[QUERY] == pl.String for table in tables)
    with temporary_folder(temp) as folder:
        for number, one in enumerate(slices):
            tables.append(_attributes(one.path, folder / f"{number}.parquet", budget, as_text=as_text))
        asked = tuple(SliceAttributes(one.path, one.asked) for one in slices)
        yield replace(request, attributes=asked, item_groups=groups), tables


def _attributes(path: str, target: Path, budget: Budget, *, as_text: bool) -> ParquetTable:
    """As a table; one that is small is sorted, so that it does not stand in the way of merging sorted tables.

    ``as_text``: the ids of the other tables are so, and that is how they are sorted.
    """
    if is_parquet(path):
        table = open_table(path, "attributes")
        if table.rows * table.bytes_per_row > budget.memory / _SHARE_OF_ATTRIBUTES:
            return table
        rows = pl.concat(table.batches(table.rows))
    else:
        given, id_column = read_attributes(path, "query")
        rows = given.rename({id_column: QUERY}) if id_column != QUERY else given
    ids = rows[QUERY].cast(pl.String) if as_text else rows[QUERY].cast(pl.Int64, strict=False)
    if as_text or ids.cast(pl.String).equals(rows[QUERY].cast(pl.String)):  # all are digits of whole numbers
        rows = rows.with_columns(ids)
    rows.sort(QUERY).write_parquet(target)
    return replace(open_table(target, "attributes"), name=path)


def _judged_items(gold: ParquetTable) -> pl.Series:
    """Each once, as strings, ascending."""
    ids = pl.Series(ITEM, [], dtype=pl.String)
    for batch in gold.batches(_ITEMS_AT_ONCE):
        ids = pl.concat([ids, batch[ITEM].cast(pl.String)]).unique()
    return ids.sort()


def read_item_cuts(item_slices: Sequence[SliceFile]) -> list[SliceTable]:
    return [SliceTable(*_item_attributes(one.path), "items", one.asked, one.path) for one in item_slices]


def _item_attributes(path: str) -> tuple[pl.DataFrame, str]:
    """The table, whole, also of a folder of Parquet; and the name of its column of ids."""
    root = Path(path)
    if not isdir(root):
        return read_attributes(path, "item")
    files = parquet_files(root)
    with guard_reading(path, "a folder of Parquet files"):
        parts = []
        for file, named in zip(files, hive_columns(files, root), strict=True):
            rows = read_whole(file, str(file))
            new = [pl.lit(value).alias(name) for name, value in named.items() if name not in rows.columns]
            parts.append(rows.with_columns(new))
        table = pl.concat(parts, how="vertical_relaxed")
    return check_attributes(table, "item", path)
