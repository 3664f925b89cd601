"""Tables of vectors in PostgreSQL: SQL with every name quoted, binary COPY, and existing tables of the user.

A row of COPY BINARY is the number of its fields, then each field's length and bytes. A vector is its dimension, two
unused bytes, and its numbers, big-endian. All fields but the attributes have a fixed length, so a block of rows is one
array of records; texts are put between the records. An existing table or view is read and searched, never changed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.params import Setting
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Matrix, Vectors, cut_rows
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.retrieval.engines.pgvector.connection import import_psycopg, quote_name

OPERATORS = {"cosine": "<=>", "ip": "<#>", "l2": "<->"}
_BASES = """
WITH RECURSIVE base(oid) AS (
    SELECT %(table)s::regclass::oid
    UNION
    SELECT d.refobjid FROM base b JOIN pg_class c ON c.oid = b.oid AND c.relkind = 'v'
    JOIN pg_rewrite r ON r.ev_class = b.oid
    JOIN pg_depend d ON d.objid = r.oid AND d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass
    WHERE d.refobjid <> b.oid
), held(oid) AS (
    SELECT oid FROM base UNION SELECT t.relid::oid FROM base b, LATERAL pg_partition_tree(b.oid::regclass) t
)
"""
"""CTE of a table with its partitions, or of the tables that a view reads."""
_INDEXES = f"""{_BASES}
SELECT c.relname, m.amname, pg_relation_size(c.oid) FROM pg_index i
JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
WHERE m.amname IN ('hnsw', 'ivfflat') AND i.indrelid IN (SELECT oid FROM held)
"""
"""Vector indexes: name, method, bytes."""


@dataclass(frozen=True)
class VectorTable:
    """The searched table: created by rankjury, or the user's."""

    schema: str
    name: str
    kind: str
    """The type of its vectors: vector or halfvec."""
    dimensions: int
    items: int
    row: str = "rankjury_row"
    """The column that identifies the item."""
    vector: str = "rankjury_vector"
    columns: Mapping[str, str] = field(default_factory=dict)
    """Columns by attribute."""
    indexes: Mapping[str, str] = field(default_factory=dict)
    """Methods of the vector indexes by name."""
    rows: Mapping[bytes, int] | None = None
    """Corpus rows by id; None if the column contains the row number."""
    where: str = ""
    """The user's condition on the rows, in SQL; empty: all rows."""
    untyped: bool = False
    """Whether the column has vectors of any dimension, as in a table with one row per item and model."""
    is_view: bool = False

    @property
    def quoted(self) -> str:
        return quote_name(self.schema, self.name)

    @property
    def vectors(self) -> str:
        """The SQL expression of the vectors: a column without a dimension can only be indexed by its cast to one."""
        return f"{quote_name(self.vector)}::{self.kind}({self.dimensions})" if self.untyped else quote_name(self.vector)

    def conditions(self, *more: str) -> str:
        """Return the WHERE clause; the line break ends a comment in the user's condition."""
        parts = [*([f"({self.where}\n)"] if self.where else []), *more]
        return f" WHERE {' AND '.join(parts)}" if parts else ""


def name_columns(attributes: Iterable[str]) -> dict[str, str]:
    """Return columns by attribute: the same names, but for those that PostgreSQL would cut or that are reserved."""
    columns: dict[str, str] = {}
    for number, name in enumerate(attributes):
        plain = 0 < len(name.encode()) <= 63 and "\0" not in name and not name.startswith("rankjury_")
        columns[name] = name if plain else f"rankjury_attribute_{number}"
    return columns


def create_statement(table: VectorTable) -> str:
    """Return the statement that creates a table."""
    columns = [
        f"{quote_name(table.row)} integer NOT NULL",
        f"{quote_name(table.vector)} {table.kind}({table.dimensions})",
    ]
    columns += [f"{quote_name(column)} text" for column in table.columns.values()]
    return f"CREATE TABLE {table.quoted} ({', '.join(columns)})"


