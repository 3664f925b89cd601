"""Every figure of a space against an independent computation, planted faults, and digits that do not hang on order."""

import json
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from scipy.stats import median_abs_deviation, skew

from rankjury.core.types import Vectors
from rankjury.retrieval.diagnostics import NEAR, GoldSpaces, Hub, Hubness, SpaceDiagnostics
from rankjury.retrieval.rank import Space, rank_vectors


def space_of(values: Any, ids: Any = None, dtype: Any = np.float64, **options: Any) -> Space:
    array = np.array(values, dtype=dtype)
    names = [f"v{row:04}" for row in range(len(array))] if ids is None else list(ids)
    return rank_vectors(Vectors(pl.Series("id", names, dtype=pl.String), array), **options)


def look(values: Any, ids: Any = None, dtype: Any = np.float64, **options: Any) -> SpaceDiagnostics:
    return space_of(values, ids, dtype, **options).hygiene


def normal(n: int, dimensions: int, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(n, dimensions))


def cosines(values: NDArray[Any]) -> NDArray[np.float64]:
    wide = values.astype(np.float64)
    unit = wide / np.linalg.norm(wide, axis=1)[:, None]
    return unit @ unit.T


class TestFigures:
    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    def test_lengths(self, dtype: Any) -> None:
        values = normal(50, 6).astype(dtype)
        norms = np.linalg.norm(values.astype(np.float64), axis=1)
        found = look(values, dtype=dtype)
        assert (found.vectors, found.dimensions) == (50, 6)
        got = (found.norm.mean, found.norm.std, found.norm.min, found.norm.max)
        assert got == pytest.approx((norms.mean(), norms.std(), norms.min(), norms.max()), rel=1e-12)

    def test_lengths_by_bin_are_counted_one_by_one(self) -> None:
        values = normal(300, 4) + 1.0
        norms = np.linalg.norm(values, axis=1)
        found = look(values)
        edges = np.array(found.norm.histogram.edges)
        assert (edges[0], edges[-1]) == (found.norm.min, found.norm.max)
        assert np.diff(edges) == pytest.approx(np.full(30, (norms.max() - norms.min()) / 30))
        assert np.abs(norms[:, None] - edges[None, 1:-1]).min() > 1e-9, "none stands at an edge within"
        counted = [int(((low <= norms) & (norms < high)).sum()) for low, high in pairwise(edges)]
        counted[-1] += 1  # the longest stands at the last edge
        assert found.norm.histogram.counts == tuple(counted) and sum(counted) == 300
        assert found.to_json()["norm"]["histogram"] == {"edges": edges.tolist(), "counts": counted}

    @pytest.mark.parametrize("apart", [0.0, 1.0, 29.0, 30.0, 60.0])
    def test_lengths_between_which_nothing_fits_are_one_bin(self, apart: float) -> None:
        """NumPy refuses edges that would be equal; so many of the smallest steps there are between the two lengths."""
        longer = 1.0 + apart * np.spacing(1.0)
        found = look([[1.0, 0.0], [0.0, longer]])
        bins = 30 if apart > 30 else 1
        assert (
            len(found.norm.histogram.edges),
            len(found.norm.histogram.counts),
            sum(found.norm.histogram.counts),
        ) == (bins + 1, bins, 2)
        assert (found.norm.histogram.edges[0], found.norm.histogram.edges[-1]) == (1.0, longer)

    @pytest.mark.parametrize("n", [2, 3, 60])
    def test_mean_cosine_is_that_of_all_pairs(self, n: int) -> None:
        values = normal(n, 5) + 0.4
        table = cosines(values)
        naive = np.mean([table[one, other] for one, other in combinations(range(n), 2)])
        assert look(values).mean_similarity == pytest.approx(naive, abs=1e-12)

    def test_mean_cosine_over_many_blocks(self) -> None:
        values = normal(5_000, 3) + 0.3
        unit = values / np.linalg.norm(values, axis=1)[:, None]
        every = sum(float((unit[first : first + 500] @ unit.T).sum()) for first in range(0, 5_000, 500))
        assert look(values, k=1).mean_similarity == pytest.approx((every - 5_000) / (5_000 * 4_999), abs=1e-12)

    @pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
    def test_hubness(self, metric: str) -> None:
        space = space_of(normal(80, 10) + 0.2, metric=metric)
        frame = space.ranking.frame()
        first = frame.group_by("query_id", maintain_order=True).head(10)
        times = dict.fromkeys(frame["query_id"].unique().to_list(), 0)
        for item in first["item_id"]:
            times[item] += 1
        found = space.hygiene
        assert found.hubness.k == 10
        assert found.hubness.skew == pytest.approx(skew(list(times.values())), rel=1e-12)
        assert found.hubness.never_found == sum(count == 0 for count in times.values()) / 80
        most = sorted(times.items(), key=lambda pair: (-pair[1], pair[0]))[:5]
        assert found.hubness.hubs == tuple(Hub(*one) for one in most)

    def test_even_occurrences_have_no_skew(self) -> None:
        found = look(np.eye(4))  # of four, each finds the three others
        assert (found.hubness.skew, found.hubness.never_found) == (0.0, 0.0)
        assert found.hubness.hubs == tuple(Hub(f"v000{row}", 3) for row in range(4))

    def test_ties_at_the_cut_offs(self) -> None:
        """From q at the origin: a and b at 1, c at 2, d, e and f at 3; from r at 10, all apart but a = b."""
        ids, places = "abcdef", [[1, 0], [0, 1], [2, 0], [3, 0], [0, 3], [-3, 0]]
        corpus = Vectors(pl.Series("id", list(ids)), np.array(places, dtype=float))
        queries = Vectors(pl.Series("id", ["q", "r"]), np.array([[0.0, 0.0], [10.0, 0.1]]))
        space = rank_vectors(corpus, queries, metric="l2", cuts=[1, 2, 3, 4, 5, 6, 7])
        assert space.hygiene.tied_at == {1: 0.5, 2: 0.0, 3: 0.0, 4: 0.5, 5: 0.5}

    def test_beyond_what_was_found_nothing_is_known_of_ties(self) -> None:
        assert look(normal(40, 3), k=15, cuts=[3, 15, 16, 30]).tied_at == {3: 0.0, 15: 0.0}

    def test_the_last_of_all_ties_with_nobody(self) -> None:
        assert look([[1, 0], [1, 0], [1, 0]], cuts=[1, 2, 3]).tied_at == {1: 1.0, 2: 0.0}


