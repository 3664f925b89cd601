"""The sweep tables of a plan: grids over the system's own values, and what must be met."""

from pathlib import Path

import numpy as np
import pytest

from rankjury.errors import UsageError
from rankjury.plan.schema import Plan
from rankjury.plan.trials import IndexSweep, prepare_sweeps
from tests.plan import checked, put

PLAN = """
gold = "gold.qrels"
statistics.resamples = 100
{top}
systems.graph = {{ kind = "index", engine = "faiss-hnsw", path = "items.npz:vectors", queries = "asked.npz:vectors", \
build = {{ m = 32, ef_construction = 77 }}, search = {{ ef_search = 9 }} }}
[lab]
k = 5
{lab}
[sweep.graph]
{sweep}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for name, prefix, count in (("items", "i", 40), ("asked", "q", 10)):
        ids = np.array([f"{prefix}{number}" for number in range(count)])
        put(tmp_path, **{f"{name}__npz": {"ids": ids, "vectors": rng.normal(size=(count, 4)).astype(np.float32)}})
    put(tmp_path, gold__qrels="".join(f"q{n} 0 i{n} 1\n" for n in range(6)))
    return tmp_path


def swept(folder: Path, sweep: str = "", *, top: str = "", lab: str = "") -> IndexSweep:
    text = PLAN.replace("\\\n", "").format(top=top, sweep=sweep, lab=lab)
    (found,) = prepare_sweeps(checked(folder, text))
    return found


def test_the_grid_stands_over_the_systems_own_values(folder: Path) -> None:
    found = swept(folder, "build = { m = [4, 8] }\nsearch = { ef_search = [16, 32] }")
    assert found.name == "graph"
    assert dict(found.grid.build) == {"m": [4, 8], "ef_construction": [77]}
    assert dict(found.grid.search) == {"ef_search": [16, 32]}
    assert dict(swept(folder).grid.search) == {"ef_search": [9]}


def test_the_bench_is_that_of_a_run(folder: Path) -> None:
    found = swept(folder)
    assert (found.bench.engine, found.bench.k, found.bench.metric) == ("faiss-hnsw", 5, "cosine")
    assert found.bench.queries.ids.to_list() == [f"q{n}" for n in range(6)], "those of the gold"
    assert found.bench.resampling is not None and found.bench.resampling.resamples == 100


def test_rounds_are_the_labs(folder: Path) -> None:
    assert swept(folder, lab="rounds = 3\nwarm_up = 7").rounds == 3
    assert swept(folder, lab="rounds = 3\nwarm_up = 7").warm_up == 7
    assert swept(folder).rounds == 167, "until there are a thousand times"
    assert swept(folder, "concurrency = 3").concurrency == 3


def test_the_target_is_the_tables_or_the_plans_or_the_usual(folder: Path) -> None:
    usual = swept(folder)
    assert (usual.target, usual.limit_p95_ms, usual.cheapest) == (0.95, 250.0, "p95")
    plans = swept(folder, top='targets = ["ann_recall@5 >= 0.8", "latency_p95_ms <= 7"]')
    assert (plans.target, plans.limit_p95_ms) == (0.8, 7.0)
    own = swept(folder, 'recall = 0.7\ncheapest = "size"', top='targets = ["ann_recall@5 >= 0.8"]')
    assert (own.target, own.limit_p95_ms, own.cheapest) == (0.7, None, "size")


def faults_of(plan: Plan) -> list[tuple[tuple[str, ...], str]]:
    tables = plan.tables_for_systems()
    return [((key, name, *path), message) for key, name, table in tables for path, message in table.faults(name, plan)]


def test_faults_say_which_key(folder: Path) -> None:
    plan: Plan = checked(folder, PLAN.replace("\\\n", "").format(top="", sweep="", lab="")).plan
    off = plan.model_copy(update={"sweep": {"graph": plan.sweep["graph"].model_copy(update={"build": {"m": [8, 8]}})}})
    assert faults_of(off) == [(("sweep", "graph", "build", "m"), "8 is a duplicate; expected each value once")]
    other = plan.model_copy(update={"sweep": {"grap": plan.sweep["graph"]}})
    ((path, message),) = faults_of(other)
    assert path == ("sweep", "grap") and "Did you mean graph" in message


def test_a_plan_that_sweeps_nothing(folder: Path) -> None:
    text = PLAN.replace("\\\n", "").format(top="", sweep="", lab="").partition("[sweep")[0]
    with pytest.raises(UsageError, match="the plan has no sweep"):
        prepare_sweeps(checked(folder, text))
