"""Which files a Parquet table is made of, and what the names of its folders say (hive partitions)."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from os.path import exists, isdir, isfile
from pathlib import Path
from urllib.parse import unquote

from rankjury.errors import DataError

HiveColumns = Mapping[str, str | int | None]
"""What the folders above a file say of all its rows, by column."""

_SUFFIXES = (".parquet", ".pq")
_MAGIC = b"PAR1"
_NULL = "__HIVE_DEFAULT_PARTITION__"


def is_parquet(path: str | Path) -> bool:
    """Whether this is a Parquet file, or a folder that holds some, however deep."""
    place = Path(path)
    try:
        return (
            any(map(_is_parquet_file, _data_files(place)))
            if isdir(place)
            else isfile(place) and _is_parquet_file(place)
        )
    except OSError:
        return False


def parquet_files(path: Path) -> tuple[Path, ...]:
    """The file itself, or all of a folder in the natural order of their paths; there is at least one.

    A file that is something else is an error: its rows would be missed.
    """
    try:
        if not exists(path):
            raise DataError("no such file or folder", where=str(path), hint="Check the path.")
        if not isdir(path):
            return (path,)
        found = [(file, _is_parquet_file(file)) for file in _data_files(path)]
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", where=str(error.filename or path)) from error
    if not any(fits for _, fits in found):
        raise DataError("found no Parquet file in this folder", where=str(path), expected="files that end in .parquet")
    other = next((file for file, fits in found if not fits), None)
    if other is not None:
        raise DataError(
            "this is no Parquet, in a folder of it",
            where=str(other),
            expected="Parquet files alone",
            hint="Move it elsewhere; names that begin with a dot or an underscore are passed over.",
        )
    return tuple(file for file, _ in found)


def _data_files(folder: Path) -> Iterator[Path]:
    """What begins with a dot or an underscore, such as _SUCCESS, is no data, nor are checksums."""
    entries = [entry for entry in os.scandir(folder) if not entry.name.startswith((".", "_"))]
    for entry in sorted(entries, key=lambda entry: _natural_order(entry.name)):
        if entry.name.lower().endswith(".crc"):
            continue
        if entry.is_dir():
            yield from _data_files(Path(entry.path))
        else:
            yield Path(entry.path)


def _is_parquet_file(path: Path) -> bool:
    """By its suffix, or by how it begins where it has another or none."""
    if path.suffix.lower() in _SUFFIXES:
        return True
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _natural_order(name: str) -> list[tuple[int, int | str]]:
    """``part-2`` comes before ``part-10``."""
    pieces = re.split(r"([0-9]+)", name)
    return [(0, int(piece)) if piece.isdecimal() else (1, piece) for piece in pieces if piece]


def hive_columns(files: Sequence[Path], root: Path) -> list[HiveColumns]:
    """``split=test`` in a path below the root is a column, and of whole numbers where it is so in every file."""
    texts: list[dict[str, str]] = []
    for file in files:
        pairs = [part.partition("=") for part in (file.relative_to(root).parts[:-1] if file != root else ())]
        texts.append({unquote(name): unquote(value) for name, equals, value in pairs if equals})
    for file, text in zip(files, texts, strict=True):
        if text.keys() != texts[0].keys():
            raise DataError(
                f"found {_columns(text)} in the names of its folders",
                where=str(file),
                expected=f"{_columns(texts[0])}, as for {files[0]}",
            )
    whole = {name for name in texts[0] if all(_is_whole(text[name]) for text in texts)}
    return [
        {name: None if value == _NULL else int(value) if name in whole else value for name, value in text.items()}
        for text in texts
    ]


def _columns(text: Mapping[str, str]) -> str:
    return ", ".join(text) if text else "no column"


def _is_whole(text: str) -> bool:
    """007 is no number: it would be another id."""
    return text == _NULL or bool(re.fullmatch(r"0|-?[1-9][0-9]{0,17}", text))
