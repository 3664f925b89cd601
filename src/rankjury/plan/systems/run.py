"""Saved rankings as systems of a plan."""

from typing import Literal

from pydantic import Field

from rankjury.evaluation.sections import as_warnings
from rankjury.io.formats import read_run
from rankjury.plan import SYSTEM_KINDS
from rankjury.plan.context import Loaded, SystemContext, SystemTable
from rankjury.retrieval.agreement.pairs import RunSimilarities
from rankjury.retrieval.rank import drop_self, self_note, self_rows


@SYSTEM_KINDS.register("run")
class RunSystem(SystemTable):
    """A saved ranking."""

    kind: Literal["run"] = "run"
    path: str = Field(description="A run: TREC, JSON, JSONL, CSV, TSV or Parquet, also .gz and .zst.")
    format: str | None = Field(None, description="The format, where the file does not tell.")
    exclude_self: bool | None = Field(
        None,
        description="Leave the item with the query's own id out; unset: where the gold says that queries are items.",
    )

    def load(self, context: SystemContext) -> Loaded:
        ranking = read_run(context.path(self.path), self.format)
        exclude = self.exclude_self if self.exclude_self is not None else context.loaded_gold.exclude_self
        # Where a reference does not say whether queries are items, the warning says what that comes to.
        own = int(self_rows(ranking).sum()) if exclude or context.loaded_gold.reference is not None else 0
        notes = [self_note(own, len(ranking), exclude=bool(exclude))] if own else []
        ranking, found = context.loaded_gold.check_run(drop_self(ranking) if exclude and own else ranking)
        return Loaded(
            ranking, warnings=tuple(as_warnings([*notes, *found], "run")), similarities=RunSimilarities(ranking)
        )
