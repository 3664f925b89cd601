"""Which run each plan is held against: set by a person, never by itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from json import loads
from pathlib import Path

from karat.archive.durable import as_bytes, locked, replace_file, told
from karat.archive.storing import make_archive
from karat.errors import DataError

__all__ = ["baselines_in", "set_baseline", "unset_baseline"]

_FILE = "baselines.json"
_SCHEMA = "karat.baselines/1"


def baselines_in(archive: Path) -> dict[str, str]:
    """By plan, the name of its run."""
    path = archive / _FILE
    try:
        form = loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read the baselines: {error}", where=str(path)) from error
    if not isinstance(form, dict) or form.get("schema") != _SCHEMA or not isinstance(form.get("baselines"), dict):
        raise DataError("these are no baselines of karat", where=str(path), expected=f"the schema {_SCHEMA}")
    return {str(plan): str(run) for plan, run in form["baselines"].items()}


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
