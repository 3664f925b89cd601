"""Schema of a plan, table by table, from which its JSON Schema is generated."""

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
    """Settings of intervals and tests."""

    resamples: Annotated[int, Field(ge=FEWEST_RESAMPLES, le=MOST_RESAMPLES)] = Field(
        _RESAMPLING.resamples, description="Resamples for intervals and tests."
    )
    level: Annotated[float, Field(gt=0, lt=1)] = Field(_RESAMPLING.level, description="The level of the intervals.")
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(_RESAMPLING.seed, description="The random seed.")
    interval: Literal["auto", "bca", "percentile"] = Field("auto", description="The kind of interval.")


class Conventions(PlanTable):
    """Default conventions of all measures."""

    dialect: str | None = Field(None, description="Conventions of a tool: trec_eval, ranx, beir …")
    ties: Literal["id", "id-desc", "order"] | None = Field(None, description="Order of equal scores.")
    missing: Literal["zero", "skip", "error"] | None = Field(None, description="Gold queries missing in a system.")
    empty: Literal["skip", "zero", "error"] | None = Field(None, description="Queries without relevant items.")
    rel: float | None = Field(None, description="The lowest relevant grade.")
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
    """A requirement on the results."""

    require: str = Field(description='Such as "ndcg@10 >= 0.85" or "recall@100 drop <= 0.005".')
    slice: str | None = Field(None, description="Only in this slice, such as cluster=horror.")
    system: str | None = Field(None, description="Only for this system.")
    name: str | None = Field(None, description="The name of the target.")


class OutputTable(PlanTable):
    """An output file, with its format if the suffix is ambiguous."""

    file: str = Field(
        description="Relative to the plan, or to the folder of rankjury run -o; {system} writes a file per system with "
        "cutoffs, {index} one per index with evaluation, {chart} one per chart with charts; {date} and {model} "
        "are replaced."
    )
    form: str | None = Field(
        None,
        description="report, queries (scores per query), cutoffs (a table by k), retrievers, evaluation (one "
        "index completely), recommenders (a page of charts), charts (one .png or .svg each) or pull-request (short "
        "Markdown), or another registered format; default: report.",
    )
    k: Annotated[int, Field(ge=1)] | None = Field(None, description="The cut-off of the format retrievers.")
    system: str | None = Field(
        None, description="The system of the formats cutoffs and evaluation, if the file name has none."
    )


class AgreementTable(PlanTable):
    """Pairs over which the similarities of systems are compared with the reference's."""

    over: Literal["sampled", "top"] | None = Field(
        None, description="sampled pairs, or those of the top k of either; default: sampled if there are vectors."
    )
    pairs: Annotated[int, Field(ge=1)] = Field(20_000, description="Approximate number of sampled pairs.")
    seed: Annotated[int, Field(ge=0)] = Field(0, description="The seed of the sample.")
    k: Annotated[int, Field(ge=1)] | None = Field(None, description="For over = top; default: the largest cut-off.")


class LabTable(PlanTable):
    """Settings for measuring indexes."""

    k: Annotated[int, Field(ge=1)] = Field(10, description="Number of neighbours for recall and latency.")
    queries: str | None = Field(
        None, description="The query set: a table with id, text, type and version. Its version and hash are recorded."
    )
    items: str | None = Field(None, description="The catalogue: a table of the items' attributes, for filters.")
    model: str | None = Field(
        None, description="Model that embeds the query texts for end-to-end latency, such as wordllama."
    )
    rounds: Annotated[int, Field(ge=0)] | None = Field(
        None, description="How often each query is timed; default: until there are 1,000 times; 0: never."
    )
    warm_up: Annotated[int, Field(ge=0)] = Field(WARM_UP, description="Number of warm-up queries before timing.")
    concurrency: list[Annotated[int, Field(ge=1, le=256)]] = Field(
        [1, 2, 4], description="Numbers of concurrent callers (closed loop: each waits for its response)."
    )
    rate: Annotated[float, Field(gt=0)] | None = Field(
        None, description="Queries per second at a fixed rate (open loop); default: none."
    )
    earlier: str | None = Field(
        None,
        description="An earlier report, the reference for drift; {index} stands for the index, * matches anything. Of "
        "the files that match, the latest that contains the index and did not fail its drift targets is "
        "used; a name without * is used as it is.",
    )
    allowed_drift: Annotated[float, Field(gt=0)] = Field(0.05, description="Maximum change of similarities and norms.")
    verify: bool = Field(True, description="Check that cosine and inner product agree on normalised vectors.")

    def check_files(self, context: GoldContext) -> None:
        """Choose the earlier reports, and read the query set."""
        with context.located("lab", "earlier"):
            context.lab.check_earlier()
        with context.located("lab", "queries"):
            context.lab.query_set  # noqa: B018 - reading checks it


