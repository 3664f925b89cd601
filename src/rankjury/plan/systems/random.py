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
    """Candidates in a random order: the exact expectation of every measure that has one."""

    ranks = False
    kind: Literal["random"]
    candidates: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description="How many candidates a query has; unset: the gold's queries, less one where they are items; of a "
        "gold of keywords, the annotated items; of one of interactions, each user's own.",
    )

    def faults(self) -> Iterator[tuple[str, str]]:
        """A random order has no scores."""
        if self.threshold is not None:
            yield "threshold", "is for systems that have scores"

    def load(self, context: SystemContext) -> Loaded:
        candidates = context.loaded_gold.candidates(context.gold) if self.candidates is None else self.candidates
        if candidates is None:
            raise UsageError("how many candidates a query has is not known", expected="candidates = NUMBER")
        return Loaded(RandomRanking(candidates))
