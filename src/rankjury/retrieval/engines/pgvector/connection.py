"""Connections: made again when they are lost, told a setting only when it changes."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from rankjury.core.importing import import_optional
from rankjury.core.secrets import Masker, forms_of, is_secret, read_variable, redact
from rankjury.errors import DataError, EngineLost, UsageError
from rankjury.retrieval.engines.pgvector.server import NotRunning, Server

Result = TypeVar("Result")

_WAITS = (0.1, 0.4, 1.5, 3.0, 5.0)
"""Seconds before each further try to reach a server that was lost."""
_OPEN_WITHIN = 10
_NOTICE_DEAD_SERVERS = {
    "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000,
}  # fmt: skip
"""A server whose machine is gone is noticed after a minute; seconds, but for the last, which is in milliseconds."""
_SHOWN = ("host", "port", "dbname")


def psycopg_library() -> Any:
    return import_optional("psycopg", "the engine pgvector")


class Target:
    """A server that can be reached: an embedded one, or by a dsn, whose secrets it keeps to itself."""

    def __init__(self, dsn: str = "", server: Server | None = None) -> None:
        self._psycopg = psycopg_library()
        self._server = server
        dsn = read_variable(dsn.strip(), "a dsn")
        self._parameters = server.parameters if server is not None else self._read(dsn)
        masker = Masker()
        masker.dsn(dsn)
        secrets = [str(value) for name, value in self._parameters.items() if is_secret(name)]
        self._secrets = forms_of([*masker.secrets, *secrets])

    def _read(self, dsn: str) -> dict[str, Any]:
        try:
            return dict(self._psycopg.conninfo.conninfo_to_dict(dsn))
        except self._psycopg.Error:  # says the dsn again
            expected = "postgresql://user@host/database, or host=… dbname=… user=…"
            raise UsageError("the dsn cannot be read", expected=expected) from None

    def __str__(self) -> str:
        if self._server is not None:
            return "embedded"
        values = {name: str(self._parameters[name]) for name in _SHOWN if name in self._parameters}
        return " ".join(f"{name}={redact(value, self._secrets)}" for name, value in values.items())

    def clean(self, text: object) -> str:
        """What a library said, in a line, without secrets."""
        return redact(" ".join(redact(str(text), self._secrets).split()), self._secrets)

    def open(self) -> Any:
        """A connection that prepares nothing: a plan that was kept would outlive the settings it was made by."""
        if self._server is not None:
            self._server.ensure_running()
        usual = {"connect_timeout": _OPEN_WITHIN, "application_name": "rankjury", **_NOTICE_DEAD_SERVERS}
        return self._psycopg.connect(**usual | self._parameters, autocommit=True, prepare_threshold=None)


class Link:
    """One connection to a target; not for two threads at a time."""

    def __init__(self, target: Target, greeting: Callable[[Any], None] | None = None) -> None:
        self.target = target
        self.notices: list[str] = []
        self._greeting = greeting
        self._psycopg = psycopg_library()
        self._connection: Any = None
        self._told: dict[str, str] = {}
        self._told_last: Mapping[str, str] | None = None

    @property
    def connection(self) -> Any:
        """As it is, or a new one."""
        if self._connection is None or self._connection.closed:
            self._connection, self._told, self._told_last = self.target.open(), {}, None
            self._connection.add_notice_handler(self._hear)
            if self._greeting is not None:
                self._greeting(self._connection)
        return self._connection

    def _hear(self, notice: Any) -> None:
        """Keep what pgvector has to say; what was there already, or was not, is no news."""
        if not str(notice.message_primary).endswith("skipping"):
            self.notices.append(str(notice.message_primary))

    def open(self) -> None:
        """The first time: a server that was never reached is not waited for."""
        try:
            self.connection  # noqa: B018
        except self._psycopg.Error as error:
            said = self.target.clean(error)
            raise DataError(f"cannot be reached: {said}", where=f"PostgreSQL ({self.target})") from None

    def retrying(self, work: Callable[[], Result]) -> Result:
        """Do the work; where the connection is lost, again, after ever longer waits. It must bear to be done twice."""
        for wait in (*_WAITS, None):
            try:
                return work()
            except (self._psycopg.OperationalError, self._psycopg.InterfaceError, NotRunning) as error:
                if not self._is_lost(error):
                    raise self._failed(error) from None
                if wait is None:
                    found = f"the connection was lost, and {len(_WAITS)} tries to make it again failed"
                    failed = self._failed(error, found)
                    raise EngineLost(failed.found, where=failed.where) from None
                self.drop()
                time.sleep(wait)
            except self._psycopg.Error as error:
                raise self._failed(error) from None
        raise AssertionError("unreachable")

    def _is_lost(self, error: Exception) -> bool:
        return isinstance(error, NotRunning) or self._connection is None or bool(self._connection.closed)

    def _failed(self, error: Exception, found: str = "the statement failed") -> DataError:
        return DataError(f"{found}: {self.target.clean(error)}", where=f"PostgreSQL ({self.target})")

    def drop(self) -> None:
        """Let go of the connection, in whatever state it is."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def tell(self, settings: Mapping[str, str]) -> None:
        """Set what is not set so already, in one statement."""
        connection = self.connection
        if settings is self._told_last:
            return
        new = {name: value for name, value in settings.items() if self._told.get(name) != value}
        if new:
            calls = ", ".join(["set_config(%s, %s, false)"] * len(new))
            connection.execute(f"SELECT {calls}", [part for pair in new.items() for part in pair])
            self._told.update(new)
        self._told_last = settings

    def ask(self, statement: bytes, values: Sequence[bytes], formats: Sequence[int]) -> Any:
        """One statement with its parameters, answered in binary, by the shortest way there is."""
        raw = self.connection.pgconn
        answer = raw.exec_params(statement, values, None, formats, 1)
        if answer.status != self._psycopg.pq.ExecStatus.TUPLES_OK:
            said = answer.error_message.decode(errors="replace")
            kind = self._psycopg.OperationalError if self._connection.closed else self._psycopg.DatabaseError
            raise kind(said)
        return answer
