"""Trials of a plan: grids of index parameters for ``sweep``, settings of recommenders for ``tune``."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankjury.core.journal import Journal
from rankjury.core.params import Params
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.errors import RankjuryError, UnknownName, UsageError
from rankjury.evaluation.targets import Target
from rankjury.measures.dialects import NamedMeasure
from rankjury.plan.context import default_depth
from rankjury.plan.input_digests import digest_contents
from rankjury.plan.parse import CheckedPlan
from rankjury.plan.run import Inputs
from rankjury.plan.schema import SweepTable, TuneTable
from rankjury.plan.systems.recommender import COLD_ITEMS
from rankjury.recsys.models import RECOMMENDERS, Recommender, make_recommender
from rankjury.recsys.task import Task
from rankjury.recsys.tuning.models import TuningSubject, without_test
from rankjury.recsys.tuning.search import list_settings
from rankjury.retrieval.bench.benchmark import IndexBenchmark
from rankjury.retrieval.bench.grid import SweepGrid
from rankjury.retrieval.bench.sweep import run_sweep
from rankjury.retrieval.bench.sweep_result import Cost, SweepResult


@dataclass(frozen=True, eq=False)
class IndexSweep:
    """An index to sweep."""

    name: str
    bench: IndexBenchmark
    grid: SweepGrid
    target: float | None
    limit_p95_ms: float | None
    cheapest: Cost
    rounds: int
    warm_up: int
    concurrency: int

    @property
    def steps(self) -> int:
        """Number of progress steps: builds, points, and the comparison of those that meet the target."""
        aims = self.target is not None or self.limit_p95_ms is not None
        return len(self.grid) + self.grid.number_of_builds + (aims and self.cheapest == "p95")

    def carry_out(self, journal: Journal, *, prune: bool, progress: Progress) -> SweepResult:
        """Measure the grid; settings in the journal are not measured again."""
        return run_sweep(
            self.bench,
            self.grid,
            name=self.name,
            target=self.target,
            limit_p95_ms=self.limit_p95_ms,
            cheapest=self.cheapest,
            rounds=self.rounds,
            warm_up=self.warm_up,
            concurrency=self.concurrency,
            journal=journal,
            prune=prune,
            progress=progress,
        )


def prepare_sweeps(
    checked: CheckedPlan, progress: Progress = NO_PROGRESS, output: Path | None = None
) -> list[IndexSweep]:
    """Return the sweeps of a plan with their vectors read; queries are those of the gold, as when running the plan."""
    if not checked.plan.sweep:
        expected = "[sweep.NAME] with search = { ef_search = [16, 32, 64] }"
        raise UsageError("the plan has no sweep", where=checked.where, expected=expected)
    for name, table in checked.plan.sweep.items():
        for path, message in table.faults(name, checked.plan):
            raise UsageError(message, where=checked.at("sweep", name, *path))
    if checked.plan.lab.rounds == 0:
        raise UsageError("found 0 rounds, but a sweep measures times", where=checked.at("lab", "rounds"))
    inputs = Inputs(checked, progress, output)
    return [_prepare_sweep(name, table, checked, inputs) for name, table in checked.plan.sweep.items()]


def _prepare_sweep(name: str, table: SweepTable, checked: CheckedPlan, inputs: Inputs) -> IndexSweep:
    system: Any = checked.plan.systems[name]
    context = inputs.context_of(name)
    with context.located(system=name):
        bench, _ = system.bench(context)
    clock = context.lab.clock(len(bench.queries))
    assert clock is not None
    targets = [
        target
        for target in checked.targets
        if target.slice is None and not target.relative and target.system in (None, name)
    ]
    recall = _limit(targets, f"ann_recall@{bench.k}", (">=", ">")) if table.recall is None else table.recall
    p95_ms = _limit(targets, "latency_p95_ms", ("<=", "<")) if table.p95_ms is None else table.p95_ms
    return IndexSweep(
        name, bench, table.grid(system), recall, p95_ms, table.cheapest, clock.rounds, clock.warm_up, table.concurrency
    )


def _limit(targets: Iterable[Target], subject: str, signs: tuple[str, ...]) -> float | None:
    """Return the limit that the plan's targets set on a value."""
    return next((target.limit for target in targets if target.subject == subject and target.sign in signs), None)


