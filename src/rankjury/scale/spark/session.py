"""Spark sessions: the active one, or a new, quiet one that removes all its files.

A new session is started and stopped in a separate thread. So Ctrl-C never interrupts its start or end; and Spark does
not replace the handler of Ctrl-C, as it does when started in the main thread.
"""

import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping, MutableMapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankjury.core.importing import missing_library
from rankjury.core.temp_files import TemporaryFolder
from rankjury.errors import DataError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERY_CORE = "local[*]"
"""The default master: every core of this machine."""
OLDEST_JAVA = 17
"""Required by Spark 4."""
_MIN_MEMORY = 450 << 20
"""Spark does not start with less."""
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_LOCAL = re.compile(r"local(\[(\*|[1-9]\d*)(\s*,\s*[1-9]\d*)?\])?|local-cluster\[\d+\s*,\s*\d+\s*,\s*\d+\]")
_LOOPBACK = ("127.", "localhost", "::1")
_MASTER_TIMEOUT, _JAVA_TIMEOUT, _STOP_TIMEOUT = 5.0, 30, 20
_JAVA_HINT = "On Debian: apt-get install openjdk-17-jre-headless. JAVA_HOME selects the Java."
_ROWS_IN_A_BATCH = 100_000
_LOG = "spark.log"
_BOILERPLATE = ("\t", "WARNING: Using incubator modules", "Setting default log level", "To adjust logging level")
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
def open_session(
    master: str | None = None,
    *,
    memory: int | None = None,
    temp: Path | None = None,
    settings: Mapping[str, str] | None = None,
) -> Iterator["SparkSession"]:
    """Yield the active session, which is left running, or a new one, which is stopped at the end.

    Args:
        master: Spark's master; None: that of the active session, or every core of this machine.
        memory: Memory of each of Spark's Java processes in bytes, for a new session.
        temp: Folder for Spark's temporary files, for a new session.
        settings: Spark's settings by name, for a new session.
    """
    check_libraries()
    if memory is not None and memory < _MIN_MEMORY:
        raise UsageError(
            f"{memory:,} bytes of memory for Spark's Java", expected=f"{_MIN_MEMORY:,} bytes (450 MiB) or more"
        )
    with silence_pyspark():
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        context = SparkContext._active_spark_context
        if context is not None and master not in (None, context.master):
            raise UsageError(
                f"a session on {context.master} is active, but {master} was requested",
                hint="Stop that session first, or omit the master.",
            )
        active = None if context is None else SparkSession.builder.getOrCreate()
    if active is not None:
        yield active
        return
    address = parse_master(master or EVERY_CORE)
    check_java()
    address.check_answers()
    with start_session(address, memory, temp, settings or {}) as spark:
        yield spark


def check_libraries() -> None:
    """Raise an error if a library of the extra is missing."""
    for library in ("pyspark", "pyarrow", "pandas"):
        if find_spec(library) is None:
            raise missing_library(library, "working on Spark")


def check_classic(spark: "SparkSession") -> None:
    """Refuse a session whose jobs cannot be watched and cancelled: Spark Connect, or a stopped one."""
    if getattr(spark, "_jsparkSession", None) is None:
        raise UsageError(
            f"{type(spark).__module__}.{type(spark).__name__} is not a classic Spark session",
            expected="a SparkSession with its own SparkContext, not one of Spark Connect",
        )
    if spark.sparkContext._jsc is None:
        raise UsageError("the Spark session was stopped", hint="Start another one: SparkSession.builder.getOrCreate().")


def check_java() -> None:
    """Raise an error if there is no suitable Java."""
    expected = f"Java {OLDEST_JAVA} or later, as required by Spark 4"
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")  # found as in Spark's script
    if java is None:
        raise UsageError("there is no java on the PATH, and JAVA_HOME is not set", expected=expected, hint=_JAVA_HINT)
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, text=True, errors="replace", timeout=_JAVA_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"cannot start {java}: {error}", expected=expected, hint=_JAVA_HINT) from None
    output = done.stderr + done.stdout
    version = java_version(output)
    if version is None or version < OLDEST_JAVA:
        first = next(iter(output.strip().splitlines()), "nothing")
        found = f"'{java} -version' prints {first!r}" if version is None else f"{java} is Java {version}"
        raise UsageError(found, expected=expected, hint=_JAVA_HINT)


def java_version(output: str) -> int | None:
    """Return the version in the output of ``java -version``: 8 for ``1.8.0_412``, 17 for ``17.0.15``."""
    found = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(found.group(1)) if found else None


