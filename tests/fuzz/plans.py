"""Surfaces of plan files: checked, and small ones carried out."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np

import rankjury
from rankjury.plan import parse as reading
from rankjury.plan.outputs import check_outputs, write_outputs
from rankjury.plan.parse import read_plan
from rankjury.plan.run import execute_plan
from rankjury.plan.schema import plan_model
from tests.fuzz import mutators
from tests.fuzz.harness import Case, Surface, register
from tests.fuzz.readers import npz

_MODEL = cache(plan_model)
"""The model of all plans, which takes longer to make than a case."""

_PLAN = "plan.toml"
_LARGEST = 500
"""A plan with a larger number is checked and not carried out: it may rightly ask for more work than there is time."""
_NOT_RUN = re.compile(r"pgvector|qdrant|lance|sqlite|endpoint|://|postgres|sentence|wordllama|keybert|embedding", re.I)
"""Servers, networks and models that take seconds to load."""

_VECTORS = np.array([[1, 0, 0.5], [0.25, -1, 2], [3, 1, 1], [0.5, 0, 1]], dtype=np.float32)
_LISTS = [
    {"movie_id": one, "2_most_similar_movies_overall_ordered": [x for x in "abcd" if x != one][:2]} for one in "abcd"
]
_ARRAYS = npz(
    items=_VECTORS, items_ids=np.array(list("abcd")), queries=_VECTORS[:3], queries_ids=np.array(["q1", "q2", "q3"])
)
_LOG = "userId,movieId,rating,timestamp\n" + "".join(
    f"{user},{(user * 3 + turn * 5) % 7},{1 + (user + turn) % 5},{1000 + 13 * turn + user}\n"
    for user in range(1, 9)
    for turn in range(6)
)
_FILES = {
    "qrels.txt": b"q1 0 a 2\nq1 0 b 0\nq2 0 c 1\nq3 0 a 1\nq3 0 d 3\n",
    "x.trec": b"q1 Q0 a 1 3.5 t\nq1 Q0 b 2 2 t\nq2 Q0 a 1 3 t\nq2 Q0 c 2 2 t\nq3 Q0 d 1 1 t\n",
    "y.trec": b"q1 Q0 b 1 3.5 t\nq1 Q0 a 2 2 t\nq2 Q0 c 1 3 t\nq2 Q0 b 2 2 t\nq3 Q0 d 1 1 t\nq3 Q0 a 2 0.5 t\n",
    "queries.jsonl": b"".join(
        json.dumps({"id": name, "text": f"red {name}", "type": kind, "version": "1"}).encode() + b"\n"
        for name, kind in (("q1", "head"), ("q2", "tail"), ("q3", "head"))
    ),
    "items.csv": b"item_id,title,genre\na,A,x\nb,B,y\nc,C,x\nd,D,y\n",
    "gold.json": json.dumps(_LISTS).encode(),
    "vectors.npz": _ARRAYS,
    "clips.csv": b"clip,object,scene\na,car|bus,urban\nb,car,rural\nc,bike,urban|night\nd,bus,night\n",
    "texts.jsonl": b'{"id": "q1", "text": "a car", "keywords": ["car"]}\n{"id": "q2", "text": "dark"}\n',
    "synonyms.toml": b'ignored = ["a"]\n[synonyms]\nnight = ["dark"]\n',
    "ratings.csv": _LOG.encode(),
    "movies.csv": b"movieId,title,genres\n" + b"".join(b"%d,T%d,x|y\n" % (n, n) for n in range(7)),
}
_HEAD = "statistics.resamples = 100\n"
_SMALL = {
    "labels": """
name = "labels"
gold = "qrels.txt"
baseline = "x"
measures = ["ndcg@3", "ap@3", "recall(rel=2)"]
cutoffs = [1, 3]
headline = ["ndcg@3"]
slices = "queries.jsonl:type"
item_slices = ["items.csv:genre"]
names = "items.csv:title"
texts = "queries.jsonl:text"
targets = ["ndcg@3 >= 0.1", "ndcg@3 drop <= 5 %"]
outputs = ["report.json", "scores.csv", "report.md"]
meta = { model = "m", n = 1, on = true }
conventions = { ties = "id", missing = "zero", duplicates = "first" }
figures = { x = { latency_p95_ms = 12.5 }, y = { latency_p95_ms = 9.0 } }
[[target]]
require = "latency_p95_ms <= 50"
system = "x"
[[target]]
require = "ndcg@3 >= 0.2"
system = "y"
slice = "type=head"
[[output]]
file = "{system}.csv"
form = "cutoffs"
[systems.x]
kind = "run"
path = "x.trec"
threshold = 0.1
[systems.y]
kind = "run"
path = "y.trec"
[systems.both]
kind = "fusion"
of = ["x", "y"]
method = "rrf"
weights = { x = 0.7, y = 0.3 }
c = 60
depth = 50
[systems.random]
kind = "random"
candidates = 4
""",
    "ordered": """
gold = { kind = "ordered", path = "gold.json" }
measures = ["ndcg(gain=exp)@2", "rr"]
[systems.v]
kind = "vectors"
path = "vectors.npz:items"
metric = "cosine"
normalise = true
truncate = 2
dtype = "int8"
[systems.random]
kind = "random"
""",
    "reference": """
