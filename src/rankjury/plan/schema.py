"""Schema of a plan, table by table, from which its JSON Schema is made."""

from collections.abc import Callable, Iterator
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, create_model

from rankjury.core.params import Setting
from rankjury.core.text import json_text
from rankjury.errors import RankjuryError, UnknownName
from rankjury.evaluation.evaluate import DEFAULT_MEASURES, resolve_measures
from rankjury.measures.dialects import NamedMeasure
from rankjury.measures.judged import REL
from rankjury.measures.measure import COMMON_OPTIONS, Value
from rankjury.plan import GOLD_KINDS, SYSTEM_KINDS
from rankjury.plan.context import GoldContext, GoldTable, PlanTable, SystemTable
from rankjury.recsys.models import RECOMMENDERS
from rankjury.recsys.tuning.search import MAX_TRIALS, ParamRange, SearchSpace, check_search_space
from rankjury.retrieval.bench.grid import SweepGrid
from rankjury.retrieval.bench.loops import WARM_UP
from rankjury.retrieval.engines.base import ENGINES
from rankjury.stats.resampling import FEWEST_RESAMPLES, MOST_RESAMPLES, Resampling

_RESAMPLING = Resampling()


class Statistics(PlanTable):
    """How intervals and tests are made."""

    resamples: Annotated[int, Field(ge=FEWEST_RESAMPLES, le=MOST_RESAMPLES)] = Field(
        _RESAMPLING.resamples, description="Resamples for intervals and tests."
    )
    level: Annotated[float, Field(gt=0, lt=1)] = Field(_RESAMPLING.level, description="The level of the intervals.")
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(_RESAMPLING.seed, description="Same seed, same digits.")
    interval: Literal["auto", "bca", "percentile"] = Field("auto", description="The kind of interval.")


class Conventions(PlanTable):
    """Conventions of all measures that do not say otherwise."""

    dialect: str | None = Field(None, description="Reproduce a tool: trec_eval, ranx, beir …")
    ties: Literal["id", "id-desc", "order"] | None = Field(None, description="Equal scores.")
    missing: Literal["zero", "skip", "error"] | None = Field(None, description="Gold queries that a system lacks.")
    empty: Literal["skip", "zero", "error"] | None = Field(None, description="Queries with nothing relevant.")
    rel: float | None = Field(None, description="The grade from which an item is relevant.")
    duplicates: Literal["error", "first", "last", "max"] = Field("error", description="Duplicate (query, item) pairs.")

    def overrides(self) -> dict[str, Value]:
        """Return the conventions that are set, as options of measures."""
        known = {option.name: option for option in (*COMMON_OPTIONS, REL)}
        return {
            name: known[name].read(str(value), where=f"conventions.{name}")
            for name in ("ties", "missing", "empty", "rel")
            if (value := getattr(self, name)) is not None
        }

    def resolve(self, spelling: str) -> NamedMeasure:
        """Return a measure under these conventions."""
        return resolve_measures([spelling], self.dialect, self.overrides())[0]


class TargetTable(PlanTable):
    """Something that must hold."""

    require: str = Field(description='Such as "ndcg@10 >= 0.85" or "recall@100 drop <= 0.005".')
    slice: str | None = Field(None, description="Only in this slice, such as cluster=horror.")
    system: str | None = Field(None, description="Only of this system.")
    name: str | None = Field(None, description="What to call it.")


class OutputTable(PlanTable):
    """A file to write, and its form where the suffix does not tell."""

    file: str = Field(
        description="Relative to the plan, or to the folder of rankjury run -o; {system} makes one of each with "
        "cutoffs, {index} one of each index with evaluation, {chart} one of each chart with charts; {date} and {model} "
        "are filled in."
    )
    form: str | None = Field(
        None,
        description="report, queries (every query's scores), cutoffs (a table by k), retrievers, evaluation (one "
        "index whole), recommenders (a page of figures), charts (a .png or .svg each) or pull-request (short "
        "Markdown), or another registered format; unset: report.",
    )
    k: Annotated[int, Field(ge=1)] | None = Field(None, description="The cut-off of the form retrievers.")
    system: str | None = Field(
        None, description="The system of the forms cutoffs and evaluation, where the file names none."
    )


