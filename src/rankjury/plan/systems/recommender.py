"""Recommenders as systems of a plan: fitted on the training window, ranking the whole catalogue."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from rankjury.core.params import Params, Setting, resolve_params
from rankjury.core.types import WHOLE
from rankjury.errors import UnknownName, install_command
from rankjury.evaluation.sections import ReportWarning, SystemFacts, as_warnings
from rankjury.plan import SYSTEM_KINDS
from rankjury.plan.context import Loaded, LoadedGold, SystemContext, SystemTable, default_depth, fault_of
from rankjury.recsys.models import RECOMMENDERS, make_recommender
from rankjury.recsys.recommend import recommend

COLD_ITEMS = "cold_items"
"""The threshold of cold items: a key of the tiers, and of models that treat cold items differently."""


@SYSTEM_KINDS.register("recommender")
class RecommenderSystem(SystemTable):
    """Recommender that is fitted on the training window, or scores of another tool."""

    is_recommender = True
    kind: Literal["recommender"]
    model: str = Field(description="popularity, als, ease …; see rankjury list recommenders.")
    params: dict[str, Setting] = Field({}, description="Parameters: { factors = 64 }.")
    cold_users: Literal["popularity", "nothing"] = Field(
        "popularity", description="Fallback for users unknown to the model: the most popular items, or nothing."
    )
    depth: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Number of recommended items; default: the largest cut-off."
    )
    optional: bool = Field(False, description="Omit the system, with a warning, if its library is not installed.")

    def faults(self) -> Iterator[tuple[str, str]]:
        kind = RECOMMENDERS.find(self.model)
        if kind is None:
            yield "model", str(UnknownName("recommender", self.model, RECOMMENDERS.names()))
            return
        yield from fault_of("params", lambda: resolve_params(kind.params, self.params, "parameter"))

    @property
    def unavailable_reason(self) -> str | None:
        kind = RECOMMENDERS.find(self.model)
        if kind is None or not self.optional or kind.is_installed():
            return None
        return f"omitted, as its library is not installed: {install_command(str(kind.extra))}"

    def load(self, context: SystemContext) -> Loaded:
        task = context.loaded_gold.recommender_task()
        model = make_recommender(self.model, self.settings(context.path, context.loaded_gold))
        model.fit(task.train, task.features, context.progress)
        catalogue = int(task.in_catalogue.sum())
        looked_at = max(context.cuts, default=0)
        if self.depth is not None:
            depth = self.depth
        elif context.deepest is None:
            depth = default_depth(catalogue, context.cuts) or catalogue
        else:
            depth = max(context.deepest, looked_at) + 1  # one more, to see whether the last is tied with the next
        found = recommend(
            model, task, depth, cold=self.cold_users, source=self.model, progress=context.progress.step("Recommending")
        )
        warnings = as_warnings([*model.notes(), *found.notes(min(depth, looked_at))], "model")
        if depth < looked_at:
            text = f"recommends {depth:,} items per user, but measures use {looked_at:,}"
            warnings.append(ReportWarning(text, code="short-lists", count=depth))
        facts = SystemFacts(
            {
                "model": self.model,
                "params": model.fitted_settings(),
                "libraries": model.used(),
                "users": {
                    "known": int((~found.cold).sum()),
                    "cold": int(found.cold.sum()),
                    "cold_get": self.cold_users,
                },
            }
        )
        # Measures with larger cut-offs are refused, unless the plan itself sets fewer: then there is a note.
        known = None if depth < looked_at else WHOLE if depth >= catalogue else depth
        return Loaded(replace(found.ranking(task, self.model), depth=known), (facts,), tuple(warnings))

    def settings(self, path: Callable[[str], str], gold: LoadedGold) -> Params:
        """Return the parameters, with files relative to the plan, and the plan's definition of cold items."""
        kind = RECOMMENDERS.get(self.model)
        params = {
            name: path(str(value)) if name in kind.paths and value else value for name, value in self.params.items()
        }
        if gold.tiers is not None and COLD_ITEMS in kind.params:
            params.setdefault(COLD_ITEMS, gold.tiers.cold_items)
        return params
