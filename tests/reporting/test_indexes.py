"""What was found of indexes, in tables and lines: cells worked by hand, and screens of 80 and 130 columns."""

from dataclasses import replace
from itertools import pairwise
from math import nan
from typing import Any

import numpy as np
import polars as pl
import pytest

from rankjury.evaluation.examples import Example, ExampleItem, Examples
from rankjury.evaluation.report import Report
from rankjury.evaluation.scores import SystemResult
from rankjury.evaluation.sections import MeanStd, Stability, measure_stability
from rankjury.reporting.console import print_block
from rankjury.reporting.sections import render_sections
from rankjury.reporting.sections.index import render_examples, render_indexes, render_stability
from rankjury.reporting.tables import TextTable, make_table
from rankjury.retrieval.bench.latency import Latency, Percentile
from rankjury.retrieval.bench.result import (
    AnnRecall,
    FilterResult,
    IndexLatency,
    IndexLoss,
    IndexResult,
    LossMean,
    MetricEquivalence,
)
from rankjury.stats.estimates import Estimate
from tests.cli.support import check_width
from tests.reporting.small import tables_of, with_only

NDCG = "ndcg(gain=exp)@10"


def recall(mean: float = 0.975, low: float = 0.6, n: int = 80, ci: Any = (0.95, 0.99)) -> AnnRecall:
    return AnnRecall(10, mean, ci, low, n, np.full(n, mean))


def latency(p50: float = 0.0005, *, n: int = 1_000, **more: Any) -> Latency:
    """P95 is four times P50, P99 thirty times, the longest a thousand times."""
    shares = {"p50": 1e3 * p50, "p95": 4e3 * p50, "p99": 30e3 * p50}
    ends = {name: Percentile(one, (one / 2, one * 2), name != "p99") for name, one in shares.items()}
    given: dict[str, Any] = {
        "kind": "closed", "concurrency": 1, "rate": None, "failed": 0, "max_ms": 1e6 * p50, "mean_ms": 1e3 * p50,
        "qps": 1 / p50, "gc_ms": 2.0, "overhead_us": 2.0,
    }  # fmt: skip
    return Latency(n=n, **ends, **given | more)


def timings(**more: Any) -> IndexLatency:
    return IndexLatency(
        **{"index_only": latency(), "end_to_end": latency(0.004), "includes": ("search", "rows to ids")} | more
    )


def loss(exact: float = 0.88, difference: float = -0.003, ci: Any = (-0.007, -0.001)) -> IndexLoss:
    lost = LossMean(-difference, None if ci is None else (-ci[1], -ci[0]))
    return IndexLoss(NDCG, LossMean(exact), LossMean(exact + difference), lost)


def indexed(**more: Any) -> IndexResult:
    given: dict[str, Any] = {
        "engine": "faiss-hnsw", "metric": "cosine", "build": {"m": 8, "ef_construction": 64},
        "search": {"ef_search": 32}, "settings": {}, "items": 300, "dimensions": 384, "build_seconds": 0.0123,
        "size_bytes": 512_345, "recall": recall(), "own_exact": recall(1.0, 1.0, ci=None), "failed": 0,
        "given": {"m": 8, "ef_search": 32}, "latency": timings(), "loss": loss(),
    }  # fmt: skip
    return IndexResult(**given | more)


def stable(**more: Any) -> Stability:
    found = measure_stability(pl.Series(["q1", "q2"]), np.array([[0.9, 0.8], [0.7, 0.2]]), np.array([1.0, 1.0, 1.0]))
    return replace(found, **more)


def report_of(**indexes: IndexResult) -> Report:
    names = list(indexes) or ["x"]
    report = Report({name: SystemResult({NDCG: Estimate(0.375, 2, 0)}, {NDCG: NDCG}) for name in names})
    report = with_only(report, IndexResult, indexes)
    return with_only(report, Stability, {name: stable() for name in names})


