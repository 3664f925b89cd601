"""The sentences that sections add to a report's summary: names, numbers, direction, and what is undefined."""

from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest

import rankjury
from rankjury.evaluation.drift import drift_between
from rankjury.evaluation.gate import check_targets
from rankjury.evaluation.report import Report
from rankjury.evaluation.scores import SystemResult
from rankjury.evaluation.sections import Section
from rankjury.evaluation.targets import parse_target
from rankjury.labeling.keywords.partial_match import MissedKeyword, PartialMatches, ResultCounts
from rankjury.recsys.sections import Interactions
from rankjury.retrieval.agreement.stats import Agreement, AgreementValue, ReferenceSource
from rankjury.stats.formatting import format_estimate
from rankjury.stats.resampling import Resampling
from tests.evaluation.drifting import entry, report as drift_report, scores_of, stability
from tests.reporting.test_indexes import indexed, loss, recall, timings
from tests.reporting.test_interactions import recommended

RECALL = "recall(over=k,gold=k)@3"


@pytest.fixture(scope="module")
def agreement() -> Report:
    """Two candidates, of which tuned is much better."""
    draw = np.random.default_rng(5)
    reference = draw.normal(size=(30, 6))
    base = reference[:, :3] + draw.normal(size=(30, 3))
    tuned = reference + 0.1 * draw.normal(size=(30, 6))
    resampling = Resampling(resamples=200)
    return rankjury.agree(reference, {"base": base, "tuned": tuned}, (1, 3), pairs=90, resampling=resampling)


def sentences(section: Section, report: Report, system: str | None = None) -> list[str]:
    return list(section.summary(report, system))


class TestReference:
    def test_it_is_first_and_says_how_much_the_baseline_keeps(self, agreement: Report) -> None:
        first, second, *_ = agreement.summary
        assert agreement.baseline == "base"
        assert first.startswith(f"base keeps {format_estimate(agreement.estimates['base'][RECALL])} of ")
        assert "top 3" in first and "Spearman" in first
        spearman = agreement.needed_section(Agreement, "base").figures["spearman"]
        assert f"{spearman.value:.3f}" in first
        assert second.startswith("tuned is better than base: ")

    def test_verdicts_come_before_it(self, agreement: Report) -> None:
        gate = check_targets([parse_target(f"{RECALL} >= 0.999")], agreement)
        first, second, *_ = agreement.with_sections(gate).summary
        assert first == gate.sentence and second.startswith("base keeps ")

    def test_the_best_is_named_where_there_is_no_baseline(self, agreement: Report) -> None:
        (sentence,) = sentences(ReferenceSource("x"), replace(agreement, baseline=None, comparisons=()))
        assert sentence.startswith("tuned keeps ")

    def test_without_similarities_or_defined_values(self, agreement: Report) -> None:
        section = agreement.needed_section(Agreement, "base")
        undefined = replace(section, figures={**section.figures, "spearman": AgreementValue(nan)})
        (sentence,) = sentences(ReferenceSource("x"), agreement.with_sections(undefined, system="base"))
        assert sentence.startswith("base keeps ") and "Spearman" not in sentence and "nan" not in sentence
        assert sentences(ReferenceSource("x"), agreement.only(["ndcg(gain=binary,gold=k)@3"])) == []


class TestIndex:
    def report(self, **indexes: Section) -> Report:
        systems = {name: SystemResult({}, {}, sections={"index": index}) for name, index in indexes.items()}
        return Report(systems)

    def summary(self, **indexes: Section) -> list[str]:
        report = self.report(**indexes)
        return [line for name, index in indexes.items() for line in index.summary(report, name)]

    def test_recall_latency_and_loss(self) -> None:
        (sentence,) = self.summary(exact=indexed(engine="exact"), small=indexed())
        assert sentence.startswith("small (faiss-hnsw) finds 0.975 [0.950, 0.990] of the exact 10 nearest neighbours")
        assert "p95 2 ms" in sentence
        assert "ndcg(gain=exp)@10 loses 0.003" in sentence

    def test_a_loss_that_is_not_shown(self) -> None:
        (sentence,) = self.summary(small=indexed(loss=loss(difference=-0.003, ci=(-0.007, 0.001))))
        assert "no loss of ndcg(gain=exp)@10 is shown" in sentence and "0.003" not in sentence

    def test_exact_search_alone_is_named(self) -> None:
        (sentence,) = self.summary(exact=indexed(engine="exact"))
        assert sentence.startswith("exact finds 0.975")

    def test_nothing_to_find_and_failures(self) -> None:
        empty = indexed(recall=recall(nan, nan, n=0, ci=None), latency=None, loss=None, failed=1)
        (sentence,) = self.summary(small=empty)
        assert "no exact neighbours" in sentence and "1 query failed" in sentence and "nan" not in sentence
        assert "p95" in self.summary(small=indexed(latency=timings(index_only=None), failed=2))[0]