def naive_groups(values: NDArray[Any], ids: list[str]) -> list[tuple[str, ...]]:
    groups: dict[tuple[float, ...], list[str]] = {}
    for name, row in zip(ids, values.tolist(), strict=True):
        groups.setdefault(tuple(number + 0.0 for number in row), []).append(name)
    return sorted(tuple(sorted(names)) for names in groups.values() if len(names) > 1)


class TestDuplicates:
    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    @given(rows=st.lists(st.tuples(*[st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5])] * 3), min_size=1, max_size=24))
    @settings(max_examples=50, deadline=None, derandomize=True)
    def test_like_a_plain_search(self, dtype: Any, rows: list[tuple[float, ...]]) -> None:
        """0 and −0 are the same number."""
        values = np.array(rows, dtype=dtype)
        ids = [str(number) for number in range(len(rows), 0, -1)]
        found, groups = look(values, ids, dtype, metric="l2"), naive_groups(values, ids)
        assert found.duplicates.exact == sum(len(group) - 1 for group in groups)
        assert found.duplicates.groups == tuple(group[:5] for group in groups[:5])

    def test_planted_among_many(self) -> None:
        values = normal(5_000, 16).astype(np.float32)
        values[4_321] = values[17]
        values[[99, 4_999]] = values[2_500]
        found = look(values, dtype=np.float32, k=5)
        assert found.duplicates.exact == 3
        assert found.duplicates.groups == (("v0017", "v4321"), ("v0099", "v2500", "v4999"))
        assert (
            "3 vectors equal another (v0017 = v4321; v0099 = v2500 = v4999): they are tied, and ordered by id"
            in found.notes()
        )

    def test_one_bit_makes_another_vector(self) -> None:
        values = np.ones((2, 3))
        values[1, 2] = np.nextafter(1.0, 2.0)
        found = look(values)
        assert (found.duplicates.exact, found.near_duplicates.found) == (0, 2)


