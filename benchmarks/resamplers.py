"""Times one way of making intervals or tests from per-query scores, in memory.

Prints the seconds of each call as JSON, with what came out, so that tools can be held against each other. Scores
are drawn from a fixed seed, so every process has the same ones. ranx gets one call that is not timed, to compile.
scipy gets its best batch and layout, tried out before the clock starts; `scipy-plain` is what a user gets who
passes scores and nothing else. rankjury starts from scores and the names of queries, with nothing prepared.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from importlib import metadata
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MEASURES = 10
CALLS = 3
LEVEL = 0.95
SEED = 7
BATCHES = (1, 2, 5, 10, 20, 50, 100)
TRIED_RESAMPLES = 200

Output = TypeVar("Output")
Report = dict[str, Any]


def draw_scores(queries: int) -> Floats:
    """Scores between 0 and 1, many of them 0, as queries × measures."""
    import numpy as np

    random = np.random.default_rng(SEED)
    scores = np.empty((queries, MEASURES))
    for column in scores.T:
        column[:] = random.beta(0.6, 1.2, queries)
        column[random.random(queries) < 0.3] = 0.0
    return scores


def draw_rival(scores: Floats) -> Floats:
    """Scores of another system, a little better: from measure to measure from not at all to clearly."""
    import numpy as np

    random = np.random.default_rng(SEED + 1)
    gains = np.linspace(0.0, 0.3, MEASURES) / np.sqrt(scores.shape[0])
    return scores + random.normal(gains, 0.1, scores.shape)


def time_calls(call: Callable[[], Output]) -> tuple[list[float], Output]:
    """Give the seconds of each call, and what the last one gave."""
    seconds = []
    for _ in range(CALLS):
        start = time.perf_counter()
        output = call()
        seconds.append(time.perf_counter() - start)
    return seconds, output


def report(seconds: list[float], units: int, package: str, **found: object) -> Report:
    """Put the time per resample and measure beside the seconds."""
    return {"seconds": seconds, "unit_seconds": min(seconds) / units, "version": metadata.version(package), **found}


def rankjury_intervals(queries: int, resamples: int) -> Report:
    import polars as pl

    from rankjury.stats.estimates import Estimate, estimate_all
    from rankjury.stats.resampling import Resampling, query_keys

    scores, names = draw_scores(queries), pl.Series(range(queries)).cast(pl.String)
    resampling = Resampling(resamples=resamples, level=LEVEL, interval="percentile")

    def call() -> list[Estimate]:
        return estimate_all(scores, ["mean"] * MEASURES, query_keys(names, resampling.seed), resampling)

    seconds, estimates = time_calls(call)
    return report(seconds, resamples * MEASURES, "rankjury", bounds=[estimate.ci for estimate in estimates])


def rankjury_tests(queries: int, resamples: int) -> Report:
    import polars as pl

    from rankjury.stats.resampling import query_keys
    from rankjury.stats.significance import RandomizationTest, sign_flip_tests
    from rankjury.stats.sums import to_fixed

    scores, names = draw_scores(queries), pl.Series(range(queries)).cast(pl.String)
    rival = draw_rival(scores)

    def call() -> list[RandomizationTest | None]:
        pairs = [to_fixed(one, other) for one, other in zip(rival.T, scores.T, strict=True)]
        return sign_flip_tests([one.whole - other.whole for one, other in pairs], query_keys(names, 0), resamples)

    seconds, tests = time_calls(call)
    return report(seconds, resamples * MEASURES, "rankjury", p_values=[test.p for test in tests if test])


def scipy_intervals(queries: int, resamples: int) -> Report:
    """All measures at once, with the batch and the layout that take the least time."""
    import numpy as np
    from scipy.stats import bootstrap

    scores = draw_scores(queries)
    layouts = {0: scores, 1: np.ascontiguousarray(scores.T)}

    def call(axis: int, batch: int, resamples: int) -> Any:
        random = np.random.default_rng(SEED)
        settings = {"n_resamples": resamples, "batch": batch, "confidence_level": LEVEL, "rng": random}
        return bootstrap((layouts[axis],), np.mean, axis=axis, vectorized=True, method="percentile", **settings)

    tried = {
        (axis, batch): min(time_calls(lambda axis=axis, batch=batch: call(axis, batch, TRIED_RESAMPLES))[0])
        for axis, batch in product(layouts, BATCHES)
    }
    axis, batch = min(tried, key=lambda settings: tried[settings])
    seconds, found = time_calls(lambda: call(axis, batch, resamples))
    bounds = np.column_stack(found.confidence_interval).tolist()
    return report(seconds, resamples * MEASURES, "scipy", bounds=bounds, batch=batch, axis=axis)


def scipy_plain_intervals(queries: int, resamples: int) -> Report:
    """One measure, with the batch that scipy takes by itself: all resamples at once."""
    import numpy as np
    from scipy.stats import bootstrap

    scores = np.ascontiguousarray(draw_scores(queries)[:, 0])
    seconds, _ = time_calls(
        lambda: bootstrap((scores,), np.mean, n_resamples=resamples, confidence_level=LEVEL, method="percentile")
    )
    return report(seconds, resamples, "scipy")


def ranx_tests(queries: int, resamples: int) -> Report:
    import numpy as np
    from ranx.statistical_tests import fisher_randomization_test

    scores = draw_scores(queries)
    pairs = [
        (np.ascontiguousarray(one), np.ascontiguousarray(other))
        for one, other in zip(scores.T, draw_rival(scores).T, strict=True)
    ]
    fisher_randomization_test(*pairs[0], n_permutations=10)
    seconds, p_values = time_calls(
        lambda: [float(fisher_randomization_test(*pair, n_permutations=resamples)[0]) for pair in pairs]
    )
    return report(seconds, resamples * MEASURES, "ranx", p_values=p_values)


TASKS = {
    "rankjury-intervals": rankjury_intervals,
    "rankjury-tests": rankjury_tests,
    "scipy": scipy_intervals,
    "scipy-plain": scipy_plain_intervals,
    "ranx": ranx_tests,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("queries", type=int)
    parser.add_argument("resamples", type=int)
    arguments = parser.parse_args()
    if arguments.task.startswith("rankjury"):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as rankjury's command line does
    print(json.dumps(TASKS[arguments.task](arguments.queries, arguments.resamples)), flush=True)


if __name__ == "__main__":
    main()
