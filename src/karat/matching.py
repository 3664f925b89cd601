"""Which rows of a ranking are in the gold, and which pairs stand twice.

(query, item) pairs become 64-bit keys. A bitmap over the gold's keys leaves the few rows that can match; those are
joined on the keys, and compared by the ids themselves. Keys that occur twice make suspects, which are compared by their
ids as well, so nothing hangs on two hashes being different.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from karat.blocks import cut_into_blocks, in_threads
from karat.errors import DuplicatePair
from karat.types import Bools, Floats, Ints

__all__ = ["DuplicateRule", "Rows", "keep_one_of_each", "match_rows", "without_self_matches"]

DuplicateRule = Literal["error", "first", "last", "max"]
Keys = NDArray[np.uint64]

_HASH_SEED = 0
_QUERY_STRIDE = np.uint64(0x9E3779B97F4A7C15)
_BITMAP_BITS = (16, 27)
_SPARENESS_BITS = 5


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of gold or ranking whose query is in the gold, grouped by query (CSR)."""

    queries: Ints
    """The row in Judged of each segment's query."""
    starts: Ints
    items: pl.Series
    values: Floats | None

    def query_of(self, rows: Ints) -> Ints:
        """The query's row in Judged, for row numbers here."""
        return self.queries[np.searchsorted(self.starts, rows, side="right") - 1]

    def pairs(self, rows: Ints) -> pl.DataFrame:
        return pl.DataFrame({"query": self.query_of(rows), "item": self.items.gather(rows), "at": rows})

    def keys(self, first: int, last: int) -> Keys:
        """Keys of the rows of the segments from ``first`` up to ``last``."""
        low, high = int(self.starts[first]), int(self.starts[last])
        shift = self.queries[first:last].astype(np.uint64) * _QUERY_STRIDE
        hashes = self.items.slice(low, high - low).hash(_HASH_SEED).to_numpy()
        return np.asarray(hashes + np.repeat(shift, np.diff(self.starts[first : last + 1])))

    def kept(self, keep: Bools) -> "Rows":
        kept_before = np.concatenate(([0], np.cumsum(keep)))
        values = None if self.values is None else self.values[keep]
        return Rows(self.queries, kept_before[self.starts], self.items.filter(pl.Series(keep)), values)

    def without(self, rows: Ints) -> "Rows":
        keep = np.ones(len(self.items), dtype=bool)
        keep[rows] = False
        return self.kept(keep)


def match_rows(gold: Rows, ranking: Rows) -> tuple[Ints, Ints, bool]:
    """Row numbers in the ranking and in the gold of the pairs that both have, in the ranking's order.

    The third tells whether some pair may stand twice in the ranking.
    """
    gold_keys = gold.keys(0, gold.queries.size)
    bits = int(np.clip(np.ceil(np.log2(gold_keys.size + 1)) + _SPARENESS_BITS, *_BITMAP_BITS))
    shift = np.uint64(64 - bits)
    bitmap = np.zeros(1 << bits, dtype=bool)
    bitmap[gold_keys >> shift] = True

    def match_block(first: int, last: int) -> tuple[pl.DataFrame, bool]:
        keys = ranking.keys(first, last)
        slots = (keys >> shift).view(np.int64)
        near = np.flatnonzero(bitmap.take(slots))
        candidates = pl.DataFrame({"key": keys[near], "at": near + ranking.starts[first]})
        keys.sort()
        return candidates, bool((keys[1:] == keys[:-1]).any())

    results = list(in_threads(match_block, cut_into_blocks(ranking.starts)))
    if not results:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), False
    right = pl.DataFrame({"key": gold_keys, "gold_at": np.arange(gold_keys.size)})
    joined = pl.concat([block for block, _ in results]).join(right, on="key", how="inner", maintain_order="left")
    at, gold_at = joined["at"].to_numpy(), joined["gold_at"].to_numpy()
    # Where items and keys are equal, so are queries: an odd stride takes no two of them to one number.
    same = (ranking.items.gather(at) == gold.items.gather(gold_at)).to_numpy()
    return at[same], gold_at[same], any(suspect for _, suspect in results)


def keep_one_of_each(rows: Rows, rule: DuplicateRule, queries: pl.Series, source: str) -> Rows:
    """Each (query, item) once, by the rule."""
    keys = rows.keys(0, rows.queries.size)
    ordered = np.sort(keys)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if repeated.size == 0:
        return rows
    frame = rows.pairs(np.flatnonzero(np.isin(keys, repeated)))
    frame = frame.filter(frame.select("query", "item").is_duplicated())
    if frame.is_empty():
        return rows
    if rule == "error":
        raise _duplicate_error(frame, queries, source)
    if rule == "max" and rows.values is not None:
        frame = frame.with_columns(pl.Series("value", rows.values[frame["at"].to_numpy()]))
        frame = frame.sort("value", descending=True, maintain_order=True)
    held = frame.unique(["query", "item"], keep="last" if rule == "last" else "first", maintain_order=True)
    return rows.without(np.setdiff1d(frame["at"].to_numpy(), held["at"].to_numpy()))


def _duplicate_error(frame: pl.DataFrame, queries: pl.Series, source: str) -> DuplicatePair:
    query, item = str(queries[int(frame["query"][0])]), str(frame["item"][0])
    return DuplicatePair(query, item, frame.select("query", "item").n_unique(), source)


def without_self_matches(rows: Rows, queries: pl.Series) -> Rows:
    """Leaves out items whose id is their query's."""
    names = queries.cast(rows.items.dtype, strict=False)
    own = names.hash(_HASH_SEED).to_numpy()[rows.queries]
    hashes = rows.items.hash(_HASH_SEED).to_numpy()
    suspects = np.flatnonzero(hashes == np.repeat(own, np.diff(rows.starts)))
    same = rows.items.gather(suspects) == names.gather(rows.query_of(suspects))
    return rows.without(suspects[same.fill_null(False).to_numpy()])
