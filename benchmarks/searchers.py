"""Times one way of finding the nearest neighbours of vectors in memory, or compares what two ways found.

Vectors are drawn from a fixed seed, so every process has the same ones. A process makes them, makes one small call that
is not timed, and times one call of the full size. It prints the seconds as JSON and saves the neighbours it found.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Items = NDArray[np.int64]
    Search = Callable[[Vectors, int], Items | None]

SEED = 7
COPIES = 0.01
ROWS_OF_A_TILE = 1024
ROWS_AT_ONCE = 1 << 14
WARMING_ROWS = 300
PROCESSOR_KINDS = {"avx512f": "SKYLAKEX", "avx2": "HASWELL"}


def draw_vectors(rows: int, dimensions: int, seed: int = SEED) -> Vectors:
    """Of length 1, one in a hundred an exact copy of another; made in place, so that nothing else adds to the peak."""
    import numpy as np

    random = np.random.default_rng(seed)
    vectors = np.empty((rows, dimensions), dtype=np.float32)
    for first in range(0, rows, ROWS_AT_ONCE):
        block = vectors[first : first + ROWS_AT_ONCE]
        random.standard_normal(dtype=np.float32, out=block)
        block /= np.linalg.norm(block, axis=1)[:, None]
    copies = int(COPIES * rows)
    vectors[rows // 2 : rows // 2 + copies] = vectors[:copies]
    return vectors


def rankjury_search(*, scored: bool = True) -> tuple[Search, str]:
    import numpy as np

    from rankjury.retrieval.knn.search import nearest

    return lambda vectors, k: nearest(vectors, vectors, k, own=np.arange(len(vectors)), scored=scored).items, "rankjury"


def rankjury_order_search() -> tuple[Search, str]:
    """As `rankjury agree` searches: no scores, and a BLAS whose threads do not wait for more work."""
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "14")
    return rankjury_search(scored=False)


def without_own(found: Items) -> Items:
    """Take out each row's own item; where it is not there, a copy of it came first and the last goes instead."""
    import numpy as np

    out = found == np.arange(len(found))[:, None]
    out[~out.any(axis=1), -1] = True
    return found[~out].reshape(len(found), -1)


def faiss_search() -> tuple[Search, str]:
    import faiss

    def search(vectors: Vectors, k: int) -> Items:
        return without_own(faiss.knn(vectors, vectors, k + 1, metric=faiss.METRIC_INNER_PRODUCT)[1])

    return search, "faiss-cpu"


def faiss_tuned_search() -> tuple[Search, str]:
    """Tell faiss's BLAS, which is older than many processors, which kernels this one can run."""
    information = Path("/proc/cpuinfo")
    flags = set(information.read_text().split()) if information.exists() else set()
    kind = next((kind for flag, kind in PROCESSOR_KINDS.items() if flag in flags), None)
    if kind:
        os.environ.setdefault("OPENBLAS_CORETYPE", kind)
    return faiss_search()


def sklearn_search() -> tuple[Search, str]:
    from sklearn.neighbors import NearestNeighbors

    def search(vectors: Vectors, k: int) -> Items:
        fitted = NearestNeighbors(n_neighbors=k, algorithm="brute", metric="cosine").fit(vectors)
        return fitted.kneighbors(return_distance=False)

    return search, "scikit-learn"


def gemm_search() -> tuple[Search, str]:
    """All products in tiles of rows, and nothing else."""
    import numpy as np

    def search(vectors: Vectors, k: int) -> None:
        tile = np.empty((ROWS_OF_A_TILE, len(vectors)), dtype=np.float32)
        for first in range(0, len(vectors), ROWS_OF_A_TILE):
            rows = vectors[first : first + ROWS_OF_A_TILE]
            np.matmul(rows, vectors.T, out=tile[: len(rows)])

    return search, "numpy"


def argsort_search() -> tuple[Search, str]:
    """What one writes first: all products at once, and each row sorted."""
    import numpy as np

    def search(vectors: Vectors, k: int) -> Items:
        products = vectors @ vectors.T
        np.fill_diagonal(products, -np.inf)
        return np.argsort(-products, axis=1)[:, :k]

    return search, "numpy"


SEARCHES: dict[str, Callable[[], tuple[Search, str]]] = {
    "rankjury": rankjury_search,
    "rankjury-order": rankjury_order_search,
    "faiss": faiss_search,
    "faiss-tuned": faiss_tuned_search,
    "sklearn": sklearn_search,
    "gemm": gemm_search,
    "argsort": argsort_search,
}


def time_search(tool: str, rows: int, dimensions: int, k: int, found: Path | None) -> dict[str, Any]:
    search, package = SEARCHES[tool]()
    import numpy as np

    vectors = draw_vectors(rows, dimensions)
    search(vectors[:WARMING_ROWS], k)
    start = time.perf_counter()
    items = search(vectors, k)
    seconds = time.perf_counter() - start
    if found and items is not None:
        np.save(found, items)
    return {"seconds": seconds, "version": metadata.version(package)}


def search_many(tool: str, rows: int, dimensions: int, k: int, queries: int) -> dict[str, Any]:
    """Other queries than items. `baseline` imports and makes the vectors, and searches nothing."""
    import numpy as np

    from rankjury.retrieval.knn.search import nearest

    items, asked = draw_vectors(rows, dimensions), draw_vectors(queries, dimensions, SEED + 1)
    if tool == "baseline":
        return {"seconds": 0.0}
    nearest(asked[:WARMING_ROWS], items[:WARMING_ROWS], k)
    start = time.perf_counter()
    found = nearest(asked, items, k)
    return {"seconds": time.perf_counter() - start, "checksum": int(np.sum(found.items))}


def compare(rows: int, dimensions: int, one: Path, other: Path) -> dict[str, Any]:
    """Give the share of queries with the same set, and how far apart the n-th best scores of both are at most."""
    import numpy as np

    vectors = draw_vectors(rows, dimensions)
    sides = [np.sort(np.load(file), axis=1) for file in (one, other)]
    apart = 0.0
    for first in range(0, rows, ROWS_AT_ONCE // 64):
        part = slice(first, first + ROWS_AT_ONCE // 64)
        queries = vectors[part].astype(np.float64)
        scores = [np.sort(np.einsum("qd,qkd->qk", queries, vectors[side[part]])) for side in sides]
        apart = max(apart, float(np.abs(scores[0] - scores[1]).max()))
    twice = any((side[:, 1:] == side[:, :-1]).any() for side in sides)
    return {"same": float((sides[0] == sides[1]).all(axis=1).mean()), "apart": apart, "twice": bool(twice)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=(*SEARCHES, "baseline", "compare"))
    parser.add_argument("rows", type=int)
    parser.add_argument("dimensions", type=int)
    parser.add_argument("k", type=int)
    parser.add_argument("--queries", type=int, help="other queries than items, so many")
    parser.add_argument("--found", type=Path, action="append", default=[], help="where neighbours are, or go to")
    arguments = parser.parse_args()
    shape = (arguments.rows, arguments.dimensions)
    if arguments.task == "compare":
        report = compare(*shape, *arguments.found)
    elif arguments.queries:
        report = search_many(arguments.task, *shape, arguments.k, arguments.queries)
    else:
        report = time_search(arguments.task, *shape, arguments.k, next(iter(arguments.found), None))
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
