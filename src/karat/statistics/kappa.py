"""How far two people, or a rule and a person, grade alike beyond chance: Cohen's κ.

Sources: Cohen, A coefficient of agreement for nominal scales, 1960; Cohen, Weighted kappa, 1968.
"""

from dataclasses import dataclass
from math import isnan, nan
from typing import Literal, get_args

import numpy as np

from karat.errors import UnknownName
from karat.statistics.intervals import Bounds, Resampling
from karat.statistics.resampling import draw_sums
from karat.statistics.streams import Keys
from karat.types import Floats, Ints

__all__ = ["Kappa", "Weighting", "cohen_kappa", "confusion", "kappa_of"]

Weighting = Literal["none", "linear", "quadratic"]
_FEWEST_DEFINED = 0.9
"""Of the resamples, for an interval: in the others one side gives a single grade, and κ is undefined."""


@dataclass(frozen=True)
class Kappa:
    """κ, and its interval where there are enough groups to resample."""

    value: float
    ci: Bounds | None = None
    weighting: Weighting = "none"

    def to_json(self) -> dict[str, object]:
        value = None if isnan(self.value) else self.value
        return {"value": value, "ci": None if self.ci is None else list(self.ci), "weighting": self.weighting}


def confusion(first: Ints, second: Ints, grades: int) -> Ints:
    """How often the first side says i and the second j; grades are whole numbers from 0 on."""
    return np.bincount(first * grades + second, minlength=grades * grades).reshape(grades, grades)


def kappa_of(counts: Ints | Floats, weighting: Weighting = "none") -> Floats:
    """κ of tables of counts, the last two axes; NaN where both sides always say the same one thing, or there is none.

    Formula: 1 − Σ w·observed ÷ Σ w·expected, w = 0 on the diagonal and else 1, |i − j| or (i − j)².
    """
    if weighting not in get_args(Weighting):
        raise UnknownName("weighting", weighting, get_args(Weighting))
    table = np.asarray(counts, dtype=np.float64)
    places = np.arange(table.shape[-1])
    apart = np.abs(places[:, None] - places[None, :]).astype(np.float64)
    weights = {"none": (apart > 0).astype(np.float64), "linear": apart, "quadratic": apart**2}[weighting]
    total = table.sum(axis=(-2, -1))
    observed = (weights * table).sum(axis=(-2, -1)) * total
    expected = (weights * (table.sum(axis=-1)[..., :, None] * table.sum(axis=-2)[..., None, :])).sum(axis=(-2, -1))
    share = np.divide(observed, expected, out=np.full(np.shape(total), nan), where=expected > 0)
    return np.asarray(1.0 - share)


def cohen_kappa(
    first: Ints,
    second: Ints,
    *,
    grades: int,
    weighting: Weighting = "none",
    group: Ints | None = None,
    keys: Keys | None = None,
    resampling: Resampling | None = None,
) -> Kappa:
    """κ of two sides' grades of the same pairs.

    With ``group`` (of each pair, from 0 on) and the ``keys`` of groups there is an interval: whole groups, such as all
    pairs of a query, are resampled, for they are graded by the same eyes; the percentiles of their κ are its ends.
    """
    table = confusion(first, second, grades)
    value = float(kappa_of(table, weighting))
    if group is None or keys is None or isnan(value) or keys.size < 2:
        return Kappa(value, None, weighting)
    chosen = resampling or Resampling()
    cells = np.zeros((keys.size, grades * grades))
    np.add.at(cells, (group, first * grades + second), 1.0)
    sums = draw_sums(keys, cells, chosen.resamples).T.reshape(-1, grades, grades)
    drawn = kappa_of(sums, weighting)
    defined = drawn[~np.isnan(drawn)]
    if defined.size < _FEWEST_DEFINED * drawn.size:
        return Kappa(value, None, weighting)
    tail = (1.0 - chosen.level) / 2.0
    low, high = np.quantile(defined, [tail, 1.0 - tail]).tolist()
    return Kappa(value, (low, high), weighting)
