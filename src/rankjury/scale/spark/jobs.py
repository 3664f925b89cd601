"""Spark jobs with progress, and cancellation of all of them after an error or Ctrl-C.

A task that raises is retried three times, and only the text of its traceback arrives. So a function that finds invalid
data adds the error to an accumulator and ends; the driver raises it.

An exception during a call to Java would leave the response unread on the socket, and PySpark then closes all of its
sockets with a page of errors. So Ctrl-C is deferred during a call to Spark.
"""

import json
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Thread, current_thread, main_thread
from traceback import walk_stack
from types import FrameType
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rankjury import errors
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.version import __version__
from rankjury.errors import DataError, RankjuryError
from rankjury.scale.spark.errors import translate_errors
from rankjury.scale.spark.session import check_classic, silence_pyspark, with_variables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches = Callable[[Iterator[Any]], Iterator[Any]]
"""Maps the record batches of a partition."""


class ErrorList:
    """Accumulator parameter that collects errors in a list."""

    def zero(self, value: list[bytes]) -> list[bytes]:
        return []

    def addInPlace(self, first: list[bytes], second: list[bytes]) -> list[bytes]:  # noqa: N802 - Spark's name
        return first + second


def report_errors(function: Batches, errors_found: Any) -> Batches:
    """Return the function with its errors added to an accumulator, after a check of rankjury's version."""
    release = __version__

    def with_errors_reported(batches: Iterator[Any]) -> Iterator[Any]:
        try:
            check_release(release)
            yield from function(batches)
        except RankjuryError as error:
            errors_found.add([dump_error(error)])

    return with_errors_reported


def check_release(of_driver: str) -> None:
    """Refuse executors of another release, whose digits may differ."""
    if of_driver != __version__:
        raise DataError(
            f"the executors have rankjury {__version__}, but the driver has {of_driver}",
            expected="the same release everywhere",
        )


def dump_error(error: RankjuryError) -> bytes:
    kind = next(kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    return json.dumps({"kind": kind.__name__, "says": vars(error)}).encode()


def load_error(text: bytes) -> RankjuryError:
    """Return the error that was dumped."""
    content = json.loads(text)
    fields = content["says"]
    kind = getattr(errors, content["kind"])
    error: RankjuryError = kind.__new__(kind)
    names = ("found", "where", "expected", "hint", "details")
    RankjuryError.__init__(error, **{name: fields.pop(name) for name in names})
    vars(error).update(fields)
    return error


@dataclass
class Interrupt:
    """Whether Ctrl-C was pressed and has not been raised yet."""

    pressed: bool = False

    def raise_pending(self) -> None:
        if self.pressed:
            raise KeyboardInterrupt from None


@contextmanager
def defer_interrupt() -> Iterator[Interrupt]:
    """Record the first Ctrl-C during a call to Spark; any other is raised immediately."""
    interrupt = Interrupt()
    before = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(before):
        yield interrupt
        return

    def note(number: int, frame: FrameType | None) -> None:
        modules = (str(caller.f_globals.get("__name__")) for caller, _ in walk_stack(frame))
        is_inside_spark = any(name.partition(".")[0] in ("py4j", "pyspark") for name in modules)
        if interrupt.pressed or not is_inside_spark:
            before(number, frame)
        else:
            interrupt.pressed = True

    signal.signal(signal.SIGINT, note)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)


