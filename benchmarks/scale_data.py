"""Draws gold and ranking of scale.py from a fixed seed, as folders of Parquet files, a piece of queries at a time.

Each query ranks 100 distinct items of a million, by 32-bit scores of which a few tie, and has 10 judged items with
grades from 0 to 3: some of them ranked, more often near the top, so that nDCG@10 is about 0.3. The folder `sorted` has
the queries one after the other, best scores first. `shuffled` has the same rows, dealt out over all files and mixed
within each.
"""

from __future__ import annotations

import argparse
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

DEPTH, JUDGED, ITEMS, FILES = 100, 10, 1_000_000, 16
FIRST_ITEM = 1_000_000
"""Ids of as many digits, so that they stand in one order as numbers and as texts, and equal scores too."""
STRATUM = ITEMS // DEPTH
"""A query ranks one item of each stratum, so that its items are distinct without a look at them."""
PIECE = 12_500
"""Most queries that are drawn at a time."""
RETRIEVED = 0.7
"""Of the judged items; the others are of the same stratum as a ranked one, and another item."""
GRADES, SHARES = np.arange(4, dtype=np.int8), (0.25, 0.4, 0.25, 0.1)

Ranked = NDArray[np.int64]


def draw_items(queries: int, chance: np.random.Generator) -> Ranked:
    """The ranked items of each query, best first."""
    strata = chance.permuted(np.tile(np.arange(DEPTH, dtype=np.int64), (queries, 1)), axis=1)
    return FIRST_ITEM + strata * STRATUM + chance.integers(0, STRATUM, (queries, DEPTH))


def draw_scores(queries: int, chance: np.random.Generator) -> NDArray[np.float32]:
    """Best first; to five decimals, so that a few tie."""
    drawn = np.sort(chance.random((queries, DEPTH), dtype=np.float32), axis=1)[:, ::-1]
    return drawn.round(5)


def draw_judged(items: Ranked, chance: np.random.Generator) -> Ranked:
    """Of each query ten items: beside ranks that are likelier near the top, at times the ranked item itself."""
    queries = len(items)
    keys = chance.standard_exponential((queries, DEPTH)) * np.arange(1, DEPTH + 1)
    ranks = np.argpartition(keys, JUDGED, axis=1)[:, :JUDGED]
    near = np.take_along_axis(items, ranks, axis=1)
    missed = chance.random((queries, JUDGED)) >= RETRIEVED
    within = (near % STRATUM + missed * chance.integers(1, STRATUM, (queries, JUDGED))) % STRATUM
    return near - near % STRATUM + within


def draw_piece(first: int, queries: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Ranking and gold of these queries."""
    chance = np.random.default_rng((10, first))
    users = np.arange(first, first + queries, dtype=np.int64)
    items, scores = draw_items(queries, chance), draw_scores(queries, chance)
    judged = draw_judged(items, chance)
    ranking = {"user_id": users.repeat(DEPTH), "item_id": items.reshape(-1), "score": scores.reshape(-1)}
    grades = chance.choice(GRADES, size=judged.size, p=SHARES)
    gold = {"user_id": users.repeat(JUDGED), "item_id": judged.reshape(-1), "grade": grades}
    return pl.DataFrame(ranking), pl.DataFrame(gold)


def write_sorted(folder: Path, queries: int) -> None:
    """Queries in order of their ids, as many in each file."""
    bounds = np.linspace(0, queries, FILES + 1).astype(int).tolist()
    for number, (first, end) in enumerate(pairwise(bounds)):
        pieces = [draw_piece(at, min(PIECE, end - at)) for at in range(first, end, PIECE)]
        for name, frames in zip(("ranking", "gold"), zip(*pieces, strict=True), strict=True):
            pl.concat(frames).write_parquet(folder / name / f"part-{number:02}.parquet")


def write_shuffled(folder: Path, source: Path) -> None:
    """Rows of every query in every file, in no order."""
    for name in ("ranking", "gold"):
        rows = pl.scan_parquet(source / name / "*.parquet")
        for number in range(FILES):
            dealt = rows.filter((pl.col("user_id") * 7 + pl.col("item_id")) % FILES == number).collect(
                engine="streaming"
            )
            mixed = dealt.sample(fraction=1, shuffle=True, seed=number)
            mixed.write_parquet(folder / name / f"part-{number:02}.parquet")


def make(folder: Path, queries: int, order: str) -> None:
    """The data in ``folder/order``, whole or not at all; nothing where it is there."""
    final, begun = folder / order, folder / f"{order}.part"
    if final.exists():
        return
    shutil.rmtree(begun, ignore_errors=True)
    for name in ("ranking", "gold"):
        (begun / name).mkdir(parents=True)
    if order == "sorted":
        write_sorted(begun, queries)
    else:
        make(folder, queries, "sorted")
        write_shuffled(begun, folder / "sorted")
    begun.rename(final)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("queries", type=int)
    parser.add_argument("order", choices=("sorted", "shuffled"))
    make(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
