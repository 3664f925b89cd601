"""Times rankjury's searches in a FAISS HNSW index beside FAISS alone, on the same graph.

A process builds one index through rankjury, makes one call of each kind that is not timed, and then takes turns:
rankjury and FAISS, all queries at once and one by one. It prints seconds a query as JSON, of every round, and whether
both found the same. Of one by one it is the median, which hardly hangs on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

# At the end: what the standard library has too, such as `statistics`, is to be taken from there.
sys.path.append(str(Path(__file__).resolve().parent))

from agreers import REFERENCE_NOISE, draw_model

K, EF_SEARCH = 10, 64
SEARCH = {"ef_search": EF_SEARCH}

Items = NDArray[np.int64]


def seconds_of(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def named(values: NDArray[Any], kind: str) -> Any:
    from rankjury.core.types import Vectors

    return Vectors(pl.Series([f"{kind}{row}" for row in range(len(values))]), values, kind)


class Bare:
    """FAISS as a script would call it: vectors of length 1 in 32 bits, and nothing done to what comes back."""

    def __init__(self, index: Any, queries: NDArray[Any]) -> None:
        import faiss

        self.index, self.queries = index, queries
        self.params = faiss.SearchParametersHNSW(efSearch=EF_SEARCH)

    def batch(self) -> Items:
        found: Items = self.index.search(self.queries, K, params=self.params)[1]
        return found

    def median(self, n: int) -> float:
        """Seconds of a query that is asked alone."""
        search, params, rows = self.index.search, self.params, [self.queries[row : row + 1] for row in range(n)]
        times = np.empty(n, dtype=np.int64)
        for place, row in enumerate(rows):
            start = time.perf_counter_ns()
            search(row, K, params=params)
            times[place] = time.perf_counter_ns() - start
        return float(np.median(times)) / 1e9

    def one_by_one(self, n: int) -> Items:
        return np.concatenate(
            [self.index.search(self.queries[row : row + 1], K, params=self.params)[1] for row in range(n)]
        )


def measure(rows: int, dimensions: int, batch: int, singles: int, rounds: int) -> dict[str, Any]:
    from rankjury.retrieval.bench.benchmark import BuiltIndex, IndexBenchmark

    drawn = draw_model(rows + batch, dimensions, REFERENCE_NOISE, seed=1)
    corpus, queries = drawn[:rows], np.ascontiguousarray(drawn[rows:])
    bench = IndexBenchmark(named(corpus, "item"), named(queries, "query"), engine="faiss-hnsw", k=K)
    few = IndexBenchmark(bench.corpus, named(queries[:singles], "query"), engine="faiss-hnsw", k=K)
    with bench.build() as built:
        bare, asked = Bare(built.engine._index, queries), BuiltIndex(few, built.engine, built.seconds)
        same = bool((built.search(SEARCH).items == bare.batch()).all())
        same = same and bool((asked.search(SEARCH).items == bare.one_by_one(singles)).all())
        found = take_turns(built, asked, bare, rounds)
    version = f"rankjury {metadata.version('rankjury')}, faiss {metadata.version('faiss-cpu')}"
    return {**found, "build_seconds": built.seconds, "same": same, "version": version}


def take_turns(built: Any, asked: Any, bare: Bare, rounds: int) -> dict[str, Any]:
    """Seconds a query: all at once, one by one, and what the loop takes for an empty one."""
    batch: dict[str, list[float]] = {"bare": [], "rankjury": []}
    single: dict[str, list[float]] = {"bare": [], "rankjury": []}
    loop = []
    for _ in range(rounds):
        batch["bare"].append(seconds_of(bare.batch) / len(bare.queries))
        batch["rankjury"].append(seconds_of(lambda: built.search(SEARCH)) / len(bare.queries))
        single["bare"].append(bare.median(len(asked.bench.queries)))
        timed = asked.timed(SEARCH, rounds=1)
        single["rankjury"].append(float(np.median(timed.seconds)))
        loop.append(timed.overhead_seconds)
    return {"batch": batch, "single": single, "loop": loop}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("rows", "dimensions", "batch", "singles"):
        parser.add_argument(name, type=int)
    parser.add_argument("--rounds", type=int, default=5)
    print(json.dumps(measure(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
