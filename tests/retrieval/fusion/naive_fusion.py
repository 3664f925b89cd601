"""Fusion once more, with plain loops over dicts and exact fractions: slow, and nothing shared with the package."""

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt

import rankjury
from rankjury.retrieval.fusion.fusion import Fusion

Run = dict[str, dict[str, float]]
Place = dict[str, int]


def spread_out(ranking: rankjury.Ranking) -> dict[str, list[tuple[str, float]]]:
    """A ranking as query to (item, score) in the order in which it stands."""
    frame = ranking.frame().to_dict(as_series=False)
    found: dict[str, list[tuple[str, float]]] = {query: [] for query in ranking.queries}
    for query, item, score in zip(frame["query_id"], frame["item_id"], frame["score"], strict=True):
        found[query].append((str(item), score))
    return found


def fused(runs: Sequence[Run], fusion: Fusion) -> dict[str, list[tuple[str, float]]]:
    """Query to (item, score), best first."""
    queries = sorted({query for run in runs for query in run})
    weights = [Fraction(repr(weight)) for weight in fusion.weights or [1.0] * len(runs)]
    found = {}
    for query in queries:
        lists = [listed(run.get(query, {}), fusion.depth) for run in runs]
        items = sorted({item for scores in lists for item in scores})
        exact = {item: score_of(item, lists, items, weights, fusion) for item in items}
        rounded = {item: float(score) for item, score in exact.items()}
        found[query] = sorted(rounded.items(), key=lambda pair: (-pair[1], pair[0]))
    return found


def listed(scores: dict[str, float], depth: int | None) -> dict[str, float]:
    """Best first, cut; a dict keeps its order."""
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:depth])


def score_of(
    item: str, lists: list[dict[str, float]], items: list[str], weights: list[Fraction], fusion: Fusion
) -> Fraction:
    places = [{name: rank for rank, name in enumerate(scores, 1)} for scores in lists]
    holding = [number for number, scores in enumerate(lists) if item in scores]
    if fusion.method == "rrf":
        c = Fraction(repr(fusion.c))
        return sum((weights[n] / (c + places[n][item]) for n in holding), Fraction(0))
    if fusion.method == "isr":
        return len(holding) * sum((weights[n] / places[n][item] ** 2 for n in holding), Fraction(0))
    if fusion.method == "borda":
        return sum((w * points(item, place, len(items)) for w, place in zip(weights, places, strict=True)), Fraction(0))
    if fusion.method == "condorcet":
        return Fraction(sum(lead(item, other, places, weights) > 0 for other in items))
    weighted = [weights[n] * normalised(lists[n], fusion.normalise)[item] for n in holding]
    if fusion.method == "combmax":
        return max(weighted)
    return sum(weighted, Fraction(0)) * (len(holding) if fusion.method == "combmnz" else 1)


def points(item: str, place: Place, candidates: int) -> Fraction:
    if not place:
        return Fraction(0)
    if item in place:
        return Fraction(candidates - place[item] + 1)
    unranked = range(1, candidates - len(place) + 1)
    return Fraction(sum(unranked), len(unranked))


def lead(item: str, other: str, places: list[Place], weights: list[Fraction]) -> Fraction:
    """By how much the lists prefer the item."""
    total = Fraction(0)
    for place, weight in zip(places, weights, strict=True):
        mine, theirs = place.get(item, 10**6), place.get(other, 10**6)
        total += weight * ((mine < theirs) - (mine > theirs))
    return total


def normalised(scores: dict[str, float], how: str | None) -> dict[str, Fraction]:
    exact = {item: Fraction(score) for item, score in scores.items()}
    if how == "none":
        return exact
    if how == "rank":
        return {item: 1 - Fraction(place, len(scores)) for place, item in enumerate(scores)}
    lowest, highest = min(exact.values()), max(exact.values())
    if lowest == highest:
        return dict.fromkeys(exact, Fraction(0))
    mean = sum(exact.values()) / len(exact)
    variance = sum((score - mean) ** 2 for score in exact.values()) / len(exact)
    shift, scale = {
        "min-max": (lowest, highest - lowest),
        "sum": (lowest, sum(score - lowest for score in exact.values())),
        "z-score": (mean, Fraction(sqrt(variance))),
    }[str(how)]
    return {item: (score - shift) / scale for item, score in exact.items()}