class AgreementTable(PlanTable):
    """Over which pairs the similarities of systems are compared with the reference's."""

    over: Literal["sampled", "top"] | None = Field(
        None, description="sampled pairs, or those of the top k of either; unset: sampled where vectors are known."
    )
    pairs: Annotated[int, Field(ge=1)] = Field(20_000, description="About how many pairs to draw.")
    seed: Annotated[int, Field(ge=0)] = Field(0, description="The seed of the pairs.")
    k: Annotated[int, Field(ge=1)] | None = Field(None, description="For over = top; unset: the largest cut-off.")


class LabTable(PlanTable):
    """How indexes are tried."""

    k: Annotated[int, Field(ge=1)] = Field(10, description="How many neighbours recall and latency are about.")
    queries: str | None = Field(
        None, description="The query set: a table with id, text, type and version. Its version and hash are recorded."
    )
    items: str | None = Field(None, description="The catalogue: a table of the items' attributes, for filters.")
    model: str | None = Field(
        None, description="Turns the queries' texts into vectors while end to end is timed, such as wordllama."
    )
    rounds: Annotated[int, Field(ge=0)] | None = Field(
        None, description="How often each query is timed; unset: until there are 1,000 times; 0: not at all."
    )
    warm_up: Annotated[int, Field(ge=0)] = Field(WARM_UP, description="Queries before the clock counts.")
    concurrency: list[Annotated[int, Field(ge=1, le=256)]] = Field(
        [1, 2, 4], description="Numbers of callers that each wait for their answer before they ask again."
    )
    rate: Annotated[float, Field(gt=0)] | None = Field(
        None, description="Queries a second that come whether or not the last was answered (open loop); unset: none."
    )
    earlier: str | None = Field(
        None,
        description="An earlier report, to evaluate drift against; {index} stands for the index, * for anything. Of "
        "the files that a name with * matches, the latest that holds the index and did not fail its drift targets is "
        "taken; a name without * is taken as it is.",
    )
    allowed_drift: Annotated[float, Field(gt=0)] = Field(0.05, description="How far similarities and norms may move.")
    verify: bool = Field(True, description="Check that cosine and inner product rank alike on normalised vectors.")

    def check_files(self, context: GoldContext) -> None:
        """Choose the earlier reports, and read the query set."""
        with context.located("lab", "earlier"):
            context.lab.check_earlier()
        with context.located("lab", "queries"):
            context.lab.query_set  # noqa: B018 - it is checked when it is read


