"""Writer of an archive: runs, whole or not at all, baselines of plans, and the progress of running plans."""

import errno
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from os.path import isdir
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from time import monotonic
from typing import Any

from pydantic_core import SchemaValidator, core_schema

from rankjury.core.progress import Progress
from rankjury.core.temp_files import is_alive, new_mark, remove_abandoned_parts, remove_path, started_at
from rankjury.errors import DataError
from rankjury.io.atomic import replace_file, sync_folder
from rankjury.tracking.archive.files import (
    TEXT,
    check_json,
    create_file,
    format_time,
    guard_writing,
    json_bytes,
    lock_archive,
    lock_folder,
    parse_strict_json,
    read_failure,
    read_limited,
    record,
    run_name,
    table,
)
from rankjury.tracking.archive.manifest import MANIFEST, manifest_bytes

RUNS = "runs"
_LEFTOVER = re.compile(r"\..+\.(\d+)-(\d+)-[0-9a-f]{8}-[0-9a-f]+\.(part|gone)", re.DOTALL)
"""Name of a temporary folder, with the mark of its owner."""
_BASELINES = "baselines.json"
_BASELINES_SCHEMA = "rankjury.baselines/1"
_BASELINES_VALIDATOR = SchemaValidator(
    record({"schema": core_schema.literal_schema([_BASELINES_SCHEMA]), "baselines": table(TEXT)})
)
_RUNNING = "running"
_SECONDS_BETWEEN = 0.25


def make_archive(archive: Path) -> Path:
    """Make the folder of an archive, which git ignores, and return the folder of its runs."""
    runs = archive / RUNS
    runs.mkdir(parents=True, exist_ok=True)
    ignore = archive / ".gitignore"
    if not ignore.exists():
        replace_file(ignore, b"*\n")
    return runs


def write_run(
    archive: Path, name: tuple[datetime, str, str], files: Mapping[str, bytes], manifest: Mapping[str, Any]
) -> Path:
    """Store the files and the manifest under the first name that is free; ``name`` are arguments of ``run_name``."""
    runs = make_archive(archive)
    with _temporary_run_folder(archive, run_name(*name)) as part:
        for file, octets in files.items():
            create_file(part / file, octets)
        create_file(part / MANIFEST, manifest_bytes(manifest))
        sync_folder(part)
        for number in range(1, 10_000):  # nothing is replaced: no run's folder is empty
            path = runs / run_name(*name, number)
            try:
                part.rename(path)
                break
            except OSError as error:
                if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                    raise
        else:
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST), str(runs / run_name(*name)))
    sync_folder(runs)
    return path


@contextmanager
def _temporary_run_folder(archive: Path, name: str) -> Iterator[Path]:
    """Make a hidden folder, locked so that no other process takes it for a leftover, and remove it in the end."""
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
    """Return folders that killed writers and pruners left behind; not those of processes at work."""
    abandoned = []
    with suppress(FileNotFoundError, NotADirectoryError):
        for path in sorted((archive / RUNS).iterdir()):
            mark = _LEFTOVER.fullmatch(path.name)
            handle = lock_folder(path) if mark else None
            if mark is None or handle is None:
                continue
            if handle >= 0:
                os.close(handle)
            if handle >= 0 or not is_alive(int(mark[1]), mark[2]):  # without locks, the process decides
                abandoned.append(path)
    return abandoned


def remove_leftovers(archive: Path) -> None:
    """Remove leftovers; the archive must be locked, as a folder that was only just made may not be locked yet."""
    remove_abandoned_parts(archive)
    for path in leftovers(archive):
        remove_path(path)


def remove_run(archive: Path, run: Path) -> bool:
    """Remove a run, first its name, so that no half of it is ever listed; return False where it is gone already."""
    gone = archive / RUNS / f".{run.name}.{new_mark()}.gone"
    try:
        run.rename(gone)
    except FileNotFoundError:
        return False
    sync_folder(archive / RUNS)
    remove_path(gone)
    return True


def read_baselines(archive: Path) -> dict[str, str]:
    """Return the names of the baselines by plan."""
    path = archive / _BASELINES
    try:
        try:
            octets = read_limited(path, 10_000_000)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise DataError(f"cannot read the baselines: {read_failure(error)}", where=str(path)) from error
        content = parse_strict_json(octets, str(path))
        check_json(_BASELINES_VALIDATOR, content, str(path), f"the schema {_BASELINES_SCHEMA}")
    except DataError as error:
        error.hint = "Remove the file to unset all baselines."
        raise
    return dict(content["baselines"])


def write_baseline(archive: Path, plan: str, run: str | None) -> None:
    """Set the baseline of a plan, or unset it."""
    with guard_writing(archive):
        make_archive(archive)
        with lock_archive(archive):
            baselines = read_baselines(archive) | {plan: run}
            form = {name: baseline for name, baseline in sorted(baselines.items()) if baseline is not None}
            replace_file(archive / _BASELINES, json_bytes({"schema": _BASELINES_SCHEMA, "baselines": form}))


@contextmanager
def publish_progress(archive: Path, name: str, plan: str | None, progress: Progress) -> Iterator[Progress]:
    """Report progress to ``progress`` and to a file in the archive, the latter at most four times a second.

    Errors while writing the file are ignored. Where there is no archive yet, none is made: a run that fails leaves
    nothing behind.
    """
    if not isdir(archive):
        yield progress
        return
    path = archive / _RUNNING / f"{os.getpid()}-{token_hex(4)}.json"
    form: dict[str, Any] = {
        "schema": "rankjury.running/1",
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
            write(what, done, of)

    def write(what: str, done: int, of: int) -> None:
        updated = {"updated": format_time(datetime.now(UTC)), "what": what, "done": done, "of": of}
        with suppress(OSError):
            replace_file(path, json_bytes(form | updated), durable=False)

    try:
        with suppress(OSError):
            path.parent.mkdir(exist_ok=True)
            remove_stale(archive)
        write("", 0, 0)
        yield Progress(show)
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def read_running(archive: Path) -> list[dict[str, Any]]:
    """Read the progress of living processes, in the order of their start."""
    running = [content for _, content in _progress_files(archive) if content is not None]
    return sorted(running, key=lambda content: str(content.get("started")))


def remove_stale(archive: Path) -> None:
    """Remove the progress files of processes that ended."""
    for path, content in _progress_files(archive):
        if content is None:
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _progress_files(archive: Path) -> Iterator[tuple[Path, dict[str, Any] | None]]:
    """Yield every progress file with its content; None where its process ended."""
    with suppress(FileNotFoundError, NotADirectoryError):
        for path in sorted((archive / _RUNNING).iterdir()):
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
                content = parse_strict_json(read_limited(path, 1_000_000), str(path))
            except FileNotFoundError:
                continue
            except (OSError, DataError):
                content = None
            is_current = isinstance(content, dict) and content and is_alive(process, content.get("process_started"))
            yield path, content if is_current else None
