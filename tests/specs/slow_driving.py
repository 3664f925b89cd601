"""The driving protocol written out slowly, with the csv module, sets and loops: nothing of rankjury is used.

The protocol as it is printed: Algorithm 1 from line 15, Algorithm 2, and the formulas.
Three things it leaves open are read as its examples show them. The query's own clip takes no place among the K results
(the example's five similarities begin at 0.95). A result below the threshold is not shown, and K stays K. The
Precision@k within AP is that of k results shown, since a share of all that is relevant would make no average precision.
"""

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from operator import mul
from pathlib import Path

from tests import paths

CUTS = (1, 3, 5)
LABELS = [*(f"{name}@{k}" for name in ("Recall", "Precision", "NDCG") for k in CUTS), "MAP", "MAP@5"]
SHARED = paths.SHARED / "driving"
NOTHING = ("", "n/a", "nan", "null")

Keyword = tuple[str, str]
"""A group and a name."""
Truth = dict[str, set[Keyword]]
Results = list[tuple[str, float]]
"""Ids and similarities, best first."""
Figures = dict[str, float | None]


def read_truth(path: Path, groups: Mapping[str, Sequence[str]]) -> Truth:
    """GT = {(slice_id, keywords)}: a cell holds values split by |, a column of yes and no is a keyword by itself."""
    with path.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    truth: Truth = {row["clip"]: set() for row in rows}
    for group, columns in groups.items():
        for column in columns:
            cells = {row["clip"]: [part.strip() for part in row[column].split("|")] for row in rows}
            values = {part.lower() for parts in cells.values() for part in parts} - set(NOTHING)
            is_switch = values <= {"true", "false", "yes", "no"}
            for clip, parts in cells.items():
                for part in parts:
                    if is_switch and part.lower() in ("true", "yes"):
                        truth[clip].add((group, column))
                    if not is_switch and part.lower() not in NOTHING:
                        truth[clip].add((group, part))
    return truth


def within(keywords: Iterable[Keyword], select: Sequence[str]) -> set[Keyword]:
    """Those of the groups that the user selected."""
    return {keyword for keyword in keywords if not select or keyword[0] in select}


def grade(asked: set[Keyword], has: set[Keyword], match: str) -> float:
    if match == "all":
        return 1.0 if asked <= has else 0.0
    met = sum(1 for keyword in asked if keyword in has)
    if match == "graded":
        return met / len(asked)
    least = 1 if match == "any" else int(match.removeprefix("at-least-"))
    return 1.0 if met >= min(least, len(asked)) else 0.0


def grades_of(query: str, asked: set[Keyword], truth: Truth, match: str) -> dict[str, float]:
    return {clip: grade(asked, has, match) for clip, has in truth.items() if clip != query}


def dcg(grades: Sequence[float]) -> float:
    return sum(one / math.log2(i + 1) for i, one in enumerate(grades, start=1))


def figures(results: Results, grades: Mapping[str, float], threshold: float | None) -> Figures:
    """Of one query; None where a formula divides by nothing."""
    retrieved = [clip for clip, similarity in results if threshold is None or similarity >= threshold]
    relevant = {clip for clip, one in grades.items() if one == 1.0}
    found: Figures = {}
    for k in CUTS:
        true_positives = 0
        for i in range(min(k, len(retrieved))):
            if retrieved[i] in relevant:
                true_positives += 1
        found[f"Recall@{k}"] = true_positives / k
        found[f"Precision@{k}"] = true_positives / len(relevant) if relevant else None
        ideal = dcg(sorted(grades.values(), reverse=True)[:k])
        found[f"NDCG@{k}"] = dcg([grades.get(clip, 0.0) for clip in retrieved[:k]]) / ideal if ideal else None
    for label, depth in (("MAP", len(retrieved)), ("MAP@5", 5)):
        total, hits = 0.0, 0
        for i, clip in enumerate(retrieved[:depth], start=1):
            if clip in relevant:
                hits += 1
                total += hits / i
        found[label] = total / len(relevant) if relevant else None
    return found


def units(vectors: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    lengths = {name: math.sqrt(sum(map(mul, one, one))) for name, one in vectors.items()}
    return {name: [value / lengths[name] for value in one] for name, one in vectors.items()}


def search(queries: Mapping[str, Sequence[float]], clips: Mapping[str, Sequence[float]]) -> dict[str, Results]:
    """All clips by cosine, but for the query's own."""
    asked, corpus = units(queries), units(clips)
    found = {
        query: [(clip, sum(map(mul, vector, one))) for clip, one in corpus.items() if clip != query]
        for query, vector in asked.items()
    }
    return {query: sorted(pairs, key=lambda pair: (-pair[1], pair[0])) for query, pairs in found.items()}
