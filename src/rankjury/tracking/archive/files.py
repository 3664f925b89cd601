"""Names and files of an archive: read without trust, written to outlive a kill and a power cut, locked.

Its JSON files are checked against schemas, which return nothing: values stay as they were parsed, to the last digit.
"""

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import file_digest, sha256
from io import BufferedReader
from json import dumps
from pathlib import Path
from time import time_ns
from typing import Any

from pydantic_core import CoreSchema, SchemaValidator, ValidationError, core_schema, from_json

from rankjury.core.journal import lock_file
from rankjury.core.validation import LARGEST_COUNT, LARGEST_NUMBER, check_interval, check_json_value
from rankjury.errors import DamagedRun, DataError, shorten

HASH_SHOWN = 8
"""How many hexadecimal digits of a digest are in a name."""
_MAX_SLUG_BYTES = 60
_NUMBERED = re.compile(rf"^(.*-[0-9a-f]{{{HASH_SHOWN}}})-(\d{{1,9}})$")
_FLAGS = os.O_RDONLY | sum(getattr(os, f"O_{flag}", 0) for flag in ("NOFOLLOW", "NONBLOCK", "CLOEXEC", "BINARY"))
"""A link is not followed, and a pipe without a writer is not waited for."""
_MAX_BYTES = 1 << 30
"""Size limit of a file that is read as a whole; tables are read by row group."""
_MAX_CHECKED = 100_000
_SETTLED = 2_000_000_000
"""Nanoseconds between the times that the coarsest file systems distinguish."""
_CHECKED: dict[str, tuple[tuple[int, ...], str]] = {}
"""By path, the state and the SHA-256 of files whose content was checked in this process."""


def run_name(moment: datetime, plan: str, digest: str, number: int = 1) -> str:
    """Return the name of a run's folder; a name that is taken gets a number."""
    name = f"{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}-{slug(plan)}-{digest[:HASH_SHOWN]}"
    return name if number == 1 else f"{name}-{number}"


def default_plan_name(name: str | None, file: Path) -> str:
    """Return the name that a plan states, else that of its file; for ``rankjury.toml`` that of its folder."""
    if name:
        return name
    name = file.stem if file.stem != "rankjury" else file.absolute().parent.name or "rankjury"
    return name.encode("utf-8", "replace").decode()  # the name of a file may hold bytes that are not text


