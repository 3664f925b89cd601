"""Figures over pairs with intervals over queries: against pairs repeated as often as their query was drawn."""

import json
import os
import subprocess
import sys
import warnings
from math import asin, isnan, nan, pi, sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from rankjury.core.types import Floats, cut_rows
from rankjury.retrieval.agreement import stats as agreement
from rankjury.retrieval.agreement.stats import (
    AGREEMENTS,
    LOWER_IS_BETTER,
    MOST_RESAMPLES,
    Agreement,
    SimilarityPairs,
    estimate_agreement,
)
from rankjury.stats import resampling
from rankjury.stats.resampling import Keys, Resampling, bootstrap_weights, query_keys
from tests.stats.support import digits, keys, thorough

HOW = Resampling(resamples=128)
EXACT = ("spearman", "pearson", "mae", "rmse")


def plainly(name: str, x: Floats, y: Floats) -> float:
    """scipy's and NumPy's figure; NaN where it is undefined."""
    if name in ("mae", "rmse"):
        apart = np.abs(x - y)
        return nan if not x.size else float(apart.mean() if name == "mae" else np.sqrt((apart**2).mean()))
    if x.size < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return nan
    peer = {"spearman": stats.spearmanr, "kendall": stats.kendalltau, "pearson": stats.pearsonr}[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "nearly constant"
        return float(peer(x, y).statistic)


def repeated(name: str, pairs: SimilarityPairs, of: Keys, resamples: int) -> Floats:
    """The figure over each resample, with every pair written down as often as its query was drawn."""
    times = bootstrap_weights(of, 0, resamples).astype(int)[pairs.row]
    return np.array([
        plainly(name, np.repeat(pairs.reference, column), np.repeat(pairs.candidate, column)) for column in times.T
    ])  # fmt: skip


def made(queries: int, each: int, seed: int = 0, decimals: int = 15) -> SimilarityPairs:
    """Pairs of a query resemble each other."""
    random = np.random.default_rng(seed)
    row = np.repeat(np.arange(queries), each)
    x = 0.6 * random.normal(size=queries)[row] + random.normal(size=row.size)
    y = 0.8 * x + 0.4 * random.normal(size=queries)[row] + 0.5 * random.normal(size=row.size)
    return SimilarityPairs(row, x.round(decimals), y.round(decimals), "made", 3)


class TestResamples:
    @pytest.mark.parametrize("decimals", [0, 1, 15])
    @pytest.mark.parametrize(("queries", "each"), [(2, 1), (2, 9), (3, 4), (17, 6), (60, 10)])
    def test_are_those_of_repeated_pairs(self, queries: int, each: int, decimals: int) -> None:
        pairs, of = made(queries, each, queries, decimals), keys(queries)
        found = estimate_agreement(pairs, of, HOW)
        for name in EXACT:
            if isnan(found.figures[name].value):
                assert name not in found.resampled and found.figures[name].ci is None
                continue
            expected = repeated(name, pairs, of, 128)
            assert found.resampled[name].shape == (128,)
            np.testing.assert_allclose(found.resampled[name], expected, rtol=0, atol=2e-7)
            bounds = np.nanquantile(expected, [0.025, 0.975]) if not np.isnan(expected).all() else None
            assert found.figures[name].ci == (None if bounds is None else pytest.approx(bounds, abs=2e-7))

    @given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=15))
    @thorough(25)
    def test_of_few_pairs_with_many_ties(self, rows: list[tuple[int, int, int]]) -> None:
        """Some queries have no pair, some resamples draw none, some are constant."""
        row, x, y = (np.array(column) for column in zip(*sorted(rows), strict=True))
        pairs, of = SimilarityPairs(row, x / 4, y / 4, ""), keys(6)
        found = estimate_agreement(pairs, of, Resampling(resamples=100))
        assert found.queries == len(set(row.tolist())) and found.pairs == len(rows)
        for name, one in found.figures.items():
            assert one.value == pytest.approx(plainly(name, pairs.reference, pairs.candidate), abs=1e-12, nan_ok=True)
            expected_ones = found.queries >= 2 and not isnan(one.value)
            assert (name in found.resampled) == expected_ones
            if not expected_ones:
                assert one.ci is None
            elif name in EXACT:
                expected = repeated(name, pairs, of, 100)
                np.testing.assert_allclose(found.resampled[name], expected, rtol=0, atol=2e-7)
            if one.ci is not None and name not in LOWER_IS_BETTER:
                assert -1 <= one.ci[0] <= one.ci[1] <= 1

    @pytest.mark.parametrize("decimals", [0, 1, 15])
    @pytest.mark.parametrize(("queries", "each"), [(6, 12), (10, 10), (25, 6), (80, 5)])
    def test_kendalls_are_near_those_of_repeated_pairs(self, queries: int, each: int, decimals: int) -> None:
        """Only to the first order, but with hardly another spread, and never with another sign."""
        pairs, of = made(queries, each, queries, decimals), keys(queries)
        found = estimate_agreement(pairs, of, Resampling(resamples=400), ["kendall"])
        exact = repeated("kendall", pairs, of, 400)
        spread, expected = (float(np.nanstd(some)) for some in (found.resampled["kendall"], exact))
        assert spread == pytest.approx(expected, rel=0.25 if queries < 20 else 0.12)
        low, high = np.nanquantile(exact, [0.025, 0.975])
        near = (0.5 if queries < 20 else 0.25) * (high - low)
        assert found.figures["kendall"].ci == pytest.approx((low, high), abs=near)
        known = ~np.isnan(exact)
        assert np.corrcoef(found.resampled["kendall"][known], exact[known])[0, 1] > (0.6 if queries < 20 else 0.95)

    @pytest.mark.parametrize("queries", [2, 3, 5, 8])
    def test_perfect_agreement_stays_so_with_few_queries(self, queries: int) -> None:
        pairs = made(queries, 8)
        same = SimilarityPairs(pairs.row, pairs.reference, 2 * pairs.reference, "")
        found = estimate_agreement(same, keys(queries), Resampling(resamples=400))
        for name in ("spearman", "kendall", "pearson"):
            assert found.figures[name].ci == pytest.approx((1, 1), abs=1e-9)
            assert np.nanmax(found.resampled[name]) <= 1

    @pytest.mark.parametrize("each", [1, 3])
    def test_of_a_constant_side_are_undefined(self, each: int) -> None:
        """Whatever rounding of sums leaves: three queries, of which many resamples draw but one."""
        row, of = np.repeat(np.arange(3), each), keys(3)
        x, y = np.random.default_rng(1).uniform(size=(2, 3 * each))
        found = estimate_agreement(SimilarityPairs(row, x[row], y, ""), of, HOW)
        alone = (bootstrap_weights(of, 0, 128) > 0).sum(axis=0) <= 1
        for name in ("spearman", "kendall", "pearson"):
            undefined = np.isnan(found.resampled[name])
            assert undefined[alone].all() if name != "kendall" else undefined.any()

    @pytest.mark.parametrize("scale", [1e-160, 1e-80, 1e80, 1e160, 1e300])
    def test_scales_far_from_one(self, scale: float) -> None:
        pairs = made(20, 5)
        usual = estimate_agreement(pairs, keys(20), HOW)
        found = estimate_agreement(
            SimilarityPairs(pairs.row, pairs.reference * scale, pairs.candidate * scale, ""), keys(20), HOW
        )
        for name, one in found.figures.items():
            assert one.ci is not None and usual.figures[name].ci is not None
            of = scale if name in LOWER_IS_BETTER else 1
            assert [bound / of for bound in one.ci] == pytest.approx(usual.figures[name].ci, abs=1e-8)

    def test_one_resample(self) -> None:
        one = agreement._Resampled(made(5, 4), keys(5), 1)
        many = agreement._Resampled(made(5, 4), keys(5), 100)
        for name in AGREEMENTS:
            alone = getattr(one, name)()
            assert alone.shape == (1,) and alone[0] == getattr(many, name)()[0]

    def test_no_more_than_needed(self) -> None:
        found = estimate_agreement(made(5, 4), keys(5), Resampling(resamples=20_000), ["mae", "spearman"])
        assert found.resamples == MOST_RESAMPLES == found.resampled["spearman"].size == found.resampled["mae"].size
        assert list(found.figures) == ["mae", "spearman"]


