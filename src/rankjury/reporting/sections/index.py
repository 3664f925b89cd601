"""Renderer of index benchmarks: recall, loss, latency and filters of each index, and the stability of similarities."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan

from rankjury.core.text import plural
from rankjury.evaluation.examples import Example, ExampleItem, Examples
from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import MeanStd, Stability
from rankjury.reporting.charts.sections import frontier_chart, top1_charts
from rankjury.reporting.sections import SectionBlock, renderer
from rankjury.reporting.tables import TextTable, cut_name, make_table
from rankjury.retrieval.bench.latency import Latency, Percentile
from rankjury.retrieval.bench.result import IndexLatency, IndexLoss, IndexResult, MetricEquivalence
from rankjury.retrieval.hints import Hint, Hints
from rankjury.stats.formatting import NO_VALUE, format_percent

_EXAMPLES_SHOWN, _ITEMS_SHOWN = 5, 3
_LONGEST_NAME = 40
_NOT_ON_PAGE = frozenset({"console", "markdown", "notebook", "pull-request"})
"""The page has examples of its own, which can be opened."""


@renderer("index")
def render_indexes(report: Report, brief: bool) -> SectionBlock | None:
    """Return what each index finds of the exact neighbours, what it costs, and whose fault a loss is."""
    found = report.sections_of(IndexResult)
    if not found:
        return None
    tables = [_index_table(found), _latency_table(found), _filters_table(found)]
    shown = [table for table in tables if table]
    return SectionBlock(
        "Indexes", shown, tuple(_lines(found)), charts=lambda: list(filter(None, [frontier_chart(report)])), order=50
    )


@renderer("stability")
def render_stability(report: Report, brief: bool) -> SectionBlock | None:
    """Return the similarities of each system's first items, and the lengths of its vectors."""
    found = report.sections_of(Stability)
    if not found:
        return None
    header = ["system", "top-1 similarity", f"top-{next(iter(found.values())).k} similarity", "vector length"]
    rows = [
        [name, *map(_format_spread, (stability.top1, stability.topk, stability.norm))]
        for name, stability in found.items()
    ]
    notes = ["mean ± standard deviation; rankjury drift compares them with those of an earlier report"]
    table = make_table(header, rows, wraps=(0,), notes=notes)
    return SectionBlock("Stability", [table], charts=lambda: top1_charts(report), order=51)


@renderer("examples")
def render_examples(report: Report, brief: bool) -> SectionBlock | None:
    """Return the best and worst queries of the last system, with the first items of each."""
    lines = []
    for system, examples in list(report.sections_of(Examples).items())[-1:]:
        for kind, title in (("success", "Best"), ("failure", "Worst")):
            chosen = [example for example in examples if example.kind == kind][:_EXAMPLES_SHOWN]
            if chosen:
                lines += [f"{title} queries of {system}:", *(f"  {_example_line(example)}" for example in chosen)]
    return SectionBlock("Examples", lines=lines, order=53, only=_NOT_ON_PAGE) if lines else None


@renderer("hints")
def render_hints(report: Report, brief: bool) -> SectionBlock | None:
    """Return one line per hint; in brief one per pattern, of the last system that shows it, which is under trial."""
    hints = list(report.section(Hints) or ())
    lines = [] if brief else list(map(str, hints))
    patterns: dict[str, list[Hint]] = {}
    for hint in hints if brief else ():
        patterns.setdefault(hint.figure, []).append(hint)
    for found in patterns.values():
        others = ", ".join(dict.fromkeys(hint.system for hint in found[:-1]))
        lines.append(f"Hint: {found[-1]}" + (f" (so with {others})" if others else ""))
    return SectionBlock("Hints", lines=lines, order=54) if lines else None


def _index_table(indexes: Mapping[str, IndexResult]) -> TextTable:
    """Return one row per index."""
    rows = []
    for name, index in indexes.items():
        given = ", ".join(f"{param} {value}" for param, value in index.given.items())
        ci = "" if index.recall.ci is None else f" [{index.recall.ci[0]:.3f}, {index.recall.ci[1]:.3f}]"
        recall = [f"{index.recall.mean:.3f}{ci}", f"{index.recall.p5:.3f}"] if index.recall.n > 0 else [NO_VALUE] * 2
        timed = None if index.latency is None else index.latency.index_only or index.latency.end_to_end
        rows.append(
            [
                name,
                f"{index.engine} ({given})" if given else index.engine,
                *recall,
                NO_VALUE if index.own_exact is None else f"{index.own_exact.mean:.3f}",
                f"{index.build_seconds * 1000:.0f} ms" if index.build_seconds < 1 else f"{index.build_seconds:.1f} s",
                _format_size(index.size_bytes),
                NO_VALUE if timed is None else _format_ms(timed.p95.ms),
            ]
        )
    k = next(iter(indexes.values())).recall.k
    header = ["index", "engine", f"ANN recall@{k}", "5th pct", "own exact", "build", "size", "p95 ms"]
    return make_table(header, rows, text=(0, 1), wraps=(0, 1)).dropping("own exact", "engine", "build")


