"""The movies protocol written out from its formulas: plain loops, floats and fractions, and nothing of karat's."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

Lists = Mapping[str, Sequence[str]]
"""By query, its ordered list."""
Space = Mapping[str, Sequence[float]]
"""By id, its vector."""


def violations(entries: Sequence[Mapping[str, Any]], fields: Sequence[str], length: int) -> list[str]:
    """Section 1.3: everything that breaks a hard constraint."""
    found = []
    ids = [entry["movie_id"] for entry in entries]
    for movie in sorted(set(ids)):
        if ids.count(movie) != 1:
            found.append(f"{movie}: {ids.count(movie)} entries")
    for entry in entries:
        for field in fields:
            listed = entry[field]
            if len(listed) != length:
                found.append(f"{entry['movie_id']}, {field}: {len(listed)} items")
            if entry["movie_id"] in listed:
                found.append(f"{entry['movie_id']}, {field}: lists itself")
            if len(set(listed)) != len(listed):
                found.append(f"{entry['movie_id']}, {field}: an id twice")
            if not set(listed) <= set(ids):
                found.append(f"{entry['movie_id']}, {field}: a stranger")
    return found


def cosine(u: Sequence[float], v: Sequence[float]) -> float:
    """Section 2.3: the dot product of both over their lengths."""
    length_u = math.sqrt(math.fsum(x * x for x in u))
    length_v = math.sqrt(math.fsum(x * x for x in v))
    return math.fsum((x / length_u) * (y / length_v) for x, y in zip(u, v, strict=True))


def ranked(space: Space, query: str, movies: Sequence[str]) -> list[str]:
    """Section 3: all others, by cosine descending, then by id ascending."""
    scores = {movie: cosine(space[query], space[movie]) for movie in movies if movie != query}
    return sorted(scores, key=lambda movie: (-scores[movie], movie))


def grade(gold: Sequence[str], movie: str) -> int:
    """Section 4: 6 − position in a list of five; 0 for strangers."""
    for position, listed in enumerate(gold, 1):
        if listed == movie:
            return len(gold) + 1 - position
    return 0


def hits_at_k(predicted: Sequence[str], gold: Sequence[str], k: int) -> float:
    """Section 5.1."""
    return len(set(predicted[:k]) & set(gold)) / len(gold)


def rr_at_k(predicted: Sequence[str], gold: Sequence[str], k: int) -> float:
    """Section 5.2."""
    for rank, movie in enumerate(predicted[:k], 1):
        if movie in gold:
            return 1 / rank
    return 0.0


def dcg_at_k(predicted: Sequence[str], gold: Sequence[str], k: int) -> float:
    """Section 5.3, with exponential gain."""
    return math.fsum((2 ** grade(gold, movie) - 1) / math.log2(rank + 1) for rank, movie in enumerate(predicted[:k], 1))


def ndcg_at_k(predicted: Sequence[str], gold: Sequence[str], k: int) -> float:
    """Section 5.3: over the DCG of the gold in its own order."""
    ideal = dcg_at_k(gold, gold, k)
    return dcg_at_k(predicted, gold, k) / ideal if ideal > 0 else 0.0


def rrf_score(ranks: Sequence[int | None], weights: Sequence[float], c: float) -> Fraction:
    """Section 7.1, exactly, weights and c being the decimals that they are written as; None is absent, and gives 0."""
    total = Fraction(0)
    for rank, weight in zip(ranks, weights, strict=True):
        if rank is not None:
            total += Fraction(repr(weight)) / (Fraction(repr(c)) + rank)
    return total


def fused(rankings: Sequence[Sequence[str]], weights: Sequence[float], c: float, depth: int | None) -> list[str]:
    """Section 7.2: all candidates by score descending, then by id; only the first ``depth`` of each list count."""
    scores = {}
    for movie in rankings[0]:
        ranks: list[int | None] = []
        for ranking in rankings:
            rank = ranking.index(movie) + 1
            ranks.append(rank if depth is None or rank <= depth else None)
        scores[movie] = rrf_score(ranks, weights, c)
    return sorted(scores, key=lambda movie: (-scores[movie], movie))


def figures(predicted: Sequence[str], gold: Sequence[str], k: int) -> dict[str, float]:
    return {
        "hits": hits_at_k(predicted, gold, k),
        "rr": rr_at_k(predicted, gold, k),
        "ndcg": ndcg_at_k(predicted, gold, k),
    }


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def report(
    golds: Mapping[str, Lists],
    spaces: Mapping[str, Space],
    combined: Lists,
    *,
    k: int,
    weights: Mapping[str, float],
    c: float,
    depth: int | None,
    timestamp: str,
    model_tag: str,
) -> dict[str, Any]:
    """Section 8: ``golds`` are by space, ``combined`` is the gold of the fused ranking."""
    movies = list(combined)
    per_query: dict[str, Any] = {}
    for query in sorted(movies):
        rankings = {name: ranked(space, query, movies) for name, space in spaces.items()}
        given = [weights[name] for name in spaces]
        predicted = {**rankings, "combined": fused(list(rankings.values()), given, c, depth)}
        truth = {**{name: golds[name][query] for name in spaces}, "combined": combined[query]}
        per_query[query] = {
            name: {**figures(predicted[name], truth[name], k), "topK": predicted[name][:k]} for name in predicted
        }
    titles = {**{name: name for name in spaces}, "combined": "combined_weighted_rrf"}
    means = {
        title: {
            f"mean_{'mrr' if short == 'rr' else short}": mean([of[name][short] for of in per_query.values()])
            for short in ("hits", "rr", "ndcg")
        }
        for name, title in titles.items()
    }
    metadata = {"K": k, "weights": dict(weights), "c": c, "timestamp": timestamp, "model_tag": model_tag}
    return {**metadata, **means, "per_query": per_query}
