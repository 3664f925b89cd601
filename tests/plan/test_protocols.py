"""The five protocols as plans."""

import json
import random
from collections.abc import Mapping, Sequence
from functools import reduce
from importlib.resources import files
from math import log2
from operator import or_
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankjury.plan.parse import read_plan
from rankjury.plan.run import Outcome
from rankjury.retrieval.diagnostics import SpaceDiagnostics
from tests.plan import carried_out, means, put
from tests.specs import slow_movies as slow

SKEWED = 1 / np.arange(1, 31) / (1 / np.arange(1, 31)).sum()
"""How likely each movie is to be rated."""


def vectors(names: Sequence[str], width: int = 8) -> dict[str, Any]:
    """Of unit length, by name; others for other names and widths."""
    rows = np.random.default_rng([len(names), width]).normal(size=(len(names), width))
    return {"ids": np.array(names), "v": rows / np.linalg.norm(rows, axis=1, keepdims=True)}


def table(header: str, rows: Mapping[str, Any]) -> str:
    """A CSV of two columns."""
    return header + "\n" + "".join(f"{key},{value}\n" for key, value in rows.items())


def by_cosine(corpus: Mapping[str, Any], query: Sequence[float], but: str = "") -> list[str]:
    """Names by cosine, best first, in plain Python."""
    rows = {name: row.tolist() for name, row in zip(corpus["ids"].tolist(), corpus["v"], strict=True) if name != but}
    return sorted(rows, key=lambda name: (-slow.cosine(query, rows[name]), name))


def check_scores(outcome: Outcome, system: str, expected: Mapping[str, Mapping[str, float | None]]) -> None:
    """Every query under every measure, and the means over those where it is defined; expected by query and measure."""
    scores = outcome.report.scores[system]
    queries = [str(query) for query in scores.queries]
    assert set(queries) == set(expected)
    for label in scores.labels:
        found = [None if np.isnan(value) else value for value in scores[label].tolist()]
        wanted = [expected[query][label] for query in queries]
        assert [one is None for one in found] == [one is None for one in wanted], label
        assert [one or 0.0 for one in found] == pytest.approx([one or 0.0 for one in wanted], abs=1e-12), label
        assert means(outcome, system)[label] == pytest.approx(slow.mean([one for one in wanted if one is not None]))


def test_movies() -> None:
    """The bundled plan says all that the protocol asks for; ``tests/specs/test_movies.py`` holds it to every digit."""
    plan = read_plan(Path(str(files("rankjury.plan") / "samples" / "movies" / "rankjury.toml")))
    golds = {name: system.gold for name, system in plan.plan.systems.items()}
    spaces = {"denseanchor": "overall", "densecontent": "content", "densevibe": "vibes"}
    assert golds == {**spaces, "combined": "overall", "random": "overall"}
    labels = [f"{measure}@{k}" for measure in ("ndcg(gain=exp)", "hits", "rr") for k in (5, 1, 2, 3, 10)]
    assert [one.label for one in plan.asked] == labels
    assert plan.plan.systems["combined"].needs() == tuple(spaces) and plan.plan.slices == "movies.jsonl:cluster"
    assert [(one.form, one.k) for one in plan.plan.output] == [("retrievers", 5)]


