"""The movies protocol written out from its formulas: plain loops, floats and fractions, and nothing of rankjury's.

With it, worlds to try it on: movies, vectors that tie, lists, and the plan that says the same to rankjury.
"""

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

Lists = Mapping[str, Sequence[str]]
"""By query, its ordered list."""
Space = Mapping[str, Sequence[float]]
"""By id, its vector."""
ASPECTS = {"denseanchor": "overall", "densecontent": "content", "densevibe": "vibes", "densemood": "mood"}
EPOCH, TIME = "1700000000", "2023-11-14T22:13:20Z"


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


def unit(u: Sequence[float], eps: float = 0.0) -> list[float]:
    """Section 2.3: a vector over its length, to which the spec adds eps."""
    length = math.sqrt(math.fsum(x * x for x in u)) + eps
    return [x / length for x in u]


def cosine(u: Sequence[float], v: Sequence[float]) -> float:
    """Section 2.3: the dot product of both, each over its length."""
    return dot(unit(u), unit(v))


def dot(u: Sequence[float], v: Sequence[float]) -> float:
    return math.fsum(x * y for x, y in zip(u, v, strict=True))


def ranked(units: Space, query: str, movies: Sequence[str]) -> list[str]:
    """Section 3: all others, by cosine descending, then by id ascending."""
    scores = {movie: dot(units[query], units[movie]) for movie in movies if movie != query}
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
    units = {name: {movie: unit(space[movie]) for movie in movies} for name, space in spaces.items()}
    per_query: dict[str, Any] = {}
    for query in sorted(movies):
        rankings = {name: ranked(units[name], query, movies) for name in spaces}
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


@dataclass(frozen=True)
class World:
    """Movies with vectors and lists, and how to fuse: what a plan needs, and what the protocol does."""

    golds: dict[str, dict[str, list[str]]]
    """By aspect and movie."""
    spaces: dict[str, dict[str, list[float]]]
    """By system and movie."""
    weights: dict[str, float]
    c: float = 60.0
    depth: int | None = None
    k: int = 5

    @property
    def length(self) -> int:
        return len(next(iter(self.golds["overall"].values())))

    @property
    def entries(self) -> list[dict[str, Any]]:
        fields = {f"{self.length}_most_similar_movies_{aspect}_ordered": lists for aspect, lists in self.golds.items()}
        return [
            {"movie_id": movie, **{field: lists[movie] for field, lists in fields.items()}}
            for movie in self.golds["overall"]
        ]

    def expected(self) -> dict[str, Any]:
        golds = {name: self.golds[ASPECTS[name]] for name in self.spaces}
        how: dict[str, Any] = {"k": self.k, "weights": self.weights, "c": self.c, "depth": self.depth}
        return report(golds, self.spaces, self.golds["overall"], **how, timestamp=TIME, model_tag="made up")

    def write(self, folder: Path, entries: list[dict[str, Any]] | None = None) -> Path:
        """The gold, the vectors with their rows in another order, and a plan."""
        (folder / "gold.json").write_text(json.dumps(self.entries if entries is None else entries))
        for name, space in self.spaces.items():
            rows = dict(sorted(space.items(), key=lambda row: row[0][::-1]))
            np.savez(folder / f"{name}.npz", ids=np.array(list(rows)), vectors=np.array(list(rows.values())))
        lines = [
            'measures = ["hits", "rr", "ndcg(gain=exp)"]',
            f"cutoffs = [{self.k}]",
            'gold = { kind = "ordered", path = "gold.json" }',
            "statistics = { resamples = 100 }",
            'meta = { model = "made up" }',
            f'output = [{{ file = "out.json", form = "retrievers", k = {self.k} }}]',
        ]
        for name in self.spaces:
            lines += [f"[systems.{name}]", 'kind = "vectors"', f'path = "{name}.npz"', f'gold = "{ASPECTS[name]}"']
        lines += ["[systems.combined]", 'kind = "fusion"', f"of = {list(self.spaces)}", f"c = {self.c}"]
        lines += ['gold = "overall"', f"weights = {{ {', '.join(f'{n} = {w}' for n, w in self.weights.items())} }}"]
        lines += [f"depth = {self.depth}"] if self.depth is not None else []
        (folder / "plan.toml").write_text("\n".join(lines))
        return folder / "plan.toml"


def tied_vectors(chance: random.Random) -> list[float]:
    """Of length 2 times a power of two, with ±1 or one axis: cosines are quarters, exactly, and tie all the time."""
    axis = [0.0] * 4
    axis[chance.randrange(4)] = chance.choice([2.0, -2.0])
    signs = [chance.choice([1.0, -1.0]) for _ in range(4)]
    scale = chance.choice([0.5, 1.0, 4.0])
    return [scale * number for number in chance.choice([axis, signs])]


def a_space(movies: list[str], kind: str, chance: random.Random) -> dict[str, list[float]]:
    """Vectors that tie exactly: quarters as cosines, or a few vectors with many duplicates, or none that tie."""
    if kind == "quarters":
        return {movie: tied_vectors(chance) for movie in movies}
    few = [[chance.gauss(0, 1) for _ in range(7)] for _ in range(len(movies) if kind == "apart" else 3)]
    return {movie: few[number % len(few)] for number, movie in enumerate(chance.sample(movies, len(movies)))}


@st.composite
def worlds(draw: st.DrawFn) -> World:
    chance = random.Random(draw(st.integers(0, 2**32)))
    movies = [f"tt{number}" for number in chance.sample(range(200), draw(st.integers(3, 16)))]
    length = draw(st.integers(1, min(7, len(movies) - 1)))
    k = draw(st.integers(1, 12))
    names = list(ASPECTS)[: draw(st.integers(2, 4))]
    # Where a space is there twice, 0.1/r + 0.3/s + 0.2/r and 0.1/s + 0.3/r + 0.2/s are common, and equal on paper only.
    kinds = draw(st.lists(st.sampled_from(["quarters", "duplicates", "apart"]), min_size=2, max_size=len(names)))
    pool = [a_space(movies, kind, chance) for kind in kinds]
    spaces = {name: pool[number % len(pool)] for number, name in enumerate(names)}
    golds = {
        ASPECTS[name]: {movie: chance.sample([one for one in movies if one != movie], length) for movie in movies}
        for name in names
    }
    weights = draw(
        st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0]), min_size=len(names), max_size=len(names))
        .filter(any)
    )  # fmt: skip
    c = draw(st.sampled_from([0.0, 0.5, 1.0, 10.0, 60.0]))
    depth = draw(st.none() | st.integers(1, k + 5))
    return World(golds, spaces, dict(zip(names, weights, strict=True)), c, depth, k)
