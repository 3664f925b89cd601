"""Conventions of a plan: duplicate pairs, and errors that name the keys of the plan."""

from pathlib import Path

import pytest

from rankjury.errors import DataError, UsageError
from rankjury.plan.run import run_plan

GOLD = "query_id,item_id,grade\nq,a,1\nq,a,0\np,b,1\n"
RUNS = {"r": "q,a,1\np,b,3\np,b,2\n", "s": "q,a,1\np,b,3\n", "t": "q,b,1\np,b,3\n"}
PLAN = """measures = ["rr"]
[systems]
r = "r.csv"
s = "s.csv"
t = "t.csv"
[gold]
path = "g.csv"
"""


def write(folder: Path, gold: str = GOLD, more: str = "") -> Path:
    (folder / "g.csv").write_text(gold)
    for name, rows in RUNS.items():
        (folder / f"{name}.csv").write_text("query_id,item_id,score\n" + rows)
    (folder / "plan.toml").write_text(PLAN + more)
    return folder / "plan.toml"


@pytest.mark.parametrize(("gold", "file"), [(GOLD, "g.csv"), (GOLD.replace("q,a,0\n", ""), "r.csv")])
def test_hint_for_duplicates(tmp_path: Path, gold: str, file: str) -> None:
    with pytest.raises(DataError, match=rf"{file}: duplicate item .*duplicates = .*\[conventions\]") as found:
        run_plan(write(tmp_path, gold), archive=False)
    assert "--duplicates" not in str(found.value)


def test_duplicates_of_gold_and_run(tmp_path: Path) -> None:
    plan = write(tmp_path, more='[conventions]\nduplicates = "last"\n')
    report = run_plan(plan, archive=False).report
    dropped = {
        (warning.system, warning.count): warning.text for warning in report.warnings if "dropped" in warning.text
    }
    assert dropped.keys() == {("r", 1), (None, 1)}
    assert "gold" in dropped[None, 1] and "gold" not in dropped["r", 1]


@pytest.mark.parametrize("key", ["duplicates", "missing", "ties", "dialect", "empty"])
def test_convention_in_another_table(tmp_path: Path, key: str) -> None:
    with pytest.raises(UsageError, match=rf"gold\.{key}: unknown key .*\[conventions\]"):
        run_plan(write(tmp_path, more=f'{key} = "last"\n'), archive=False)


def test_columns_of_a_log(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("who,what,time\nu,a,1\n")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'measures = ["rr"]\n[gold]\nkind = "interactions"\npath = "log.csv"\n'
        '[systems.p]\nkind = "recommender"\nmodel = "popularity"\n'
    )
    with pytest.raises(DataError, match=r"log\.csv.*user and item under \[gold\]"):
        run_plan(plan, archive=False)
