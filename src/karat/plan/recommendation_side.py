"""What a gold of held-out interactions knows beside its grades: the task, its tiers, and what items are called."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from karat.exposures import Exposure, exposure_of
from karat.interactions.task import Task
from karat.interactions.tiers import CROSSINGS, Tiers, item_cuts, user_cuts
from karat.judging import Bench, TieRule
from karat.slices import Cuts
from karat.slicing import Crossings
from karat.types import Ranking

__all__ = ["COLD_ITEMS", "RecommendationSide"]

COLD_ITEMS = "cold_items"
"""The threshold of cold items: a key of the tiers, and of models that treat cold items differently."""


@dataclass(frozen=True, eq=False)
class RecommendationSide:
    """Who is recommended what, and how users and items are grouped."""

    task: Task
    tiers: Tiers
    about: Mapping[str, Any]
    """How it was made, for the report: split, cut-offs, counts, catalogue, tiers."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """By item."""

    def cuts(self) -> tuple[list[Cuts], list[Cuts]]:
        """The tiers of users and of items, on training counts."""
        return [user_cuts(self.task, self.tiers)], [item_cuts(self.task, self.tiers)]

    @property
    def crossings(self) -> Crossings:
        """Which tiers of users are crossed with which of items."""
        return CROSSINGS if self.tiers.crossings else ()

    def exposure(self, ranking: Ranking, k: int, ties: TieRule = "id") -> Exposure:
        """What the first k of a ranking show, by popularity in training."""
        lists = Bench(self.task.gold, ranking, duplicates="first", may_be_apart=True).lists(
            self.task.background, k, ties
        )
        return exposure_of(lists, k)
