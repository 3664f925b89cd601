"""Split folders: write a split as Parquet files with a JSON record, and read it back."""

import json
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from os.path import exists, isdir, isfile
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from rankjury.core.temp_files import remove_abandoned_parts
from rankjury.core.types import places_in
from rankjury.core.version import __version__
from rankjury.errors import DataError, UsageError, guard_reading
from rankjury.io.atomic import check_destination, make_folder, replacing, together
from rankjury.io.jsonl import parse_json
from rankjury.io.parquet import read_whole
from rankjury.recsys.data.log import ITEM, TIME, USER, VALUE, Log, log_from_frame
from rankjury.recsys.data.times import format_time
from rankjury.recsys.split import WINDOWS, Split, window_sizes

SCHEMA = "rankjury.split/1"


RECORD, IDS = "split.json", "ids.parquet"


_COLUMNS: Mapping[str, Any] = {USER: None, ITEM: None, VALUE: pl.Float64, TIME: pl.Int64}


_WINDOW_FILES = tuple(f"{name}.parquet" for name in WINDOWS)
_FILES = (RECORD, IDS, *_WINDOW_FILES)
_FOLD = re.compile(r"fold-[1-9][0-9]*")
_PART = re.compile(rf"\.({'|'.join(map(re.escape, _FILES))})\..*\.part")
"""What a killed process leaves of a file."""
_QUICK = 1
"""The level of zstd: a third less time than the usual one, for files no larger."""


def record_of(split: Split) -> dict[str, Any]:
    """All that is to be known of a split but its rows; plain JSON."""
    log, windows = split.log, window_sizes(split)
    return {
        "schema": SCHEMA,
        "rankjury": __version__,
        "source": log.source,
        "how": dict(split.settings),
        "unit": log.unit,
        "rated": log.rated,
        "cutoffs": {name: {"time": at, "iso": format_time(at, log.unit)} for name, at in split.cutoffs.items()},
        "rows": {"log": len(log), "left_out": len(log) - sum(one["rows"] for one in windows.values())},
        "windows": windows,
        "leaks": list(split.leaks),
        "notes": list(log.notes),
    }


def write_split(split: Split, folder: str | Path, *, force: bool = False) -> dict[str, Any]:
    """Write train, validation and test as Parquet, and split.json; all of them or none. Returns the record.

    A folder that holds something else is refused unless ``force`` is given; then what is in the way is replaced.
    """
    target = Path(folder)
    check_target(target, force=force)
    before = isfile(target / RECORD)
    with together():
        record = _write(split, target)
    if before:
        _clear(target, {RECORD, *_WINDOW_FILES, *([IDS] if any(record["idle_ids"].values()) else [])})
    return record


def write_folds(splits: Sequence[Split], folder: str | Path, *, force: bool = False) -> list[dict[str, Any]]:
    """Write several splits as fold-1, fold-2 … and a split.json that says how many they are; all of them or none.

    Returns their records.
    """
    target = Path(folder)
    check_target(target, folds=len(splits), force=force)
    ours = isfile(target / RECORD) or (isdir(target) and all(map(_is_begun, target.iterdir())))
    names = fold_names(len(splits))
    form = {"schema": SCHEMA, "rankjury": __version__, "source": splits[0].log.source, "folds": names}
    make_folder(target)
    with together():
        records = [_write(split, target / name) for split, name in zip(splits, names, strict=True)]
        _write_record(form, target)
    if ours:
        _clear(target, {RECORD, *names})
        for name in names:
            _clear(target / name, _FILES)
    return records


def fold_names(number: int) -> list[str]:
    return [f"fold-{place + 1}" for place in range(number)]


