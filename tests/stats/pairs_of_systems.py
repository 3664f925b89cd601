"""Pairs of systems, made up and drawn, for the tests of comparisons."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from rankjury.core.types import Floats
from rankjury.measures.measure import Aggregate
from rankjury.stats.comparison import PairedValues
from rankjury.stats.resampling import IntervalMethod, Resampling
from tests.stats.support import NAN, paired, scores_or_none

KINDS: list[IntervalMethod] = ["percentile", "bca"]
AGGREGATES: list[Aggregate] = ["mean", "sum", "geometric"]
ways = st.builds(Resampling, resamples=st.just(256), interval=st.sampled_from(KINDS))


@st.composite
def pairs(draw: DrawFn, sizes: tuple[int, int] = (0, 40)) -> PairedValues:
    n = draw(st.integers(*sizes))
    values, baseline_values = (draw(st.lists(scores_or_none, min_size=n, max_size=n)) for _ in range(2))
    return paired(values, baseline_values, draw(st.sampled_from(AGGREGATES)), draw(st.booleans()))


def rows_of(pair: PairedValues, rows: list[int] | Floats) -> PairedValues:
    return replace(pair, values=pair.values[rows], baseline_values=pair.baseline_values[rows])


def realistic(n: int, seed: int = 0, gain: float = 0.05) -> PairedValues:
    """Scores of two systems that find the same queries hard; many are equal, some undefined for one of the two."""
    chance = np.random.default_rng(seed)
    theirs = chance.beta(0.6, 1.8, n)
    ours = np.where(chance.random(n) < 0.3, theirs, np.clip(theirs + chance.normal(gain, 0.15, n), 0, 1))
    ours[::11], theirs[::13] = NAN, NAN
    return paired(ours, theirs)


def both_defined(pair: PairedValues) -> tuple[Floats, Floats]:
    both = ~(np.isnan(pair.values) | np.isnan(pair.baseline_values))
    return pair.values[both], pair.baseline_values[both]
