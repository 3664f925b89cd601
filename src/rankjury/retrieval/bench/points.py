"""One setting of a sweep, and what was found of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from rankjury.core.params import Params, Setting
from rankjury.retrieval.bench.grid import spelled
from rankjury.stats.resampling import Bounds

Status = Literal["measured", "pruned", "skipped", "failed"]
"""skipped: the engine cannot be built or searched with it, now or later; failed: it may succeed another time."""


@dataclass(frozen=True)
class Quantile:
    """A percentile of times, in milliseconds."""

    ms: float
    ci: Bounds | None = None
    bounded: bool = True
    """Whether the times were enough to bound it from above."""

    def surely_within(self, limit: float) -> bool:
        return self.ci is not None and self.bounded and self.ci[1] <= limit


@dataclass(frozen=True)
class Point:
    """A setting: measured, pruned as needless, skipped as impossible, or failed; ``because`` says why."""

    build: Params
    search: Params
    status: Status
    recall: float | None = None
    recall_ci: Bounds | None = None
    recall_p5: float | None = None
    n: int = 0
    """Queries that recall is over."""
    p50: Quantile | None = None
    p95: Quantile | None = None
    p99: Quantile | None = None
    qps: float | None = None
    failed_queries: int = 0
    build_seconds: float | None = None
    size_bytes: int | None = None
    because: str | None = None
    by: Mapping[str, Setting] | None = None
    """The search setting of the same build that makes this one needless."""
    latency: Mapping[str, Any] = field(default_factory=dict)
    """The whole form of the times that were taken."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the engine says of how it searched."""

    @property
    def title(self) -> str:
        """``m=16 ef_search=64``"""
        return spelled({**self.build, **self.search})

    @property
    def build_title(self) -> str:
        return spelled(self.build)

    @property
    def search_title(self) -> str:
        return spelled(self.search)

    @property
    def comparable(self) -> bool:
        """Whether it may be compared with others: measured, and every query was answered."""
        return self.recall is not None and self.p95 is not None and not self.failed_queries

    @classmethod
    def measured(
        cls,
        build: Params,
        search: Params,
        recall: Mapping[str, Any],
        latency: Mapping[str, Any],
        *,
        build_seconds: float,
        size_bytes: int | None,
        failed_queries: int = 0,
        facts: Mapping[str, Any] | None = None,
    ) -> "Point":
        """From the forms of ``AnnRecall`` and ``Latency``."""
        p50, p95, p99 = (_quantile(latency.get(name)) for name in ("p50", "p95", "p99"))
        return cls(
            dict(build), dict(search), "measured", recall["mean"], _bounds(recall["ci"]), recall["p5"], recall["n"],
            p50, p95, p99, latency.get("qps"), max(failed_queries, int(latency.get("failed") or 0)),
            build_seconds=build_seconds, size_bytes=size_bytes, latency=dict(latency), facts=dict(facts or {}),
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        form: dict[str, Any] = {"build": dict(self.build), "search": dict(self.search), "status": self.status}
        if self.status != "measured":
            return form | {"because": self.because} | ({"by": dict(self.by)} if self.by is not None else {})
        ci = None if self.recall_ci is None else list(self.recall_ci)
        return form | {
            "recall": {"mean": self.recall, "ci": ci, "p5": self.recall_p5, "n": self.n},
            "latency": dict(self.latency),
            "failed_queries": self.failed_queries,
            "build_seconds": self.build_seconds,
            "size_bytes": self.size_bytes,
            "facts": dict(self.facts),
        }

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> "Point":
        """What ``to_json`` gave; KeyError, TypeError or ValueError where it is none."""
        build, search, status = dict(form["build"]), dict(form["search"]), form["status"]
        if status not in get_args(Status):
            raise ValueError(f"status is {status!r}")
        if status != "measured":
            return cls(build, search, status, because=form["because"], by=form.get("by"))
        return cls.measured(
            build, search, form["recall"], form["latency"],
            build_seconds=form["build_seconds"], size_bytes=form["size_bytes"],
            failed_queries=form["failed_queries"], facts=form.get("facts"),
        )  # fmt: skip


def _quantile(form: Mapping[str, Any] | None) -> Quantile | None:
    if form is None or form["ms"] is None:
        return None
    return Quantile(float(form["ms"]), _bounds(form.get("ci")), bool(form.get("bounded", True)))


def _bounds(form: Any) -> Bounds | None:
    if form is None or form[0] is None or form[1] is None:
        return None
    low, high = form
    return float(low), float(high)