def index_statement(table: VectorTable, name: str, metric: str, built: Mapping[str, Setting]) -> str:
    """Return the statement that creates a vector index."""
    method = str(built["index"])
    names = ("m", "ef_construction") if method == "hnsw" else ("lists",)
    options = ", ".join(f"{name} = {int(built[name])}" for name in names)
    column = f"{quote_name(table.vector)} {table.kind}_{metric}_ops"
    return f"CREATE INDEX {quote_name(name)} ON {table.quoted} USING {method} ({column}) WITH ({options})"


def search_statement(table: VectorTable, metric: str, k: int, attribute: str | None = None) -> str:
    """Return the statement for the nearest rows of a vector ($1) among those whose attribute has a value ($2)."""
    row = quote_name(table.row) if table.rows is None else f"{quote_name(table.row)}::text"
    distance = f"{table.vectors} {OPERATORS[metric]} $1::{table.kind}"
    where = table.conditions(*([] if attribute is None else [f"{quote_name(table.columns[attribute])} = $2"]))
    return f"SELECT {row}, {distance} FROM {table.quoted}{where} ORDER BY 2 LIMIT {k}"


KINDS = {"vector": ">f4", "halfvec": ">f2"}
"""NumPy types of the numbers in pgvector's types."""
_BYTES_IN_A_BLOCK = 1 << 16
"""Bytes that a socket accepts at once."""


def load_rows(
    cursor: Any, table: VectorTable, vectors: Matrix, texts: pl.DataFrame, progress: Progress = NO_PROGRESS
) -> None:
    """Stream rows into a table: row number, vector, attributes. FREEZE saves work when they are first read."""
    with cursor.copy(f"COPY {table.quoted} FROM STDIN (FORMAT BINARY, FREEZE)") as copy:
        copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
        for done, block in encode_rows(vectors, texts, table.kind):
            copy.write(block)
            progress.update("Building", done, len(vectors))
        copy.write(b"\xff\xff")