def with_validation_window(checked: CheckedPlan) -> CheckedPlan:
    """Return the plan on its validation window; unchanged if its gold has no held-out windows."""
    gold = checked.plan.gold.on_window("validation", "train")
    return replace(checked, plan=checked.plan.model_copy(update={"gold": gold}))


def with_settings(
    checked: CheckedPlan, chosen: Mapping[str, Params], tuned: str, refit: str | None = None
) -> CheckedPlan:
    """Return the plan on its test window with the chosen settings by system.

    ``tuned`` records how they were chosen; ``refit`` are the training windows, if not those of the plan.
    """
    plan = checked.plan
    systems = {
        name: table.model_copy(update={"params": dict(chosen[name])}) if name in chosen else table
        for name, table in plan.systems.items()
    }
    changes = {"gold": plan.gold.on_window("test", refit), "systems": systems, "meta": {**plan.meta, "tuned": tuned}}
    return replace(checked, plan=plan.model_copy(update=changes))


def prepare_subjects(
    checked: CheckedPlan, names: list[str], progress: Progress, changed: Mapping[str, Any] | None = None
) -> list[TuningSubject]:
    """Return the recommenders to tune, with the log read; ``changed`` are keys that the caller overrides."""
    tables: dict[str, tuple[TuneTable, NamedMeasure]] = {}
    known = checked.plan.recommenders
    for name in names:
        if name not in known:
            raise UnknownName("system of the kind recommender", name, known, where=checked.where)
        if name not in checked.plan.tune:
            expected = f"[tune.{name}] with params = {{ factors = [16, 64] }}"
            raise UsageError(f"the plan has no settings to try for {name}", where=checked.where, expected=expected)
        table = checked.plan.tune[name].model_copy(update=dict(changed or {}))
        tables[name] = table, checked.plan.conventions.resolve(table.measure)
    inputs = Inputs(with_validation_window(checked), progress)
    task = without_test(inputs.gold.recommender_task(checked.at("gold")))
    return [_prepare_subject(inputs, name, table, asked, task) for name, (table, asked) in tables.items()]


def _prepare_subject(inputs: Inputs, name: str, table: TuneTable, asked: NamedMeasure, task: Task) -> TuningSubject:
    context, gold = inputs.context, inputs.gold
    checked = context.checked
    system: Any = checked.plan.recommenders[name]
    kind = RECOMMENDERS.get(system.model)

    def make(params: Params) -> Recommender:
        table = system.model_copy(update={"params": dict(params)})
        return make_recommender(system.model, table.settings(context.path, gold))

    with context.located("systems", name):
        make(system.params)
    try:
        tried = list_settings(
            kind.params, system.params, table.tried, search=table.how, trials=table.trials, seed=table.seed,
            simpler=kind.simpler,
        )  # fmt: skip
    except RankjuryError as error:
        error.where = checked.at("tune", name, *(error.where or "").split("."))
        raise
    size = int(task.in_catalogue.sum())
    depth = system.depth or asked.measure.k or default_depth(size, ()) or size
    about: dict[str, Any] = {"libraries": kind.versions(), "files": digest_contents(tried, checked.folder)}
    if gold.tiers is not None and COLD_ITEMS in kind.params:
        about[COLD_ITEMS] = gold.tiers.cold_items
    drawn = {"trials": table.trials, "seed": table.seed} if table.how == "random" else {}
    search = {"kind": table.how, **drawn}
    return TuningSubject(
        name, system.model, kind.params, make, task, tuple(tried), table.tried, asked, depth, system.cold_users,
        system.threshold, search, about, kind.simpler, Path(checked.where).stem,
    )  # fmt: skip
