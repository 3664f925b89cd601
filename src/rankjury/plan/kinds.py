"""Kinds of gold and of systems: files, vectors, references, fusion and a random order.

Each of the other kinds has a module of its own, which is imported here to register it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Literal

import polars as pl
from pydantic import Field

from rankjury.core.convert import ITEM, QUERY, SCORE, ranking_from_frame
from rankjury.core.text import join_names, plural
from rankjury.core.types import ROW_NUMBER, Ranking, Vectors, names_of
from rankjury.errors import UnknownName, UsageError
from rankjury.evaluation.query_lists import top_rows, top_scores
from rankjury.evaluation.random_baseline import RandomRanking
from rankjury.evaluation.sections import FusionFacts, ReportWarning, Section, SystemFacts, as_warnings
from rankjury.io.candidates import read_candidates
from rankjury.io.formats import read_gold, read_run
from rankjury.io.ordered_lists import ONLY_ASPECT, read_ordered
from rankjury.io.vectors import split_off_key
from rankjury.io.vectors.ids import read_ids
from rankjury.io.vectors.sniffing import holds_vectors
from rankjury.measures.dialects import NamedMeasure
from rankjury.plan import GOLD_KINDS, SYSTEM_KINDS
from rankjury.plan.bench import add_lab_results, vector_sections
from rankjury.plan.context import GoldContext, GoldTable, LastStep, Loaded, LoadedGold, SystemContext, SystemTable
from rankjury.plan.systems.vector_files import VectorFiles
from rankjury.retrieval.agreement import stats as agreement
from rankjury.retrieval.agreement.pairs import OfRun, OfVectors, ReferenceSide, chosen_ids, sample_ids
from rankjury.retrieval.agreement.reference import Reference, reference_gold
from rankjury.retrieval.diagnostics import GoldSpaces
from rankjury.retrieval.fusion.align import fuse
from rankjury.retrieval.fusion.fusion import METHODS as FUSIONS, NORMALIZATIONS, Fusion
from rankjury.retrieval.rank import (
    Space,
    check_same_items,
    drop_self,
    rank_listed,
    rank_vectors,
    resolve_exclude_self,
    select_vectors,
    self_note,
    self_rows,
)

_REFERENCE_DEPTH = 100
_FULL_UP_TO = 2_000
_USUAL_DEPTH = 1_000


@GOLD_KINDS.register("labels")
class LabelsGold(GoldTable):
    """Graded labels: qrels or a table with query_id, item_id and grade."""

    kind: Literal["labels"] = "labels"
    path: str = Field(description="TREC qrels, JSON, JSONL, CSV, TSV or Parquet, also .gz and .zst.")
    format: str | None = Field(None, description="The format, where the file does not tell.")
    relevant_from: float | None = Field(None, description="The grade from which an item is relevant.")

    def load(self, context: GoldContext) -> LoadedGold:
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

    def load(self, context: GoldContext) -> LoadedGold:
        golds = read_ordered(context.path(self.path), closed=self.closed)
        queries = frozenset(next(iter(golds.values())).queries)
        closed = all(set(gold.items.cast(pl.String)) <= queries for gold in golds.values())
        closed = closed and self.closed is not False
        return LoadedGold(golds, closed, queries_are_items=closed or None, exclude_self=closed or None)


@GOLD_KINDS.register("reference")
class ReferenceGold(VectorFiles, GoldTable):
    """A reference model's neighbours: the items that it finds most alike, best first; or a run that it made."""

    is_model_reference = True
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

    def measure_faults(self, asked: Sequence[NamedMeasure]) -> Iterator[tuple[str, str]]:
        """How ties are cut is told twice, here and by the measures: both must say the same."""
        right, wrong = ("gold=tied", "k") if self.ties == "any" else ("gold=k", "tied")
        other = next((one.label for one in asked if one.measure["gold"] == wrong), None)
        if other is not None:
            yield "ties", f"is {self.ties!r}, but a measure is {other}; expected {right} with it"

    def _of_run(self, context: GoldContext, path: str) -> LoadedGold:
        run = read_run(path)
        # Whether a run's queries are its items cannot be known: own ids are kept, and that is said.
        own = int(self_rows(run).sum())
        run = drop_self(run) if self.exclude_self else run
        ordered = top_rows(run, run.queries, None)

        def rank(wanted: pl.Series, k: int) -> Ranking:
            of_these = ordered.filter(pl.col(QUERY).is_in(wanted.implode()))
            return ranking_from_frame(of_these.group_by(QUERY, maintain_order=True).head(k), source=run.source)

        asked, _ = self._asked(run.queries, context, run.source, numbered=False)
        found = self._gold(rank, asked, context, run.source)
        exclude = self.exclude_self if self.exclude_self is not None or not own else False
        side = ReferenceSide(found.gold, OfRun(run), exclude_self=bool(exclude))
        notes = [f"reference: {self_note(own, len(run), exclude=bool(exclude))}"] if own else []
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

    def _asked(self, ids: pl.Series, context: GoldContext, source: str, numbered: bool) -> tuple[pl.Series, list[str]]:
        """The queries that are asked, and what to say of them."""
        if self.sample_ids is None:
            return sample_ids(ids, self.sample, self.seed, where=source), []
        path = context.path(self.sample_ids)
        return chosen_ids(ids, names_of(read_ids(path), path), numbered=numbered, where=path)

    def _gold(
        self, rank: Callable[[pl.Series, int], Ranking], asked: pl.Series, context: GoldContext, source: str
    ) -> Reference:
        if self.depth is not None and self.depth < context.gold_cut:
            raise UsageError(
                f"the gold is {self.depth:,} deep, and cut at {context.gold_cut:,}", where=f"{source}, depth",
                expected=f"{context.gold_cut:,} or more",
            )  # fmt: skip
        depth = self.depth or max(context.cuts, default=_REFERENCE_DEPTH)
        return reference_gold(rank, asked, depth, ties=self.ties, needed=max(1, context.gold_cut), source=source)


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
        return Loaded(ranking, warnings=tuple(as_warnings([*notes, *found], "run")), similarities=OfRun(ranking))