class TestPapers:
    """Its four functions as they are printed, with the reference's and the model's items as lists."""

    @staticmethod
    def figures(ada: list[str], model: list[str], k: int) -> dict[str, float]:
        wanted = set(ada[:k])
        relevances = [1.0 if item in wanted else 0.0 for item in model[:k]]
        dcg = sum(rel / log2(i + 2) for i, rel in enumerate(relevances))
        ideal = sum(1.0 / log2(i + 2) for i in range(min(k, len(wanted))))
        places = [i + 1 for i, rel in enumerate(relevances) if rel]
        precisions = [found / place for found, place in enumerate(places, 1)]
        return {
            f"recall(over=k,gold=k)@{k}": len(wanted & set(model[:k])) / k,
            f"ndcg(gain=binary,gold=k)@{k}": dcg / ideal,
            f"rr(gold=k)@{k}": 1.0 / places[0] if places else 0.0,
            f"ap(over=found,gold=k)@{k}": sum(precisions) / len(precisions) if precisions else 0.0,
        }

    PLAN = """
        measures = ["recall(over=k,gold=k)", "ndcg(gain=binary,gold=k)", "rr(gold=k)", "ap(over=found,gold=k)"]
        cutoffs = [1, 3, 5, 10]
        gold = { kind = "reference", path = "ada.npy", depth = 10, sample = 25, seed = 42 }
        systems.base = { kind = "vectors", path = "base.npy" }
        systems.finetuned = { kind = "vectors", path = "finetuned.npy" }
        baseline = "base"
    """

    def test_against_its_functions(self, tmp_path: Path) -> None:
        names = [str(number) for number in range(40)]
        ada, base = vectors(names, 12), vectors(names, 5)
        finetuned = ada | {"v": ada["v"] + 0.2 * np.random.default_rng(1).normal(size=(40, 12))}
        put(tmp_path, ada__npy=ada["v"], base__npy=base["v"], finetuned__npy=finetuned["v"])
        outcome = carried_out(tmp_path, self.PLAN)
        queries = outcome.report.scores["base"].queries.to_list()
        assert len(queries) == 25
        rows = {
            name: {query: by_cosine(space, space["v"][int(query)].tolist(), query) for query in queries}
            for name, space in (("ada", ada), ("base", base), ("finetuned", finetuned))
        }
        for system in ("base", "finetuned"):
            found = {
                query: [self.figures(rows["ada"][query], rows[system][query], k) for k in (1, 3, 5, 10)]
                for query in queries
            }
            check_scores(outcome, system, {query: reduce(or_, each) for query, each in found.items()})
        assert means(outcome, "finetuned")["rr(gold=k)@10"] > means(outcome, "base")["rr(gold=k)@10"]


class TestFashion:
    ITEMS = [f"p{number}" for number in range(40)]
    QUERIES = [f"q{number}" for number in range(24)]
    PLAN = """
        name = "fashion"
        gold = "labels.jsonl"
        measures = ["ndcg(gain=exp)", "recall(rel=2)", "precision(rel=2)", "rr(rel=2)", "hit_rate(rel=2)"]
        cutoffs = [10]
        slices = "queries.csv:type"
        item_slices = "products.csv:category"
        targets = ["ndcg(gain=exp)@10 >= 0.99", "latency_p95_ms <= 150"]
        meta = { dataset_version = "1", model_version = "small", index_params = "exact", query_set_version = 2 }
        figures.cosine.latency_p95_ms = 12.5
        figures.ip.latency_p95_ms = 250
        [systems]
        cosine = { kind = "vectors", path = "items.npz", queries = "queries.npz" }
        ip = { kind = "vectors", path = "items.npz", queries = "queries.npz", metric = "ip" }
    """

    @staticmethod
    def figures(grades: Mapping[str, int], listed: Sequence[str], k: int = 10) -> dict[str, float]:
        """Its reference definitions; unlabelled items have grade 0."""
        rel = [grades.get(item, 0) for item in listed[:k]]
        dcg = sum((2**one - 1) / log2(place + 1) for place, one in enumerate(rel, 1))
        best = sorted(grades.values(), reverse=True)[:k]
        ideal = sum((2**one - 1) / log2(place + 1) for place, one in enumerate(best, 1))
        hits = [one >= 2 for one in rel]
        return {
            "ndcg(gain=exp)@10": dcg / ideal,
            "recall(rel=2)@10": sum(hits) / sum(one >= 2 for one in grades.values()),
            "precision(rel=2)@10": sum(hits) / k,
            "rr(rel=2)@10": 1 / (hits.index(True) + 1) if any(hits) else 0.0,
            "hit_rate(rel=2)@10": float(any(hits)),
        }

    def test_as_it_is(self, tmp_path: Path) -> None:
        items, queries = vectors(self.ITEMS), vectors(self.QUERIES)
        chance = random.Random(2)
        grades = {query: {item: chance.randrange(4) for item in self.ITEMS[::2]} for query in self.QUERIES}
        rows = [{"query_id": q, "item_id": i, "grade": g} for q, of in grades.items() for i, g in of.items()]
        put(tmp_path, items__npz=items, queries__npz=queries, labels__jsonl="\n".join(map(json.dumps, rows)))
        kinds = {query: ("category", "brand", "attribute")[number % 3] for number, query in enumerate(self.QUERIES)}
        groups = {item: "shoes" if int(item[1:]) % 4 else "bags" for item in self.ITEMS}
        put(tmp_path, queries__csv=table("query_id,type", kinds), products__csv=table("product_id,category", groups))
        outcome = carried_out(tmp_path, self.PLAN)
        expected = {
            query: self.figures(grades[query], by_cosine(items, row.tolist()))
            for query, row in zip(self.QUERIES, queries["v"], strict=True)
        }
        check_scores(outcome, "cosine", expected)
        check_scores(outcome, "ip", expected)  # of unit vectors both are the same
        parts = {part.name: part for part in outcome.report.slices}
        assert set(parts) == {f"type={kind}" for kind in kinds.values()} | {"item.category=shoes", "item.category=bags"}
        for kind in set(kinds.values()):
            members = [query for query in kinds if kinds[query] == kind]
            mean = slow.mean([expected[query]["ndcg(gain=exp)@10"] for query in members])
            assert parts[f"type={kind}"].estimates["ip"]["ndcg(gain=exp)@10"].mean == pytest.approx(mean)
        assert outcome.gate is not None
        verdicts = {(one.system, one.target.subject): one.outcome for one in outcome.gate.verdicts}
        assert verdicts["cosine", "latency_p95_ms"] == "pass" and verdicts["ip", "latency_p95_ms"] == "fail"
        assert verdicts["cosine", "ndcg(gain=exp)@10"] == "fail"
        estimate = outcome.report.estimates["cosine"]["ndcg(gain=exp)@10"]
        assert estimate.ci is not None and estimate.ci[0] < estimate.mean < estimate.ci[1]
        assert outcome.report.provenance["meta"]["dataset_version"] == "1"
        assert outcome.report.sections_of(SpaceDiagnostics)["cosine"].norm.mean == pytest.approx(1.0)


