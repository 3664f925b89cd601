"""Messages for mistakes that newcomers make: they name the file, the expected form and the option."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankjury
from rankjury.core.columns import ITEM, QUERY, match_columns
from rankjury.errors import DataError, RankjuryError, UsageError
from rankjury.evaluation.targets import Target
from rankjury.recsys.audit import audit

GOLD, RUN = {"q1": ["a"], "q2": ["b"]}, {"q1": ["a", "b"], "q2": ["a", "b"]}


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


@pytest.mark.parametrize("given", ["b.trec", ["a.trec", "b.trec"], pl.DataFrame({"query_id": ["q"]})])
def test_rankings_without_names(given: object) -> None:
    """Also as arguments one by one, which are more than the function takes."""
    with pytest.raises(UsageError, match="in one dict") as found:
        rankjury.compare(GOLD, given, ["rr"])  # type: ignore[arg-type]
    assert "rankjury.compare(gold, {" in str(found.value)
    with pytest.raises(UsageError, match="too many positional arguments") as found:
        rankjury.compare(GOLD, given, given, ["rr"])  # type: ignore[call-arg,arg-type]
    assert "compare(gold, rankings, measures, …)" in str(found.value) and "in one dict" in str(found.value)
    assert "duplicates" not in str(found.value)


def test_slices_of_a_file_by_one_of_its_columns(tmp_path: Path) -> None:
    table = tmp_path / "queries.csv"
    table.write_text("query_id,lang,length\nq1,fr,1\nq2,en,2\n")
    both = {"old": RUN, "new": {"q1": ["a"], "q2": ["b"]}}
    with_column = rankjury.compare(GOLD, both, "rr", slices=f"{table}:lang")
    assert [part.name for part in with_column.slices] == ["lang=en", "lang=fr"]
    assert with_column.slices == rankjury.compare(GOLD, both, "rr", slices=table, by="lang").slices
    assert len(rankjury.compare(GOLD, both, "rr", slices=table).slices) > 2
    with pytest.raises(UsageError, match="attributes twice"):
        rankjury.compare(GOLD, both, "rr", slices=f"{table}:lang", by="length")
    with pytest.raises(DataError, match=r"other\.csv: no such file"):
        rankjury.compare(GOLD, both, "rr", slices="other.csv:lang")


def test_slices_in_blocks_by_one_column(tmp_path: Path) -> None:
    rankjury.as_gold(GOLD).frame().write_parquet(tmp_path / "gold.parquet")
    rankjury.as_ranking(RUN).frame().write_parquet(tmp_path / "run.parquet")
    pl.DataFrame({"query_id": ["q1", "q2"], "lang": ["fr", "en"], "n": [1, 2]}).write_parquet(tmp_path / "of.parquet")
    files, table = (tmp_path / "gold.parquet", tmp_path / "run.parquet"), tmp_path / "of.parquet"
    report = rankjury.scale.evaluate(*files, "rr", slices=f"{table}:lang", resampling=None)
    assert [part.name for part in report.slices] == ["lang=en", "lang=fr"]
    assert report.slices == rankjury.scale.evaluate(*files, "rr", slices=table, by="lang", resampling=None).slices


@pytest.mark.parametrize(
    "text", ["rr,ndcg(gain=exp,ideal=all)@1", "rr, ndcg(gain=exp,ideal=all) @ 1", "rr ndcg(gain=exp,ideal=all)@1"]
)
def test_several_measures_in_one_text(text: str, tmp_path: Path) -> None:
    listed = rankjury.evaluate(GOLD, RUN, ["rr", "ndcg(gain=exp,ideal=all)@1"])
    assert rankjury.evaluate(GOLD, RUN, text).mean() == listed.mean()
    paths = {name: str(tmp_path / f"{name}.parquet") for name in ("gold", "run")}
    rankjury.as_gold(GOLD).frame().write_parquet(paths["gold"])
    rankjury.as_ranking(RUN).frame().write_parquet(paths["run"])
    report = rankjury.evaluate_files(paths["gold"], paths["run"], text, intervals=False)
    assert report.mean()["run"] == listed.mean()
    assert len(listed.mean()) == 2


@pytest.mark.parametrize("rows", [[["a", "b"]], [["a", "b"], ["b", "a"]], np.array([["a", "b"]] * 4)])
def test_rows_of_an_array_are_numbered(rows: object) -> None:
    with pytest.raises(DataError, match="no query in common") as found:
        rankjury.evaluate(GOLD, rows, "rr")
    assert "{query: [items]}" in str(found.value)
    with pytest.raises(DataError, match="no query in common") as found:
        rankjury.evaluate(rows, RUN, "rr")
    assert "{query: [items]}" in str(found.value)


def test_other_queries_are_no_row_numbers() -> None:
    with pytest.raises(DataError, match="no query in common") as found:
        rankjury.evaluate(GOLD, {"x": ["a"]}, "rr")
    assert "{query: [items]}" not in str(found.value)


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("columns", [[], ["query_id", "item_id", "score", "grade"], ["other"]])
def test_a_frame_without_rows(library: Any, columns: list[str]) -> None:
    empty = library.DataFrame({name: [] for name in columns})
    for gold, run in ((GOLD, empty), (empty, RUN), (GOLD, []), ([], RUN), (GOLD, {})):
        with pytest.raises(DataError, match="found no rows") as found:
            rankjury.evaluate(gold, run, "rr")
        assert "header" not in str(found.value)
    if not columns:
        with pytest.raises(DataError, match="found no rows"):
            audit(empty)
        with pytest.raises(DataError, match="found no rows"):
            rankjury.compare(GOLD, {"old": RUN, "new": RUN}, "rr", slices=empty)


def test_hints_name_the_arguments_of_python() -> None:
    """Where a fault is met from Python and from commands, its hint has both names."""
    report = rankjury.evaluate(GOLD, RUN, "rr")
    for target, argument in (("ap >= 0.5", "measures=['ap'"), ("rr drop <= 0.1", "baseline=")):
        with pytest.raises(RankjuryError) as found:
            rankjury.gate(report, target)
        assert argument in (found.value.hint or "")
    with pytest.raises(DataError) as sliced:
        rankjury.gate(report, Target("rr", ">=", 0.1, slice="lang=fr"))
    assert 'slices="queries.csv:lang"' in (sliced.value.hint or "")


def test_a_target_under_the_key_of_tables(tmp_path: Path) -> None:
    file, report = tmp_path / "targets.toml", rankjury.evaluate(GOLD, RUN, "rr")
    for written in ('["rr >= 0.5"]', '"rr >= 0.5"'):
        file.write_text(f"target = {written}\n")
        with pytest.raises(UsageError, match="not a list of tables") as found:
            rankjury.gate(report, file)
        suggested = (found.value.hint or "").removeprefix("Did you mean ").removesuffix("?")
        file.write_text(suggested)
        assert rankjury.gate(report, file).verdicts[0].target.spelling == "rr >= 0.5"
    file.write_text("target = 3\n")
    with pytest.raises(UsageError, match="not a list of tables") as found:
        rankjury.gate(report, file)
    assert found.value.hint is None
