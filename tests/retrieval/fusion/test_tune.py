"""Tuning: the settings tried, cross-validation against plain loops, planted cases, noise, and what cannot be tuned."""

import json
import os
import random
from collections.abc import Sequence
from hashlib import blake2b
from math import fsum, isnan, nan
from typing import Any

import pytest

import rankjury
from rankjury.core.progress import Progress
from rankjury.errors import UnknownName, UsageError
from rankjury.evaluation.evaluate import resolve_measures
from rankjury.retrieval.fusion.fusion import METHODS, Fusion
from rankjury.retrieval.fusion.tune import CONSTANTS, TUNING_SCHEMA, Tuning, settings_of, tune
from rankjury.stats.resampling import Resampling
from tests.measures.metrics import naive
from tests.retrieval.fusion.naive_fusion import Run, fused

Grades = dict[str, dict[str, float]]


def tuned(gold: Grades, runs: Sequence[Run], measure: str = "ap", *, seed: int = 0, **options: Any) -> Tuning:
    """Quick: one constant and few resamples, unless asked otherwise."""
    rankings = {f"s{number}": rankjury.as_ranking(run) for number, run in enumerate(runs)}
    chosen: dict[str, Any] = {"constants": (60,), "resampling": Resampling(200, seed=seed)} | options
    return tune(rankjury.as_gold(gold), rankings, resolve_measures([measure])[0], **chosen)


def made(
    seed: int, queries: int = 24, *, good: Sequence[float] = (0.0, 0.0), items: int = 8
) -> tuple[Grades, list[Run]]:
    """Random grades of 0 to 2, and a run for each of ``good``: noise + so much of the grade."""
    draw = random.Random(seed)
    gold: Grades = {
        f"q{query:02}": {f"d{item}": float(draw.choice((0, 0, 0, 1, 2))) for item in range(items)} | {"d0": 1.0}
        for query in range(queries)
    }
    runs = [
        {
            query: {item: draw.random() + share * grade for item, grade in grades.items()}
            for query, grades in gold.items()
        }
        for share in good
    ]
    return gold, runs


# --- the settings -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["rrf", "combsum", "borda"])
@pytest.mark.parametrize("systems", range(2, 9))
def test_settings(systems: int, method: str) -> None:
    settings = settings_of(systems, method)
    assert settings[0] == ((1 / systems,) * systems, CONSTANTS[0])
    assert len(set(settings)) == len(settings) <= 1_000
    assert {c for _, c in settings} == (set(CONSTANTS) if METHODS.get(method).has_c else {CONSTANTS[0]})
    for weights, _ in settings:
        assert len(weights) == systems and min(weights) >= 0 and fsum(weights) == pytest.approx(1, abs=1e-12)
    tried = {weights for weights, _ in settings}
    assert all(tuple(float(one == other) for other in range(systems)) in tried for one in range(systems)), "each alone"
    assert {tuple(reversed(weights)) for weights in tried} == tried, "no system is favoured"
    apart = [fsum(abs(weight - 1 / systems) for weight in weights) for weights, _ in settings]
    assert apart == pytest.approx(sorted(apart)), "the nearer to equal weights, the sooner"


def test_the_settings_of_two_systems() -> None:
    """Steps of a twentieth; 0.5 is among them, so that equal weights are not tried twice."""
    settings = settings_of(2, constants=(10, 60, 10))
    assert settings[:6] == [
        ((0.5, 0.5), 10), ((0.5, 0.5), 60), ((0.45, 0.55), 10), ((0.55, 0.45), 10), ((0.45, 0.55), 60),
        ((0.55, 0.45), 60),
    ]  # fmt: skip
    assert sorted({weights[0] for weights, _ in settings}) == pytest.approx([step / 20 for step in range(21)])
    assert len(settings) == 2 * 21


@pytest.mark.parametrize(("systems", "constants"), [(3, 15), (4, 3), (2, 47), (2, 333), (8, 100)])
def test_many_constants_make_no_more_settings(systems: int, constants: int) -> None:
    settings = settings_of(systems, constants=range(1, constants + 1))
    assert len(settings) <= 1_000
    assert {c for _, c in settings} == set(range(1, constants + 1))


