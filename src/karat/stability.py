"""How alike a system finds what it finds: similarities of the first items and lengths of vectors, kept to see drift."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, isnan, nan
from typing import Any

import numpy as np
import polars as pl

from karat.errors import DataError
from karat.sections import Section
from karat.statistics.sums import mean_and_std
from karat.types import Floats

__all__ = ["Spread", "Stability", "stability_of"]


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation; NaN where there are too few values for one."""

    mean: float
    std: float

    @classmethod
    def of(cls, values: Floats) -> "Spread":
        """Sums are exact before they are rounded: no digit hangs on the order of values."""
        return cls(*mean_and_std(values))

    def to_json(self) -> dict[str, float | None]:
        return {"mean": _or_none(self.mean), "std": _or_none(self.std)}


@dataclass(frozen=True, eq=False)
class Stability(Section):
    """Of one system: similarities of the best item and of the k best, over queries; lengths of the vectors it holds."""

    name = "stability"

    k: int
    top1: Spread
    topk: Spread
    """Of all similarities among the first k, of all queries together."""
    norm: Spread
    queries: tuple[str, ...]
    query_top1: Floats
    """NaN where a query found nothing."""
    query_topk_mean: Floats
    query_topk_std: Floats

    def to_json(self) -> dict[str, Any]:
        """What cannot be known is null."""
        return {
            "k": self.k,
            "top1": self.top1.to_json(),
            f"top{self.k}": self.topk.to_json(),
            "norm": self.norm.to_json(),
            "queries": {
                "ids": list(self.queries),
                "top1": _without_nan(self.query_top1),
                "topk_mean": _without_nan(self.query_topk_mean),
                "topk_std": _without_nan(self.query_topk_std),
            },
        }

    @classmethod
    def from_json(cls, value: Any, where: str = "report") -> "Stability":
        """What ``to_json`` gave, read back and checked."""
        try:
            k, queries = value["k"], value["queries"]
            if type(k) is not int or k < 1:
                raise ValueError(f"k is {k!r}")
            top1, topk, norm = (_read_spread(value[name]) for name in ("top1", f"top{k}", "norm"))
            ids = _read_ids(queries["ids"])
            columns = [_read_column(queries[name], len(ids)) for name in ("top1", "topk_mean", "topk_std")]
        except (KeyError, TypeError, ValueError) as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise DataError(
                f"the stability cannot be read: {what}",
                where=where,
                expected="k, top1, topK, norm and queries as karat writes them",
            ) from error
        return cls(k, top1, topk, norm, ids, *columns)


def stability_of(queries: pl.Series, scores: Floats, norms: Floats, *, k: int = 10) -> Stability:
    """From the similarities that each query found (queries × items, not finite where nothing was) and vectors' lengths.

    The higher similarity is the more alike, in whatever order they stand.
    """
    held = np.where(np.isfinite(scores), scores, -np.inf)
    best = np.flip(np.sort(held, axis=1), axis=1)[:, :k]
    found = [row[np.isfinite(row)] for row in best]
    spreads = [Spread.of(row) for row in found]
    top1 = np.array([row[0] if row.size else nan for row in found], dtype=np.float64)
    return Stability(
        k,
        top1=Spread.of(top1[~np.isnan(top1)]),
        topk=Spread.of(best[np.isfinite(best)]),
        norm=Spread.of(np.asarray(norms, dtype=np.float64)),
        queries=tuple(map(str, queries)),
        query_top1=top1,
        query_topk_mean=np.array([one.mean for one in spreads], dtype=np.float64),
        query_topk_std=np.array([one.std for one in spreads], dtype=np.float64),
    )


def _read_ids(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise ValueError("ids of queries are no list of strings")
    if len(set(given)) < len(given):
        raise ValueError("a query stands twice")
    return tuple(given)


def _read_spread(form: Mapping[str, Any]) -> Spread:
    return Spread(_read_number(form["mean"]), _read_number(form["std"]))


def _read_column(given: list[Any], n: int) -> Floats:
    if len(given) != n:
        raise ValueError(f"found {len(given):,} figures for {n:,} queries")
    return np.array([_read_number(one) for one in given], dtype=np.float64)


def _read_number(given: Any) -> float:
    if given is None:
        return nan
    if isinstance(given, bool) or not isinstance(given, int | float) or not isfinite(given):
        raise ValueError(f"found {given!r} for a number")
    return float(given)


def _without_nan(values: Floats) -> list[float | None]:
    return [_or_none(value) for value in values.tolist()]


def _or_none(value: float) -> float | None:
    return None if isnan(value) else value