def latency_table(report: Report) -> TextTable:
    (found,) = tables_of(render_indexes(report, False), "index", "asked")
    return found


def index_lines(report: Report) -> list[str]:
    block = render_indexes(report, False)
    assert block is not None
    return list(block.lines)


def stability_table(report: Report) -> TextTable:
    (found,) = tables_of(render_stability(report, False), "system")
    return found


def row_of(**more: Any) -> dict[str, str]:
    (found,) = tables_of(render_indexes(report_of(hnsw=indexed(**more)), False), "index", "engine", "ANN recall@10")
    (row,) = found.texts
    return dict(zip(found.header, row, strict=True))


class TestIndexes:
    def test_cells(self) -> None:
        assert row_of() == {
            "index": "hnsw",
            "engine": "faiss-hnsw (m 8, ef_search 32)",
            "ANN recall@10": "0.975 [0.950, 0.990]",
            "5th pct": "0.600",
            "own exact": "1.000",
            "build": "12 ms",
            "size": "512.3 kB",
            "p95 ms": "2.00",
        }

    def test_what_is_not_known_is_a_dash(self) -> None:
        found = row_of(recall=recall(nan, nan, 0, None), own_exact=None, size_bytes=None, latency=None, given={})
        assert list(found.values()) == ["hnsw", "faiss-hnsw", "–", "–", "–", "12 ms", "–", "–"]

    def test_a_failed_recall_is_no_dash(self) -> None:
        assert row_of(recall=recall(0.0, 0.0, 80, (0.0, 0.0)))["ANN recall@10"] == "0.000 [0.000, 0.000]"

    def test_without_an_interval(self) -> None:
        assert row_of(recall=recall(ci=None))["ANN recall@10"] == "0.975"

    @pytest.mark.parametrize(
        ("size", "shown"),
        [(0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (2_500_000, "2.5 MB"), (3_210_000_000, "3.2 GB")],
    )
    def test_sizes(self, size: int, shown: str) -> None:
        assert row_of(size_bytes=size)["size"] == shown

    @pytest.mark.parametrize(
        ("seconds", "shown"), [(0.0, "0 ms"), (0.4567, "457 ms"), (1.0, "1.0 s"), (61.26, "61.3 s")]
    )
    def test_build_times(self, seconds: float, shown: str) -> None:
        assert row_of(build_seconds=seconds)["build"] == shown

    @pytest.mark.parametrize(("seconds", "shown"), [(0.00001, "0.040"), (0.0005, "2.00"), (0.005, "20"), (0.5, "2000")])
    def test_milliseconds_have_no_more_digits_than_they_deserve(self, seconds: float, shown: str) -> None:
        assert row_of(latency=timings(index_only=latency(seconds)))["p95 ms"] == shown

    def test_end_to_end_where_the_search_alone_cannot_be_told(self) -> None:
        assert row_of(latency=timings(index_only=None))["p95 ms"] == "16"

    def test_every_query_failed(self) -> None:
        lost = {name: Percentile(nan) for name in ("p50", "p95", "p99")}
        gone = replace(latency(n=0, failed=80, qps=0.0), max_ms=nan, mean_ms=nan, **lost)
        assert row_of(latency=timings(index_only=gone))["p95 ms"] == "–"
        rows = latency_table(report_of(x=indexed(latency=timings(index_only=gone)))).texts
        assert rows[0] == ["x", "search alone", "–", "–", "–", "–", "0", "80"]

    def test_columns_left_out(self) -> None:
        found = make_table(["a", "b", "c"], [["1", "2", "3"], ["4", "5", "6"]])
        assert found.without("a", "c").header == ["b"] and found.without("a", "c").texts == [["2"], ["5"]]
        assert found.without() == found


class TestLatency:
    def test_cells(self) -> None:
        found = latency_table(report_of(hnsw=indexed()))
        rows = found.texts
        assert found.header == ["index", "asked", "p50 ms", "p95 ms", "p99 ms", "max ms", "queries/s", "failed"]
        assert rows[0] == ["hnsw", "search alone", "0.500 [0.250, 1.00]", "2.00 [1.00, 4.00]", "15 [7.50, 30+]", "500",
                           "2,000", "0"]  # fmt: skip
        assert rows[1][:3] == ["hnsw", "end to end", "4.00 [2.00, 8.00]"] and len(rows) == 2

    def test_without_intervals(self) -> None:
        (narrower,) = latency_table(report_of(hnsw=indexed())).narrower
        assert narrower.texts[0][2:5] == ["0.500", "2.00", "15"]

    def test_a_row_a_way_of_asking(self) -> None:
        """One caller is the search alone, and stands once."""
        loops = (latency(), latency(concurrency=2), latency(concurrency=4, failed=3))
        came = latency(kind="open", rate=200.0, concurrency=4)
        report = report_of(a=indexed(latency=timings(closed=loops, open=came)), b=indexed(latency=None), c=indexed())
        rows = latency_table(report).texts
        asked = ["search alone", "end to end", "2 callers", "4 callers", "200 a second"]
        assert [row[:2] for row in rows] == [["a", way] for way in asked] + [["c", way] for way in asked[:2]]
        assert rows[3][-1] == "3"

    def test_a_service_has_no_search_alone(self) -> None:
        rows = latency_table(report_of(svc=indexed(latency=timings(index_only=None)))).texts
        assert [row[1] for row in rows] == ["end to end"]


class TestFilters:
    def test_cells(self) -> None:
        parts = (
            FilterResult("kind=boot", 0.125, 1_250, 3, 0.9876, 2.5),
            FilterResult("none", 1.0, 10_000, 1, nan, nan),
        )
        (found,) = tables_of(render_indexes(report_of(x=indexed(filters=parts)), False), "index", "filter")
        assert found.header == ["index", "filter", "items pass", "queries", "ANN recall", "p95 ms"]
        assert found.texts == [
            ["x", "kind=boot", "1,250 (12.5 %)", "3", "0.988", "2.50"],
            ["x", "none", "10,000 (100.0 %)", "1", "–", "–"],
        ]


class TestStability:
    def test_cells(self) -> None:
        found = stability_table(report_of())
        ((name, top1, topk, norm),) = found.texts
        assert found.header == ["system", "top-1 similarity", "top-10 similarity", "vector length"]
        assert (name, top1, topk, norm) == ("x", "0.8000 ± 0.1414", "0.6500 ± 0.3109", "1.0000 ± 0.0000")

    def test_distances_are_below_zero_by_a_minus_sign(self) -> None:
        report = with_only(report_of(), Stability, {"x": stable(top1=MeanStd(-1.25, 0.5))})
        assert stability_table(report).texts[0][1] == "−1.2500 ± 0.5000"

    @pytest.mark.parametrize(
        ("spread", "shown"),
        [(MeanStd(nan, nan), "–"), (MeanStd(0.5, nan), "0.5000"), (MeanStd(0.5, 0.25), "0.5000 ± 0.2500")],
    )
    def test_what_is_not_known_is_a_dash(self, spread: MeanStd, shown: str) -> None:
        report = with_only(report_of(), Stability, {"x": stable(norm=spread)})
        assert stability_table(report).texts[0][3] == shown


class TestLines:
    def told(self, **more: Any) -> list[str]:
        return index_lines(report_of(x=indexed(**more)))

    def test_whose_fault_a_loss_is(self) -> None:
        assert self.told() == [f"x: {NDCG}, ideal 1: the embedding loses 0.120, the index 0.0030 [0.0010, 0.0070]"]

    @pytest.mark.parametrize(
        ("difference", "ci", "shown"),
        [
            (0.0, (0.0, 0.0), "0.0000 [0.0000, 0.0000]"),
            (0.002, (-0.001, 0.005), "−0.0020 [−0.0050, 0.0010]"),
            (-0.0, (-0.00001, 0.00001), "0.0000 [0.0000, 0.0000]"),
            (0.00001, (0.0, 0.00002), "0.0000 [0.0000, 0.0000]"),
            (-0.003, None, "0.0030"),
        ],
    )
    def test_signs(self, difference: float, ci: Any, shown: str) -> None:
        """An index that gains loses less than nothing; nothing has no sign."""
        (line,) = self.told(loss=loss(difference=difference, ci=ci))
        assert line.endswith(f"the index {shown}")

    def test_no_loss_is_told_where_none_is_known(self) -> None:
        nothing = IndexLoss(NDCG, LossMean(nan), LossMean(nan), LossMean(nan))
        assert self.told(loss=None) == [] and self.told(loss=nothing) == []

    def test_similarities_that_rank_alike_are_told_once(self) -> None:
        same = MetricEquivalence(("cosine", "ip"), True, 10, 80, 0)
        report = report_of(
            a=indexed(loss=None, equivalence=same), b=indexed(loss=None, equivalence=same), c=indexed(loss=None)
        )
        assert index_lines(report) == ["cosine and inner product rank alike on normalised vectors: a, b"]

    @pytest.mark.parametrize(("differing", "told"), [(1, "1 query"), (3, "3 queries")])
    def test_a_counter_example_is_named(self, differing: int, told: str) -> None:
        sides = {"cosine": {"item": "a", "score": 0.5}, "ip": {"item": "b", "score": 0.25}}
        apart = MetricEquivalence(("cosine", "ip"), True, 10, 80, differing, {"query": "q7", "rank": 3} | sides)
        expected = f"x: cosine and ip rank {told} differently, first q7 at rank 3: a (0.50000) or b (0.25000)"
        assert self.told(loss=None, equivalence=apart) == [expected]
        nearly = replace(apart, normalised=False)
        assert self.told(loss=None, equivalence=nearly) == [f"{expected}; lengths are only nearly one"]

    def test_notes_of_the_engine(self) -> None:
        assert self.told(loss=None, facts={"notes": ["the index was not used"]}) == ["x: the index was not used"]


def items(*grades: tuple[str, float]) -> tuple[ExampleItem, ...]:
    return tuple(ExampleItem(id_, grade) for id_, grade in grades)


class TestExamples:
    ONE = Example("success", "q1", 0.98765, items(("a", 3.0), ("b", 0.0), ("c", 1.5), ("d", 1.0)), (), "red dress")
    OTHER = Example("failure", "q2", 0.0, items(("b", 0.0)), items(("a", 3.0), ("c", 1.0)))

    def lines(self, report: Report) -> list[str]:
        block = render_examples(report, False)
        return [] if block is None else list(block.lines)

    def test_best_and_worst_of_the_last_system(self) -> None:
        long = ExampleItem("a", 3.0, "A very long name of an item that goes on and on")
        one = replace(self.ONE, found=(long, *self.ONE.found[1:]))
        other = replace(self.OTHER, missed=(long, *self.OTHER.missed[1:]))
        found = {"x": Examples((other,)), "y": Examples((one, other))}
        assert self.lines(with_only(report_of(x=indexed(), y=indexed()), Examples, found)) == [
            "Best queries of y:",
            "  0.988  q1 “red dress”: A very long name of an item that goes o… (3), b (0), c (1.5)",
            "Worst queries of y:",
            "  0.000  q2: b (0); missed A very long name of an item that goes o… (3)",
        ]

    def test_five_of_each(self) -> None:
        assert len(self.lines(with_only(report_of(), Examples, {"x": Examples((self.ONE,) * 7)}))) == 1 + 5
        assert self.lines(report_of()) == []


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """What is printed on a screen of so many columns."""
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)

    def shown(report: Report, width: int) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        capsys.readouterr()
        for number, (_, block) in enumerate(render_sections(report, "console")):
            print("\n" * bool(number), end="")
            print_block(block)
        text = capsys.readouterr().out
        check_width(text, width)
        return [line.rstrip() for line in text.splitlines()]

    return shown


