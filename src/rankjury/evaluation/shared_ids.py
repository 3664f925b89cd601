"""Overlap of the item ids of a gold and a ranking, from samples of both that can be joined block by block.

A sample (bottom-k sketch) holds the smallest hashes of a set of ids: all of them up to ``_KEPT`` distinct ids. It does
not depend on the order of rows, nor on blocks, so that every way of evaluating decides alike.

Source: Beyer et al., On synopses for distinct-value estimation under multiset operations, SIGMOD 2007.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.errors import DataError

_KEPT = 1 << 14
_LOOKED_AT = 8 * _KEPT
_HASH_SEED = 0
_EXAMPLES = 3
FEWEST_IDS = 10
"""So many distinct ids on each side cannot all differ by chance; of fewer they may."""
_FEWEST_FOR_A_SHARE = 100
_LOW_SHARE = 100  # a share of one in so many, 1 %, is low
_LONG_ENOUGH = 10
"""Lists with fewer ids than one in so many of the gold's, a tenth, are too short for a share to say anything."""

Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class IdSample:
    """The smallest hashes of a set of ids, ascending; and the ids of the first few, as examples."""

    packed: bytes
    examples: tuple[tuple[int, str], ...]

    @classmethod
    def of(cls, ids: pl.Series) -> "IdSample":
        hashes = ids.hash(_HASH_SEED).to_numpy()
        smallest = _smallest(hashes)
        examples = [(int(value), str(ids[int(np.argmax(hashes == value))])) for value in smallest[:_EXAMPLES]]
        return cls(smallest.tobytes(), tuple(examples))

    def __or__(self, other: "IdSample") -> "IdSample":
        """Return the sample of both sets together."""
        both = _smallest(np.concatenate((self.hashes, other.hashes)))
        return IdSample(both.tobytes(), tuple(sorted({*self.examples, *other.examples})[:_EXAMPLES]))

    @cached_property
    def hashes(self) -> Hashes:
        return np.frombuffer(self.packed, dtype=np.uint64)

    @property
    def shown(self) -> str:
        return ", ".join(sorted(repr(id_) for _, id_ in self.examples)) + (" …" if len(self) > _EXAMPLES else "")

    def __len__(self) -> int:
        return int(self.hashes.size)

    @property
    def size(self) -> float:
        """How many distinct ids there are: exact where all hashes are held, else estimated."""
        return float(len(self)) if len(self) < _KEPT else (_KEPT - 1) / (float(self.hashes[-1]) / 2.0**64)


@dataclass(frozen=True)
class SharedIds:
    """Samples of the gold's and the ranking's item ids; those of other blocks can be added."""

    gold: IdSample
    run: IdSample

    def __add__(self, other: "SharedIds") -> "SharedIds":
        return SharedIds(self.gold | other.gold, self.run | other.run)

    @cached_property
    def _counts(self) -> tuple[int, int, int]:
        """Ids of the gold and of the ranking that can be compared, and how many both have."""
        full = [sample.hashes[-1] for sample in (self.gold, self.run) if len(sample) == _KEPT]
        gold, run = self.gold.hashes, self.run.hashes
        if full:
            gold, run = gold[gold <= min(full)], run[run <= min(full)]
        return gold.size, run.size, int(np.intersect1d(gold, run, assume_unique=True).size)

    @property
    def disjoint(self) -> bool:
        """Whether both sides have ids, and none of one is among those of the other."""
        gold, run, common = self._counts
        return min(gold, run) > 0 and common == 0

    @property
    def surely_disjoint(self) -> bool:
        """Whether that cannot be by chance: there are enough ids on both sides."""
        gold, run, _ = self._counts
        return self.disjoint and min(gold, run) >= FEWEST_IDS

    @property
    def low_share(self) -> float | None:
        """The share of the gold's ids that the ranking has, where it is below 1 % and lists are long enough."""
        gold, _, common = self._counts
        if gold < _FEWEST_FOR_A_SHARE or common * _LOW_SHARE >= gold or self.run.size * _LONG_ENOUGH < self.gold.size:
            return None
        return common / gold

    def more_than(self, number: int) -> bool:
        """Whether gold and ranking know more distinct items than this."""
        return (self.gold | self.run).size > number


def no_item_in_common(shared: SharedIds, where: str) -> DataError:
    """The error for ids that are spelled differently on both sides."""
    return DataError(
        f"no item in common: the gold has {shared.gold.shown}, the ranking has {shared.run.shown}",
        where=where,
        expected="the same item ids on both sides",
        hint="Check prefixes (D123 and 123), leading zeros, and that these two belong together.",
    )


def _smallest(hashes: Hashes) -> Hashes:
    """The smallest distinct hashes, ascending; of many only those are sorted that can be among them."""
    if hashes.size > _LOOKED_AT:
        # Hashes are spread evenly: below the bound are about as many as are looked at, duplicates among them.
        few = np.unique(hashes[hashes < np.uint64((1 << 64) * _LOOKED_AT // hashes.size)])
        if few.size >= _KEPT:
            return few[:_KEPT]
        hashes = pl.Series(hashes).unique().to_numpy()
    return np.unique(hashes)[:_KEPT]
