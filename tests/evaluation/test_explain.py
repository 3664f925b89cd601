"""rankjury.explain as a script calls it."""

from pathlib import Path

import polars as pl
import pytest

import rankjury
from rankjury.errors import DuplicatePair, UnknownName, UsageError
from rankjury.measures.dialects import DIALECTS

GOLD = {"q1": {"a": 2, "b": 1}, "q2": {"c": 1}, "q3": {"d": 1}}
RUN = {"q1": {"b": 2.0, "a": 1.0, "x": 1.0}, "q2": {"c": 1.0}}


def test_each_tool_has_the_value_of_its_dialect() -> None:
    explanation = rankjury.explain(GOLD, RUN, "ndcg@2")
    assert explanation.rows[0].mean == rankjury.evaluate(GOLD, RUN, "ndcg@2").mean()["ndcg@2"]
    tools = {row.who: row for row in explanation.rows if row.kind == "dialect"}
    assert list(tools) == DIALECTS.names()
    for name in ("trec_eval", "lenskit", "rectools"):
        (mean,) = rankjury.evaluate(GOLD, RUN, "ndcg@2", dialect=name).mean().values()
        assert tools[name].mean == mean != explanation.rows[0].mean
        assert tools[name].because


def test_every_form_of_gold_and_ranking(tmp_path: Path) -> None:
    gold, run = tmp_path / "gold.trec", tmp_path / "run.parquet"
    gold.write_text("q1 0 a 2\nq1 0 b 1\nq2 0 c 1\nq3 0 d 1\n")
    rankjury.as_ranking(RUN).frame().write_parquet(run)
    expected = rankjury.explain(GOLD, RUN).rows
    assert expected[0].measure == "ndcg@10"
    for ranking in (run, str(run), pl.read_parquet(run), pl.read_parquet(run).to_pandas()):
        assert [row.mean for row in rankjury.explain(gold, ranking).rows] == pytest.approx(
            [row.mean for row in expected], abs=0, nan_ok=True
        )
    assert rankjury.explain(GOLD, RUN, rankjury.Measure("ndcg", 10)).summary == rankjury.explain(GOLD, RUN).summary


def test_print_shows_every_tool_and_why() -> None:
    explanation = rankjury.explain(GOLD, RUN, "ndcg@2")
    summary, empty, header, *lines = str(explanation).splitlines()
    assert (summary, empty) == (explanation.summary, "") and "ndcg@2" in header
    shown = [row for row in explanation.rows if row.kind != "convention"]
    assert [line.split()[0] for line in lines] == [row.who for row in shown]
    for line, row in zip(lines, shown, strict=True):
        assert (f"{row.mean:.4f}" in line or row.error is not None) and line.endswith(row.cause)


def test_a_name_of_another_tool_has_a_row_of_its_own() -> None:
    own, given, *_ = rankjury.explain(GOLD, RUN, "ndcg_cut_2").rows
    assert (own.kind, own.measure, given.kind) == ("rankjury", "ndcg@2", "given")


def test_duplicates_and_unknown_measures() -> None:
    hits = [{"query": "q1", "id": "a", "score": score} for score in (1.0, 2.0)]
    with pytest.raises(DuplicatePair):
        rankjury.explain(GOLD, hits)
    assert rankjury.explain(GOLD, hits, "rr", duplicates="max").rows[0].mean == pytest.approx(1 / 3)
    with pytest.raises(UnknownName, match="ndcg"):
        rankjury.explain(GOLD, RUN, "ndgc@10")
    with pytest.raises(UsageError, match="2 rankings by name"):
        rankjury.explain(GOLD, {"old": RUN, "new": RUN})