def test_constants_that_cannot_be_tried() -> None:
    for constants, why in (((), "no value of c"), (range(334), "334 values of c")):
        with pytest.raises(UsageError, match=why):
            settings_of(2, constants=constants)
    assert settings_of(2, "combsum", ())[0] == ((0.5, 0.5), CONSTANTS[0]), "a method that has none needs none"


# --- cross-validation once more, with plain loops -----------------------------------------------------------------


def key_of(query: str, seed: int) -> int:
    digest = blake2b(query.encode(), digest_size=8, salt=seed.to_bytes(16, "little", signed=True)).digest()
    return int.from_bytes(digest, "little")


def mean_of(values: Sequence[float]) -> float:
    defined = [value for value in values if not isnan(value)]
    return fsum(defined) / len(defined) if defined else 0.0


SCORED = {
    "ap": lambda gold, items: naive.ap(gold, items, None),
    "ndcg@3": lambda gold, items: naive.ndcg(gold, items, 3),
    "unjudged@2": lambda gold, items: sum(item not in gold for item in items[:2]) / 2,
}


def slowly(
    gold: Grades, runs: Sequence[Run], measure: str, folds: int, seed: int, constants: Sequence[float]
) -> tuple[Fusion, list[Fusion], dict[str, float]]:
    """The best setting on all queries, on all folds but one, and what each query gets from the latter."""
    grid = [((step / 20, 1 - step / 20), c) for step in range(21) for c in constants]
    grid.sort(key=lambda one: (round(abs(one[0][0] - 0.5), 9), constants.index(one[1]), one[0][0]))
    settings = [Fusion("rrf", (round(one, 2), round(other, 2)), c) for (one, other), c in grid]
    scores: dict[Fusion, dict[str, float]] = {}
    for setting in settings:
        lists = fused(runs, setting)
        scores[setting] = {}
        for query, grades in gold.items():
            items = [item for item, _ in lists.get(query, [])]
            empty = measure != "unjudged@2" and not any(grade > 0 for grade in grades.values())
            scores[setting][query] = nan if empty else SCORED[measure](grades, items)
    sign = -1 if measure == "unjudged@2" else 1

    def best(queries: Sequence[str]) -> Fusion:
        means = [round(sign * mean_of([scores[setting][query] for query in queries]), 12) for setting in settings]
        return settings[means.index(max(means))]

    dealt = sorted(gold, key=lambda query: key_of(query, seed))
    parts = [dealt[number::folds] for number in range(folds)]
    chosen = [best([query for query in dealt if query not in part]) for part in parts]
    held_out = {query: scores[one][query] for one, part in zip(chosen, parts, strict=True) for query in part}
    return best(dealt), chosen, held_out


@pytest.mark.parametrize("measure", ["ap", "ndcg@3", "unjudged@2"])
@pytest.mark.parametrize(("folds", "seed", "queries"), [(5, 0, 12), (2, 7, 9), (11, -3, 11)])
def test_against_plain_loops(measure: str, folds: int, seed: int, queries: int) -> None:
    """With a query that has nothing relevant, one that no run has, and items that are in one run or unjudged."""
    gold, runs = made(folds + 100 * queries, queries, good=(0.1, 0.2))
    gold["q01"] = dict.fromkeys(gold["q01"], 0.0)
    draw = random.Random(seed)
    for run in runs:
        del run["q02"]
        for query in list(run):
            run[query] = dict(draw.sample(sorted(run[query].items()), 5)) | {f"x{draw.randrange(4)}": draw.random()}
    found = tuned(gold, runs, measure, folds=folds, seed=seed, constants=(60.0, 5.0))
    best, chosen, held_out = slowly(gold, runs, measure, folds, seed, (60.0, 5.0))
    assert [shown(one) for one in (found.best, *found.chosen)] == [shown(one) for one in (best, *chosen)]
    defined = [value for value in held_out.values() if not isnan(value)]
    assert found.held_out.mean == pytest.approx(mean_of(defined), abs=1e-12)
    assert (found.held_out.n, found.held_out.undefined) == (len(defined), len(gold) - len(defined))
    assert (found.tried, len(found.chosen), found.equal) == (42, folds, Fusion("rrf", (0.5, 0.5)))
    assert found.comparison.difference == pytest.approx(found.held_out.mean - found.with_equal.mean, abs=1e-12)


