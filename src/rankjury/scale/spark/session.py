"""What PySpark says of its own accord and nobody here needs to hear.

Where Spark's work is done: ``local[*]``, ``spark://HOST:PORT``, ``yarn``, ``k8s://…``.

Sessions of Spark: the one that is there already, or one of our own, quiet, which leaves nothing behind.

A Spark of our own: its Java process is started, kept quiet, and ended; what it put on disk goes with it.

It is started and stopped in a thread of its own. So a Ctrl-C never meets it half-way, neither while Java starts nor
while it ends; and Spark, which takes over Ctrl-C from whoever starts it in the main thread, does not.
"""

import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING, Any

from rankjury.core.importing import missing_library
from rankjury.core.temp_files import TemporaryFolder
from rankjury.errors import DataError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


@contextmanager
def silence_pyspark() -> Iterator[None]:
    """Without its account, a page long, of an error that is raised anyway, and without its doubts of pandas.

    It asks for pandas wherever it hands over Arrow, and uses none of it.
    """
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    _disable(loggers, [True] * len(loggers))
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            yield
    finally:
        _disable(loggers, before)


def _disable(loggers: Sequence[logging.Logger], disabled: Sequence[bool]) -> None:
    for logger, one in zip(loggers, disabled, strict=True):
        logger.disabled = one


_LOCAL = re.compile(r"local(-cluster)?(\[[^\]]*\])?")
_KNOWN_LOCAL = re.compile(r"local(\[(\*|[1-9]\d*)(\s*,\s*[1-9]\d*)?\])?|local-cluster\[\d+\s*,\s*\d+\s*,\s*\d+\]")
_STANDALONE = re.compile(r"spark://(.+)")
_OTHERS = re.compile(r"yarn|k8s://.+")
_EXPECTED = "local[*], local[2], spark://HOST:PORT, yarn or k8s://…"
_MASTER_TIMEOUT = 5.0
_LOOPBACK = ("127.", "localhost", "::1")


@dataclass(frozen=True)
class Master:
    """A master's address; of a standalone cluster also where its masters listen."""

    url: str
    hosts: tuple[tuple[str, int], ...] = ()

    @property
    def on_this_machine(self) -> bool:
        """Whether nobody but this machine takes part, so that nothing need be told of its network."""
        return self.is_local or (bool(self.hosts) and all(host.startswith(_LOOPBACK) for host, _ in self.hosts))

    @property
    def is_local(self) -> bool:
        return _LOCAL.fullmatch(self.url) is not None

    def check_answers(self) -> None:
        """Ask the masters of a cluster for a connection: Spark itself would try for a minute, and end its process."""
        troubles = []
        for host, port in self.hosts:
            try:
                socket.create_connection((host, port), timeout=_MASTER_TIMEOUT).close()
            except OSError as error:
                troubles.append(f"{host}:{port}: {error.strerror or error}")
            else:
                return
        if troubles:
            raise DataError(
                f"no master of Spark answers ({'; '.join(troubles)})",
                where=self.url,
                hint="Is the cluster running? Its master's page says which address it has.",
            )


def parse_master(url: str) -> Master:
    if _KNOWN_LOCAL.fullmatch(url) or _OTHERS.fullmatch(url):
        return Master(url)
    standalone = _STANDALONE.fullmatch(url)
    if standalone is None:
        hint = "Spark Connect (sc://) runs none of rankjury's own functions." if url.startswith("sc://") else None
        raise UsageError(f"cannot read the master {url!r}", expected=_EXPECTED, hint=hint)
    return Master(url, tuple(_address(text, url) for text in standalone.group(1).split(",")))


def _address(text: str, url: str) -> tuple[str, int]:
    host, colon, port = text.strip().rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise UsageError(f"cannot read {text!r} in the master {url!r}", expected="spark://HOST:PORT[,HOST:PORT …]")
    return host.strip("[]"), int(port)


OLDEST_JAVA = 17
"""What Spark 4 asks for."""
_HINT = "On Debian: apt-get install openjdk-17-jre-headless. JAVA_HOME says which Java is taken."
_JAVA_TIMEOUT = 30


