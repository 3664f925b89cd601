"""rankjury evaluate --on spark as a process of its own, at a terminal: it shows how far it is, until Ctrl-C ends it."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest

from tests.scale.made import Study
from tests.scale.spark.conftest import QUICK
from tests.scale.spark.processes import kill_session, of_session, wait_for


@contextmanager
def terminal() -> Iterator[tuple[int, list[bytes]]]:
    """The side that a process writes to, and what it has written so far."""
    ours, theirs = pty.openpty()
    seen: list[bytes] = []

    def read() -> None:
        with suppress(OSError):  # nobody is left on the other side
            while piece := os.read(ours, 4096):
                seen.append(piece)

    reading = Thread(target=read)
    reading.start()
    try:
        yield theirs, seen
    finally:
        os.close(theirs)
        reading.join()
        os.close(ours)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_progress_and_ctrl_c(can_run_spark: None, tmp_path: Path) -> None:
    """There are so many resamples that it would take minutes."""
    Study.of(tmp_path / "files", "files", queries=200)
    paths = [str(tmp_path / "files" / name) for name in ("gold", "a", "b")]
    temp, scores = tmp_path / "temp", tmp_path / "scores"
    temp.mkdir()
    (tmp_path / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in QUICK.items()))
    options = ("-m", "ndcg@10", "--resamples", "10000000", "--on", "spark", "--master", "local[2]", "--temp", str(temp))
    with (
        terminal() as (screen, seen),
        subprocess.Popen(
            [sys.executable, "-m", "rankjury", "evaluate", *paths, *options, "--per-query", str(scores)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=screen,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            env={**os.environ, "SPARK_CONF_DIR": str(tmp_path), "TERM": "xterm-256color"},
        ) as process,
    ):
        try:
            parts = ".scores.*.part/part-*"
            wait_for(lambda: list(tmp_path.glob(parts)) and b"Scoring" in b"".join(seen), 240, "scores of queries")
            assert any(path.name.startswith("rankjury-spark-") for path in temp.iterdir())
            os.killpg(process.pid, signal.SIGINT)
            out, _ = process.communicate(timeout=30)
            wait_for(lambda: not of_session(process.pid), 5, "the end of all processes")
        finally:
            kill_session(process.pid)
    said = b"".join(seen).decode()
    assert (process.returncode, out) == (130, b"")
    assert "Starting Spark" in said and said.rstrip().endswith("interrupted")
    assert not any(word in said for word in ("Traceback", "WARN", "ERROR", "Exception"))
    assert not list(tmp_path.glob("*scores*")) and list(temp.iterdir()) == []