gold = { kind = "reference", path = "vectors.npz:items", depth = 3, sample = 3, seed = 42 }
measures = ["recall(over=k,gold=k)@2", "rbo"]
agreement = { pairs = 10, seed = 1 }
[systems.v]
kind = "vectors"
path = "vectors.npz:items"
truncate = 2
""",
    "keywords": """
measures = ["Recall@1", "NDCG@3"]
conventions.dialect = "alfa"
[gold]
kind = "keywords"
path = "clips.csv"
groups = { object = "object", scene = ["scene"] }
match = "any"
separator = "|"
queries = "texts.jsonl"
keywords = "mapped"
without_keywords = "skip"
show = ["q1"]
mapping = { method = "exact", synonyms = "synonyms.toml", check = [] }
[systems.v]
kind = "vectors"
path = "vectors.npz:items"
queries = "vectors.npz:queries"
threshold = 0.15
""",
    "interactions": """
baseline = "popularity"
measures = ["ndcg@3", "recall(rel=4)@3", "coverage@3", "novelty@3"]
[gold]
kind = "interactions"
path = "ratings.csv"
items = "movies.csv"
window = "test"
scale = [1, 5]
split = { kind = "temporal", fractions = [0.6, 0.2, 0.2] }
tiers = { activity = 2, popularity = [0.5, 0.8], cold_users = 2, cold_items = 2 }
candidates = { sampled = 3, seed = 0 }
[systems.popularity]
kind = "recommender"
model = "popularity"
[systems.random]
kind = "recommender"
model = "random"
cold_users = "popularity"
depth = 3
""",
    "index": """
baseline = "exact"
gold = "qrels.txt"
measures = ["ndcg@3"]
targets = ["ann_recall@2 >= 0.5"]
[systems.exact]
kind = "index"
engine = "exact"
path = "vectors.npz:items"
queries = "vectors.npz:queries"
normalise = true
[systems.hnsw]
kind = "index"
engine = "faiss-hnsw"
path = "vectors.npz:items"
queries = "vectors.npz:queries"
build = { m = 8, ef_construction = 16 }
search = { ef_search = 8 }
[lab]
k = 2
queries = "queries.jsonl"
items = "items.csv"
rounds = 1
warm_up = 1
concurrency = [1]
[sweep.hnsw]
build = { m = [4, 8] }
search = { ef_search = [4, 8] }
""",
}  # fmt: skip


@cache
def _trees() -> list[dict[str, Any]]:
    return [tomllib.loads(text) for text in (*_SMALL.values(), *_bundled().values())]


@cache
def _bundled() -> dict[str, str]:
    """The plans of the samples, and those of the documentation."""
    package = Path(rankjury.__file__).parent
    found = {str(path): path.read_text() for path in sorted((package / "plan" / "samples").rglob("*.toml"))}
    for page in sorted((package.parents[1] / "docs").glob("*.md")):
        blocks = re.findall(r"^```toml\n(.*?)^```", page.read_text(), re.S | re.M)
        found |= {f"{page.name}-{number}": block for number, block in enumerate(blocks)}
    return {name: text for name, text in found.items() if _reads(text)}


def _reads(text: str) -> bool:
    try:
        return "systems" in tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False


def _read() -> reading.CheckedPlan:
    with patch.object(reading, "plan_model", _MODEL):
        return read_plan(_PLAN)


def _check(case: Case) -> object:
    checked = _read()
    check_outputs(checked, Path("out"))
    return checked


def _run(case: Case) -> object:
    checked = _read()
    check_outputs(checked, Path("out"))
    content = Path(_PLAN).read_text(encoding="utf-8-sig", errors="replace")
    if _NOT_RUN.search(content) or any(number > _LARGEST for number in _numbers(tomllib.loads(content))):
        return checked
    outcome = execute_plan(checked)
    if ".." not in content and '"/' not in content:  # nothing is written outside of the folder
        write_outputs(checked, outcome.report, Path("out"), outcome.gate)
    return outcome.report.to_json(queries=True)


def _numbers(tree: Any) -> Iterator[float]:
    if isinstance(tree, dict | list):
        for value in tree.values() if isinstance(tree, dict) else tree:
            yield from _numbers(value)
    elif isinstance(tree, int | float):
        yield abs(tree)


def _mutate_plan(rng: Random, case: Case) -> Case:
    return case.with_file(_PLAN, mutators.mutate_toml(rng, case.files[_PLAN], _trees()))


def _mutate_data(rng: Random, case: Case) -> Case:
    used = [name for name in case.files if name != _PLAN and name.encode() in case.files[_PLAN]]
    target = rng.choice(used)
    return case.with_file(target, mutators.mutate_file(rng, target, case.files[target]))


def _small() -> list[Case]:
    return [Case({**_FILES, _PLAN: (_HEAD + text).encode()}) for text in _SMALL.values()]


register(Surface("plan", lambda: [Case({_PLAN: text.encode()}) for text in _bundled().values()], _mutate_plan, _check))
register(Surface("plan-run", _small, _mutate_plan, _run, writes=True, quick=30))
register(Surface("plan-data", _small, _mutate_data, _run, writes=True, quick=20))
