#!/usr/bin/env python3
"""How often a 95 % interval of rankjury holds the true mean, by simulation, as a Markdown table.

Draws many sets of per-query scores from shapes whose mean is known, makes an interval of each, and counts. Run it with
the interpreter that has rankjury: .venv/bin/python -P benchmarks/interval_coverage.py. Seeds are fixed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.stats.estimates import estimate_all
from rankjury.stats.resampling import IntervalMethod, Resampling, query_keys

Floats = NDArray[np.float64]
Shape = Callable[[np.random.Generator, tuple[int, ...]], Floats]

SIZES = (50, 300, 2_000)
METHODS: tuple[IntervalMethod, ...] = ("bca", "percentile")
COLUMNS_AT_ONCE = 500


def reciprocal_ranks(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """A quarter find nothing, the others at a geometric rank."""
    return np.where(random.random(shape) < 0.25, 0.0, 1.0 / random.geometric(0.3, shape))


def average_precisions(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return random.beta(0.5, 1.5, shape)


def gains(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """nDCG: some zeros, some ones, the others between."""
    kind = random.random(shape)
    return np.where(kind < 0.15, 0.0, np.where(kind > 0.8, 1.0, random.beta(2.0, 2.0, shape)))


def hard_queries(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Three fifths find nothing, the others little."""
    return np.where(random.random(shape) < 0.6, 0.0, random.beta(0.5, 3.0, shape))


def hits(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Nearly all queries find something."""
    return (random.random(shape) < 0.95).astype(np.float64)


def few_differences(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Nine tenths of the queries do not change."""
    return np.where(random.random(shape) < 0.9, 0.0, random.normal(0.02, 0.2, shape))


def differences(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Three fifths of the queries do not change."""
    return np.where(random.random(shape) < 0.6, 0.0, random.normal(0.02, 0.2, shape))


SHAPES: dict[str, tuple[Shape, float]] = {
    "reciprocal ranks": (reciprocal_ranks, 0.75 * 0.3 / 0.7 * -np.log(0.3)),
    "average precisions": (average_precisions, 0.25),
    "nDCG with zeros and ones": (gains, 0.2 + 0.65 * 0.5),
    "hard queries, 60 % zeros": (hard_queries, 0.4 * 0.5 / 3.5),
    "hits, 95 % of them": (hits, 0.95),
    "differences, 60 % zeros": (differences, 0.4 * 0.02),
    "differences, 90 % zeros": (few_differences, 0.1 * 0.02),
}


def coverage(shape: Shape, mean: float, queries: int, sets: int, method: IntervalMethod) -> float:
    random = np.random.default_rng(queries)
    keys = query_keys(pl.Series(range(queries)).cast(pl.String), 0)
    resampling = Resampling(resamples=2_000, interval=method)
    held = 0
    for first in range(0, sets, COLUMNS_AT_ONCE):
        columns = min(COLUMNS_AT_ONCE, sets - first)
        estimates = estimate_all(shape(random, (queries, columns)), ["mean"] * columns, keys, resampling)
        held += sum(estimate.ci is not None and estimate.ci[0] <= mean <= estimate.ci[1] for estimate in estimates)
    return held / sets


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=4_000, help="simulated sets of scores (default: 4,000)")
    sets = parser.parse_args().sets
    sizes = " / ".join(f"{size:,}" for size in SIZES)
    print(f"| scores | {' | '.join(f'{method}, n = {sizes}' for method in METHODS)} |\n|:--|--:|--:|", flush=True)
    for name, (shape, mean) in SHAPES.items():
        cells = []
        for method in METHODS:
            found = (coverage(shape, mean, size, sets, method) for size in SIZES)
            cells.append(" / ".join(f"{100 * share:.1f}" for share in found) + " %")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
