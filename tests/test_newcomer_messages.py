"""Messages for mistakes that newcomers make: they name the file, the expected form and the option."""

from pathlib import Path

import polars as pl
import pytest

import rankjury
from rankjury.core.columns import ITEM, QUERY, match_columns
from rankjury.errors import DataError
from rankjury.recsys.audit import audit


def test_responses_of_an_unknown_form(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text('{"asked": "q1", "answers": [{"name": "a", "points": 1}]}\n')
    with pytest.raises(DataError) as found:
        rankjury.read_run(file)
    assert "header" not in str(found.value) and '{"query": ' in str(found.value) and "'answers'" in str(found.value)


@pytest.mark.parametrize("kind", ["gold", "run"])
@pytest.mark.parametrize("column", ["query_id", "item_id"])
def test_floating_point_ids(tmp_path: Path, kind: str, column: str) -> None:
    """The error says which file has the ids."""
    good = pl.DataFrame({"query_id": ["q"], "item_id": ["a"], "grade": [1], "score": [1.0]})
    bad = good.with_columns(pl.lit(1.5).alias(column))
    paths = {name: tmp_path / f"{name}.parquet" for name in ("gold", "run")}
    for name, path in paths.items():
        (bad if name == kind else good).drop("score" if name == "gold" else "grade").write_parquet(path)
    with pytest.raises(DataError, match=rf"{kind}\.parquet: the ids in column '{column}' are floating-point"):
        rankjury.evaluate(paths["gold"], paths["run"], "rr")


def test_column_q() -> None:
    assert match_columns(["q", "doc", "score"], "run") == {QUERY: "q", ITEM: "doc", "score": "score"}
    assert match_columns(["q", "query_id", "doc", "score"], "run")[QUERY] == "query_id"


def test_audit_of_one_repeated_row() -> None:
    rows = {"user": ["u", "u", *"abcdefghi" * 20], "item": ["x", "x", *(f"i{n}" for n in range(180))]}
    result = audit(pl.DataFrame(rows))
    assert "1 repeated row" in result.risks
    assert any("--time" in text for text in result.warnings)
