"""Times one way of measuring how far candidates find what a reference finds, from vectors in memory.

Vectors of all models are drawn from one latent space by a fixed seed, so every process has the same ones, and
candidates agree with the reference in part. A process makes them, makes one small call that is not timed, and times one
call of the full size. It prints the seconds as JSON, with the means and standard deviations that came out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# At the end: what the standard library has too, such as `statistics`, is to be taken from there.
sys.path.append(str(Path(__file__).resolve().parent))

from searchers import SEARCHES, SEED, WARMING_ROWS

Vectors = NDArray[Any]
Floats = NDArray[np.float64]
Items = NDArray[np.int64]
Measured = dict[str, tuple[float, float]]
"""By candidate, measure and cut-off, as `tuned ndcg@10`: mean and standard deviation."""
Agree = Callable[[Vectors, dict[str, Vectors], Sequence[int]], Measured]

FACTORS, TOPICS = 64, 50
ROWS_AT_ONCE = 1 << 10
SPREAD = 0.6
"""Of items around the centre of their topic, whose own spread is 1."""
REFERENCE_NOISE = 0.3
CANDIDATE_NOISES = {"base": 1.2, "tuned": 0.6}


def draw_model(rows: int, dimensions: int, noise: float, seed: int) -> Vectors:
    """One model's view of the shared factors, of length 1; made in place, so that nothing else adds to the peak."""
    shared, own = np.random.default_rng(SEED), np.random.default_rng((SEED, seed))
    centres = shared.standard_normal((TOPICS, FACTORS), dtype=np.float32)
    projection = own.standard_normal((FACTORS, dimensions), dtype=np.float32) / np.float32(np.sqrt(FACTORS))
    vectors = np.empty((rows, dimensions), dtype=np.float32)
    for first in range(0, rows, ROWS_AT_ONCE):
        block = vectors[first : first + ROWS_AT_ONCE]
        factors = centres[shared.integers(TOPICS, size=len(block))]
        factors += np.float32(SPREAD) * shared.standard_normal(factors.shape, dtype=np.float32)
        own.standard_normal(dtype=np.float32, out=block)
        block *= np.float32(noise)
        block += factors @ projection
        block /= np.linalg.norm(block, axis=1)[:, None]
    return vectors


def draw_models(rows: int, dimensions: Sequence[int]) -> tuple[Vectors, dict[str, Vectors]]:
    """The reference, and as many candidates as there are further dimensions."""
    reference = draw_model(rows, dimensions[0], REFERENCE_NOISE, seed=1)
    named = zip(CANDIDATE_NOISES.items(), dimensions[1:], strict=False)
    return reference, {
        name: draw_model(rows, width, noise, seed) for seed, ((name, noise), width) in enumerate(named, start=2)
    }


def rankjury_agree(reference: Vectors, candidates: dict[str, Vectors], cuts: Sequence[int], **options: Any) -> Measured:
    from rankjury import agree
    from rankjury.retrieval.agreement.reference import MEASURES, reference_measures

    estimates = agree(reference, candidates, cuts, **options).estimates
    return {
        f"{name} {measure}@{k}": (of[f"{label}@{k}"].mean, of[f"{label}@{k}"].std)
        for name, of in estimates.items()
        for measure, label in zip(MEASURES, reference_measures(), strict=False)
        for k in cuts
    }


def bare_searches(reference: Vectors, candidates: dict[str, Vectors], cuts: Sequence[int]) -> Measured:
    """The neighbours of all models, and nothing made of them."""
    search, _ = SEARCHES["rankjury"]()
    for vectors in (reference, *candidates.values()):
        search(vectors, max(cuts))
    return {}


def share_found(wanted: list[int], ranked: list[int], k: int) -> float:
    return len(set(wanted[:k]).intersection(ranked[:k])) / k


def discounted_gain(wanted: list[int], ranked: list[int], k: int) -> float:
    relevant = set(wanted[:k])
    discounts = [1.0 / np.log2(place + 1) for place in range(1, k + 1)]
    gain = sum(discount for item, discount in zip(ranked, discounts, strict=False) if item in relevant)
    return gain / sum(discounts)


def first_found(wanted: list[int], ranked: list[int], k: int) -> float:
    relevant = set(wanted[:k])
    return next((1.0 / place for place, item in enumerate(ranked[:k], start=1) if item in relevant), 0.0)


def average_precision(wanted: list[int], ranked: list[int], k: int) -> float:
    relevant = set(wanted[:k])
    places = [place for place, item in enumerate(ranked[:k], start=1) if item in relevant]
    return float(np.mean([found / place for found, place in enumerate(places, start=1)])) if places else 0.0


PLAIN_MEASURES = {"recall": share_found, "ndcg": discounted_gain, "mrr": first_found, "map": average_precision}
"""Of one query at one cut-off, each from its definition."""


def all_cosines(vectors: NDArray[Any]) -> NDArray[Any]:
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit @ unit.T


def first_others(cosines: NDArray[Any], query: int, k: int) -> list[int]:
    order = np.argsort(cosines[query])[::-1]
    return order[order != query][:k].tolist()