def _located_fault(check: Callable[[], None]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the fault that a check raises, if any, with its key."""
    try:
        check()
    except RankjuryError as error:
        where, error.where = error.where, None
        yield tuple(where.split(".")) if where else (), str(error)


class SweepTable(PlanTable):
    """Grid of parameters of one index; others have the system's values, or the defaults."""

    build: dict[str, Annotated[list[Setting], Field(min_length=1)]] = Field(
        {}, description="Values of build parameters: { m = [8, 16], ef_construction = [64, 200] }."
    )
    search: dict[str, Annotated[list[Setting], Field(min_length=1)]] = Field(
        {}, description="Values of search parameters, all tried on each build: { ef_search = [16, 32, 64] }."
    )
    recall: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None, description="Minimum recall; default: that of the plan's target on ann_recall@k."
    )
    p95_ms: Annotated[float, Field(gt=0)] | None = Field(
        None, description="Maximum milliseconds; default: those of the plan's target on latency_p95_ms."
    )
    cheapest: Literal["p95", "size", "build"] = Field(
        "p95", description="The cost to minimise: p95 latency, size of the index, or build time."
    )
    concurrency: Annotated[int, Field(ge=1, le=256)] = Field(1, description="Concurrent callers while timing.")

    def faults(self, name: str, plan: "Plan") -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield keys, by their path in the table, that do not match the system and its engine, with the reason."""
        system: Any = plan.systems.get(name)
        if name not in plan.indexes:
            yield (), str(UnknownName("system of the kind index", name, plan.indexes))
            return
        engine = ENGINES.find(system.engine)
        if engine is None:
            return  # the system itself has this fault
        yield from _located_fault(lambda: self.grid(system).check(engine))

    def grid(self, system: Any) -> SweepGrid:
        """Return the grid of an index: the values of this table, completed by the system's."""
        build = {name: [value] for name, value in system.build.items()} | self.build
        return SweepGrid(build, {name: [value] for name, value in system.search.items()} | self.search)


class RangeTable(PlanTable):
    """Range of numbers, bounds included."""

    low: int | float = Field(description="The lowest.")
    high: int | float = Field(description="The highest.")
    log: bool = Field(False, description="Sample uniformly on a log scale: 0.001 to 0.01 as often as 0.1 to 1.")


Values = Annotated[
    Annotated[list[Setting], Tag("values")] | Annotated[RangeTable, Tag("range")],
    Discriminator(lambda values: "range" if isinstance(values, dict | RangeTable) else "values"),
]