class TestDriving:
    VIDEOS = {
        f"v{n:02}": (("car", "cyclist", "walker")[n % 3], ("crossing", "entering")[n * n % 5 % 2]) for n in range(24)
    }
    QUERIES = {"t1": ["cyclist"], "t2": ["car", "crossing"], "t3": ["entering"], "t4": ["cyclist", "walker"]}
    MEASURES = 'measures = ["recall(over=k)"]\ncutoffs = [1, 3, 5]\nconventions.empty = "zero"\n'

    def expected(self, words: Mapping[str, Sequence[str]], lists: Mapping[str, list[str]]) -> dict[str, Any]:
        """True positives over K, also where nothing is relevant."""

        def found(query: str, k: int) -> float:
            return sum(set(words[query]) <= set(self.VIDEOS[video]) for video in lists[query][:k]) / k

        return {query: {f"recall(over=k)@{k}": found(query, k) for k in (1, 3, 5)} for query in words}

    def test_texts_and_videos(self, tmp_path: Path) -> None:
        videos, texts = vectors(list(self.VIDEOS)), vectors(list(self.QUERIES))
        rows = {name: ",".join(words) for name, words in self.VIDEOS.items()}
        asked = {name: "|".join(words) for name, words in self.QUERIES.items()}
        put(tmp_path, videos__csv=table("slice_id,object,behavior", rows), texts__csv=table("query_id,keywords", asked))
        put(tmp_path, videos__npz=videos, texts__npz=texts)
        gold = 'gold = { kind = "keywords", path = "videos.csv", groups = ["object", "behavior"]'
        search = 'systems.alfa = { kind = "vectors", path = "videos.npz"'
        outcome = carried_out(
            tmp_path, f'{self.MEASURES}{gold}, queries = "texts.csv" }}\n{search}, queries = "texts.npz" }}'
        )
        lists = {name: by_cosine(videos, row.tolist()) for name, row in zip(self.QUERIES, texts["v"], strict=True)}
        check_scores(outcome, "alfa", self.expected(self.QUERIES, lists))
        outcome = carried_out(
            tmp_path, f"{self.MEASURES}{gold} }}\n{search} }}\nsystems.random = {{ kind = 'random' }}\n"
        )
        lists = {
            name: by_cosine(videos, row.tolist(), name) for name, row in zip(self.VIDEOS, videos["v"], strict=True)
        }
        check_scores(outcome, "alfa", self.expected(self.VIDEOS, lists))
        others = [sum(has == self.VIDEOS[name] for has in self.VIDEOS.values()) - 1 for name in self.VIDEOS]
        assert means(outcome, "random")["recall(over=k)@5"] == pytest.approx(slow.mean([n / 23 for n in others]))


