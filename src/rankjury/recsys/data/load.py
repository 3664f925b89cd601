"""Splits read back from the folder that they were written to."""

from collections.abc import Mapping
from dataclasses import replace
from os.path import exists, isfile
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from rankjury.core.types import places_in
from rankjury.errors import DataError, guard_reading
from rankjury.io.jsonl import parse_json
from rankjury.io.parquet import read_whole
from rankjury.recsys.data.log import ITEM, TIME, USER, VALUE, Log, log_from_frame
from rankjury.recsys.splitting.split import WINDOWS, Split

SCHEMA = "rankjury.split/1"
RECORD, IDS = "split.json", "ids.parquet"

_COLUMNS: Mapping[str, Any] = {USER: None, ITEM: None, VALUE: pl.Float64, TIME: pl.Int64}


def is_split(folder: str | Path) -> bool:
    """Whether a folder was written by ``rankjury split``."""
    return isfile(Path(folder) / RECORD)


def read_folds(folder: str | Path) -> list[Split]:
    """All the splits of a folder: its folds, or the one that it is."""
    record = _record(Path(folder))
    folds = record.get("folds")
    if folds is None:
        return [read_split(folder)]
    if not isinstance(folds, list) or not all(isinstance(name, str) and Path(name).name == name for name in folds):
        raise _odd(Path(folder), "folds are no list of names")
    return [read_split(Path(folder) / name) for name in folds]


def read_split(folder: str | Path) -> Split:
    """A split as it was written: the same ids and codes, window after window; rows that were in none are not there."""
    home = Path(folder)
    record = _record(home)
    if "folds" in record:
        raise DataError(
            "found several folds", where=str(home), expected="one of them", hint=f"Name it: {home / 'fold-1'}"
        )
    try:
        timed = any(record["windows"][name]["first"] is not None for name in WINDOWS)
        rated, unit = bool(record["rated"]), str(record["unit"])
        sizes = {name: int(record["windows"][name]["rows"]) for name in WINDOWS}
        cutoffs = {str(name): int(one["time"]) for name, one in record["cutoffs"].items()}
        idle = any(record["idle_ids"].values())
        how, leaks, notes = dict(record["how"]), tuple(map(str, record["leaks"])), tuple(map(str, record["notes"]))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise _odd(home, f"{type(error).__name__}: {error}") from error
    with guard_reading(str(home), "a split"):
        frames = [_window(home, name, sizes[name], timed=timed) for name in WINDOWS]
        part = np.repeat(np.arange(len(WINDOWS), dtype=np.int8), [frame.height for frame in frames])
        for column in (USER, ITEM):  # ids are whole numbers if they are so in every window
            if not all(frame.schema[column] == pl.Int64 for frame in frames):
                frames = [frame.with_columns(pl.col(column).cast(pl.String)) for frame in frames]
        log = log_from_frame(pl.concat(frames), source=str(home), unit=unit, notes=notes)
        log = replace(log, rated=rated)
        return Split(_with_idle(log, home) if idle else log, part, how, cutoffs, leaks)


def _odd(home: Path, found: str) -> DataError:
    return DataError(f"cannot be understood: {found}", where=str(home / RECORD), expected="what rankjury split wrote")


def _record(home: Path) -> dict[str, Any]:
    path = home / RECORD
    if not exists(path):
        hint = "rankjury split LOG -o DIR makes one."
        raise DataError(f"found no {RECORD}", where=str(home), expected="a split", hint=hint)
    with guard_reading(str(path)):
        record = parse_json(path.read_text(encoding="utf-8"), str(path), expected="what rankjury split wrote")
    schema = record.get("schema") if isinstance(record, dict) else None
    if schema != SCHEMA:
        raise DataError(f"the schema is {schema!r}", where=str(path), expected=SCHEMA)
    return cast(dict[str, Any], record)


def _window(home: Path, name: str, rows: int, *, timed: bool) -> pl.DataFrame:
    path = home / f"{name}.parquet"
    if not isfile(path):
        raise DataError("the file is missing", where=str(path), expected=f"the {rows:,} rows of {name}")
    wanted = [column for column in _COLUMNS if timed or column != TIME]
    with guard_reading(str(path), "Parquet"):
        frame = read_whole(path, str(path))
        lacking = [column for column in wanted if column not in frame.columns]
        if lacking:
            raise DataError(f"found no column {lacking[0]}", where=str(path), expected=", ".join(wanted))
        typed = [pl.col(one).cast(_COLUMNS[one]) for one in wanted if _COLUMNS[one] is not None]
        frame = frame.select(wanted).with_columns(typed)
    if frame.height != rows:
        expected = f"{rows:,}, as {RECORD} says"
        raise DataError(f"found {frame.height:,} rows", where=str(path), expected=expected, hint="Split it again.")
    empty = next((column for column in wanted if frame[column].null_count()), None)
    if empty is not None:
        raise DataError(f"some rows have no {empty}", where=str(path), expected="no nulls")
    if not frame[VALUE].is_finite().all():
        raise DataError(f"some rows have a {VALUE} that is no number", where=str(path), expected="finite numbers")
    return frame


def _with_idle(log: Log, home: Path) -> Log:
    """With the users and items that no window has."""
    path = home / IDS
    with guard_reading(str(path), "Parquet"):
        idle = read_whole(path, str(path)).select("of", "id")
    found = log.with_items(idle.filter(pl.col("of") == ITEM)["id"])
    users = pl.concat([log.users, idle.filter(pl.col("of") == USER)["id"].rename(log.users.name)]).unique().sort()
    code = places_in(users, log.users).astype(np.int32)
    return replace(found, users=users, user=code[log.user])
