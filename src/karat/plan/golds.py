"""The kinds of gold that a plan may name."""

from typing import Annotated, Literal

import numpy as np
import polars as pl
from pydantic import Field

from karat.gold.labels import read_gold
from karat.gold.ordered import ONLY_ASPECT, read_ordered
from karat.plan import GOLD_KINDS
from karat.plan.tables import Folder, GoldTable, Loaded
from karat.plan.vectors import VectorFiles
from karat.rankers.vectors import rank_vectors
from karat.types import Gold, segments_within

__all__ = ["LabelsGold", "OrderedGold", "ReferenceGold"]


@GOLD_KINDS.register("labels")
class LabelsGold(GoldTable):
    """Graded labels: qrels or a table with query_id, item_id and grade."""

    kind: Literal["labels"] = "labels"
    path: str = Field(description="TREC qrels, JSON, JSONL, CSV, TSV or Parquet, also .gz and .zst.")
    format: str | None = Field(None, description="The format, where the file does not tell.")
    relevant_from: float | None = Field(None, description="The grade from which an item is relevant.")

    def load(self, folder: Folder) -> Loaded:
        gold = read_gold(folder.path(self.path), self.format, relevant_from=self.relevant_from)
        return Loaded(golds={ONLY_ASPECT: gold})


@GOLD_KINDS.register("ordered")
class OrderedGold(GoldTable):
    """Ordered lists, best first, of one aspect or several; the grade is the length + 1 − the position."""

    kind: Literal["ordered"]
    path: str = Field(description="A JSON array of objects with an id and a list for each aspect.")
    closed: bool | None = Field(
        None, description="Every listed item must be a query; unset: where fields are named N_most_similar_…_ordered."
    )

    def load(self, folder: Folder) -> Loaded:
        golds = read_ordered(folder.path(self.path), closed=self.closed)
        queries = frozenset(next(iter(golds.values())).queries)
        closed = all(set(gold.items.cast(pl.String)) <= queries for gold in golds.values())
        return Loaded(golds=golds, closed=closed and self.closed is not False)


@GOLD_KINDS.register("reference")
class ReferenceGold(VectorFiles, GoldTable):
    """A reference model's neighbours: the k items it finds most alike, best first."""

    kind: Literal["reference"]
    depth: Annotated[int, Field(ge=1)] = Field(100, description="How many neighbours to hold for true.")
    sample: Annotated[int, Field(ge=1)] | None = Field(None, description="Ask only so many of the items, by the seed.")
    seed: Annotated[int, Field(ge=0)] = Field(42, description="The seed of the sample.")

    def load(self, folder: Folder) -> Loaded:
        corpus, queries = self.read(folder)
        asked = (queries or corpus).ids
        if self.sample is not None and self.sample < len(asked):
            rows = np.random.default_rng(self.seed).choice(len(asked), self.sample, replace=False)
            asked = asked.sort().gather(np.sort(rows))
        space = rank_vectors(corpus, queries, k=self.depth, metric=self.metric, wanted=asked, progress=folder.progress)
        ranking = space.ranking
        lengths = np.repeat(np.diff(ranking.starts), np.diff(ranking.starts))
        grades = (lengths - segments_within(ranking.starts)).astype(np.float64)
        gold = Gold(ranking.queries, ranking.starts, ranking.items, grades, ordered=True, source=self.path)
        return Loaded(golds={ONLY_ASPECT: gold})
