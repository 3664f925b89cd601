"""Fusion by hand: each way of fusing with its numbers written out, ties, cuts, spelling."""

import math
from itertools import permutations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rankjury
from rankjury.core.types import Ranking
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.retrieval.fusion.align import Aligned, fuse
from rankjury.retrieval.fusion.fusion import METHODS, NORMALIZATIONS, Fusion
from tests.retrieval.fusion.naive_fusion import spread_out

# x ranks a, b, c; y ranks c, d, a.
X = {"q": {"a": 9.0, "b": 6.0, "c": 5.0}}
Y = {"q": {"c": 0.8, "d": 0.6, "a": 0.3}}


def of_q(fusion: Fusion, *runs: object) -> list[tuple[str, float]]:
    return spread_out(fuse([rankjury.as_ranking(run) for run in runs or (X, Y)], fusion))["q"]


def items_of(fusion: Fusion, *runs: object) -> list[str]:
    return [item for item, _ in of_q(fusion, *runs)]


def close(*pairs: tuple[str, float]) -> list[tuple[str, object]]:
    return [(item, pytest.approx(score, rel=1e-12, abs=1e-15)) for item, score in pairs]


def test_rrf() -> None:
    both = 1 / 61 + 1 / 63
    assert of_q(Fusion()) == close(("a", both), ("c", both), ("b", 1 / 62), ("d", 1 / 62))


def test_rrf_with_weights_and_another_constant() -> None:
    expected = close(("a", 2 / 11 + 1 / 13), ("c", 2 / 13 + 1 / 11), ("b", 2 / 12), ("d", 1 / 12))
    assert of_q(Fusion(c=10, weights=(2, 1))) == expected


def test_rrf_of_the_first_two_only() -> None:
    """c is third in x, a third in y: those places are as if they were not there."""
    assert of_q(Fusion(depth=2)) == close(("a", 1 / 61), ("c", 1 / 61), ("b", 1 / 62), ("d", 1 / 62))
    assert of_q(Fusion(depth=1)) == close(("a", 1 / 61), ("c", 1 / 61))


def test_combsum() -> None:
    """min-max: x gives a 1, b 1/4, c 0; y gives c 1, d 0.6, a 0."""
    assert of_q(Fusion("combsum")) == close(("a", 1.0), ("c", 1.0), ("d", 0.6), ("b", 0.25))
    assert of_q(Fusion("combsum", weights=(4, 1))) == close(("a", 4.0), ("b", 1.0), ("c", 1.0), ("d", 0.6))


def test_combmnz() -> None:
    assert of_q(Fusion("combmnz")) == close(("a", 2.0), ("c", 2.0), ("d", 0.6), ("b", 0.25))


def test_combmax() -> None:
    assert of_q(Fusion("combmax", weights=(1, 0.5))) == close(("a", 1.0), ("c", 0.5), ("d", 0.3), ("b", 0.25))


def test_combmax_counts_only_lists_that_hold_the_item() -> None:
    runs = {"q": {"a": -1.0, "b": -2.0}}, {"q": {"a": -3.0}}
    assert of_q(Fusion("combmax", normalise="none"), *runs) == [("a", -1.0), ("b", -2.0)]


def test_isr() -> None:
    """a: 2 lists × (1/1 + 1/9); b: 1/4."""
    assert of_q(Fusion("isr")) == close(("a", 20 / 9), ("c", 20 / 9), ("b", 0.25), ("d", 0.25))


def test_borda() -> None:
    """Four candidates: places give 4, 3, 2 points, and the one that a list lacks gets the point that is left."""
    assert of_q(Fusion("borda")) == [("a", 6.0), ("c", 6.0), ("b", 4.0), ("d", 4.0)]
    # Cut to one: a list gives 2 points to its item and 1 to the other.
    assert of_q(Fusion("borda", depth=1)) == [("a", 3.0), ("c", 3.0)]


def test_borda_shares_the_other_points_evenly() -> None:
    """Of three candidates one is listed: 3 points, and 2 + 1 shared by two."""
    lists = {"q": ["a"]}, {"q": ["b", "c", "a"]}
    assert of_q(Fusion("borda"), *lists) == [("b", 1.5 + 3), ("a", 3.0 + 1), ("c", 1.5 + 2)]


