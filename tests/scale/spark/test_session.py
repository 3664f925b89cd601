"""Sessions and jobs on this machine: what they do, and that nothing is left of them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from rankjury.core.progress import Progress
from rankjury.errors import DataError, MissingExtra, UsageError
from rankjury.scale.spark import session
from rankjury.scale.spark.jobs import watch_jobs
from rankjury.scale.spark.session import open_session, parse_master
from tests.scale.spark.processes import kill_session, of_session, wait_for
from tests.scale.spark.thorough import when_all_are_wanted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ENDLESS = """
import sys, time
from pathlib import Path
from rankjury.scale.spark.jobs import watch_jobs
from rankjury.scale.spark.session import open_session

folder = Path(sys.argv[1])

def endless(batches):
    (folder / "running").touch()
    time.sleep(600)
    yield from batches

quick = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
with open_session("local[1]", temp=folder / "temp", settings=quick) as spark, watch_jobs(spark, "Waiting") as jobs:
    jobs.persist(jobs.map_batches(spark.range(10), endless, "id long")).count()
"""


def same(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def slowly(batches: Iterator[Any]) -> Iterator[Any]:
    time.sleep(0.6)
    yield from batches


def faulty(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        yield batch
        raise DataError("row 3 is odd", where="run.parquet", expected="none", hint="Look.", details=["a", "b"])


def without_library(batches: Iterator[Any]) -> Iterator[Any]:
    import no_such_library  # noqa: F401

    yield from batches


def with_a_bug(batches: Iterator[Any]) -> Iterator[Any]:
    raise ZeroDivisionError
    yield from batches


def threads(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow

    for _ in batches:
        yield pyarrow.RecordBatch.from_pydict({"threads": [os.environ["RANKJURY_THREADS"]]})


def test_an_active_session_is_used_and_left_running(spark: "SparkSession") -> None:
    with open_session() as same_session:
        assert same_session is spark
    assert spark.range(3).count() == 3
    with pytest.raises(UsageError, match=r"session on local\[2\] is active, but local\[1\] .* omit the master"):
        open_session("local[1]").__enter__()


def test_a_function_on_workers_gives_its_rows_and_tells_how_far_it_is(spark: "SparkSession") -> None:
    seen = []
    with watch_jobs(spark, "Trying", Progress(lambda *told: seen.append(told))) as jobs:
        frame = jobs.map_batches(spark.range(10, numPartitions=6), slowly, "id long")
        assert sorted(frame.toArrow()["id"].to_pylist()) == list(range(10))
    assert {what for what, _, _ in seen} == {"Trying"}
    done = [done for _, done, of in seen if of == 6]
    assert done == sorted(done) and done[0] < done[-1] <= 6


def test_tasks_keep_to_one_thread_each(spark: "SparkSession") -> None:
    with watch_jobs(spark, "Trying") as jobs:
        assert jobs.map_batches(spark.range(1), threads, "threads string").toArrow()["threads"].to_pylist()[0] == "1"
    assert "RANKJURY_THREADS" not in spark.sparkContext.environment


def test_a_fault_that_a_worker_finds_is_raised_here(spark: "SparkSession") -> None:
    with pytest.raises(DataError) as raised, watch_jobs(spark, "Trying") as jobs:
        jobs.map_batches(spark.range(1000, numPartitions=4), faulty, "id long").count()
    assert str(raised.value) == "run.parquet: row 3 is odd; expected none. Look.\n  a\n  b"


def test_a_fault_ends_what_still_runs(spark: "SparkSession") -> None:
    def faulty_or_slow(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            if batch["id"][0].as_py() == 0:
                raise DataError("the first is odd")
            time.sleep(60)
            yield batch

    started = time.monotonic()
    with pytest.raises(DataError, match="the first is odd"), watch_jobs(spark, "Trying") as jobs:
        jobs.map_batches(spark.range(2, numPartitions=2), faulty_or_slow, "id long").count()
    assert time.monotonic() - started < 30


def test_a_library_that_executors_lack_is_named(spark: "SparkSession") -> None:
    with (
        pytest.raises(DataError, match="no_such_library is not installed on the executors"),
        watch_jobs(spark, "Trying") as jobs,
    ):
        jobs.map_batches(spark.range(1), without_library, "id long").count()


def test_a_bug_stays_a_bug(spark: "SparkSession") -> None:
    with pytest.raises(Exception, match="ZeroDivisionError") as raised, watch_jobs(spark, "Trying") as jobs:
        jobs.map_batches(spark.range(1), with_a_bug, "id long").count()
    assert not isinstance(raised.value, DataError)


def test_nothing_is_held_after_the_end(spark: "SparkSession") -> None:
    context = spark.sparkContext
    with pytest.raises(RuntimeError, match="enough"), watch_jobs(spark, "Trying") as jobs:
        frame = jobs.persist(jobs.map_batches(spark.range(10), same, "id long"))
        sent = jobs.broadcast([1, 2, 3])
        assert frame.count() == 10 and sent.value == [1, 2, 3]
        assert context._jsc.getPersistentRDDs().size() == 1
        assert context.getLocalProperty("spark.jobGroup.id") == jobs.group
        raise RuntimeError("enough")
    assert context._jsc.getPersistentRDDs().size() == 0
    with watch_jobs(spark, "Trying"):
        pass
    assert context.getLocalProperty("spark.jobGroup.id") is None


def parquet(path: Path, **columns: list[Any]) -> Path:
    path.parent.mkdir(exist_ok=True)
    pl.DataFrame(columns).write_parquet(path)
    return path


def read(spark: "SparkSession", path: Path, **options: str) -> int:
    with watch_jobs(spark, "Reading"):
        return int(spark.read.options(**options).parquet(str(path)).toArrow().num_rows)


def test_a_damaged_file_among_others_is_named(spark: "SparkSession", tmp_path: Path) -> None:
    whole = parquet(tmp_path / "run" / "part-0.parquet", id=list(range(1000)))
    half = whole.with_name("part-1.parquet")
    half.write_bytes(whole.read_bytes()[:-100])
    with pytest.raises(DataError) as raised:
        read(spark, tmp_path / "run")
    assert str(raised.value) == f"{half}: not a Parquet file, or its end is missing"
    damaged = bytearray(whole.read_bytes())
    damaged[4:60] = b"x" * 56
    half.write_bytes(damaged)
    with pytest.raises(DataError, match=r"part-1\.parquet: cannot be read: .*Is the file damaged\?"):
        read(spark, tmp_path / "run")


def test_a_column_of_another_type_is_named(spark: "SparkSession", tmp_path: Path) -> None:
    parquet(tmp_path / "run" / "part-0.parquet", id=list(range(100)))
    other = parquet(tmp_path / "run" / "part-1.parquet", id=["a"])
    with pytest.raises(DataError) as raised:
        read(spark, tmp_path / "run")
    assert str(raised.value) == f"{other}: column 'id' is BINARY in this file; expected bigint, as elsewhere"
    with pytest.raises(DataError, match="files of one table have different columns: id: BIGINT and id: STRING"):
        read(spark, tmp_path / "run", mergeSchema="true")


def test_missing_files_and_columns(spark: "SparkSession", tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DataError, match=f"^{tmp_path}/nothing: no such file or folder$"):
        read(spark, tmp_path / "nothing")
    with pytest.raises(DataError, match="there is no Parquet file in the folder"):
        read(spark, tmp_path)
    with pytest.raises(DataError, match=r"there is no column 'zz'\. Known columns: id"), watch_jobs(spark, "Reading"):
        spark.range(1).select("zz")
    assert capfd.readouterr() == ("", "")


def test_a_session_that_was_stopped_or_is_none_is_refused(spark: "SparkSession") -> None:
    with pytest.raises(UsageError, match="is not a classic Spark session"), watch_jobs("spark", "Trying"):  # type: ignore[arg-type]
        pass


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@when_all_are_wanted
@pytest.mark.parametrize("moment", ["starting", "running"])
def test_ctrl_c_leaves_nothing_behind(moment: str, can_run_spark: None, tmp_path: Path) -> None:
    temp = tmp_path / "temp"
    temp.mkdir()
    script = tmp_path / "endless.py"
    script.write_text(_ENDLESS)
    with subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        env={**os.environ, "TMPDIR": str(temp)},
    ) as process:
        try:
            if moment == "starting":
                wait_for(lambda: any(temp.iterdir()), 30, "Java's start")
            else:
                wait_for((tmp_path / "running").exists, 90, "a task")
            os.killpg(process.pid, signal.SIGINT)
            _, said = process.communicate(timeout=60)
            wait_for(lambda: not of_session(process.pid), 5, "the end of all processes")
        finally:
            kill_session(process.pid)
    assert process.returncode == -signal.SIGINT
    assert said.strip().splitlines()[-1] == "KeyboardInterrupt"
    assert said.count("Traceback") == 1 and "ERROR" not in said
    assert list(temp.iterdir()) == []


@pytest.mark.parametrize("url", ["local", "local[*]", "local[2]", "local[2,3]", "yarn", "k8s://https://host:443"])
def test_masters_that_spark_knows(url: str) -> None:
    assert parse_master(url).hosts == ()


@pytest.mark.parametrize("url", ["", "lokal", "local[0]", "local[x]", "host:7077", "http://host", "sc://host"])
def test_masters_that_nobody_knows(url: str) -> None:
    with pytest.raises(UsageError, match="cannot read the master"):
        parse_master(url)


@pytest.mark.parametrize("url", ["spark://host", "spark://:7077", "spark://host:port", "spark://host:99999"])
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(UsageError, match="expected spark://HOST:PORT"):
        parse_master(url)


def test_several_masters_of_one_cluster() -> None:
    master = parse_master("spark://localhost:7077,[::1]:7078")
    assert master.hosts == (("localhost", 7077), ("::1", 7078)) and master.on_this_machine
    assert not parse_master("spark://example.org:7077").on_this_machine


def test_too_little_memory_is_refused() -> None:
    with pytest.raises(UsageError, match=r"1,048,576 bytes of memory for Spark's Java; expected 471,859,200 bytes"):
        open_session(memory=1 << 20).__enter__()


@when_all_are_wanted
@pytest.mark.slow
def test_a_spark_that_does_not_start_says_why(can_run_spark: None, tmp_path: Path) -> None:
    """In a process of its own: only one session is active at a time."""
    script = (
        "from pathlib import Path; from rankjury.scale.spark.session import open_session;"
        f"open_session('local[1]', temp=Path({str(tmp_path)!r}), settings={{'spark.driver.memory': '99m'}}).__enter__()"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    told = ran.stderr.strip().splitlines()[-1]
    assert told.startswith("rankjury.errors.DataError: local[1]: Spark does not start: ") and "memory" in told
    assert list(tmp_path.iterdir()) == []


def test_a_master_that_does_not_answer_is_told_at_once() -> None:
    started = time.monotonic()
    with pytest.raises(DataError, match=r"spark://127\.0\.0\.1:1: no Spark master answers .*Connection refused"):
        parse_master("spark://127.0.0.1:1").check_answers()
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_412"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("command not understood", None),
    ],
)
def test_the_release_of_java(said: str, version: int | None) -> None:
    assert session.java_version(said) == version


def test_a_java_that_will_not_do_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UsageError, match=r"cannot start .*; expected Java 17 or later"):
        session.check_java()
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    program.chmod(0o755)
    with pytest.raises(UsageError, match="is Java 11; expected Java 17 or later"):
        session.check_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="there is no java on the PATH"):
        session.check_java()


def test_a_missing_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingExtra, match=r"rankjury\[spark\]"):
        open_session().__enter__()
