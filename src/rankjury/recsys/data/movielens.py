"""Folders as GroupLens ships them (``ml-1m/``): which file holds the log, the items, the users."""

from collections.abc import Sequence
from os.path import isdir
from pathlib import Path

import polars as pl

from rankjury.errors import DataError, UsageError
from rankjury.io.attributes import read_attributes
from rankjury.io.jsonl import parse_json
from rankjury.io.parquet import read_schema
from rankjury.io.source import SEPARATORS, Source, cells_of
from rankjury.recsys.data.log import find_column

FILES = {
    "log": (
        *("ratings.dat", "ratings.csv", "u.data", "ratings.parquet", "ratings.csv.gz", "ratings.dat.gz"),
        *("interactions.csv", "interactions.parquet"),
    ),
    "items": ("movies.dat", "movies.csv", "u.item", "movies.parquet", "items.csv", "items.parquet"),
    "users": ("users.dat", "u.user", "users.csv", "users.parquet"),
}
"""File names by what the file holds, in order of preference."""


def resolve_file(path: str | Path, kind: str) -> str | Path:
    """Return the file itself, or the one in a folder that holds its log, items or users."""
    if str(path) == "-" or not isdir(path):
        return path
    found = find_file(path, kind)
    if found is None:
        expected = f"one of {', '.join(FILES[kind])}"
        raise DataError(f"found a folder without {kind}", where=str(path), expected=expected)
    return found


def find_file(path: str | Path, kind: str) -> Path | None:
    """Return the file of log, items or users in a folder, or in that of a file; None where there is none."""
    folder = Path(path) if isdir(path) else Path(path).parent
    return next((folder / name for name in FILES[kind] if (folder / name).is_file()), None)


def find_companions(path: object) -> tuple[Path | None, Path | None]:
    """Return the files of items and of users of a folder that holds a log; None for what is not there.

    A path that is not such a folder has no companions: files beside a log that was named itself are not looked for.
    """
    if not isinstance(path, str | Path) or not isdir(path) or find_file(path, "log") is None:
        return None, None
    return find_file(path, "items"), find_file(path, "users")


_NO_GENRES = "(no genres listed)"
TITLE = "title"
_TITLES = (TITLE, "name", "item_name", "product_name", "movie_title")
_SEPARATORS = ("|", ";", ",")
_ID = "id"
_LAYOUTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "movies.dat": ("::", (_ID, TITLE, "genres")),
    "users.dat": ("::", (_ID, "gender", "age", "occupation", "zip")),
    "u.user": ("|", (_ID, "age", "gender", "occupation", "zip")),
}
_U_ITEM = (_ID, TITLE, "released", "video_released", "url")
_U_GENRES = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama"),
    *("Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western"),
)
_SHOWN = 80


def read_table(source: Source, kind: str, id_column: str | None) -> tuple[pl.DataFrame, str, str | None]:
    """The table, the name of its column of ids, and that of its titles; ``kind`` is ``item`` or ``user``."""
    layout = None if id_column else _layout(source, kind)
    if layout == "u.item":
        return _of_flags(source), _ID, TITLE
    if layout is not None:
        separator, names = _LAYOUTS[layout]
        frame = _frame(_fields(source, separator, names), names)
        return frame, _ID, TITLE if TITLE in names else None
    if source.path is None or source.held is not None:
        raise UsageError(f"a table of {kind}s from a pipe", where=source.name, expected="a file")
    of = "item" if kind == "item" else "query"
    id_column = id_column or find_column(_names(source), kind)
    frame, found = read_attributes(source.name, of, id_column=id_column, ids_alone=kind == "item")
    if kind == "user":
        return frame, found, None
    folded = {name.lower(): name for name in reversed(frame.columns) if name != found}
    return frame, found, next((folded[name] for name in _TITLES if name in folded), None)


