"""Drift between reports: the ±5 % rule, the paired statistics beside it, rank churn, and what changed."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import bootstrap, ttest_rel

import rankjury
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.evaluation.drift import (
    Churn,
    Drift,
    churn_between,
    drift_between,
    overlap_share,
    rank_biased_overlap,
    systems_in_both,
)
from rankjury.evaluation.gate import check_targets
from rankjury.evaluation.report import Report
from rankjury.evaluation.targets import parse_target
from tests.evaluation.drifting import INDEX, META, PRINTS, QUERIES, K, entry, form_of, report, scores_of, stability


def between(new: Report, old: Report | None = None, **options: Any) -> Drift:
    return drift_between(old or report("old.json"), new, **options)


def shifted(by: float | Any, **options: Any) -> Report:
    return report(hnsw=entry(stability(scores_of() + by, **options)))


def moved(drift: Drift, figure: str) -> Any:
    return next(one for one in drift.moved if one.figure == figure)


class TestRule:
    def test_nothing_moves_between_a_report_and_itself(self) -> None:
        drift = between(report())
        assert [one.change for one in drift.moved] == [0.0] * 6
        assert (drift.outcome, drift.exit_code(strict=True)) == ("pass", 0)
        assert [one.standing for one in (*drift.tested, *drift.quality)] == ["same"] * 3

    def test_figures_and_their_change(self) -> None:
        drift = between(shifted(0.1))
        one = moved(drift, "top1 mean")
        mean = scores_of()[:, 0].mean()
        assert (one.old, one.new) == (pytest.approx(mean), pytest.approx(mean + 0.1))
        assert one.change == pytest.approx(0.1 / mean)
        assert one.within is False and moved(drift, "top1 std").within is True
        assert [each.figure for each in drift.moved] == [
            "top1 mean", "top1 std", f"top{K} mean", f"top{K} std", "norm mean", "norm std",
        ]  # fmt: skip
        assert drift.worst is not None and drift.worst.figure == f"top{K} mean"
        assert (drift.outcome, drift.exit_code()) == ("fail", 4)
        assert (drift.passed, drift.failed, drift.unsure) == (False, True, False)
        with pytest.raises(UsageError, match="ambiguous"):
            bool(drift)  # "if drift" reads as "it drifted", and was true whatever came of it

    @pytest.mark.parametrize(("factor", "within"), [(1.05, True), (0.95, True), (1.0501, False), (0.9499, False)])
    def test_the_border_is_allowed(self, factor: float, within: bool) -> None:
        drift = between(report(hnsw=entry(stability(norms=[2 * factor] * 3))), shifted(0, norms=[2.0] * 3))
        assert moved(drift, "norm mean").within is within

    def test_the_spread_of_lengths_is_judged_by_their_mean(self) -> None:
        """Of normalised vectors it is rounding: twice as much of it means nothing."""
        old = report("old.json", hnsw=entry(stability(norms=[1 - 1e-8, 1.0, 1 + 1e-8])))
        one = moved(between(shifted(0, norms=[1 - 9e-8, 1.0, 1 + 9e-8]), old), "norm std")
        assert one.new / one.old == pytest.approx(9)
        assert (one.relative_to, one.within) == ("mean", True)
        assert moved(between(shifted(0, norms=[0.9, 1.0, 1.1]), old), "norm std").within is False

    def test_a_spread_that_was_zero_is_judged_by_its_mean_too(self) -> None:
        alike = report("old.json", hnsw=entry(stability(np.full((QUERIES, K), 0.8))))
        one = moved(between(report(), alike), "top1 std")
        assert one.relative_to == "mean" and one.change == pytest.approx(one.new / 0.8)

    def test_from_zero_is_beyond_any_share(self) -> None:
        old = report("old.json", hnsw=entry(stability(norms=[0.0, 0.0])))
        drift = between(report(), old)
        one = moved(drift, "norm mean")
        assert (one.change, one.within) == (float("inf"), False)
        assert drift.outcome == "fail" and one.to_json()["change"] is None
        values = drift.figures()
        assert values["drift"] == values["drift_norm"] > 1e300 and values["drift_top1"] == 0.0
        saved = report(hnsw=entry(stability(), figures=values))
        assert check_targets([parse_target("drift <= 5 %")], saved).outcome == "fail"

    def test_what_has_no_spread_is_not_judged(self) -> None:
        both = [report(name, hnsw=entry(stability(scores_of(n=1)))) for name in ("new.json", "old.json")]
        drift = between(*both)
        one = moved(drift, "top1 std")
        assert one.within is None and one.to_json()["within"] is None
        assert (drift.outcome, drift.exit_code(), drift.exit_code(strict=True)) == ("unsure", 0, 5)

    def test_distances_below_zero(self) -> None:
        """A distance that grows from 1 to 1.1 is a similarity that falls by a tenth."""
        old = report("old.json", hnsw=entry(stability(np.full((QUERIES, K), -1.0))))
        new = report(hnsw=entry(stability(np.full((QUERIES, K), -1.1))))
        assert moved(between(new, old), "top1 mean").change == pytest.approx(-0.1)

    def test_another_share(self) -> None:
        drift = between(shifted(0.1), allowed=0.5)
        assert drift.outcome == "pass"
        with pytest.raises(UsageError, match="a change of -1 is allowed"):
            between(report(), allowed=-1)

    def test_targets_on_it(self) -> None:
        drift = between(shifted(0.1))
        assert drift.worst is not None
        assert drift.figures()["drift"] == abs(drift.worst.change)
        assert {"drift", "drift_top1", f"drift_top{K}", "drift_norm"} <= set(drift.figures())
        saved = report(hnsw=entry(stability(), figures=drift.figures()))
        for text, outcome in (("drift <= 5 %", "fail"), ("drift <= 90 %", "pass"), ("drift_norm <= 5 %", "pass")):
            assert check_targets([parse_target(text)], saved).outcome == outcome


class TestPairs:
    def test_a_constant_shift_is_small_but_real(self) -> None:
        """What the rule lets pass, the statistics show: both are said."""
        drift = between(shifted(0.008))
        assert drift.outcome == "pass"
        one = drift.tested[0]
        assert (one.standing, one.comparison.difference) == ("real", pytest.approx(0.008))
        assert one.comparison.relative == pytest.approx(0.008 / scores_of()[:, 0].mean())

    def test_noise(self) -> None:
        drift = between(shifted(np.random.default_rng(3).normal(0, 0.02, size=(QUERIES, 1))))
        assert drift.tested[0].standing == "noise"

    def test_against_scipy(self) -> None:
        apart = np.random.default_rng(4).normal(0.01, 0.02, size=(QUERIES, 1))
        found = between(shifted(apart)).tested[0].comparison
        old = scores_of()[:, 0]
        assert found.p_t == pytest.approx(ttest_rel(old + apart[:, 0], old).pvalue)
        theirs = bootstrap((apart[:, 0],), np.mean, method="percentile", rng=np.random.default_rng(0))
        assert found.ci == pytest.approx(tuple(theirs.confidence_interval), abs=0.002)
        mean = between(shifted(apart)).tested[1].comparison
        assert (mean.measure, mean.baseline_mean) == (f"top{K} mean", pytest.approx(scores_of().mean()))

    def test_few_queries_are_unsure(self) -> None:
        """The interval of three equal differences excludes 0, but the test cannot show it."""
        both = [report(name, hnsw=entry(stability(scores_of(n=3) + by))) for name, by in (("n", 0.01), ("o", 0))]
        drift = between(*both)
        assert [one.standing for one in drift.tested] == ["unsure"] * 2
        assert any("few queries (3)" in note for note in drift.notes)

    def test_an_interval_that_reaches_beyond_is_unsure(self) -> None:
        """The same similarities, of other queries: no figure moves at all."""
        drift = between(report(hnsw=entry(stability(scores_of()[::-1]))), allowed=0.01)
        assert [one.change for one in drift.moved] == [0.0] * 6
        ends = drift.tested[0].comparison.relative_ci
        assert ends is not None and ends[0] < -0.01 and ends[1] > 0.01 and drift.tested[0].standing == "noise"
        assert (drift.outcome, drift.exit_code(), drift.exit_code(strict=True)) == ("unsure", 0, 5)

    def test_queries_in_common(self) -> None:
        ids = [f"q{row:02}" for row in range(2, QUERIES + 2)]
        old = report("old.json")
        new = shifted(0, ids=ids)
        drift = between(new, old)
        assert [one.comparison.n for one in drift.tested] == [QUERIES - 2] * 2
        (note,) = [note for note in drift.notes if "different queries" in note]
        assert f"{QUERIES - 2} in common (2 only in the new one, 2 only in the old one)" in note
        old_scores = dict(zip((f"q{row:02}" for row in range(QUERIES)), scores_of()[:, 0], strict=True))
        new_scores = dict(zip(ids, scores_of()[:, 0], strict=True))
        expected = np.mean([new_scores[id_] - old_scores[id_] for id_ in set(ids) & set(old_scores)])
        assert drift.tested[0].comparison.difference == pytest.approx(expected)

    def test_no_query_in_common(self) -> None:
        with pytest.raises(DataError, match=r"new\.json × old\.json: no query in common") as error:
            between(shifted(0, ids=[f"other{row}" for row in range(QUERIES)]))
        assert error.value.exit_code == 3

    def test_queries_without_results_are_counted(self) -> None:
        scores = scores_of()
        scores[3] = -np.inf
        drift = between(report(hnsw=entry(stability(scores))))
        assert drift.tested[0].comparison.n == QUERIES - 1
        assert any("1 query" in note and "without results" in note for note in drift.notes)

    def test_quality(self) -> None:
        new = report(values=[0.9] * QUERIES)
        (one,) = between(new, report("old.json", values=[0.5] * QUERIES)).quality
        assert (one.comparison.measure, one.standing) == ("ndcg@10", "real")
        assert one.comparison.difference == pytest.approx(0.4)
        assert one.to_json()["standing"] == "real"

    def test_quality_without_queries_or_of_other_conventions(self) -> None:
        bare = replace(report("bare.json"), queries=None)
        drift = between(bare)
        assert drift.quality == () and any("bare.json without the queries' scores" in note for note in drift.notes)
        form = form_of()
        form["systems"]["hnsw"]["measures"]["ndcg@10"]["convention"] = "ndcg(gain=exp)@10"
        drift = between(Report.from_json(form, "new.json"))
        assert drift.quality == () and any("no such measure: ndcg@10" in note for note in drift.notes)

    def test_no_digit_hangs_on_the_order_of_queries(self) -> None:
        order = np.random.default_rng(1).permutation(QUERIES)
        ids = [f"q{row:02}" for row in order]
        apart = np.random.default_rng(4).normal(0.01, 0.02, size=(QUERIES, 1))
        one, other = shifted(apart), report(hnsw=entry(stability((scores_of() + apart)[order], ids=ids)))
        assert json.dumps(between(one).to_json()["paired"]) == json.dumps(between(other).to_json()["paired"])


class TestSystems:
    def test_the_only_one_may_be_called_otherwise(self) -> None:
        drift = between(report(), report("old.json", flat=entry(stability())))
        assert (drift.system, drift.old_system) == ("hnsw", "flat")

    def test_several(self) -> None:
        both = report("both.json", a=entry(stability()), b=entry(stability()))
        with pytest.raises(UsageError, match=r"both.json: there are several systems: a, b.*--system"):
            between(both)
        with pytest.raises(UsageError, match="expected one, or one called hnsw"):
            between(report(), both)
        assert between(both, both, system="a").old_system == "a"
        assert between(both, both, system="a", old_system="b").old_system == "b"
        assert systems_in_both(both, report("old.json", b=entry(stability()))) == ["b"]

    def test_unknown(self) -> None:
        with pytest.raises(UnknownName, match="unknown system 'hnws'"):
            between(report(), system="hnws")

    def test_without_stability(self) -> None:
        with pytest.raises(DataError, match=r"old.json: the report holds no stability of hnsw.*rankjury run"):
            between(report(), report("old.json", hnsw=entry()))

    def test_other_k(self) -> None:
        stable = stability() | {"k": 1, "top1": stability()["top1"]}
        with pytest.raises(DataError, match=r"over the first 3 items here and the first 1 in old\.json"):
            between(report(), report("old.json", hnsw=entry(stable)))


TOPS = [[f"i{row + place}" for place in range(K + 2)] for row in range(QUERIES)]


class TestChurn:
    def test_by_hand(self) -> None:
        found = churn_between([["a", "b"], ["c", "d"], []], [["a", "b"], ["d", "e"], []], ["x", "y", "z"])
        assert found is not None
        # c d against d e: nothing at depth 1, one of two at depth 2, which is extrapolated.
        rbo = 0.1 / 0.9 * (0.5 * 0.81) + 0.5 * 0.81
        assert (found.k, found.n, found.changed) == (2, 3, pytest.approx(1 / 3))
        assert (found.overlap, found.rbo) == (pytest.approx(2.5 / 3), pytest.approx((2 + rbo) / 3))
        (one,) = found.most
        assert (one.query, one.overlap, one.gone, one.new) == ("y", 0.5, ("c",), ("e",))
        assert one.rbo == pytest.approx(rbo)

    def test_order_alone_is_a_change(self) -> None:
        found = churn_between([["a", "b"]], [["b", "a"]], ["q"])
        assert found is not None and (found.overlap, found.changed) == (1.0, 1.0) and found.rbo < 1

    def test_no_deeper_than_both_sides_go(self) -> None:
        found = churn_between([["a", "b", "c"]], [["a", "b"]], ["q"])
        assert found is not None and (found.k, found.changed) == (2, 0.0)
        assert churn_between([[]], [["a"]], ["q"]) is None and churn_between([], [], []) is None

    def test_the_five_that_changed_most(self) -> None:
        before = [["a", "b", "c"]] * 8
        after = [["a", "b", "c"], ["x", "y", "z"], *[["b", "a", "c"]] * 6]
        found = churn_between(before, after, list("hgfedcba"))
        assert found is not None and [one.query for one in found.most] == ["g", "a", "b", "c", "d"]

    def test_between_reports(self) -> None:
        after = [list(items) for items in TOPS]
        after[5] = ["n1", "n2", *after[5][:2], "n3"]
        drift = between(report(tops=after), report("old.json", tops=TOPS))
        assert isinstance(drift.churn, Churn)
        assert (drift.churn.k, drift.churn.n, drift.churn.changed) == (K, QUERIES, 1 / QUERIES)
        (one,) = drift.churn.most
        assert (one.query, one.gone, one.new) == ("q05", ("i6", "i7"), ("n1", "n2"))
        assert drift.figures()["churn"] == 1 / QUERIES and drift.figures()["churn_overlap"] == drift.churn.overlap

    def test_not_held(self) -> None:
        drift = between(report(tops=TOPS))
        assert drift.churn is None and any("churn is not known" in note for note in drift.notes)
        with pytest.raises(DataError, match="not as many first items"):
            between(report(tops=TOPS[:-1]), report("old.json", tops=TOPS))

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.integers(0, 12), unique=True), st.lists(st.integers(0, 12), unique=True), st.floats(0.1, 0.99))
    def test_rbo_against_its_definition(self, one: list[int], other: list[int], p: float) -> None:
        a, b = [str(item) for item in one], [str(item) for item in other]
        assert rank_biased_overlap(a, b, p) == pytest.approx(_rbo_by_definition(a, b, p))
        assert (
            rank_biased_overlap(a, b, p) == pytest.approx(rank_biased_overlap(b, a, p))
            and -1e-12 <= rank_biased_overlap(a, b, p) <= 1 + 1e-12
        )
        assert overlap_share(a, b) == overlap_share(b, a)
        assert rank_biased_overlap(a, a, p) == overlap_share(a, a) == 1.0

    def test_rbo_is_the_metric_of_that_name(self) -> None:
        """Against rankjury's own measure of a ranking by an ordered gold."""
        gold, run = ["a", "b", "c", "d"], ["b", "e", "a", "f", "c"]
        grades = {"q": {item: len(gold) - place for place, item in enumerate(gold)}}
        scores = {"q": {item: -float(place) for place, item in enumerate(run)}}
        (expected,) = rankjury.evaluate(grades, scores, ["rbo"])["rbo"]
        assert rank_biased_overlap(gold, run) == pytest.approx(expected)


