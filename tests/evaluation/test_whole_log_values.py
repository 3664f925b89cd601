"""Figures over all users, compared: contributions are no users' own values, and are not treated as such."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rankjury
from rankjury.core.types import Background
from rankjury.evaluation.drift import drift_between
from rankjury.evaluation.sections import measure_stability
from rankjury.plan.parse import read_plan
from rankjury.plan.run import execute_plan
from rankjury.stats.comparison import Comparison, align_contributions
from tests import paths

USERS, ITEMS, K = 60, 500, 5
FIGURES = ("coverage@5", "exposure_entropy@5", "exposure_gini@5", "personalisation@5")
IDS = pl.Series([f"i{number:03}" for number in range(ITEMS)])
NAMES = [f"u{number:02}" for number in range(USERS)]
BACKGROUND = Background(
    IDS,
    np.arange(ITEMS)[::-1].astype(np.int64),
    USERS,
    pl.Series(NAMES),
    np.zeros(USERS + 1, dtype=np.int64),
    np.empty(0, dtype=np.int64),
)
SAME = {user: IDS[:K].to_list() for user in NAMES}
GOLD = {user: {IDS[0]: 1} for user in NAMES}


def others(n: int) -> dict[str, list[str]]:
    """Some users get lists of their own."""
    own = {user: IDS[100 + K * place : 100 + K * (place + 1)].to_list() for place, user in enumerate(NAMES[:n])}
    return SAME | own


def compared(lists: dict[str, list[str]], *measures: str) -> dict[str, Comparison]:
    report = rankjury.compare(GOLD, {"same": SAME, "other": lists}, list(measures), background=BACKGROUND)
    return {one.measure: one for one in report.comparisons}


@pytest.mark.parametrize("n", [2, 3])
def test_lists_that_are_alike_are_no_evidence(n: int) -> None:
    for label, one in compared(others(n), *FIGURES).items():
        assert one.p == one.p_t is not None and one.p > 0.05, label
        form = one.to_json()
        assert form["p_method"] == "jackknife"
        assert [form[key] for key in ("p_wilcoxon", "better", "equal", "worse")] == [None] * 4


def test_many_lists_that_differ_are() -> None:
    found = compared(others(50), *FIGURES)
    assert all(one.p is not None and one.p < 0.01 for one in found.values())
    assert all(one.ci is not None and 0 not in one.ci for one in found.values())


def test_nothing_differs() -> None:
    for label, one in compared(dict(SAME), *FIGURES).items():
        assert (one.difference, one.p) == (0.0, 1.0), label


def test_who_has_no_list_does_not_move_the_figure() -> None:
    """Under missing=skip both figures stay what they are, though they are over different users."""
    labels = [label.replace("@", "(missing=skip)@") for label in FIGURES]
    first = {user: shown for user, shown in others(50).items() if user not in NAMES[5:15]}
    second = {user: shown for user, shown in others(30).items() if user not in NAMES[40:45]}
    report = rankjury.compare(GOLD, {"first": first, "second": second}, labels, background=BACKGROUND)
    for one in report.comparisons:
        figures = [report.estimates[name][one.measure].mean for name in ("second", "first")]
        assert [one.mean, one.baseline_mean] == pytest.approx(figures, abs=1e-12), one.measure
        assert one.n == USERS


def test_the_error_of_a_difference_is_the_jackknife_s() -> None:
    """Of figures over other users: each side's own error where no user is in both."""
    rng = np.random.default_rng(1)
    values, theirs = rng.random(40), rng.random(40)
    values[20:], theirs[:20] = np.nan, np.nan
    ours, other = align_contributions(values, theirs)
    assert (ours.mean(), other.mean()) == pytest.approx((np.nanmean(values), np.nanmean(theirs)))
    error = (ours - other).std(ddof=1) / np.sqrt(40)
    apart = np.sqrt(values[:20].var(ddof=1) / 20 + theirs[20:].var(ddof=1) / 20)
    assert error == pytest.approx(apart, rel=0.03)


def test_a_figure_without_contributions_is_still_compared() -> None:
    """Of two lists there is a figure, but nobody knows how far to trust it, nor the difference to another."""
    two = {NAMES[0]: IDS[:K].to_list(), NAMES[1]: IDS[2 : K + 2].to_list()}
    report = rankjury.compare(GOLD, {"two": two, "other": others(50)}, list(FIGURES), background=BACKGROUND)
    (one,) = [one for one in report.comparisons if one.measure == "personalisation@5"]
    figures = [report.estimates[name]["personalisation@5"].mean for name in ("two", "other")]
    assert figures[0] == pytest.approx(0.4) and one.difference == pytest.approx(figures[1] - figures[0])
    assert (one.ci, one.p, one.p_t) == (None, None, None)
    assert not any("one query" in warning for warning in report.warning_lines)


