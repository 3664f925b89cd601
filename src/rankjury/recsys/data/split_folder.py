"""Split folders: a split as Parquet files with a JSON record."""

import re
from collections.abc import Container, Sequence
from dataclasses import replace
from os.path import exists, isdir, isfile
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from rankjury.core.temp_files import remove_abandoned_parts
from rankjury.core.text import json_text
from rankjury.core.version import __version__
from rankjury.errors import DataError, UsageError, guard_reading
from rankjury.io.atomic import check_destination, make_folder, replacing, together
from rankjury.io.json import parse_json
from rankjury.io.parquet import read_whole
from rankjury.recsys.data.log import ITEM, TIME, USER, VALUE, log_from_frame
from rankjury.recsys.data.times import format_time
from rankjury.recsys.split import WINDOWS, Split, window_sizes

SCHEMA = "rankjury.split/1"
RECORD, IDS = "split.json", "ids.parquet"
_WINDOW_FILES = tuple(f"{name}.parquet" for name in WINDOWS)
_FILES = (RECORD, IDS, *_WINDOW_FILES)
_FOLD = re.compile(r"fold-[1-9][0-9]*")
_PART = re.compile(rf"\.({'|'.join(map(re.escape, _FILES))})\..*\.part")
"""Unfinished file of a killed process."""
_ZSTD_LEVEL = 1
"""A third less time than the default level, with files of the same size."""
_EXPECTED = "the output of rankjury split"


def write_split(split: Split, folder: str | Path, *, force: bool = False) -> dict[str, Any]:
    """Write train, validation and test as Parquet, and split.json; all of them or none. Return the record.

    A folder with other content is refused unless ``force`` is set; then files of the same names are replaced.
    """
    target = Path(folder)
    check_target(target, force=force)
    replaces = isfile(target / RECORD)
    with together():
        record = _write(split, target)
    if replaces:
        _clear(target, {RECORD, *_WINDOW_FILES, *([IDS] if any(record["idle_ids"].values()) else [])})
    return record


def write_folds(splits: Sequence[Split], folder: str | Path, *, force: bool = False) -> list[dict[str, Any]]:
    """Write several splits as fold-1, fold-2 … and a split.json that lists them; all of them or none.

    Return their records.
    """
    target = Path(folder)
    check_target(target, folds=len(splits), force=force)
    replaces = isfile(target / RECORD) or (isdir(target) and all(map(_is_unfinished, target.iterdir())))
    names = _fold_names(len(splits))
    make_folder(target)
    with together():
        records = [_write(split, target / name) for split, name in zip(splits, names, strict=True)]
        _write_record({"source": splits[0].log.source, "folds": names}, target)
    if replaces:
        _clear(target, {RECORD, *names})
        for name in names:
            _clear(target / name, _FILES)
    return records


def _fold_names(folds: int) -> list[str]:
    return [f"fold-{fold}" for fold in range(1, folds + 1)]


def check_target(folder: Path, *, folds: int = 0, force: bool = False) -> None:
    """Refuse a folder with any content except a split that this one replaces, before any work."""
    if exists(folder) and not isdir(folder):
        raise DataError("cannot write a split here: found a file", where=str(folder), expected="a folder")
    check_destination(folder / RECORD, parents=True)
    if force or not exists(folder):
        return
    try:
        names = {path.name for path in folder.iterdir()}
    except OSError as error:
        raise DataError(f"cannot list this folder: {error.strerror}", where=str(folder)) from error
    parts = {name for name in names if _PART.fullmatch(name)}
    files = names - parts
    if folds:
        replaced = {RECORD, *_fold_names(folds)}
        unfinished = all(_is_unfinished(folder / name) for name in files)
    else:  # the record is renamed last: windows next to its part file belong to a killed split
        replaced = set(_FILES)
        unfinished = files <= replaced and any(name.startswith(f".{RECORD}.") for name in parts)
    if files and not unfinished and (RECORD not in files or files - replaced):
        other = min(files - replaced, default=min(files))
        raise UsageError(
            f"the folder contains other files than a split, such as {other}",
            where=str(folder),
            expected="a new or an empty folder",
            hint="Use --force to write here anyway.",
        )


