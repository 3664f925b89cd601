"""Folders as GroupLens ships them (``ml-1m/``): which file holds the log, the items, the users."""

from os.path import isdir
from pathlib import Path

from rankjury.errors import DataError

FILES = {
    "log": (
        *("ratings.dat", "ratings.csv", "u.data", "ratings.parquet", "ratings.csv.gz", "ratings.dat.gz"),
        *("interactions.csv", "interactions.parquet"),
    ),
    "items": ("movies.dat", "movies.csv", "u.item", "movies.parquet", "items.csv", "items.parquet"),
    "users": ("users.dat", "u.user", "users.csv", "users.parquet"),
}
"""File names by what the file holds, in order of preference."""


def file_of(path: str | Path, kind: str) -> str | Path:
    """Return the file itself, or the one in a folder that holds its log, items or users."""
    if str(path) == "-" or not isdir(path):
        return path
    found = find_beside(path, kind)
    if found is None:
        expected = f"one of {', '.join(FILES[kind])}"
        raise DataError(f"found a folder without {kind}", where=str(path), expected=expected)
    return found


def find_beside(path: str | Path, kind: str) -> Path | None:
    """Return the file of log, items or users in a folder, or in that of a file; None where there is none."""
    folder = Path(path) if isdir(path) else Path(path).parent
    return next((folder / name for name in FILES[kind] if (folder / name).is_file()), None)


def find_companions(path: object) -> tuple[Path | None, Path | None]:
    """Return the files of items and of users of a folder that holds a log; None for what is not there.

    A path that is not such a folder has no companions: files beside a log that was named itself are not looked for.
    """
    if not isinstance(path, str | Path) or not isdir(path) or find_beside(path, "log") is None:
        return None, None
    return find_beside(path, "items"), find_beside(path, "users")
