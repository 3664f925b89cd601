"""Figures over pairs with intervals over queries: against pairs repeated as often as their query was drawn."""

import json
import os
import subprocess
import sys
import warnings
from math import asin, inf, isnan, nan, pi, sqrt
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
    concordance,
    estimate_agreement,
    kendall,
    mae,
    midranks,
    pearson,
    rmse,
    spearman,
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


class TestWithDifferences:
    def both(self) -> tuple[Agreement, Agreement, SimilarityPairs, SimilarityPairs]:
        pairs = made(15, 5)
        other = SimilarityPairs(pairs.row, pairs.reference, np.random.default_rng(9).normal(size=75), "made", 3)
        return estimate_agreement(pairs, keys(15), HOW), estimate_agreement(other, keys(15), HOW), pairs, other

    def test_differences_of_the_same_resamples(self) -> None:
        ours, theirs, pairs, other = self.both()
        found = ours.with_differences(theirs, 0.9)
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
        for one in ours.with_differences(ours, 0.95).figures.values():
            assert one.difference == 0 and one.difference_ci == (0, 0)

    def test_where_one_is_undefined(self) -> None:
        ours, _, pairs, _ = self.both()
        flat = estimate_agreement(SimilarityPairs(pairs.row, pairs.reference, np.zeros(75), ""), keys(15), HOW)
        for found in (ours.with_differences(flat, 0.95), flat.with_differences(ours, 0.95)):
            assert found.figures["spearman"].difference is None and found.figures["spearman"].difference_ci is None
            assert found.figures["mae"].difference_ci is not None

    def test_without_intervals(self) -> None:
        _, _, pairs, other = self.both()
        found = estimate_agreement(pairs, keys(15), None).with_differences(
            estimate_agreement(other, keys(15), None), 0.95
        )
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


CORRELATIONS = {"spearman": spearman, "kendall": kendall, "pearson": pearson}
PEERS = {"spearman": stats.spearmanr, "kendall": stats.kendalltau, "pearson": stats.pearsonr}

# Many ties, some ties, hardly any.
values = st.one_of(
    st.sampled_from([0.0, 0.5, 1.0]), st.integers(-9, 9).map(float), st.floats(-1, 1, allow_subnormal=False)
)
sides = st.integers(1, 40).flatmap(
    lambda n: st.tuples(*(st.lists(values, min_size=n, max_size=n).map(np.array) for _ in range(2)))
)


def array(*numbers: float) -> Floats:
    return np.array(numbers, dtype=np.float64)


def drawn_values(n: int, seed: int = 0, decimals: int = 15) -> tuple[Floats, Floats]:
    random = np.random.default_rng(seed)
    x = random.normal(size=n)
    return x.round(decimals), (x + random.normal(size=n)).round(decimals)


class TestByHand:
    def test_without_ties(self) -> None:
        x, y = array(0.85, 0.72, 0.91, 0.68), array(0.79, 0.65, 0.88, 0.70)
        assert spearman(x, y) == pytest.approx(1 - 6 * 2 / (4 * 15), abs=1e-15)
        assert kendall(x, y) == pytest.approx(4 / 6, abs=1e-15)
        assert mae(x, y) == pytest.approx((0.06 + 0.07 + 0.03 + 0.02) / 4, abs=1e-15)
        assert rmse(x, y) == pytest.approx(sqrt((36 + 49 + 9 + 4) / 4) / 100, abs=1e-15)

    def test_pearson(self) -> None:
        assert pearson(array(1, 2, 3, 4), array(1, 3, 2, 4)) == pytest.approx(0.8, abs=1e-15)

    def test_with_ties(self) -> None:
        """x has one tied couple of six, y another; four couples agree, none disagrees."""
        x, y = array(1, 2, 2, 3), array(1, 1, 2, 3)
        assert midranks(x).tolist() == [1, 2.5, 2.5, 4] and midranks(y).tolist() == [1.5, 1.5, 3, 4]
        assert kendall(x, y) == pytest.approx(4 / 5, abs=1e-15)
        assert spearman(x, y) == pytest.approx(3.75 / 4.5, abs=1e-15)

    def test_concordance(self) -> None:
        agreeing, differing_x, differing_y = concordance(array(1, 2, 2, 3), array(3, 1, 2, 2))
        assert agreeing.tolist() == [-3, 0, -1, 0]
        assert differing_x.tolist() == [3, 2, 2, 3] and differing_y.tolist() == [3, 3, 2, 2]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 9, 10, 31, 100, 257])
def test_perfect_is_one_and_no_more(n: int) -> None:
    x = drawn_values(n, seed=n)[0]
    for correlation in CORRELATIONS.values():
        assert 1 - 1e-15 <= correlation(x, x) <= 1
        assert -1 <= correlation(x, -x) <= -1 + 1e-15
    assert kendall(x, np.exp(x)) == 1 and kendall(x, -(x**3)) == -1
    assert mae(x, x) == rmse(x, x) == 0