def test_reports_over_other_users_are_compared_by_their_errors() -> None:
    """A mean of contributions over those whom both have is a figure of nothing."""
    reports = []
    for users in (NAMES[:40], NAMES[20:]):
        lists = {user: others(50)[user] for user in users}
        gold = {user: GOLD[user] for user in users}
        systems = {"m": lists, "same": {user: SAME[user] for user in users}}
        reports.append(rankjury.compare(gold, systems, ["coverage@5"], background=BACKGROUND))
    old, new = reports
    (verdict,) = [
        one for one in rankjury.gate(new, "coverage@5 drop <= 0.5", baseline=old).verdicts if one.system == "m"
    ]
    difference = new.estimates["m"]["coverage@5"].mean - old.estimates["m"]["coverage@5"].mean
    assert verdict.value == pytest.approx(difference) and "not paired" in verdict.note


def saved(lists: dict[str, list[str]], source: str) -> rankjury.Report:
    """A report read back; the system ``m`` has a stability."""
    gold, same = ({user: of[user] for user in lists} for of in (GOLD, SAME))
    report = rankjury.compare(gold, {"m": lists, "same": same}, list(FIGURES), background=BACKGROUND)  # type: ignore[dict-item]
    form = report.to_json(queries=True)
    scores = np.tile([0.9, 0.8, 0.7], (len(lists), 1))
    form["systems"]["m"]["stability"] = measure_stability(pl.Series(list(lists)), scores, np.ones(3), k=3).to_json()
    return rankjury.Report.from_json(form, source)


@pytest.mark.parametrize("n", [3, 50])
def test_drift_of_values_over_all_users_is_what_compare_says(n: int) -> None:
    """Drift flipped the signs of contributions as if these were scores of users: 3 other lists were significant."""
    expected = compared(others(n), *FIGURES)
    drift = drift_between(saved(SAME, "old.json"), saved(others(n), "new.json"))
    assert [one.comparison.measure for one in drift.quality] == list(FIGURES)
    for found in (one.comparison for one in drift.quality):
        one = expected[found.measure]
        assert found.whole and found.to_json()["p_method"] == "jackknife"
        assert (found.difference, found.ci, found.p) == (one.difference, one.ci, one.p), found.measure


def test_drift_does_not_compare_values_over_other_users() -> None:
    """A mean of contributions over the users in common is a coverage of neither report."""
    some = {user: SAME[user] for user in NAMES[:40]}
    drift = drift_between(saved(SAME, "old.json"), saved(some, "new.json"))
    assert drift.quality == ()
    assert any(all(label in note for label in FIGURES) for note in drift.notes)


@pytest.mark.parametrize("measures", ['["coverage@10"]', '["coverage@10", "personalisation@10"]', '["novelty@10"]'])
@pytest.mark.parametrize("baseline", ["", 'baseline = "popularity"\n'])
def test_a_plan_of_such_figures_alone(
    tmp_path: Path, measures: str, baseline: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from matplotlib.axes import Axes

    from rankjury.reporting.charts.matplotlib import to_figure, to_picture
    from rankjury.reporting.charts.measures import recommenders_grid
    from rankjury.reporting.console import print_report

    sample = paths.SAMPLES / "movielens"
    (tmp_path / "plan.toml").write_text(
        f"measures = {measures}\n{baseline}statistics.resamples = 100\n"
        f'gold = {{ kind = "interactions", path = "{sample / "ratings.csv"}", items = "{sample / "movies.csv"}" }}\n'
        'systems.popularity = { kind = "recommender", model = "popularity" }\n'
        'systems.random = { kind = "recommender", model = "random" }\n'
    )
    report = execute_plan(read_plan(tmp_path / "plan.toml")).report
    print_report(report)
    titles = [axes.get_title(loc="left") for axes in to_figure(recommenders_grid(report)).findobj(Axes)]
    assert any("by tier" in title for title in titles) == bool(report.slices)
    assert to_picture(recommenders_grid(report), dpi=40).startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert ("by tier" in printed) == ("novelty" in measures) == bool(report.slices)
    assert "held-out items of the tier" not in printed
    assert not any("not better than a random order" in one for one in report.warning_lines)
