"""The ``tune`` tables of a plan: settings of its recommenders to try, and the plan with those that were chosen."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from rankjury.core.params import Params, Setting
from rankjury.core.progress import Progress
from rankjury.errors import RankjuryError, UnknownName, UsageError
from rankjury.evaluation.evaluate import resolve_measures
from rankjury.plan.context import PlanTable, TableForSystem
from rankjury.plan.input_digests import digest_contents
from rankjury.recsys.models import RECOMMENDERS, make_recommender
from rankjury.recsys.tuning.models import TuningSubject, without_test
from rankjury.recsys.tuning.search import MOST_TRIALS, ParamRange, SearchSpace, check_search_space, settings_to_try

if TYPE_CHECKING:
    from rankjury.measures.dialects import NamedMeasure
    from rankjury.plan.parse import CheckedPlan
    from rankjury.plan.run import Inputs
    from rankjury.plan.schema import Conventions, Plan
    from rankjury.plan.systems.recommender import RecommenderSystem

_EXAMPLE = "[tune.NAME] with params = { factors = [16, 64] }"
_FULL_UP_TO, _USUAL_DEPTH = 2_000, 1_000


class RangeTable(PlanTable):
    """Numbers to draw from, ends included."""

    low: int | float = Field(description="The lowest.")
    high: int | float = Field(description="The highest.")
    log: bool = Field(False, description="Drawn evenly by their logarithm: 0.001 to 0.01 as often as 0.1 to 1.")


def _form_of(values: object) -> str:
    return "range" if isinstance(values, dict | RangeTable) else "values"


Values = Annotated[
    Annotated[list[Setting], Tag("values")] | Annotated[RangeTable, Tag("range")], Discriminator(_form_of)
]


class TuneTable(TableForSystem):
    """Settings of one recommender to try on validation; what it leaves out is as the system says, or as usual."""

    params: dict[str, Values] = Field(
        description="By parameter, values { factors = [16, 64] }, or a range { low = 0.001, high = 1.0, log = true }."
    )
    search: Literal["grid", "random"] | None = Field(
        None, description="All combinations (grid), or some that are drawn (random); unset: a grid, unless of ranges."
    )
    trials: Annotated[int, Field(ge=1, le=MOST_TRIALS)] = Field(20, description="How many a random search draws.")
    measure: str = Field("ndcg@10", description="What the best setting is best in.")
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(0, description="The seed of a random search.")

    @property
    def how(self) -> Literal["grid", "random"]:
        """As it says, or as its values ask for."""
        ranges = any(isinstance(one, RangeTable) for one in self.params.values())
        return self.search or ("random" if ranges else "grid")

    @property
    def tried(self) -> SearchSpace:
        return {
            name: ParamRange(one.low, one.high, one.log) if isinstance(one, RangeTable) else one
            for name, one in self.params.items()
        }

    def faults(self, name: str, plan: "Plan") -> Iterator[tuple[tuple[str, ...], str]]:
        """Keys that do not fit the system and its model, and why."""
        systems = recommenders_of(plan)
        if name not in systems:
            yield (), str(UnknownName("system of the kind recommender", name, systems))
            return
        kind = RECOMMENDERS.find(systems[name].model)
        if kind is None:
            return  # told of the system
        try:
            check_search_space(kind.params, self.tried, self.how)
        except RankjuryError as error:
            where, error.where = error.where or "", None
            yield tuple(where.split(".")), str(error)
        try:
            _measure(self.measure, plan.conventions)
        except RankjuryError as error:
            yield ("measure",), str(error)


def recommenders_of(plan: "Plan") -> "dict[str, RecommenderSystem]":
    """The systems that are recommenders, by name."""
    from rankjury.plan.systems.recommender import RecommenderSystem

    return {name: one for name, one in plan.systems.items() if isinstance(one, RecommenderSystem)}


def _measure(spelling: str, conventions: "Conventions") -> "NamedMeasure":
    from rankjury.plan.parse import overrides_of

    dialect = conventions.dialect
    (asked,) = resolve_measures([spelling], dialect, overrides_of(conventions))
    return asked


def with_validation_window(checked: "CheckedPlan") -> "CheckedPlan":
    """The plan on its validation window, whatever it says; as it is where nothing of its gold was held out."""
    return _on(checked, "validation", "train")


def _on(checked: "CheckedPlan", window: Literal["validation", "test"], fit_on: str | None) -> "CheckedPlan":
    gold = checked.plan.gold.on_window(window, fit_on)
    return replace(checked, plan=checked.plan.model_copy(update={"gold": gold}))


def prepare_subjects(
    checked: "CheckedPlan", names: list[str], progress: Progress, changed: Mapping[str, Any] | None = None
) -> list[TuningSubject]:
    """What to tune, with the log read; ``changed`` are keys of the tables that the caller sets otherwise."""
    from rankjury.plan.run import Inputs

    tables = {name: _table(checked, name, changed or {}) for name in names}
    asked = {name: _measure(table.measure, checked.plan.conventions) for name, table in tables.items()}
    inputs = Inputs(with_validation_window(checked), progress)
    if inputs.gold.task is None:
        raise UsageError(
            "the gold is no log that a recommender could learn from", where=checked.at("gold"),
            expected='a gold of the kind "interactions"',
        )  # fmt: skip
    task = without_test(inputs.gold.task)
    return [_subject(inputs, name, table, asked[name], task) for name, table in tables.items()]


def _table(checked: "CheckedPlan", name: str, changed: Mapping[str, Any]) -> TuneTable:
    systems = recommenders_of(checked.plan)
    if name not in systems:
        raise UnknownName("system of the kind recommender", name, systems, where=checked.where)
    if name not in checked.plan.tune:
        raise UsageError(
            f"the plan does not say what to try of {name}", where=checked.where,
            expected=_EXAMPLE.replace("NAME", name),
        )  # fmt: skip
    return checked.plan.tune[name].model_copy(update=dict(changed))


def _subject(inputs: "Inputs", name: str, table: TuneTable, asked: "NamedMeasure", task: Any) -> TuningSubject:
    from rankjury.plan.systems.recommender import COLD_ITEMS

    context, gold = inputs.context, inputs.gold
    checked = context.checked
    system = recommenders_of(checked.plan)[name]
    kind = RECOMMENDERS.get(system.model)

    def settings(params: Params) -> Params:
        return system.model_copy(update={"params": dict(params)}).settings(context.path, gold)

    with context.located("systems", name):
        make_recommender(system.model, settings(system.params))
    try:
        tried = settings_to_try(
            kind.params, system.params, table.tried, search=table.how, trials=table.trials, seed=table.seed,
            simpler=kind.simpler,
        )  # fmt: skip
    except RankjuryError as error:
        error.where = checked.at("tune", name, *(error.where or "").split("."))
        raise
    size = int(task.in_catalogue.sum())
    depth = system.depth or asked.measure.k or (size if size <= _FULL_UP_TO else _USUAL_DEPTH)
    about: dict[str, Any] = {"libraries": kind.versions(), "files": digest_contents(tried, checked.folder)}
    if gold.tiers is not None and COLD_ITEMS in kind.params:
        about[COLD_ITEMS] = gold.tiers.cold_items
    search: dict[str, Any] = {"kind": table.how}
    if table.how == "random":
        search |= {"trials": table.trials, "seed": table.seed}
    return TuningSubject(
        name, system.model, kind.params, lambda params: make_recommender(system.model, settings(params)), task,
        tuple(tried), table.tried, asked, depth, system.cold_users, system.threshold, search,
        about, kind.simpler, Path(checked.where).stem,
    )  # fmt: skip


def with_settings(
    checked: "CheckedPlan", chosen: Mapping[str, Params], tuned: str, refit: str | None = None
) -> "CheckedPlan":
    """The plan on its test window with these settings; ``refit``: what to learn from, if not what the plan says."""
    plan = checked.plan
    systems = {
        name: one.model_copy(update={"params": dict(chosen[name])}) if name in chosen else one
        for name, one in plan.systems.items()
    }
    kept: dict[str, Setting] = {**plan.meta, "tuned": tuned}
    changed = replace(checked, plan=plan.model_copy(update={"systems": systems, "meta": kept}))
    return _on(changed, "test", refit)
