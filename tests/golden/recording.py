"""Recording of commands: in process, in a folder of their own, with a fixed clock, date and machine."""

import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from shutil import copy
from threading import get_ident
from typing import Any
from unittest.mock import patch

import typer.main

from rankjury.cli import main
from rankjury.retrieval.bench import sweep
from rankjury.tracking.archive import environment as surroundings
from rankjury.tracking.archive.archive import Archive
from tests.golden.normalise import digests, json_text, normalise_file, normalise_text

__all__ = ["EXPECTED", "Case", "Session", "read_expected", "record"]

EXPECTED = Path(__file__).parent / "expected"
_OUTPUT = "out"
_MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
_VERSION = "0.0.0"
_build_parser = cache(typer.main.get_command)


class Session:
    """A temporary folder, which is the current one, and what the commands in it gave."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outputs: dict[str, str] = {}

    def copy_sample(self, name: str, *names: str) -> None:
        """Copy files of a bundled sample into the folder: all of them, unless they are named."""
        with as_file(files("rankjury.plan") / "samples" / name) as sample:
            for path in sorted(sample.iterdir()):
                if not names or path.name in names:
                    copy(path, self.folder)

    def rankjury(self, name: str | None, *arguments: str) -> None:
        """Run a command and record its exit code, standard output and standard error as ``name``; None: do not."""
        out, err = io.StringIO(), io.StringIO()
        _CLOCK.reset()
        code: Any = 0
        with redirect_stdout(out), redirect_stderr(err), patch.object(sys, "argv", ["rankjury", *arguments]):
            try:
                main()
            except SystemExit as ended:
                code = ended.code or 0
        if name is None:
            return
        printed = self._cleaned(out.getvalue())
        if "--json" in arguments:
            value = json.loads(printed)
            if isinstance(value.get("report"), dict):
                value["report"] = digests(value["report"])
            self.outputs[f"{name}.json"] = json_text(value)
            printed = f"(JSON: {name}.json)\n"
        shown = " ".join(f"'{one}'" if " " in one else one for one in arguments)
        errors = self._cleaned(err.getvalue())
        self.outputs[f"{name}.txt"] = normalise_text(
            f"$ rankjury {shown}\n{printed}\n--- standard error\n{errors}--- exit code {code}\n"
        )

    def add(self, name: str, text: str) -> None:
        self.outputs[name] = normalise_text(self._cleaned(text))

    def add_files(self) -> None:
        """Record every file in the output folder."""
        root = self.folder / _OUTPUT
        for path in sorted(path for path in root.rglob("*") if path.is_file()):
            for suffix, text in normalise_file(path).items():
                self.outputs[f"{path.relative_to(root).as_posix()}{suffix}"] = self._cleaned(text)

    def _cleaned(self, text: str) -> str:
        return text.replace(str(self.folder), "<folder>")


Case = Callable[[Session], None]


class _Clock:
    """A clock that moves at every look at it, by steps that differ and are the same in every run.

    Threads other than the one that reset it, such as those of pytest-xdist, see the real time.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._now, self._looks, self._thread = 10**9, 0, get_ident()

    def nanoseconds(self) -> int:
        if get_ident() != self._thread:
            return _REAL_TIME()
        self._looks += 1
        self._now += 20_000 + self._looks * 7_919 % 997 * 10
        return self._now

    def seconds(self) -> float:
        return self.nanoseconds() / 1e9


_REAL_TIME = time.monotonic_ns
_CLOCK = _Clock()
_CLOCKS = {
    "perf_counter": _CLOCK.seconds,
    "perf_counter_ns": _CLOCK.nanoseconds,
    "monotonic": lambda: _CLOCK.seconds(),
}


def _packages() -> dict[str, str]:
    return {"rankjury": _VERSION, "numpy": "2.0.0"}


def _machine() -> dict[str, Any]:
    return {"platform": "Linux", "processor": "any", "cores": 2, "memory_bytes": 2**33, "python": "3.11.0"}


def _commit_of(folder: Path) -> None:
    return None


def _versions_of(engine: object) -> dict[str, str]:
    return _packages()


_REPLACED = [
    *((getattr(time, name), fixed) for name, fixed in _CLOCKS.items()),
    (surroundings.package_versions, _packages),
    (surroundings.describe_machine, _machine),
    (surroundings.git_commit, _commit_of),
    (sweep.library_versions, _versions_of),
]
"""Functions, and what stands in for them."""


def _replace_everywhere(replacements: Mapping[int, Any], version: str) -> None:
    """Replace functions in all modules of rankjury, whatever they are called there, and rankjury's version."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != "rankjury":
            continue
        for key, value in list(vars(module).items()):
            if id(value) in replacements:
                setattr(module, key, replacements[id(value)])
            elif key == "__version__":
                setattr(module, key, version)


@contextmanager
def _fixed_world() -> Iterator[None]:
    """Fix the clock, the machine, its packages, rankjury's version and the dates of archived runs."""
    from rankjury import __version__

    store, stored = Archive.store, [0]

    def store_at_fixed_time(self: Archive, *given: Any, **named: Any) -> Any:
        stored[0] += 1
        return store(self, *given, **{"time": _MOMENT + timedelta(days=stored[0])} | named)

    _replace_everywhere({id(real): fixed for real, fixed in _REPLACED}, _VERSION)
    try:
        with patch.multiple(time, **_CLOCKS), patch.object(Archive, "store", store_at_fixed_time):
            yield
    finally:
        _replace_everywhere({id(fixed): real for real, fixed in _REPLACED}, __version__)


def record(name: str, case: Case) -> dict[str, str]:
    """Run a case in a temporary folder and return its outputs: text by file name."""
    variables = {"COLUMNS": "80", "SOURCE_DATE_EPOCH": str(int(_MOMENT.timestamp())), "RANKJURY_THREADS": "1"}
    removed = ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "GITHUB_STEP_SUMMARY")
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as place, patch.dict(os.environ, variables), _fixed_world():
        for variable in removed:
            os.environ.pop(variable, None)
        folder = Path(place).resolve() / name
        folder.mkdir()
        session = Session(folder)
        os.chdir(folder)
        try:
            with patch.object(typer.main, "get_command", _build_parser):
                case(session)
            session.add_files()
        finally:
            os.chdir(before)
    return session.outputs


def read_expected(name: str) -> dict[str, str]:
    """Return the stored outputs of a case, by file name."""
    root = EXPECTED / name
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in root.rglob("*")
        if path.is_file()
    }
