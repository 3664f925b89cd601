"""The random baseline: by hand, against all orders of few candidates, against many orders of many."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

import rankjury
from rankjury.core.types import Floats
from rankjury.evaluation.evaluate import DEFAULT_MEASURES, evaluate, resolve_measures
from rankjury.evaluation.random_baseline import EXPECTATIONS, RandomRanking, expected_scores, has_expectation
from rankjury.measures.measure import METRICS, Measure

# The movies protocol: of 49 other movies the five nearest are the gold, the nearest graded 5.
CANDIDATES, GOLD, CUT = 49, 5, 5
MOVIES = rankjury.ordered_gold({"Alien": [f"movie {n}" for n in range(GOLD)]})


def expected(gold: Any, candidates: int | Mapping[str, int], *measures: str, **conventions: Any) -> Floats:
    asked = resolve_measures(measures, overrides=conventions)
    return expected_scores(rankjury.as_gold(gold), RandomRanking(candidates), asked).values


def of_movies(measure: str) -> float:
    return float(expected(MOVIES, CANDIDATES, measure)[0, 0])


# ---- by hand


def over_patterns(value: Callable[[tuple[int, ...]], Fraction]) -> Fraction:
    """The mean over all C(49, 5) places of the gold, told apart by where in the top 5 it stands."""
    total = Fraction(0)
    for pattern in product((0, 1), repeat=CUT):
        places_left = math.comb(CANDIDATES - CUT, GOLD - sum(pattern))
        total += value(pattern) * Fraction(places_left, math.comb(CANDIDATES, GOLD))
    return total


def precisions(pattern: tuple[int, ...]) -> list[Fraction]:
    return [Fraction(sum(pattern[: r + 1]), r + 1) for r, hit in enumerate(pattern) if hit]


BY_HAND: dict[str, Callable[[tuple[int, ...]], Fraction]] = {
    "hits@5": lambda pattern: Fraction(sum(pattern), GOLD),
    "precision@5": lambda pattern: Fraction(sum(pattern), CUT),
    "f1@5": lambda pattern: Fraction(2 * sum(pattern), CUT + GOLD),
    "hit_count@5": lambda pattern: Fraction(sum(pattern)),
    "hit_rate@5": lambda pattern: Fraction(any(pattern)),
    "rr@5": lambda pattern: Fraction(1, pattern.index(1) + 1) if any(pattern) else Fraction(0),
    "ap@5": lambda pattern: sum(precisions(pattern), Fraction(0)) / GOLD,
    "ap(over=found)@5": lambda pattern: sum(precisions(pattern), Fraction(0)) / max(sum(pattern), 1),
    "r_precision": lambda pattern: Fraction(sum(pattern), GOLD),
    "rbp(p=0.5)@5": lambda pattern: sum((Fraction(hit, 2 ** (r + 1)) for r, hit in enumerate(pattern)), Fraction(0)),
}


@pytest.mark.parametrize("measure", BY_HAND)
def test_movies_by_hand(measure: str) -> None:
    assert of_movies(measure) == pytest.approx(float(over_patterns(BY_HAND[measure])), rel=1e-14)


def test_movies_in_figures() -> None:
    assert of_movies("hits@5") == pytest.approx(5 / 49, rel=1e-15)
    assert of_movies("hit_rate@5") == pytest.approx(float(1 - Fraction(math.comb(44, 5), math.comb(49, 5))), rel=1e-15)
    by_rank = [Fraction(math.comb(49 - r, 4), r * math.comb(49, 5)) for r in range(1, 6)]
    assert of_movies("rr@5") == pytest.approx(float(sum(by_rank)), rel=1e-15)
    assert of_movies("rr@5") == pytest.approx(0.2111, abs=5e-5)


@pytest.mark.parametrize(
    ("gain", "gains"), [("linear", [5, 4, 3, 2, 1]), ("exp", [31, 15, 7, 3, 1]), ("binary", [1] * 5)]
)
def test_gain_of_movies_by_hand(gain: str, gains: list[int]) -> None:
    discounts = [1 / math.log2(r + 1) for r in range(1, CUT + 1)]
    gained = sum(gains) * sum(discounts) / CANDIDATES
    best = sum(g * d for g, d in zip(gains, discounts, strict=True))
    assert of_movies(f"dcg(gain={gain})@5") == pytest.approx(gained, rel=1e-14)
    assert of_movies(f"ndcg(gain={gain})@5") == pytest.approx(gained / best, rel=1e-14)


def test_whole_list_of_three_by_hand() -> None:
    """One relevant item of three: ranks 1, 2, 3, each as likely."""
    found = expected({"q": {"a": 1, "b": 0}}, 3, "rr", "ap", "recall", "precision", "judged", "ndcg", "hit_rate@2")
    mean_reciprocal = (1 + 1 / 2 + 1 / 3) / 3
    ndcg = (1 + 1 / math.log2(3) + 1 / 2) / 3
    assert found[0].tolist() == pytest.approx([mean_reciprocal, mean_reciprocal, 1, 1 / 3, 2 / 3, ndcg, 2 / 3])


@pytest.mark.parametrize("n", [10, 1_000, 1_000_000])
def test_many_candidates_lose_no_digits(n: int) -> None:
    harmonic = math.fsum(1 / r for r in range(1, n + 1))
    gold = {"one": ["a"], "two": ["a", "b"]}
    found = expected(gold, n, "rr", "ap", "hit_rate@10")
    two = 2 * (harmonic - 1) / (n - 1)
    assert found[:, 0] == pytest.approx([harmonic / n, two], rel=1e-12)
    assert found[:, 1] == pytest.approx([harmonic / n, (harmonic + (n - harmonic) / (n - 1)) / n], rel=1e-12)
    none = Fraction((n - 10) * (n - 11), n * (n - 1))
    assert found[:, 2] == pytest.approx([10 / n, float(1 - none)], rel=1e-12)


@pytest.mark.parametrize("relevant", [1, 7, 250, 999, 1_000])
@pytest.mark.parametrize("k", [1, 10, 500, 1_000])
def test_first_of_a_thousand_by_hand(relevant: int, k: int) -> None:
    n = 1_000
    chances = [Fraction(math.comb(n - r, relevant - 1), math.comb(n, relevant)) for r in range(1, k + 1)]
    reciprocal = sum((chance / r for r, chance in enumerate(chances, 1)), Fraction(0))
    found = expected({"q": range(relevant)}, n, f"rr@{k}", f"hit_rate@{k}")[0]
    assert found.tolist() == pytest.approx([float(reciprocal), float(sum(chances))], rel=1e-13)


# ---- against all orders


@dataclass(frozen=True)
class Case:
    """One query: its judged items' grades, how many candidates are unjudged, whether the first item is the query."""

    grades: tuple[float, ...]
    unjudged: int
    itself: bool = False

    @property
    def candidates(self) -> int:
        return len(self.grades) + self.unjudged

    def items(self, query: str) -> list[str]:
        names = [f"item {n}" for n in range(self.candidates)]
        return [query, *names[1:]] if self.itself and self.grades else names

    def gold(self, query: str) -> dict[str, float]:
        return dict(zip(self.items(query), self.grades, strict=False))


