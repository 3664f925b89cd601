"""SQL, with every name quoted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rankjury.core.params import Setting

OPERATORS = {"cosine": "<=>", "ip": "<#>", "l2": "<->"}
METHODS = {"hnsw": ("m", "ef_construction"), "ivfflat": ("lists",)}
"""The kinds of index, and what is settled when one is built."""
_CLASSES = {"cosine": "cosine_ops", "ip": "ip_ops", "l2": "l2_ops"}
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
"""A table with its partitions, or the tables that a view reads."""
INDEXES = f"""{_BASES}
SELECT c.relname, m.amname, pg_relation_size(c.oid) FROM pg_index i
JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
WHERE m.amname IN ('hnsw', 'ivfflat') AND i.indrelid IN (SELECT oid FROM held)
"""
"""The vector indexes: name, method, bytes."""
TABLE_BYTES = f"{_BASES} SELECT coalesce(sum(pg_table_size(oid::regclass)), 0)::bigint FROM held"
_LONGEST_NAME = 63
_ROW, _VECTOR = "rankjury_row", "rankjury_vector"


@dataclass(frozen=True)
class Table:
    """What is searched: rankjury's own table, or a user's."""

    schema: str
    name: str
    kind: str
    """The type of its vectors."""
    dimensions: int
    items: int
    row: str = _ROW
    """The column that says which item it is."""
    vector: str = _VECTOR
    columns: Mapping[str, str] = field(default_factory=dict)
    """The columns of attributes."""
    indexes: Mapping[str, str] = field(default_factory=dict)
    """The vector indexes and their methods."""
    rows: Mapping[bytes, int] | None = None
    """The row of each id; None where the column holds the row itself."""
    where: str = ""
    """The user's condition on the rows, in SQL; empty: all rows."""
    untyped: bool = False
    """The column has vectors of any dimension, as where one table has a row for each model."""
    is_view: bool = False

    @property
    def quoted(self) -> str:
        return quoted(self.schema, self.name)

    @property
    def is_filtered(self) -> bool:
        """Whether an index may hold rows that are not searched."""
        return bool(self.where) or self.is_view

    @property
    def vectors(self) -> str:
        """The expression of the vectors. Without a dimension a column has an index only on its cast to one."""
        return f"{quoted(self.vector)}::{self.kind}({self.dimensions})" if self.untyped else quoted(self.vector)

    def conditions(self, *more: str) -> str:
        """The clause WHERE; the line break ends a comment in the user's condition."""
        parts = [*([f"({self.where}\n)"] if self.where else []), *more]
        return f" WHERE {' AND '.join(parts)}" if parts else ""


def quoted(*names: str) -> str:
    """A name, or a path of names."""
    from psycopg.sql import Identifier

    return Identifier(*names).as_string(None)


def name_columns(attributes: Iterable[str]) -> dict[str, str]:
    """Columns are called as the attributes, but for names that PostgreSQL would cut off or that are taken."""
    found: dict[str, str] = {}
    for number, name in enumerate(attributes):
        plain = 0 < len(name.encode()) <= _LONGEST_NAME and "\0" not in name and not name.startswith("rankjury_")
        found[name] = name if plain else f"rankjury_attribute_{number}"
    return found


def creation(table: Table) -> str:
    columns = [f"{quoted(table.row)} integer NOT NULL", f"{quoted(table.vector)} {table.kind}({table.dimensions})"]
    columns += [f"{quoted(column)} text" for column in table.columns.values()]
    return f"CREATE TABLE {table.quoted} ({', '.join(columns)})"


def copying(table: Table) -> str:
    """Rows that are frozen from the start need no second look when they are first read."""
    return f"COPY {table.quoted} FROM STDIN (FORMAT BINARY, FREEZE)"


def indexing(table: Table, name: str, metric: str, built: Mapping[str, Setting]) -> str:
    method = str(built["index"])
    options = ", ".join(f"{option} = {int(built[option])}" for option in METHODS[method])
    column = f"{quoted(table.vector)} {table.kind}_{_CLASSES[metric]}"
    return f"CREATE INDEX {quoted(name)} ON {table.quoted} USING {method} ({column}) WITH ({options})"


def searching(table: Table, metric: str, k: int, attribute: str | None = None) -> str:
    """The nearest of one vector ($1), among the rows whose attribute has a value ($2)."""
    row = quoted(table.row) if table.rows is None else f"{quoted(table.row)}::text"
    distance = f"{table.vectors} {OPERATORS[metric]} $1::{table.kind}"
    where = table.conditions(*([] if attribute is None else [f"{quoted(table.columns[attribute])} = $2"]))
    return f"SELECT {row}, {distance} FROM {table.quoted}{where} ORDER BY 2 LIMIT {k}"
