"""What was found of indexes, as cells and lines: recall, loss, latency, filters, stability."""

from collections.abc import Iterator
from math import isnan

from karat.indexed import Equivalence, Indexed, Loss
from karat.report import Report
from karat.reports.table import Table
from karat.stability import Spread, Stability
from karat.timing.summary import Latency
from karat.wording import count, percent

__all__ = ["filters_table", "index_lines", "index_table", "latency_table", "stability_table", "without"]

_KILO = 1_000


def index_table(report: Report) -> Table:
    """A row an index: what it is, what it finds of the exact neighbours, what it costs."""
    k = next(iter(report.sections_of(Indexed).values())).recall.k
    header = ["index", "engine", f"ANN recall@{k}", "5th pct", "own exact", "build", "size", "p95 ms"]
    return header, [_row(name, one) for name, one in report.sections_of(Indexed).items()]


def without(table: Table, *columns: int) -> Table:
    """A table with some of its columns left out, for narrow screens."""
    header, rows = table
    kept = [place for place in range(len(header)) if place not in columns]
    return [header[place] for place in kept], [[row[place] for place in kept] for row in rows]


def _row(name: str, one: Indexed) -> list[str]:
    own = "–" if one.own_exact is None else f"{one.own_exact.mean:.3f}"
    p95 = "–" if one.latency is None else _milliseconds((one.latency.index_only or one.latency.end_to_end).p95.ms)
    known = one.recall.n > 0
    return [
        name,
        _engine_shown(one),
        _with_interval(one.recall.mean, one.recall.ci) if known else "–",
        f"{one.recall.p5:.3f}" if known else "–",
        own,
        _seconds_shown(one.build_seconds),
        _size_shown(one.size_bytes),
        p95,
    ]


def _engine_shown(one: Indexed) -> str:
    shown = ", ".join(f"{name} {value}" for name, value in one.given.items())
    return f"{one.engine} ({shown})" if shown else one.engine


def latency_table(report: Report, *, intervals: bool = True) -> Table:
    """A row a way of asking: percentiles with their intervals, the longest, queries a second, failures."""
    header = ["index", "asked", "p50 ms", "p95 ms", "p99 ms", "max ms", "queries/s", "failed"]
    rows = []
    for name, one in report.sections_of(Indexed).items():
        if one.latency is None:
            continue
        ways = [("search alone", one.latency.index_only), ("end to end", one.latency.end_to_end)]
        ways += [
            (f"{count(loop.concurrency, 'caller', 'callers')}", loop)
            for loop in one.latency.closed
            if loop.concurrency > 1
        ]
        if one.latency.open is not None:
            ways.append((f"{one.latency.open.rate:g} a second", one.latency.open))
        rows += [_latency_row(name, way, loop, intervals) for way, loop in ways if loop is not None]
    return header, rows


def _latency_row(name: str, way: str, one: Latency, intervals: bool) -> list[str]:
    percentiles = [_percentile_shown(one, share, intervals) for share in ("p50", "p95", "p99")]
    return [name, way, *percentiles, _milliseconds(one.max_ms), f"{one.qps:,.0f}", f"{one.failed:,}"]


def _percentile_shown(latency: Latency, name: str, interval: bool) -> str:
    one = latency.percentiles[name]
    if one.ci is None or not interval:
        return _milliseconds(one.ms)
    above = "" if one.bounded else "+"
    return f"{_milliseconds(one.ms)} [{_milliseconds(one.ci[0])}, {_milliseconds(one.ci[1])}{above}]"


def filters_table(report: Report) -> Table:
    """A row a filter, the most selective first."""
    header = ["index", "filter", "items pass", "queries", "ANN recall", "p95 ms"]
    rows = [
        [
            name,
            part.filter,
            f"{part.items:,} ({percent(part.selectivity, 1)})",
            f"{part.queries:,}",
            "–" if part.recall != part.recall else f"{part.recall:.3f}",
            _milliseconds(part.p95_ms),
        ]
        for name, one in report.sections_of(Indexed).items()
        for part in one.filters
    ]
    return header, rows


def stability_table(report: Report) -> Table:
    """A row a system: how alike its first items are, and how long its vectors."""
    k = next(iter(report.sections_of(Stability).values())).k
    rows = [
        [
            name,
            _spread_shown(one.top1),
            _spread_shown(one.topk),
            _spread_shown(one.norm),
        ]
        for name, one in report.sections_of(Stability).items()
    ]
    return ["system", "top-1 similarity", f"top-{k} similarity", "vector length"], rows


def _spread_shown(one: Spread) -> str:
    if one.mean != one.mean:
        return "–"
    return _signed(one.mean) + (f" ± {one.std:.4f}" if one.std == one.std else "")


def index_lines(report: Report) -> Iterator[str]:
    """Whose fault a loss is; whether cosine and inner product agree; what proves how it was searched."""
    for name, one in report.sections_of(Indexed).items():
        if one.loss is not None and not isnan(one.loss.index.mean):
            yield f"{name}: {_loss_told(one.loss, filtered=bool(one.filters))}"
        if one.equivalence is not None and one.equivalence.differing:
            yield f"{name}: {_differing(one.equivalence)}"
        yield from (f"{name}: {note}" for note in one.facts.get("notes", ()))
    agreeing = [
        name for name, one in report.sections_of(Indexed).items() if one.equivalence and not one.equivalence.differing
    ]
    if agreeing:
        yield f"cosine and inner product rank alike on normalised vectors: {', '.join(agreeing)}"


def _differing(found: Equivalence) -> str:
    """``cosine and ip rank 2 queries differently, first q19 at rank 7: f012 (0.51234) or f034 (0.51231)``"""
    example = found.example or {}
    queries = count(found.differing, "query", "queries")
    chosen = [example[one] for one in found.metrics if one in example]
    sides = " or ".join(f"{one['item']} ({one['score']:.5f})" for one in chosen)
    why = "" if found.normalised else "; lengths are only nearly one"
    place = f"first {example.get('query')} at rank {example.get('rank')}: {sides}"
    return f"{' and '.join(found.metrics)} rank {queries} differently, {place}{why}"


def _loss_told(loss: Loss, *, filtered: bool) -> str:
    """``ndcg@10 of 1.000 ideal: the embedding loses 0.120, the index 0.003 [0.000, 0.007]``"""
    ci = loss.index_loss.ci
    interval = "" if ci is None else f" [{_signed(ci[0])}, {_signed(ci[1])}]"
    lost = f"{_signed(loss.index_loss.mean)}{interval}"
    who = "the embedding and the filter lose" if filtered else "the embedding loses"
    return f"{loss.measure}, ideal 1: {who} {loss.embedding_loss:.3f}, the index {lost}"


def _signed(value: float) -> str:
    """With four decimals; what rounds to nothing has no sign."""
    return f"{value:z.4f}".replace("-", "−")


def _with_interval(value: float, ci: tuple[float, float] | None) -> str:
    return f"{value:.3f}" if ci is None else f"{value:.3f} [{ci[0]:.3f}, {ci[1]:.3f}]"


def _milliseconds(value: float) -> str:
    if value != value:
        return "–"
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _seconds_shown(seconds: float) -> str:
    return f"{seconds * _KILO:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _size_shown(size: int | None) -> str:
    if size is None:
        return "–"
    for unit, of in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= of:
            return f"{size / of:.1f} {unit}"
    return f"{size} B"