_ONE_THREAD = ("RANKJURY_THREADS", "POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
"""Each core runs a task: more threads per task would only compete for the cores."""
_GROUP_PROPERTIES = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


@dataclass(frozen=True, eq=False)
class SparkJobs:
    """Jobs of one job group, with their persisted and broadcast data."""

    spark: "SparkSession"
    group: str
    _errors: Any
    _releases: list[Callable[[], object]] = field(default_factory=list)

    def map_batches(self, frame: "DataFrame", function: Batches, schema: str) -> "DataFrame":
        """Map a function over the frame's record batches by partition; ``watch_jobs`` raises its RankjuryError."""
        return frame.mapInArrow(report_errors(function, self._errors), schema)

    def map_values(self, values: Sequence[Any], function: Callable[[Any], Any]) -> list[Any]:
        """Return what the function returns for each value, one task per value."""
        parts = self.spark.sparkContext.parallelize(values, max(1, len(values)))
        return list(parts.mapPartitions(report_errors(lambda some: map(function, some), self._errors)).collect())

    def persist(self, frame: "DataFrame") -> "DataFrame":
        """Return the frame, computed once and stored until the end."""
        persisted = frame.persist()
        self._releases.append(persisted.unpersist)
        return persisted

    def broadcast(self, value: Any) -> Any:
        """Return a broadcast of the value, available to executors as ``.value`` until the end."""
        broadcast = self.spark.sparkContext.broadcast(value)
        self._releases.append(broadcast.destroy)
        return broadcast

    @property
    def failed(self) -> bool:
        return bool(self._errors.value)

    def raise_failure(self) -> None:
        """Raise an error that executors reported; of several always the same one."""
        if self.failed:
            raise load_error(min(self._errors.value))

    def cancel(self) -> None:
        self.spark.sparkContext.cancelJobGroup(self.group)

    def release(self) -> None:
        while self._releases:
            with suppress(Exception):  # the session may be gone already
                self._releases.pop()()


@contextmanager
def watch_jobs(spark: "SparkSession", what: str, progress: Progress = NO_PROGRESS) -> Iterator[SparkJobs]:
    """Run jobs, report progress by tasks, and translate Spark's errors.

    At the end of the block, also after an error, its jobs are cancelled, and persisted and broadcast data is released.
    """
    check_classic(spark)
    context = spark.sparkContext
    jobs = SparkJobs(spark, f"rankjury-{uuid4().hex}", context.accumulator([], ErrorList()))
    with (
        silence_pyspark(),
        translate_errors(),
        with_variables(context.environment, dict.fromkeys(_ONE_THREAD, "1")),
        defer_interrupt() as interrupt,
        _watch_in_thread(jobs, interrupt, what, progress),
    ):
        before = {name: context.getLocalProperty(name) for name in _GROUP_PROPERTIES}
        context.setJobGroup(jobs.group, f"rankjury: {what}", interruptOnCancel=True)
        try:
            yield jobs
        except Exception:
            interrupt.raise_pending()
            jobs.raise_failure()
            raise
        finally:
            with suppress(Exception):  # the context may be gone
                for name, value in before.items():
                    context.setLocalProperty(name, value)
        interrupt.raise_pending()
        jobs.raise_failure()


@contextmanager
def _watch_in_thread(jobs: SparkJobs, interrupt: Interrupt, what: str, progress: Progress) -> Iterator[None]:
    """Report progress in a thread, and cancel the jobs when their result is not needed any more."""
    left, is_complete = Event(), [False]

    def look() -> None:
        while not left.wait(0.25):
            with suppress(Exception):
                if jobs.failed or interrupt.pressed:
                    jobs.cancel()
                tracker = jobs.spark.sparkContext.statusTracker()
                known = filter(None, map(tracker.getJobInfo, tracker.getJobIdsForGroup(jobs.group)))
                numbers = {number for job in known for number in job.stageIds}
                stages = list(filter(None, map(tracker.getStageInfo, numbers)))
                done = sum(stage.numCompletedTasks for stage in stages)
                progress.update(what, done, sum(stage.numTasks for stage in stages))
        if not is_complete[0]:
            with suppress(Exception):
                jobs.cancel()
        jobs.release()

    watcher = Thread(target=look, name="rankjury watches jobs", daemon=True)
    watcher.start()
    try:
        yield
        is_complete[0] = True
    finally:
        left.set()
        watcher.join()