def check_target(folder: Path, *, folds: int = 0, force: bool = False) -> None:
    """Refuse a folder with something else in it than a split that this one takes the place of, before any work."""
    if exists(folder) and not isdir(folder):
        raise DataError("cannot write a split here: found a file", where=str(folder), expected="a folder")
    check_destination(folder / RECORD, parents=True)
    if force or not exists(folder):
        return
    try:
        names = {path.name for path in folder.iterdir()}
    except OSError as error:
        raise DataError(f"cannot look into this folder: {error.strerror}", where=str(folder)) from error
    parts = {name for name in names if _PART.fullmatch(name)}
    there = names - parts
    if folds:
        replaced, begun = {RECORD, *fold_names(folds)}, all(_is_begun(folder / name) for name in there)
    else:  # the record's own part is renamed last: windows beside it are of a split that was killed
        replaced, begun = set(_FILES), there <= set(_FILES) and any(name.startswith(f".{RECORD}.") for name in parts)
    if there and not begun and (RECORD not in there or there - replaced):
        odd = min(there - replaced, default=min(there))
        raise UsageError(
            f"the folder holds something else than the split to be replaced, such as {odd}",
            where=str(folder),
            expected="a new or an empty folder",
            hint="--force writes here all the same.",
        )


def _is_begun(path: Path) -> bool:
    """Whether it is left of a writing of folds that was interrupted: a part, or a fold of nothing but our own."""
    if _PART.fullmatch(path.name):
        return True
    if not _FOLD.fullmatch(path.name) or not path.is_dir():
        return False
    return all(one.name in _FILES or _PART.fullmatch(one.name) for one in path.iterdir())


def _write(split: Split, folder: Path) -> dict[str, Any]:
    """Write the files of one split, and its record, which vouches for the others."""
    make_folder(folder)
    idle = _idle_ids(split)
    numbers = {f"{of}s": idle.filter(pl.col("of") == of).height for of in (USER, ITEM)}
    record = record_of(split) | {"idle_ids": numbers}
    users, items = _as_numbers(split.log.users), _as_numbers(split.log.items)
    for name in WINDOWS:
        log = split.window(name)
        columns = {USER: users.gather(log.user), ITEM: items.gather(log.item), VALUE: log.value}
        frame = pl.DataFrame(columns if log.time is None else columns | {TIME: log.time})
        _write_frame(frame, folder / f"{name}.parquet")
    if idle.height:
        _write_frame(idle, folder / IDS)
    _write_record(record, folder)
    return record


def _write_record(form: dict[str, Any], folder: Path) -> None:
    with replacing(folder / RECORD, vouches=True) as part:
        part.write_text(json.dumps(form, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def _write_frame(frame: pl.DataFrame, path: Path) -> None:
    with replacing(path) as part:
        frame.write_parquet(part, compression="zstd", compression_level=_QUICK)


def _as_numbers(ids: pl.Series) -> pl.Series:
    """Ids as whole numbers where each is written as one is; half the room, and read in half the time."""
    numbers = ids.cast(pl.Int64, strict=False)
    return numbers if len(ids) and (numbers.cast(pl.String) == ids).fill_null(False).all() else ids


def _idle_ids(split: Split) -> pl.DataFrame:
    """Users and items of the log that no window has, so that codes are the same when it is read again."""
    log, inside = split.log, split.window_codes >= 0
    found = []
    for of, ids, codes in ((USER, log.users, log.user), (ITEM, log.items, log.item)):
        idle = np.ones(len(ids), dtype=bool)
        idle[codes[inside]] = False
        found.append(pl.DataFrame({"id": ids.filter(pl.Series(idle))}).select(pl.lit(of).alias("of"), "id"))
    return pl.concat(found)


def _clear(folder: Path, kept: Container[str]) -> None:
    """Take away what is left of the split that stood here before, or of one that was begun."""
    for path in list(folder.iterdir()):
        if path.name in kept:
            continue
        if path.name in _FILES:
            path.unlink(missing_ok=True)
        elif path.is_dir() and _is_begun(path):
            remove_abandoned_parts(path)
            _clear(path, ())
            if not any(path.iterdir()):
                path.rmdir()


def is_split_folder(folder: str | Path) -> bool:
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