@SYSTEM_KINDS.register("vectors")
class VectorsSystem(VectorFiles, SystemTable):
    """An embedding space, searched exactly."""

    kind: Literal["vectors"]
    engine: Literal["exact"] = Field("exact", description="Exact search; other engines are of the kind index.")
    depth: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description=f"How many to find; unset: all of up to {_FULL_UP_TO:,} items, else {_USUAL_DEPTH:,} or as many as "
        "the measures look at; with a reference as gold, as deep as the measures look.",
    )
    candidates: str | None = Field(
        None,
        description="all, gold (the gold's queries), a file of ids, or a table of query_id and item_id; unset: gold "
        "where the gold is closed, else all.",
    )

    def load(self, context: SystemContext) -> Loaded:
        context.loaded_gold.check_search()
        corpus, queries = self.read(context)
        exclude = self.exclude_self if self.exclude_self is not None else context.loaded_gold.exclude_self
        similarities = OfVectors(corpus, queries, self.metric)
        candidates, warnings = self._candidates(corpus, context)
        if isinstance(candidates, pl.DataFrame):
            listed = rank_listed(corpus, queries, candidates, k=self.depth, metric=self.metric, exclude_self=exclude)
            pool = candidates[ITEM].unique().sort()
            space = rank_vectors(corpus, queries, k=1, metric=self.metric, wanted=listed.queries, candidates=pool)
            return Loaded(listed, (space.hygiene,), similarities=similarities)
        reference = context.loaded_gold.reference
        if reference is not None and reference.vectors is not None and candidates is None:
            check_same_items(reference.vectors, corpus)
        size = len(corpus) if candidates is None else len(candidates)
        usual = None if size <= _FULL_UP_TO else max((_USUAL_DEPTH, *context.cuts))
        # One more than the measures look at shows whether the last of them ties with the next.
        only_order = reference is not None and context.deepest is not None and self.threshold is None
        depth = self.depth or (context.deepest + 1 if only_order and context.deepest else usual)
        wanted, found = context.loaded_gold.choose_queries(context.gold, corpus, queries)
        space = rank_vectors(
            corpus,
            queries,
            k=depth,
            metric=self.metric,
            exclude_self=exclude,
            wanted=wanted,
            candidates=candidates,
            cuts=context.cuts,
            scored=not only_order,
            progress=context.progress,
        )
        sections: list[Section] = [space.hygiene]
        last_steps: tuple[LastStep, ...] = ()
        if context.is_lab and not only_order:
            asked = select_vectors(corpus if queries is None else queries, space.ranking.queries, "query")
            sections.append(SystemFacts({"vectors": self.prepared}))
            sections += vector_sections(corpus, asked, top_scores(space.ranking, context.lab.table.k), context)
            last_steps = (add_lab_results,)
        return Loaded(space.ranking, tuple(sections), (*warnings, *found), similarities, last_steps)

    def _candidates(
        self, corpus: Vectors, context: SystemContext
    ) -> tuple[pl.Series | pl.DataFrame | None, list[ReportWarning]]:
        chosen = self.candidates or ("gold" if context.loaded_gold.closed and self.queries is None else "all")
        if chosen == "all":
            return None, []
        if chosen != "gold":
            return read_candidates(context.path(chosen)), []
        wanted = context.gold.queries.cast(pl.String).sort()
        extra = corpus.ids.filter(~corpus.ids.is_in(wanted.implode())).sort()
        if not len(extra):
            return wanted, []
        text = f"{plural(len(extra), 'vector is', 'vectors are')} of no query, and no candidate: {join_names(extra)}"
        return wanted, [ReportWarning(text, code="no-candidates", count=len(extra))]