def check_java() -> None:
    """Refuse to start Spark where it would fail for want of Java."""
    wanted = f"Java {OLDEST_JAVA} or later, on which Spark 4 runs"
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")  # as Spark's own script looks for it
    if java is None:
        raise UsageError("there is no java on the PATH, and JAVA_HOME is not set", expected=wanted, hint=_HINT)
    try:
        ran = subprocess.run(
            [java, "-version"], capture_output=True, text=True, errors="replace", timeout=_JAVA_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"cannot start {java}: {error}", expected=wanted, hint=_HINT) from None
    said = ran.stderr + ran.stdout
    version = java_version(said)
    if version is None:
        first = next(iter(said.strip().splitlines()), "nothing")
        raise UsageError(f"'{java} -version' says {first!r}", expected=wanted, hint=_HINT)
    if version < OLDEST_JAVA:
        raise UsageError(f"{java} is Java {version}", expected=wanted, hint=_HINT)


def java_version(said: str) -> int | None:
    """The number of the release in what ``java -version`` says: 8 of ``1.8.0_412``, 17 of ``17.0.15``."""
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found.group(1)) if found else None


EVERY_CORE = "local[*]"
"""The master where none is named: every core of this machine."""
_LEAST_MEMORY = 450 << 20
"""With less, Spark does not start."""


@contextmanager
def open_session(
    master: str | None = None,
    *,
    memory: int | None = None,
    temp: Path | None = None,
    settings: Mapping[str, str] | None = None,
) -> Iterator["SparkSession"]:
    """A session to work with: the active one, which is left running, or one of our own, stopped in the end.

    ``memory`` is what each of Spark's Java processes may take, in bytes; ``temp`` the folder for what Spark puts on
    disk; ``settings`` are Spark's own, by name. All three are for a session of our own.
    """
    check_libraries()
    if memory is not None and memory < _LEAST_MEMORY:
        raise UsageError(
            f"{memory:,} bytes of memory for Spark's Java", expected=f"{_LEAST_MEMORY:,} bytes (450 MiB) or more"
        )
    with silence_pyspark():
        running = _active_session(master)
    if running is not None:
        yield running
        return
    where = parse_master(master or EVERY_CORE)
    check_java()
    where.check_answers()
    with start_session(where, memory, temp, settings or {}) as spark:
        yield spark


def check_libraries() -> None:
    for library in ("pyspark", "pyarrow", "pandas"):
        if find_spec(library) is None:
            raise missing_library(library, "working on Spark")


def check_classic(spark: "SparkSession") -> None:
    """Refuse what is no session that can be watched and cancelled: one of Spark Connect, or one that was stopped."""
    if getattr(spark, "_jsparkSession", None) is None:
        raise UsageError(
            f"{type(spark).__module__}.{type(spark).__name__} is no classic session of Spark",
            expected="a SparkSession with a SparkContext of its own, not one of Spark Connect",
        )
    if spark.sparkContext._jsc is None:
        raise UsageError(
            "the session of Spark was stopped", hint="Start another one: SparkSession.builder.getOrCreate()."
        )


def _active_session(master: str | None) -> "SparkSession | None":
    """The session that somebody has started already, which has to be where it is wanted."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
    if context is None:
        return None
    if master is not None and master != context.master:
        raise UsageError(
            f"a session on {context.master} is active, and {master} was asked for",
            hint="Stop that one first, or name no master.",
        )
    return SparkSession.builder.getOrCreate()


_ENDS_WITHIN = 20
_ROWS_IN_A_BATCH = 100_000
_LOG = "spark.log"
_SAID_ALWAYS = ("\t", "WARNING: Using incubator modules", "Setting default log level", "To adjust logging level")
_LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


@contextmanager
def start_session(
    master: Master, memory: int | None, temp: Path | None, settings: Mapping[str, str]
) -> Iterator["SparkSession"]:
    """A session that ends with the block, and its Java process with it."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(_folder(temp)))
        loopback = {"SPARK_LOCAL_IP": "127.0.0.1"} if master.on_this_machine else {}
        variables = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_DIRS": str(folder)} | loopback
        stack.enter_context(with_variables(os.environ, variables))
        aside = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="spark"))
        starting = aside.submit(_start, {**_settings(master, memory, folder), **settings}, folder)
        try:
            with silence_pyspark():
                spark, _ = starting.result()
            yield spark
        finally:
            aside.submit(_stop, starting).result()  # behind the start, and done even if nobody waits for it


