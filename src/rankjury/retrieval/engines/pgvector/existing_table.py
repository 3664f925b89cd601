"""A user's table or view: described, read and searched as it is; nothing of it is changed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.params import Setting
from rankjury.core.types import Matrix, Vectors
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.retrieval.engines.pgvector.connection import psycopg_library
from rankjury.retrieval.engines.pgvector.copy import KINDS, vectors_of
from rankjury.retrieval.engines.pgvector.sql import INDEXES, Table, quoted

READ_ONLY = "SET default_transaction_read_only = on"
_NAMED = 5
_ROWS_AT_ONCE = 4096
_TABLES = """
SELECT c.oid, n.nspname, c.relname, c.relkind = 'v' FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'm', 'v') AND (n.nspname || '.' || c.relname = %(name)s
      OR c.relname = %(name)s AND n.nspname = ANY (%(path)s))
ORDER BY array_position(%(path)s, n.nspname::text)
"""
_COLUMNS = """
SELECT a.attname, t.typname, a.atttypmod FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
"""
_ANY = -1
"""What PostgreSQL says of a column without a dimension."""


def describe(connection: Any, settings: Mapping[str, Setting], path: list[str]) -> Table:
    """Look up the table or view, its columns and its vector indexes; of a view, those of the tables that it reads."""
    wanted = str(settings["table"])
    found = connection.execute(_TABLES, {"name": wanted, "path": path}).fetchall()
    if not found:
        raise DataError(
            f"found no table or view {wanted!r}", where="PostgreSQL", hint="Name it as table or schema.table."
        )
    oid, schema, name, is_view = found[0]
    columns = {column: (kind, size) for column, kind, size in connection.execute(_COLUMNS, (oid,)).fetchall()}
    row, vector = (_column(str(settings[which]), columns, wanted) for which in ("id_column", "vector_column"))
    kind, dimensions = columns[vector]
    if kind not in KINDS:
        raise UsageError(f"column {vector!r} of {wanted} is of type {kind}", expected=" or ".join(KINDS))
    attributes = {column: column for column in columns if column != vector}
    table = Table(
        schema, name, kind, max(0, dimensions), 0, row, vector, attributes, rows={}, where=str(settings["where"]),
        untyped=dimensions == _ANY, is_view=is_view,
    )  # fmt: skip
    _check_condition(connection, table)
    indexes = {index: method for index, method, _ in connection.execute(INDEXES, {"table": table.quoted})}
    return replace(table, indexes=indexes)


def _check_condition(connection: Any, table: Table) -> None:
    """Refuse what is not one condition: it stands in brackets beside others, and must mean the same there.

    With and without brackets it has to be one statement, which the binary protocol alone can carry.
    """
    if not table.where:
        return
    psycopg = psycopg_library()
    for clause in (f" WHERE {table.where}\n", table.conditions()):
        try:
            connection.execute(f"SELECT 1 FROM {table.quoted}{clause} LIMIT 0", binary=True)
        except (psycopg.ProgrammingError, psycopg.errors.ProtocolViolation) as error:
            said = str(error).partition("\n")[0]
            expected = "an SQL condition, such as model = 'minilm'"
            raise UsageError(f"where is {table.where!r}: {said}", where=table.quoted, expected=expected) from None


def find(connection: Any, table: Table, dimensions: int, ids: pl.Series) -> Table:
    """Complete the table, once it is sure that it holds these ids and vectors of these dimensions."""
    if not table.untyped and table.dimensions != dimensions:
        found = f"{table.name} holds {table.dimensions:,} dimensions"
        raise DataError(found, expected=f"{dimensions:,}, as the corpus")
    rows = _rows_of(connection, table, ids)
    return replace(table, dimensions=dimensions, items=len(ids), rows=rows)


def read(connection: Any, table: Table) -> Vectors:
    """Read the ids and vectors of all rows that have a vector, in one snapshot, ordered by id."""
    # Rows without a vector are dropped here: a view may cast the vectors of the rows that its own condition chooses,
    # and PostgreSQL might look at IS NOT NULL, and so at the cast, before that condition.
    statement = f"SELECT {quoted(table.row)}::text, {quoted(table.vector)} FROM {table.quoted}{table.conditions()}"
    names: list[str | None] = []
    blocks: list[Matrix] = []
    with connection.transaction(), connection.cursor(name="rankjury", binary=True) as cursor:
        cursor.execute(statement)
        while fetched := cursor.fetchmany(_ROWS_AT_ONCE):
            rows = [row for row in fetched if row[1] is not None]
            if not rows:
                continue
            names += [name for name, _ in rows]
            width = blocks[0].shape[1] if blocks else None
            blocks.append(vectors_of([octets for _, octets in rows], table.kind, table.name, width))
    source = f"{table.schema}.{table.name}" + (f" where {table.where}" if table.where else "")
    if not blocks:
        raise DataError("found no vector", where=f"PostgreSQL, {source}", expected="rows with a vector")
    ids = _checked(pl.Series(names, dtype=pl.String), table)
    order = ids.arg_sort()
    return Vectors(ids.gather(order), np.concatenate(blocks)[order.to_numpy()], source)


def _column(name: str, columns: Mapping[str, Any], table: str) -> str:
    if name not in columns:
        raise UnknownName(f"column of {table}:", name, columns)
    return name


def _rows_of(connection: Any, table: Table, ids: pl.Series) -> dict[bytes, int]:
    """The row of each id. The table must hold all of them, once, and no others, which could be found too."""
    columns = f"{quoted(table.row)}::text, {quoted(table.vector)} IS NULL"
    cursor = connection.execute(f"SELECT {columns} FROM {table.quoted}{table.conditions()}", binary=True)
    held = pl.Series([name for name, is_empty in cursor if not is_empty], dtype=pl.String)
    given = ids.cast(pl.String)
    _checked(held, table)
    _refuse(given.filter(~given.is_in(held.implode())), f"the corpus has ids that {table.name} has no vector of")
    _refuse(held.filter(~held.is_in(given.implode())), f"{table.name} has ids that the corpus has not")
    return {name.encode(): row for row, name in enumerate(given)}


def _checked(held: pl.Series, table: Table) -> pl.Series:
    """The ids, refused where one is missing or has several rows."""
    if held.null_count():
        raise DataError(f"{table.name} has {held.null_count():,} vectors without an id", where="PostgreSQL")
    twice = held.filter(held.is_duplicated()).unique()
    if len(twice):
        found = f"{table.name} has several rows of one id: {_listed(twice)}"
        hint = "Choose the rows of one model with where."
        raise DataError(found, where="PostgreSQL", expected="one row per id", hint=hint)
    return held


def _refuse(ids: pl.Series, what: str) -> None:
    if len(ids):
        raise DataError(f"{what}: {_listed(ids)}", where="PostgreSQL", expected="the same ids in both")


def _listed(ids: pl.Series) -> str:
    named = ", ".join(repr(name) for name in ids.sort()[:_NAMED]) + (" …" if len(ids) > _NAMED else "")
    return f"{named} ({len(ids):,})"