class TestKeywords:
    def matches(self, whole: int, some: int, none: int, *missed: MissedKeyword) -> PartialMatches:
        return PartialMatches(5, None, ResultCounts(whole, some, none), missed, (), ())

    def test_share_of_results_with_all_keywords_and_what_is_missed_most(self) -> None:
        missed = MissedKeyword("scene=rain", 2, 10, 6, "scene"), MissedKeyword("scene=urban", 2, 10, 1, "scene")
        (sentence,) = sentences(self.matches(7, 2, 1, *missed), Report({}), "clips")
        assert sentence == (
            "70.0 % of the first 5 results of clips have all keywords of their query; missed most: rain, by 6 of 10."
        )

    def test_nothing_is_missed_and_nothing_is_found(self) -> None:
        kept = MissedKeyword("scene=rain", 2, 10, 0, "scene")
        (sentence,) = sentences(self.matches(10, 0, 0, kept), Report({}), "clips")
        assert sentence.startswith("100.0 %") and "missed" not in sentence
        assert sentences(self.matches(0, 0, 0), Report({}), "clips") == []


class TestRecommenders:
    def test_cold_start(self) -> None:
        report = recommended()
        log = report.needed_section(Interactions)
        window = log.windows["test"]
        (sentence,) = sentences(log, report)
        assert f"{window.cold_users} of {window.users} users" in sentence
        assert f"{window.cold_items} of {window.items} items" in sentence
        assert sentence in report.summary

    def test_the_best_for_cold_users(self) -> None:
        report = recommended()
        part = next((part for part in report.slices if part.name == "user=cold"), None)
        assert part is not None
        label = report.headline[0]
        means = {name: of[label].mean for name, of in part.estimates.items() if not report.systems[name].random}
        (sentence,) = sentences(report.needed_section(Interactions), report)
        assert f"{max(means, key=lambda name: means[name])}, {label} {max(means.values()):.3f}" in sentence

    def test_no_cold_users_and_no_slices(self) -> None:
        report = recommended()
        log = report.needed_section(Interactions)
        (sentence,) = sentences(log, replace(report, slices=()))
        assert sentence.endswith("are new to training.")
        known = {name: replace(window, cold_users=0, cold_items=0) for name, window in log.windows.items()}
        assert sentences(replace(log, windows=known), report) == []


class TestDrift:
    def shifted(self, by: float, *, values: list[float] | None = None) -> Report:
        return drift_report(values=values, hnsw=entry(stability(scores_of() + by), values=values))

    def test_nothing_moved(self) -> None:
        sentence = drift_between(drift_report("old.json"), drift_report()).sentence
        assert sentence.startswith("Nothing of hnsw moved beyond ±5 % since old.json")
        assert "most" not in sentence and "no measure is shown to have changed" in sentence

    def test_a_small_and_a_large_move(self) -> None:
        near = drift_between(drift_report("old.json"), self.shifted(0.01))
        assert near.sentence.startswith("Nothing of hnsw moved beyond ±5 %") and "+1." in near.sentence
        far = drift_between(drift_report("old.json"), self.shifted(-0.1))
        assert far.outcome == "fail" and far.worst is not None
        assert far.sentence.startswith(f"hnsw drifted from old.json: {far.worst.figure} moved −")
        assert "±5 %" in far.sentence

    def test_from_zero_is_not_an_infinite_share(self) -> None:
        drift = drift_between(drift_report("old.json"), drift_report())
        moved = replace(drift.moved[0], old=0.0, scale=0.0)
        assert moved.change == inf
        assert "moved from 0" in replace(drift, moved=(moved,)).sentence

    def test_nothing_is_defined(self) -> None:
        drift = drift_between(drift_report("old.json"), drift_report())
        undefined = replace(drift, moved=tuple(replace(value, new=nan) for value in drift.moved))
        assert "no value is defined" in undefined.sentence and "nan" not in undefined.sentence

    def test_another_name_before_is_said(self) -> None:
        old = drift_report("old.json", before=entry(stability()))
        assert "before: before" in drift_between(old, drift_report(), old_system="before").sentence

    def test_a_report_with_a_drift_says_so(self) -> None:
        new = drift_report()
        drift = drift_between(drift_report("old.json"), new)
        assert drift.sentence in new.with_sections(drift, system="hnsw").summary
