"""Scores and Report: what comes out, and that nothing undefined is averaged."""

import json
import math
import random

import numpy as np
import polars as pl
import pytest

import rankjury
from rankjury.evaluation.report import Report
from rankjury.evaluation.report_json import SCHEMA
from rankjury.evaluation.scores import Scores, SystemResult
from rankjury.evaluation.sections import ReportWarning, as_warnings
from rankjury.stats.formatting import format_estimate

NAN = math.nan


def _scores(values: list[list[float]], aggregates: list[str], warnings: tuple[str, ...] = ()) -> Scores:
    labels = tuple(f"m{number}" for number in range(len(aggregates)))
    queries = pl.Series([f"q{number}" for number in range(len(values))])
    return Scores(
        queries,
        labels,
        labels,
        tuple(aggregates),
        np.array(values, dtype=float),
        tuple(as_warnings(warnings, "test")),
        "sys<1>",
    )  # type: ignore[arg-type]


def test_undefined_is_counted_not_averaged() -> None:
    summary = _scores([[1.0], [NAN], [0.5]], ["mean"]).summary("m0")
    assert (summary.mean, summary.n, summary.undefined, summary.total) == (0.75, 2, 1, None)


def test_the_mean_of_nothing_is_undefined() -> None:
    summary = _scores([[NAN], [NAN]], ["mean"]).summary("m0")
    assert math.isnan(summary.mean) and (summary.n, summary.undefined) == (0, 2)
    assert format_estimate(summary) == "–"


def test_sums_and_geometric_means() -> None:
    scores = _scores([[2.0, 0.5], [3.0, 0.125], [NAN, NAN]], ["sum", "geometric"])
    assert scores.summary("m0").total == 5.0
    assert scores.summary("m0").mean == 2.5
    assert scores.summary("m1").mean == pytest.approx(0.25, abs=1e-15)
    assert scores.summary("m1").total is None


def test_a_zero_in_a_geometric_mean_counts_as_the_floor_of_trec_eval() -> None:
    summary = _scores([[1.0], [0.0]], ["geometric"]).summary("m0")
    assert summary.mean == pytest.approx(math.sqrt(1e-5), rel=1e-12)


@pytest.mark.parametrize(
    ("value", "aggregate", "shown"),
    [(0.123456, "mean", "0.1235"), (1.0, "mean", "1.0000"), (12345.0, "sum", "Σ 12,345"), (0.5, "geometric", "0.5000")],
)
def test_figures_as_shown(value: float, aggregate: str, shown: str) -> None:
    assert format_estimate(_scores([[value]], [aggregate]).summary("m0")) == shown


def test_the_order_of_queries_changes_no_digit() -> None:
    """Plain addition would: the values span many magnitudes."""
    chance = random.Random(5)
    values = [[chance.random() * 10.0 ** chance.randrange(-12, 4)] for _ in range(500)]
    means = set()
    for _ in range(20):
        chance.shuffle(values)
        means.add(_scores(values, ["mean"]).mean()["m0"])
    assert len(means) == 1
    assert len({sum(chance.sample([v for (v,) in values], 500)) for _ in range(20)}) > 1, "the example is too easy"


def test_per_query_gives_null_for_undefined() -> None:
    frame = _scores([[1.0, 2.0], [NAN, 0.0]], ["mean", "mean"]).per_query
    assert frame.columns == ["query_id", "m0", "m1"]
    assert frame.rows() == [("q0", 1.0, 2.0), ("q1", None, 0.0)]


def test_values_cannot_be_changed() -> None:
    scores = _scores([[1.0]], ["mean"])
    with pytest.raises(ValueError, match="read-only"):
        scores.values[0, 0] = 2.0


def test_labels_are_those_asked_for() -> None:
    scores = rankjury.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["nDCG@10", "ndcg@10", "rr"])
    assert list(scores) == ["nDCG@10", "ndcg@10", "rr"]
    assert scores["rr"].tolist() == [1.0]
    assert scores.mean() == {"nDCG@10": 1.0, "ndcg@10": 1.0, "rr": 1.0}


def test_a_label_that_was_not_asked_for_is_an_error_with_a_suggestion() -> None:
    scores = rankjury.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["ndcg@10"])
    with pytest.raises((rankjury.RankjuryError, KeyError), match="ndcg@10"):
        scores["ndcg@100"]


def test_repr_is_a_table_with_warnings() -> None:
    lines = repr(_scores([[1.0, 3.0], [NAN, 4.0]], ["mean", "sum"], ("look out",))).splitlines()
    assert lines[0].startswith("sys<1>: m0 1.0000 over 1 query")
    assert [line.split() for line in lines[2:5]] == [
        ["measure", "mean", "n", "undefined"],
        ["m0", "1.0000", "1", "1"],
        ["m1", "Σ", "7", "2", "0"],
    ]
    assert "warning: sys<1>: look out" in lines[5:]


def test_html_is_escaped() -> None:
    shown = _scores([[1.0]], ["mean"], ("<script>",))._repr_html_()
    assert "sys&lt;1&gt;" in shown and "&lt;script&gt;" in shown and "<script>" not in shown
    assert ">1.0000</" in shown


def test_a_report_is_json_throughout() -> None:
    scores = _scores([[1 / 3, NAN, 2.0]], ["mean", "mean", "sum"])
    report = Report(
        {"a": SystemResult.of(scores, scores.estimates(None))},
        warnings=(ReportWarning("w"),),
        provenance={"gold": "g"},
    ).to_json()
    unknown = dict.fromkeys(("std", "se", "ci"))
    assert report == json.loads(json.dumps(report, allow_nan=False))
    assert report == {
        "schema": SCHEMA,
        "rankjury": rankjury.__version__,
        "systems": {
            "a": {
                "measures": {
                    "m0": {**unknown, "mean": 1 / 3, "n": 1, "undefined": 0, "convention": "m0"},
                    "m1": {**unknown, "mean": None, "n": 0, "undefined": 1, "convention": "m1"},
                    "m2": {**unknown, "mean": 2.0, "n": 1, "undefined": 0, "convention": "m2", "sum": 2.0},
                }
            }
        },
        "warnings": [{"text": "w", "system": None, "code": "", "count": None}],
        "provenance": {"gold": "g"},
    }
