"""The command line called in process: quick, and every test in a folder of its own."""

import io
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Protocol

import pytest
import typer.main

from rankjury.cli import main
from tests.cli.support import GOLD, RUN, Outcome, put

build_parser = cache(typer.main.get_command)
"""As typer builds it of all commands; once, since it is the same for every call."""


class Rankjury(Protocol):
    def __call__(self, *arguments: str, stdin: bytes = b"") -> Outcome: ...


class _Stdin(io.TextIOWrapper):
    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with gold.qrels and run.trec in it."""
    monkeypatch.chdir(tmp_path)
    put("gold.qrels", GOLD)
    put("run.trec", RUN)
    return tmp_path


@pytest.fixture
def rankjury(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Rankjury]:
    before = set(os.environ)
    monkeypatch.setattr(typer.main, "get_command", build_parser)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "argv", ["rankjury", *arguments])
        monkeypatch.setattr(sys, "stdin", _Stdin(stdin))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        code = ended.value.code
        return Outcome(code if isinstance(code, int) else 0, captured.out, captured.err)

    yield call
    # A command that does not multiply asks for one thread of BLAS: no business of processes that later tests start.
    for name in set(os.environ) - before:
        del os.environ[name]