@given(sides)
@thorough(80)
def test_like_scipy(both: tuple[Floats, Floats]) -> None:
    x, y = both
    constant = len(x) < 2 or np.unique(x).size < 2 or np.unique(y).size < 2
    for name, correlation in CORRELATIONS.items():
        found = correlation(x, y)
        if constant:
            assert isnan(found)
        else:
            assert found == pytest.approx(float(PEERS[name](x, y).statistic), abs=1e-9)
            assert -1 <= found <= 1 and correlation(y, x) == pytest.approx(found, abs=1e-14)
    assert midranks(x).tolist() == stats.rankdata(x).tolist()
    assert mae(x, y) == pytest.approx(sum(abs(a - b) for a, b in zip(x, y, strict=True)) / len(x), abs=1e-12)
    assert rmse(x, y) ** 2 == pytest.approx(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / len(x), abs=1e-12)


@given(sides)
@thorough(60)
def test_concordance_as_a_square(both: tuple[Floats, Floats]) -> None:
    x, y = both
    order_x, order_y = (np.sign(side[:, None] - side[None, :]).astype(int) for side in (x, y))
    for found, expected in zip(concordance(x, y), (order_x * order_y, np.abs(order_x), np.abs(order_y)), strict=True):
        assert found.dtype == np.int64
        assert found.tolist() == expected.sum(axis=1).tolist()


@pytest.mark.parametrize("decimals", [0, 1, 3, 15])
@pytest.mark.parametrize("n", [4_095, 4_097])
def test_like_scipy_with_many(n: int, decimals: int) -> None:
    x, y = drawn_values(n, seed=n, decimals=decimals)
    for name, correlation in CORRELATIONS.items():
        assert correlation(x, y) == pytest.approx(float(PEERS[name](x, y).statistic), abs=1e-12)


@given(sides, st.randoms(use_true_random=False))
@thorough(30)
def test_the_order_of_pairs_is_of_no_account(both: tuple[Floats, Floats], random: Any) -> None:
    x, y = both
    order = list(range(len(x)))
    random.shuffle(order)
    for figure in AGREEMENTS.values():
        assert figure(x[order], y[order]) == pytest.approx(figure(x, y), abs=1e-12, nan_ok=True)
    assert kendall(x[order], y[order]) == pytest.approx(kendall(x, y), abs=0, nan_ok=True)


@given(sides)
@thorough(30)
def test_monotone_and_linear_functions(both: tuple[Floats, Floats]) -> None:
    """Numbers on a grid, so that no two of them fall together."""
    x, y = (np.round(side * 64) for side in both)
    for correlation in (spearman, kendall):
        assert correlation(x**3, y * 2 + 7) == pytest.approx(correlation(x, y), abs=1e-14, nan_ok=True)
        assert correlation(-x, y) == pytest.approx(-correlation(x, y), abs=1e-14, nan_ok=True)
    assert pearson(x * 0.25 - 3, y * 8) == pytest.approx(pearson(x, y), abs=1e-12, nan_ok=True)


class TestUndefined:
    @pytest.mark.parametrize("correlation", CORRELATIONS.values(), ids=CORRELATIONS)
    @pytest.mark.parametrize(
        ("x", "y"),
        [
            ((), ()),
            ((0.5,), (0.7,)),
            ((0.3, 0.3, 0.3), (1, 2, 3)),
            ((1, 2, 3), (0.1, 0.1, 0.1)),
            ((0, 0), (0, 0)),
            ((0.0, -0.0), (1, 2)),
        ],
    )
    def test_correlations(self, correlation: Any, x: tuple[float, ...], y: tuple[float, ...]) -> None:
        assert isnan(correlation(array(*x), array(*y)))

    def test_errors_of_nothing(self) -> None:
        assert isnan(mae(array(), array())) and isnan(rmse(array(), array()))
        assert mae(array(1), array(4)) == rmse(array(1), array(4)) == 3


class TestScales:
    @pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-80, 1e80, 1e160, 1e300])
    def test_far_from_one(self, scale: float) -> None:
        """Squares of these overflow, or vanish; a warning would be an error here."""
        x, y = (np.clip(side, -1, 1) * 0.4 for side in drawn_values(50))
        for name, correlation in CORRELATIONS.items():
            assert correlation(x * scale, y) == pytest.approx(correlation(x, y), abs=1e-12), name
            assert correlation(x, y * scale) == pytest.approx(correlation(x, y), abs=1e-12), name
        assert mae(x * scale, y * scale) / scale == pytest.approx(mae(x, y), rel=1e-12)
        assert rmse(x * scale, y * scale) / scale == pytest.approx(rmse(x, y), rel=1e-12)

    def test_ends_of_the_scale(self) -> None:
        largest = np.finfo(float).max
        assert spearman(array(-largest, 0, largest), array(1, 2, 3)) == 1
        assert pearson(array(-largest, 0, largest), array(1, 2, 3)) == pytest.approx(1)
        assert kendall(array(-inf, 0, inf), array(1, 2, 3)) == 1

    @pytest.mark.parametrize("step", [1, 3, 1_000])
    def test_steps_of_the_last_bit(self, step: int) -> None:
        """1 and the next number differ, as much as two numbers can."""
        near = 1 + np.arange(4) * step * np.finfo(float).eps
        assert pearson(near, array(1, 2, 3, 4)) == pytest.approx(1, abs=1e-3)
        assert pearson(near, -near) == pytest.approx(-1, abs=1e-3)
        assert spearman(near, -near) == kendall(near, -near) == -1


def test_names_of_the_figures() -> None:
    assert list(AGREEMENTS) == ["spearman", "kendall", "pearson", "mae", "rmse"]
