"""Comparisons: direction, corrections, levels and their form as JSON."""

from dataclasses import dataclass, replace

import pytest

from rankjury.stats.comparison import Comparison, correct_p_values
from rankjury.stats.significance import benjamini_hochberg, holm, queries_needed
from tests.stats.pairs_of_systems import realistic
from tests.stats.support import QUICK, compare, paired


def test_lower_is_better_turns_gain_and_counts() -> None:
    pair = paired([0.5, 0.5, 0.25, 0.75], [0.25, 0.25, 0.5, 0.75])
    more, less = compare(pair), compare(replace(pair, lower_is_better=True))
    assert (more.better, more.equal, more.worse, more.gain) == (2, 1, 1, 0.0625)
    assert (less.better, less.equal, less.worse, less.gain) == (1, 1, 2, -0.0625)
    assert (less.difference, less.ci, less.p, less.effect) == (more.difference, more.ci, more.p, more.effect)


def made(p: float | None) -> Comparison:
    return replace(compare(paired([0.5, 0.25], [0.25, 0.25])), p=p)


def test_all_comparisons_are_corrected_together() -> None:
    given_p: list[float | None] = [0.01, None, 0.04, 0.03, 0.005]
    found = correct_p_values(made(p) for p in given_p)
    assert [one.p for one in found] == given_p
    assert [one.p_holm for one in found] == holm(given_p) == pytest.approx([0.03, None, 0.06, 0.06, 0.02])
    assert [one.p_bh for one in found] == benjamini_hochberg(given_p)


@dataclass(frozen=True)
class Asked:
    """Anything with a p-value can be corrected."""

    p: float | None
    p_holm: float | None = None
    p_bh: float | None = None

    @property
    def tested(self) -> bool:
        return self.p is not None


def test_other_tests_are_corrected_alike() -> None:
    assert correct_p_values([Asked(0.02), Asked(None), Asked(0.5)]) == [
        Asked(0.02, 0.04, 0.04),
        Asked(None),
        Asked(0.5, 0.5, 0.5),
    ]


def test_where_no_query_differs_nothing_is_corrected_for() -> None:
    """Slices in which no query differs made the p-values of the others larger: 41 of 75 were such."""
    alone = correct_p_values([made(0.01), made(0.04)])
    same = compare(paired([0.5, 0.25], [0.5, 0.25]))
    found = correct_p_values([made(0.01), same, made(0.04), same])
    assert [one.p_holm for one in found] == [alone[0].p_holm, 1.0, alone[1].p_holm, 1.0]
    assert [one.p_bh for one in found] == [alone[0].p_bh, 1.0, alone[1].p_bh, 1.0]


def test_a_difference_of_a_description_is_not_tested() -> None:
    """The share of judged results counted among the tests, which made the p-values of quality larger."""
    pair = realistic(40)
    quality, description = compare(pair), compare(replace(pair, descriptive=True))
    assert (description.difference, description.ci) == (quality.difference, quality.ci)
    assert {description.p, description.p_t, description.p_wilcoxon, description.resamples} == {None}
    assert correct_p_values([quality, description]) == [correct_p_values([quality])[0], description]


def test_the_smallest_p_value_that_resamples_can_give() -> None:
    found = compare(paired([1.0] * 40, [0.0] * 40))
    assert found.at_floor and found.p == 1 / (QUICK.resamples + 1)
    assert not compare(realistic(40)).at_floor
    assert not compare(paired([1.0] * 5, [0.0] * 5)).at_floor, "all signs are looked at"


def test_queries_needed_for_another_difference() -> None:
    found = compare(realistic(80))
    assert found.std is not None
    assert found.needed_for(0.01, 0.99) == queries_needed(found.std, 0.01, level=0.99)
    assert found.needed_for(found.difference, 0.95) == found.needed
    assert found.needed_for(0.0, 0.95) is None
    assert compare(paired([0.5], [0.25])).needed_for(0.1, 0.95) is None


def test_a_difference_is_shown_by_the_p_value_corrected() -> None:
    once, thrice = correct_p_values([made(0.02)]), correct_p_values([made(0.02), made(0.3), made(0.6)])
    assert once[0].is_significant(0.95) and not once[0].is_significant(0.99)
    assert not thrice[0].is_significant(0.95)
    assert not correct_p_values([made(None)])[0].is_significant(0.5)
    assert not made(0.001).is_significant(0.95), "not yet corrected"


@pytest.mark.parametrize(("level", "p"), [(0.8, 0.2), (0.9, 0.1), (0.95, 0.05), (0.99, 0.01), (0.999, 0.001)])
def test_a_p_value_at_the_limit_is_shown(level: float, p: float) -> None:
    """(1 + 99) / (1 + 999) is 0.1, and 1 − 0.9 is less than that in floats."""
    (found,) = correct_p_values([made(p)])
    assert found.is_significant(level)


def test_the_level_asked_for_is_used_throughout() -> None:
    pair = realistic(80, gain=0.03)
    usual, strict = compare(pair, QUICK), compare(pair, replace(QUICK, level=0.99))
    assert usual.ci is not None and strict.ci is not None
    assert strict.ci[0] < usual.ci[0] < usual.ci[1] < strict.ci[1]
    assert (strict.detectable or 0) > (usual.detectable or 1)
    assert (strict.needed or 0) > (usual.needed or 1)
    assert (strict.p, strict.p_t, strict.effect) == (usual.p, usual.p_t, usual.effect)


def test_json_has_every_figure() -> None:
    pair = realistic(40)
    (found,) = correct_p_values([compare(pair)])
    assert found.to_json() == {
        "system": "ours",
        "baseline": "theirs",
        "measure": "m",
        "n": found.n,
        "left_out": found.left_out,
        "mean": found.mean,
        "baseline_mean": found.baseline_mean,
        "difference": found.mean - found.baseline_mean,
        "ci": list(found.ci or ()),
        "p": found.p,
        "p_method": "monte carlo",
        "p_resamples": QUICK.resamples,
        "p_holm": found.p,
        "p_bh": found.p,
        "p_t": found.p_t,
        "p_wilcoxon": found.p_wilcoxon,
        "std": found.std,
        "effect_size": found.effect,
        "better": found.better,
        "equal": found.equal,
        "worse": found.worse,
        "detectable": found.detectable,
        "queries_needed": found.needed,
    }
    assert compare(paired([0.5, 0.25], [0.25, 0.5])).to_json()["p_method"] == "exact"
