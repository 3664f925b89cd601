"""What the tests of statistics share: keys of numbered queries, and figures compared digit by digit."""

import os
from collections.abc import Sequence

import numpy as np
import polars as pl
from hypothesis import Phase, settings, strategies as st

from rankjury.core.types import Floats
from rankjury.measures.measure import Aggregate
from rankjury.stats.comparison import Comparison, PairedValues, compare_pairs
from rankjury.stats.estimates import Estimate, estimate_all
from rankjury.stats.resampling import Keys, Resampling, Signs, query_keys

NAN = float("nan")
QUICK = Resampling(resamples=256)

# Per-query scores as measures give them: continuous, on a grid, and none at all.
scores = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 1 / 3, 1.0]))
scores_or_none = st.one_of(scores, scores, st.just(NAN))


def thorough(examples: int) -> settings:
    """The same examples in every run; a failing one is made small on demand: RANKJURY_SHRINK=1 pytest …

    Half of them, unless all are wanted: RANKJURY_THOROUGH=1 pytest …
    """
    examples = examples if os.environ.get("RANKJURY_THOROUGH") else examples // 2
    phases = (Phase.explicit, Phase.generate, *((Phase.shrink,) if os.environ.get("RANKJURY_SHRINK") else ()))
    return settings(max_examples=examples, deadline=None, derandomize=True, database=None, phases=phases)


def numbered(n: int) -> list[str]:
    return [f"q{number}" for number in range(n)]


def keys(n: int, seed: int = 0) -> Keys:
    return query_keys(pl.Series(numbered(n), dtype=pl.String), seed)


def digits(found: object) -> str:
    """All figures to the last bit: a float prints as the shortest text that reads back as the same float."""
    return repr(found)


def estimate(values: Floats, resampling: Resampling = QUICK, aggregate: Aggregate = "mean") -> Estimate:
    """One column over q0, q1 …"""
    return estimate_all(values[:, None], [aggregate], keys(values.size, resampling.seed), resampling)[0]


def paired(
    values: Sequence[float] | Floats,
    baseline_values: Sequence[float] | Floats,
    aggregate: Aggregate = "mean",
    lower_is_better: bool = False,
) -> PairedValues:
    ours, theirs = np.array(values, dtype=float), np.array(baseline_values, dtype=float)
    return PairedValues("ours", "theirs", "m", aggregate, lower_is_better, values=ours, baseline_values=theirs)


def compare(pair: PairedValues, resampling: Resampling = QUICK) -> Comparison:
    """One pair over q0, q1 …"""
    return compare_pairs([pair], keys(pair.values.size, resampling.seed), resampling)[0]


def sign_bits(keys: Keys, first: int, last: int) -> Floats:
    """Return a fair 0 or 1 for each key and resample, as keys × resamples; ``first`` is a multiple of 64."""
    return Signs(first, last, keys.size).draw(keys)
