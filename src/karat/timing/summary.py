"""Latency: percentiles with intervals, the longest, queries a second, and what was counted in."""

from collections import Counter
from dataclasses import dataclass
from math import fsum, isnan, nan

from karat.records import Record
from karat.timing.quantiles import Percentile, percentile_of
from karat.timing.timed import Loop, Timed

__all__ = ["SHARES", "FailureCount", "Latency", "Percentile", "summarise"]

SHARES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}
_MESSAGES_KEPT = 3


@dataclass(frozen=True)
class FailureCount(Record):
    """Why queries failed, and how many did so."""

    message: str
    count: int


@dataclass(frozen=True)
class Latency(Record):
    """Times of the queries of one loop."""

    omitted = ("late", "messages", "not_asked")

    kind: Loop
    concurrency: int
    rate: float | None
    n: int
    """How many were answered: percentiles, the longest and the mean are over these."""
    failed: int
    p50: Percentile
    p95: Percentile
    p99: Percentile
    max_ms: float
    mean_ms: float
    qps: float
    """Answered in a second."""
    gc_ms: float
    overhead_us: float
    late: int | None = None
    """Of the open loop: how many were asked later than they were due, as all workers were busy."""
    messages: tuple[FailureCount, ...] = ()
    """The most frequent."""
    not_asked: int = 0
    """How many were planned and never came to be asked, as the loop gave up before."""

    @property
    def percentiles(self) -> dict[str, Percentile]:
        """By name."""
        return {"p50": self.p50, "p95": self.p95, "p99": self.p99}

    def figures(self, prefix: str) -> dict[str, float]:
        """Milliseconds by name, such as ``latency_p95_ms`` for the prefix ``latency``; only those that are known."""
        found = {name: one.ms for name, one in self.percentiles.items()} | {"mean": self.mean_ms, "max": self.max_ms}
        return {f"{prefix}_{name}_ms": ms for name, ms in found.items() if not isnan(ms)}


def summarise(timed: Timed, *, level: float = 0.95) -> Latency:
    """Percentiles over the queries that were answered, each with an interval at this level."""
    answered = timed.answered
    messages = Counter(message for _, message in timed.failures)
    return Latency(
        kind=timed.kind,
        concurrency=timed.concurrency,
        rate=timed.rate,
        n=answered.size,
        failed=len(timed.failures),
        **{name: percentile_of(answered, share, level) for name, share in SHARES.items()},
        max_ms=float(answered.max()) * 1e3 if answered.size else nan,
        mean_ms=fsum(answered.tolist()) / answered.size * 1e3 if answered.size else nan,
        qps=answered.size / timed.wall if timed.wall > 0 else nan,
        gc_ms=timed.gc_seconds * 1e3,
        overhead_us=timed.overhead_seconds * 1e6,
        late=timed.late if timed.kind == "open" else None,
        messages=tuple(FailureCount(*one) for one in messages.most_common(_MESSAGES_KEPT)),
        not_asked=max(0, timed.planned - timed.seconds.size),
    )