def test_condorcet() -> None:
    """a against b: 2 to 1; a and b against c: 3 to 0 and 2 to 1 (the third list lacks b, so it is for c)."""
    lists = {"q": ["a", "b", "c"]}, {"q": ["b", "a", "c"]}, {"q": ["a", "c"]}
    assert of_q(Fusion("condorcet"), *lists) == [("a", 2.0), ("b", 1.0), ("c", 0.0)]
    # With 3 votes against 2 the second list has its way.
    assert of_q(Fusion("condorcet", weights=(1, 3, 1)), *lists) == [("b", 2.0), ("a", 1.0), ("c", 0.0)]


def test_condorcet_in_a_circle_is_a_tie() -> None:
    lists = {"q": ["a", "b", "c"]}, {"q": ["b", "c", "a"]}, {"q": ["c", "a", "b"]}
    assert of_q(Fusion("condorcet"), *lists) == [("a", 1.0), ("b", 1.0), ("c", 1.0)]


def test_condorcet_says_nothing_of_two_that_a_list_lacks() -> None:
    assert of_q(Fusion("condorcet"), {"q": ["a"]}, {"q": ["c", "b"]}) == [("c", 1.0), ("a", 0.0), ("b", 0.0)]


def test_condorcet_adds_weights_as_decimals() -> None:
    """0.1 + 0.2 is no majority against 0.3, though it is as floats."""
    lists = {"q": ["a", "b"]}, {"q": ["a", "b"]}, {"q": ["b", "a"]}
    assert of_q(Fusion("condorcet", weights=(0.1, 0.2, 0.3)), *lists) == [("a", 0.0), ("b", 0.0)]
    assert of_q(Fusion("condorcet", weights=(1e-30, 1.0, 1.0)), *lists) == [("a", 1.0), ("b", 0.0)]


def test_condorcet_of_long_lists() -> None:
    """Two opposite lists and one that decides, past every width of number that the table is held in."""
    names = [f"{n:05}" for n in range(300)]
    lists = {"q": names}, {"q": names[::-1]}, {"q": names}
    for weights in (None, (40, 80, 60), (4e4, 8e4, 6e4), (4e12, 8e12, 6e12)):
        found = of_q(Fusion("condorcet", weights=weights), *lists)
        assert found == [(name, 299.0 - n) for n, name in enumerate(names)]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("none", [4.0, 2.0, 0.0]),
        ("min-max", [1.0, 0.5, 0.0]),
        ("z-score", [math.sqrt(1.5), 0.0, -math.sqrt(1.5)]),
        ("sum", [2 / 3, 1 / 3, 0.0]),
        ("rank", [1.0, 2 / 3, 1 / 3]),
    ],
)
def test_normalisations(how: str, expected: list[float]) -> None:
    found = of_q(Fusion("combsum", normalise=how), {"q": {"a": 4.0, "b": 2.0, "c": 0.0}})
    assert found == close(*zip("abc", expected, strict=True))


@pytest.mark.parametrize("how", ["min-max", "z-score", "sum"])
def test_equal_scores_are_normalised_to_nothing(how: str) -> None:
    assert of_q(Fusion("combsum", normalise=how), {"q": {"b": 0.1, "a": 0.1, "c": 0.1}}) == [
        ("a", 0.0),
        ("b", 0.0),
        ("c", 0.0),
    ]


def test_normalisation_is_over_the_part_that_counts() -> None:
    found = of_q(Fusion("combsum", depth=3), {"q": {"a": 5.0, "b": 4.0, "c": 3.0, "d": -100.0}})
    assert found == [("a", 1.0), ("b", 0.5), ("c", 0.0)]


def test_scores_far_apart_are_normalised_without_overflow() -> None:
    for how in ("min-max", "z-score", "sum"):
        (_, high), (_, middle), (_, low) = of_q(
            Fusion("combsum", normalise=how), {"q": {"a": 1.7e308, "b": 0.0, "c": -1.7e308}}
        )
        assert high > middle > low


def test_a_ranking_without_scores_stands_as_given() -> None:
    assert items_of(Fusion(), {"q": ["z", "a", "m"]}) == ["z", "a", "m"]
    assert of_q(Fusion("combsum"), {"q": ["z", "a", "m"]}) == [("z", 1.0), ("a", 0.5), ("m", 0.0)]


def test_equal_scores_within_a_list_are_ranked_by_id() -> None:
    assert of_q(Fusion(c=0), {"q": {"c": 1.0, "b": 2.0, "a": 1.0}}) == close(("b", 1.0), ("a", 0.5), ("c", 1 / 3))


