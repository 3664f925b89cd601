"""Golds and runs of which the scores are known."""

import random
from pathlib import Path

from tests.cli.support import put

QUERIES = 24
RANKS = [1, 1, 2, 3, 1, 2, 1, 3] * 3


def put_gold(name: str = "g.qrels", queries: int = QUERIES, grade: int = 1) -> str:
    """Three judged items a query, of which d0 is relevant; so nothing is left to warn of."""
    lines = (f"q{q:02} 0 d{item} {grade if item == 0 else 0}" for q in range(queries) for item in range(3))
    return put(name, "\n".join(lines) + "\n")


def put_run(name: str, ranks: list[int]) -> str:
    """A run that puts d0 of each query at the rank given: rr is its inverse."""
    lines = []
    for query, place in enumerate(ranks):
        items = ["d1", "d2"]
        items.insert(place - 1, "d0")
        lines += [f"q{query:02} Q0 {item} {rank} {-rank} t" for rank, item in enumerate(items, 1)]
    return put(name, "\n".join(lines) + "\n")


def shuffled(name: str, seed: int) -> None:
    lines = Path(name).read_text().splitlines(keepends=True)
    random.Random(seed).shuffle(lines)
    put(name, "".join(lines))


def tree(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