def _is_unfinished(path: Path) -> bool:
    """Return whether a path is left of an interrupted split: a part file, or a fold with our files only."""
    if _PART.fullmatch(path.name):
        return True
    is_fold = _FOLD.fullmatch(path.name) is not None and path.is_dir()
    return is_fold and all(file.name in _FILES or _PART.fullmatch(file.name) for file in path.iterdir())


def _write(split: Split, folder: Path) -> dict[str, Any]:
    """Write the files of one split, and last its record, which marks them as complete."""
    make_folder(folder)
    log, windows, inside = split.log, window_sizes(split), split.window_codes >= 0
    idle_ids = {}  # ids outside of all windows are written too, so that reading restores the same codes
    for of, ids, codes in ((USER, log.users, log.user), (ITEM, log.items, log.item)):
        is_idle = np.ones(len(ids), dtype=bool)
        is_idle[codes[inside]] = False
        idle_ids[of] = ids.filter(pl.Series(is_idle))
    record = {
        "source": log.source,
        "how": dict(split.settings),
        "unit": log.unit,
        "rated": log.rated,
        "cutoffs": {name: {"time": at, "iso": format_time(at, log.unit)} for name, at in split.cutoffs.items()},
        "rows": {"log": len(log), "left_out": len(log) - sum(window["rows"] for window in windows.values())},
        "windows": windows,
        "leaks": list(split.leaks),
        "notes": list(log.notes),
        "idle_ids": {f"{of}s": len(ids) for of, ids in idle_ids.items()},
    }
    users, items = _as_integers(log.users), _as_integers(log.items)
    for name in WINDOWS:
        rows = split.window(name)
        columns = {USER: users.gather(rows.user), ITEM: items.gather(rows.item), VALUE: rows.value}
        frame = pl.DataFrame(columns if rows.time is None else columns | {TIME: rows.time})
        _write_frame(frame, folder / f"{name}.parquet")
    if any(map(len, idle_ids.values())):
        frames = (pl.DataFrame({"id": ids}).select(pl.lit(of).alias("of"), "id") for of, ids in idle_ids.items())
        _write_frame(pl.concat(frames), folder / IDS)
    return _write_record(record, folder)


def _write_record(content: dict[str, Any], folder: Path) -> dict[str, Any]:
    record = {"schema": SCHEMA, "rankjury": __version__, **content}
    with replacing(folder / RECORD, vouches=True) as part:
        part.write_text(json_text(record), encoding="utf-8")
    return record


def _write_frame(frame: pl.DataFrame, path: Path) -> None:
    with replacing(path) as part:
        frame.write_parquet(part, compression="zstd", compression_level=_ZSTD_LEVEL)


def _as_integers(ids: pl.Series) -> pl.Series:
    """Return ids as integers if all are written as integers: half the size, and read in half the time."""
    numbers = ids.cast(pl.Int64, strict=False)
    return numbers if len(ids) and (numbers.cast(pl.String) == ids).fill_null(False).all() else ids


def _clear(folder: Path, keep: Container[str]) -> None:
    """Remove files of the previous split, or of an interrupted one."""
    for path in list(folder.iterdir()):
        if path.name in keep:
            continue
        if path.name in _FILES:
            path.unlink(missing_ok=True)
        elif path.is_dir() and _is_unfinished(path):
            remove_abandoned_parts(path)
            _clear(path, ())
            if not any(path.iterdir()):
                path.rmdir()


def is_split_folder(folder: str | Path) -> bool:
    """Return whether a folder was written by ``rankjury split``."""
    return isfile(Path(folder) / RECORD)


def read_folds(folder: str | Path) -> list[Split]:
    """Read all splits of a folder: its folds, or its single split."""
    record = _read_record(Path(folder))
    folds = record.get("folds")
    if folds is None:
        return [read_split(folder)]
    if not isinstance(folds, list) or not all(isinstance(name, str) and Path(name).name == name for name in folds):
        raise _record_error(Path(folder), "folds is not a list of names")
    return [read_split(Path(folder) / name) for name in folds]


