"""Folders as GroupLens ships them: which file holds the log, the items, the users."""

from pathlib import Path

from karat.errors import DataError

__all__ = ["file_of", "find_beside"]

_FILES = {
    "log": ("ratings.dat", "ratings.csv", "u.data", "ratings.parquet", "ratings.csv.gz", "ratings.dat.gz"),
    "items": ("movies.dat", "movies.csv", "u.item", "movies.parquet", "items.csv", "items.parquet"),
    "users": ("users.dat", "u.user", "users.csv", "users.parquet"),
}


def file_of(path: str | Path, kind: str) -> str | Path:
    """The file itself, or the one in a folder that holds its log, items or users."""
    if str(path) == "-" or not Path(path).is_dir():
        return path
    found = find_beside(path, kind)
    if found is None:
        expected = f"one of {', '.join(_FILES[kind])}"
        raise DataError(f"found a folder without {kind}", where=str(path), expected=expected)
    return found


def find_beside(path: str | Path, kind: str) -> Path | None:
    """The file of log, items or users in a folder, or in that of a file; None where there is none."""
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    return next((folder / name for name in _FILES[kind] if (folder / name).is_file()), None)