def _folder(temp: Path | None) -> TemporaryFolder:
    try:
        return TemporaryFolder("spark", temp)
    except OSError as error:
        raise DataError(f"no folder can be made here: {error.strerror}", where=str(temp or "/tmp")) from None


@contextmanager
def with_variables(environment: MutableMapping[str, str], variables: Mapping[str, str]) -> Iterator[None]:
    """Add variables to an environment until the block ends; what is set there already stays."""
    added = {name: value for name, value in variables.items() if name not in environment}
    environment.update(added)
    try:
        yield
    finally:
        for name in added:
            environment.pop(name, None)


def _settings(master: Master, memory: int | None, folder: Path) -> dict[str, str]:
    loopback = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    mebibytes = f"{(memory or 0) >> 20}m"
    return {
        "spark.master": master.url,
        "spark.app.name": "rankjury",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.defaultJavaOptions": (
            f"-Dlog4j2.configurationFile={(folder / 'log4j2.properties').as_uri()} -Djava.io.tmpdir={folder}"
        ),
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(_ROWS_IN_A_BATCH),
        **(loopback if master.on_this_machine else {}),
        **({"spark.driver.memory": mebibytes, "spark.executor.memory": mebibytes} if memory else {}),
    }


def _start(settings: Mapping[str, str], folder: Path) -> tuple["SparkSession", Any]:
    """The session, and the way to its Java process; None where that was there before us."""
    import pyspark
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    (folder / "log4j2.properties").write_text(_LOGGING, encoding="utf-8")
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    gateway = None if SparkContext._gateway else _launch(conf, folder)
    try:
        SparkContext(conf=conf, gateway=gateway)
        return SparkSession.builder.getOrCreate(), gateway
    except Exception as error:
        said = _said(error)
        _end(gateway)
        where = settings["spark.master"]
        hint = f"Is it a master of Spark {pyspark.__version__}? Its log says more." if "://" in where else None
        raise DataError(f"Spark does not start: {said}", where=where, hint=hint) from error


def _launch(conf: Any, folder: Path) -> Any:
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    with (folder / _LOG).open("ab") as log:
        try:
            return launch_gateway(conf, {"stdout": log, "stderr": log})
        except PySparkRuntimeError:
            raise DataError("the Java process of Spark ended at once", hint=_last_words(folder)) from None


def _stop(starting: "Future[tuple[SparkSession, Any]]") -> None:
    if starting.exception() is not None:
        return
    spark, gateway = starting.result()
    try:
        spark.stop()
    finally:
        _end(gateway)


def _end(gateway: Any) -> None:
    """End the Java process; PySpark itself would keep it for the next session."""
    from pyspark import SparkContext

    process = getattr(gateway, "proc", None)
    if process is None:
        return
    SparkContext._gateway = SparkContext._jvm = None
    with suppress(Exception):  # it may be gone already
        gateway.shutdown()
    process.stdin.close()
    try:
        process.wait(_ENDS_WITHIN)
    except TimeoutExpired:
        process.kill()
        process.wait()


def _said(error: Exception) -> str:
    """The line that says what it is, of an error with Java's whole stack."""
    cause = getattr(error, "java_exception", None)
    text = str(cause.getMessage()) if cause is not None else str(error)
    return text.strip().splitlines()[0] if text.strip() else type(error).__name__


def _last_words(folder: Path) -> str | None:
    """The last line that Java said, neither of a stack nor of what it always says."""
    log = folder / _LOG
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.exists() else []
    said = [line for line in lines if not line.startswith(_SAID_ALWAYS)]
    return f"It said: {said[-1]}" if said else None