def means_over_orders(cases: Sequence[Case], orders: Sequence[Any], measures: Sequence[str], **how: Any) -> Floats:
    """What the metrics themselves give for every order, averaged by case."""
    gold, rankings = {}, {}
    for n, (case, of_case) in enumerate(zip(cases, orders, strict=True)):
        for m, order in enumerate(of_case):
            query = f"case {n} order {m:05}"
            items = case.items(query)
            gold[query], rankings[query] = case.gold(query), [items[i] for i in order]
    asked = resolve_measures(measures, overrides=how["overrides"])
    judged_by = rankjury.as_gold(gold, relevant_from=how["relevant_from"])
    values = evaluate(judged_by, rankjury.as_ranking(rankings), asked).values
    bounds = np.cumsum([0, *map(len, orders)])
    return np.array([values[low:high].mean(axis=0) for low, high in pairwise(bounds)])


def spellings(*, shares: bool) -> Iterator[str]:
    """Every supported metric under every choice of its own options, cut within the list, at its end and past it."""
    numbers = {"p": ["0", "0.5", "0.8"], "times": ["0", "0.5", "1", "2", "5"]}
    for name in EXPECTATIONS:
        metric = METRICS.get(name)
        options = [o for o in metric.options if o.name in numbers or (o.choices and o.name not in ("ties", "missing"))]
        choices = [[f"{o.name}={value}" for value in numbers.get(o.name, o.choices)] for o in options]
        for chosen in product(*choices):
            if shares or "gain=share" not in chosen:
                spelled = f"{name}({','.join(chosen)})" if chosen else name
                yield spelled
                yield from [] if metric.cut == "none" else (f"{spelled}@{k}" for k in (1, 2, 4, 8))


