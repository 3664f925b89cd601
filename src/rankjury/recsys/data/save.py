"""Splits kept in a folder: a Parquet file a window, and a JSON that says how they came to be; loading.py reads them."""

import json
import re
from collections.abc import Container, Sequence
from os.path import exists, isdir, isfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.temp_files import remove_abandoned_parts
from rankjury.core.version import __version__
from rankjury.errors import DataError, UsageError
from rankjury.io.atomic import check_destination, make_folder, replacing, together
from rankjury.recsys.data.load import IDS, RECORD, SCHEMA
from rankjury.recsys.data.log import ITEM, TIME, USER, VALUE
from rankjury.recsys.splitting import counts
from rankjury.recsys.splitting.split import WINDOWS, Split
from rankjury.recsys.splitting.timestamps import written_moment

_WINDOW_FILES = tuple(f"{name}.parquet" for name in WINDOWS)
_FILES = (RECORD, IDS, *_WINDOW_FILES)
_FOLD = re.compile(r"fold-[1-9][0-9]*")
_PART = re.compile(rf"\.({'|'.join(map(re.escape, _FILES))})\..*\.part")
"""What a killed process leaves of a file."""
_QUICK = 1
"""The level of zstd: a third less time than the usual one, for files no larger."""


def record_of(split: Split) -> dict[str, Any]:
    """All that is to be known of a split but its rows; plain JSON."""
    log, windows = split.log, counts(split)
    return {
        "schema": SCHEMA,
        "rankjury": __version__,
        "source": log.source,
        "how": dict(split.how),
        "unit": log.unit,
        "rated": log.rated,
        "cutoffs": {name: {"time": at, "iso": written_moment(at, log.unit)} for name, at in split.cutoffs.items()},
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
    log, inside = split.log, split.part >= 0
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
