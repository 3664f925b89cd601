"""Run files as systems of a plan."""

from dataclasses import replace
from typing import Literal

from pydantic import Field

from rankjury.evaluation.row_numbers import check_row_numbers
from rankjury.evaluation.sections import as_warnings
from rankjury.io.formats import read_run
from rankjury.plan import SYSTEM_KINDS
from rankjury.plan.context import Loaded, SystemContext, SystemTable
from rankjury.retrieval.agreement.pairs import RunSimilarities
from rankjury.retrieval.rank import drop_self, row_numbers, self_note, self_rows


@SYSTEM_KINDS.register("run")
class RunSystem(SystemTable):
    """Ranking from a run file."""

    kind: Literal["run"] = "run"
    path: str = Field(description="A run: TREC, JSON, JSONL, CSV, TSV or Parquet, also .gz and .zst.")
    format: str | None = Field(None, description="The format, if not detected from the file.")
    exclude_self: bool | None = Field(
        None,
        description="Exclude the item with the query's own id; default: if the gold's queries are items.",
    )

    def load(self, context: SystemContext) -> Loaded:
        ranking = read_run(context.path(self.path), self.format)
        exclude = self.exclude_self if self.exclude_self is not None else context.loaded_gold.exclude_self
        # If it is unknown whether a reference's queries are items, a warning states the consequence.
        own = int(self_rows(ranking).sum()) if exclude or context.loaded_gold.reference is not None else 0
        notes = [self_note(own, len(ranking), exclude=bool(exclude))] if own else []
        ranking, found = context.loaded_gold.check_run(drop_self(ranking) if exclude and own else ranking)
        reference = context.loaded_gold.reference
        if reference is not None and reference.vectors is not None and reference.vectors.numbered:
            numbered = replace(row_numbers(reference.vectors, None)[0], matched_with=ranking.source)
            check_row_numbers(numbered, ranking.queries, ranking.items, ranking.source)
            ranking = replace(ranking, row_numbers=(numbered,))
        return Loaded(
            ranking, warnings=tuple(as_warnings([*notes, *found], "run")), similarities=RunSimilarities(ranking)
        )