def shown(fusion: Fusion) -> tuple[float, ...]:
    return (*(round(weight, 9) for weight in fusion.weights_of(2)), fusion.c)


# --- planted ------------------------------------------------------------------------------------------------------


def test_a_good_system_is_told_from_noise() -> None:
    found = tuned(*made(1, 60, good=(2.0, 0.0)))
    assert found.best.weights is not None and found.best.weights[0] > 0.7
    assert found.better and found.verdict == "tuned weights are better than equal weights on held-out queries"
    assert found.with_equal.mean < found.held_out.mean <= found.in_sample.mean
    assert found.alone["s0"].mean > found.with_equal.mean > found.alone["s1"].mean
    of_three = tuned(*made(2, 40, good=(0.0, 0.0, 2.0)))
    assert of_three.best.weights is not None and of_three.best.weights[2] > 0.5 and of_three.better


def test_less_is_better() -> None:
    """At rank 1, s0 has a judged item and s1 one that is not: less of s1 is better, and so is a lower score."""
    gold = {f"q{query:02}": {"z": 1.0} for query in range(20)}
    runs = [{query: {"z": 2.0, "y": 1.0} for query in gold}, {query: {"a": 2.0, "b": 1.0} for query in gold}]
    found = tuned(gold, runs, "unjudged@1")
    assert found.best.weights == (0.55, 0.45) and found.in_sample.mean == found.held_out.mean == 0
    assert found.with_equal.mean == 1, "a and z have the same score, and a is first by its id"
    assert found.comparison.difference == -1 and found.comparison.gain == 1 and found.better


def test_weights_that_do_not_hold_are_said_to_be_worse() -> None:
    """Of 20 queries s0 is right (r, x, y against x, y, r), of 20 s1. From 0.7 on, one side's r is first and the
    other's third; in between both are second. Whoever is left out, the others' majority is against it."""
    right, wrong = {"r": 3.0, "x": 2.0, "y": 1.0}, {"x": 3.0, "y": 2.0, "r": 1.0}
    gold = {f"q{query:02}": {"r": 1.0} for query in range(40)}
    runs: list[Run] = [
        {query: right if (number + side) % 2 else wrong for number, query in enumerate(gold)} for side in (0, 1)
    ]
    found = tuned(gold, runs, "rr", folds=40)
    assert found.in_sample.mean == pytest.approx((1 + 1 / 3) / 2)
    assert found.held_out.mean == pytest.approx(1 / 3)
    assert found.with_equal.mean == pytest.approx(1 / 2)
    assert found.best.weights == (0.3, 0.7)
    assert {one.weights for one in found.chosen} == {(0.3, 0.7), (0.7, 0.3)}
    assert not found.better and "worse than equal weights" in found.verdict


def test_equal_rankings_leave_equal_weights() -> None:
    gold, (run, _) = made(3, 20)
    found = tuned(gold, [run, run, run], constants=CONSTANTS)
    assert found.best == found.equal == Fusion("rrf", (1 / 3,) * 3) and set(found.chosen) == {found.equal}
    assert found.in_sample == found.held_out == found.with_equal == found.alone["s0"]
    assert found.comparison.difference == 0 and not found.better
    assert found.verdict == "tuned weights are not shown to be better than equal weights: keep equal weights"


@pytest.fixture(scope="module")
def noise() -> list[Tuning]:
    """Half of 60 cases, unless all are wanted: RANKJURY_THOROUGH=1 pytest …"""
    return [tuned(*made(seed, 20), seed=seed) for seed in range(60 if os.environ.get("RANKJURY_THOROUGH") else 30)]


