"""Which columns of scores there are, and which are held against which."""

from dataclasses import dataclass

import numpy as np

from karat.measure import Aggregate
from karat.statistics.differences import Versus
from karat.statistics.estimates import onto_scale
from karat.types import Bools, Floats

__all__ = ["Column", "Layout", "Pair"]


@dataclass(frozen=True)
class Column:
    """Whose scores under which measure."""

    system: str
    measure: str
    aggregate: Aggregate
    lower_is_better: bool
    descriptive: bool = False
    """The measure describes the run rather than how good it is: differences are not tested."""


@dataclass(frozen=True)
class Pair:
    """Two columns: the system's and the baseline's."""

    versus: Versus
    ours: int
    theirs: int

    def apart(self, scores: Floats) -> Floats:
        """The differences, on the scale on which means are taken."""
        ours, theirs = self.sides(scores)
        return ours - theirs

    def sides(self, scores: Floats) -> tuple[Floats, Floats]:
        aggregate = self.versus.aggregate
        return onto_scale(scores[:, self.ours], aggregate), onto_scale(scores[:, self.theirs], aggregate)


@dataclass(frozen=True)
class Layout:
    """The columns of a table of scores, queries × columns."""

    columns: tuple[Column, ...]
    pairs: tuple[Pair, ...] = ()

    @classmethod
    def of(cls, columns: tuple[Column, ...], baseline: str | None) -> "Layout":
        """Every system but the baseline is held against it, under every measure."""
        place = {(one.system, one.measure): number for number, one in enumerate(columns)}
        pairs = [
            Pair(
                Versus(
                    *(one.system, baseline, one.measure, one.aggregate, one.lower_is_better),
                    descriptive=one.descriptive,
                ),
                number,
                place[baseline, one.measure],
            )
            for number, one in enumerate(columns)
            if baseline is not None and one.system != baseline
        ]
        return cls(columns, tuple(pairs))

    def masks(self, scores: Floats) -> Bools:
        """Where each column, then each pair, is defined; as columns × queries."""
        defined = ~np.isnan(scores.T)
        pairs = [defined[pair.ours] & defined[pair.theirs] for pair in self.pairs]
        return np.array([*defined, *pairs], dtype=bool).reshape(len(self.columns) + len(pairs), len(scores))