@contextmanager
def silence_pyspark() -> Iterator[None]:
    """Suppress PySpark's log of errors that are raised anyway, and its warning about pandas, which is not used."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


@dataclass(frozen=True)
class Master:
    """Address of a Spark master; for a standalone cluster also the hosts and ports of its masters."""

    url: str
    hosts: tuple[tuple[str, int], ...] = ()

    @property
    def on_this_machine(self) -> bool:
        """Whether only this machine participates, so that the loopback interface suffices."""
        return self.is_local or (bool(self.hosts) and all(host.startswith(_LOOPBACK) for host, _ in self.hosts))

    @property
    def is_local(self) -> bool:
        return _LOCAL.fullmatch(self.url) is not None

    def check_answers(self) -> None:
        """Connect to the masters of a cluster: Spark itself would try for a minute, and then exit."""
        failures = []
        for host, port in self.hosts:
            try:
                socket.create_connection((host, port), timeout=_MASTER_TIMEOUT).close()
            except OSError as error:
                failures.append(f"{host}:{port}: {error.strerror or error}")
            else:
                return
        if failures:
            raise DataError(
                f"no Spark master answers ({'; '.join(failures)})",
                where=self.url,
                hint="Is the cluster running? Its address is on the master's web page.",
            )


def parse_master(url: str) -> Master:
    """Parse ``local[*]``, ``spark://HOST:PORT``, ``yarn`` or ``k8s://…``."""
    if _LOCAL.fullmatch(url) or re.fullmatch(r"yarn|k8s://.+", url):
        return Master(url)
    if not url.startswith("spark://") or url == "spark://":
        hint = "Spark Connect (sc://) cannot run rankjury's functions." if url.startswith("sc://") else None
        expected = "local[*], local[2], spark://HOST:PORT, yarn or k8s://…"
        raise UsageError(f"cannot read the master {url!r}", expected=expected, hint=hint)
    hosts = []
    for text in url.removeprefix("spark://").split(","):
        host, colon, port = text.strip().rpartition(":")
        if not colon or not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise UsageError(f"cannot read {text!r} in the master {url!r}", expected="spark://HOST:PORT[,HOST:PORT …]")
        hosts.append((host.strip("[]"), int(port)))
    return Master(url, tuple(hosts))


@contextmanager
def start_session(
    master: Master, memory: int | None, temp: Path | None, settings: Mapping[str, str]
) -> Iterator["SparkSession"]:
    """Yield a new session that ends with the block, and its Java process with it."""
    with ExitStack() as stack:
        try:
            folder = Path(stack.enter_context(TemporaryFolder("spark", temp)))
        except OSError as error:
            raise DataError(f"cannot create a folder: {error.strerror}", where=str(temp or "/tmp")) from None
        loopback = {"SPARK_LOCAL_IP": "127.0.0.1"} if master.on_this_machine else {}
        variables = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_DIRS": str(folder)} | loopback
        stack.enter_context(with_variables(os.environ, variables))
        thread = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="spark"))
        starting = thread.submit(_start, {**_default_settings(master, memory, folder), **settings}, folder)
        try:
            with silence_pyspark():
                spark, _ = starting.result()
            yield spark
        finally:
            thread.submit(_stop, starting).result()  # after the start, and also when the wait is interrupted


@contextmanager
def with_variables(environment: MutableMapping[str, str], variables: Mapping[str, str]) -> Iterator[None]:
    """Add variables to an environment until the block ends; existing variables are unchanged."""
    added = {name: value for name, value in variables.items() if name not in environment}
    environment.update(added)
    try:
        yield
    finally:
        for name in added:
            environment.pop(name, None)


def _default_settings(master: Master, memory: int | None, folder: Path) -> dict[str, str]:
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
    """Start a session; return it with the gateway to its Java process, or None if that was running before."""
    import pyspark
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    (folder / "log4j2.properties").write_text(_LOGGING, encoding="utf-8")
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    gateway = None
    if not SparkContext._gateway:
        with (folder / _LOG).open("ab") as log:
            try:
                gateway = launch_gateway(conf, {"stdout": log, "stderr": log})
            except PySparkRuntimeError:
                lines = (folder / _LOG).read_text(encoding="utf-8", errors="replace").strip().splitlines()
                last = next((line for line in reversed(lines) if not line.startswith(_BOILERPLATE)), None)
                hint = None if last is None else f"It said: {last}"
                raise DataError("the Java process of Spark ended immediately", hint=hint) from None
    try:
        SparkContext(conf=conf, gateway=gateway)
        return SparkSession.builder.getOrCreate(), gateway
    except Exception as error:
        cause = getattr(error, "java_exception", None)
        text = (str(cause.getMessage()) if cause is not None else str(error)).strip()
        reason = text.splitlines()[0] if text else type(error).__name__  # the rest is Java's stack
        _end_java(gateway)
        where = settings["spark.master"]
        hint = f"Is it a master of Spark {pyspark.__version__}? Its log says more." if "://" in where else None
        raise DataError(f"Spark does not start: {reason}", where=where, hint=hint) from error


def _stop(starting: "Future[tuple[SparkSession, Any]]") -> None:
    if starting.exception() is not None:
        return
    spark, gateway = starting.result()
    try:
        spark.stop()
    finally:
        _end_java(gateway)


def _end_java(gateway: Any) -> None:
    """End the Java process, which PySpark would keep for the next session."""
    from pyspark import SparkContext

    process = getattr(gateway, "proc", None)
    if process is None:
        return
    SparkContext._gateway = SparkContext._jvm = None
    with suppress(Exception):  # it may be gone already
        gateway.shutdown()
    process.stdin.close()
    try:
        process.wait(_STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