def test_noise_is_seldom_called_better(noise: list[Tuning]) -> None:
    """Two-sided at 5 %: at most half of the false alarms are for better; 8 % leaves room for chance and for folds."""
    assert sum(found.better for found in noise) <= 0.08 * len(noise)


def test_the_queries_chosen_on_flatter(noise: list[Tuning]) -> None:
    for found in noise:
        assert found.in_sample.mean >= found.with_equal.mean - 1e-12, "equal weights are among the settings"
    flattery = [found.in_sample.mean - found.held_out.mean for found in noise]
    assert fsum(flattery) / len(flattery) > 0.01
    gains = [found.comparison.difference for found in noise]
    assert fsum(gains) / len(gains) < 0.01, "nothing is to be gained from noise"


def test_the_best_is_the_best_as_the_measure_is_averaged() -> None:
    """gm_ap is averaged by the geometric mean."""
    for seed in range(8):
        found = tuned(*made(seed, 12), "gm_ap")
        assert found.in_sample.mean >= found.with_equal.mean - 1e-12, seed


# --- same digits, whatever the order ------------------------------------------------------------------------------


def mixed(content: dict[str, dict[str, float]], seed: int) -> dict[str, dict[str, float]]:
    draw = random.Random(seed)
    queries = draw.sample(list(content), len(content))
    return {query: dict(draw.sample(list(content[query].items()), len(content[query]))) for query in queries}


def test_the_order_of_rows_and_queries_changes_no_digit() -> None:
    gold, runs = made(4, 15, good=(0.3, 0.3))
    first = json.dumps(tuned(gold, runs).to_json())
    for seed in range(3):
        assert json.dumps(tuned(mixed(gold, seed), [mixed(run, seed + 9) for run in runs]).to_json()) == first


def test_the_seed_deals_the_folds_and_nothing_else() -> None:
    gold, runs = made(5, 20)
    found = [tuned(gold, runs, seed=seed) for seed in range(6)]
    assert len({(one.best, one.in_sample.mean, one.with_equal.mean) for one in found}) == 1
    assert len({(one.chosen, one.held_out.mean) for one in found}) > 1
    assert found[0].to_json() == tuned(gold, runs, seed=0).to_json()


# --- what is given back, and what is refused ----------------------------------------------------------------------


def test_json_and_progress() -> None:
    steps: list[tuple[int, int]] = []
    gold, runs = made(6, 10)
    found = tuned(gold, runs, method="combsum", progress=Progress(lambda what, done, of: steps.append((done, of))))
    form = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert (form["schema"], form["method"], form["tried"], form["folds"]) == (TUNING_SCHEMA, "combsum", 21, 5)
    assert "c" not in form["best"] and set(form["best"]["weights"]) == {"s0", "s1"}
    assert [form[key]["mean"] for key in ("in_sample", "held_out")] == [found.in_sample.mean, found.held_out.mean]
    assert form["better_than_equal"] is found.better and form["verdict"] == found.verdict
    assert steps == [(done, 21) for done in range(21)]


@pytest.mark.parametrize(("folds", "queries"), [(1, 10), (0, 10), (-2, 10), (11, 10), (2, 3), (2, 1)])
def test_folds_that_cannot_be(folds: int, queries: int) -> None:
    with pytest.raises(UsageError, match=rf"{folds} folds? of {queries} quer"):
        tuned(*made(7, queries), folds=folds)
    assert len(tuned(*made(7, 3), folds=3).chosen) == 3, "as many as queries can be"


def test_one_ranking_is_not_tuned() -> None:
    with pytest.raises(UsageError, match="two or more to fuse"):
        tuned(*made(9, good=(0.0,)))


@pytest.mark.parametrize("options", [{"method": "rff"}, {"method": "combsum", "normalise": "minmax"}])
def test_a_misspelt_way_of_fusing(options: dict[str, Any]) -> None:
    with pytest.raises(UnknownName, match="Did you mean"):
        tuned(*made(10, 6), **options)