class TuneTable(PlanTable):
    """Settings of one recommender to try on validation; others have the system's values, or the defaults."""

    params: dict[str, Values] = Field(
        description="By parameter, values { factors = [16, 64] }, or a range { low = 0.001, high = 1.0, log = true }."
    )
    search: Literal["grid", "random"] | None = Field(
        None, description="All combinations (grid), or a random sample; default: grid, or random with ranges."
    )
    trials: Annotated[int, Field(ge=1, le=MAX_TRIALS)] = Field(20, description="Number of trials of a random search.")
    measure: str = Field("ndcg@10", description="The measure to maximise.")
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(0, description="The seed of a random search.")

    @property
    def how(self) -> Literal["grid", "random"]:
        """Kind of search: as set, or as needed for the values."""
        ranges = any(isinstance(values, RangeTable) for values in self.params.values())
        return self.search or ("random" if ranges else "grid")

    @property
    def tried(self) -> SearchSpace:
        return {
            name: ParamRange(values.low, values.high, values.log) if isinstance(values, RangeTable) else values
            for name, values in self.params.items()
        }

    def faults(self, name: str, plan: "Plan") -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield keys, by their path in the table, that do not match the system and its model, with the reason."""
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
    """An evaluation: gold, systems, measures, and outputs."""

    version: Literal[1] = Field(1, description="The version of the plan format.")
    name: str | None = Field(None, description="The name of the evaluation.")
    gold: GoldTable = Field(description="The gold: the relevant items of each query.")
    systems: Annotated[dict[str, SystemTable], Field(min_length=1)] = Field(description="Systems to evaluate, by name.")
    baseline: str | None = Field(None, description="The system that the others are compared with.")
    measures: Annotated[list[str], Field(min_length=1)] = Field(
        list(DEFAULT_MEASURES), description="Measures such as ndcg@10; those without a cut-off use all cutoffs."
    )
    cutoffs: list[Annotated[int, Field(ge=1)]] = Field([], description="Cut-offs for measures without one.")
    headline: list[str] = Field([], description="Measures to print and to test; default: all. Fewer have more power.")
    slices: str | list[str] = Field([], description="Attributes of queries: queries.csv:type,length(quantiles=3).")
    item_slices: str | list[str] = Field([], description="Attributes of items: items.csv:category.")
    names: str | None = Field(None, description="Names to print instead of ids: items.jsonl:title.")
    texts: str | None = Field(None, description="Texts of queries, for pages: queries.jsonl:text.")
    targets: str | list[str] = Field([], description='Requirements: "ndcg@10 >= 0.85".')
    target: list[TargetTable] = Field([], description="Requirements with a slice, a system or a name.")
    outputs: str | list[str] = Field([], description="Output files: .html, .json, .csv, .md, .png or .svg.")
    output: list[OutputTable] = Field([], description="Output files with a format.")
    agreement: AgreementTable | None = Field(
        None, description="Agreement of similarities with those of a reference: correlations and errors."
    )
    lab: LabTable = Field(LabTable(), description="Settings for measuring systems of the kind index.")
    sweep: dict[str, SweepTable] = Field(
        {}, description="Grids of parameters for rankjury sweep, by system of the kind index."
    )
    tune: dict[str, TuneTable] = Field(
        {}, description="Settings that rankjury tune tries on validation, by system of the kind recommender."
    )
    statistics: Statistics = Field(Statistics(), description="Settings of intervals and tests.")
    conventions: Conventions = Field(Conventions(), description="Conventions of all measures.")
    figures: dict[str, dict[str, float]] = Field({}, description="Values measured elsewhere, such as latency.")
    meta: dict[str, str | int | float | bool] = Field(
        {}, description="Metadata recorded with the results: model, dataset_version, index_params …"
    )

    def tables_for_systems(self) -> Iterator[tuple[str, str, SweepTable | TuneTable]]:
        """Yield the key, the system and the table of each table that is named by a system."""
        yield from (("sweep", name, table) for name, table in self.sweep.items())
        yield from (("tune", name, table) for name, table in self.tune.items())

    @property
    def has_default_targets(self) -> bool:
        """Whether the default targets of a vector index apply: the plan has an index, and no targets."""
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
        """Whether the plan has indexes, or settings for measuring them."""
        return "lab" in self.model_fields_set or bool(self.indexes)


def plan_model() -> type[Plan]:
    """Return ``Plan`` with all registered kinds of gold and systems, including plug-ins."""

    def one_of(kinds: Any) -> Any:
        return Annotated[reduce(or_, list(kinds)), Field(discriminator="kind")]

    by_name: Any = dict[str, one_of(SYSTEM_KINDS)]  # type: ignore[misc]
    return create_model(
        "Plan",
        __base__=Plan,
        __doc__=Plan.__doc__,
        gold=(one_of(GOLD_KINDS), Field(description="The gold: the relevant items of each query.")),
        systems=(by_name, Field(description="Systems to evaluate, by name.", min_length=1)),
    )


def plan_schema() -> dict[str, Any]:
    """Return the JSON Schema of a plan, for editors."""
    schema = plan_model().model_json_schema()
    for parent, key in ((schema["properties"], "gold"), (schema["properties"]["systems"], "additionalProperties")):
        table = parent[key]  # labels and runs may be given by their path only
        description = {"description": table.pop("description")} if "description" in table else {}
        parent[key] = {"anyOf": [{"type": "string"}, table], **description}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "A rankjury plan"}


def schema_text() -> str:
    """Return the JSON Schema of a plan as text."""
    return json_text(plan_schema())
