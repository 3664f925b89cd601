"""Gold from label files: graded labels, and ordered lists of one or several aspects."""

from typing import Literal

import polars as pl
from pydantic import Field

from rankjury.io.formats import read_gold
from rankjury.io.ordered_lists import ONLY_ASPECT, read_ordered
from rankjury.plan import GOLD_KINDS
from rankjury.plan.context import GoldContext, GoldTable, LoadedGold


@GOLD_KINDS.register("labels")
class LabelsGold(GoldTable):
    """Graded labels: qrels or a table with query_id, item_id and grade."""

    kind: Literal["labels"] = "labels"
    path: str = Field(description="TREC qrels, JSON, JSONL, CSV, TSV or Parquet, also .gz and .zst.")
    format: str | None = Field(None, description="The format, if not detected from the file.")
    relevant_from: float | None = Field(None, description="The lowest relevant grade.")

    def load(self, context: GoldContext) -> LoadedGold:
        gold = read_gold(context.path(self.path), self.format, relevant_from=self.relevant_from)
        return LoadedGold({ONLY_ASPECT: gold})


@GOLD_KINDS.register("ordered")
class OrderedGold(GoldTable):
    """Ordered lists, best first, of one or several aspects; the grade is the length + 1 − the position."""

    kind: Literal["ordered"]
    path: str = Field(description="A JSON array of objects with an id and one list per aspect.")
    closed: bool | None = Field(
        None, description="Every listed item must be a query; default: if fields are named N_most_similar_…_ordered."
    )

    def load(self, context: GoldContext) -> LoadedGold:
        golds = read_ordered(context.path(self.path), closed=self.closed)
        queries = frozenset(next(iter(golds.values())).queries)
        closed = all(set(gold.items.cast(pl.String)) <= queries for gold in golds.values())
        closed = closed and self.closed is not False
        return LoadedGold(golds, closed, queries_are_items=closed or None, exclude_self=closed or None)
