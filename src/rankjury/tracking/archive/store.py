"""Writing to an archive: runs, whole or not at all, the baselines of plans, and what is being run right now."""

import errno
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from os.path import isdir
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from time import monotonic
from typing import Any

from pydantic_core import SchemaValidator, core_schema

from rankjury.core.json_schema import TEXT, check_json, parse_strict_json, record, table
from rankjury.core.progress import Progress
from rankjury.core.temp_files import is_alive, new_mark, remove_abandoned_parts, started_at
from rankjury.errors import DataError
from rankjury.io.atomic import replace_file, sync_folder
from rankjury.tracking.archive.files import (
    create_file,
    format_time,
    json_bytes,
    lock_archive,
    lock_folder,
    read_failure,
    read_limited,
    run_name,
    write_error,
)
from rankjury.tracking.archive.manifest import MANIFEST, manifest_bytes

RUNS = "runs"
_LEFTOVER = re.compile(r"^\..+\.(\d+)(?:-(\d+)-[0-9a-f]{8})?-[0-9a-f]+\.(part|gone)$")
"""With the mark of its owner, of which older versions wrote the id of the process alone."""
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)
_MOST_OF_ONE_SECOND = 10_000
_BASELINES = "baselines.json"
_BASELINES_SCHEMA = "rankjury.baselines/1"
_BASELINES_BYTES = 10_000_000
_HINT = "Remove the file to unset all baselines."
RUNNING = "running"
_RUNNING_SCHEMA = "rankjury.running/1"
_RUNNING_BYTES = 1_000_000
_SECONDS_BETWEEN = 0.25


def make_archive(archive: Path) -> Path:
    """The folder and what is in every archive; git is told to leave it alone."""
    runs = archive / RUNS
    runs.mkdir(parents=True, exist_ok=True)
    ignoring = archive / ".gitignore"
    if not ignoring.exists():
        replace_file(ignoring, b"*\n")
    return runs


def write_run(
    archive: Path, name: tuple[datetime, str, str], files: Mapping[str, bytes], manifest: Mapping[str, Any]
) -> Path:
    """Store the files and the manifest under the first name that is free; ``name`` is what it is made of."""
    runs = make_archive(archive)
    with _temporary_run_folder(archive, run_name(*name)) as part:
        for file, octets in files.items():
            create_file(part / file, octets)
        create_file(part / MANIFEST, manifest_bytes(manifest))
        sync_folder(part)
        for number in range(1, _MOST_OF_ONE_SECOND):  # nothing is replaced: no run's folder is empty
            path = runs / run_name(*name, number)
            try:
                part.rename(path)
                break
            except OSError as error:
                if error.errno not in _TAKEN:
                    raise
        else:
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST), str(runs / run_name(*name)))
    sync_folder(runs)
    return path


@contextmanager
def _temporary_run_folder(archive: Path, name: str) -> Iterator[Path]:
    """A hidden folder that nobody takes for a leftover while we live; what is left of it in the end is removed."""
    part = archive / RUNS / f".{name}.{new_mark()}.part"
    handle = None
    try:
        with lock_archive(archive):
            remove_leftovers(archive)
            part.mkdir()
            handle = lock_folder(part)
        yield part
    finally:
        rmtree(part, ignore_errors=True)
        if handle is not None and handle >= 0:
            os.close(handle)


def leftovers(archive: Path) -> list[Path]:
    """What writers and pruners that were killed left behind; not what those at work have in hand."""
    found = []
    with suppress(FileNotFoundError, NotADirectoryError):
        for path in sorted((archive / RUNS).iterdir()):
            match = _LEFTOVER.match(path.name)
            if match and _is_abandoned(path, int(match[1]), match[2]):
                found.append(path)
    return found


def _is_abandoned(path: Path, process: int, started: str | None) -> bool:
    """Its lock is free; where locks say nothing, the process is gone."""
    handle = lock_folder(path)
    if handle is None:
        return False
    if handle < 0:
        return not is_alive(process, started)
    os.close(handle)
    return True


def remove_leftovers(archive: Path) -> list[Path]:
    """To be called while the archive is locked: a folder that was only just made may not yet be held."""
    remove_abandoned_parts(archive)
    found = leftovers(archive)
    for path in found:
        _remove(path)
    return found


def _remove(path: Path) -> None:
    """Remove a folder; of a link to one only the link."""
    if path.is_symlink() or not path.is_dir():
        with suppress(OSError):
            path.unlink(missing_ok=True)
    else:
        rmtree(path, ignore_errors=True)


def remove_run(archive: Path, run: Path) -> None:
    """Remove a run: first its name, so that no half of it is ever listed."""
    gone = archive / RUNS / f".{run.name}.{new_mark()}.gone"
    run.rename(gone)
    sync_folder(archive / RUNS)
    _remove(gone)


def read_baselines(archive: Path) -> dict[str, str]:
    """By plan, the name of its run."""
    path = archive / _BASELINES
    try:
        octets = read_limited(path, _BASELINES_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise DataError(f"cannot read the baselines: {read_failure(error)}", where=str(path), hint=_HINT) from error
    try:
        form = parse_strict_json(octets, str(path))
        check_json(_validator(), form, str(path), f"the schema {_BASELINES_SCHEMA}")
    except DataError as error:
        error.hint = _HINT
        raise
    return dict(form["baselines"])


@cache
def _validator() -> SchemaValidator:
    return SchemaValidator(
        record({"schema": core_schema.literal_schema([_BASELINES_SCHEMA]), "baselines": table(TEXT)})
    )


def set_baseline(archive: Path, plan: str, run: str) -> None:
    with _edit_baselines(archive) as baselines:
        baselines[plan] = run


def unset_baseline(archive: Path, plan: str) -> None:
    with _edit_baselines(archive) as baselines:
        baselines.pop(plan, None)


@contextmanager
def _edit_baselines(archive: Path) -> Iterator[dict[str, str]]:
    """What is changed in the block is written whole when it ends."""
    try:
        make_archive(archive)
        with lock_archive(archive):
            baselines = read_baselines(archive)
            yield baselines
            replace_file(
                archive / _BASELINES,
                json_bytes({"schema": _BASELINES_SCHEMA, "baselines": dict(sorted(baselines.items()))}),
            )
    except OSError as error:
        raise write_error(error, archive) from error


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
        "schema": _RUNNING_SCHEMA,
        "plan": plan,
        "name": name,
        "pid": os.getpid(),
        "process_started": started_at(os.getpid()),
        "started": format_time(datetime.now(UTC)),
    }
    last = -_SECONDS_BETWEEN

    def show(what: str, done: int, of: int) -> None:
        nonlocal last
        progress.update(what, done, of)
        if monotonic() - last >= _SECONDS_BETWEEN:
            last = monotonic()
            _write(path, form | {"updated": format_time(datetime.now(UTC)), "what": what, "done": done, "of": of})

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
        replace_file(path, json_bytes(form), durable=False)


def read_running(archive: Path) -> list[dict[str, Any]]:
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
            # 123-abcd.json and .123-abcd.json.123-ef.part are of the process 123.
            number = path.name.lstrip(".").partition("-")[0]
            if not number.isdigit() or len(number) >= 10:
                continue
            process = int(number)
            if not path.name.endswith(".json"):  # about to take the place of another
                if not is_alive(process):
                    yield path, None
                continue
            try:
                form = parse_strict_json(read_limited(path, _RUNNING_BYTES), str(path))
            except FileNotFoundError:
                continue
            except (OSError, DataError):
                form = {}
            known = isinstance(form, dict) and is_alive(process, form.get("process_started"))
            yield path, form if known and form else None
