"""Draws an evaluation to be reported, from a fixed seed: a plan, gold, runs, texts of queries, names of items, slices.

Words fall off in frequency as those of a language do and titles share them, so that the page packs about as well as it
would with real ones. A query has 40 candidates of 60,000 items, six of them judged; every system orders the candidates
by their grades and noise of its own, and hands in 20.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

Ints = NDArray[np.int64]

SEED = 20_261_117
ITEMS, CANDIDATES, JUDGED, DEPTH, WORDS = 60_000, 40, 6, 20, 8_000
SYSTEMS = {"bm25": 0.5, "dense": 0.52, "hybrid": 0.6, "reranked": 0.58}
"""By name, how far grades stand out of the noise."""
KINDS = ("how-to", "fault", "price", "returns", "sizes", "brands", "care", "gifts")
LANGUAGES = ("en", "de", "fr", "es", "pl", "it")
CONSONANTS, VOWELS = "bcdfghklmnprstvw", "aeiou"

PLAN = """\
name = "benchmark"
baseline = "bm25"
gold = "gold.parquet"
measures = ["ndcg", "recall", "precision", "rr"]
cutoffs = [1, 3, 5, 10]
headline = ["ndcg@10", "recall@10", "rr@10"]
slices = "queries.parquet:kind,language,length(quantiles=4)"
names = "names.parquet:name"
targets = ["ndcg@10 >= 0.5", "recall@10 drop <= 0.01", "rr@10 >= 0.75"]

[systems]
"""


def draw_words(rng: np.random.Generator) -> list[str]:
    """Words of two to four syllables, each once."""
    found: dict[str, None] = {}
    while len(found) < WORDS:
        chosen = rng.integers((len(CONSONANTS), len(VOWELS)), size=(rng.integers(2, 5), 2))
        found["".join(CONSONANTS[one] + VOWELS[other] for one, other in chosen)] = None
    return list(found)


def draw_texts(n: int, mean: float, words: list[str], rng: np.random.Generator) -> list[str]:
    lengths = np.clip(rng.poisson(mean, n), 2, 16)
    shares = 1 / (np.arange(len(words)) + 10.0)
    drawn = rng.choice(len(words), size=int(lengths.sum()), p=shares / shares.sum())
    return [" ".join(words[word] for word in part) for part in np.split(drawn, np.cumsum(lengths)[:-1])]


def draw_candidates(queries: int, rng: np.random.Generator) -> Ints:
    """Of every query so many different items, near each other as neighbours of a topic are."""
    topic = rng.integers(0, ITEMS, (queries, 1))
    steps = np.cumsum(rng.integers(1, 25, (queries, CANDIDATES)), axis=1)
    return rng.permuted((topic + steps) % ITEMS, axis=1)


def named(kind: str, numbers: Ints) -> pl.Series:
    return pl.Series(numbers.ravel()).cast(pl.String).str.zfill(6).str.replace("^", f"{kind}-")


def run_of(candidates: Ints, grades: Ints, quality: float, rng: np.random.Generator) -> pl.DataFrame:
    scores = grades * quality + rng.normal(0, 1.2, grades.shape)
    order = np.argsort(-scores, axis=1)[:, :DEPTH]
    queries = np.repeat(np.arange(len(candidates)), DEPTH)
    return pl.DataFrame(
        {
            "query_id": named("query", queries),
            "item_id": named("item", np.take_along_axis(candidates, order, axis=1)),
            "score": np.take_along_axis(scores, order, axis=1).ravel().astype(np.float32),
        }
    )


def draw(folder: Path, queries: int) -> Path:
    """Write all files; gives the plan."""
    rng = np.random.default_rng(SEED)
    words = draw_words(rng)
    candidates = draw_candidates(queries, rng)
    grades = np.zeros(candidates.shape, dtype=np.int64)
    grades[:, :JUDGED] = rng.integers(1, 4, (queries, JUDGED))
    of_query = named("query", np.arange(queries))
    texts = draw_texts(queries, 6, words, rng)
    folder.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(
        {
            "query_id": named("query", np.repeat(np.arange(queries), JUDGED)),
            "item_id": named("item", candidates[:, :JUDGED]),
            "grade": grades[:, :JUDGED].ravel(),
        }
    ).write_parquet(folder / "gold.parquet")
    for name, quality in SYSTEMS.items():
        run_of(candidates, grades, quality, rng).write_parquet(folder / f"{name}.parquet")
    pl.DataFrame(
        {
            "query_id": of_query,
            "kind": rng.choice(KINDS, queries),
            "language": rng.choice(LANGUAGES, queries),
            "length": [len(text) for text in texts],
        }
    ).write_parquet(folder / "queries.parquet")
    titles = draw_texts(ITEMS, 7, words, rng)
    names = pl.DataFrame({"item_id": named("item", np.arange(ITEMS)), "name": titles})
    # What a query is called is its text.
    pl.concat([names, pl.DataFrame({"item_id": of_query, "name": texts})]).write_parquet(folder / "names.parquet")
    plan = folder / "rankjury.toml"
    plan.write_text(PLAN + "".join(f'{name} = "{name}.parquet"\n' for name in SYSTEMS), encoding="utf-8")
    return plan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("queries", type=int)
    print(draw(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
