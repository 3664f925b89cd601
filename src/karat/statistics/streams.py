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

__all__ = ["Keys", "bootstrap_weights", "keys_of", "sign_bits"]

Keys = NDArray[np.uint64]

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))
_LAST_SHIFT = np.uint64(31)
_WEIGHTS_PER_WORD = 8
_BITS_PER_WORD = 64
# In 256ths: none, one, two … draws. A byte at or above the i-th threshold means more than i draws.
_CHANCES = (94, 95, 46, 16, 4, 1)
_THRESHOLDS = tuple(accumulate(_CHANCES))[:-1]
# The two kinds of stream start from different keys, so that tests and intervals do not share numbers.
_WEIGHTS, _SIGNS = np.uint64(0), np.uint64(0xD1B54A32D192ED03)


def keys_of(queries: pl.Series, seed: int) -> Keys:
    """The key of each query, by the seed and the id as a string."""
    salt = seed.to_bytes(16, "little", signed=True)
    digests = b"".join(blake2b(query.encode(), digest_size=8, salt=salt).digest() for query in queries.cast(pl.String))
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def bootstrap_weights(keys: Keys, first: int, last: int) -> Floats:
    """How often each query is drawn in resamples ``first`` to ``last``, as keys × resamples.

    Poisson with mean 1, its probabilities rounded to 256ths such that mean and variance are exactly 1; the third moment
    is 4.98 instead of 5. ``first`` is a multiple of eight.
    """
    words = _words(keys, first // _WEIGHTS_PER_WORD, -(-last // _WEIGHTS_PER_WORD), _WEIGHTS)
    octets = words.view(np.uint8)[:, : last - first]
    weights = (octets >= _THRESHOLDS[0]).view(np.uint8)
    above = np.empty(octets.shape, dtype=bool)
    for threshold in _THRESHOLDS[1:]:
        np.greater_equal(octets, threshold, out=above)
        np.add(weights, above.view(np.uint8), out=weights)
    return weights.astype(np.float64)


def sign_bits(keys: Keys, first: int, last: int) -> Floats:
    """A fair 0 or 1 for each key and resample, as keys × resamples; ``first`` is a multiple of 64."""
    words = _words(keys, first // _BITS_PER_WORD, -(-last // _BITS_PER_WORD), _SIGNS)
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little", count=last - first)
    return bits.astype(np.float64)


def _words(keys: Keys, first: int, last: int, kind: np.uint64) -> NDArray[np.uint64]:
    """Words ``first`` to ``last`` of each key's stream, as keys × words, in little-endian order of bytes."""
    steps = np.arange(first + 1, last + 1, dtype=np.uint64) * _GAMMA
    words = (keys ^ kind)[:, None] + steps[None, :]
    spare = np.empty_like(words)
    for shift, factor in _MIX:
        np.right_shift(words, shift, out=spare)
        np.bitwise_xor(words, spare, out=words)
        np.multiply(words, factor, out=words)
    np.right_shift(words, _LAST_SHIFT, out=spare)
    np.bitwise_xor(words, spare, out=words)
    return words.astype("<u8", copy=False)
