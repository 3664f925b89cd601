"""Folders for engines that keep files: made when they are built, gone when they are closed."""

import tempfile
from os.path import isdir
from pathlib import Path

from rankjury.core.params import Param
from rankjury.core.temp_files import SERVER, TemporaryFolder, abandoned_folders, remove_abandoned_folders
from rankjury.errors import DataError, UsageError

Folder = TemporaryFolder

FOLDER = Param("", "where its files are while it is open; empty: a temporary folder")


def folder_in(parent: str, engine: str) -> Folder:
    """A new folder of the engine's own."""
    if parent and not isdir(parent):
        raise UsageError(f"found no folder {parent!r}", expected=f"a folder for the files of {engine}")
    try:
        return TemporaryFolder(engine, Path(parent) if parent else None)
    except OSError as error:
        where = parent or tempfile.gettempdir()
        raise DataError(f"no folder can be made here: {error.strerror}", where=where) from error


def clear_left_over() -> None:
    """Remove the temporary folders that dead processes left, and stop the database servers that work in them."""
    parent = Path(tempfile.gettempdir())
    remove_abandoned_folders(parent)
    if abandoned_folders(parent, SERVER):
        from rankjury.retrieval.engines.pgvector import server_folder as homes

        homes.clear_left_over(parent)


def bytes_in(folder: Folder | None) -> int:
    """Of all its files."""
    if folder is None:
        return 0
    return sum(path.stat().st_size for path in Path(folder.name).rglob("*") if path.is_file())