class TestNearDuplicates:
    @pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
    def test_like_all_pairs(self, metric: str) -> None:
        """Whether they are read off the search or looked for; among them copies, and copies of another length."""
        values = normal(120, 4)
        values[100:] = values[:20] + 0.02 * normal(20, 4, seed=1)
        values[[60, 61, 62]] = values[0]  # three copies: the near one stands behind them
        values[100] = values[0] + 1e-4
        values[70] = 3 * values[1]
        table = cosines(values)
        equal = (values[:, None] == values[None]).all(axis=2)
        table[equal] = -1
        naive = table.max(axis=1)
        assert np.abs(naive - NEAR).min() > 1e-9, "no pair stands at the edge"
        found = look(values, metric=metric)
        assert 20 < found.near_duplicates.found == (naive >= NEAR).sum() < 120
        assert found.near_duplicates.looked_at == 120
        assert [score for *_, score in found.near_duplicates.pairs] == pytest.approx(
            np.sort(naive)[::-1][:5], abs=1e-12
        )
        for one, other, score in found.near_duplicates.pairs:
            row, column = int(one[1:]), int(other[1:])
            assert table[row, column] == pytest.approx(score, abs=1e-12) == naive[row]

    def test_planted_pair_is_named(self) -> None:
        values = normal(300, 32)
        values[7] = values[250] + 0.001 * normal(1, 32, seed=1)[0]
        found = look(values, k=3)
        assert [pair[:2] for pair in found.near_duplicates.pairs] == [("v0007", "v0250"), ("v0250", "v0007")]
        assert "2 vectors are nearly equal to another (v0007 ~ v0250, v0250 ~ v0007)" in found.notes()

    def test_a_sample_of_a_large_corpus_hangs_on_ids_alone(self) -> None:
        values = np.repeat(normal(1_500, 6), 2, axis=0)
        values[1::2] += 1e-5  # each vector has a near duplicate
        names = np.array([f"v{row:04}" for row in range(3_000)])
        wanted = pl.Series(names[:10].tolist())
        found = look(values, names, k=1, wanted=wanted)
        assert (found.near_duplicates.looked_at, found.near_duplicates.found) == (2_000, 2_000)
        order = np.random.default_rng(0).permutation(3_000)
        assert look(values[order], names[order], k=1, wanted=wanted) == found


class TestOutliers:
    def test_planted_lengths_are_named_farthest_first(self) -> None:
        values = normal(200, 8)
        values /= np.linalg.norm(values, axis=1)[:, None] * np.linspace(0.98, 1.02, 200)[:, None]
        for row, length in ((3, 9.0), (50, 0.01), (120, 4.0)):
            values[row] *= length
        found = look(values)
        assert found.norm.outliers == ("v0003", "v0120", "v0050")
        assert any("v0003, v0120, v0050" in note and "dot product" in note for note in found.notes())

    def test_like_the_robust_rule(self) -> None:
        """Farther than five spreads from the median (the spread as SciPy scales it), and than a hundredth of it."""
        values = np.random.default_rng(2).standard_cauchy(size=(90, 2)) + 20
        norms = np.linalg.norm(values, axis=1)
        apart = np.abs(norms - np.median(norms))
        spread = median_abs_deviation(norms, scale="normal")
        assert np.abs(apart / spread - 5).min() > 1e-3, "none stands at the edge"
        far = [row for row in np.argsort(-apart) if apart[row] > max(5 * spread, 0.01 * np.median(norms))]
        assert len(far) > 3
        assert look(values).norm.outliers == tuple(f"v{row:04}" for row in far[:10])

    def test_a_hundredth_is_not_far_though_all_others_are_equal(self) -> None:
        values = np.eye(20)
        values[3] *= 1.009
        values[5] *= 1.011
        assert look(values).norm.outliers == ("v0005",)

    def test_unit_length_up_to_rounding_has_none(self) -> None:
        values = normal(400, 8)
        values /= np.linalg.norm(values, axis=1)[:, None]
        assert look(values, dtype=np.float16).norm.outliers == ()


def test_a_hub_is_found_and_named() -> None:
    """On a sphere the items; at its middle one that is nearer to each than all the others are."""
    values = normal(300, 40)
    values /= np.linalg.norm(values, axis=1)[:, None]
    values[123] = 0.01 * values[123]
    found = look(values, metric="l2")
    assert found.hubness.hubs[0] == Hub("v0123", 299)
    assert found.hubness.skew > 2
    assert "hubs: v0123 is among the 10 nearest of 299 queries of 300" in found.notes()


def test_vectors_that_all_point_the_same_way_are_told() -> None:
    found = look(normal(50, 8) * 0.1 + 1)
    assert found.mean_similarity > 0.9
    (note,) = [note for note in found.notes() if "point" in note]
    assert note == f"all vectors point in similar directions: mean cosine {found.mean_similarity:.2f}"


