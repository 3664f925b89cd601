"""What every connection is told first, and what is to be known of its server."""

import re
from collections.abc import Collection
from typing import Any

from karat.engines.pgvector.existing import READ_ONLY
from karat.engines.pgvector.statements import INDEXES, TABLE_BYTES, Table, quoted
from karat.errors import DataError

__all__ = ["Session"]

_EXTENSION = """
SELECT e.extversion, n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
WHERE e.extname = 'vector'
"""
_OTHERS = r"SELECT nspname FROM pg_namespace WHERE nspname ~ '^karat_[0-9a-f]{12}$' AND nspname <> %s ORDER BY 1"


class Session:
    """The same for all connections of an engine."""

    def __init__(self, *, read_only: bool) -> None:
        self.make_extension = False
        """The server is karat's own."""
        self.path: list[str] = []
        """Where tables are looked for that are named without a schema."""
        self.postgresql = ""
        self.version: tuple[int, ...] = ()
        """Of pgvector."""
        self._read_only = read_only

    def greet(self, connection: Any) -> None:
        """Set the search path and, for an existing table, read-only transactions.

        Only names of pgvector are found without a schema; of an existing table also those that the user's condition
        may use.
        """
        if self.make_extension:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        found = connection.execute(_EXTENSION).fetchone()
        if found is None:
            raise DataError(
                "the database has no extension vector",
                where="PostgreSQL",
                hint="Someone who may do so has to run CREATE EXTENSION vector once.",
            )
        version, schema = found
        self.version = tuple(int(part) for part in re.findall(r"\d+", version))
        self.postgresql = str(connection.info.parameter_status("server_version"))
        self.path = list(connection.execute("SELECT current_schemas(false)::text[]").fetchone()[0])
        names = [schema, *(self.path if self._read_only else ())]
        connection.execute(f"SET search_path = {', '.join(map(quoted, names))}")
        connection.execute("SELECT '[1]'::vector")  # loads the library, so that it checks its settings
        if self._read_only:
            connection.execute(READ_ONLY)

    def others(self, connection: Any, schema: str) -> list[str]:
        """Schemas of other runs."""
        return [name for (name,) in connection.execute(_OTHERS, (schema,))]

    def bytes_of(self, connection: Any, table: Table, used: Collection[str] = ()) -> tuple[int, int]:
        """Return the size of the vector indexes, or of the table where it has none; and that of the table.

        Args:
            connection: The connection.
            table: The table or view.
            used: The indexes that searches use, where that is known: a table may have others, of other models.
        """
        held = int(connection.execute(TABLE_BYTES, {"table": table.quoted}).fetchone()[0])
        sizes = {name: size for name, _, size in connection.execute(INDEXES, {"table": table.quoted})}
        counted = [size for name, size in sizes.items() if name in used] or list(sizes.values())
        return (int(sum(counted)) if counted else held), held
