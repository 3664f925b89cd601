"""Fusion methods as values that print as their spelling and parse back; normalization of scores.

rrf(c=60)    rrf(c=60,depth=50,weights=0.5:0.3:0.2)    combsum    combmnz(normalise=z-score)    borda(depth=10)
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from rankjury.core.registry import Registry
from rankjury.core.text import plural
from rankjury.core.types import Floats, Ints, segments_within
from rankjury.core.validation import check_arguments, check_fields
from rankjury.errors import UnknownName, UsageError, shorten

if TYPE_CHECKING:
    from rankjury.retrieval.fusion.align import Aligned

Function = Callable[["Aligned", "Fusion"], Floats]
DEFAULT_C = 60.0
_OPTIONS: dict[str, tuple[Callable[[str], Any], str]] = {
    "c": (float, "a number"),
    "depth": (int, "a whole number"),
    "normalise": (str, "a name"),
    "weights": (lambda text: tuple(map(float, text.split(":"))), "numbers with colons between them"),
}
"""Options of a spelling: how they are read, and what is expected."""
_SPELLING = re.compile(r"(?P<name>[^\s()=,]+)(?:\((?P<options>[^()]*)\))?")


def _min_max(starts: Ints, values: Floats) -> Floats:
    """(score − lowest) / (highest − lowest)."""
    lengths = np.diff(starts)
    halves = values / 2  # so that no difference is too large for a float
    lowest, highest = halves[np.repeat(starts[1:] - 1, lengths)], halves[np.repeat(starts[:-1], lengths)]
    return _divided(halves - lowest, highest - lowest)


def _z_score(starts: Ints, values: Floats) -> Floats:
    """(score − mean) / standard deviation, that of the population."""
    lengths = np.diff(starts)
    spread = _min_max(starts, values)  # does not change z-scores, and its squares are neither too large nor too small
    centred = spread - np.repeat(_sums(starts, spread) / np.maximum(lengths, 1), lengths)
    deviation = np.sqrt(_sums(starts, centred**2) / np.maximum(lengths, 1))
    return _divided(centred, np.repeat(deviation, lengths))


def _sum(starts: Ints, values: Floats) -> Floats:
    """(score − lowest) / the sum of these over the list."""
    spread = _min_max(starts, values)
    return _divided(spread, np.repeat(_sums(starts, spread), np.diff(starts)))


def _rank(starts: Ints, values: Floats) -> Floats:
    """1 − (rank − 1) / n."""
    lengths = np.repeat(np.diff(starts), np.diff(starts))
    return np.asarray((lengths - segments_within(starts)) / lengths)


def _sums(starts: Ints, values: Floats) -> Floats:
    """Return the sum of each segment, added in order of rank: no digit depends on ids or on the order of rows."""
    segment = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    return np.bincount(segment, weights=values, minlength=starts.size - 1).astype(np.float64)


def _divided(above: Floats, below: Floats) -> Floats:
    """Return the quotient, and 0 for 0 / 0."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


NORMALIZATIONS: dict[str, Callable[[Ints, Floats], Floats]] = {
    "none": lambda _, values: values,
    "min-max": _min_max,
    "z-score": _z_score,
    "sum": _sum,
    "rank": _rank,
}


@dataclass(frozen=True)
class FusionMethod:
    """A fusion method: a function of aligned rankings that returns a score for each (query, item) pair."""

    name: str
    description: str
    function: Function
    normalise: str | None = None
    """The default normalization of scores; None: only ranks are used."""
    has_c: bool = False


METHODS: Registry[FusionMethod] = Registry("way of fusing", home="rankjury.retrieval.fusion", group="rankjury.fusions")


def method(name: str, *, normalise: str | None = None, has_c: bool = False) -> Callable[[Function], Function]:
    """Register a function ``(aligned, fusion) → float64[pairs]`` as a fusion method."""

    def add(function: Function) -> Function:
        description = (function.__doc__ or "").strip().partition("\n")[0].rstrip(".")
        METHODS.add(name, FusionMethod(name, description, function, normalise, has_c))
        return function

    return add