def _latency_table(indexes: Mapping[str, IndexResult]) -> TextTable:
    """Return one row per way of asking, with and, where that is too wide, without intervals."""
    timed = {name: index.latency for name, index in indexes.items() if index.latency is not None}
    loops: list[tuple[str, str, Latency]] = []
    for name, latency in timed.items():
        ways = [("search alone", latency.index_only), ("end to end", latency.end_to_end)]
        ways += [
            (plural(each.concurrency, "caller", "callers"), each) for each in latency.closed if each.concurrency > 1
        ]
        ways += [(f"{latency.open.rate:g} a second", latency.open)] if latency.open is not None else []
        loops += [(name, way, loop) for way, loop in ways if loop is not None]
    header = ["index", "asked", "p50 ms", "p95 ms", "p99 ms", "max ms", "queries/s", "failed"]
    layouts = []
    for intervals in (True, False):
        rows = []
        for name, way, loop in loops:
            percentiles = [_format_percentile(loop.percentiles[share], intervals) for share in ("p50", "p95", "p99")]
            rows.append([name, way, *percentiles, _format_ms(loop.max_ms), f"{loop.qps:,.0f}", f"{loop.failed:,}"])
        layouts.append(make_table(header, rows, text=(0, 1), wraps=(0, 1), notes=_clock_notes(list(timed.values()))))
    return replace(layouts[0], narrower=tuple(layouts[1:]))


def _clock_notes(timed: Sequence[IndexLatency]) -> list[str]:
    """Return what the clock itself costs, and what end to end includes."""
    if not timed:
        return []
    loops = [
        loop
        for latency in timed
        for loop in (latency.index_only or latency.end_to_end, latency.end_to_end, *latency.closed)
    ]
    overhead, collected = max(loop.overhead_us for loop in loops), sum(loop.gc_ms for loop in loops)
    whole = " or ".join(dict.fromkeys(" + ".join(latency.includes) for latency in timed))
    return [
        f"each query alone, {loops[0].n:,} times in all; end to end: {whole}; "
        f"the clock itself {overhead:.1f} µs a query; garbage collection {collected:.1f} ms in all"
    ]


def _format_percentile(percentile: Percentile, interval: bool) -> str:
    text, ci = _format_ms(percentile.ms), percentile.ci
    if ci is None or not interval:
        return text
    return f"{text} [{_format_ms(ci[0])}, {_format_ms(ci[1])}{'' if percentile.bounded else '+'}]"


def _filters_table(indexes: Mapping[str, IndexResult]) -> TextTable:
    """Return one row per filter, the most selective first."""
    rows = [
        [
            name,
            part.filter,
            f"{part.items:,} ({format_percent(part.selectivity, 1)})",
            f"{part.queries:,}",
            NO_VALUE if isnan(part.recall) else f"{part.recall:.3f}",
            _format_ms(part.p95_ms),
        ]
        for name, index in indexes.items()
        for part in index.filters
    ]
    header = ["index", "filter", "items pass", "queries", "ANN recall", "p95 ms"]
    return make_table(header, rows, text=(0, 1), wraps=(0, 1))


def _format_spread(spread: MeanStd) -> str:
    if isnan(spread.mean):
        return NO_VALUE
    return _signed(spread.mean) + ("" if isnan(spread.std) else f" ± {spread.std:.4f}")


def _lines(indexes: Mapping[str, IndexResult]) -> Iterator[str]:
    """Yield what causes a loss; whether cosine and inner product agree; what proves how it was searched."""
    for name, index in indexes.items():
        if index.loss is not None and not isnan(index.loss.index.mean):
            yield f"{name}: {_format_loss(index.loss, filtered=bool(index.filters))}"
        if index.equivalence is not None and index.equivalence.differing:
            yield f"{name}: {_format_differing(index.equivalence)}"
        yield from (f"{name}: {note}" for note in index.facts.get("notes", ()))
    agreeing = [name for name, index in indexes.items() if index.equivalence and not index.equivalence.differing]
    if agreeing:
        yield f"cosine and inner product rank alike on normalised vectors: {', '.join(agreeing)}"


def _format_differing(metrics: MetricEquivalence) -> str:
    """``cosine and ip rank 2 queries differently, first q19 at rank 7: f012 (0.51234) or f034 (0.51231)``"""
    example = metrics.example or {}
    chosen = [example[metric] for metric in metrics.metrics if metric in example]
    sides = " or ".join(f"{side['item']} ({side['score']:.5f})" for side in chosen)
    why = "" if metrics.normalised else "; lengths are only nearly one"
    place = f"first {example.get('query')} at rank {example.get('rank')}: {sides}"
    queries = plural(metrics.differing, "query", "queries")
    return f"{' and '.join(metrics.metrics)} rank {queries} differently, {place}{why}"


def _format_loss(loss: IndexLoss, *, filtered: bool) -> str:
    """``ndcg@10 of 1.000 ideal: the embedding loses 0.120, the index 0.003 [0.000, 0.007]``"""
    ci = loss.index_loss.ci
    lost = _signed(loss.index_loss.mean) + ("" if ci is None else f" [{_signed(ci[0])}, {_signed(ci[1])}]")
    causes = "the embedding and the filter lose" if filtered else "the embedding loses"
    return f"{loss.measure}, ideal 1: {causes} {loss.embedding_loss:.3f}, the index {lost}"


def _signed(value: float) -> str:
    """Return a value with four decimals; what rounds to 0 has no sign."""
    return f"{value:z.4f}".replace("-", "−")


def _format_ms(value: float) -> str:
    if isnan(value):
        return NO_VALUE
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _format_size(size: int | None) -> str:
    if size is None:
        return NO_VALUE
    for unit, of in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= of:
            return f"{size / of:.1f} {unit}"
    return f"{size} B"


def _example_line(example: Example) -> str:
    text = example.text
    name = f"{example.query} “{text}”" if text else example.query
    items = ", ".join(map(_format_item, example.found[:_ITEMS_SHOWN]))
    lacking = example.missed[:1] if example.kind == "failure" else ()
    missed = "".join(f"; missed {_format_item(item)}" for item in lacking)
    return f"{example.score:.3f}  {name}: {items}{missed}"


def _format_item(item: ExampleItem) -> str:
    return f"{cut_name(item.name or item.id, _LONGEST_NAME)} ({item.grade:g})"
