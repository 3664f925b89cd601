"""Recommends and evaluates user by user, in NumPy: what one writes first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, Any]
Values = dict[str, list[float]]
Floats = NDArray[np.float64]


def work_by_user(data: Arrays, k: int, cuts: Sequence[int], rel: float) -> Callable[[], dict[str, float]]:
    """Scores, a mask, a sort of the best; measures of accuracy for all items and by tiers, and those of the lists."""
    users, items, held = data["factors_of_users"], data["factors_of_items"], data["held"]
    starts = np.searchsorted(data["user"], np.arange(len(users) + 1))
    discounts = 1 / np.log2(np.arange(2, k + 2))
    taken_by = np.bincount(data["item"][~held], minlength=len(items))
    lengths = np.linalg.norm(data["genres"], axis=1, keepdims=True)
    directions = np.divide(data["genres"], lengths, out=np.zeros_like(data["genres"]), where=lengths > 0)
    sums = data["genres"].sum(axis=1, keepdims=True)
    shares = np.divide(data["genres"], sums, out=np.zeros_like(data["genres"]), where=sums > 0)
    tiers = [data[f"tier_{name}"] for name in ("popularity", "item")]

    def work() -> dict[str, float]:
        values: Values = {}
        by_tier: dict[tuple[int, int], Values] = {}
        shown = np.zeros(len(items))
        for user, vector in enumerate(users):
            mine = slice(starts[user], starts[user + 1])
            taken, out, ratings = data["item"][mine], held[mine], data["rating"][mine]
            scores = items @ vector
            scores[taken[~out]] = -np.inf
            best = np.argpartition(scores, -k)[-k:]
            best = best[np.argsort(-scores[best], kind="stable")]
            shown[best] += 1
            wanted, grades = taken[out], ratings[out]
            accuracy(best, wanted, grades, discounts, cuts, rel, values)
            for number, places in enumerate(tiers):
                for place in np.unique(places[wanted]).tolist():
                    kept = places[wanted] == place
                    part = by_tier.setdefault((number, place), {})
                    accuracy(best, wanted[kept], grades[kept], discounts, cuts, rel, part)
            of_lists(best, taken[~out], taken_by, directions, shares, values)
        means = {label: float(np.nanmean(column)) for label, column in values.items()}
        for name in ("activity", "user"):
            for place in np.unique(data[f"tier_{name}"]):
                members = data[f"tier_{name}"] == place
                _ = {label: np.nanmean(np.array(column)[members]) for label, column in values.items()}
        _ = [{label: np.nanmean(column) for label, column in part.items()} for part in by_tier.values()]
        return means | of_all(shown)

    return work


def accuracy(
    best: Any, wanted: Any, grades: Floats, discounts: Floats, cuts: Sequence[int], rel: float, values: Values
) -> None:
    known = dict(zip(wanted.tolist(), grades.tolist(), strict=True))
    found = np.array([known.get(item, 0.0) for item in best.tolist()])
    ideal = np.sort(grades)[::-1]
    hits, relevant = found >= rel, int((ideal >= rel).sum())
    for k in cuts:
        at = np.flatnonzero(hits[:k])
        of_relevant = {
            "precision": at.size / k,
            "recall": at.size / relevant if relevant else 0.0,
            "hit_rate": float(at.size > 0),
            "rr": 1 / (at[0] + 1) if at.size else 0.0,
            "ap": float((np.arange(1, at.size + 1) / (at + 1)).sum()) / max(1, relevant),
        }
        for name, value in of_relevant.items():
            values.setdefault(f"{name}(rel={rel:g})@{k}", []).append(value if relevant else np.nan)
        gain, most = found[:k] @ discounts[:k], ideal[:k] @ discounts[: ideal[:k].size]
        values.setdefault(f"ndcg@{k}", []).append(gain / most if most else 0.0)


def of_lists(best: Any, history: Any, taken_by: Any, directions: Floats, shares: Floats, values: Values) -> None:
    """Popularity, novelty, diversity and calibration of one list."""
    rows = directions[best]
    rows = rows[rows.any(axis=1)]
    alike = rows @ rows.T
    pairs = len(rows) * (len(rows) - 1)
    taken, given = shares[history].sum(axis=0), shares[best].sum(axis=0)
    taken, given = taken / max(taken.sum(), 1e-300), given / max(given.sum(), 1e-300)
    mixed = 0.99 * given + 0.01 * taken
    held = taken > 0
    found = {
        "popularity": float(taken_by[best].mean()),
        "novelty": float(-np.log2((taken_by[best] + 1) / taken_by.max()).mean()),
        "diversity": float(1 - (alike.sum() - np.trace(alike)) / pairs) if pairs else np.nan,
        "calibration": float((taken[held] * np.log2(taken[held] / mixed[held])).sum()),
    }
    for name, value in found.items():
        values.setdefault(name, []).append(value)


def of_all(shown: Floats) -> dict[str, float]:
    """How much of the catalogue is shown, and how evenly."""
    ordered = np.sort(shown)
    n = ordered.size
    chances = ordered[ordered > 0] / ordered.sum()
    return {
        "coverage": float((shown > 0).mean()),
        "gini": float((2 * np.arange(1, n + 1) - n - 1) @ ordered / (n * ordered.sum())),
        "entropy": float(-(chances * np.log2(chances)).sum()),
    }