@dataclass(frozen=True)
class Fusion:
    """A fusion method with all its options. Hashable; options that a method does not use have their defaults.

    Args:
        method: ``rrf``, ``combsum``, ``combmnz``, ``combmax``, ``isr``, ``borda`` or ``condorcet``.
        weights: One per ranking, in their order; by default 1 each.
        c: The constant of rrf, which adds weight / (c + rank).
        depth: How many items of each list count; by default all.
        normalise: The normalization of scores, within each query of each list: ``none``, ``min-max``, ``z-score``,
            ``sum`` or ``rank``; by default the method's own.

    Raises:
        UsageError: A method, an option or its value is not known.

    Example:
        >>> print(rankjury.Fusion("rrf", weights=(0.7, 0.3), c=10))
        rrf(c=10,weights=0.7:0.3)
    """

    method: str = "rrf"
    weights: tuple[float, ...] | None = None
    """Read as the decimal numbers that they print as."""
    c: float = DEFAULT_C
    depth: int | None = None
    normalise: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        found = METHODS.get(self.method)
        if self.normalise is not None and self.normalise not in NORMALIZATIONS:
            raise UnknownName("normalisation", self.normalise, NORMALIZATIONS)
        if self.depth is not None and self.depth < 1:
            raise UsageError(f"a depth of {self.depth}", expected="a whole number from 1")
        c = float(self.c) if found.has_c else DEFAULT_C
        if not -1 < c < float("inf"):
            raise UsageError(f"c={c:g}", expected="a number above -1, so that c + rank is above 0")
        object.__setattr__(self, "c", c)
        object.__setattr__(self, "normalise", found.normalise and (self.normalise or found.normalise))
        if self.weights is not None:
            object.__setattr__(self, "weights", _check_weights(self.weights))

    @check_arguments
    def weights_of(self, rankings: int) -> tuple[float, ...]:
        """Return the weight of each ranking.

        Args:
            rankings: How many rankings there are.

        Raises:
            UsageError: There are more or fewer weights.

        Example:
            >>> rankjury.Fusion("rrf").weights_of(2)
            (1.0, 1.0)
        """
        if self.weights is None:
            return (1.0,) * rankings
        if len(self.weights) != rankings:
            found = f"{plural(len(self.weights), 'weight', 'weights')} for {plural(rankings, 'ranking', 'rankings')}"
            raise UsageError(found, where=str(self), expected="one weight per ranking")
        return self.weights

    def __str__(self) -> str:
        found = METHODS.get(self.method)
        parts = [f"c={_shown(self.c)}"] if found.has_c else []
        parts += [f"depth={self.depth}"] if self.depth is not None else []
        parts += [f"normalise={self.normalise}"] if self.normalise != found.normalise else []
        parts += [f"weights={':'.join(map(_shown, self.weights))}"] if self.weights is not None else []
        return self.method + (f"({','.join(parts)})" if parts else "")

    @classmethod
    def parse(cls, text: str) -> "Fusion":
        """Read a spelling such as ``rrf(c=60,weights=0.7:0.3)``.

        Args:
            text: The spelling.

        Returns:
            The fusion.

        Raises:
            UsageError: It cannot be read.

        Example:
            >>> rankjury.Fusion.parse("combsum(normalise=z-score)").normalise
            'z-score'
        """
        match = _SPELLING.fullmatch(text.strip()) if isinstance(text, str) else None
        if match is None:
            found = f"cannot read {shorten(text, quoted=True)}"
            raise UsageError(found, expected="a spelling like rrf(c=60,weights=2:1)")
        options: dict[str, Any] = {}
        for part in filter(None, (match["options"] or "").split(",")):
            key, _, value = (side.strip() for side in part.partition("="))
            if key not in _OPTIONS:
                raise UnknownName("option of a fusion", key, _OPTIONS, where=text)
            read, expected = _OPTIONS[key]
            try:
                options[key] = read(value)
            except ValueError:
                raise UsageError(f"{key}={value}", where=text, expected=expected) from None
        return cls(match["name"], **options)


def _check_weights(weights: tuple[float, ...]) -> tuple[float, ...]:
    given = tuple(float(weight) for weight in weights)
    for weight in given:
        if not isfinite(weight) or weight < 0:
            raise UsageError(f"a weight of {weight:g}", expected="finite numbers from 0")
    if not any(given):
        raise UsageError("no weight is above 0", expected="at least one")
    return tuple(abs(weight) for weight in given)


def _shown(number: float) -> str:
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
