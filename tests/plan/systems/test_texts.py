"""Plans whose systems are made of texts: chunkings side by side, with the real model."""

import gc
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankjury.plan.systems.texts
from rankjury.errors import DataError, RankjuryError, UnknownName, UsageError
from rankjury.evaluation.sections import SystemFacts
from rankjury.plan.run import Outcome
from rankjury.retrieval.diagnostics import SpaceDiagnostics
from rankjury.retrieval.embedding.models.wordllama import WordLlamaModel
from tests.plan import carried_out, checked, put

ITEMS: list[dict[str, Any]] = [
    {"id": "p1", "title": "Linen summer dress", "bullets": ["Loose cut", "Bright red colour"]},
    {"id": "p2", "title": "Leather ankle boots", "bullets": ["Black leather", "Low heel, waterproof"]},
    {"id": "p3", "title": "Hooded sweatshirt", "bullets": ["Warm fleece inside"], "description": "A grey hoodie."},
    {"id": "p4", "title": "Running shoes", "bullets": None},
    {"id": "p5", "title": "Wool winter coat", "bullets": ["Long", "Dark blue wool", "Two pockets"]},
]
QUERIES = {"q1": "red dress for summer", "q2": "black leather boots", "q3": "grey hoodie", "q4": "blue wool coat"}
GOLD = "query_id,item_id,grade\nq1,p1,3\nq2,p2,3\nq3,p3,2\nq4,p5,2\nq4,p3,1\n"
PLAN = "gold = 'gold.csv'\nmeasures = ['rr@5', 'ndcg@5']\n"
NAMES = [item["id"] for item in ITEMS]


