"""Hints: each pattern shows its hint with the figures that triggered it, and healthy figures show none."""

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from rankjury.evaluation.drift import drift_between
from rankjury.evaluation.report import Report
from rankjury.evaluation.scores import SystemResult
from rankjury.retrieval.hints import GOOD_RECALL, Hint, find_hints
from tests.evaluation.drifting import INDEX, PRINTS, entry, report, scores_of, stability


def latency(p50: float = 2.0, p99: float = 4.0, failed: int = 0, **beside: Any) -> dict[str, Any]:
    points = {name: {"ms": ms, "ci": [ms, ms]} for name, ms in (("p50", p50), ("p95", p99), ("p99", p99))}
    known = {"kind": "closed", "concurrency": 1, "rate": None, "n": 100, "failed": failed, "gc_ms": 0.0}
    known |= {"max_ms": p99, "mean_ms": p50, "qps": 100.0, "overhead_us": 1.0}
    return {**known, **points, **beside}


def timings(index_only: Any = None, end_to_end: Any = None, **beside: Any) -> dict[str, Any]:
    """In its JSON form; by default healthy."""
    times = {
        "index_only": index_only,
        "end_to_end": end_to_end or latency(),
        "includes": [],
        "closed": [],
        "open": None,
    }
    return {"latency": times | beside}


def recalled(mean: float | None, p5: float | None, **beside: Any) -> dict[str, Any]:
    return {"recall": {"k": 10, "mean": mean, "ci": None, "p5": p5, "n": 24} | beside}


def hints(index: Any = None, **beside: Any) -> list[Hint]:
    return find_hints(report(hnsw=entry(stability(), **{"index": {**INDEX, **(index or {})}} | beside)))


def the_only(found: list[Hint], figure: str) -> Hint:
    assert [one.figure for one in found] == [figure]
    return found[0]


def measures(**means: float) -> dict[str, Any]:
    """Labels are anybody's; the convention tells what a measure is."""
    return {
        label: {"mean": mean, "n": 24, "undefined": 0, "convention": convention}
        for (label, mean), convention in zip(means.items(), ("ndcg(gain=exp)@10", "recall(rel=2)@10"), strict=False)
    }


def test_healthy_figures_need_no_hint() -> None:
    assert hints() == []
    assert hints(timings(latency(), closed=[latency()])) == []
    assert find_hints(Report({"bm25": SystemResult({}, {})})) == []


class TestRecall:
    def low(self, mean: float = 0.9, p5: float = 0.5, **index: Any) -> Hint:
        recall = recalled(mean, p5, ci=[mean - 0.02, mean + 0.02])
        return the_only(hints({**recall, **index}), f"ann_recall{'' if mean < GOOD_RECALL else '_p5'}@10")

    def test_names_the_figure_and_the_setting_in_force(self) -> None:
        hint = self.low()
        assert hint.value == 0.9
        assert hint.text == "ANN recall@10 is 0.900 [0.880, 0.920], below 0.95: raise ef_search, now 40"
        assert str(hint) == f"hnsw: {hint.text}"
        assert hint.to_json() == {"system": "hnsw", "hint": hint.text, "figure": "ann_recall@10", "value": 0.9}

    def test_a_few_weak_queries(self) -> None:
        hint = self.low(0.97, 0.6)
        assert hint.value == 0.6 and "0.970 on average, but 0.600 at the 5th percentile" in hint.text

    @pytest.mark.parametrize(
        ("index", "advice"),
        [
            ({"search": {"nprobe": 4}}, "raise nprobe, now 4"),
            ({"search": {"expansion_search": 64}}, "raise expansion_search, now 64"),
            ({"search": {"ef_search": 40, "probes": 1}, "build": {"index": "ivfflat"}}, "raise probes, now 1"),
            ({"search": {"probes": 1, "ef_search": 40}, "build": {"index": "hnsw"}}, "raise ef_search, now 40"),
            ({"search": {"effort": "low"}}, "(probes, nprobe, ef_search), now effort low"),
            ({"search": {}}, "raise the search width"),
            ({"facts": {"approximate": False}}, "the engine searches all its vectors"),
        ],
    )
    def test_by_engine(self, index: dict[str, Any], advice: str) -> None:
        assert advice in self.low(**index).text

    def test_its_own_exact_mode_is_no_better(self) -> None:
        (hint,) = hints({**recalled(0.9, 0.5), "own_exact": recalled(0.91, 0.6)["recall"]})
        assert "its exact mode finds 0.910" in hint.text and "raise" not in hint.text

    @pytest.mark.parametrize(
        ("metric", "norms", "told"),
        [
            ("ip", [3.0, 5.0], "not normalised (length 4.000 ± 1.414)"),
            ("ip", [1.0, 1.0], "are normalised (mean length 1.000)"),
            ("cosine", [3.0, 5.0], None),
        ],
    )
    def test_under_the_inner_product_lengths_count(self, metric: str, norms: list[float], told: str | None) -> None:
        index = INDEX | {"metric": metric} | recalled(0.5, 0.1)
        (hint,) = find_hints(report(hnsw=entry(stability(norms=norms), index=index)))
        assert told in hint.text if told else "normalised" not in hint.text

    def test_nothing_to_find(self) -> None:
        assert hints(recalled(None, None, n=0)) == []

    @settings(max_examples=50, deadline=None)
    @given(st.floats(0, 1), st.floats(0, 1))
    def test_only_where_it_is_low(self, mean: float, low: float) -> None:
        found = hints(recalled(mean, low))
        assert len(found) == (mean < 0.95 or low < 0.8)


