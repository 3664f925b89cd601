"""karat's own table: in a schema of its own, with what is searched and nothing else."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from karat.engines import Setting
from karat.engines.pgvector.loading import KINDS, load
from karat.engines.pgvector.statements import Table, copying, creation, indexing, name_columns, quoted
from karat.errors import ImpossibleSetting
from karat.progress import Progress
from karat.types import Matrix

__all__ = ["check", "create", "dropping"]

_MOST_HELD = 16_000
_MOST_INDEXED = {"vector": 2_000, "halfvec": 4_000}
_LEAST_MEMORY, _MEGABYTE = 64, 1 << 20
_NEIGHBOUR, _ELEMENT, _MARGIN = 16, 256, 1.3
"""Bytes that a graph takes for a neighbour and for an item beside its vector, as pgvector lays it out; and to spare."""


def check(dimensions: int, built: Mapping[str, Setting]) -> None:
    """Say what pgvector would refuse after the loading."""
    kind, index = str(built["type"]), str(built["index"])
    most = _MOST_HELD if index == "none" else _MOST_INDEXED[kind]
    if dimensions > most:
        hint = "Use type halfvec, or index none." if most == _MOST_INDEXED["vector"] else "Use index none."
        what = f"{kind} of pgvector" if index == "none" else f"an index of pgvector over {kind}"
        raise ImpossibleSetting(
            f"vectors have {dimensions:,} dimensions", expected=f"at most {most:,} in {what}", hint=hint
        )
    if index == "hnsw" and int(built["ef_construction"]) < 2 * int(built["m"]):
        found = f"ef_construction is {built['ef_construction']}"
        raise ImpossibleSetting(found, expected=f"at least twice m, which is {built['m']}")


def dropping(schema: str) -> str:
    return f"DROP SCHEMA IF EXISTS {quoted(schema)} CASCADE"


def create(
    connection: Any,
    schema: str,
    metric: str,
    built: Mapping[str, Setting],
    vectors: Matrix,
    attributes: pl.DataFrame | None,
    progress: Progress,
) -> Table:
    """Make the schema, from nothing; load the table in one transaction; index it."""
    texts = pl.DataFrame() if attributes is None else attributes.cast(pl.String)
    table = Table(
        schema, "items", str(built["type"]), vectors.shape[1], len(vectors), columns=name_columns(texts.columns)
    )
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(dropping(schema))
        cursor.execute(f"CREATE SCHEMA {quoted(schema)}")
        cursor.execute(creation(table))
        load(cursor, copying(table), vectors, texts, table.kind, progress)
    connection.execute(f"ANALYZE {table.quoted}")
    if built["index"] == "none":
        return table
    name = f"items_{built['index']}"
    with connection.transaction():
        for setting, value in _memory(table, built).items():
            connection.execute("SELECT set_config(%s, %s, true)", (setting, value))
        connection.execute(indexing(table, name, metric, built))
    return replace(table, indexes={name: str(built["index"])})


def _memory(table: Table, built: Mapping[str, Setting]) -> dict[str, str]:
    """As much as a graph needs, for workers reserve all of it at once; at most what is allowed."""
    most = int(built["memory"])
    if built["index"] == "hnsw":
        item = table.dimensions * int(KINDS[table.kind][-1]) + 2 * int(built["m"]) * _NEIGHBOUR + _ELEMENT
        most = min(most, _LEAST_MEMORY + int(_MARGIN * item * table.items / _MEGABYTE))
    return {"maintenance_work_mem": f"{most}MB", "max_parallel_maintenance_workers": str(built["workers"])}