def _rbo_by_definition(one: list[str], other: list[str], p: float) -> float:
    """Equation 32, term by term."""
    short, long = sorted((one, other), key=len)
    s, length = len(short), len(long)
    if not s:
        return 1.0 if not length else 0.0

    def shared(depth: int) -> int:
        return len(set(short[:depth]) & set(long[:depth]))

    first = sum(shared(d) / d * p**d for d in range(1, length + 1))
    uneven = sum(shared(s) * (d - s) / (s * d) * p**d for d in range(s + 1, length + 1))
    return (1 - p) / p * (first + uneven) + ((shared(length) - shared(s)) / length + shared(s) / s) * p**length


def told(new: Report, old: Report | None = None) -> tuple[list[str], list[str], list[str]]:
    found = between(new, old).circumstances
    return [str(one) for one in found.changed], list(found.undeclared), list(found.unknown)


def declaring(prints: dict[str, str] | None = None, index: dict[str, Any] | None = None, **meta: Any) -> Report:
    made = report(hnsw=entry(stability(), fingerprints=PRINTS | (prints or {}), index=INDEX | (index or {})))
    return replace(made, provenance={**made.provenance, "meta": {**made.provenance["meta"], **meta}})


class TestCircumstances:
    def test_nothing_changed(self) -> None:
        assert told(report()) == ([], [], [])

    @pytest.mark.parametrize(
        ("new", "changed", "undeclared"),
        [
            (
                {"prints": {"vectors": "x", "query_vectors": "y"}, "model_version": "m2"},
                ["model: m1 → m2; other vectors of the same queries"],
                [],
            ),
            (
                {"prints": {"vectors": "x", "query_vectors": "y"}},
                ["model: other vectors of the same queries"],
                ["the vectors differ, but model_version, dataset_version and chunking_config are the same"],
            ),
            (
                {"prints": {"vectors": "x"}},
                [],
                ["the vectors differ, but model_version, dataset_version and chunking_config are the same"],
            ),
            ({"prints": {"vectors": "x"}, "chunking_config": "bullets"}, ["chunking: title → bullets"], []),
            (
                {"prints": {"items": "x", "vectors": "y"}, "model_version": "m2"},
                ["model: m1 → m2", "dataset: other items"],
                ["there are other items, but dataset_version is the same"],
            ),
            (
                {"prints": {"query_vectors": "x"}},
                ["model: other vectors of the same queries"],
                ["the same queries have other vectors, but model_version is the same"],
            ),
            ({"model_version": "m2"}, ["model: m1 → m2"], ["model_version changed, but the vectors are the same"]),
            (
                {"index": {"build": {"m": 32}, "search": {"ef_search": 80}}},
                ["index: m 16 → 32; ef_search 40 → 80"],
                [],
            ),
            (
                {"index": {"engine": "exact", "facts": {}}},
                ["index: engine faiss-hnsw → exact; library faiss → not said; version 1.9 → not said"],
                [],
            ),
            (
                {"prints": {"queries": "x", "query_vectors": "y"}},
                ["query set: other queries"],
                ["the queries differ, but query_set_version is the same"],
            ),
            ({"query_set_version": "2026-12"}, ["query set: 2026-11 → 2026-12"], []),
        ],
    )
    def test_what_changed(self, new: dict[str, Any], changed: list[str], undeclared: list[str]) -> None:
        assert told(declaring(**new), declaring()) == (changed, undeclared, [])

    def test_a_declared_index_that_differs(self) -> None:
        old, new = declaring(index_params="m=16"), declaring(index={"build": {"m": 32}}, index_params="m=16")
        assert told(new, old)[1] == ["the index differs (m 16 → 32), but index_params is the same"]

    def test_texts_that_changed_under_one_version(self) -> None:
        new = declaring()
        query_set = {**new.provenance["query_set"], "sha256": "t"}
        assert told(replace(new, provenance={**new.provenance, "query_set": query_set})) == (
            ["query set: other ids, texts or types of queries"],
            ["the queries differ, but query_set_version is the same"],
            [],
        )

    def test_what_the_reports_record_of_a_system(self) -> None:
        old, new = (report(n, hnsw=entry(stability(), facts={"model": m})) for n, m in (("o", "A"), ("n", "B")))
        assert told(new, old)[0] == ["model: A → B"]

    def test_what_cannot_be_told(self) -> None:
        both = [report(name, hnsw=entry(stability(), fingerprints={}, index={})) for name in ("new", "old")]
        both = [replace(one, provenance={}) for one in both]
        assert told(*both) == ([], [], ["model", "dataset", "chunking", "index", "query set"])
        both[0] = replace(both[0], provenance={"meta": META})
        assert told(*both) == ([], [], ["model", "dataset", "chunking", "index", "query set"]), "said on one side only"
        prints = {"query_vectors": "x"}, {"query_vectors": "y"}
        both = [report(f"r{n}", hnsw=entry(stability(), fingerprints=one)) for n, one in enumerate(prints)]
        assert told(*both)[0] == [], "of which queries the vectors are is not known"

    def test_nothing_declared(self) -> None:
        old, new = (replace(one, provenance={}) for one in (report("old.json"), declaring({"vectors": "x"})))
        assert told(new, old)[1] == [
            "the vectors differ, but no model_version or dataset_version or chunking_config is declared in both"
        ]


