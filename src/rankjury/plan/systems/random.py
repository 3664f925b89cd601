"""A random order of the candidates as a system of a plan."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from rankjury.errors import UsageError
from rankjury.evaluation.random_baseline import RandomRanking
from rankjury.plan import SYSTEM_KINDS
from rankjury.plan.context import Loaded, SystemContext, SystemTable


@SYSTEM_KINDS.register("random")
class RandomSystem(SystemTable):
    """Candidates in a random order: the exact expectation of every measure, if there is one."""

    ranks = False
    kind: Literal["random"]
    candidates: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description="Number of candidates per query; default: the gold's queries, minus one if they are items; for a "
        "gold of keywords the annotated items, for one of interactions those of each user.",
    )

    def faults(self) -> Iterator[tuple[str, str]]:
        """Refuse a threshold, as a random order has no scores."""
        if self.threshold is not None:
            yield "threshold", "is for systems that have scores"

    def load(self, context: SystemContext) -> Loaded:
        candidates = context.loaded_gold.candidates(context.gold) if self.candidates is None else self.candidates
        if candidates is None:
            raise UsageError("the number of candidates per query is unknown", expected="candidates = NUMBER")
        return Loaded(RandomRanking(candidates))
