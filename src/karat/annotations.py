"""Items and the keywords that each has: as lists, and as one row of bits a keyword."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from karat.arguments import check_arguments
from karat.errors import DataError, UnknownName
from karat.types import Bools, Ints, freeze, places_in
from karat.vocabulary import Vocabulary

__all__ = ["Annotations", "Bits", "places_of"]

Bits = NDArray[np.uint64]
_WIDTH = 64


@dataclass(frozen=True, eq=False)
class Annotations:
    """For each item the numbers of its keywords, ascending (CSR: those of row i are ``starts[i]:starts[i + 1]``)."""

    ids: pl.Series
    vocabulary: Vocabulary
    starts: Ints
    codes: Ints
    source: str = "annotations"
    notes: tuple[str, ...] = ()
    """What is odd about the table that they are from."""

    def __post_init__(self) -> None:
        freeze(self)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Annotations({self.source}: {len(self):,} items, {len(self.vocabulary):,} keywords)"

    @cached_property
    def bits(self) -> Bits:
        """Bit i of row v: whether item i has keyword v."""
        words = (len(self) + _WIDTH - 1) // _WIDTH
        packed = np.zeros((len(self.vocabulary), words * 8), dtype=np.uint8)
        of_item = np.repeat(np.arange(len(self)), np.diff(self.starts))
        np.bitwise_or.at(packed, (self.codes, of_item >> 3), (1 << (of_item & 7)).astype(np.uint8))
        return packed.view("<u8").astype(np.uint64, copy=False)

    @cached_property
    def frequencies(self) -> Ints:
        """How many items have each keyword."""
        return np.bincount(self.codes, minlength=len(self.vocabulary)).astype(np.int64)

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {str(id_): row for row, id_ in enumerate(self.ids)}

    def row_of(self, id_: str) -> int:
        """The row of an item, which must be there."""
        try:
            return self._row_of[id_]
        except KeyError:
            raise UnknownName("item", id_, self._row_of, where=self.source) from None

    @check_arguments
    def rows_of(self, ids: pl.Series) -> Ints:
        """The row of each of these ids, −1 where there is none."""
        return places_in(self.ids, ids)

    @check_arguments
    def keywords_of(self, id_: str) -> tuple[int, ...]:
        """The numbers of an item's keywords."""
        row = self.row_of(id_)
        return tuple(self.codes[self.starts[row] : self.starts[row + 1]].tolist())

    def have(self, rows: Ints, codes: Ints) -> Bools:
        """Pair by pair, whether the item of that row has the keyword of that number; no row (−1) has none."""
        words = self.bits[codes, np.maximum(rows, 0) >> 6]
        has = (words >> (rows & 63).astype(np.uint64)) & np.uint64(1) == 1
        return np.asarray(has & (rows >= 0), dtype=bool)

    @check_arguments
    def select(self, groups: tuple[str, ...]) -> "Annotations":
        """Only the keywords of these groups."""
        chosen = self.vocabulary.select(groups)
        if not len(chosen):
            raise DataError(f"found no keyword in {', '.join(groups)}", where=self.source, expected="at least one")
        number = np.array([chosen.number_of.get(one, -1) for one in self.vocabulary.keywords], dtype=np.int64)
        codes = number[self.codes]
        kept = codes >= 0
        starts = np.concatenate(([0], np.cumsum(kept)))[self.starts]
        return replace(self, vocabulary=chosen, starts=starts, codes=codes[kept])


def places_of(bits: Bits) -> tuple[Ints, Ints]:
    """The rows and places of the bits that are set, ascending; few words are looked into where few are set."""
    row, word = np.nonzero(bits)
    inside = np.unpackbits(bits[row, word].astype("<u8").view(np.uint8), bitorder="little").reshape(-1, _WIDTH)
    at, bit = np.nonzero(inside)
    return row[at], word[at] * _WIDTH + bit