def read_split(folder: str | Path) -> Split:
    """Read a split with its ids and codes, window after window; rows outside of all windows are not stored."""
    home = Path(folder)
    record = _read_record(home)
    if "folds" in record:
        hint = f"Choose one: {home / 'fold-1'}"
        raise DataError("found several folds", where=str(home), expected="one of them", hint=hint)
    try:
        timed = any(record["windows"][name]["first"] is not None for name in WINDOWS)
        rated, unit = bool(record["rated"]), str(record["unit"])
        sizes = {name: int(record["windows"][name]["rows"]) for name in WINDOWS}
        cutoffs = {str(name): int(cutoff["time"]) for name, cutoff in record["cutoffs"].items()}
        has_idle_ids = any(record["idle_ids"].values())
        settings = dict(record["how"])
        leaks, notes = tuple(map(str, record["leaks"])), tuple(map(str, record["notes"]))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise _record_error(home, f"{type(error).__name__}: {error}") from error
    with guard_reading(str(home), "a split"):
        frames = [_read_window(home, name, sizes[name], timed=timed) for name in WINDOWS]
        codes = np.repeat(np.arange(len(WINDOWS), dtype=np.int8), [frame.height for frame in frames])
        for column in (USER, ITEM):  # ids are whole numbers if they are in every window
            if not all(frame.schema[column] == pl.Int64 for frame in frames):
                frames = [frame.with_columns(pl.col(column).cast(pl.String)) for frame in frames]
        log = replace(log_from_frame(pl.concat(frames), source=str(home), unit=unit, notes=notes), rated=rated)
        if has_idle_ids:
            path = home / IDS
            with guard_reading(str(path), "Parquet"):
                idle = read_whole(path, str(path)).select("of", "id")
            log = log.with_items(idle.filter(pl.col("of") == ITEM)["id"])
            log = log.with_users(idle.filter(pl.col("of") == USER)["id"])
        return Split(log, codes, settings, cutoffs, leaks)


def _record_error(home: Path, found: str) -> DataError:
    return DataError(f"invalid record: {found}", where=str(home / RECORD), expected=_EXPECTED)


def _read_record(home: Path) -> dict[str, Any]:
    path = home / RECORD
    if not exists(path):
        hint = "Create one with: rankjury split LOG -o DIR"
        raise DataError(f"found no {RECORD}", where=str(home), expected="a split", hint=hint)
    with guard_reading(str(path)):
        record = parse_json(path.read_text(encoding="utf-8"), str(path), expected=_EXPECTED)
    schema = record.get("schema") if isinstance(record, dict) else None
    if schema != SCHEMA:
        raise DataError(f"the schema is {schema!r}", where=str(path), expected=SCHEMA)
    return cast(dict[str, Any], record)


def _read_window(home: Path, name: str, rows: int, *, timed: bool) -> pl.DataFrame:
    """Read the file of a window, and compare it with the record."""
    path = home / f"{name}.parquet"
    if not isfile(path):
        raise DataError("the file is missing", where=str(path), expected=f"the {rows:,} rows of {name}")
    wanted = (USER, ITEM, VALUE, TIME) if timed else (USER, ITEM, VALUE)
    with guard_reading(str(path), "Parquet"):
        frame = read_whole(path, str(path))
        missing = [column for column in wanted if column not in frame.columns]
        if missing:
            raise DataError(f"found no column {missing[0]}", where=str(path), expected=", ".join(wanted))
        types = {VALUE: pl.Float64, TIME: pl.Int64}
        frame = frame.select(wanted).cast({column: types[column] for column in wanted if column in types})
    if frame.height != rows:
        expected = f"{rows:,}, as {RECORD} says"
        raise DataError(f"found {frame.height:,} rows", where=str(path), expected=expected, hint="Split it again.")
    empty = next((column for column in wanted if frame[column].null_count()), None)
    if empty is not None:
        raise DataError(f"some rows have no {empty}", where=str(path), expected="no nulls")
    if not frame[VALUE].is_finite().all():
        raise DataError(f"some rows have a {VALUE} that is not finite", where=str(path), expected="finite numbers")
    return frame
