"""The rule: no figure may move by more than a share."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import copysign, inf, isnan
from typing import Literal

from karat.records import Record
from karat.stability import Spread, Stability

__all__ = ["ALLOWED", "Moved", "is_past", "moves_between"]

ALLOWED = 0.05
_ROUNDING = 1e-12
_NEXT_TO_NOTHING = 1e-3
"""A spread below this share of its mean is rounding, as of normalised vectors of 16 bits."""


def is_past(share: float, allowed: float) -> bool:
    """Whether a share, of either sign, is more than is allowed; a last digit does not count."""
    return abs(share) > allowed + _ROUNDING


@dataclass(frozen=True)
class Moved(Record):
    """One figure before and after."""

    computed = ("change", "within")

    figure: str
    old: float
    new: float
    relative_to: Literal["itself", "mean"]
    """What the change is a share of: what the figure was, or the mean that it is the spread around."""
    scale: float
    allowed: float

    @property
    def change(self) -> float:
        """Infinite where there was nothing that it could be a share of; NaN where a side has no such figure."""
        apart = self.new - self.old
        if not apart:
            return 0.0
        return apart / abs(self.scale) if self.scale else copysign(inf, apart) if not isnan(apart) else apart

    @property
    def within(self) -> bool | None:
        """None where there is nothing to judge."""
        return None if isnan(self.change) else not is_past(self.change, self.allowed)


def moves_between(new: Stability, old: Stability, allowed: float) -> Iterator[Moved]:
    """Mean and spread of each distribution.

    Lengths of normalised vectors spread by rounding alone: as a share of itself, their spread may double and mean
    nothing. So a spread next to 0 is judged as a share of the mean, and so is one that was 0 before.
    """
    yield from _moved("top1", new.top1, old.top1, allowed)
    if new.k > 1:
        yield from _moved(f"top{new.k}", new.topk, old.topk, allowed)
    yield from _moved("norm", new.norm, old.norm, allowed)


def _moved(name: str, new: Spread, old: Spread, allowed: float) -> Iterator[Moved]:
    yield Moved(f"{name} mean", old.mean, new.mean, "itself", old.mean, allowed)
    if old.std <= _NEXT_TO_NOTHING * abs(old.mean):
        yield Moved(f"{name} std", old.std, new.std, "mean", old.mean, allowed)
    else:
        yield Moved(f"{name} std", old.std, new.std, "itself", old.std, allowed)