class TestCoverage:
    def test_of_the_true_figures(self) -> None:
        """Both sides are normal, so that the truth is known; 95 % intervals should hold it in about 95 % of samples."""
        random, queries, each = np.random.default_rng(5), 40, 6
        between, within, shared = 0.5, 1.0, 0.7
        variance = between**2 + within**2
        r = shared * between**2 / variance + 0.6 * within**2 / variance
        apart = sqrt(2 * variance * (1 - r))
        truth = {"pearson": r, "spearman": 6 / pi * asin(r / 2), "kendall": 2 / pi * asin(r)}
        truth |= {"mae": apart * sqrt(2 / pi), "rmse": apart}
        row, times = np.repeat(np.arange(queries), each), 150
        held = dict.fromkeys(truth, 0)

        def correlated(size: int, by: float) -> Any:
            x, z = random.normal(size=(2, size))
            return np.array([x, by * x + sqrt(1 - by**2) * z])

        for number in range(times):
            x, y = between * correlated(queries, shared)[:, row] + within * correlated(row.size, 0.6)
            of = query_keys(pl.Series([f"{number}-{query}" for query in range(queries)]), 0)
            found = estimate_agreement(SimilarityPairs(row, x, y, ""), of, Resampling(resamples=200))
            for name, value in truth.items():
                bounds = found.figures[name].ci
                assert bounds is not None
                held[name] += bounds[0] <= value <= bounds[1]
        assert all(0.88 <= hits / times <= 0.99 for hits in held.values()), held


