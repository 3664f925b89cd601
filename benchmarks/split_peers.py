"""Makes the log of splitting.py, and sorts and slices it plainly: by Polars or by pandas."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

USERS, ITEMS, DAYS = 140_000, 27_000, 7_000
"""As many as in the MovieLens log of 20 million ratings, and about as long."""


def make_log(rows: int, folder: Path) -> None:
    """Users and items as unlike as in real logs; several rows share a time."""
    chance = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "user": (USERS * chance.random(rows) ** 2).astype(np.int64) + 1,
            "item": (ITEMS * chance.random(rows) ** 3).astype(np.int64) + 1,
            "value": chance.integers(1, 11, rows) / 2,
            "time": 800_000_000 + (DAYS * 86_400 * chance.random(rows)).astype(np.int64) // 5 * 5,
        }
    )
    frame.write_parquet(folder / "log.parquet")
    frame.write_csv(folder / "log.csv")


def read(log: Path) -> pl.DataFrame:
    return pl.read_parquet(log) if log.suffix == ".parquet" else pl.read_csv(log)


def slice_polars(log: Path, output: Path) -> None:
    """What a script would do: sort by time, cut by number of rows."""
    frame = read(log).sort("time")
    first, second = (int(len(frame) * share) for share in (0.8, 0.9))
    parts = (frame[:first], frame[first:second], frame[second:])
    for name, part in zip(("train", "validation", "test"), parts, strict=True):
        part.write_parquet(output / f"{name}.parquet")


def slice_pandas(log: Path, output: Path) -> None:
    """The same in pandas; it has no Parquet of its own, so that Polars reads and writes."""
    import pandas as pd

    frame = pd.DataFrame({column.name: column.to_numpy() for column in read(log)}).sort_values("time")
    first, second = (int(len(frame) * share) for share in (0.8, 0.9))
    parts = (frame.iloc[:first], frame.iloc[first:second], frame.iloc[second:])
    for name, part in zip(("train", "validation", "test"), parts, strict=True):
        columns = {str(column): part[column].to_numpy() for column in part.columns}
        pl.DataFrame(columns).write_parquet(output / f"{name}.parquet")


def main() -> None:
    task, given, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    if task == "make":
        make_log(int(given), folder)
    else:
        {"polars": slice_polars, "pandas": slice_pandas}[task](Path(given), folder)


if __name__ == "__main__":
    main()
