"""The kinds of gold that a plan may name."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Literal

import polars as pl
from pydantic import Field

from karat import agreement
from karat.answers import first_rows
from karat.dialects import Asked
from karat.errors import UsageError
from karat.formats import read_gold, read_run
from karat.formats.vectors import split_off_key
from karat.formats.vectors.checks import names_of
from karat.formats.vectors.ids import read_ids
from karat.formats.vectors.sniffing import holds_vectors
from karat.gold.ordered import ONLY_ASPECT, read_ordered
from karat.gold.reference import Reference, reference_gold
from karat.hygiene import GoldSpaces
from karat.intake import QUERY, ranking_from_frame
from karat.pairing import OfRun, OfVectors, ReferenceSide, chosen_ids, sample_ids
from karat.plan import GOLD_KINDS
from karat.plan.context import Context, GoldTable, LoadedGold
from karat.plan.vectors import VectorFiles
from karat.rankers.others import excludes_self, own_note, own_rows, without_own
from karat.rankers.vectors import Space, rank_vectors
from karat.sections import as_warnings
from karat.types import Ranking

__all__ = ["LabelsGold", "OrderedGold", "ReferenceGold"]

_USUAL_DEPTH = 100


@GOLD_KINDS.register("labels")
class LabelsGold(GoldTable):
    """Graded labels: qrels or a table with query_id, item_id and grade."""

    kind: Literal["labels"] = "labels"
    path: str = Field(description="TREC qrels, JSON, JSONL, CSV, TSV or Parquet, also .gz and .zst.")
    format: str | None = Field(None, description="The format, where the file does not tell.")
    relevant_from: float | None = Field(None, description="The grade from which an item is relevant.")

    def load(self, context: Context) -> LoadedGold:
        gold = read_gold(context.path(self.path), self.format, relevant_from=self.relevant_from)
        return LoadedGold({ONLY_ASPECT: gold})


@GOLD_KINDS.register("ordered")
class OrderedGold(GoldTable):
    """Ordered lists, best first, of one aspect or several; the grade is the length + 1 − the position."""

    kind: Literal["ordered"]
    path: str = Field(description="A JSON array of objects with an id and a list for each aspect.")
    closed: bool | None = Field(
        None, description="Every listed item must be a query; unset: where fields are named N_most_similar_…_ordered."
    )

    def load(self, context: Context) -> LoadedGold:
        golds = read_ordered(context.path(self.path), closed=self.closed)
        queries = frozenset(next(iter(golds.values())).queries)
        closed = all(set(gold.items.cast(pl.String)) <= queries for gold in golds.values())
        closed = closed and self.closed is not False
        return LoadedGold(golds, closed, queries_are_items=closed or None, exclude_self=closed or None)


@GOLD_KINDS.register("reference")
class ReferenceGold(VectorFiles, GoldTable):
    """A reference model's neighbours: the items that it finds most alike, best first; or a run that it made."""

    of_a_model = True
    kind: Literal["reference"]
    depth: Annotated[int, Field(ge=1)] | None = Field(
        None, description="How many neighbours to hold for true; unset: the largest cut-off."
    )
    sample: Annotated[int, Field(ge=1)] | None = Field(None, description="Ask only so many of the items, by the seed.")
    seed: Annotated[int, Field(ge=0)] = Field(42, description="The seed of the sample.")
    sample_ids: str | None = Field(
        None,
        description="A file of the queries to ask, instead of a sample: ids, or row numbers from 0 where the vectors "
        "have no ids (.npy, .txt, .json, items.csv:id).",
    )
    ties: Literal["id", "any"] = Field(
        "id", description="Equal scores at the cut-off: by id; any: all that tie count, with measures of gold=tied."
    )

    def load(self, context: Context) -> LoadedGold:
        path = context.path(self.path)
        if split_off_key(path)[1] is None and not holds_vectors(path):
            return self._of_run(context, path)
        corpus, queries = self.read(context)
        spaces: list[Space] = []

        def rank(wanted: pl.Series, k: int) -> Ranking:
            space = rank_vectors(
                corpus,
                queries,
                k=k,
                metric=self.metric,
                wanted=wanted,
                cuts=context.cuts,
                scored=False,
                exclude_self=self.exclude_self,
                progress=context.progress.step("Searching for the gold"),
            )
            spaces.append(space)
            return space.ranking

        asked, notes = self._asked((queries or corpus).ids, context, corpus.source, (queries or corpus).numbered)
        found = self._gold(rank, asked, context, corpus.source)
        exclude = excludes_self(self.exclude_self, corpus, queries)
        side = ReferenceSide(found.gold, OfVectors(corpus, queries, self.metric), corpus, exclude)
        notes += [*(f"reference: {note}" for note in spaces[0].ranking.notes), *found.notes(context.cuts)]
        source = (agreement.ReferenceGold(found.gold.source),) if context.cuts else ()
        name = "reference (gold)" if "reference" in context.checked.plan.systems else "reference"
        return LoadedGold(
            {ONLY_ASPECT: found.gold},
            reference=side,
            warnings=tuple(as_warnings(notes, "reference")),
            sections=(
                *source,
                GoldSpaces({name: spaces[0].hygiene}),
            ),
            queries_are_items=queries is None or None,
            exclude_self=exclude,
        )

    def misfits(self, asked: Sequence[Asked]) -> Iterator[tuple[str, str]]:
        """How ties are cut is told twice, here and by the measures: both must say the same."""
        right, wrong = ("gold=tied", "k") if self.ties == "any" else ("gold=k", "tied")
        other = next((one.label for one in asked if one.measure["gold"] == wrong), None)
        if other is not None:
            yield "ties", f"is {self.ties!r}, but a measure is {other}; expected {right} with it"

    def _of_run(self, context: Context, path: str) -> LoadedGold:
        run = read_run(path)
        # Whether a run's queries are its items cannot be known: own ids are kept, and that is said.
        own = int(own_rows(run).sum())
        run = without_own(run) if self.exclude_self else run
        ordered = first_rows(run, run.queries, None)

        def rank(wanted: pl.Series, k: int) -> Ranking:
            of_these = ordered.filter(pl.col(QUERY).is_in(wanted.implode()))
            return ranking_from_frame(of_these.group_by(QUERY, maintain_order=True).head(k), source=run.source)

        asked, _ = self._asked(run.queries, context, run.source, numbered=False)
        found = self._gold(rank, asked, context, run.source)
        exclude = self.exclude_self if self.exclude_self is not None or not own else False
        side = ReferenceSide(found.gold, OfRun(run), exclude_self=bool(exclude))
        notes = [f"reference: {own_note(own, len(run), exclude=bool(exclude))}"] if own else []
        return LoadedGold(
            {ONLY_ASPECT: found.gold},
            reference=side,
            warnings=tuple(as_warnings((*notes, *found.notes(context.cuts)), "reference")),
            sections=(agreement.ReferenceGold(found.gold.source),) if context.cuts else (),
            exclude_self=exclude,
        )

    def faults(self) -> Iterator[tuple[str, str]]:
        yield from super().faults()
        if self.sample is not None and self.sample_ids is not None:
            yield "sample_ids", "lists the queries, but sample draws them; expected one of both"

    def _asked(self, ids: pl.Series, context: Context, source: str, numbered: bool) -> tuple[pl.Series, list[str]]:
        """The queries that are asked, and what to say of them."""
        if self.sample_ids is None:
            return sample_ids(ids, self.sample, self.seed, where=source), []
        path = context.path(self.sample_ids)
        return chosen_ids(ids, names_of(read_ids(path), path), numbered=numbered, where=path)

    def _gold(
        self, rank: Callable[[pl.Series, int], Ranking], asked: pl.Series, context: Context, source: str
    ) -> Reference:
        if self.depth is not None and self.depth < context.gold_cut:
            raise UsageError(
                f"the gold is {self.depth:,} deep, and cut at {context.gold_cut:,}", where=f"{source}, depth",
                expected=f"{context.gold_cut:,} or more",
            )  # fmt: skip
        depth = self.depth or max(context.cuts, default=_USUAL_DEPTH)
        return reference_gold(rank, asked, depth, ties=self.ties, needed=max(1, context.gold_cut), source=source)
