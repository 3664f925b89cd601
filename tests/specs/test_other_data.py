"""The protocols run by commands, as their authors would, on data that is not in the bundled samples.

Each test makes the files that a specification describes, runs `init`, `run` or `agree` on them, and recomputes every
number with the loops in this file, which use nothing of the program.
"""

import io
import json
import math
import os
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from rankjury.cli import main

Grades = Mapping[str, float]


def run(folder: Path, *arguments: str) -> str:
    """The standard output of a command that succeeds, called in this process: starting one takes a second."""
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with (
        chdir(folder),
        redirect_stdout(output),
        patch.object(sys, "argv", ["rankjury", *arguments]),
        patch.dict(os.environ),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    assert not ended.value.code
    output.seek(0)
    return output.read()


def report_of(folder: Path, plan: str = "rankjury.toml") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(folder, "run", plan, "--json", "--no-archive"))
    return found


def measured(report: Mapping[str, Any], system: str, label: str) -> float:
    value: float = report["systems"][system]["measures"][label]["mean"]
    return value


def close(value: float) -> Any:
    return pytest.approx(value, rel=1e-12, abs=1e-12)


def mean(values: Iterable[float]) -> float:
    """Over all that are defined."""
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known)


# --- the formulas of the specifications ------------------------------------------------------------------------------


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    lengths = math.sqrt(sum(a * a for a in one)) * math.sqrt(sum(b * b for b in other))
    return dot / lengths if lengths else 0.0


def nearest(query: Sequence[float], items: Mapping[str, Sequence[float]], key: Callable[[str], Any] = str) -> list[str]:
    """All items, the most similar first; equal ones by id."""
    scores = {item: cosine(query, vector) for item, vector in items.items()}
    return sorted(scores, key=lambda item: (-scores[item], key(item)))


def discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


def ndcg(ranked: Sequence[str], grades: Grades, k: int, gain: Callable[[float], float]) -> float:
    best = discounted([gain(grade) for grade in sorted(grades.values(), reverse=True)[:k]])
    if best == 0:
        return math.nan
    return discounted([gain(grades.get(item, 0)) for item in ranked[:k]]) / best


def exponential(grade: float) -> float:
    return 2.0**grade - 1


def relevant(grades: Grades, least: float = 1) -> set[str]:
    return {item for item, grade in grades.items() if grade >= least}


def precision(ranked: Sequence[str], wanted: set[str], k: int) -> float:
    """0 for a query with nothing relevant: the divisor is k."""
    return len(wanted & set(ranked[:k])) / k


def recall(ranked: Sequence[str], wanted: set[str], k: int) -> float:
    return len(wanted & set(ranked[:k])) / len(wanted) if wanted else math.nan


def reciprocal_rank(ranked: Sequence[str], wanted: set[str], k: int) -> float:
    return next((1 / (place + 1) for place, item in enumerate(ranked[:k]) if item in wanted), 0.0)


def average_precision(ranked: Sequence[str], wanted: set[str], k: int) -> float:
    """Divided by the relevant items that were found, as the papers specification does."""
    found: list[float] = []
    for place, item in enumerate(ranked[:k]):
        if item in wanted:
            found.append((len(found) + 1) / (place + 1))
    return sum(found) / len(found) if found else 0.0


# --- movies ----------------------------------------------------------------------------------------------------------


def test_movies(tmp_path: Path) -> None:
    """Fifty movies of other names, the three spaces called as in the specification, and the plan that `init` drafts."""
    draw, chance = np.random.default_rng(5), random.Random(5)
    movies = [f"tt{number:07d}" for number in chance.sample(range(10**7), 50)]
    spaces: dict[str, dict[str, list[float]]] = {}
    for name, width in (("DenseAnchor", 24), ("DenseContent", 16), ("DenseVibe", 12)):
        vectors = draw.normal(size=(50, width)).astype(np.float32)
        vectors[7] = vectors[3]  # two movies that tie for every query
        spaces[name] = {movie: vector.tolist() for movie, vector in zip(movies, vectors, strict=True)}
        order = chance.sample(range(50), 50)
        np.savez(tmp_path / f"{name}.npz", **{movies[row]: vectors[row] for row in order})
    gold = [
        {"movie_id": movie}
        | {
            f"5_most_similar_movies_{aspect}_ordered": chance.sample([one for one in movies if one != movie], 5)
            for aspect in ("overall", "content", "vibes")
        }
        for movie in movies
    ]
    (tmp_path / "similarity.json").write_text(json.dumps(gold))

    run(tmp_path, "init")
    report = report_of(tmp_path)

    ranked = {
        space: {
            movie: nearest(vectors[movie], {one: vector for one, vector in vectors.items() if one != movie})
            for movie in movies
        }
        for space, vectors in spaces.items()
    }
    combined = {}
    for movie in movies:
        fused: dict[str, float] = defaultdict(float)
        for lists in ranked.values():
            for place, other in enumerate(lists[movie]):
                fused[other] += 1 / (60 + place + 1)
        combined[movie] = sorted(fused, key=lambda other: (-fused[other], other))
    aspects = {"DenseAnchor": "overall", "DenseContent": "content", "DenseVibe": "vibes", "combined": "overall"}
    for system, aspect in aspects.items():
        lists = ranked.get(system, combined)
        wanted = {one["movie_id"]: one[f"5_most_similar_movies_{aspect}_ordered"] for one in gold}
        grades = {movie: {item: 5.0 - place for place, item in enumerate(wanted[movie])} for movie in movies}
        for k in (5, 10):
            expected = {
                f"ndcg(gain=exp)@{k}": [ndcg(lists[movie], grades[movie], k, exponential) for movie in movies],
                f"hits@{k}": [recall(lists[movie], set(wanted[movie]), k) for movie in movies],
                f"rr@{k}": [reciprocal_rank(lists[movie], set(wanted[movie]), k) for movie in movies],
            }
            for label, values in expected.items():
                assert measured(report, system, label) == close(mean(values)), (system, label)


