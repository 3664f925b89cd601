"""The ``sweep`` tables of a plan: grids of parameters of its indexes, and what they are tried with."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from rankjury.core.journal import Journal
from rankjury.core.params import Setting
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.errors import RankjuryError, UnknownName, UsageError
from rankjury.evaluation.targets import Target
from rankjury.plan.context import TableForSystem
from rankjury.retrieval.bench.build import Bench
from rankjury.retrieval.bench.grid import Grid
from rankjury.retrieval.bench.sweep import sweep
from rankjury.retrieval.bench.sweep_result import Cost, Sweep
from rankjury.retrieval.engines.base import ENGINES

if TYPE_CHECKING:
    from rankjury.plan.parse import CheckedPlan
    from rankjury.plan.run import Inputs
    from rankjury.plan.schema import Plan
    from rankjury.plan.systems.index import IndexSystem

_EXAMPLE = "[sweep.NAME] with search = { ef_search = [16, 32, 64] }"
_P95 = "latency_p95_ms"


class SweepTable(TableForSystem):
    """A grid of parameters of one index; what it leaves out is as the system says, or as usual."""

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
        None, description=f"Milliseconds to stay within; unset: those of the plan's target on {_P95}."
    )
    cheapest: Literal["p95", "size", "build"] = Field(
        "p95", description="What the cheapest setting has least of: p95, size of the index, or time to build."
    )
    concurrency: Annotated[int, Field(ge=1, le=256)] = Field(1, description="Callers at a time while it is timed.")

    def faults(self, name: str, plan: "Plan") -> Iterator[tuple[tuple[str, ...], str]]:
        """Keys that do not fit the system and its engine, and why."""
        system: Any = plan.systems.get(name)
        if name not in plan.indexes:
            yield (), str(UnknownName("system of the kind index", name, plan.indexes))
            return
        engine = ENGINES.find(system.engine)
        if engine is None:
            return  # told of the system
        try:
            grid_of(system, self).check(engine)
        except RankjuryError as error:
            where, error.where = error.where, None
            yield tuple(where.split(".")) if where else (), str(error)


@dataclass(frozen=True, eq=False)
class IndexSweep:
    """One index to be swept."""

    name: str
    bench: Bench
    grid: Grid
    target: float | None
    limit_p95_ms: float | None
    cheapest: Cost
    rounds: int
    warm_up: int
    concurrency: int

    @property
    def steps(self) -> int:
        """As many as progress tells of: builds, points, and the comparison of those that meet the target."""
        aims = self.target is not None or self.limit_p95_ms is not None
        return len(self.grid) + self.grid.number_of_builds + (aims and self.cheapest == "p95")

    def carry_out(self, journal: Journal | None, *, prune: bool = True, progress: Progress = NO_PROGRESS) -> Sweep:
        return sweep(
            self.bench, self.grid, name=self.name, target=self.target, limit_p95_ms=self.limit_p95_ms, journal=journal,
            rounds=self.rounds, warm_up=self.warm_up, concurrency=self.concurrency, progress=progress, prune=prune,
            cheapest=self.cheapest,
        )  # fmt: skip


def grid_of(system: "IndexSystem", table: SweepTable) -> Grid:
    """The table's values over the system's own."""

    def merged(own: dict[str, Setting], tried: dict[str, list[Setting]]) -> dict[str, list[Setting]]:
        return {name: [value] for name, value in own.items()} | tried

    return Grid(merged(system.build, table.build), merged(system.search, table.search))


def prepare_sweeps(
    checked: "CheckedPlan", progress: Progress = NO_PROGRESS, output: Path | None = None
) -> list[IndexSweep]:
    """What a plan asks to sweep, with its vectors read; queries are those of the gold, as when the plan is run."""
    from rankjury.plan.run import Inputs

    if not checked.plan.sweep:
        left_out = "; ".join(checked.notes) or None
        raise UsageError("the plan sweeps nothing", where=checked.where, expected=_EXAMPLE, hint=left_out)
    for name, table in checked.plan.sweep.items():
        for path, message in table.faults(name, checked.plan):
            raise UsageError(message, where=checked.at("sweep", name, *path))
    if checked.plan.lab.rounds == 0:
        raise UsageError("found 0 rounds, but a sweep takes times", where=checked.at("lab", "rounds"))
    inputs = Inputs(checked, progress, output)
    return [_swept(name, table, checked, inputs) for name, table in checked.plan.sweep.items()]


def _swept(name: str, table: SweepTable, checked: "CheckedPlan", inputs: "Inputs") -> IndexSweep:
    system: Any = checked.plan.systems[name]
    context = inputs.context_of(name)
    with context.located(system=name):
        bench, _ = system.bench(context)
    clock = context.lab.clock(len(bench.queries))
    assert clock is not None
    aimed = [one for one in checked.targets if one.slice is None and not one.relative and one.system in (None, name)]
    recall = _limit(aimed, (f"ann_recall@{bench.k}",), (">=", ">")) if table.recall is None else table.recall
    p95_ms = _limit(aimed, (_P95,), ("<=", "<")) if table.p95_ms is None else table.p95_ms
    return IndexSweep(
        name, bench, grid_of(system, table), recall, p95_ms, table.cheapest, clock.rounds, clock.warm_up,
        table.concurrency,
    )  # fmt: skip


def _limit(targets: Iterable[Target], subjects: tuple[str, ...], signs: tuple[str, ...]) -> float | None:
    """The limit that the plan's targets set on a figure."""
    return next((one.limit for one in targets if one.subject in subjects and one.sign in signs), None)