def test_equal_sums_tie_whatever_their_order() -> None:
    """Ranks 1, 2, 3 in one order or another."""
    lists = {"q": ["c", "a", "b"]}, {"q": ["b", "c", "a"]}, {"q": ["a", "b", "c"]}
    for weights in (None, (0.1, 0.1, 0.1), (1 / 3, 1 / 3, 1 / 3)):
        found = of_q(Fusion(weights=weights), *lists)
        assert [item for item, _ in found] == ["a", "b", "c"]
        assert len({score for _, score in found}) == 1


def test_sums_that_are_equal_on_paper_tie() -> None:
    """1/63 + 1/84 = 1/72 + 1/72 = 1/36, and 0.1/61 + 0.2/61 = 0.3/61."""
    first = [f"x{n:02}" for n in range(24)]
    second = [f"y{n:02}" for n in range(24)]
    first[2], second[23] = "later", "later"
    first[11], second[11] = "earlier", "earlier"
    found = dict(of_q(Fusion(), {"q": first}, {"q": second}))
    assert found["later"] == found["earlier"] == 1 / 36
    assert len({s for _, s in of_q(Fusion(weights=(0.1, 0.2, 0.3)), {"q": ["b"]}, {"q": ["b"]}, {"q": ["a"]})}) == 1


def test_the_order_of_lists_changes_no_sum_even_where_digits_are_lost() -> None:
    """Too far apart for twice the digits of a float: what comes out is less than exact, but always the same."""
    far_apart = (1e200, 1e100, 1.0, -1e100, -1e200)
    found = {
        of_q(Fusion("combsum", normalise="none"), *({"q": {"a": score}} for score in order))[0]
        for order in permutations(far_apart)
    }
    assert len(found) == 1


def test_queries_and_items_are_those_of_any_list() -> None:
    found = spread_out(
        fuse(
            [rankjury.as_ranking({"q2": ["a"], "q10": ["b"]}), rankjury.as_ranking({"q1": ["c"], "q2": ["d"]})],
            Fusion(),
        )
    )
    assert list(found) == ["q1", "q10", "q2"]
    assert found["q2"] == [("a", 1 / 61), ("d", 1 / 61)]


def test_a_query_that_found_nothing_is_kept() -> None:
    found = spread_out(
        fuse([rankjury.as_ranking({"q": ["a"], "void": []}), rankjury.as_ranking({"q": ["a"]})], Fusion())
    )
    assert found == {"q": [("a", 2 / 61)], "void": []}
    nothing = fuse([rankjury.as_ranking({"void": []})], Fusion("combsum", depth=3))
    assert (nothing.queries.to_list(), len(nothing.items)) == (["void"], 0)


@pytest.mark.parametrize("method", METHODS.names())
def test_lists_of_nothing(method: str) -> None:
    assert spread_out(fuse([rankjury.as_ranking({"q": []}), rankjury.as_ranking({"p": []})], Fusion(method))) == {
        "p": [],
        "q": [],
    }


def test_whole_number_ids_stay_whole_numbers_and_order_as_their_decimals() -> None:
    numbers = [Ranking(pl.Series(["q"]), np.array([0, 2]), pl.Series([9, 10]), np.array([1.0, 1.0])) for _ in "ab"]
    found = fuse(numbers, Fusion())
    assert found.items.dtype == pl.Int64
    assert found.items.to_list() == [10, 9]
    mixed = fuse([numbers[0], rankjury.as_ranking({"q": ["9"]})], Fusion(c=0))
    assert spread_out(mixed)["q"] == [("9", 1.5), ("10", 1.0)]


def test_a_fusion_prints_as_its_spelling_and_parses_back() -> None:
    spelled = {
        "rrf(c=60)": Fusion(),
        "rrf(c=60,depth=50)": Fusion(depth=50),
        "rrf(c=0.5,depth=5,weights=0.5:0.3:0.2)": Fusion(c=0.5, depth=5, weights=(0.5, 0.3, 0.2)),
        "combsum": Fusion("combsum", normalise="min-max"),
        "combmnz(normalise=z-score,weights=1:2)": Fusion("combmnz", normalise="z-score", weights=(1, 2)),
        "borda": Fusion("borda", c=7, normalise="sum"),
    }
    for text, fusion in spelled.items():
        assert str(fusion) == text
        assert Fusion.parse(text) == fusion
        assert hash(Fusion.parse(text)) == hash(fusion)
    assert Fusion.parse("rrf") == Fusion()