class TestPlanner:
    def proof(self, **index: Any) -> list[Hint]:
        return hints({"facts": {"proof": {"index": index, "exact": {"used": False, "plan": "Seq Scan"}}}})

    def test_the_index_was_not_used(self) -> None:
        hint = the_only(self.proof(used=False, plan="Limit > Seq Scan on items", held=True), "index_used")
        assert "did not use the index (plan: Limit > Seq Scan on items)" in hint.text and hint.value == 0

    def test_the_index_was_forced(self) -> None:
        hint = the_only(self.proof(used=True, plan="Index Scan", held=True), "index_used")
        assert "forced to use the index (plan: Index Scan)" in hint.text and hint.value == 1

    def test_the_index_was_used(self) -> None:
        assert self.proof(used=True, plan="Index Scan", held=False) == []


class TestLoss:
    def of(self, exact: float, index: float, ci: list[float] | None = None, **beside: Any) -> list[Hint]:
        loss = {"measure": "ndcg@10", "ideal": 1.0, "exact": {"mean": exact, "ci": None}}
        loss |= {"index": {"mean": index, "ci": None}, "index_loss": {"mean": exact - index, "ci": ci}}
        return hints({"loss": loss, **beside})

    def test_the_embedding_is_to_blame(self) -> None:
        hint = the_only(self.of(0.625, 0.620, [-0.01, 0.02]), "exact_search")
        assert hint.value == 0.625
        assert "of the 0.380 missing in ndcg@10, the embedding loses 0.375 (0.625 with exact search too)" in hint.text
        assert "and the index 0.005" in hint.text and "not the index" in hint.text

    def test_the_index_is_to_blame(self) -> None:
        hint = the_only(self.of(0.9, 0.8, [0.05, 0.15]), "index_loss")
        assert hint.value == pytest.approx(0.1)
        assert "the index costs 0.100 of ndcg@10 (0.900 with exact search, 0.800 with the index)" in hint.text
        assert "raise ef_search, now 40" in hint.text

    def test_a_loss_that_may_be_noise_is_not_blamed_on_the_index(self) -> None:
        assert the_only(self.of(0.7, 0.65, [-0.02, 0.1]), "exact_search")

    def test_exact_search_has_no_index_to_blame(self) -> None:
        (hint,) = self.of(0.6, 0.6, facts={"approximate": False})
        assert "of the 0.400 missing in ndcg@10, the embedding loses 0.400: improve the model" in hint.text

    def test_good_enough(self) -> None:
        assert self.of(0.95, 0.945, [0.0, 0.01]) == []

    def test_not_known(self) -> None:
        unknown = {key: {"mean": None, "ci": None} for key in ("exact", "index", "index_loss")}
        assert hints({"loss": {"measure": "ndcg@10", **unknown}}) == []


class TestOrder:
    def test_found_but_too_low(self) -> None:
        hint = the_only(hints(measures=measures(mine=0.7, found=0.96)), "mine")
        assert hint.value == 0.7
        assert hint.text.startswith("mine is 0.700 though found is 0.960: ")
        assert "re-rank the first 10" in hint.text and "filter by attributes" in hint.text

    @pytest.mark.parametrize(("ndcg", "recall"), [(0.9, 0.96), (0.7, 0.5)])
    def test_other_patterns(self, ndcg: float, recall: float) -> None:
        assert hints(measures=measures(mine=ndcg, found=recall)) == []

    def test_at_one_cut_off_and_ten_first(self) -> None:
        def at(name: str, k: int, mean: float) -> dict[str, Any]:
            return {f"{name}@{k}": {"mean": mean, "n": 24, "undefined": 0, "convention": f"{name}@{k}"}}

        both = at("ndcg", 5, 0.1) | at("recall", 5, 0.99) | at("ndcg", 10, 0.7) | at("recall", 10, 0.95)
        assert the_only(hints(measures=both), "ndcg@10")
        assert hints(measures=at("ndcg", 5, 0.1) | at("recall", 10, 0.99)) == []
        assert the_only(hints(measures=at("ndcg", 20, 0.1) | at("recall", 20, 0.99)), "ndcg@20")

    def test_measures_that_are_not_known_here(self) -> None:
        unknown = {"own": {"mean": 0.1, "n": 1, "undefined": 0, "convention": "somebodys_own@10"}}
        one = measures(mine=0.1, found=0.96)
        assert hints(measures=unknown | one | {"mine": one["mine"] | {"mean": None, "n": 0, "undefined": 24}}) == []


