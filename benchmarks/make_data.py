"""Makes a synthetic retrieval run with sparse graded judgements, shaped like MS MARCO passage ranking.

Every query retrieves 1,000 distinct documents out of 8,841,823, in rank order. Scores have five decimals and
never tie within a query, also not in 32-bit floats, so every tool has to see the same ranking. One to three
documents per query are judged, with grades 0 to 3; about 70 % of them are retrieved, mostly near the top.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

# At the end: what the standard library has too, such as `statistics`, is to be taken from there.
sys.path.append(str(Path(__file__).resolve().parent))

from dataset import DEPTH, FULL_QUERIES, Dataset

DOCUMENTS = 8_841_823
LARGEST_QUERY_ID = 1_200_000
MOST_JUDGED = 3
HIGHEST_GRADE = 3
SHARE_RETRIEVED = 0.7
DEPTH_DECAY = 0.02
SCORE_UNITS = 100_000
SEED = 7

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def has_repeats(documents: Integers) -> NDArray[np.bool_]:
    """Tell for each row whether it names a document twice."""
    ordered = np.sort(documents, axis=1)
    repeats: NDArray[np.bool_] = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    return repeats


def draw_documents(random: np.random.Generator, queries: int) -> Integers:
    """Draw distinct documents for each query, redrawing the few rows that repeat one."""
    documents = random.integers(0, DOCUMENTS, (queries, DEPTH))
    repeated = np.flatnonzero(has_repeats(documents))
    while repeated.size:
        documents[repeated] = random.integers(0, DOCUMENTS, (repeated.size, DEPTH))
        repeated = repeated[has_repeats(documents[repeated])]
    return documents


def draw_scores(random: np.random.Generator, queries: int) -> Floats:
    """Draw strictly descending scores of five decimals for each query."""
    drawn = random.gamma(2.0, 5.0, (queries, DEPTH)) * SCORE_UNITS
    ascending = np.sort(np.rint(drawn).astype(np.int64), axis=1)
    steps = np.arange(DEPTH)
    strictly_ascending = np.maximum.accumulate(ascending - steps, axis=1) + steps
    scores: Floats = strictly_ascending[:, ::-1] / SCORE_UNITS
    return scores


def draw_gold(random: np.random.Generator, query_ids: Integers, documents: Integers) -> pl.DataFrame:
    """Judge one to three documents per query, most of them retrieved at a geometric depth."""
    judged = random.integers(1, MOST_JUDGED + 1, query_ids.size)
    query = np.repeat(np.arange(query_ids.size), judged)
    depth = np.minimum(random.geometric(DEPTH_DECAY, query.size) - 1, DEPTH - 1)
    retrieved = random.random(query.size) < SHARE_RETRIEVED
    item = np.where(retrieved, documents[query, depth], random.integers(0, DOCUMENTS, query.size))
    grade = random.integers(0, HIGHEST_GRADE + 1, query.size)
    gold = pl.DataFrame({"query_id": query_ids[query], "item_id": item, "grade": grade})
    return gold.unique(subset=["query_id", "item_id"], keep="first", maintain_order=True)


def draw_collection(queries: int, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Draw the judgements and the run of one collection."""
    random = np.random.default_rng(seed)
    query_ids = random.choice(LARGEST_QUERY_ID, queries, replace=False) + 1
    documents = draw_documents(random, queries)
    gold = draw_gold(random, query_ids, documents)
    run = pl.DataFrame(
        {
            "query_id": np.repeat(query_ids, DEPTH),
            "item_id": documents.ravel(),
            "rank": np.tile(np.arange(1, DEPTH + 1), queries),
            "score": draw_scores(random, queries).ravel(),
        }
    )
    return gold, run


def write_trec(frame: pl.DataFrame, file: Path) -> None:
    """Write the columns, in their order, separated by single spaces."""
    frame.write_csv(file, separator=" ", include_header=False, float_precision=5)


def write_parquet(frame: pl.DataFrame, file: Path) -> None:
    """Write Parquet with identifiers as text."""
    frame.with_columns(pl.col("query_id", "item_id").cast(pl.String)).write_parquet(file)


def write_complete(write: Callable[[pl.DataFrame, Path], None], frame: pl.DataFrame, file: Path) -> None:
    """Write under a passing name and rename, so that an interrupted run leaves no half-written file."""
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    write(frame, unfinished)
    unfinished.replace(file)


def make_dataset(dataset: Dataset, seed: int = SEED) -> None:
    """Draw a collection and write its four files."""
    dataset.folder.mkdir(parents=True, exist_ok=True)
    gold, run = draw_collection(dataset.queries, seed)
    trec_run = run.select("query_id", pl.lit("Q0"), "item_id", "rank", "score", tag=pl.lit("bm25"))
    trec_gold = gold.select("query_id", pl.lit(0), "item_id", "grade")
    write_complete(write_trec, trec_run, dataset.trec_run)
    write_complete(write_trec, trec_gold, dataset.trec_gold)
    write_complete(write_parquet, run.select("query_id", "item_id", "score"), dataset.parquet_run)
    write_complete(write_parquet, gold, dataset.parquet_gold)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where to write the files")
    parser.add_argument("--queries", type=int, default=FULL_QUERIES, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=SEED, help="default: %(default)s")
    arguments = parser.parse_args()
    make_dataset(Dataset(arguments.folder, arguments.queries), arguments.seed)


if __name__ == "__main__":
    main()
