"""Every query's scores, written as they come: a folder of Parquet files, or one file in the end."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from os.path import exists, isdir
from pathlib import Path

import polars as pl

from karat.errors import DataError
from karat.formats import TABLE_FORMATS, form_to_write
from karat.formats.atomic import replacing, write_errors
from karat.temporary import new_part

__all__ = ["PerQuery", "check_target", "writing_per_query"]


class PerQuery:
    """Takes the scores of blocks; None as the folder: nobody wants them."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._parts = 0

    def add(self, frame: pl.DataFrame) -> None:
        if self._folder is not None:
            part = self._folder / f"part-{self._parts:05d}.parquet"
            with write_errors(part):
                frame.write_parquet(part)
            self._parts += 1


def check_target(path: Path) -> None:
    """Refuse what cannot be written before anything is computed: a name without a form is that of a new folder."""
    if not path.suffix:
        if exists(path) and (not isdir(path) or any(path.iterdir())):
            raise DataError("there is something here already", where=str(path), expected="a new or an empty folder")
    else:
        form_to_write(path, None, TABLE_FORMATS)


@contextmanager
def writing_per_query(path: Path | None) -> Iterator[PerQuery]:
    """What is written takes its place when all went well; else nothing is left."""
    if path is None:
        yield PerQuery(None)
        return
    if not path.suffix:
        with replacing(path, folder=True) as folder:
            yield PerQuery(folder)
        return
    folder = new_part(path)
    try:
        with write_errors(path):
            folder.mkdir()
        yield PerQuery(folder)
        _joined(folder, path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _joined(folder: Path, path: Path) -> None:
    """One file of the parts, of which no more than a few are in memory at a time."""
    form, compression = form_to_write(path, None, TABLE_FORMATS)
    rows = pl.scan_parquet(sorted(folder.iterdir()), glob=False)
    with replacing(path) as part:
        if form == "parquet":
            rows.sink_parquet(part)
        elif form == "jsonl":
            rows.sink_ndjson(part, compression=compression, check_extension=False)
        else:
            separator = "\t" if form == "tsv" else ","
            rows.sink_csv(part, separator=separator, compression=compression, check_extension=False)