@SYSTEM_KINDS.register("fusion")
class FusionSystem(SystemTable):
    """Other systems' rankings in one."""

    kind: Literal["fusion"]
    of: Annotated[list[str], Field(min_length=1)] = Field(description="The systems to fuse.")
    method: str = Field("rrf", description="rrf, combsum, combmnz, combmax, isr, borda or condorcet.")
    weights: dict[str, float] | None = Field(None, description="By system; unset: equal.")
    c: float = Field(60.0, description="The constant of rrf: weight / (c + rank).")
    depth: Annotated[int, Field(ge=1)] | None = Field(None, description="Only so many of each list count.")
    normalise: str | None = Field(None, description="none, min-max, z-score, sum or rank.")

    def load(self, context: SystemContext) -> Loaded:
        fusion = self.fusion()
        about = {
            "of": list(self.of),
            "method": self.method,
            "weights": dict(zip(self.of, fusion.weights_of(len(self.of)), strict=True)),
            "c": fusion.c if FUSIONS.get(self.method).has_c else None,
            "depth": self.depth,
            "normalise": fusion.normalise,
        }
        rankings = [context.rankings[name] for name in self.of]
        fused = fuse(rankings, fusion, source=" + ".join(self.of))
        if context.loaded_gold.closed and self.method == "rrf" and self.depth:
            fused = _with_the_rest(fused, rankings)
        return Loaded(fused, (FusionFacts(about),))

    def fusion(self) -> Fusion:
        weights = None
        if self.weights is not None:
            strange = [name for name in self.weights if name not in self.of]
            lacking = [name for name in self.of if name not in self.weights]
            if strange or lacking:
                found = f"no weight for {lacking[0]}" if lacking else f"a weight for {strange[0]}, which is not fused"
                raise UsageError(found, expected=f"a weight for each of {', '.join(self.of)}")
            weights = tuple(self.weights[name] for name in self.of)
        return Fusion(self.method, weights, self.c, self.depth, self.normalise)

    def needs(self) -> tuple[str, ...]:
        return tuple(self.of)

    def faults(self) -> Iterator[tuple[str, str]]:
        if FUSIONS.find(self.method) is None:
            yield "method", str(UnknownName(FUSIONS.kind, self.method, FUSIONS.names()))
        elif self.normalise not in (None, *NORMALIZATIONS):
            yield "normalise", str(UnknownName("normalisation", str(self.normalise), NORMALIZATIONS))
        else:
            try:
                self.fusion()
            except UsageError as error:
                yield "weights" if "weight" in str(error) else "c", str(error)


def _with_the_rest(fused: Ranking, rankings: Sequence[Ranking]) -> Ranking:
    """Of a closed set all are ranked: to those that stand below the depth of every list each gives 0."""
    dtype = fused.items.dtype if fused.items.dtype == ROW_NUMBER else pl.String
    held = fused.frame().with_columns(pl.col(ITEM).cast(pl.String))
    pairs = pl.concat([one.frame().select(QUERY, pl.col(ITEM).cast(pl.String)) for one in rankings]).unique()
    rest = pairs.join(held, on=[QUERY, ITEM], how="anti").with_columns(pl.lit(0.0).alias(SCORE))
    whole = ranking_from_frame(pl.concat([held, rest]), source=fused.source)
    return replace(whole, items=whole.items.cast(dtype))


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
