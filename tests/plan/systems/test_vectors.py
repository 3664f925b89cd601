"""Vectors without ids in a plan: the numbers of their rows are matched with the gold."""

from pathlib import Path

import numpy as np
import pytest

from rankjury.errors import DataError
from rankjury.plan.run import run_plan

ROWS = 12
SYSTEM = """
[systems.{name}]
{kind}
path = "corpus.npy"
ids = "docs.txt"
queries = "{name}_queries.npy"
"""
VECTORS, INDEX = 'kind = "vectors"', 'kind = "index"\nengine = "exact"'


def plan_in(folder: Path, queries: list[int], kind: str = VECTORS, more: str = "", first: int = 0) -> Path:
    """Write a plan of two systems; row 3 of the queries finds d3."""
    matrix = np.eye(ROWS) + 0.01
    np.save(folder / "corpus.npy", matrix)
    for name in ("a", "b"):
        np.save(folder / f"{name}_queries.npy", matrix)
    (folder / "docs.txt").write_text("".join(f"d{row}\n" for row in range(ROWS)))
    (folder / "names.txt").write_text("".join(f"{row + 1}\n" for row in range(ROWS)))
    rows = "".join(f"{query}\td{query - first}\t1\n" for query in queries)
    (folder / "qrels.tsv").write_text("query_id\titem_id\tgrade\n" + rows)
    systems = "".join(SYSTEM.format(name=name, kind=kind) + more for name in ("a", "b"))
    plan = folder / "plan.toml"
    plan.write_text(f'measures = ["rr"]\ngold = "qrels.tsv"\n{systems}')
    return plan


@pytest.mark.parametrize("kind", [VECTORS, INDEX])
class TestRowNumbers:
    def test_one_warning(self, tmp_path: Path, kind: str) -> None:
        report = run_plan(plan_in(tmp_path, [*range(ROWS)], kind), archive=False).report
        (warning,) = [warning for warning in report.warnings if warning.code == "row-numbers"]
        assert all(text in warning.text for text in ("a_queries.npy", "b_queries.npy", "queries_ids", "qrels.tsv"))
        assert warning.system is None and "corpus.npy" not in warning.text
        assert report.mean() == {"a": {"rr": 1.0}, "b": {"rr": 1.0}}

    @pytest.mark.parametrize("queries", [[*range(1, ROWS + 1)], [*range(1, ROWS)]])
    def test_gold_counts_from_one(self, tmp_path: Path, kind: str, queries: list[int]) -> None:
        with pytest.raises(DataError, match=r"qrels\.tsv count from 1 .*a_queries\.npy.*queries_ids"):
            run_plan(plan_in(tmp_path, queries, kind, first=1), archive=False)

    def test_with_ids(self, tmp_path: Path, kind: str) -> None:
        plan = plan_in(tmp_path, [*range(1, ROWS + 1)], kind, 'queries_ids = "names.txt"\n', first=1)
        report = run_plan(plan, archive=False).report
        assert report.mean() == {"a": {"rr": 1.0}, "b": {"rr": 1.0}}
        assert not [warning for warning in report.warnings if warning.code == "row-numbers"]

    def test_number_without_row(self, tmp_path: Path, kind: str) -> None:
        with pytest.raises(DataError, match=r"id has no vector: 12;.* numbered from 0 to 11: .*queries_ids") as found:
            run_plan(plan_in(tmp_path, [*range(ROWS + 1)], kind), archive=False)
        assert "queries = FILE" not in str(found.value)


def test_run_against_reference_without_ids(tmp_path: Path) -> None:
    plan_in(tmp_path, [0])
    plan = tmp_path / "agree.toml"
    plan.write_text('measures = ["rr@2"]\nsystems = { r = "r.csv" }\n[gold]\nkind = "reference"\npath = "corpus.npy"\n')
    for first in (0, 1):
        pairs = [(row, other) for row in range(ROWS) for other in range(ROWS) if row != other]
        rows = "".join(f"{row + first},{other + first},1\n" for row, other in pairs)
        (tmp_path / "r.csv").write_text("query_id,item_id,score\n" + rows)
        if first:
            with pytest.raises(DataError, match=r"r\.csv count from 1 .*corpus\.npy"):
                run_plan(plan, archive=False)
        else:
            (warning,) = [w for w in run_plan(plan, archive=False).report.warnings if w.code == "row-numbers"]
            assert "corpus.npy" in warning.text and "r.csv" in warning.text
