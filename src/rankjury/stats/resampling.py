"""Bootstrap and sign-flip resampling over queries: seeded weights and signs, resampled sums, and intervals.

Each query has a key, a hash of (seed, id). The i-th word of its stream is SplitMix64's i-th output from that key, so
any part of any stream can be generated independently: in any order, block or process. So no digit depends on the order
of rows, on threads, on blocks, or on the other queries and measures.

Source: Steele, Lea and Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.

Work is split into ranges of resamples, run in threads, and blocks of queries within them that fit into the processor's
cache. Sums are exact (see ``sums``), so results do not depend on either.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from math import erfc, exp, inf, isfinite, isinf, isnan, lgamma, log, sqrt
from typing import Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.types import Floats, Ints, cut_rows, in_threads
from rankjury.core.validation import Record, SignedInt, check_fields
from rankjury.errors import UnknownName, UsageError
from rankjury.stats.sums import LARGEST_BLOCK, Summable

Keys = NDArray[np.uint64]

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))
# Probabilities of zero, one, two … draws, in 256ths. A byte at or above the i-th threshold means more than i draws.
_THRESHOLDS = tuple(accumulate((94, 95, 46, 16, 4, 1)))[:-1]


def query_keys(queries: pl.Series, seed: int) -> Keys:
    """Return the key of each query, determined by the seed and the id as a string."""
    salt = int(seed).to_bytes(16, "little", signed=True)
    digests = b"".join(blake2b(query.encode(), digest_size=8, salt=salt).digest() for query in queries.cast(pl.String))
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def bootstrap_weights(keys: Keys, first: int, last: int) -> Floats:
    """Return how often each query is drawn in resamples ``first`` to ``last``, as keys × resamples.

    Poisson weights with mean 1 and probabilities rounded to 256ths such that mean and variance are exactly 1; the third
    moment is 4.98 instead of 5. ``first`` is a multiple of eight.
    """
    return Weights(first, last, keys.size).draw(keys)


def random_words(keys: Keys, first: int, last: int) -> NDArray[np.uint64]:
    """Return words ``first`` to ``last`` of 64 random bits, of the stream of choices of every key: keys × words."""
    return _Words(first, last, keys.size).words(keys)


def pair_words(left: Keys, right: Keys) -> NDArray[np.uint64]:
    """Return 64 random bits for each pair of keys, as left × right, determined by the two keys."""
    words: NDArray[np.uint64] = left[:, None] * _GAMMA + right
    return _mix(words, np.empty_like(words))


def _mix(words: NDArray[np.uint64], spare: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble the words in place and return them; ``spare`` is overwritten."""
    for shift, factor in _MIX:
        np.right_shift(words, shift, out=spare)
        np.bitwise_xor(words, spare, out=words)
        np.multiply(words, factor, out=words)
    np.right_shift(words, np.uint64(31), out=spare)
    return np.bitwise_xor(words, spare, out=words)