# --- papers ----------------------------------------------------------------------------------------------------------


def test_papers(tmp_path: Path) -> None:
    """Matrices without ids, and queries that NumPy drew with the specification's seed."""
    draw = np.random.default_rng(8)
    count, asked = 300, 60
    hidden = draw.normal(size=(count, 20))
    reference = (hidden @ draw.normal(size=(20, 48))).astype(np.float32)
    candidate = (hidden[:, :9] @ draw.normal(size=(9, 16)) + draw.normal(size=(count, 16))).astype(np.float32)
    candidate[10] = candidate[2]  # ties are settled by number: 2 before 10
    np.save(tmp_path / "reference.npy", reference)
    np.save(tmp_path / "candidate.npy", candidate)
    np.random.seed(42)
    rows = np.random.choice(count, asked, replace=False)
    np.save(tmp_path / "queries.npy", rows)

    report = json.loads(
        run(tmp_path, "agree", "reference.npy", "small=candidate.npy", "--queries", "queries.npy", "--json")
    )

    def lists(matrix: Any) -> dict[int, list[str]]:
        vectors = {str(row): vector for row, vector in enumerate(matrix.astype(np.float64).tolist())}
        return {
            row: nearest(vectors[str(row)], {one: vectors[one] for one in vectors if one != str(row)}, int)
            for row in rows.tolist()
        }

    wanted, found = lists(reference), lists(candidate)
    for k in (1, 3, 5, 10):
        top = {row: set(wanted[row][:k]) for row in found}
        expected = {
            f"recall(over=k,gold=k)@{k}": [precision(found[row], top[row], k) for row in found],
            f"ndcg(gain=binary,gold=k)@{k}": [
                ndcg(found[row], dict.fromkeys(top[row], 1.0), k, float) for row in found
            ],
            f"rr(gold=k)@{k}": [reciprocal_rank(found[row], top[row], k) for row in found],
            f"ap(over=found,gold=k)@{k}": [average_precision(found[row], top[row], k) for row in found],
        }
        for label, values in expected.items():
            assert report["systems"]["small"]["measures"][label]["n"] == asked
            assert measured(report, "small", label) == close(mean(values)), label


# --- fashion ---------------------------------------------------------------------------------------------------------

FASHION = """
gold = "labels.jsonl"
measures = ["ndcg(gain=exp)@10", "recall(rel=2)@10", "precision(rel=2)@10", "rr(rel=2)@10"]
item_slices = "catalogue.csv:category"
targets = []
[systems.exact]
kind = "index"
engine = "exact"
path = "items.npz"
queries = "queries.npz"
[systems.rough]
kind = "index"
engine = "faiss-ivf"
path = "items.npz"
queries = "queries.npz"
build = { nlist = 12 }
search = { nprobe = 1 }
[lab]
rounds = 0
[[output]]
file = "reports/eval_{index}.json"
form = "evaluation"
"""