class TestFigures:
    def test_without_resampling(self) -> None:
        found = estimate_agreement(made(5, 4), keys(5), None)
        assert found.resamples is None and found.resampled == {}
        assert all(one.ci is None for one in found.figures.values())
        assert (found.about, found.pairs, found.queries, found.left_out) == ("made", 20, 5, 3)

    def test_one_query(self) -> None:
        found = estimate_agreement(made(1, 9), keys(1), HOW)
        assert found.resamples is None and found.queries == 1
        assert all(one.ci is None and not isnan(one.value) for one in found.figures.values())

    def test_one_pair(self) -> None:
        found = estimate_agreement(made(1, 1), keys(4), HOW)
        assert isnan(found.figures["spearman"].value) and found.figures["mae"].value > 0

    def test_a_constant_side(self) -> None:
        """No correlation, and no interval; errors have both."""
        pairs = made(6, 3)
        found = estimate_agreement(SimilarityPairs(pairs.row, pairs.reference, np.full(18, 0.25), ""), keys(6), HOW)
        for name, one in found.figures.items():
            assert isnan(one.value) == (one.ci is None) == (name not in LOWER_IS_BETTER)
        assert found.resamples == 128
        form = json.loads(json.dumps(found.to_json(), allow_nan=False))
        assert form["figures"]["kendall"] == {"value": None, "ci": None}
        assert form["figures"]["mae"]["ci"] == list(found.figures["mae"].ci or ())

    def test_both_sides_alike(self) -> None:
        pairs = made(6, 3)
        found = estimate_agreement(SimilarityPairs(pairs.row, pairs.reference, pairs.reference, ""), keys(6), HOW)
        assert found.figures["mae"].value == found.figures["rmse"].value == 0
        assert found.figures["mae"].ci == found.figures["rmse"].ci == (0, 0)

    def test_queries_without_pairs_are_of_no_account(self) -> None:
        """But their keys are there: those of the others stay where they are."""
        pairs = made(10, 4)
        some = pairs.row % 3 == 0
        part = SimilarityPairs(pairs.row[some], pairs.reference[some], pairs.candidate[some], "part")
        near = SimilarityPairs(part.row // 3, part.reference, part.candidate, "part")
        assert digits(estimate_agreement(part, keys(10), HOW)) == digits(estimate_agreement(near, keys(10)[::3], HOW))


class TestBeside:
    def both(self) -> tuple[Agreement, Agreement, SimilarityPairs, SimilarityPairs]:
        pairs = made(15, 5)
        other = SimilarityPairs(pairs.row, pairs.reference, np.random.default_rng(9).normal(size=75), "made", 3)
        return estimate_agreement(pairs, keys(15), HOW), estimate_agreement(other, keys(15), HOW), pairs, other

    def test_differences_of_the_same_resamples(self) -> None:
        ours, theirs, pairs, other = self.both()
        found = ours.beside(theirs, 0.9)
        for name, one in found.figures.items():
            assert (one.value, one.ci) == (ours.figures[name].value, ours.figures[name].ci)
            assert one.difference == one.value - theirs.figures[name].value
            if name in EXACT:
                apart = repeated(name, pairs, keys(15), 128) - repeated(name, other, keys(15), 128)
                assert one.difference_ci == pytest.approx(np.quantile(apart, [0.05, 0.95]), abs=2e-7)
        assert set(found.to_json()["figures"]["mae"]) == {"value", "ci", "difference", "difference_ci"}
        assert set(ours.to_json()["figures"]["mae"]) == {"value", "ci"}

    def test_with_itself_there_is_none(self) -> None:
        ours = self.both()[0]
        for one in ours.beside(ours, 0.95).figures.values():
            assert one.difference == 0 and one.difference_ci == (0, 0)

    def test_where_one_is_undefined(self) -> None:
        ours, _, pairs, _ = self.both()
        flat = estimate_agreement(SimilarityPairs(pairs.row, pairs.reference, np.zeros(75), ""), keys(15), HOW)
        for found in (ours.beside(flat, 0.95), flat.beside(ours, 0.95)):
            assert found.figures["spearman"].difference is None and found.figures["spearman"].difference_ci is None
            assert found.figures["mae"].difference_ci is not None

    def test_without_intervals(self) -> None:
        _, _, pairs, other = self.both()
        found = estimate_agreement(pairs, keys(15), None).beside(estimate_agreement(other, keys(15), None), 0.95)
        assert all(one.difference is not None and one.difference_ci is None for one in found.figures.values())


class TestNothingElseMatters:
    def test_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = estimate_agreement(made(30, 4), keys(30), HOW)
        monkeypatch.setattr(agreement, "_RESAMPLES_AT_ONCE", 8)
        monkeypatch.setattr(resampling, "_QUERIES_PER_BLOCK", 7)
        monkeypatch.setattr(resampling, "_RESAMPLES_PER_PART", 16)
        assert len(cut_rows(128, 8)) == 16
        after = estimate_agreement(made(30, 4), keys(30), HOW)
        assert digits(after) == digits(before)
        assert all(after.resampled[name].tobytes() == before.resampled[name].tobytes() for name in AGREEMENTS)

    def test_what_else_is_asked_for(self) -> None:
        together = estimate_agreement(made(30, 4), keys(30), HOW)
        for name in AGREEMENTS:
            assert estimate_agreement(made(30, 4), keys(30), HOW, [name]).figures[name] == together.figures[name]

    def test_threads(self) -> None:
        program = (
            "import numpy as np; from rankjury.retrieval.agreement.stats import SimilarityPairs, estimate_agreement;"
            "from rankjury.stats.resampling import Resampling;"
            "x, z = np.random.default_rng(0).normal(size=(2, 30_000)); keys = np.arange(600, dtype=np.uint64);"
            "pairs = SimilarityPairs(np.repeat(np.arange(600), 50), x, x + z, '');"
            "print(estimate_agreement(pairs, keys, Resampling(100)))"
        )
        found = [
            subprocess.run(
                [sys.executable, "-c", program],
                env=os.environ | {"OPENBLAS_NUM_THREADS": threads},
                capture_output=True,
                check=True,
            ).stdout
            for threads in ("1", "2")
        ]
        assert found[0] == found[1] and b"spearman" in found[0]