def encode_rows(vectors: Matrix, texts: pl.DataFrame, kind: str) -> Iterator[tuple[int, bytes | memoryview]]:
    """Yield blocks of encoded rows, each with the number of rows up to its end."""
    dimensions = vectors.shape[1]
    lengths = [("fields", ">i2"), ("row_bytes", ">i4"), ("row", ">i4"), ("vector_bytes", ">i4")]
    numbers = ("numbers", KINDS[kind], (dimensions,))
    record = np.dtype([*lengths, ("dimensions", ">i2"), ("unused", ">i2"), numbers])
    records = np.zeros(max(1, _BYTES_IN_A_BLOCK // record.itemsize), dtype=record)
    records["fields"], records["row_bytes"] = 2 + texts.width, 4
    records["vector_bytes"], records["dimensions"] = 4 + dimensions * np.dtype(KINDS[kind]).itemsize, dimensions
    for first, last in cut_rows(len(vectors), len(records)):
        part = records[: last - first]
        part["row"] = np.arange(first, last)
        part["numbers"] = _convert(vectors[first:last], kind, first)
        yield last, _interleave(part, texts[first:last]) if texts.width else memoryview(part.view(np.uint8).data)


def _convert(block: Matrix, kind: str, first: int = 0) -> Matrix:
    """Return the numbers in the table's type; refuse numbers that are too large for it."""
    with np.errstate(over="ignore"):
        numbers = block.astype(KINDS[kind][1:], copy=False)
    if not np.isfinite(numbers).all():
        row = first + int(np.argmin(np.isfinite(numbers).all(axis=1)))
        hint = "Use type vector: halfvec has no numbers above 65,504." if kind == "halfvec" else None
        raise DataError(f"vector {row} has a number that is too large for {kind}", expected="finite numbers", hint=hint)
    return numbers


def _interleave(records: "np.ndarray[Any, Any]", texts: pl.DataFrame) -> bytes:
    """Return every record followed by the encoded texts of its row; each distinct text is encoded once."""
    size, plain = records.dtype.itemsize, records.tobytes()
    tails = []
    for column in texts.iter_columns():
        encoded = {text: _encode_text(text) for text in column.unique()}
        tails.append([encoded[text] for text in column])
    heads = [plain[at : at + size] for at in range(0, len(plain), size)]
    return b"".join([part for row in zip(heads, *tails, strict=True) for part in row])


def _encode_text(text: str | None) -> bytes:
    if text is None:
        return b"\xff\xff\xff\xff"
    if "\0" in text:
        raise DataError(f"the attribute {text[:40]!r} contains a zero byte", expected="texts without zero bytes")
    encoded = text.encode()
    return len(encoded).to_bytes(4, "big") + encoded


def encode_vectors(queries: Matrix, kind: str) -> list[bytes]:
    """Return each vector as a parameter of a statement."""
    head = queries.shape[1].to_bytes(2, "big") + b"\0\0"
    return [head + row.tobytes() for row in _convert(queries, kind).astype(KINDS[kind])]


def decode_vectors(rows: list[bytes], kind: str, source: str, width: int | None = None) -> Matrix:
    """Read vectors as a statement returned them, one row each; all must have ``width``, or the same, dimensions."""
    widths = sorted({int.from_bytes(row[:2], "big") for row in rows} | ({width} if width is not None else set()))
    if len(widths) > 1:
        found = " and ".join(f"{width:,}" for width in widths)
        hint = "Choose the rows of one model with where."
        raise DataError(f"{source} has vectors of {found} dimensions", expected="one number of dimensions", hint=hint)
    octets = np.frombuffer(b"".join(row[4:] for row in rows), dtype=KINDS[kind])
    return octets.reshape(len(rows), widths[0]).astype(KINDS[kind][1:])


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


def describe_table(connection: Any, settings: Mapping[str, Setting], path: list[str]) -> VectorTable:
    """Look up the user's table or view, its columns and its vector indexes (for a view, those of its tables)."""
    wanted = str(settings["table"])
    tables = connection.execute(_TABLES, {"name": wanted, "path": path}).fetchall()
    if not tables:
        hint = "Write it as table or schema.table."
        raise DataError(f"found no table or view {wanted!r}", where="PostgreSQL", hint=hint)
    oid, schema, name, is_view = tables[0]
    columns = {column: (kind, size) for column, kind, size in connection.execute(_COLUMNS, (oid,)).fetchall()}
    row, vector = (str(settings[setting]) for setting in ("id_column", "vector_column"))
    for column in (row, vector):
        if column not in columns:
            raise UnknownName(f"column of {wanted}:", column, columns)
    kind, dimensions = columns[vector]
    if kind not in KINDS:
        raise UsageError(f"column {vector!r} of {wanted} is of type {kind}", expected=" or ".join(KINDS))
    attributes = {column: column for column in columns if column != vector}
    untyped = dimensions == -1  # PostgreSQL's type modifier of a column without a dimension
    table = VectorTable(
        schema, name, kind, max(0, dimensions), 0, row, vector, attributes, rows={}, where=str(settings["where"]),
        untyped=untyped, is_view=is_view,
    )  # fmt: skip
    _check_condition(connection, table)
    indexes = {index: method for index, method, _ in connection.execute(_INDEXES, {"table": table.quoted})}
    return replace(table, indexes=indexes)


def _check_condition(connection: Any, table: VectorTable) -> None:
    """Refuse a ``where`` that is not one condition: in brackets, beside others, it must mean the same.

    With and without brackets it must give one statement, as the binary protocol carries only one.
    """
    if not table.where:
        return
    psycopg = import_psycopg()
    for clause in (f" WHERE {table.where}\n", table.conditions()):
        try:
            connection.execute(f"SELECT 1 FROM {table.quoted}{clause} LIMIT 0", binary=True)
        except (psycopg.ProgrammingError, psycopg.errors.ProtocolViolation) as error:
            reason = str(error).partition("\n")[0]
            expected = "an SQL condition, such as model = 'minilm'"
            raise UsageError(f"where is {table.where!r}: {reason}", where=table.quoted, expected=expected) from None


def match_table(connection: Any, table: VectorTable, dimensions: int, ids: pl.Series) -> VectorTable:
    """Return the table with its corpus rows, after checking that it holds these ids, once each, and dimensions.

    Other ids are refused too, as searches could return them.
    """
    if not table.untyped and table.dimensions != dimensions:
        found = f"{table.name} holds {table.dimensions:,} dimensions"
        raise DataError(found, expected=f"{dimensions:,}, as the corpus")
    columns = f"{quote_name(table.row)}::text, {quote_name(table.vector)} IS NULL"
    cursor = connection.execute(f"SELECT {columns} FROM {table.quoted}{table.conditions()}", binary=True)
    stored = _check_ids(pl.Series([name for name, is_empty in cursor if not is_empty], dtype=pl.String), table)
    names = ids.cast(pl.String)
    for lacking, what in (
        (names.filter(~names.is_in(stored.implode())), f"the corpus has ids that {table.name} has no vector of"),
        (stored.filter(~stored.is_in(names.implode())), f"{table.name} has ids that the corpus has not"),
    ):
        if len(lacking):
            raise DataError(f"{what}: {_list_ids(lacking)}", where="PostgreSQL", expected="the same ids in both")
    rows = {name.encode(): row for row, name in enumerate(names)}
    return replace(table, dimensions=dimensions, items=len(ids), rows=rows)


def read_table(connection: Any, table: VectorTable) -> Vectors:
    """Read the ids and vectors of all rows that have a vector, in one snapshot, ordered by id."""
    # Rows without a vector are dropped here: a view may cast the vectors of the rows that its own condition chooses,
    # and PostgreSQL might look at IS NOT NULL, and so at the cast, before that condition.
    columns = f"{quote_name(table.row)}::text, {quote_name(table.vector)}"
    names: list[str | None] = []
    blocks: list[Matrix] = []
    with connection.transaction(), connection.cursor(name="rankjury", binary=True) as cursor:
        cursor.execute(f"SELECT {columns} FROM {table.quoted}{table.conditions()}")
        while fetched := cursor.fetchmany(4096):
            rows = [row for row in fetched if row[1] is not None]
            if not rows:
                continue
            names += [name for name, _ in rows]
            width = blocks[0].shape[1] if blocks else None
            blocks.append(decode_vectors([octets for _, octets in rows], table.kind, table.name, width))
    source = f"{table.schema}.{table.name}" + (f" where {table.where}" if table.where else "")
    if not blocks:
        raise DataError("found no vector", where=f"PostgreSQL, {source}", expected="rows with a vector")
    ids = _check_ids(pl.Series(names, dtype=pl.String), table)
    order = ids.arg_sort()
    return Vectors(ids.gather(order), np.concatenate(blocks)[order.to_numpy()], source)


def _check_ids(ids: pl.Series, table: VectorTable) -> pl.Series:
    """Return the ids; missing and duplicate ones are refused."""
    if ids.null_count():
        raise DataError(f"{table.name} has {ids.null_count():,} vectors without an id", where="PostgreSQL")
    repeated = ids.filter(ids.is_duplicated()).unique()
    if len(repeated):
        found = f"{table.name} has several rows of one id: {_list_ids(repeated)}"
        hint = "Choose the rows of one model with where."
        raise DataError(found, where="PostgreSQL", expected="one row per id", hint=hint)
    return ids


def _list_ids(ids: pl.Series) -> str:
    return f"{', '.join(map(repr, ids.sort()[:5]))}{' …' if len(ids) > 5 else ''} ({len(ids):,})"


def table_bytes(connection: Any, table: VectorTable, used: Collection[str] = ()) -> tuple[int, int]:
    """Return the size of the vector indexes, or of the table where it has none; and that of the table.

    Only the indexes that searches ``used`` count, where that is known: a table may have others, of other models.
    """
    statement = f"{_BASES} SELECT coalesce(sum(pg_table_size(oid::regclass)), 0)::bigint FROM held"
    total = int(connection.execute(statement, {"table": table.quoted}).fetchone()[0])
    sizes = {name: int(size) for name, _, size in connection.execute(_INDEXES, {"table": table.quoted})}
    counted = [size for name, size in sizes.items() if name in used] or list(sizes.values())
    return sum(counted) if counted else total, total
