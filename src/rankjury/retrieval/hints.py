"""Hints: patterns in the values of a report with a known cause, and advice."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from math import isfinite, isnan, nan
from types import MappingProxyType
from typing import Any

from rankjury.core.text import plural
from rankjury.core.validation import FiniteFloat, Record
from rankjury.evaluation.drift import Drift
from rankjury.evaluation.report import Report
from rankjury.evaluation.scores import SystemResult
from rankjury.evaluation.sections import MeanStd, Section, Stability
from rankjury.retrieval.bench.latency import Latency
from rankjury.retrieval.bench.result import IndexResult
from rankjury.retrieval.diagnostics import SpaceDiagnostics
from rankjury.stats.formatting import format_interval, format_percent, format_value

GOOD_RECALL, GOOD_NDCG = 0.95, 0.85
"""Expected ANN recall of an index and nDCG of a ranking."""
_WEAK_QUERIES = 0.8
"""5th percentile of ANN recall below which some queries have poor results, whatever the mean."""
_LIST_WIDTHS, _GRAPH_WIDTHS = ("probes", "nprobe", "nprobes"), ("ef_search", "ef", "hnsw_ef", "expansion_search")
"""Search-width parameters of inverted lists and of graphs."""

Found = Iterator[tuple[str, float, str]]
"""The name of a value, the value, and what it means."""


@dataclass(frozen=True)
class Hint(Record):
    """Advice, and the value on which it is based."""

    json_keys = MappingProxyType({"text": "hint"})

    system: str
    text: str
    figure: str
    value: FiniteFloat

    def __str__(self) -> str:
        return f"{self.system}: {self.text}"


@dataclass(frozen=True, eq=False)
class Hints(Section):
    """Report section: hints on all systems."""

    name = "hints"
    json_field = "hints"

    hints: tuple[Hint, ...] = ()

    def __iter__(self) -> Iterator[Hint]:
        return iter(self.hints)


def find_hints(report: Report, drift: Drift | None = None) -> list[Hint]:
    """Return the hints on every system of a report, fresh or read back.

    Args:
        report: The report.
        drift: The drift of its system, if it is not the one in the report.

    Returns:
        By system: failures, index, order, drift, latency.
    """
    found = []
    for name, result in report.systems.items():
        index = report.section(IndexResult, name)
        drifted = drift if drift is not None and drift.system == name else report.section(Drift, name)
        patterns = []
        if index is not None:
            patterns += [_failed_queries(index), _low_recall(report, name, index), _unused_index(index), _loss(index)]
        patterns.append(_poor_order(result))
        patterns += [] if drifted is None else [_drift(drifted)]
        patterns += [] if index is None else [_slow_queries(index), _overloaded(index)]
        found += [Hint(name, text, figure, value) for figure, value, text in chain(*patterns)]
    return found


def _low_recall(report: Report, system: str, index: IndexResult) -> Found:
    recall, k = index.recall, index.recall.k
    if index.failed or isnan(recall.mean):
        return  # failed queries have no results, and a separate hint
    if recall.mean < GOOD_RECALL:
        ci = f" {format_interval(recall.ci)}" if recall.ci else ""
        text = f"ANN recall@{k} is {format_value(recall.mean, 3)}{ci}, below {GOOD_RECALL}: {_advise_width(index)}"
        yield f"ann_recall@{k}", recall.mean, text + _normalised(report, system, index)
    elif recall.p5 < _WEAK_QUERIES:
        means = f"{format_value(recall.mean, 3)} on average, but {format_value(recall.p5, 3)} at the 5th percentile"
        text = f"ANN recall@{k} is {means} of queries: {_advise_width(index)}{_normalised(report, system, index)}"
        yield f"ann_recall_p5@{k}", recall.p5, text


def _advise_width(index: IndexResult) -> str:
    search = index.search
    if index.facts.get("approximate") is False:
        return "the engine searches all its vectors, so check its metric, and how it stores the vectors"
    if index.own_exact is not None and index.own_exact.mean < GOOD_RECALL:
        shown = format_value(index.own_exact.mean, 3)
        return f"its exact mode finds {shown}, so check how it stores the vectors (rounded, halved) and its metric"
    # An engine with both kinds of index has both settings; the kind that was built is used.
    uses_lists = "ivf" in str(index.build.get("index"))
    widths = (*_LIST_WIDTHS, *_GRAPH_WIDTHS) if uses_lists else (*_GRAPH_WIDTHS, *_LIST_WIDTHS)
    name = next((name for name in widths if name in search), None)
    if name is not None:
        return f"raise {name}, now {search[name]}"
    force = ", ".join(f"{key} {value}" for key, value in search.items())
    return "raise the search width (probes, nprobe, ef_search)" + (f", now {force}" if force else "")


def _normalised(report: Report, system: str, index: IndexResult) -> str:
    """Return a note for the inner product: whether the vectors are normalised."""
    stability, space = report.section(Stability, system), report.section(SpaceDiagnostics, system)
    norm = MeanStd(space.norm.mean, space.norm.std) if space is not None else MeanStd(nan, nan)
    norm = norm if stability is None else stability.norm
    if index.metric != "ip" or isnan(norm.mean):
        return ""
    if _is_one(norm.mean) and not norm.std > 0.01:
        shown = format_value(norm.mean, 3)
        return f". The vectors are normalised (mean length {shown}), so the inner product is not the cause"
    lengths = format_value(norm.mean, 3) + ("" if isnan(norm.std) else f" ± {format_value(norm.std, 3)}")
    return (
        f". The vectors are not normalised (length {lengths}): graphs lose recall with inner product, so normalise them"
    )


def _unused_index(index: IndexResult) -> Found:
    proof = _table(_table(index.facts.get("proof")).get("index"))
    plan = f" (plan: {proof['plan']})" if proof.get("plan") else ""
    if proof.get("used") is False:
        means = "recall and latency are those of a scan: check probes and lists, the limit, filters, and ANALYZE"
        yield "index_used", 0.0, f"the planner did not use the index{plan}, so {means}"
    elif proof.get("held"):
        means = "as it will in production unless it is forced as well or the table grows"
        yield (
            "index_used",
            1.0,
            f"the planner by default scans the table, {means}; it was forced to use the index{plan}",
        )


def _loss(index: IndexResult) -> Found:
    """Yield a hint on whether the embedding or the index causes the loss."""
    loss = index.loss
    if loss is None or isnan(loss.exact.mean) or isnan(loss.index.mean):
        return
    exact, found, ci = loss.exact.mean, loss.index.mean, loss.index_loss.ci
    lost = exact - found
    if lost > 0.01 and (ci is None or ci[0] > 0):
        means = f"{format_value(exact, 3)} with exact search, {format_value(found, 3)} with the index"
        text = f"the index costs {format_value(lost, 3)} of {loss.measure} ({means}): {_advise_width(index)}"
        yield "index_loss", lost, text
    elif exact < loss.ideal * GOOD_NDCG:
        whole = format_value(loss.ideal - found, 3)
        what = f"of the {whole} missing in {loss.measure}, the embedding loses {format_value(loss.embedding_loss, 3)}"
        if index.facts.get("approximate") is not False:
            what += f" ({format_value(exact, 3)} with exact search too) and the index {format_value(lost, 3)}"
        yield "exact_search", exact, f"{what}: improve the model, the texts or the chunking, not the index"


def _poor_order(result: SystemResult) -> Found:
    means: dict[tuple[str, int], tuple[str, float]] = {}
    for label, measure in result.measures.items():
        if measure is not None and measure.k is not None and not isnan(result.estimates[label].mean):
            means.setdefault((measure.name, measure.k), (label, result.estimates[label].mean))
    shared = [k for name, k in means if name == "ndcg" and ("recall", k) in means]
    for k in sorted(shared, key=lambda k: (k != 10, k))[:1]:
        (ndcg, low), (recall, high) = means["ndcg", k], means["recall", k]
        if low < GOOD_NDCG and high >= 0.9:  # above this recall, a poor nDCG is caused by the order
            found = f"{ndcg} is {format_value(low, 3)} though {recall} is {format_value(high, 3)}"
            advice = f"re-rank the first {k}, with a cross-encoder for example, or filter by attributes"
            yield ndcg, low, f"{found}: relevant items are retrieved, but ranked too low; {advice}"


def _drift(drift: Drift) -> Found:
    worst, changes = drift.worst, drift.circumstances
    moved = 0.0 if worst is None else worst.change
    if drift.failed and worst is not None:
        by = f"by {format_percent(moved, 1, signed=True)}" if isfinite(moved) else "from 0"
        known = ", ".join(change.what for change in changes.changed)
        known = f"{known} changed" if known else "no declared change"
        known += "; check that model, version and chunking are unchanged"
        causes = "; ".join([known, *changes.undeclared, *_lengths(drift)])
        moves = (
            f"{worst.figure} moved {by} ({worst.old:.4g} → {worst.new:.4g}), allowed ±{format_percent(drift.allowed)}"
        )
        yield "drift", abs(moved if isfinite(moved) else worst.new), f"score drift: {moves}: {causes}"
    elif changes.undeclared:
        yield "drift", abs(moved), f"undeclared change: {'; '.join(changes.undeclared)}"


def _lengths(drift: Drift) -> Iterator[str]:
    """Yield notes on missing or double normalisation, from the norms."""
    norm = next((value for value in drift.moved if value.figure == "norm mean"), None)
    if norm is None or isnan(norm.old) or isnan(norm.new):
        return
    shown = f"mean length {format_value(norm.old, 3)} → {format_value(norm.new, 3)}"
    yield {
        (True, True): f"lengths are unchanged ({shown}), so normalisation of the items is not the cause",
        (False, True): f"vectors are normalised now, and were not before ({shown})",
        (True, False): f"normalisation is missing, or followed by another step ({shown}): normalise last, and once",
        (False, False): f"vectors are not normalised ({shown}): normalise them when they are written and when they "
        "are asked",
    }[_is_one(norm.old), _is_one(norm.new)]


def _slow_queries(index: IndexResult) -> Found:
    for prefix, words in (("latency", "index-only"), ("end_to_end", "end-to-end")):
        loop: Latency | None = getattr(index.latency, words.replace("-", "_"), None)
        if loop is None:
            continue
        usual, slow = loop.p50.ms, loop.p99.ms
        if usual and slow >= max(10 * usual, 10):
            more = f"; garbage collection took {loop.gc_ms:.3g} ms of the run" if loop.gc_ms else ""
            text = f"P99 of {words} latency is {slow:.3g} ms, {slow / usual:.1f} times P50 ({usual:.3g} ms){more}"
            yield f"{prefix}_p99_ms", slow, f"{text}: check the slowest queries, filters and other processes"
            return


def _overloaded(index: IndexResult) -> Found:
    loop = None if index.latency is None else index.latency.open
    if loop is not None and loop.n and loop.late is not None and loop.late > 0.5 * loop.n:
        late = loop.late / loop.n
        text = f"at {loop.rate:g} queries per second {format_percent(late)} were sent late, as all callers were busy"
        yield "open_loop_late", late, f"{text}: its percentiles show the length of the queue, not the speed"


def _failed_queries(index: IndexResult) -> Found:
    if index.failed:
        why = next((f": {_table(failure).get('why')}" for failure in index.facts.get("failures") or ()), "")
        text = f"{plural(index.failed, 'query', 'queries')} failed and count as empty results{why}"
        yield "failed_queries", float(index.failed), text
    times = index.latency
    loops = () if times is None else (times.index_only, times.end_to_end, *times.closed, times.open)
    timed = [loop for loop in loops if loop is not None]
    failed = sum(loop.failed for loop in timed)
    if failed:
        asked = failed + sum(loop.n for loop in timed)
        why = next((f": {message.message}" for loop in timed for message in loop.messages), "")
        yield "failed_timed", float(failed), f"{failed:,} of {asked:,} timed queries failed{why}"


def _is_one(length: float) -> bool:
    return abs(length - 1.0) <= 0.01


def _table(given: Any) -> Mapping[str, Any]:
    """Return a table of the engine's metadata, which may contain anything."""
    return given if isinstance(given, Mapping) else {}
