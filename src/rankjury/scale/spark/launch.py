"""A Spark of our own: its Java process is started, kept quiet, and ended; what it put on disk goes with it.

It is started and stopped in a thread of its own. So a Ctrl-C never meets it half-way, neither while Java starts nor
while it ends; and Spark, which takes over Ctrl-C from whoever starts it in the main thread, does not.
"""

import os
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING, Any

from rankjury.core.temp_files import TemporaryFolder
from rankjury.errors import DataError
from rankjury.scale.spark.masters import Master
from rankjury.scale.spark.quiet import silence_pyspark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
