"""rankjury view as a person calls it."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from rankjury.tracking.archive.archive import Archive
from tests.tracking.view.conftest import tree_of


@contextmanager
def viewing(
    *arguments: str, archive: Archive | None = None, cwd: Path | None = None
) -> Iterator[subprocess.Popen[str]]:
    command = [
        sys.executable,
        "-m",
        "rankjury",
        "view",
        *(("--archive", str(archive.path)) if archive else ()),
        *arguments,
    ]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # where pytest runs in the background it is ignored
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """By Ctrl-C: exit code and what was said besides the address."""
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


def address_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_says_its_address_serves_and_ends_quietly(archive: Archive, tree: list[tuple[str, int, int]]) -> None:
    with viewing(archive=archive) as process:
        address = address_of(process)
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        with urlopen(address, timeout=20) as page:
            assert b"<h1>Runs</h1>" in page.read()
        assert ended(process) == (0, "", "Ctrl-C ends it.\n")
    assert tree_of(archive.path) == tree


@pytest.mark.parametrize(
    ("number", "expected"), [(1, "run/{0}"), (2, "compare?a={0}&b={1}"), (3, "?run={0}&run={1}&run={2}")]
)
def test_runs_that_are_named_are_shown(archive: Archive, names: list[str], number: int, expected: str) -> None:
    with viewing(*names[:number], "-q", archive=archive) as process:
        address = address_of(process)
        assert address.partition("/")[2].partition("/")[2].partition("/")[2] == expected.format(*names)
        with urlopen(address, timeout=20) as page:
            assert page.status == 200
        assert ended(process) == (0, "", "")


def test_an_archive_that_is_not_there_is_told(tmp_path: Path) -> None:
    with viewing(cwd=tmp_path) as process:
        with urlopen(address_of(process), timeout=20) as page:
            assert b"No runs yet" in page.read()
        code, out, err = ended(process)
    assert (code, out) == (
        0,
        "",
    ) and err == "there is no archive at .rankjury yet: rankjury run makes one\nCtrl-C ends it.\n"
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_is_told(archive: Archive) -> None:
    with viewing("nonsense", archive=archive) as process:
        out, err = process.communicate(timeout=30)
        assert process.returncode == 2 and out == "" and err.startswith("error: ") and "nonsense" in err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with viewing("--port", str(port), archive=archive) as process:
            out, err = process.communicate(timeout=30)
    assert process.returncode == 2 and out == "" and err.startswith(f"error: cannot listen on port {port}: ")
