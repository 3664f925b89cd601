"""Hints: where the figures of a report show a pattern that has a known cause, what to look at, with the figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from karat.drift import Drift
from karat.errors import KaratError
from karat.measure import Measure
from karat.records import FiniteFloat, Record
from karat.saved import Saved
from karat.sections import Section
from karat.wording import bounds_shown, count, figure_shown, percent

__all__ = ["Hint", "Hints", "hints_of"]

GOOD_RECALL, GOOD_NDCG = 0.95, 0.85
"""What a search over an index, and a ranking, should reach."""
_WEAK_QUERIES = 0.8
"""ANN recall at the 5th percentile under which some queries are served badly, whatever the mean."""
_FOUND = 0.9
"""Recall of relevant items from which a poor nDCG is a matter of their order."""
_SMALL_LOSS = 0.01
_UNIT = 0.01
"""How far from 1 the lengths of normalised vectors may be."""
_FAR, _NOTICEABLE_MS = 10.0, 10.0
"""P99 in multiples of P50, and in milliseconds, from which the slow queries are a matter of their own."""
_MANY_LATE = 0.5
_WIDTHS = ("probes", "nprobe", "nprobes", "ef_search", "ef", "hnsw_ef", "expansion_search")
"""What sets how much of an index a query looks at: of lists, then of graphs."""
_OF_LISTS = 3
_USUAL_K = 10

Entry = Mapping[str, Any]
Found = Iterator[tuple[str, float, str]]
"""The figure, its value, and what it means."""


@dataclass(frozen=True)
class Hint(Record):
    """What to look at, and the figure that says so."""

    json_keys = MappingProxyType({"text": "hint"})

    system: str
    text: str
    figure: str
    value: FiniteFloat

    def __str__(self) -> str:
        return f"{self.system}: {self.text}"


@dataclass(frozen=True, eq=False)
class Hints(Section):
    """What patterns among the values of a report suggest to do."""

    name = "hints"
    json_field = "hints"

    hints: tuple[Hint, ...] = ()

    def __iter__(self) -> Iterator[Hint]:
        return iter(self.hints)


def hints_of(saved: Saved, drift: Drift | None = None) -> list[Hint]:
    """Of every system. Drift is the one given, for its system, or what the report holds of it."""
    found = []
    for name, entry in saved.systems.items():
        known = {**entry, "drift": drift.to_json()} if drift is not None and drift.system == name else entry
        for look in (_failed, _recall, _proof, _loss, _order, _drift, _slow, _overloaded):
            found += [Hint(name, text, figure, value) for figure, value, text in look(known)]
    return found


def _recall(entry: Entry) -> Found:
    """Too little is found of what is truly nearest."""
    index = _table(entry, "index")
    recall = _table(index, "recall")
    mean, low, k = recall.get("mean"), recall.get("p5"), recall.get("k")
    if index.get("failed"):
        return  # told of by itself: what failed found nothing
    if mean is not None and mean < GOOD_RECALL:
        ci = f" {bounds_shown(tuple(recall['ci']))}" if recall.get("ci") else ""
        text = f"ANN recall@{k} is {figure_shown(mean, 3)}{ci}, below {GOOD_RECALL}: {_wider(index)}"
        yield f"ann_recall@{k}", mean, text + _normalised(entry)
    elif mean is not None and low is not None and low < _WEAK_QUERIES:
        text = f"ANN recall@{k} is {figure_shown(mean, 3)} on average, but {figure_shown(low, 3)} at the 5th percentile"
        yield f"ann_recall_p5@{k}", low, f"{text} of queries: {_wider(index)}{_normalised(entry)}"


def _wider(index: Entry) -> str:
    """What would find more."""
    own, facts, search = (_table(index, name) for name in ("own_exact", "facts", "search"))
    if facts.get("approximate") is False:
        return "the engine looks at everything it holds, so compare its metric, and how it stores the vectors"
    if own.get("mean") is not None and own["mean"] < GOOD_RECALL:
        shown = figure_shown(own["mean"], 3)
        return (
            f"its own exact mode finds {shown}, so look at how it stores the vectors (rounded, halved) and its metric"
        )
    known = [name for name in _WIDTHS if name in search]
    lists = [name for name in known if name in _WIDTHS[:_OF_LISTS]]
    # An engine with both kinds of index has both settings; the kind that was built is in force.
    chosen = lists if "ivf" in str(_table(index, "build").get("index")) else [n for n in known if n not in lists]
    name = next(iter(chosen or known), None)
    if name is not None:
        return f"raise {name}, now {search[name]}"
    force = ", ".join(f"{key} {value}" for key, value in search.items())
    return "raise how much of it a query looks at (probes, nprobe, ef_search)" + (f", now {force}" if force else "")


def _normalised(entry: Entry) -> str:
    """Under the inner product: whether it can stand for the cosine."""
    norm = _table(_table(entry, "stability"), "norm") or _table(_table(entry, "space"), "norm")
    mean, std = norm.get("mean"), norm.get("std")
    if _table(entry, "index").get("metric") != "ip" or mean is None:
        return ""
    if _is_one(mean) and (std or 0.0) <= _UNIT:
        return (
            f". The vectors are normalised (mean length {figure_shown(mean, 3)}), so the inner product is not to blame"
        )
    lengths = figure_shown(mean, 3) + ("" if std is None else f" ± {figure_shown(std, 3)}")
    return (
        f". The vectors are not normalised (length {lengths}): by inner product graphs lose recall, so normalise them"
    )


def _proof(entry: Entry) -> Found:
    """The database chose not to use the index."""
    proof = _table(_table(_table(_table(entry, "index"), "facts"), "proof"), "index")
    plan = f" (plan: {proof['plan']})" if proof.get("plan") else ""
    if proof.get("used") is False:
        means = "recall and latency are those of a scan: look at probes against lists, the limit, filters, and ANALYZE"
        yield "index_used", 0.0, f"the planner did not use the index{plan}, so {means}"
    elif proof.get("held"):
        means = "which it does in production too unless it is told the same or the table grows"
        yield "index_used", 1.0, f"the planner by itself would scan the table, {means}; it was held to the index{plan}"


def _loss(entry: Entry) -> Found:
    """Whose fault a loss is: the embedding's or the index's."""
    index = _table(entry, "index")
    loss = _table(index, "loss")
    exact, found = _table(loss, "exact").get("mean"), _table(loss, "index").get("mean")
    if exact is None or found is None:
        return
    measure, ideal, lost = loss.get("measure"), loss.get("ideal") or 1.0, exact - found
    ci = _table(loss, "index_loss").get("ci")
    if lost > _SMALL_LOSS and (not ci or ci[0] > 0):
        means = f"{figure_shown(exact, 3)} with exact search, {figure_shown(found, 3)} with the index"
        yield "index_loss", lost, f"the index costs {figure_shown(lost, 3)} of {measure} ({means}): {_wider(index)}"
    elif exact < ideal * GOOD_NDCG:
        whole = figure_shown(ideal - found, 3)
        what = f"of the {whole} that {measure} lacks, {figure_shown(ideal - exact, 3)} is the embedding's"
        if _table(index, "facts").get("approximate") is not False:
            what += f" ({figure_shown(exact, 3)} with exact search too) and {figure_shown(lost, 3)} the index's"
        yield "exact_search", exact, f"{what}: look at the model, the texts and the chunking, not at the index"


def _order(entry: Entry) -> Found:
    """What is relevant is found, but stands too low."""
    means: dict[tuple[str, int], tuple[str, float]] = {}
    for label, one in _table(entry, "measures").items():
        try:
            measure = Measure.parse(one.get("convention") or label)
        except KaratError:  # a measure of somebody's own, not installed here
            continue
        if measure.k is not None and one.get("mean") is not None:
            means.setdefault((measure.name, measure.k), (label, one["mean"]))
    shared = sorted(
        (k for name, k in means if name == "ndcg" and ("recall", k) in means), key=lambda k: (k != _USUAL_K, k)
    )
    for k in shared[:1]:
        (ndcg, low), (recall, high) = means["ndcg", k], means["recall", k]
        if low < GOOD_NDCG and high >= _FOUND:
            found = f"{ndcg} is {figure_shown(low, 3)} though {recall} is {figure_shown(high, 3)}"
            advice = f"re-rank the first {k}, with a cross-encoder for example, or filter by attributes"
            yield ndcg, low, f"{found}: what is relevant is found, but stands too low; {advice}"


def _drift(entry: Entry) -> Found:
    """Figures moved since the earlier report."""
    drift = _table(entry, "drift")
    worst, undeclared = _table(drift, "worst"), list(drift.get("undeclared") or ())
    moved = worst.get("change")
    if drift.get("verdict") == "fail":
        old, new, allowed = worst["old"], worst["new"], percent(drift["allowed"])
        by = "from 0" if moved is None else f"by {_signed(moved)}"
        causes = "; ".join([*_causes(drift), *undeclared, *_lengths(drift)])
        text = f"score drift: {worst['figure']} moved {by} ({old:.4g} → {new:.4g}), allowed ±{allowed}: {causes}"
        yield "drift", abs(new if moved is None else moved), text
    elif undeclared:
        yield "drift", abs(moved or 0.0), f"undeclared change: {'; '.join(undeclared)}"


def _causes(drift: Entry) -> Iterator[str]:
    changed = [one["what"] for one in drift.get("changed") or ()]
    known = ", ".join(changed) + " changed" if changed else "no change is declared"
    yield f"{known}; check that model, version and chunking are as before"


def _lengths(drift: Entry) -> Iterator[str]:
    """Missing or double normalisation shows in the lengths of vectors."""
    norm: Entry = next((one for one in drift.get("figures") or () if one["figure"] == "norm mean"), {})
    old, new = norm.get("old"), norm.get("new")
    if old is None or new is None:
        return
    shown = f"mean length {figure_shown(old, 3)} → {figure_shown(new, 3)}"
    if _is_one(new):
        yield (
            f"vectors are normalised now, and were not before ({shown})"
            if not _is_one(old)
            else (f"lengths are as before ({shown}), so normalisation of the items is not to blame")
        )
    elif _is_one(old):
        yield f"normalisation is missing, or followed by another step ({shown}): normalise last, and once"
    else:
        yield f"vectors are not normalised ({shown}): normalise them when they are written and when they are asked"


def _slow(entry: Entry) -> Found:
    """A few queries take far longer than most."""
    latency = _table(_table(entry, "index"), "latency")
    for part, words in (("index_only", "index-only"), ("end_to_end", "end-to-end")):
        one = _table(latency, part)
        usual, slow = (_table(one, name).get("ms") for name in ("p50", "p99"))
        if usual and slow and slow >= max(_FAR * usual, _NOTICEABLE_MS):
            collected = one.get("gc_ms") or 0.0
            told = f"; garbage collection took {collected:.3g} ms of the run" if collected else ""
            text = f"P99 of {words} latency is {slow:.3g} ms, {slow / usual:.1f} times P50 ({usual:.3g} ms){told}"
            prefix = "latency" if part == "index_only" else part
            yield f"{prefix}_p99_ms", slow, f"{text}: look at the slowest queries, at filters and at what else runs"
            return


def _overloaded(entry: Entry) -> Found:
    """Queries came faster than they were answered."""
    loop = _table(_table(_table(entry, "index"), "latency"), "open")
    late, n = loop.get("late"), loop.get("n")
    if late and n and late > _MANY_LATE * n:
        text = f"at {loop['rate']:g} queries a second {percent(late / n)} were asked late, as all callers were busy"
        yield "open_loop_late", late / n, f"{text}: its percentiles tell how long the queue grew, not how fast it is"


def _failed(entry: Entry) -> Found:
    """Queries without an answer."""
    index = _table(entry, "index")
    if index.get("failed"):
        text = f"{count(index['failed'], 'query', 'queries')} brought no answer and count as found nothing"
        yield "failed_queries", float(index["failed"]), text + _reasons(_table(index, "facts").get("failures") or ())
    latency = _table(index, "latency")
    loops = [latency.get("index_only"), latency.get("end_to_end"), *(latency.get("closed") or ()), latency.get("open")]
    timed = [loop for loop in loops if loop]
    failed = sum(loop.get("failed") or 0 for loop in timed)
    if failed:
        asked = failed + sum(loop.get("n") or 0 for loop in timed)
        reasons = [one for loop in timed for one in loop.get("messages") or ()]
        yield "failed_timed", float(failed), f"{failed:,} of {asked:,} timed queries failed" + _reasons(reasons)


def _reasons(given: Sequence[Entry]) -> str:
    """The first of them."""
    why = next((one.get("why") or one.get("message") for one in given), None)
    return f": {why}" if why else ""


def _is_one(length: float) -> bool:
    return abs(length - 1.0) <= _UNIT


def _signed(share: float) -> str:
    return percent(share, 1, signed=True)


def _table(entry: Entry, name: str) -> Entry:
    found = entry.get(name)
    return found if isinstance(found, Mapping) else {}