def slug(plan: str) -> str:
    """Return a plan's name without characters that are special in a path, and no longer than a folder's name may be."""
    text = re.sub(r"[^\w.+]+", "-", plan).strip("-._")
    while len(text.encode()) > _MAX_SLUG_BYTES:
        text = text[: -max(1, (len(text.encode()) - _MAX_SLUG_BYTES) // 4)]
    return text.rstrip("-._") or "plan"


def sort_key(time: str, name: str) -> tuple[str, str, int]:
    """Return the key that sorts runs by time, then by name, and names that differ only in their number by that."""
    numbered = _NUMBERED.match(name)
    return (time, numbered[1], int(numbered[2])) if numbered else (time, name, 1)


def format_time(moment: datetime) -> str:
    """Return a time such as ``2026-11-17T05:09:35.123Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def display_time(text: str, *, seconds: bool = False) -> str:
    """Return a time for people: ``2026-11-17 05:09``, or with seconds."""
    return text[: 19 if seconds else 16].replace("T", " ")


def shows_seconds(times: Iterable[str]) -> bool:
    """Return whether two of these times share a minute, so that seconds are needed to distinguish them."""
    minutes = [display_time(time) for time in times]
    return len(set(minutes)) < len(minutes)


def is_settled(changed: int) -> bool:
    """Return whether a change after this time, in nanoseconds, is sure to have another time on any file system."""
    return abs(time_ns() - changed) > _SETTLED


@lru_cache(maxsize=1024)
def is_plain_name(name: str) -> bool:
    """Return whether a file of this name is in the folder itself: no path, no hidden file."""
    return bool(name) and not name.startswith(".") and "\0" not in name and Path(name).name == name


def _open_regular(path: Path) -> int:
    """Open a regular file; a link, a device, a pipe, a socket and a folder raise OSError."""
    handle = os.open(path, _FLAGS)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return handle


def read_limited(path: Path, limit: int) -> bytes:
    """Read a regular file of at most ``limit`` bytes.

    Raises:
        OSError: Where it is larger, or not a regular file.
    """
    with os.fdopen(_open_regular(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise OSError(errno.EFBIG, f"larger than {limit:,} bytes", str(path))
        return file.read(size)


def read_stored(path: Path, about: Mapping[str, Any]) -> bytes:
    """Read a file of a run as it was stored: ``about`` is its entry in the manifest.

    Raises:
        DamagedRun: Where size or content differ.
    """
    with _open_stored(path, about, _MAX_BYTES) as file:
        octets = file.read()
    if sha256(octets).hexdigest() != about["sha256"]:
        raise DamagedRun(path, "its content has changed")
    return octets


def check_stored(path: Path, about: Mapping[str, Any]) -> None:
    """Check that a file is as it was stored; its content is hashed again only where its state differs from before.

    Raises:
        DamagedRun: Where size or content differ.
    """
    with _open_stored(path, about) as file:
        status = os.fstat(file.fileno())
        state = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        if _CHECKED.get(str(path)) == (state, about["sha256"]):
            return
        if file_digest(file, "sha256").hexdigest() != about["sha256"]:
            raise DamagedRun(path, "its content has changed")
    if is_settled(status.st_ctime_ns):
        if len(_CHECKED) >= _MAX_CHECKED:
            _CHECKED.clear()
        _CHECKED[str(path)] = (state, about["sha256"])


@contextmanager
def _open_stored(path: Path, about: Mapping[str, Any], limit: int | None = None) -> Iterator[BufferedReader]:
    """Open a file of a run that has the stated size, and at most ``limit`` bytes."""
    try:
        with os.fdopen(_open_regular(path), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size != about["bytes"]:
                raise DamagedRun(path, f"it has {size:,} bytes", expected=f"{about['bytes']:,} bytes")
            if limit is not None and size > limit:
                raise DamagedRun(path, f"it has {size:,} bytes", expected=f"at most {limit:,} bytes")
            yield file
    except OSError as error:
        raise DamagedRun(path, read_failure(error)) from error


def read_failure(error: OSError) -> str:
    """Return why a file could not be opened or read."""
    if error.errno in (errno.ELOOP, errno.EMLINK):
        return "a symbolic link, not a regular file"
    if error.errno == errno.ENXIO:
        return "not a regular file"
    return error.strerror or str(error)


def json_bytes(table: Mapping[str, Any]) -> bytes:
    """Return JSON with one line per key of the outer object: compact, and still readable for people."""
    lines = [f"{dumps(key)}: {dumps(value, ensure_ascii=False, allow_nan=False)}" for key, value in table.items()]
    return ("{" + ",\n".join(lines) + "}\n").encode()


def create_file(path: Path, octets: bytes) -> None:
    """Write a new file, which is on the disk when this returns."""
    with path.open("xb") as file:
        file.write(octets)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def lock_archive(archive: Path) -> Iterator[None]:
    """Lock the archive while it changes, for short moments. The lock of a killed process is free at once."""
    handle = os.open(archive / "lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    try:
        lock_file(handle, wait=True)  # on a file system without locks, the moments are short
        yield
    finally:
        os.close(handle)


def lock_folder(folder: Path) -> int | None:
    """Lock a folder: a handle to be closed by the caller; None where another holds it, −1 where that is not known."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return -1
    locked = lock_file(handle)
    if locked:
        return handle
    os.close(handle)
    return -1 if locked is None else None


@contextmanager
def guard_writing(archive: Path) -> Iterator[None]:
    """Turn an error of the system in the block into one that says why the archive cannot be written."""
    try:
        yield
    except OSError as error:
        hint = "rankjury run --no-archive leaves it alone."
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            hint = "rankjury prune removes old runs; rankjury run --no-archive keeps none."
        found = f"the archive cannot be written: {error.strerror or error}"
        raise DataError(found, where=str(archive), hint=hint) from error


def is_write_protected(error: DataError) -> bool:
    """Return whether the archive is read-only, rather than damaged or full."""
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in (errno.EACCES, errno.EROFS, errno.EPERM)


TEXT: CoreSchema = core_schema.str_schema(strict=True)
FLAG: CoreSchema = core_schema.bool_schema(strict=True)
COUNT: CoreSchema = core_schema.int_schema(strict=True, ge=0, le=LARGEST_COUNT)
NUMBER: CoreSchema = core_schema.float_schema(strict=True, allow_inf_nan=False, ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)
VALUE: CoreSchema = core_schema.no_info_plain_validator_function(check_json_value)


def optional(schema: CoreSchema) -> CoreSchema:
    """Return the schema of a value that may be null."""
    return core_schema.nullable_schema(schema)


def array(items: CoreSchema, *, length: int | None = None) -> CoreSchema:
    """Return the schema of a list of values; of so many where ``length`` is given."""
    return core_schema.list_schema(items, min_length=length, max_length=length, strict=True)


def table(values: CoreSchema, keys: CoreSchema = TEXT, *, least: int = 0) -> CoreSchema:
    """Return the schema of an object with any keys, ``least`` at least."""
    return core_schema.dict_schema(keys, values, min_length=least, strict=True)


def record(required: Mapping[str, CoreSchema], **others: CoreSchema) -> CoreSchema:
    """Return the schema of an object: ``required`` keys, ``others`` that may be absent or null, and any more."""
    fields = {key: core_schema.typed_dict_field(schema) for key, schema in required.items()}
    fields |= {key: core_schema.typed_dict_field(optional(schema), required=False) for key, schema in others.items()}
    return core_schema.typed_dict_schema(fields, extras_schema=VALUE, extra_behavior="allow", strict=True)


INTERVAL: CoreSchema = core_schema.no_info_after_validator_function(check_interval, array(NUMBER, length=2))


def parse_strict_json(octets: bytes, where: str) -> Any:
    """Parse JSON of unknown origin.

    Args:
        octets: The content of a file.
        where: The file, for errors.

    Raises:
        DataError: Where it is not JSON, is nested more than 200 levels deep or has a number of over 4,300 digits.
    """
    try:
        return from_json(octets, allow_inf_nan=False, cache_strings="keys")
    except ValueError as error:
        raise DataError(f"not JSON: {error}", where=where) from error


def check_json(validator: SchemaValidator, value: Any, where: str, expected: str) -> None:
    """Check a parsed file against its schema.

    Raises:
        DataError: With the path of the first value that is not as the schema has it.
    """
    try:
        validator.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = " → ".join(shorten(str(part)) for part in first["loc"])
        found = first["msg"].removeprefix("Value error, ")
        raise DataError(f"{place}: {found}" if place else found, where=where, expected=expected) from error
