"""The fashion protocol written out slowly, step by step, with loops and dictionaries: nothing of rankjury is used."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

K = 10
RELEVANT_FROM = 2


def read_vectors(folder: Path, name: str) -> dict[str, np.ndarray]:
    with np.load(folder / "vectors.npz") as held:
        rows = held[name].astype(np.float32)
        ids = held[f"{name}_ids"].tolist()
    units = [row / np.float64(math.sqrt(sum(float(one) ** 2 for one in row))) for row in rows]
    return dict(zip(ids, (unit.astype(np.float32).astype(np.float64) for unit in units), strict=True))


def read_grades(path: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        label = json.loads(line)
        grades.setdefault(label["query_id"], {})[label["item_id"]] = label["grade"]
    return grades


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other) / math.sqrt(float(one @ one) * float(other @ other))


def ranked(query: np.ndarray, items: Mapping[str, np.ndarray]) -> list[tuple[str, float]]:
    scored = [(item, cosine(query, vector)) for item, vector in items.items()]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))


def gain(grades: Sequence[int]) -> float:
    return sum((2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(grades))


def quality(found: Sequence[str], grades: Mapping[str, int]) -> dict[str, float]:
    """Of one query; NaN where the formula divides by what the gold has to find, and that is nothing."""
    first = [grades.get(item, 0) for item in found[:K]]
    best = gain(sorted(grades.values(), reverse=True)[:K])
    relevant = sum(grade >= RELEVANT_FROM for grade in grades.values())
    hits = [place for place, grade in enumerate(first) if grade >= RELEVANT_FROM]
    return {
        "ndcg(gain=exp)@10": gain(first) / best if best else math.nan,
        "recall(rel=2)@10": len(hits) / relevant if relevant else math.nan,
        "precision(rel=2)@10": len(hits) / K,
        "rr(rel=2)@10": 1 / (hits[0] + 1) if hits else 0.0,
    }


def overlap(found: Sequence[str], exact: Sequence[str]) -> float:
    return len(set(found[:K]) & set(exact[:K])) / K


def mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known)


def deviation(values: Sequence[float]) -> float:
    middle = mean(values)
    return math.sqrt(sum((value - middle) ** 2 for value in values) / (len(values) - 1))
