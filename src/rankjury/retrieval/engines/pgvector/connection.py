"""Connections to PostgreSQL: reopened when lost, with settings sent only when they change."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from rankjury.core.importing import import_optional
from rankjury.core.secrets import Masker, forms_of, is_secret, read_variable, redact
from rankjury.errors import DataError, EngineLost, UsageError
from rankjury.retrieval.engines.pgvector.server import EmbeddedServer, ServerNotRunning

Result = TypeVar("Result")

_WAITS = (0.1, 0.4, 1.5, 3.0, 5.0)
"""Seconds before each attempt to reconnect to a lost server."""
_EXTENSION = """
SELECT e.extversion, n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
WHERE e.extname = 'vector'
"""


def import_psycopg() -> Any:
    """Import psycopg, or raise ``MissingExtra``."""
    return import_optional("psycopg", "the engine pgvector")


def quote_name(*names: str) -> str:
    """Return an SQL identifier, or a qualified one."""
    from psycopg.sql import Identifier

    return Identifier(*names).as_string(None)


class DatabaseAddress:
    """The address of a server, embedded or by a dsn, whose secrets are never shown."""

    def __init__(self, dsn: str = "", server: EmbeddedServer | None = None) -> None:
        self._psycopg = import_psycopg()
        self._server = server
        dsn = read_variable(dsn.strip(), "a dsn")
        try:
            given = self._psycopg.conninfo.conninfo_to_dict(dsn) if server is None else server.parameters
        except self._psycopg.Error:  # its text repeats the dsn
            expected = "postgresql://user@host/database, or host=… dbname=… user=…"
            raise UsageError("the dsn cannot be read", expected=expected) from None
        self._parameters: dict[str, Any] = dict(given)
        masker = Masker()
        masker.dsn(dsn)
        secrets = [str(value) for name, value in self._parameters.items() if is_secret(name)]
        self._secrets = forms_of([*masker.secrets, *secrets])

    def __str__(self) -> str:
        if self._server is not None:
            return "embedded"
        shown = [name for name in ("host", "port", "dbname") if name in self._parameters]
        return " ".join(f"{name}={redact(str(self._parameters[name]), self._secrets)}" for name in shown)

    def clean(self, text: object) -> str:
        """Return a message of a library as one line without secrets."""
        return redact(" ".join(redact(str(text), self._secrets).split()), self._secrets)

    def open(self) -> Any:
        """Open a connection without prepared statements, whose plans would outlive the settings they were made with."""
        if self._server is not None:
            self._server.ensure_running()
        # A server whose machine is gone is noticed after a minute; in seconds, the last one in milliseconds.
        alive = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
        defaults = {"connect_timeout": 10, "application_name": "rankjury", **alive}
        return self._psycopg.connect(**defaults | self._parameters, autocommit=True, prepare_threshold=None)


class Session:
    """Setup of all connections of an engine, and the versions of the server."""

    def __init__(self, *, read_only: bool) -> None:
        self.create_extension = False
        """Set for an embedded server."""
        self.path: list[str] = []
        """The schemas in which tables without a schema are looked up."""
        self.postgresql = ""
        self.pgvector: tuple[int, ...] = ()
        self._read_only = read_only

    def set_up(self, connection: Any) -> None:
        """Set the search path and, for an existing table, read-only transactions.

        Only names of pgvector are found without a schema; for an existing table also those of the user's condition.
        """
        if self.create_extension:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        extension = connection.execute(_EXTENSION).fetchone()
        if extension is None:
            hint = "Run CREATE EXTENSION vector once, as a user with the right to do so."
            raise DataError("the database has no extension vector", where="PostgreSQL", hint=hint)
        version, schema = extension
        self.pgvector = tuple(int(part) for part in re.findall(r"\d+", version))
        self.postgresql = str(connection.info.parameter_status("server_version"))
        self.path = list(connection.execute("SELECT current_schemas(false)::text[]").fetchone()[0])
        names = [schema, *(self.path if self._read_only else ())]
        connection.execute(f"SET search_path = {', '.join(map(quote_name, names))}")
        connection.execute("SELECT '[1]'::vector")  # loads the library, so that it checks its settings
        if self._read_only:
            connection.execute("SET default_transaction_read_only = on")


class DatabaseConnection:
    """One connection, reopened when it is lost; not for two threads at a time."""

    def __init__(self, address: DatabaseAddress, session: Session) -> None:
        self.address, self.session = address, session
        self.notices: list[str] = []
        self._psycopg = import_psycopg()
        self._connection: Any = None
        self._settings: dict[str, str] = {}
        self._last_settings: Mapping[str, str] | None = None

    @property
    def connection(self) -> Any:
        """The open connection, or a new one."""
        if self._connection is None or self._connection.closed:
            self._connection, self._settings, self._last_settings = self.address.open(), {}, None
            self._connection.add_notice_handler(lambda notice: self.notices.append(str(notice.message_primary)))
            self.session.set_up(self._connection)
        return self._connection

    def open(self) -> None:
        """Connect for the first time, without retries."""
        try:
            self.connection  # noqa: B018
        except self._psycopg.Error as error:
            found = f"cannot be reached: {self.address.clean(error)}"
            raise DataError(found, where=f"PostgreSQL ({self.address})") from None

    def retrying(self, work: Callable[[], Result]) -> Result:
        """Do idempotent work; if the connection is lost, repeat it after growing waits."""
        for wait in (*_WAITS, None):
            try:
                return work()
            except (self._psycopg.Error, ServerNotRunning) as error:
                may_be_lost = (self._psycopg.OperationalError, self._psycopg.InterfaceError, ServerNotRunning)
                is_closed = self._connection is None or self._connection.closed
                reason, where = self.address.clean(error), f"PostgreSQL ({self.address})"
                if not isinstance(error, may_be_lost) or not (is_closed or isinstance(error, ServerNotRunning)):
                    raise DataError(f"the statement failed: {reason}", where=where) from None
                if wait is None:
                    found = f"the connection was lost, and {len(_WAITS)} attempts to reconnect failed"
                    raise EngineLost(f"{found}: {reason}", where=where) from None
                self.drop()
                time.sleep(wait)
        raise AssertionError("unreachable")

    def drop(self) -> None:
        """Close the connection, in whatever state it is."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def configure(self, settings: Mapping[str, str]) -> None:
        """Send the settings that changed, in one statement."""
        connection = self.connection
        if settings is self._last_settings:
            return
        new = {name: value for name, value in settings.items() if self._settings.get(name) != value}
        if new:
            calls = ", ".join(["set_config(%s, %s, false)"] * len(new))
            connection.execute(f"SELECT {calls}", [part for pair in new.items() for part in pair])
            self._settings.update(new)
        self._last_settings = settings

    def ask(self, statement: bytes, values: Sequence[bytes], formats: Sequence[int]) -> Any:
        """Execute one statement and return the binary result, with as little overhead as possible."""
        raw = self.connection.pgconn
        answer = raw.exec_params(statement, values, None, formats, 1)
        if answer.status != self._psycopg.pq.ExecStatus.TUPLES_OK:
            kind = self._psycopg.OperationalError if self._connection.closed else self._psycopg.DatabaseError
            raise kind(answer.error_message.decode(errors="replace"))
        return answer