def _names(source: Source) -> list[str]:
    """What the columns of a table are called, as far as its beginning tells."""
    if source.is_parquet():
        return list(read_schema(source.polars, source.name))
    first = next(iter(source.head_lines), "")
    if first.lstrip().startswith("{"):
        try:
            return list(parse_json(first, source.name))
        except DataError:
            return []
    return [name.strip() for name in cells_of(first, max(SEPARATORS, key=first.count))]


def as_lists(texts: pl.Series) -> pl.Series:
    """Cells of several values as lists; what is blank, or says that there is none, is an empty one."""
    separator = next((one for one in _SEPARATORS if texts.str.contains(one, literal=True).any()), "|")
    cells = texts.fill_null("").str.replace(_NO_GENRES, "", literal=True).str.split(separator)
    return cells.list.eval(pl.element().str.strip_chars()).list.eval(pl.element().filter(pl.element() != ""))


def _layout(source: Source, kind: str) -> str | None:
    """Which of GroupLens's files it is, by what its first line holds."""
    if source.is_parquet() or "\0" in source.head or not source.head_lines:
        return None
    first = source.head_lines[0]
    if "::" in first:
        return "movies.dat" if kind == "item" else "users.dat"
    fields = first.split("|")
    if kind == "item" and len(fields) > len(_U_ITEM) and set(fields[len(_U_ITEM) :]) <= {"0", "1"}:
        return "u.item"
    headless = len(fields) == len(_LAYOUTS["u.user"][1]) and fields[0].isdecimal()
    return "u.user" if kind == "user" and headless else None


def _fields(source: Source, separator: str, names: Sequence[str]) -> list[list[str]]:
    """The fields of every line; old files are in Latin-1."""
    found = []
    for number, line in enumerate(_text(source).split("\n"), start=1):
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
        found.append(fields)
    return found


def _text(source: Source) -> str:
    try:
        return source.text()
    except DataError:
        if source.compression is not None:
            raise
        return source.content.decode("latin-1")


def _frame(rows: Sequence[Sequence[str]], names: Sequence[str]) -> pl.DataFrame:
    """As texts; empty cells are unknown, and ages are numbers."""
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    frame = frame.with_columns(pl.when(pl.all() != "").then(pl.all()))
    if "age" in names:
        frame = frame.with_columns(pl.col("age").cast(pl.Int64, strict=False))
    return frame


def _of_flags(source: Source) -> pl.DataFrame:
    """u.item: a column a genre, named in u.genre beside it."""
    many = source.head_lines[0].count("|") + 1 - len(_U_ITEM)
    genres = _named_beside(source.path, many)
    names = (*_U_ITEM, *genres)
    rows = _fields(source, "|", names)
    cut = len(_U_ITEM)
    held = [[name for name, flag in zip(genres, row[cut:], strict=True) if flag == "1"] for row in rows]
    frame = _frame([row[:cut] for row in rows], _U_ITEM)
    dates = frame["released"].str.to_date("%d-%b-%Y", strict=False)
    titled = frame[TITLE].str.extract(r"\((\d{4})\)\s*$").cast(pl.Int32, strict=False)
    years = titled.zip_with(titled.is_not_null(), dates.dt.year())
    return frame.with_columns(dates, years.alias("year"), pl.Series("genres", held, dtype=pl.List(pl.String))).drop(
        "video_released", "url"
    )


def _named_beside(path: Path | None, many: int) -> tuple[str, ...]:
    beside = None if path is None else path.parent / "u.genre"
    if beside is not None and beside.is_file():
        lines = beside.read_text(encoding="latin-1").splitlines()
        pairs = [line.rpartition("|") for line in lines if line.strip()]
        found = tuple(name for name, _, _ in sorted(pairs, key=lambda pair: int(pair[2]) if pair[2].isdecimal() else 0))
        if len(found) == many and all(found):
            return found
        raise DataError(
            f"found {len(found)} genres", where=str(beside), expected=f"{many}, as {path} has columns of genres"
        )
    if many != len(_U_GENRES):
        raise DataError(f"found {many} columns of genres", where=str(path), expected=f"{len(_U_GENRES)}, or u.genre")
    return _U_GENRES
