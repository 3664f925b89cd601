"""What is being run right now: a small file a process, for whoever looks at the archive meanwhile."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from os.path import isdir
from pathlib import Path
from secrets import token_hex
from time import monotonic
from typing import Any

from karat.archive.durable import as_bytes, replace_file
from karat.archive.files import read_small
from karat.archive.naming import to_text
from karat.errors import DataError
from karat.json_types import parse_json
from karat.progress import Progress
from karat.temporary import is_alive, started_at

__all__ = ["RUNNING", "running_in", "telling"]

RUNNING = "running"
SCHEMA = "karat.running/1"
_SECONDS_BETWEEN = 0.25
_MOST_BYTES = 1_000_000


@contextmanager
def telling(archive: Path, name: str, plan: str | None, progress: Progress) -> Iterator[Progress]:
    """Report to ``progress`` and to the archive what is being done, the latter at most four times a second.

    That the file cannot be written is no reason to stop, nor to be told. Where there is no archive yet nobody looks at
    it, and none is made: a run that fails leaves nothing behind.
    """
    if not isdir(archive):
        yield progress
        return
    path = archive / RUNNING / f"{os.getpid()}-{token_hex(4)}.json"
    form: dict[str, Any] = {
        "schema": SCHEMA,
        "plan": plan,
        "name": name,
        "pid": os.getpid(),
        "process_started": started_at(os.getpid()),
        "started": to_text(datetime.now(UTC)),
    }
    last = -_SECONDS_BETWEEN

    def show(what: str, done: int, of: int) -> None:
        nonlocal last
        progress.update(what, done, of)
        if monotonic() - last >= _SECONDS_BETWEEN:
            last = monotonic()
            _write(path, form | {"updated": to_text(datetime.now(UTC)), "what": what, "done": done, "of": of})

    try:
        with suppress(OSError):
            path.parent.mkdir(exist_ok=True)
            remove_stale(archive)
        _write(path, form | {"updated": form["started"], "what": "", "done": 0, "of": 0})
        yield Progress(show)
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _write(path: Path, form: dict[str, Any]) -> None:
    with suppress(OSError):
        replace_file(path, as_bytes(form), durable=False)


def running_in(archive: Path) -> list[dict[str, Any]]:
    """What processes that live are doing, those that began first first."""
    found = [form for _, form in _read(archive) if form is not None]
    return sorted(found, key=lambda form: str(form.get("started")))


def remove_stale(archive: Path) -> None:
    """What was left by processes that are gone."""
    for path, form in _read(archive):
        if form is None:
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _read(archive: Path) -> Iterator[tuple[Path, dict[str, Any] | None]]:
    """Every file with its content; None where its process is gone."""
    with suppress(FileNotFoundError, NotADirectoryError):
        for path in sorted((archive / RUNNING).iterdir()):
            process = _process_of(path.name)
            if process is None:
                continue
            if not path.name.endswith(".json"):  # about to take the place of another
                if not is_alive(process):
                    yield path, None
                continue
            try:
                form = parse_json(read_small(path, _MOST_BYTES), str(path))
            except FileNotFoundError:
                continue
            except (OSError, DataError):
                form = {}
            known = isinstance(form, dict) and is_alive(process, form.get("process_started"))
            yield path, form if known and form else None


def _process_of(name: str) -> int | None:
    """``123-abcd.json`` and ``.123-abcd.json.123-ef.part`` → 123"""
    number = name.lstrip(".").partition("-")[0]
    return int(number) if number.isdigit() and len(number) < 10 else None