def test_fashion(tmp_path: Path) -> None:
    """Grades of which some queries have none from 2 on, an index that misses, and slices by category."""
    draw, chance = np.random.default_rng(11), random.Random(11)
    vectors = {f"B{number:03d}": draw.normal(size=32) for number in range(240)}
    categories = {item: chance.choice(["dress", "boots", "jeans"]) for item in vectors}
    asked = {f"q{number}": draw.normal(size=32) for number in range(24)}
    np.savez(tmp_path / "items.npz", **vectors)
    np.savez(tmp_path / "queries.npz", **asked)
    rows = [f"{item},{category}" for item, category in categories.items()]
    (tmp_path / "catalogue.csv").write_text("\n".join(["item_id,category", *rows]) + "\n")
    labels: dict[str, dict[str, float]] = {}
    for number, query in enumerate(asked):
        liked = nearest(asked[query].tolist(), {item: vector.tolist() for item, vector in vectors.items()})[:40]
        highest = 1 if number % 6 == 0 else 3  # every sixth query has nothing relevant
        labels[query] = {item: chance.randint(0, highest) for item in chance.sample(liked, 18)}
    lines = [
        json.dumps({"query_id": query, "item_id": item, "grade": grade})
        for query, grades in labels.items()
        for item, grade in grades.items()
    ]
    (tmp_path / "labels.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "rankjury.toml").write_text(FASHION)

    run(tmp_path, "run", "--no-archive")

    plain = {item: vector.tolist() for item, vector in vectors.items()}
    exact = {query: nearest(vector.tolist(), plain) for query, vector in asked.items()}
    for system in ("exact", "rough"):
        report = json.loads((tmp_path / f"reports/eval_{system}.json").read_text())
        lists = dict(zip(report["queries"]["ids"], report["queries"]["top"][system], strict=True))
        wanted = {query: relevant(grades, 2) for query, grades in labels.items()}
        expected = {
            "ndcg(gain=exp)@10": {query: ndcg(lists[query], labels[query], 10, exponential) for query in asked},
            "recall(rel=2)@10": {query: recall(lists[query], wanted[query], 10) for query in asked},
            "precision(rel=2)@10": {query: precision(lists[query], wanted[query], 10) for query in asked},
            "rr(rel=2)@10": {query: reciprocal_rank(lists[query], wanted[query], 10) for query in asked},
        }
        for label, values in expected.items():
            assert report["quality"][label]["mean"] == close(mean(values.values())), (system, label)
            assert report["quality"][label]["n"] == sum(not math.isnan(value) for value in values.values())
        for category in ("dress", "boots", "jeans"):
            (segment,) = (one for one in report["segments"] if one["slice"] == f"item.category={category}")
            within = {
                query: {item: grade for item, grade in grades.items() if categories[item] == category}
                for query, grades in labels.items()
            }
            within = {query: grades for query, grades in within.items() if grades}
            shown = {query: [item for item in lists[query] if categories[item] == category] for query in within}
            values = [ndcg(shown[query], within[query], 10, exponential) for query in within]
            found = segment["measures"]["ndcg(gain=exp)@10"]
            assert found["mean"] == close(mean(values)), (system, category)
            assert found["n"] == sum(not math.isnan(value) for value in values)
            values = [recall(lists[query], relevant(within[query], 2), 10) for query in within]
            found = segment["measures"]["recall(rel=2)@10"]
            assert found["mean"] == close(mean(values)), (system, category)
            assert found["n"] == sum(not math.isnan(value) for value in values)
        overlaps = [len(set(lists[query]) & set(exact[query][:10])) / 10 for query in asked]
        assert report["ann"]["mean"] == close(mean(overlaps))
        assert (system == "exact") == (mean(overlaps) == 1)
        first = [cosine(asked[query].tolist(), plain[lists[query][0]]) for query in asked]
        assert report["stability"]["top1"]["mean"] == pytest.approx(mean(first), rel=1e-6)  # float32 vectors


# --- movielens -------------------------------------------------------------------------------------------------------


def test_movielens(tmp_path: Path) -> None:
    """A folder laid out as MovieLens 1M is; the plan that `init` drafts, popularity recomputed over all users."""
    chance = random.Random(21)
    films = [str(number) for number in range(1, 61)]
    pairs = {(str(chance.randrange(1, 41)), films[min(int(chance.expovariate(0.07)), 59)]) for _ in range(1100)}
    rows = [
        (user, film, chance.choice([1, 2, 3, 3, 4, 5]), 956_700_000 + chance.randrange(9_000_000))
        for user, film in sorted(pairs)
    ]
    (tmp_path / "ml-1m").mkdir()
    ratings = "".join(f"{user}::{film}::{rating}::{time}\n" for user, film, rating, time in rows)
    (tmp_path / "ml-1m/ratings.dat").write_text(ratings)
    movies = "".join(f"{film}::Amélie {film} (2001)::Comedy|Drama\n" for film in films)
    (tmp_path / "ml-1m/movies.dat").write_text(movies, encoding="latin-1")
    users = "".join(f"{user}::{chance.choice('MF')}::25::7::55455\n" for user in range(1, 41))
    (tmp_path / "ml-1m/users.dat").write_text(users)

    run(tmp_path, "init", "movielens")
    report = report_of(tmp_path)

    times = sorted(row[3] for row in rows)
    share = {time: sum(one < time for one in times) / len(times) for time in set(times)}
    first, second = (min(share, key=lambda time: (abs(share[time] - part), time)) for part in (0.8, 0.9))
    assert first < second
    train: dict[str, set[str]] = defaultdict(set)
    held: dict[str, dict[str, float]] = defaultdict(dict)
    for user, film, rating, time in rows:
        if time >= second:
            held[user][film] = rating
        elif time < first:
            train[user].add(film)
    taken = {film: sum(film in mine for mine in train.values()) for film in films}
    lists = {
        user: sorted((film for film in films if film not in train[user]), key=lambda film: (-taken[film], film))
        for user in held
    }
    assert any(not relevant(grades, 4) for grades in held.values())
    for k in (5, 10, 20):
        wanted = {user: relevant(grades, 4) for user, grades in held.items()}
        expected = {
            f"ndcg@{k}": [ndcg(lists[user], held[user], k, float) for user in held],
            f"precision(rel=4)@{k}": [precision(lists[user], wanted[user], k) for user in held],
            f"recall(rel=4)@{k}": [recall(lists[user], wanted[user], k) for user in held],
        }
        for label, values in expected.items():
            assert measured(report, "popularity", label) == close(mean(values)), label


# --- driving ---------------------------------------------------------------------------------------------------------

DRIVING = """
measures = ["Recall", "Precision", "NDCG", "MAP"]
cutoffs = [1, 3, 5]
conventions.dialect = "alfa"
[gold]
kind = "keywords"
path = "unified_annotation.csv"
groups = { object = "pv_object_type", behavior = "pv_actor_behavior", scene = "pv_scene_type" }
queries = "queries.jsonl"
keywords = "mapped"
[gold.mapping]
method = "embedding"
[systems.search]
kind = "vectors"
path = "clips.npz"
queries = "texts.npz"
threshold = 0.05
"""


def test_driving(tmp_path: Path) -> None:
    """Texts that name opposites (turning left, turning right) literally, mapped by vectors, and a threshold."""
    pytest.importorskip("wordllama")
    draw, chance = np.random.default_rng(3), random.Random(3)
    vocabulary = {
        "object": ["bicyclist", "pedestrian", "small vehicle", "bus"],
        "behavior": ["turning left", "turning right", "entering ego path", "leaving ego path"],
        "scene": ["night", "rain", "highway"],
    }
    clips = {
        f"clip_{number:03d}": {
            group: chance.sample(words, chance.choice([1, 1, 2])) for group, words in vocabulary.items()
        }
        for number in range(150)
    }
    rows = [
        ",".join([clip, *("|".join(groups[name]) for name in ("object", "behavior", "scene"))])
        for clip, groups in clips.items()
    ]
    header = "slice_id,pv_object_type,pv_actor_behavior,pv_scene_type"
    (tmp_path / "unified_annotation.csv").write_text("\n".join([header, *rows]) + "\n")
    asked: dict[str, list[str]] = {
        f"t{number}": [chance.choice(words) for words in chance.sample(list(vocabulary.values()), 2)]
        for number in range(40)
    }
    texts = [json.dumps({"id": text, "text": " , ".join(words)}) for text, words in asked.items()]
    (tmp_path / "queries.jsonl").write_text("\n".join(texts) + "\n")
    places = {clip: draw.normal(size=10) for clip in clips}
    wanted = {
        text: {clip for clip, groups in clips.items() if set(words) <= {one for of in groups.values() for one in of}}
        for text, words in asked.items()
    }
    centres = {
        text: np.mean([places[clip] for clip in sorted(found)] or [places["clip_000"]], axis=0)
        for text, found in wanted.items()
    }
    np.savez(tmp_path / "clips.npz", **places)
    np.savez(tmp_path / "texts.npz", **centres)
    (tmp_path / "rankjury.toml").write_text(DRIVING)

    report = report_of(tmp_path)

    plain = {clip: place.tolist() for clip, place in places.items()}
    found = {
        text: [clip for clip in nearest(centre.tolist(), plain) if cosine(centre.tolist(), plain[clip]) >= 0.05]
        for text, centre in centres.items()
    }
    for k in (1, 3, 5):
        expected = {
            f"Recall@{k}": [precision(found[text], wanted[text], k) for text in asked],
            f"Precision@{k}": [recall(found[text], wanted[text], k) for text in asked],
            f"NDCG@{k}": [ndcg(found[text], dict.fromkeys(wanted[text], 1.0), k, float) for text in asked],
        }
        for label, values in expected.items():
            assert measured(report, "search", label) == close(mean(values)), label