def test_as_json() -> None:
    drift = between(shifted(0.1), report("old.json", tops=TOPS))
    form = json.loads(json.dumps(drift.to_json(), allow_nan=False))
    assert list(form) == [
        "schema", "verdict", "worst", "system", "old_system", "report", "old_report", "k", "allowed", "figures",
        "paired", "quality", "churn", "notes", "changed", "undeclared", "unknown",
    ]  # fmt: skip
    assert (form["schema"], form["report"], form["old_report"]) == ("rankjury.drift/1", "new.json", "old.json")
    assert form["worst"]["figure"] == f"top{K} mean" and form["verdict"] == "fail"
    assert form["figures"][0] == {
        "figure": "top1 mean",
        "old": drift.moved[0].old,
        "new": drift.moved[0].new,
        "change": drift.moved[0].change,
        "relative_to": "itself",
        "scale": drift.moved[0].old,
        "allowed": 0.05,
        "within": False,
    }


@settings(max_examples=25, deadline=None)
@given(st.floats(-0.4, 0.4), st.floats(0, 0.5))
def test_the_rule_is_what_it_says(by: float, allowed: float) -> None:
    drift = drift_between(report("old.json"), shifted(by), allowed=allowed)
    for one in drift.moved:
        apart = abs(one.new - one.old) / abs(one.scale)
        assert one.within is (apart <= allowed) or apart == pytest.approx(allowed, abs=1e-11)
    assert (drift.outcome == "fail") is any(one.within is False for one in drift.moved)
    assert drift.figures()["drift"] == max(abs(one.change) for one in drift.moved)