def _located_fault(check: Callable[[], None]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the fault that a check raises, if any, with the key that it is about."""
    try:
        check()
    except RankjuryError as error:
        where, error.where = error.where, None
        yield tuple(where.split(".")) if where else (), str(error)


class SweepTable(PlanTable):
    """A grid of parameters of one index; others are as the system says, or the defaults."""

    build: dict[str, Annotated[list[Setting], Field(min_length=1)]] = Field(
        {}, description="Values to build with: { m = [8, 16], ef_construction = [64, 200] }."
    )
    search: dict[str, Annotated[list[Setting], Field(min_length=1)]] = Field(
        {}, description="Values to search with, all on each build: { ef_search = [16, 32, 64] }."
    )
    recall: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None, description="The recall to reach; unset: that of the plan's target on ann_recall@k."
    )
    p95_ms: Annotated[float, Field(gt=0)] | None = Field(
        None, description="Milliseconds to stay within; unset: those of the plan's target on latency_p95_ms."
    )
    cheapest: Literal["p95", "size", "build"] = Field(
        "p95", description="What the cheapest setting has least of: p95, size of the index, or time to build."
    )
    concurrency: Annotated[int, Field(ge=1, le=256)] = Field(1, description="Callers at a time while it is timed.")

    def faults(self, name: str, plan: "Plan") -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield keys, by their path in the table, that do not fit the system and its engine, and why."""
        system: Any = plan.systems.get(name)
        if name not in plan.indexes:
            yield (), str(UnknownName("system of the kind index", name, plan.indexes))
            return
        engine = ENGINES.find(system.engine)
        if engine is None:
            return  # the system itself has this fault
        yield from _located_fault(lambda: self.grid(system).check(engine))

    def grid(self, system: Any) -> SweepGrid:
        """Return the grid of an index: the values of this table over the system's own."""
        build = {name: [value] for name, value in system.build.items()} | self.build
        return SweepGrid(build, {name: [value] for name, value in system.search.items()} | self.search)


class RangeTable(PlanTable):
    """Numbers to draw from, ends included."""

    low: int | float = Field(description="The lowest.")
    high: int | float = Field(description="The highest.")
    log: bool = Field(False, description="Drawn evenly by their logarithm: 0.001 to 0.01 as often as 0.1 to 1.")


Values = Annotated[
    Annotated[list[Setting], Tag("values")] | Annotated[RangeTable, Tag("range")],
    Discriminator(lambda values: "range" if isinstance(values, dict | RangeTable) else "values"),
]


class TuneTable(PlanTable):
    """Settings of one recommender to try on validation; others are as the system says, or the defaults."""

    params: dict[str, Values] = Field(
        description="By parameter, values { factors = [16, 64] }, or a range { low = 0.001, high = 1.0, log = true }."
    )
    search: Literal["grid", "random"] | None = Field(
        None, description="All combinations (grid), or some that are drawn (random); unset: a grid, unless of ranges."
    )
    trials: Annotated[int, Field(ge=1, le=MAX_TRIALS)] = Field(20, description="How many a random search draws.")
    measure: str = Field("ndcg@10", description="What the best setting is best in.")
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(0, description="The seed of a random search.")

    @property
    def how(self) -> Literal["grid", "random"]:
        """The kind of search: that of the key, or the one that the values need."""
        ranges = any(isinstance(values, RangeTable) for values in self.params.values())
        return self.search or ("random" if ranges else "grid")

    @property
    def tried(self) -> SearchSpace:
        return {
            name: ParamRange(values.low, values.high, values.log) if isinstance(values, RangeTable) else values
            for name, values in self.params.items()
        }

    def faults(self, name: str, plan: "Plan") -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield keys, by their path in the table, that do not fit the system and its model, and why."""
        systems = plan.recommenders
        if name not in systems:
            yield (), str(UnknownName("system of the kind recommender", name, systems))
            return
        kind = RECOMMENDERS.find(systems[name].model)  # type: ignore[attr-defined]
        if kind is None:
            return  # the system itself has this fault
        yield from _located_fault(lambda: check_search_space(kind.params, self.tried, self.how))
        try:
            plan.conventions.resolve(self.measure)
        except RankjuryError as error:
            yield ("measure",), str(error)


class Plan(PlanTable):
    """An evaluation: gold, systems, measures, and what to make of them."""

    version: Literal[1] = Field(1, description="The version of this form.")
    name: str | None = Field(None, description="What to call the evaluation.")
    gold: GoldTable = Field(description="What should come back.")
    systems: Annotated[dict[str, SystemTable], Field(min_length=1)] = Field(description="What does, by name.")
    baseline: str | None = Field(None, description="The system that the others are compared with.")
    measures: Annotated[list[str], Field(min_length=1)] = Field(
        list(DEFAULT_MEASURES), description="Measures such as ndcg@10; those without a cut-off take all cutoffs."
    )
    cutoffs: list[Annotated[int, Field(ge=1)]] = Field([], description="Cut-offs of measures that have none.")
    headline: list[str] = Field([], description="The measures to print and to test; unset: all. Fewer tests show more.")
    slices: str | list[str] = Field([], description="Attributes of queries: queries.csv:type,length(quantiles=3).")
    item_slices: str | list[str] = Field([], description="Attributes of items: items.csv:category.")
    names: str | None = Field(None, description="Names to print instead of ids: items.jsonl:title.")
    texts: str | None = Field(None, description="What queries say, for pages: queries.jsonl:text.")
    targets: str | list[str] = Field([], description='What must hold: "ndcg@10 >= 0.85".')
    target: list[TargetTable] = Field([], description="The same with a slice, a system or a name.")
    outputs: str | list[str] = Field([], description="Files to write: .html, .json, .csv, .md, .png or .svg.")
    output: list[OutputTable] = Field([], description="The same with a form.")
    agreement: AgreementTable | None = Field(
        None, description="How far similarities agree with those of a reference: correlations and errors."
    )
    lab: LabTable = Field(LabTable(), description="How systems of the kind index are tried.")
    sweep: dict[str, SweepTable] = Field(
        {}, description="By system of the kind index: grids of parameters for rankjury sweep."
    )
    tune: dict[str, TuneTable] = Field(
        {}, description="By system of the kind recommender: settings for rankjury tune to try on validation."
    )
    statistics: Statistics = Field(Statistics(), description="How intervals and tests are made.")
    conventions: Conventions = Field(Conventions(), description="Conventions of all measures.")
    figures: dict[str, dict[str, float]] = Field({}, description="Figures of a system measured elsewhere: latency.")
    meta: dict[str, str | int | float | bool] = Field(
        {}, description="What to record with the results: model, dataset_version, index_params …"
    )

    def tables_for_systems(self) -> Iterator[tuple[str, str, SweepTable | TuneTable]]:
        """Yield the key, the system and the table of each table that stands under the name of a system."""
        yield from (("sweep", name, table) for name, table in self.sweep.items())
        yield from (("tune", name, table) for name, table in self.tune.items())

    @property
    def has_default_targets(self) -> bool:
        """Whether the default targets of a vector index apply: the plan has an index, and no key of targets."""
        return bool(self.indexes) and self.model_fields_set.isdisjoint(("targets", "target"))

    @property
    def indexes(self) -> dict[str, SystemTable]:
        """The systems that are vector indexes."""
        return {name: table for name, table in self.systems.items() if table.is_index}

    @property
    def recommenders(self) -> dict[str, SystemTable]:
        """The systems that are recommenders, which can be tuned."""
        return {name: table for name, table in self.systems.items() if table.is_recommender}

    @property
    def is_lab(self) -> bool:
        """Whether the plan is about indexes, or says how to try them."""
        return "lab" in self.model_fields_set or bool(self.indexes)


def plan_model() -> type[Plan]:
    """Return ``Plan`` with all kinds of gold and systems that are known, plug-ins included."""

    def one_of(kinds: Any) -> Any:
        return Annotated[reduce(or_, list(kinds)), Field(discriminator="kind")]

    by_name: Any = dict[str, one_of(SYSTEM_KINDS)]  # type: ignore[misc]
    return create_model(
        "Plan",
        __base__=Plan,
        __doc__=Plan.__doc__,
        gold=(one_of(GOLD_KINDS), Field(description="What should come back.")),
        systems=(by_name, Field(description="What does, by name.", min_length=1)),
    )


def plan_schema() -> dict[str, Any]:
    """Return the JSON Schema of a plan, for editors."""
    schema = plan_model().model_json_schema()
    for parent, key in ((schema["properties"], "gold"), (schema["properties"]["systems"], "additionalProperties")):
        table = parent[key]  # labels and runs may be given by their path alone
        description = {"description": table.pop("description")} if "description" in table else {}
        parent[key] = {"anyOf": [{"type": "string"}, table], **description}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "A plan of rankjury"}


def schema_text() -> str:
    """Return the JSON Schema of a plan as text."""
    return json_text(plan_schema())