class TestDrift:
    def of(self, by: float = 0.0, norms: Any = (1.0, 1.0), old_norms: Any = (1.0, 1.0), **prints: str) -> list[Hint]:
        old = report("old.json", hnsw=entry(stability(norms=old_norms)))
        new = report(hnsw=entry(stability(scores_of() + by, norms=norms), fingerprints=PRINTS | prints))
        return find_hints(new, drift_between(old, new))

    def test_scores_moved(self) -> None:
        hint = the_only(self.of(0.1), "drift")
        assert hint.value > 0.1
        assert hint.text.startswith("score drift: top3 mean moved by +") and "allowed ±5 %" in hint.text
        assert "no declared change; check that model, version and chunking are unchanged" in hint.text
        assert "lengths are unchanged (mean length 1.000 → 1.000)" in hint.text

    @pytest.mark.parametrize(
        ("old", "new", "told"),
        [
            (
                [1.0, 1.0],
                [6.0, 8.0],
                "normalisation is missing, or followed by another step (mean length 1.000 → 7.000)",
            ),
            ([6.0, 8.0], [1.0, 1.0], "vectors are normalised now, and were not before (mean length 7.000 → 1.000)"),
            ([2.0, 2.0], [3.0, 3.0], "vectors are not normalised (mean length 2.000 → 3.000)"),
        ],
    )
    def test_normalisation(self, old: list[float], new: list[float], told: str) -> None:
        assert told in the_only(self.of(norms=new, old_norms=old), "drift").text

    def test_undeclared_changes_are_told_even_where_nothing_moved(self) -> None:
        hint = the_only(self.of(vectors="x"), "drift")
        assert hint.text.startswith("undeclared change: the vectors differ, but model_version") and hint.value == 0
        assert "the vectors differ" in the_only(self.of(0.2, vectors="x"), "drift").text

    def test_from_zero(self) -> None:
        hint = the_only(self.of(norms=[1.0], old_norms=[0.0]), "drift")
        assert "norm mean moved from 0 (0 → 1)" in hint.text

    def test_nothing_moved(self) -> None:
        assert self.of() == []

    def test_from_the_report_itself(self) -> None:
        """As a plan with an earlier report records it; the system's own, not another's."""
        new = report(hnsw=entry(stability(scores_of() + 0.1)))
        drift = drift_between(report("old.json"), new)
        kept = json.loads(json.dumps(drift.to_json()))
        both = report(hnsw=entry(stability(), drift=kept), flat=entry(stability()))
        assert [(one.system, one.figure) for one in find_hints(both)] == [("hnsw", "drift")]
        assert find_hints(both)[0].text == find_hints(new, drift)[0].text
        assert find_hints(report(flat=entry(stability())), drift) == []


class TestLatency:
    def test_slow_queries(self) -> None:
        slow = latency(2.0, 42.0, gc_ms=3.0)
        hint = the_only(hints(timings(slow, slow)), "latency_p99_ms")
        assert hint.value == 42.0
        assert "P99 of index-only latency is 42 ms, 21.0 times P50 (2 ms)" in hint.text
        assert "garbage collection took 3 ms" in hint.text

    def test_end_to_end(self) -> None:
        assert "end-to-end" in the_only(hints(timings(None, latency(2.0, 42.0))), "end_to_end_p99_ms").text

    def test_microseconds_matter_to_nobody(self) -> None:
        assert hints(timings(latency(0.01, 0.5))) == []

    def test_nothing_answered(self) -> None:
        none = {"ms": None, "ci": None}
        assert hints(timings(latency() | {"n": 0, "p50": none, "p95": none, "p99": none})) == []


class TestFailures:
    def test_without_an_answer(self) -> None:
        failures = {"failures": [{"query": "q1", "why": "timed out"}]}
        hint = the_only(hints({"failed": 2, "facts": failures}), "failed_queries")
        assert hint.value == 2 and hint.text.startswith("2 queries ") and hint.text.endswith(": timed out")

    def test_while_timed(self) -> None:
        refused = latency(failed=3, messages=[{"message": "refused", "count": 3}])
        hint = the_only(hints(timings(refused, closed=[latency(failed=1)])), "failed_timed")
        assert (hint.value, hint.text) == (4, "4 of 304 timed queries failed: refused")
