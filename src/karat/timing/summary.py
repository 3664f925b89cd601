"""Latency: percentiles with intervals, the longest, queries a second, and what was counted in."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum, isnan, nan
from typing import Any

from karat.timing.quantiles import Percentile, percentile_of
from karat.timing.timed import Loop, Timed

__all__ = ["SHARES", "Latency", "Percentile", "summarise"]

SHARES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}
_MESSAGES_KEPT = 3


@dataclass(frozen=True)
class Latency:
    """Of the queries of one loop, in seconds."""

    kind: Loop
    concurrency: int
    rate: float | None
    n: int
    """How many were answered: percentiles, the longest and the mean are over these."""
    failed: int
    percentiles: Mapping[str, Percentile]
    """By name: p50, p95, p99."""
    longest: float
    mean: float
    qps: float
    """Answered in a second."""
    gc_seconds: float
    overhead_seconds: float
    level: float
    messages: tuple[tuple[str, int], ...] = ()
    """Why queries failed and how many did so: the most frequent."""
    late: int = 0
    """Of the open loop: how many were asked later than they were due, as all workers were busy."""
    not_asked: int = 0
    """How many were planned and never came to be asked, as the loop gave up before."""

    @property
    def p50(self) -> float:
        return self.percentiles["p50"].seconds

    @property
    def p95(self) -> float:
        return self.percentiles["p95"].seconds

    @property
    def p99(self) -> float:
        return self.percentiles["p99"].seconds

    def figures(self, prefix: str) -> dict[str, float]:
        """Milliseconds by name, such as ``latency_p95_ms`` for the prefix ``latency``; only those that are known."""
        found = {name: one.seconds for name, one in self.percentiles.items()} | {"mean": self.mean, "max": self.longest}
        return {f"{prefix}_{name}_ms": seconds * 1e3 for name, seconds in found.items() if not isnan(seconds)}

    def to_json(self) -> dict[str, Any]:
        """What cannot be known is null; why queries failed, and how many were not asked, only where some were."""
        form: dict[str, Any] = {"kind": self.kind, "concurrency": self.concurrency, "rate": self.rate}
        form |= {"n": self.n, "failed": self.failed}
        form |= {name: percentile.to_json() for name, percentile in self.percentiles.items()}
        form |= {"max_ms": _known(self.longest * 1e3), "mean_ms": _known(self.mean * 1e3), "qps": _known(self.qps)}
        form |= {"gc_ms": self.gc_seconds * 1e3, "overhead_us": self.overhead_seconds * 1e6}
        if self.kind == "open":
            form["late"] = self.late
        if self.messages:
            form["messages"] = [{"message": message, "count": count} for message, count in self.messages]
        if self.not_asked:
            form["not_asked"] = self.not_asked
        return form


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
        percentiles={name: percentile_of(answered, share, level) for name, share in SHARES.items()},
        longest=float(answered.max()) if answered.size else nan,
        mean=fsum(answered.tolist()) / answered.size if answered.size else nan,
        qps=answered.size / timed.wall if timed.wall > 0 else nan,
        gc_seconds=timed.gc_seconds,
        overhead_seconds=timed.overhead_seconds,
        level=level,
        messages=tuple(messages.most_common(_MESSAGES_KEPT)),
        late=timed.late,
        not_asked=max(0, timed.planned - timed.seconds.size),
    )


def _known(value: float) -> float | None:
    return None if isnan(value) else value
