"""What a plan may say, table by table. Its JSON Schema is made from this."""

from collections.abc import Iterator
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from rankjury.evaluation.evaluate import DEFAULT_MEASURES
from rankjury.plan import GOLD_KINDS, SYSTEM_KINDS
from rankjury.plan.bench import LabTable
from rankjury.plan.context import GoldTable, PlanTable, SystemTable, TableForSystem
from rankjury.plan.sweep import SweepTable
from rankjury.plan.tune import TuneTable
from rankjury.stats.resampling import FEWEST_RESAMPLES, MOST_RESAMPLES, Resampling

_USUAL = Resampling()


class Statistics(PlanTable):
    """How intervals and tests are made."""

    resamples: Annotated[int, Field(ge=FEWEST_RESAMPLES, le=MOST_RESAMPLES)] = Field(
        _USUAL.resamples, description="Resamples for intervals and tests."
    )
    level: Annotated[float, Field(gt=0, lt=1)] = Field(_USUAL.level, description="The level of the intervals.")
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(_USUAL.seed, description="Same seed, same digits.")
    interval: Literal["auto", "bca", "percentile"] = Field("auto", description="The kind of interval.")


class Conventions(PlanTable):
    """Conventions of all measures that do not say otherwise."""

    dialect: str | None = Field(None, description="Reproduce a tool: trec_eval, ranx, beir …")
    ties: Literal["id", "id-desc", "order"] | None = Field(None, description="Equal scores.")
    missing: Literal["zero", "skip", "error"] | None = Field(None, description="Gold queries that a system lacks.")
    empty: Literal["skip", "zero", "error"] | None = Field(None, description="Queries with nothing relevant.")
    rel: float | None = Field(None, description="The grade from which an item is relevant.")
    duplicates: Literal["error", "first", "last", "max"] = Field("error", description="Duplicate (query, item) pairs.")


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
    seed: Annotated[int, Field(ge=0)] = Field(42, description="The seed of the pairs.")
    k: Annotated[int, Field(ge=1)] | None = Field(None, description="For over = top; unset: the largest cut-off.")


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

    def explicit_tables(self) -> Iterator[PlanTable]:
        """Yield the tables that the plan has: gold, and of the others those that it names."""
        yield from (value for key, value in self if isinstance(value, PlanTable) and key in self.model_fields_set)

    def tables_for_systems(self) -> Iterator[tuple[str, str, TableForSystem]]:
        """Yield the key, the system and the table of each table that stands under the name of a system."""
        yield from (("sweep", name, table) for name, table in self.sweep.items())
        yield from (("tune", name, table) for name, table in self.tune.items())

    @property
    def has_outputs(self) -> bool:
        """Whether files are to be written."""
        return bool(self.outputs or self.output)

    @property
    def indexes(self) -> dict[str, SystemTable]:
        """The systems that are vector indexes."""
        return {name: table for name, table in self.systems.items() if table.is_index}

    @property
    def is_lab(self) -> bool:
        """Whether the plan is about indexes, or says how to try them."""
        return "lab" in self.model_fields_set or bool(self.indexes)


def plan_model() -> type[Plan]:
    """``Plan`` with all kinds of gold and systems that are known, plug-ins included."""

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


def _or_path(table: dict[str, Any]) -> dict[str, Any]:
    """Labels and runs may be given by their path alone."""
    kept = {"description": table.pop("description")} if "description" in table else {}
    return {"anyOf": [{"type": "string"}, table], **kept}


def plan_schema() -> dict[str, Any]:
    """The JSON Schema of a plan, for editors."""
    schema = plan_model().model_json_schema()
    keys = schema["properties"]
    keys["gold"] = _or_path(keys["gold"])
    keys["systems"]["additionalProperties"] = _or_path(keys["systems"]["additionalProperties"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "A plan of rankjury"}
