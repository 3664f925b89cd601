"""Blocks of queries are independent of each other: worked on in threads, joined in order.

Small blocks keep their arrays within the processor's cache, which is worth more than the threads. Nothing that comes
out depends on the size of a block or on the number of threads.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np

from karat.types import Ints

__all__ = ["cut_into_blocks", "cut_rows", "in_threads", "threads"]

Result = TypeVar("Result")

ROWS_PER_BLOCK = 1 << 18


def cut_into_blocks(starts: Ints, rows_per_block: int | None = None) -> list[tuple[int, int]]:
    """Ranges of whole segments (first, past the last) of about so many rows each."""
    size = rows_per_block or ROWS_PER_BLOCK
    segments = starts.size - 1
    bounds = np.searchsorted(starts, np.arange(size, int(starts[-1]), size))
    edges = np.unique(np.concatenate(([0], bounds, [segments])))
    return list(pairwise(edges.tolist()))


def cut_rows(rows: int, rows_per_block: int | None = None) -> list[tuple[int, int]]:
    """Ranges of rows (first, past the last), whatever segments they belong to."""
    size = rows_per_block or ROWS_PER_BLOCK
    return [(first, min(first + size, rows)) for first in range(0, rows, size)]


def in_threads(work: Callable[[int, int], Result], parts: list[tuple[int, int]]) -> Iterator[Result]:
    """The results of the parts, in their order."""
    if len(parts) < 2 or threads() < 2:
        yield from (work(first, last) for first, last in parts)
        return
    with ThreadPoolExecutor(max_workers=threads()) as pool:
        yield from pool.map(lambda part: work(*part), parts)


def threads() -> int:
    """As many as cores; KARAT_THREADS says otherwise, where others have a claim to them."""
    given = os.environ.get("KARAT_THREADS", "")
    return int(given) if given.isdigit() and int(given) else os.cpu_count() or 1