grades = st.sampled_from([-2.0, -1.0, 0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 0.5])
cases = st.builds(Case, st.lists(grades, min_size=1, max_size=4).map(tuple), st.integers(0, 1), st.booleans())
conventions = st.fixed_dictionaries(
    {},
    optional={
        "rel": st.sampled_from([-1.0, 0.0, 1.0, 2.0]),
        "gold": st.just("k"),
        "self": st.just("drop"),
        "empty": st.just("zero"),
        "ties": st.sampled_from(["id-desc", "order", "average", "group"]),
    },
)


def hold_against_all_orders(cases: Sequence[Case], overrides: dict[str, Any], relevant_from: float | None) -> None:
    # rbp(gain=share) divides by the best grade, which is to be above 0.
    measures = [*spellings(shares=overrides.get("rel", 1) > 0)]
    if "gold" in overrides:
        measures = [measure for measure in measures if "@" in measure]
    if overrides.get("ties") in ("average", "group"):
        wanted = {"average": ("dcg", "ndcg"), "group": ("ap",)}[overrides["ties"]]
        measures = [measure for measure in measures if measure.startswith(wanted)]
    orders = [list(permutations(range(case.candidates))) for case in cases]
    means = means_over_orders(cases, orders, measures, overrides=overrides, relevant_from=relevant_from)
    queries = [f"case {n}" for n in range(len(cases))]
    gold = rankjury.as_gold({q: c.gold(q) for q, c in zip(queries, cases, strict=True)}, relevant_from=relevant_from)
    candidates = {query: case.candidates for query, case in zip(queries, cases, strict=True)}
    found = expected_scores(gold, RandomRanking(candidates), resolve_measures(measures, overrides=overrides))
    for n, label in enumerate(found):
        np.testing.assert_allclose(found.values[:, n], means[:, n], rtol=1e-12, atol=1e-12, err_msg=label)


@given(cases=st.lists(cases, min_size=1, max_size=3), overrides=conventions, relevant_from=st.sampled_from([None, 2.0]))
@example(cases=[Case((1.0,), 0, True), Case((0.0, 2.0), 0, True)], overrides={"self": "drop"}, relevant_from=None)
@settings(max_examples=20, deadline=None, derandomize=True)
def test_is_the_mean_over_all_orders(cases: list[Case], overrides: dict[str, Any], relevant_from: float | None) -> None:
    hold_against_all_orders(cases, overrides, relevant_from)


@pytest.mark.parametrize("overrides", [{}, {"rel": 2.0}, {"gold": "k"}, {"self": "drop"}], ids=str)
def test_is_the_mean_over_all_orders_of_six(overrides: dict[str, Any]) -> None:
    hold_against_all_orders([Case((3.0, 1.0, 0.0, -1.0), 2), Case((2.0, 2.0, 1.0), 3, True)], overrides, None)


# ---- against many orders


def test_is_what_many_orders_of_movies_come_to() -> None:
    draws, generator = 4_000, np.random.default_rng(7)
    measures = ["hits@5", "f1@5", "rr@5", "rr", "ap@5", "ap(over=found)@10", "ap", "ndcg(gain=exp)@5", "ndcg", "rbp"]
    movies = {f"draw {n}": [f"movie {m}" for m in range(GOLD)] for n in range(draws)}
    orders = {query: [f"movie {m}" for m in generator.permutation(CANDIDATES)] for query in movies}
    values = evaluate(rankjury.ordered_gold(movies), rankjury.as_ranking(orders), resolve_measures(measures)).values
    errors = values.std(axis=0, ddof=1) / math.sqrt(draws)
    assert (errors > 0).all()
    assert (np.abs(values.mean(axis=0) - expected(MOVIES, CANDIDATES, *measures)[0]) < 4 * errors).all()


