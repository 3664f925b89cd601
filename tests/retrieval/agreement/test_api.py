"""``rankjury.agree``: candidates against a reference, in memory; the figures are those of the command."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankjury
from rankjury.errors import DataError, RankjuryError, UnknownName, UsageError
from rankjury.plan.parse import check_plan
from rankjury.plan.run import execute_plan
from rankjury.retrieval.agreement.stats import Agreement
from rankjury.retrieval.diagnostics import GoldSpaces, SpaceDiagnostics

RANDOM = np.random.default_rng(5)
TRUE = RANDOM.normal(size=(60, 12)).astype(np.float32)
NEAR = TRUE + RANDOM.normal(size=TRUE.shape).astype(np.float32)
FAR = TRUE + 3 * RANDOM.normal(size=TRUE.shape).astype(np.float32)
QUICK = rankjury.Resampling(resamples=100)


def agreed(**options: Any) -> rankjury.Report:
    return rankjury.agree(TRUE, {"near": NEAR, "far": FAR}, **{"pairs": 500, "resampling": QUICK} | options)


class TestFigures:
    def test_are_those_of_a_plan(self, tmp_path: Path) -> None:
        for name, matrix in (("true", TRUE), ("near", NEAR), ("far", FAR)):
            np.save(tmp_path / f"{name}.npy", matrix)
        content = {
            "name": "same",
            "gold": {"kind": "reference", "path": "true.npy", "sample": 40},
            "systems": {name: {"kind": "vectors", "path": f"{name}.npy"} for name in ("near", "far")},
            "baseline": "near",
            "measures": [
                "recall(over=k,gold=k)",
                "ndcg(gain=binary,gold=k)",
                "rr(gold=k)",
                "ap(over=found,gold=k)",
                "rbo",
            ],
            "cutoffs": [1, 5],
            "headline": ["ndcg(gain=binary,gold=k)@5"],
            "agreement": {"pairs": 500},
            "statistics": {"resamples": 100},
        }
        planned = execute_plan(check_plan(content, "same", tmp_path)).report
        report = agreed(k_values=(1, 5), n_samples=40)
        assert report.estimates == planned.estimates
        assert {n: a.to_json() for n, a in report.sections_of(Agreement).items()} == {
            n: a.to_json() for n, a in planned.sections_of(Agreement).items()
        }
        assert list(report.needed_section(GoldSpaces).spaces) == ["reference"]
        assert list(report.sections_of(SpaceDiagnostics)) == ["near", "far"]

    def test_the_nearer_agrees_more(self) -> None:
        report = agreed()
        assert report.baseline == "near" and len(report.scores["near"].queries) == 60
        near, far = (report.estimates[name]["recall(over=k,gold=k)@10"].mean for name in ("near", "far"))
        assert far < near < 1
        (one,) = [one for one in report.comparisons if one.measure == "ndcg(gain=binary,gold=k)@10"]
        assert one.relative is not None and one.relative < 0 and one.relative_ci is not None
        json.dumps(report.to_json(), allow_nan=False)

    def test_the_same_model_agrees_wholly(self) -> None:
        report = rankjury.agree(TRUE, {"same": TRUE * 2}, resampling=None)
        assert {round(one.mean, 12) for one in report.estimates["same"].values()} == {1.0}
        assert report.sections_of(Agreement)["same"].figures["spearman"].value == pytest.approx(1.0)
        assert report.sections_of(Agreement)["same"].figures["mae"].value == pytest.approx(0.0, abs=1e-12)

    def test_rows_are_matched_by_id(self) -> None:
        names = [f"p{row}" for row in range(60)]
        order = RANDOM.permutation(60)
        vectors = [
            _vectors([names[row] for row in rows], matrix[rows])
            for matrix, rows in ((TRUE, np.arange(60)), (NEAR, order))
        ]
        shuffled = rankjury.agree(vectors[0], {"near": vectors[1]}, resampling=None, pairs=0)
        straight = rankjury.agree(TRUE, {"near": NEAR}, ids=names, resampling=None, pairs=0)
        assert shuffled.estimates == straight.estimates

    def test_paths_do_too(self, tmp_path: Path) -> None:
        np.save(tmp_path / "true.npy", TRUE)
        report = rankjury.agree(tmp_path / "true.npy", {"near": NEAR}, resampling=None, pairs=0)
        assert report.estimates == rankjury.agree(TRUE, {"near": NEAR}, resampling=None, pairs=0).estimates

    def test_the_callers_matrix_stays_the_callers(self) -> None:
        mine = NEAR.copy()
        rankjury.agree(TRUE, {"mine": mine}, resampling=None)
        mine[0] = 0.0


def _vectors(names: list[str], matrix: Any) -> rankjury.Vectors:
    return rankjury.Vectors(pl.Series("id", names), matrix.copy())


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"k_values": 0}, UsageError, "cut-offs"),
        ({"k_values": [2.5]}, UsageError, "whole numbers"),
        ({"k_values": []}, UsageError, "cut-offs"),
        ({"k_values": [60]}, DataError, "the cut-off is 60"),
        ({"n_samples": 61}, DataError, "a sample of 61 from 60"),
        ({"n_samples": 2.5}, UsageError, "n_samples is 2.5"),
        ({"n_samples": 0}, UsageError, "n_samples is 0"),
        ({"seed": -1}, UsageError, "seed is -1"),
        ({"pairs": -5}, UsageError, "pairs is -5"),
        ({"ties": "foo"}, UnknownName, "rule for ties 'foo'"),
        ({"baseline": "fat", "resampling": None}, UnknownName, "Did you mean far"),
        ({"metric": "cosinus"}, UnknownName, "cosinus"),
        ({"ids": ["a"] * 60}, DataError, "duplicate ids: a"),
        ({"ids": ["a"]}, DataError, "60 vectors and 1 ids"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], error: type[RankjuryError], told: str) -> None:
    with pytest.raises(error, match=told):
        agreed(**options)


@pytest.mark.parametrize(
    ("candidates", "told"),
    [
        (NEAR, "found no candidates by name"),
        ({}, "found no candidates by name"),
        ({"short": NEAR[:59]}, "60 rows and 59 rows, without ids"),
        ({"gap": np.where(np.arange(60)[:, None] == 7, np.nan, NEAR)}, "NaN or infinite numbers in the vectors of 7"),
        ({"flat": NEAR[:, 0]}, "expected a row of numbers for each id"),
        ({"text": [["a", "b"]]}, "text"),
    ],
)
def test_candidates_that_do_not_fit_are_refused(candidates: Any, told: str) -> None:
    with pytest.raises(RankjuryError, match=told):
        rankjury.agree(TRUE, candidates, resampling=None)


class TestListedQueries:
    IDS = ("5", "3", "1", "0", "2", "4")
    VALUES = np.random.default_rng(0).normal(size=(6, 3))

    def test_numbers_are_ids_where_rows_have_ids(self) -> None:
        """Row 5 has the id 4: which of both is meant is said."""
        report = rankjury.agree(
            self.VALUES, {"x": self.VALUES}, [1], ids=self.IDS, queries=[5, 3], pairs=0, resampling=None
        )
        assert [str(query) for query in report.scores["x"].queries] == ["3", "5"]
        assert any("2 numbers are taken as ids" in warning for warning in report.warning_lines)
        plain = rankjury.agree(self.VALUES, {"x": self.VALUES}, [1], queries=[5, 3], pairs=0, resampling=None)
        assert not any("taken as ids" in warning for warning in plain.warnings)

    @pytest.mark.parametrize(
        ("queries", "found"),
        [
            ([6, 1], "1 query is not known: 6"),
            ([-1], "not known: -1"),
            ([1, 1], "more than once: 1"),
            ([], "no queries"),
            ([1.5], "type Float64"),
            (7, "queries"),
            ([None, 1], "has no id"),
        ],
    )
    def test_refused(self, queries: Any, found: str) -> None:
        with pytest.raises(rankjury.DataError, match=found):
            rankjury.agree(self.VALUES, {"x": self.VALUES}, [1], queries=queries)

    def test_row_numbers_of_rows_with_ids(self) -> None:
        with pytest.raises(rankjury.DataError, match="row numbers cannot be used"):
            rankjury.agree(self.VALUES, {"x": self.VALUES}, [1], ids=list("abcdef"), queries=[0, 1])

    def test_a_sample_as_well(self) -> None:
        with pytest.raises(rankjury.UsageError, match="both queries and n_samples"):
            rankjury.agree(self.VALUES, {"x": self.VALUES}, [1], queries=[0], n_samples=2)