def lines(rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def with_texts(folder: Path) -> Path:
    put(folder, items__jsonl=lines(ITEMS), gold__csv=GOLD)
    put(folder, queries__jsonl=lines({"query_id": name, "text": text} for name, text in QUERIES.items()))
    return folder


def system(name: str, **keys: Any) -> str:
    keys = {"kind": "texts", "items": "items.jsonl", "queries": "queries.jsonl"} | keys
    return f"[systems.{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())


def run(folder: Path, *systems: str) -> Outcome:
    return carried_out(with_texts(folder), PLAN + "".join(systems))


def first_of(outcome: Outcome, name: str) -> dict[str, tuple[str, ...]]:
    return dict(zip(outcome.report.scores[name].queries, outcome.report.top_items[name], strict=True))


def cosines(texts: list[list[str]], how: Any) -> dict[str, list[str]]:
    """What the model itself says, in plain numbers: of each query the items in order."""
    model = WordLlamaModel()

    def units(given: list[str]) -> Any:
        vectors = model.embed(given).astype(np.float64)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    scores = [how(units(list(QUERIES.values())) @ units(chunks).T) for chunks in texts]
    return {
        query: [NAMES[item] for item in np.argsort([-one[row] for one in scores], kind="stable")]
        for row, query in enumerate(QUERIES)
    }


def windows(text: str, size: int, step: int) -> list[str]:
    words = text.split()
    last = max(0, -(-(len(words) - size) // step))
    return [" ".join(words[at * step : at * step + size]) for at in range(last + 1)]


TITLES_AND_BULLETS = ["\n".join([item["title"], ", ".join(item["bullets"] or [])]).strip() for item in ITEMS]


def test_chunkings_are_systems_of_one_comparison(tmp_path: Path) -> None:
    outcome = run(
        tmp_path,
        "baseline = 'title'\n",
        system("title"),
        system("both", chunking="title+bullets"),
        system("windows", chunking="title+bullets/3+1"),
        system("means", chunking="title+bullets/3+1", aggregate="mean"),
    )
    wanted = {
        "title": cosines([[item["title"]] for item in ITEMS], lambda found: found[:, 0]),
        "both": cosines([[text] for text in TITLES_AND_BULLETS], lambda found: found[:, 0]),
        "windows": cosines([windows(text, 3, 2) for text in TITLES_AND_BULLETS], lambda found: found.max(axis=1)),
        "means": cosines([windows(text, 3, 2) for text in TITLES_AND_BULLETS], lambda found: found.mean(axis=1)),
    }
    for name, ranking in wanted.items():
        assert {query: list(items) for query, items in first_of(outcome, name).items()} == ranking
    assert len({str(ranking) for ranking in wanted.values()}) == 4
    assert {one.system for one in outcome.report.comparisons} == {"both", "windows", "means"}


def test_what_is_recorded(tmp_path: Path) -> None:
    outcome = run(tmp_path, system("w", chunking=" title + bullets/3+1"), system("t", chunking="title"))
    pieces = sum(len(windows(text, 3, 2)) for text in TITLES_AND_BULLETS)
    assert outcome.report.sections_of(SystemFacts)["w"].content == {
        "chunking": "title+bullets/3+1",
        "aggregate": "best",
        "chunks": pieces,
        "tokens": sum(len(text.split()) for text in TITLES_AND_BULLETS),
        "tokens_are": "words",
        "model": "wordllama",
        "model_version": WordLlamaModel().version,
    }
    assert outcome.report.sections_of(SystemFacts)["t"]["chunks"] == len(ITEMS)
    assert outcome.report.sections_of(SpaceDiagnostics)["w"].vectors == pieces
    assert outcome.report.to_json()["systems"]["w"]["facts"]["chunking"] == "title+bullets/3+1"


def test_the_same_texts_are_embedded_once(tmp_path: Path, mine: str) -> None:
    """Queries and titles once each, though three systems have them; another run begins anew."""
    systems = [system(name, model=f"{mine}:embed") for name in "ab"]
    systems.append(system("c", model=f"{mine}:embed", chunking="title/1", aggregate="mean"))
    run(tmp_path, *systems)
    seen = sys.modules[mine].seen
    assert len(seen) == 3
    assert set(seen[1]) == set(QUERIES.values()) and len(seen[0]) == len(ITEMS)
    run(tmp_path, *systems)
    assert len(seen) == 6


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A model of one's own in the current folder, which keeps what it was asked."""
    name = f"rankjury_texts_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(
        "seen = []\ndef embed(texts):\n    seen.append(list(texts))\n"
        "    return [[len(t) % 7 + 1, t.count('e'), t.count('o') - 1] for t in texts]\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield name
    sys.modules.pop(name, None)


def test_depth_and_metric(tmp_path: Path, mine: str) -> None:
    outcome = run(
        tmp_path,
        system("two", depth=2, metric="l2", model=f"{mine}:embed"),
        system("two_of_windows", depth=2, metric="l2", model=f"{mine}:embed", chunking="title/1"),
    )
    for name in ("two", "two_of_windows"):
        assert {len(items) for items in first_of(outcome, name).values()} == {2}


def test_items_without_text_cannot_be_found_and_are_told(tmp_path: Path) -> None:
    outcome = run(tmp_path, system("b", chunking="bullets"))
    assert all("p4" not in items and len(items) == 4 for items in first_of(outcome, "b").values())
    assert "b: 1 item has no text in bullets, and cannot be retrieved: p4" in outcome.report.warning_lines


def test_other_forms_of_items_and_queries(tmp_path: Path) -> None:
    """Amazon's names, and a table of queries whose column is named."""
    amazon = [
        {"parent_asin": item["id"], "title": item["title"], "features": item["bullets"] or [],
         "description": [item.get("description", "")]} for item in ITEMS
    ]  # fmt: skip
    put(tmp_path, amazon__json=json.dumps(amazon))
    put(tmp_path, q__csv="id,what,text\n" + "".join(f"{name},{text},none\n" for name, text in QUERIES.items()))
    outcome = run(
        tmp_path,
        system("own", chunking="title+bullets"),
        system("amazon", chunking="title+bullets", items="amazon.json", queries="q.csv", query_text="what"),
    )
    assert first_of(outcome, "amazon") == first_of(outcome, "own")


class TestFaults:
    @pytest.mark.parametrize(
        ("keys", "told"),
        [
            ({"chunking": "title/0"}, "systems.x.chunking: a window of 0 tokens"),
            ({"metric": "cosinus"}, "systems.x.metric: unknown similarity 'cosinus'. Did you mean cosine"),
            ({"aggregate": "median"}, "systems.x.aggregate: found 'median'"),
            ({"depth": 0}, "systems.x.depth: found 0"),
            ({"chunk": "title"}, "unknown key 'chunk'. Did you mean chunking"),
        ],
    )
    def test_of_the_plan(self, keys: dict[str, Any], told: str, tmp_path: Path) -> None:
        with pytest.raises(UsageError) as error:
            checked(tmp_path, PLAN + system("x", **keys))
        assert told in str(error.value) and "plan.toml:" in str(error.value)

    @pytest.mark.parametrize(
        ("keys", "kind", "told"),
        [
            ({"chunking": "titel"}, UnknownName, "unknown field 'titel'. Did you mean title"),
            ({"model": "wordlama"}, UsageError, "no model or folder is called 'wordlama'"),
            ({"items": "none.jsonl"}, DataError, "no such file"),
            ({"queries": "few.jsonl"}, DataError, "queries without a text: q2, q3, q4"),
            ({"query_text": "txt"}, UnknownName, "unknown column 'txt'. Did you mean text"),
        ],
    )
    def test_met_while_it_runs(
        self, keys: dict[str, Any], kind: type[RankjuryError], told: str, tmp_path: Path
    ) -> None:
        put(tmp_path, few__jsonl=lines([{"query_id": "q1", "text": "dress"}, {"query_id": "q9", "text": "x"}]))
        with pytest.raises(kind) as error:
            run(tmp_path, system("x", **keys))
        assert told in str(error.value) and "plan.toml:" in str(error.value)


def test_nothing_is_kept_when_the_run_is_over(tmp_path: Path) -> None:
    run(tmp_path, system("t"))
    gc.collect()
    assert not len(rankjury.plan.systems.texts._SHARED)