# ---- what comes back, and what does not


def test_scores_are_described_as_those_of_a_ranking() -> None:
    gold = rankjury.as_gold({"b": {"x": 1}, "a": {"y": 2, "z": 0}})
    asked = resolve_measures(["ndcg(gain=exp)@5", "unjudged@5", "num_rel", "map"])
    by_chance = expected_scores(gold, RandomRanking(9, source="dice"), asked)
    ranked = evaluate(gold, rankjury.as_ranking({"a": ["y"], "b": ["x"]}), asked)
    assert by_chance.queries.to_list() == ranked.queries.to_list() == ["a", "b"]
    for field in ("labels", "conventions", "aggregates", "lower_is_better"):
        assert getattr(by_chance, field) == getattr(ranked, field)
    assert (by_chance.source, by_chance.values.shape, str(by_chance.values.dtype)) == ("dice", (2, 4), "float64")
    assert expected_scores(gold, RandomRanking(9), []).values.shape == (2, 0)


def test_candidates_by_query() -> None:
    gold = {"b": ["x"], "a": ["x", "y"]}
    assert expected(gold, {"a": 4, "b": 10, "c": 1}, "hits@2")[:, 0].tolist() == [0.5, 0.2]


def test_nothing_relevant() -> None:
    gold = {"a": {"x": 0}, "b": {"x": 1}}
    assert np.isnan(expected(gold, 2, "ap", "rr(empty=skip)")).tolist() == [[True, True], [False, False]]
    assert expected(gold, 2, "rr", "ap(empty=zero)", "hit_count@1").tolist() == [[0, 0, 0], [0.75, 0.75, 0.5]]
    with pytest.raises(rankjury.DataError, match=r"random, rr\(empty=error\): query 'a' has nothing relevant"):
        expected(gold, 2, "rr(empty=error)")


def test_fewer_candidates_than_judged_items() -> None:
    gold = {"a": ["x"], "b": ["x", "y", "z"], "c": ["x", "y", "z"]}
    with pytest.raises(rankjury.DataError, match=r"query 'b' has 2 candidates, but 3 judged items \(2 such queries\)"):
        expected(gold, 2, "rr")
    with pytest.raises(rankjury.DataError, match="query 'a' has 0 candidates, but 1 judged item"):
        expected(gold, {"a": 0, "b": 3, "c": 3}, "rr")


def test_a_query_without_a_number_of_candidates() -> None:
    with pytest.raises(rankjury.DataError, match=r"candidates of query 'b' is not given \(1 such query\)"):
        expected({"a": ["x"], "b": ["x"]}, {"a": 3}, "rr")


def test_an_item_judged_twice() -> None:
    gold = rankjury.as_gold(rankjury.as_gold({"q": {"x": 1, "y": 1}}).frame().with_columns(item_id="query_id"))
    asked = resolve_measures(["hits@1"])
    with pytest.raises(rankjury.DataError, match="duplicate item"):
        expected_scores(gold, RandomRanking(4), asked)
    assert expected_scores(gold, RandomRanking(4), asked, duplicates="first").values.tolist() == [[0.25]]


def test_measures_without_a_closed_form() -> None:
    assert all(has_expectation(Measure(name, 5 if METRICS.get(name).cut != "none" else None)) for name in EXPECTATIONS)
    assert all(has_expectation(one.measure) for one in resolve_measures(DEFAULT_MEASURES))
    without = {metric.name for metric in METRICS} - set(EXPECTATIONS)
    assert {"err", "rbo", "gm_ap"} <= without
    assert not any(has_expectation(Measure(name)) for name in without)
    with pytest.raises(rankjury.UsageError, match="no closed form for err@5 under a random order") as raised:
        of_movies("err@5")
    assert all(name in str(raised.value.hint) for name in EXPECTATIONS)


def test_a_gold_that_is_cut_with_its_ties() -> None:
    """Two of four candidates tie for the first place: either counts, the third does not."""
    gold = rankjury.as_gold({"q": {"a": 2, "b": 2, "c": 1}})
    asked = resolve_measures(["recall(over=k,gold=tied)@1", "recall(over=k,gold=k)@1"])
    assert expected_scores(gold, RandomRanking(4), asked).values.tolist() == [[0.5, 0.25]]
