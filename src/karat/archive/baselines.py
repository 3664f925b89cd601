"""Which run each plan is held against: set by a person, never by itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from pydantic_core import SchemaValidator, core_schema

from karat.archive.durable import as_bytes, locked, replace_file, told
from karat.archive.files import read_small, reason_of
from karat.archive.storing import make_archive
from karat.errors import DataError
from karat.json_types import TEXT, check_json, parse_json, record, table

__all__ = ["baselines_in", "set_baseline", "unset_baseline"]

_FILE = "baselines.json"
_SCHEMA = "karat.baselines/1"
_MOST_BYTES = 10_000_000
_HINT = "Remove the file to unset all baselines."


def baselines_in(archive: Path) -> dict[str, str]:
    """By plan, the name of its run."""
    path = archive / _FILE
    try:
        octets = read_small(path, _MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise DataError(f"cannot read the baselines: {reason_of(error)}", where=str(path), hint=_HINT) from error
    try:
        form = parse_json(octets, str(path))
        check_json(_validator(), form, str(path), f"the schema {_SCHEMA}")
    except DataError as error:
        error.hint = _HINT
        raise
    return dict(form["baselines"])


@cache
def _validator() -> SchemaValidator:
    return SchemaValidator(record({"schema": core_schema.literal_schema([_SCHEMA]), "baselines": table(TEXT)}))


def set_baseline(archive: Path, plan: str, run: str) -> None:
    with _changing(archive) as baselines:
        baselines[plan] = run


def unset_baseline(archive: Path, plan: str) -> None:
    with _changing(archive) as baselines:
        baselines.pop(plan, None)


@contextmanager
def _changing(archive: Path) -> Iterator[dict[str, str]]:
    """What is changed in the block is written whole when it ends."""
    try:
        make_archive(archive)
        with locked(archive):
            baselines = baselines_in(archive)
            yield baselines
            replace_file(archive / _FILE, as_bytes({"schema": _SCHEMA, "baselines": dict(sorted(baselines.items()))}))
    except OSError as error:
        raise told(error, archive) from error
