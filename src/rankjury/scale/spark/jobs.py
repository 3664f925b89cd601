"""Jobs of Spark that are watched: progress while they run, and an end to all of them after an error or Ctrl-C.

A task that raises is tried again three times, and what arrives is the text of a traceback. So a function that finds a
fault in the data tells of it beside its results, in an accumulator, and ends; whoever watches the job raises it.

An exception in the middle of a question would leave the line to Java with an answer on it that nobody waits for; what
PySpark does then is to close all of its lines, with a page of errors.
"""

import json
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Thread, current_thread, main_thread
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
"""What is done with the record batches of a part of a table, one after the other."""


class ErrorList:
    """How failures add up in an accumulator: in a list."""

    def zero(self, value: list[bytes]) -> list[bytes]:
        return []

    def addInPlace(self, first: list[bytes], second: list[bytes]) -> list[bytes]:  # noqa: N802 - Spark's name
        return first + second


def report_errors(function: Batches, told: Any) -> Batches:
    """The function with its errors told to an accumulator instead of raised, and rankjury's release looked at first."""
    release = __version__

    def function_that_tells(batches: Iterator[Any]) -> Iterator[Any]:
        try:
            check_release(release)
            yield from function(batches)
        except RankjuryError as error:
            told.add([dump_error(error)])

    return function_that_tells


def check_release(of_driver: str) -> None:
    """Digits may differ from release to release."""
    if of_driver != __version__:
        raise DataError(
            f"the executors have rankjury {__version__}, and the driver has {of_driver}",
            expected="the same release everywhere",
        )


def dump_error(error: RankjuryError) -> bytes:
    kind = next(kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    return json.dumps({"kind": kind.__name__, "says": vars(error)}).encode()


def load_error(text: bytes) -> RankjuryError:
    """The error of the same kind that says the same."""
    form = json.loads(text)
    said = form["says"]
    kind = getattr(errors, form["kind"])
    error: RankjuryError = kind.__new__(kind)
    RankjuryError.__init__(
        error, **{name: said.pop(name) for name in ("found", "where", "expected", "hint", "details")}
    )
    vars(error).update(said)
    return error


_ASKING = ("py4j", "pyspark")


@dataclass
class Interrupt:
    """Whether Ctrl-C was pressed, and is still to be heard."""

    pressed: bool = False

    def raise_pending(self) -> None:
        if self.pressed:
            raise KeyboardInterrupt from None


@contextmanager
def defer_interrupt() -> Iterator[Interrupt]:
    """Note the first Ctrl-C that comes while Spark is asked; any other is raised where it comes."""
    interrupt = Interrupt()
    before = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(before):
        yield interrupt
        return

    def note(number: int, frame: FrameType | None) -> None:
        if interrupt.pressed or not _is_inside_spark(frame):
            before(number, frame)
        else:
            interrupt.pressed = True

    signal.signal(signal.SIGINT, note)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)


def _is_inside_spark(frame: FrameType | None) -> bool:
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] in _ASKING:
            return True
        frame = frame.f_back
    return False


_SECONDS_BETWEEN_LOOKS = 0.25
_ONE_THREAD = ("RANKJURY_THREADS", "POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
"""Each core has a task of its own: threads of tasks would only take them from each other."""
_OF_A_GROUP = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


@dataclass(frozen=True, eq=False)
class SparkJobs:
    """What is done under watch: functions on workers, and what is held for a while."""

    spark: "SparkSession"
    group: str
    _told: Any
    _held: list[Callable[[], object]] = field(default_factory=list)

    def map_batches(self, frame: "DataFrame", function: Batches, schema: str) -> "DataFrame":
        """Map a function over the frame's record batches by partition; ``watched`` raises its RankjuryError."""
        return frame.mapInArrow(report_errors(function, self._told), schema)

    def map_values(self, values: Sequence[Any], function: Callable[[Any], Any]) -> list[Any]:
        """What the function gives for each value, one a task; a RankjuryError of it is raised by ``watched``."""
        parts = self.spark.sparkContext.parallelize(values, max(1, len(values)))
        return list(parts.mapPartitions(report_errors(lambda some: map(function, some), self._told)).collect())

    def persist(self, frame: "DataFrame") -> "DataFrame":
        """The frame, computed once and held until the end."""
        held = frame.persist()
        self._held.append(held.unpersist)
        return held

    def broadcast(self, value: Any) -> Any:
        """A value at hand on all workers until the end, as ``.value``."""
        broadcast = self.spark.sparkContext.broadcast(value)
        self._held.append(broadcast.destroy)
        return broadcast

    @property
    def failed(self) -> bool:
        return bool(self._told.value)

    def raise_failure(self) -> None:
        """Of several that workers told of always the same."""
        if self.failed:
            raise load_error(min(self._told.value))

    def cancel(self) -> None:
        self.spark.sparkContext.cancelJobGroup(self.group)

    def release(self) -> None:
        while self._held:
            with suppress(Exception):  # the session may be gone already
                self._held.pop()()


@contextmanager
def watch_jobs(spark: "SparkSession", what: str, progress: Progress = NO_PROGRESS) -> Iterator[SparkJobs]:
    """Run jobs under watch: ``progress`` is told how many of their tasks are done, errors are ours where they can be.

    Whatever way the block is left, none of its jobs runs on, and nothing that was held for it is held any longer.
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
        before = {name: context.getLocalProperty(name) for name in _OF_A_GROUP}
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
    """A thread that looks at the jobs now and then, and ends them where they are of no more use."""
    left, whole = Event(), [False]

    def look() -> None:
        while not left.wait(_SECONDS_BETWEEN_LOOKS):
            with suppress(Exception):
                if jobs.failed or interrupt.pressed:
                    jobs.cancel()
                progress.update(what, *_count_tasks(jobs))
        if not whole[0]:
            with suppress(Exception):
                jobs.cancel()
        jobs.release()

    looking = Thread(target=look, name="rankjury looks after jobs", daemon=True)
    looking.start()
    try:
        yield
        whole[0] = True
    finally:
        left.set()
        looking.join()


def _count_tasks(jobs: SparkJobs) -> tuple[int, int]:
    """How many tasks of the jobs are done, and how many are known."""
    tracker = jobs.spark.sparkContext.statusTracker()
    known = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(jobs.group)]
    stages = [tracker.getStageInfo(stage) for stage in {stage for job in known if job for stage in job.stageIds}]
    return sum(one.numCompletedTasks for one in stages if one), sum(one.numTasks for one in stages if one)