class TestScreens:
    def report(self) -> Report:
        loops = (latency(), latency(concurrency=2), latency(concurrency=4))
        timed = timings(closed=loops, open=latency(kind="open", rate=200.0))
        parts = (FilterResult("category=ankle boots", 0.125, 38, 3, 0.9876, 2.5),)
        report = report_of(
            exact=indexed(engine="exact", given={}, latency=timed),
            hnsw=indexed(latency=timed, filters=parts),
            pgvector=indexed(engine="pgvector", latency=timed, given={"index": "hnsw", "m": 8, "ef_search": 40}),
        )
        return with_only(report, Examples, {"hnsw": Examples((TestExamples.ONE, TestExamples.OTHER))})

    def heads(self, lines: list[str]) -> list[str]:
        """The heads of tables stand above a rule."""
        return [above for above, rule in pairwise(lines) if rule and set(rule) <= {"─"}]

    def test_at_130_columns(self, screen: Any) -> None:
        lines = screen(self.report(), 130)
        indexes, times, filters, stability = self.heads(lines)
        for name in ("engine", "ANN recall@10", "5th pct", "own exact", "build", "size", "p95 ms"):
            assert name in indexes
        assert "queries/s" in times and "items pass" in filters and "vector length" in stability
        assert any("faiss-hnsw (m 8, ef_search 32)" in line and "0.975 [0.950, 0.990]" in line for line in lines)
        assert any("2.00 [1.00, 4.00]" in line and "search alone" in line for line in lines), "intervals fit"

    def test_at_80_columns(self, screen: Any) -> None:
        """Less, but never half of a figure: the engine and the intervals of times stand in the report."""
        lines = screen(self.report(), 80)
        indexes, times, _, _ = self.heads(lines)
        assert indexes.split() == ["index", "ANN", "recall@10", "5th", "pct", "build", "size", "p95", "ms"]
        assert times.split()[:2] == ["index", "asked"] and times.split()[-1] == "failed"
        rows = [line.split() for line in lines]
        assert ["hnsw", "0.975", "[0.950,", "0.990]", "0.600", "12", "ms", "512.3", "kB", "2.00"] in rows
        assert ["hnsw", "search", "alone", "0.500", "2.00", "15", "500", "2,000", "0"] in rows
        assert ["pgvector", "200", "a", "second", "0.500", "2.00", "15", "500", "2,000", "0"] in rows

    def test_narrower_still(self, screen: Any) -> None:
        (indexes, *_) = self.heads(screen(self.report(), 60))
        assert "ANN recall@10" in indexes and "p95 ms" in indexes and "build" not in indexes

    def test_how_it_was_timed_is_said(self, screen: Any) -> None:
        text = " ".join(screen(self.report(), 130))
        assert "end to end: search + rows to ids" in text and "the clock itself 2.0 µs a query" in text
        assert "garbage collection" in text

    def test_nothing_was_timed(self, screen: Any) -> None:
        lines = screen(report_of(x=indexed(latency=None)), 80)
        assert len(self.heads(lines)) == 2 and not [line for line in lines if "clock" in line]

    def test_only_vectors(self, screen: Any) -> None:
        """Without an index there is only how stable the similarities are."""
        lines = screen(with_only(report_of(), IndexResult, {}), 80)
        assert [head.split()[0] for head in self.heads(lines)] == ["system"]

    def test_brackets_are_no_markup(self, screen: Any) -> None:
        bracketed = Examples((replace(TestExamples.ONE, text="[red] dress"),))
        report = with_only(report_of(), Examples, {"x": bracketed})
        assert any("“[red] dress”" in line for line in screen(report, 80))
