"""Folders for engines that keep files: made when they are built, gone when they are closed."""

from pathlib import Path
from tempfile import TemporaryDirectory

from karat.engines import Param
from karat.errors import UsageError

__all__ = ["FOLDER", "Folder", "bytes_in", "folder_in"]

Folder = TemporaryDirectory[str]

FOLDER = Param("", "where its files are while it is open; empty: a temporary folder")


def folder_in(parent: str, engine: str) -> Folder:
    """A new folder of the engine's own."""
    if parent and not Path(parent).is_dir():
        raise UsageError(f"found no folder {parent!r}", expected=f"a folder for the files of {engine}")
    return TemporaryDirectory(prefix=f"karat-{engine}-", dir=parent or None, ignore_cleanup_errors=True)


def bytes_in(folder: Folder | None) -> int:
    """Of all its files."""
    if folder is None:
        return 0
    return sum(path.stat().st_size for path in Path(folder.name).rglob("*") if path.is_file())