class TestMovielens:
    PLAN = """
        gold = { kind = "interactions", path = "ratings.csv" }
        systems.popularity = { kind = "recommender", model = "popularity" }
        measures = ["ndcg@10", "precision(rel=4)@10", "recall(rel=4)@10"]
        slices = "users.csv:lively"
        item_slices = "movies.csv:tier"
    """

    @staticmethod
    def figures(rated: Mapping[str, int], listed: Sequence[str], k: int = 10) -> dict[str, float | None]:
        """Graded nDCG by the ratings themselves; a user who liked nothing has no recall."""
        dcg = sum(rated.get(item, 0) / log2(place + 1) for place, item in enumerate(listed[:k], 1))
        best = sorted(rated.values(), reverse=True)[:k]
        liked = {item for item, rating in rated.items() if rating >= 4}
        hits = len(liked & set(listed[:k]))
        return {
            "ndcg@10": dcg / sum(rating / log2(place + 1) for place, rating in enumerate(best, 1)),
            "precision(rel=4)@10": hits / k,
            "recall(rel=4)@10": hits / len(liked) if liked else None,
        }

    def test_popularity_on_a_temporal_split(self, tmp_path: Path) -> None:
        chance = np.random.default_rng(3)
        pairs = [(f"u{u}", f"m{m}") for u in range(25) for m in chance.choice(30, 12, replace=False, p=SKEWED)]
        order = chance.permutation(len(pairs))
        ratings = [(*pairs[at], int(chance.integers(1, 6)), time) for time, at in enumerate(order)]
        train, test = ratings[:240], ratings[270:]
        counts = {movie: sum(row[1] == movie for row in train) for _, movie in pairs}
        seen = {user: {row[1] for row in train if row[0] == user} for user, _ in pairs}
        put(
            tmp_path,
            ratings__csv="user_id,movie_id,rating,timestamp\n"
            + "".join(",".join(map(str, row)) + "\n" for row in ratings),
        )
        put(
            tmp_path,
            users__csv=table("user_id,lively", {user: "yes" if len(seen[user]) > 9 else "no" for user in seen}),
        )
        tiers = {movie: "head" if n > 12 else "tail" for movie, n in counts.items()}
        put(tmp_path, movies__csv=table("movie_id,tier", tiers))
        outcome = carried_out(tmp_path, self.PLAN)
        rated: dict[str, dict[str, int]] = {}
        for user, movie, rating, _ in test:
            rated.setdefault(user, {})[movie] = rating
        lists = {user: sorted(set(counts) - seen[user], key=lambda movie: (-counts[movie], movie)) for user in rated}
        expected = {user: self.figures(rated[user], lists[user]) for user in rated}
        assert any(one["recall(rel=4)@10"] is None for one in expected.values())
        check_scores(outcome, "popularity", expected)
        parts = {part.name: part.estimates["popularity"]["ndcg@10"].mean for part in outcome.report.slices}
        own = {"lively=yes", "lively=no", "item.tier=head", "item.tier=tail"}
        tiered = {name.partition("=")[0] for name in set(parts) - own}
        assert own < set(parts) and tiered == {"activity", "user", "item.popularity", "item"}
        for name in ("yes", "no"):
            members = [expected[user]["ndcg@10"] or 0.0 for user in rated if (len(seen[user]) > 9) == (name == "yes")]
            assert parts[f"lively={name}"] == pytest.approx(slow.mean(members))
        for tier in ("head", "tail"):
            of_tier = {u: {m: r for m, r in of.items() if tiers[m] == tier} for u, of in rated.items()}
            # Eleven items are listed, one more than measures look at; positions are counted among those of the tier.
            inside = {user: [movie for movie in listed[:11] if tiers[movie] == tier] for user, listed in lists.items()}
            values = [self.figures(of, inside[user])["ndcg@10"] or 0.0 for user, of in of_tier.items() if of]
            assert parts[f"item.tier={tier}"] == pytest.approx(slow.mean(values))
