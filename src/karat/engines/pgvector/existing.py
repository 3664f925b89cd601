"""A user's table, searched as it is; nothing of it is changed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from karat.engines import Setting
from karat.engines.pgvector.loading import KINDS
from karat.engines.pgvector.statements import INDEXES, Table, quoted
from karat.errors import DataError, UnknownName, UsageError
from karat.types import Matrix

__all__ = ["READ_ONLY", "find"]

READ_ONLY = "SET default_transaction_read_only = on"
_NAMED = 5
_TABLES = """
SELECT c.oid, n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'm') AND (n.nspname || '.' || c.relname = %(name)s
      OR c.relname = %(name)s AND n.nspname = ANY (%(path)s))
ORDER BY array_position(%(path)s, n.nspname::text)
"""
_COLUMNS = """
SELECT a.attname, t.typname, a.atttypmod FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
"""


def find(connection: Any, settings: Mapping[str, Setting], path: list[str], vectors: Matrix, ids: pl.Series) -> Table:
    """The table, once it is sure that it holds these ids and vectors of these dimensions."""
    wanted = str(settings["table"])
    found = connection.execute(_TABLES, {"name": wanted, "path": path}).fetchall()
    if not found:
        raise DataError(f"found no table {wanted!r}", where="PostgreSQL", hint="Name it as table or schema.table.")
    oid, schema, name = found[0]
    columns = {column: (kind, size) for column, kind, size in connection.execute(_COLUMNS, (oid,)).fetchall()}
    row, vector = (_column(str(settings[which]), columns, wanted) for which in ("id_column", "vector_column"))
    kind, dimensions = columns[vector]
    if kind not in KINDS:
        raise UsageError(f"column {vector!r} of {wanted} is of type {kind}", expected=" or ".join(KINDS))
    if dimensions not in (-1, vectors.shape[1]):
        raise DataError(f"{wanted} holds {dimensions:,} dimensions", expected=f"{vectors.shape[1]:,}, as the corpus")
    attributes = {column: column for column in columns if column != vector}
    table = Table(schema, name, kind, vectors.shape[1], len(ids), row, vector, attributes)
    indexes = {index: method for index, method, _ in connection.execute(INDEXES, {"table": table.quoted})}
    return replace(table, indexes=indexes, rows=_rows_of(connection, table, ids, wanted))


def _column(name: str, columns: Mapping[str, Any], table: str) -> str:
    if name not in columns:
        raise UnknownName(f"column of {table}:", name, columns)
    return name


def _rows_of(connection: Any, table: Table, ids: pl.Series, wanted: str) -> dict[bytes, int]:
    """The row of each id. The table must hold all of them, once, and no others, which could be found too."""
    statement = f"SELECT {quoted(table.row)}::text FROM {table.quoted} WHERE {quoted(table.vector)} IS NOT NULL"
    held = pl.Series([name for (name,) in connection.execute(statement)], dtype=pl.String)
    given = ids.cast(pl.String)
    if held.null_count():
        raise DataError(f"{wanted} has {held.null_count():,} vectors without an id", where="PostgreSQL")
    _refuse(given.filter(~given.is_in(held.implode())), f"the corpus has ids that {wanted} has no vector of")
    _refuse(held.filter(~held.is_in(given.implode())), f"{wanted} has ids that the corpus has not")
    _refuse(held.filter(held.is_duplicated()).unique(), f"{wanted} has ids more than once")
    return {name.encode(): row for row, name in enumerate(given)}


def _refuse(ids: pl.Series, what: str) -> None:
    if len(ids):
        named = ", ".join(repr(name) for name in ids.sort()[:_NAMED]) + (" …" if len(ids) > _NAMED else "")
        raise DataError(f"{what}: {named} ({len(ids):,})", where="PostgreSQL", expected="the same ids in both")
