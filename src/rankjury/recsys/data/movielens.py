"""MovieLens folders (``ml-1m/``): files of log, items and users, including files without a header."""

from collections.abc import Sequence
from os.path import isdir
from pathlib import Path

import polars as pl

from rankjury.errors import DataError
from rankjury.io.source import Source

FILES = {
    "log": (
        *("ratings.dat", "ratings.csv", "u.data", "ratings.parquet", "ratings.csv.gz", "ratings.dat.gz"),
        *("interactions.csv", "interactions.parquet"),
    ),
    "items": ("movies.dat", "movies.csv", "u.item", "movies.parquet", "items.csv", "items.parquet"),
    "users": ("users.dat", "u.user", "users.csv", "users.parquet"),
}
"""File names by content, in order of preference."""
ID, TITLE = "id", "title"
_MOVIES_DAT = (ID, TITLE, "genres")
_USERS_DAT = (ID, "gender", "age", "occupation", "zip")
_U_USER = (ID, "age", "gender", "occupation", "zip")
_U_ITEM = (ID, TITLE, "released", "video_released", "url")
_U_GENRES = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama"),
    *("Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western"),
)
_SHOWN = 80


def resolve_file(path: str | Path, kind: str) -> str | Path:
    """Return the file itself, or the file of log, items or users in a folder."""
    if str(path) == "-" or not isdir(path):
        return path
    file = find_file(path, kind)
    if file is None:
        expected = f"one of {', '.join(FILES[kind])}"
        raise DataError(f"found a folder without {kind}", where=str(path), expected=expected)
    return file


def find_file(path: str | Path, kind: str) -> Path | None:
    """Return the file of log, items or users in a folder, or in the folder of a file; None if there is none."""
    folder = Path(path) if isdir(path) else Path(path).parent
    return next((folder / name for name in FILES[kind] if (folder / name).is_file()), None)


def find_companions(path: object) -> tuple[Path | None, Path | None]:
    """Return the files of items and users in a log folder; None for missing ones.

    Any other path has no companions: files next to a log file are not searched.
    """
    if not isinstance(path, str | Path) or not isdir(path) or find_file(path, "log") is None:
        return None, None
    return find_file(path, "items"), find_file(path, "users")


def read_headless(source: Source, kind: str) -> pl.DataFrame | None:
    """Return the table of movies.dat, users.dat, u.item or u.user, detected by the first line; None for other files."""
    if source.is_parquet() or "\0" in source.head or not source.head_lines:
        return None
    first = source.head_lines[0]
    if "::" in first:
        names = _MOVIES_DAT if kind == "item" else _USERS_DAT
        return _text_frame(_fields(source, "::", names), names)
    fields = first.split("|")
    if kind == "item" and len(fields) > len(_U_ITEM) and set(fields[len(_U_ITEM) :]) <= {"0", "1"}:
        return _read_u_item(source, len(fields) - len(_U_ITEM))
    if kind == "user" and len(fields) == len(_U_USER) and fields[0].isdecimal():
        return _text_frame(_fields(source, "|", _U_USER), _U_USER)
    return None


def _fields(source: Source, separator: str, names: Sequence[str]) -> list[list[str]]:
    """Return the fields of every line; old files are Latin-1."""
    try:
        text = source.text()
    except DataError:
        if source.compression is not None:
            raise
        text = source.content.decode("latin-1")
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        fields = line.removesuffix("\r").split(separator)
        if len(fields) != len(names):
            raise DataError(
                f"found {len(fields)} fields in the line {line[:_SHOWN]!r}",
                where=f"{source.name}:{number}",
                expected=f"{len(names)}: {', '.join(names[: len(_U_ITEM)])}{' …' if len(names) > 5 else ''}",
            )
        if not fields[0].strip():
            raise DataError("found no id", where=f"{source.name}:{number}", expected=f"{separator.join(names[:3])} …")
        rows.append(fields)
    return rows


def _text_frame(rows: Sequence[Sequence[str]], names: Sequence[str]) -> pl.DataFrame:
    """Return a frame of text; empty cells are null, and ages are numbers."""
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    frame = frame.with_columns(pl.when(pl.all() != "").then(pl.all()))
    return frame.with_columns(pl.col("age").cast(pl.Int64, strict=False)) if "age" in names else frame


def _read_u_item(source: Source, n_genres: int) -> pl.DataFrame:
    """Read u.item, which has one column of 0 and 1 per genre."""
    genres = _genre_names(source.path, n_genres)
    rows = _fields(source, "|", (*_U_ITEM, *genres))
    n = len(_U_ITEM)
    lists = [[name for name, flag in zip(genres, row[n:], strict=True) if flag == "1"] for row in rows]
    frame = _text_frame([row[:n] for row in rows], _U_ITEM)
    dates = frame["released"].str.to_date("%d-%b-%Y", strict=False)
    titled = frame[TITLE].str.extract(r"\((\d{4})\)\s*$").cast(pl.Int32, strict=False)
    years = titled.zip_with(titled.is_not_null(), dates.dt.year())
    columns = [dates, years.alias("year"), pl.Series("genres", lists, dtype=pl.List(pl.String))]
    return frame.with_columns(columns).drop("video_released", "url")


def _genre_names(path: Path | None, n: int) -> tuple[str, ...]:
    """Return the names in u.genre in the same folder, or those of MovieLens 100K."""
    file = None if path is None else path.parent / "u.genre"
    if file is not None and file.is_file():
        lines = file.read_text(encoding="latin-1").splitlines()
        pairs = [line.rpartition("|") for line in lines if line.strip()]
        names = tuple(name for name, _, _ in sorted(pairs, key=lambda pair: int(pair[2]) if pair[2].isdecimal() else 0))
        if len(names) == n and all(names):
            return names
        expected = f"{n}, as {path} has columns of genres"
        raise DataError(f"found {len(names)} genres", where=str(file), expected=expected)
    if n != len(_U_GENRES):
        raise DataError(f"found {n} columns of genres", where=str(path), expected=f"{len(_U_GENRES)}, or u.genre")
    return _U_GENRES