class _Words:
    """Words of each key's stream for the numbers ``first`` to ``last``, in reused arrays."""

    per_word = 1
    kind = np.uint64(0x8CB92BA72F3D8DD7)
    """Streams of different purposes start from different keys, so that tests, intervals and samples are independent."""

    def __init__(self, first: int, last: int, most: int) -> None:
        self._shape = (most, last - first)
        places = np.arange(first // self.per_word + 1, -(-last // self.per_word) + 1, dtype=np.uint64)
        self._steps = places * _GAMMA
        self._buffer, self._spare = np.empty((2, most, places.size), dtype=np.uint64)

    def words(self, keys: Keys) -> NDArray[np.uint64]:
        """Return the words as keys × words, in little-endian order of bytes; the next call overwrites them."""
        words, spare = self._buffer[: keys.size], self._spare[: keys.size]
        np.add((keys ^ self.kind)[:, None], self._steps[None, :], out=words)
        return _mix(words, spare).astype("<u8", copy=False)


class Weights(_Words):
    """Draws the weights of blocks of queries for the same resamples; the next draw overwrites them."""

    per_word = 8
    kind = np.uint64(0)

    def __init__(self, first: int, last: int, most: int) -> None:
        super().__init__(first, last, most)
        self._above, self._counts = np.empty(self._shape, dtype=bool), np.empty(self._shape, dtype=np.uint8)
        self._weights = np.empty(self._shape)

    def draw(self, keys: Keys) -> Floats:
        above, counts = self._above[: keys.size], self._counts[: keys.size]
        octets = self.words(keys).view(np.uint8)[:, : counts.shape[1]]
        counts[:] = 0
        for threshold in _THRESHOLDS:
            np.greater_equal(octets, threshold, out=above)
            np.add(counts, above.view(np.uint8), out=counts)
        weights = self._weights[: keys.size]
        weights[:] = counts
        return weights


class Signs(_Words):
    """Draws the signs of blocks of queries for the same resamples."""

    per_word = 64
    kind = np.uint64(0xD1B54A32D192ED03)

    def draw(self, keys: Keys) -> Floats:
        octets = self.words(keys).view(np.uint8)
        return np.unpackbits(octets, axis=1, bitorder="little", count=self._shape[1]).astype(np.float64)


_RESAMPLES_PER_PART = 2560
_QUERIES_PER_BLOCK = 128
_PRODUCTS_AT_ONCE = 1 << 18
"""Above this, OpenBLAS would start threads within ours, which then wait for each other."""


def flip_sums(keys: Keys, columns: Floats, resamples: int) -> Ints:
    """Return sums of each column with the signs of its values flipped at random, as columns × resamples."""
    flipped = draw_sums(keys, columns, resamples, Signs)
    flipped *= 2
    flipped -= columns.astype(np.int64).sum(axis=0)[:, None]
    return flipped


def draw_sums(keys: Keys, columns: Floats, resamples: int, numbers: type[Weights] | type[Signs] = Weights) -> Ints:
    """Return sums of each column over resampled queries, as columns × resamples.

    Every query is drawn a random number of times, with mean 1, independently of the others. ``columns`` holds whole
    numbers, as queries × columns.
    """
    across = np.ascontiguousarray(columns.T)
    blocks = cut_rows(keys.size, min(_QUERIES_PER_BLOCK, LARGEST_BLOCK))

    def work(first: int, last: int) -> Ints:
        drawn = numbers(first, last, min(_QUERIES_PER_BLOCK, keys.size))
        sums = np.zeros((across.shape[0], last - first), dtype=np.int64)
        exact, product = np.zeros((2, *sums.shape))
        since = 0
        parts = cut_rows(last - first, max(1, _PRODUCTS_AT_ONCE // (across.shape[0] * _QUERIES_PER_BLOCK)))
        for start, end in blocks:
            if end - since > LARGEST_BLOCK:
                sums += exact.astype(np.int64)
                exact[:] = 0.0
                since = start
            weights = drawn.draw(keys[start:end])
            for low, high in parts:
                np.matmul(across[:, start:end], weights[:, low:high], out=product[:, low:high])
            np.add(exact, product, out=exact)
        return sums + exact.astype(np.int64)

    return np.concatenate(list(in_threads(work, cut_rows(resamples, _RESAMPLES_PER_PART))), axis=1)


def normal_cdf(z: float) -> float:
    """Return P(Z ≤ z)."""
    return 0.5 * erfc(-z / sqrt(2.0))


def normal_tails(z: float) -> float:
    """Return P(|Z| ≥ |z|)."""
    return erfc(abs(z) / sqrt(2.0))


def normal_quantile(p: float) -> float:
    """Return the z with P(Z ≤ z) = p; infinite for 0 and 1."""
    if p <= 0.0 or p >= 1.0:
        return -inf if p <= 0.0 else inf
    from statistics import NormalDist  # imported on use: it loads decimal and fractions

    return NormalDist().inv_cdf(p)


def t_tails(t: float, df: float) -> float:
    """Return P(|T| ≥ |t|) for df degrees of freedom."""
    if isinf(t):
        return 0.0
    square = t * t
    return 0.0 if isinf(square) else _incomplete_beta(df / 2.0, 0.5, df / (df + square), square / (df + square))


@lru_cache(maxsize=4096)
def t_quantile(p: float, df: float) -> float:
    """Return the t with P(T ≤ t) = p."""
    if p < 0.5:
        return -t_quantile(1.0 - p, df)
    tails = 2.0 * (1.0 - p)
    low, high = 0.0, 2.0
    while t_tails(high, df) > tails:
        high *= 2.0
    while high - low > 1e-13 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if t_tails(middle, df) > tails else (low, middle)
    return (low + high) / 2.0


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), by its continued fraction; ``rest`` is 1 − x.

    Source: NIST Digital Library of Mathematical Functions, 8.17.22, evaluated by Lentz's method.
    """
    if x <= 0.0 or rest <= 0.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _incomplete_beta(b, a, rest, x)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest)) / a
    c, d = 1.0, 1.0 / _nonzero(1.0 - (a + b) * x / (a + 1.0))
    fraction = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for step in (even, odd):
            d = 1.0 / _nonzero(1.0 + step * d)
            c = _nonzero(1.0 + step / c)
            fraction *= c * d
        if abs(c * d - 1.0) < 4e-16:
            break
    return front * fraction


def _nonzero(value: float) -> float:
    return value if abs(value) > 1e-300 else 1e-300


Bounds = tuple[float, float]
IntervalMethod = Literal["auto", "bca", "percentile"]
FEWEST_RESAMPLES, MOST_RESAMPLES = 100, 10_000_000


@dataclass(frozen=True)
class Resampling(Record):
    """Settings of confidence intervals and randomization tests.

    Args:
        resamples: How many resamples are drawn, from 100.
        level: Level of the intervals.
        seed: Seed of the resampling.
        interval: ``bca``, ``percentile``, or ``auto``: bca for means, which are skewed, and percentile for differences,
            many of which are zero.

    Raises:
        UsageError: A value is not valid.

    Example:
        >>> rankjury.compare({"q": ["a"]}, {"x": {"q": ["a"]}, "y": {"q": ["b"]}}, resampling=rankjury.Resampling(1000))
    """

    resamples: int = 10_000
    level: float = 0.95
    seed: SignedInt = 0
    interval: IntervalMethod = "auto"

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0.0 < self.level < 1.0:
            raise UsageError(f"the level is {self.level}", expected="a share between 0 and 1, such as 0.95")
        if not FEWEST_RESAMPLES <= self.resamples <= MOST_RESAMPLES:
            raise UsageError(f"found {self.resamples:,} resamples", expected=f"100 to {MOST_RESAMPLES:,}")
        if not -(2**63) <= self.seed < 2**63:
            raise UsageError(f"the seed is {self.seed}", expected="a whole number of at most 63 bits")
        if self.interval not in get_args(IntervalMethod):
            raise UnknownName("kind of interval", self.interval, get_args(IntervalMethod))

    @property
    def of_means(self) -> IntervalMethod:
        return "bca" if self.interval == "auto" else self.interval

    @property
    def of_differences(self) -> IntervalMethod:
        return "percentile" if self.interval == "auto" else self.interval


@dataclass(frozen=True)
class Influence(Summable):
    """Sums of squares and cubes of each query's influence, the change of the estimate without it, up to a factor.

    They are floats, or exact numbers.
    """

    squares: float | Fraction
    cubes: float | Fraction

    def scaled(self, factor: float | Fraction) -> "Influence":
        return Influence(self.squares * factor**2, self.cubes * factor**3)

    @property
    def acceleration(self) -> float | None:
        """Acceleration of the BCa interval; None if no query changes the estimate."""
        squares = float(self.squares)
        return float(self.cubes) / (6.0 * squares**1.5) if squares > 0.0 else None


def interval(resampled: Floats, estimate: float, influence: Influence, level: float, method: IntervalMethod) -> Bounds:
    """Return the bounds that contain the share ``level`` of the resampled estimates.

    ``percentile`` uses their quantiles; ``bca`` corrects these for bias and acceleration, which is computed from the
    queries' ``influence``.
    Source: Efron, Better bootstrap confidence intervals, JASA 1987.
    """
    tail = (1.0 - level) / 2.0
    tails = [tail, 1.0 - tail]
    if method == "bca":
        below = np.count_nonzero(resampled < estimate) + np.count_nonzero(resampled <= estimate)
        bias, acceleration = normal_quantile(below / (2 * resampled.size)), influence.acceleration
        if isfinite(bias) and acceleration is not None:
            distances = [bias + normal_quantile(tail) for tail in tails]
            shifted = [normal_cdf(bias + z / (1.0 - acceleration * z)) for z in distances]
            tails = tails if any(map(isnan, shifted)) else shifted
    low, high = np.quantile(resampled, tails).tolist()
    return low, high