def test_a_clean_space_has_no_notes_and_others_are_told_by_name() -> None:
    clean, equal = look(np.eye(12)), look([[1, 0], [1, 0], [0, 1], [-1, 0]], "abcd")
    assert list(clean.notes()) == []
    assert [str(one) for one in GoldSpaces({"one": clean, "two": equal}).warnings()] == [
        "two: 1 vector equals another (a = b): they are tied, and ordered by id"
    ]


@pytest.mark.parametrize(("metric", "asked"), [("cosine", None), ("l2", 333)])
def test_digits_do_not_hang_on_the_order_of_rows(metric: str, asked: int | None) -> None:
    values = normal(700, 20).astype(np.float32) + 0.1
    values[300:310] = values[:10]
    values[400:410] = values[:10] * 1.001
    values[500] *= 40
    names = np.array([str(row) for row in range(700)])
    wanted = None if asked is None else pl.Series(names[:asked].tolist())
    first = look(values, names, np.float32, metric=metric, k=20, cuts=[1, 5, 20], wanted=wanted)
    assert first.duplicates.exact == 10 and first.near_duplicates.found >= 30 and first.norm.outliers[0] == "500"
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(700)
        again = look(values[order], names[order], np.float32, metric=metric, k=20, cuts=[1, 5, 20], wanted=wanted)
        assert again == first
        assert json.dumps(again.to_json()) == json.dumps(first.to_json())


class TestFew:
    def test_one_vector(self) -> None:
        found = look([[3, 4]], cuts=[1])
        assert (found.norm.mean, found.norm.std) == (5.0, 0.0)
        assert (found.duplicates.exact, found.near_duplicates.found) == (0, 0)
        assert np.isnan(found.mean_similarity)
        assert (found.hubness.hubs, found.hubness.never_found, found.tied_at) == ((), 1.0, {})
        assert list(found.notes()) == []

    def test_two_vectors(self) -> None:
        found = look([[1, 0], [3, 4]], "ab", cuts=[1])
        assert found.mean_similarity == pytest.approx(0.6)
        assert found.hubness == Hubness(1, 2, 0.0, (Hub("a", 1), Hub("b", 1)), 0.0)
        assert found.tied_at == {1: 0.0}

    def test_zero_vectors_have_no_cosine(self) -> None:
        found = look([[0, 0], [1, 0], [-0.0, 0.0], [1, 1e-4]], "abcd", metric="l2")
        assert np.isnan(found.mean_similarity) and found.norm.min == 0
        assert (found.duplicates.exact, found.duplicates.groups) == (1, (("a", "c"),))
        assert (found.near_duplicates.found, found.near_duplicates.looked_at) == (0, 0)


@pytest.mark.parametrize(
    ("values", "metric"), [([[1.0, 2.0]], "cosine"), ([[0.0, 0.0], [1.0, 1.0]], "l2"), (np.eye(3), "cosine")]
)
def test_the_json_form_holds_no_nan_and_every_figure(values: Any, metric: str) -> None:
    found = look(values, metric=metric, cuts=[1])
    form = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert form["norm"]["max"] == found.norm.max and form["vectors"] == found.vectors
    assert (form["mean_similarity"] is None) == bool(np.isnan(found.mean_similarity))
    assert form["hubness"]["hubs"] == [{"id": hub.id, "found_by": hub.found_by} for hub in found.hubness.hubs]
    assert form["hubness"]["queries"] == found.hubness.queries == len(values)
    assert form["tied_at"] == {str(k): share for k, share in found.tied_at.items()}
    assert form["near_duplicates"]["cosine_from"] == NEAR


def test_risks_are_counted_in_a_sentence() -> None:
    assert look(np.eye(12)).sentence == "12 vectors of 12 dimensions: no risk found (lengths, duplicates, hubs)."
    alike = look(normal(50, 8) * 0.1 + 1)
    assert alike.sentence.startswith("50 vectors of 8 dimensions: ") and "similar directions" in alike.sentence
    equal = look([[1, 0], [1, 0], [0, 1], [-1, 0]], "abcd")
    assert equal.sentence == "4 vectors of 2 dimensions: 1 risk (equal vectors)."
    for space in (alike, equal):
        assert f"{len(list(space.notes()))} risk" in space.sentence