def plain(reference: Vectors, candidates: dict[str, Vectors], cuts: Sequence[int]) -> Measured:
    """The papers protocol step by step: full matrices; then for every candidate, cut-off and query both rows sorted."""
    true = all_cosines(reference)
    measured: Measured = {}
    for name, vectors in candidates.items():
        cosines = all_cosines(vectors)
        for k in cuts:
            found: dict[str, list[float]] = {measure: [] for measure in PLAIN_MEASURES}
            for query in range(len(reference)):
                wanted, ranked = first_others(true, query, k), first_others(cosines, query, k)
                for measure, function in PLAIN_MEASURES.items():
                    found[measure].append(function(wanted, ranked, k))
            measured |= {f"{name} {measure}@{k}": mean_and_std(np.array(values)) for measure, values in found.items()}
    return measured


def plain_sorted_once(reference: Vectors, candidates: dict[str, Vectors], cuts: Sequence[int]) -> Measured:
    """The same with every row sorted once, whatever candidates and cut-offs there are."""
    true = all_cosines(reference)
    cosines = {name: all_cosines(vectors) for name, vectors in candidates.items()}
    found: dict[str, list[float]] = {}
    for query in range(len(reference)):
        wanted = first_others(true, query, max(cuts))
        for name, of_model in cosines.items():
            ranked = first_others(of_model, query, max(cuts))
            for k in cuts:
                for measure, function in PLAIN_MEASURES.items():
                    found.setdefault(f"{name} {measure}@{k}", []).append(function(wanted, ranked, k))
    return {name: mean_and_std(np.array(values)) for name, values in found.items()}


def plain_exactly(reference: Vectors, candidates: dict[str, Vectors], cuts: Sequence[int]) -> Measured:
    """With products of 64 bits: those of 32 put near-ties in another order."""
    wide = {name: vectors.astype(np.float64) for name, vectors in candidates.items()}
    return plain_sorted_once(reference.astype(np.float64), wide, cuts)


def plain_vectorised(reference: Vectors, candidates: dict[str, Vectors], cuts: Sequence[int]) -> Measured:
    """Full matrices and sorted rows too, but no loop over queries or items."""
    search, _ = SEARCHES["argsort"]()
    wanted = search(reference, max(cuts))
    measured: Measured = {}
    for name, vectors in candidates.items():
        places = places_among(search(vectors, max(cuts)), wanted)
        for k in cuts:
            scores = scores_of_hits(places[:, :k] < k)
            measured |= {f"{name} {measure}@{k}": mean_and_std(values) for measure, values in scores.items()}
    return measured


def places_among(ranked: Items, wanted: Items) -> Items:
    """Where each ranked item is among the wanted of its query, from 0; past the last where it is not."""
    same = ranked[:, :, None] == wanted[:, None, :]
    return np.where(same.any(axis=2), same.argmax(axis=2), wanted.shape[1])


def scores_of_hits(hits: NDArray[np.bool_]) -> dict[str, Floats]:
    """The four measures of every query, from queries × the first k."""
    positions = np.arange(1, hits.shape[1] + 1)
    discounts = 1.0 / np.log2(positions + 1)
    counts = np.cumsum(hits, axis=1)
    return {
        "recall": hits.mean(axis=1),
        "ndcg": hits @ discounts / discounts.sum(),
        "mrr": (hits / positions).max(axis=1),
        "map": (hits * counts / positions).sum(axis=1) / np.maximum(counts[:, -1], 1),
    }


def mean_and_std(values: Floats) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1))


WAYS: dict[str, tuple[Agree, str]] = {
    "rankjury": (partial(rankjury_agree, pairs=0, how=None), "rankjury"),
    "rankjury-intervals": (rankjury_agree, "rankjury"),
    "searches": (bare_searches, "rankjury"),
    "plain": (plain, "numpy"),
    "plain-sorted-once": (plain_sorted_once, "numpy"),
    "plain-vectorised": (plain_vectorised, "numpy"),
    "plain-exactly": (plain_exactly, "numpy"),
}


def time_agree(way: str, rows: int, dimensions: Sequence[int], cuts: Sequence[int]) -> dict[str, Any]:
    measure, package = WAYS[way]
    reference, candidates = draw_models(rows, dimensions)
    measure(reference[:WARMING_ROWS], {name: some[:WARMING_ROWS] for name, some in candidates.items()}, cuts)
    start = time.perf_counter()
    measured = measure(reference, candidates, cuts)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "version": metadata.version(package), "measured": measured}


def agree_on_samples(
    way: str, rows: int, dimensions: Sequence[int], cuts: Sequence[int], samples: int
) -> dict[str, Any]:
    """Ask a few of many, as `rankjury.agree` comes. `baseline` imports and makes the vectors, and asks nothing."""
    import rankjury.retrieval.agreement.reference  # noqa: F401 - so that the baseline holds it too

    reference, candidates = draw_models(rows, dimensions)
    if way == "baseline":
        return {"seconds": 0.0}
    start = time.perf_counter()
    measured = rankjury_agree(reference, candidates, cuts, n_samples=samples)
    return {"seconds": time.perf_counter() - start, "measured": measured}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=(*WAYS, "baseline"))
    parser.add_argument("rows", type=int)
    parser.add_argument("dimensions", type=int, nargs="+", help="of the reference, then of one or two candidates")
    parser.add_argument("--k-values", type=int, nargs="+", required=True)
    parser.add_argument("--samples", type=int, help="ask only so many of the items (rankjury, baseline)")
    arguments = parser.parse_args()
    request = (arguments.task, arguments.rows, arguments.dimensions, arguments.k_values)
    report = agree_on_samples(*request, arguments.samples) if arguments.samples else time_agree(*request)
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
