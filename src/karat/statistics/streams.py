"""Random numbers that belong to a query: derived from the seed and its id, whatever else is computed.

Each query has a key, a hash of (seed, id). The i-th word of its stream is SplitMix64's i-th output from that key, so
any part of any stream can be made by itself: in any order, in any block, in any process. Hence no digit depends on the
order of rows, on threads, on blocks, or on which other queries and measures take part.

Source: Steele, Lea and Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.
"""

from hashlib import blake2b
from itertools import accumulate

import numpy as np
import polars as pl
from numpy.typing import NDArray

from karat.types import Floats

__all__ = ["Keys", "Signs", "Weights", "bootstrap_weights", "keys_of", "pair_words", "random_words", "sign_bits"]

Keys = NDArray[np.uint64]

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))
_LAST_SHIFT = np.uint64(31)
_WEIGHTS_PER_WORD = 8
_BITS_PER_WORD = 64
# In 256ths: none, one, two … draws. A byte at or above the i-th threshold means more than i draws.
_CHANCES = (94, 95, 46, 16, 4, 1)
_THRESHOLDS = tuple(accumulate(_CHANCES))[:-1]
# The kinds of stream start from different keys, so that tests, intervals and samples do not share numbers.
_WEIGHTS, _SIGNS, _CHOICES = np.uint64(0), np.uint64(0xD1B54A32D192ED03), np.uint64(0x8CB92BA72F3D8DD7)


def keys_of(queries: pl.Series, seed: int) -> Keys:
    """The key of each query, by the seed and the id as a string."""
    salt = int(seed).to_bytes(16, "little", signed=True)
    digests = b"".join(blake2b(query.encode(), digest_size=8, salt=salt).digest() for query in queries.cast(pl.String))
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def bootstrap_weights(keys: Keys, first: int, last: int) -> Floats:
    """How often each query is drawn in resamples ``first`` to ``last``, as keys × resamples.

    Poisson with mean 1, its probabilities rounded to 256ths such that mean and variance are exactly 1; the third moment
    is 4.98 instead of 5. ``first`` is a multiple of eight.
    """
    return Weights(first, last, keys.size).draw(keys)


def sign_bits(keys: Keys, first: int, last: int) -> Floats:
    """A fair 0 or 1 for each key and resample, as keys × resamples; ``first`` is a multiple of 64."""
    return Signs(first, last, keys.size).draw(keys)


def random_words(keys: Keys, first: int, last: int) -> NDArray[np.uint64]:
    """64 random bits each, numbers ``first`` to ``last`` of every key's stream of choices, as keys × words."""
    return _Words(first, last, keys.size, 1, _CHOICES).of(keys)


def pair_words(left: Keys, right: Keys) -> NDArray[np.uint64]:
    """64 random bits of each pair of keys, as left × right: they hang on the two keys alone."""
    words: NDArray[np.uint64] = left[:, None] * _GAMMA + right
    for shift, factor in _MIX:
        words ^= words >> shift
        words *= factor
    words ^= words >> _LAST_SHIFT
    return words


class Weights:
    """Draws the weights of blocks of queries, for the same resamples, into arrays that are used again.

    What was drawn before is gone with the next draw.
    """

    def __init__(self, first: int, last: int, most: int) -> None:
        self._words = _Words(first, last, most, _WEIGHTS_PER_WORD, _WEIGHTS)
        self._above = np.empty((most, last - first), dtype=bool)
        self._counts = np.empty((most, last - first), dtype=np.uint8)
        self._weights = np.empty((most, last - first))

    def draw(self, keys: Keys) -> Floats:
        above, counts = self._above[: keys.size], self._counts[: keys.size]
        octets = self._words.of(keys).view(np.uint8)[:, : counts.shape[1]]
        counts[:] = 0
        for threshold in _THRESHOLDS:
            np.greater_equal(octets, threshold, out=above)
            np.add(counts, above.view(np.uint8), out=counts)
        weights = self._weights[: keys.size]
        weights[:] = counts
        return weights


class Signs:
    """Draws the signs of blocks of queries, for the same resamples."""

    def __init__(self, first: int, last: int, most: int) -> None:
        self._words = _Words(first, last, most, _BITS_PER_WORD, _SIGNS)
        self._bits = last - first

    def draw(self, keys: Keys) -> Floats:
        octets = self._words.of(keys).view(np.uint8)
        return np.unpackbits(octets, axis=1, bitorder="little", count=self._bits).astype(np.float64)


class _Words:
    """The words of each key's stream that hold the numbers ``first`` to ``last``, so many to a word."""

    def __init__(self, first: int, last: int, most: int, per_word: int, kind: np.uint64) -> None:
        places = np.arange(first // per_word + 1, -(-last // per_word) + 1, dtype=np.uint64)
        self._steps = places * _GAMMA
        self._kind = kind
        self._held, self._spare = np.empty((2, most, places.size), dtype=np.uint64)

    def of(self, keys: Keys) -> NDArray[np.uint64]:
        """As keys × words, in little-endian order of bytes."""
        words, spare = self._held[: keys.size], self._spare[: keys.size]
        np.add((keys ^ self._kind)[:, None], self._steps[None, :], out=words)
        for shift, factor in _MIX:
            np.right_shift(words, shift, out=spare)
            np.bitwise_xor(words, spare, out=words)
            np.multiply(words, factor, out=words)
        np.right_shift(words, _LAST_SHIFT, out=spare)
        np.bitwise_xor(words, spare, out=words)
        return words.astype("<u8", copy=False)
