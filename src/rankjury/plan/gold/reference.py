"""Gold from a reference model: its nearest neighbours, or a run made by it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Literal

import polars as pl
from pydantic import Field

from rankjury.core.columns import QUERY
from rankjury.core.convert import ranking_from_frame
from rankjury.core.types import Ranking, names_of
from rankjury.errors import UsageError
from rankjury.evaluation.query_lists import top_rows
from rankjury.evaluation.sections import as_warnings
from rankjury.io.formats import read_run
from rankjury.io.ordered_lists import ONLY_ASPECT
from rankjury.io.vectors import read_ids, split_off_key
from rankjury.io.vectors.scan import holds_vectors
from rankjury.measures.dialects import NamedMeasure
from rankjury.plan import GOLD_KINDS
from rankjury.plan.context import GoldContext, GoldTable, LoadedGold
from rankjury.plan.systems.vectors import VectorFiles
from rankjury.retrieval.agreement import stats as agreement
from rankjury.retrieval.agreement.pairs import (
    ReferenceModel,
    RunSimilarities,
    VectorSimilarities,
    sample_ids,
    select_ids,
)
from rankjury.retrieval.agreement.reference import ReferenceJudgments, reference_gold
from rankjury.retrieval.diagnostics import GoldSpaces
from rankjury.retrieval.rank import Space, drop_self, rank_vectors, resolve_exclude_self, self_note, self_rows

_REFERENCE_DEPTH = 100


@GOLD_KINDS.register("reference")
class ReferenceModelGold(VectorFiles, GoldTable):
    """Nearest neighbours of a reference model, best first, or a run made by it."""

    is_model_reference = True
    kind: Literal["reference"]
    depth: Annotated[int, Field(ge=1)] | None = Field(
        None, description="How many neighbours are relevant; default: the largest cut-off."
    )
    sample: Annotated[int, Field(ge=1)] | None = Field(None, description="Use a random sample of the items as queries.")
    seed: Annotated[int, Field(ge=0)] = Field(0, description="The seed of the sample.")
    sample_ids: str | None = Field(
        None,
        description="A file of query ids, instead of a sample, or of row numbers from 0 if the vectors "
        "have no ids (.npy, .txt, .json, items.csv:id).",
    )
    ties: Literal["id", "any"] = Field(
        "id", description="Ties at the cut-off: by id, or any (all tied items count, with measures of gold=tied)."
    )

    def load(self, context: GoldContext) -> LoadedGold:
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
        exclude = resolve_exclude_self(self.exclude_self, corpus, queries)
        side = ReferenceModel(found.gold, VectorSimilarities(corpus, queries, self.metric), corpus, exclude)
        notes += [*(f"reference: {note}" for note in spaces[0].ranking.notes), *found.notes(context.cuts)]
        source = (agreement.ReferenceSource(found.gold.source),) if context.cuts else ()
        name = "reference (gold)" if "reference" in context.checked.plan.systems else "reference"
        return LoadedGold(
            {ONLY_ASPECT: found.gold},
            reference=side,
            warnings=tuple(as_warnings(notes, "reference")),
            sections=(*source, GoldSpaces({name: spaces[0].hygiene})),
            queries_are_items=queries is None or None,
            exclude_self=exclude,
        )

    def measure_faults(self, asked: Sequence[NamedMeasure]) -> Iterator[tuple[str, str]]:
        """Yield a fault if the measures cut ties differently from this table."""
        right, wrong = ("gold=tied", "k") if self.ties == "any" else ("gold=k", "tied")
        other = next((named.label for named in asked if named.measure["gold"] == wrong), None)
        if other is not None:
            yield "ties", f"is {self.ties!r}, but a measure is {other}; expected {right} with it"

    def _of_run(self, context: GoldContext, path: str) -> LoadedGold:
        run = read_run(path)
        # It is unknown whether a run's queries are its items: own ids are kept, with a note.
        own = int(self_rows(run).sum())
        run = drop_self(run) if self.exclude_self else run
        ordered = top_rows(run, run.queries, None)

        def rank(wanted: pl.Series, k: int) -> Ranking:
            of_these = ordered.filter(pl.col(QUERY).is_in(wanted.implode()))
            return ranking_from_frame(of_these.group_by(QUERY, maintain_order=True).head(k), source=run.source)

        asked, _ = self._asked(run.queries, context, run.source, numbered=False)
        found = self._gold(rank, asked, context, run.source)
        exclude = self.exclude_self if self.exclude_self is not None or not own else False
        side = ReferenceModel(found.gold, RunSimilarities(run), exclude_self=bool(exclude))
        notes = [f"reference: {self_note(own, len(run), exclude=bool(exclude))}"] if own else []
        return LoadedGold(
            {ONLY_ASPECT: found.gold},
            reference=side,
            warnings=tuple(as_warnings((*notes, *found.notes(context.cuts)), "reference")),
            sections=(agreement.ReferenceSource(found.gold.source),) if context.cuts else (),
            exclude_self=exclude,
        )

    def faults(self) -> Iterator[tuple[str, str]]:
        yield from super().faults()
        if self.sample is not None and self.sample_ids is not None:
            yield "sample_ids", "and sample exclude each other; expected one of them"

    def _asked(self, ids: pl.Series, context: GoldContext, source: str, numbered: bool) -> tuple[pl.Series, list[str]]:
        """Return the queries, with notes on them."""
        if self.sample_ids is None:
            return sample_ids(ids, self.sample, self.seed, where=source), []
        path = context.path(self.sample_ids)
        return select_ids(ids, names_of(read_ids(path), path), numbered=numbered, where=path)

    def _gold(
        self, rank: Callable[[pl.Series, int], Ranking], asked: pl.Series, context: GoldContext, source: str
    ) -> ReferenceJudgments:
        cut = context.checked.gold_cut
        if self.depth is not None and self.depth < cut:
            found = f"the gold has depth {self.depth:,}, but a measure cuts it at {cut:,}"
            raise UsageError(found, where=f"{source}, depth", expected=f"{cut:,} or more")
        depth = self.depth or max(context.cuts, default=_REFERENCE_DEPTH)
        return reference_gold(rank, asked, depth, ties=self.ties, needed=max(1, cut), source=source)