def test_methods_say_what_they_are() -> None:
    assert METHODS.names() == ["rrf", "isr", "combsum", "combmnz", "combmax", "borda", "condorcet"]
    assert all(method.description for method in METHODS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"c": -1.0}, "c=-1; expected a number above -1"),
        ({"c": math.nan}, "c=nan"),
        ({"c": math.inf}, "c=inf"),
        ({"depth": 0}, "a depth of 0; expected a whole number from 1"),
        ({"weights": (1.0, -2.0)}, "a weight of -2"),
        ({"weights": (1.0, math.nan)}, "a weight of nan"),
        ({"weights": (math.inf,)}, "a weight of inf"),
        ({"weights": (0.0, -0.0)}, "no weight is above 0"),
        ({"weights": ()}, "no weight is above 0"),
        ({"method": "rff"}, "unknown way of fusing 'rff'. Did you mean rrf"),
        ({"method": "combsum", "normalise": "minmax"}, "unknown normalisation 'minmax'. Did you mean min-max"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Fusion(**settings)  # type: ignore[arg-type]
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rrf(c=x)", "c=x; expected a number"),
        ("rrf(depth=2.5)", "depth=2.5; expected a whole number"),
        ("rrf(weights=1;2)", "weights=1;2; expected numbers with colons"),
        ("rrf(deph=2)", "unknown option of a fusion 'deph'. Did you mean depth"),
        ("rrf(", "cannot read 'rrf('"),
        ("nothing", "unknown way of fusing 'nothing'"),
    ],
)
def test_spellings_that_make_no_sense(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Fusion.parse(text)
    assert message in str(caught.value)


def test_an_unknown_name_lists_all() -> None:
    with pytest.raises(UnknownName) as caught:
        Fusion("???")
    assert all(name in str(caught.value) for name in METHODS.names())
    with pytest.raises(UnknownName) as caught:
        Fusion("combsum", normalise="???")
    assert all(name in str(caught.value) for name in NORMALIZATIONS)


def test_one_weight_for_each_ranking() -> None:
    with pytest.raises(UsageError, match="2 weights for 1 ranking; expected one weight"):
        of_q(Fusion(weights=(1, 2)), X)


def test_nothing_to_fuse() -> None:
    with pytest.raises(UsageError, match="no ranking to fuse"):
        Aligned.of([])


def test_an_item_that_stands_twice() -> None:
    frame = pl.DataFrame({"query_id": ["p", "q", "q"], "item_id": ["a", "a", "a"], "score": [1.0, 2.0, 3.0]})
    twice = rankjury.as_ranking(frame)
    with pytest.raises(DataError, match="duplicate item 'a' for query 'q'; expected each"):
        fuse([rankjury.as_ranking(X), twice], Fusion(depth=1))


def test_scores_too_large_to_add() -> None:
    large = {"q": {"a": 1.7e308}}
    for fusion in (Fusion("combsum", normalise="none"), Fusion("combmnz", normalise="none")):
        with pytest.raises(DataError, match="too large to be fused"):
            of_q(fusion, large, large)
    assert of_q(Fusion("combmax", normalise="none"), large, large) == [("a", 1.7e308)]


def test_the_result_is_a_ranking_with_a_name() -> None:
    found = fuse([rankjury.as_ranking(X)], Fusion(), "mine")
    assert found.source == "mine"
    assert found.scores is not None and found.scores.dtype == np.float64
    assert not found.scores.flags.writeable
    assert found.frame().columns == ["query_id", "item_id", "score"]
    assert (
        repr(Aligned.of([rankjury.as_ranking(X), rankjury.as_ranking(Y)])) == "Aligned(2 rankings: 1 queries, 4 pairs)"
    )


def test_rankings_in_any_form_and_the_method_as_text(tmp_path: Path) -> None:
    path = tmp_path / "x.trec"
    path.write_text("q Q0 a 1 2.0 x\nq Q0 b 2 1.0 x\n")
    other = {"q": ["b", "c"]}
    expected = fuse([rankjury.read_run(path), rankjury.as_ranking(other)], Fusion("rrf", weights=(0.3, 0.7)))
    found = fuse([path, other], "rrf(weights=0.3:0.7)")
    assert found.frame().equals(expected.frame())
    with pytest.raises(UsageError, match="rrf"):
        fuse([path, other], "rff")
    with pytest.raises(DataError):
        fuse([path, {"q": 3}], "rrf")
