"""Six clips, five texts and their vectors, and plans on them whose gold is made of keywords."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankjury.evaluation.report import Report
from rankjury.labeling.keywords.partial_match import PartialMatches
from rankjury.plan.run import Outcome
from tests.plan import carried_out, put

CLIPS = {
    "c1": ("car|van", "turning", "city"),
    "c2": ("car", "turning|braking", "city"),
    "c3": ("bike", "braking", ""),
    "c4": ("bike", "turning", "rural"),
    "c5": ("van", "", "city"),
    "c6": ("", "braking", "rural"),
}
TABLE = "clip,thing,act,place\n" + "".join(f"{clip},{','.join(cells)}\n" for clip, cells in CLIPS.items())
TEXTS = (
    {"query_id": "t1", "text": "show me an automobile in a turn", "keywords": ["car", "turning"]},
    {"query_id": "t2", "text": "bikes", "keywords": ["bike"]},
    {"query_id": "t3", "text": "a van in the city", "keywords": ["thing=van", "city"]},
)
SYNONYMS = """
ignored = ["show me", "a", "an", "in", "the"]
[synonyms]
car = ["automobile"]
"act=turning" = ["turn"]
bike = ["bikes", "bicycle"]
"""
SIMILARITIES = (0.9, 0.7, 0.5, 0.3, 0.1, -0.1)
"""Of c1 to c6 to every text."""
HEAD = 'measures = ["Recall@1", "Recall@3", "Precision@3", "NDCG@3", "MAP"]\nconventions.dialect = "alfa"\n'
GOLD = 'gold.kind = "keywords"\ngold.path = "clips.csv"\n'
WITH_TEXTS = 'gold.queries = "texts.jsonl"\n'
ON_CLIPS = 'systems.s = { kind = "vectors", path = "vectors.npz:clips" }\n'
ON_TEXTS = 'systems.s = { kind = "vectors", path = "vectors.npz:clips", queries = "vectors.npz:texts" }\n'
SHOWN_FROM = {
    "run": '[systems.s]\npath = "run.trec"\nthreshold = 0.5\n',
    "vectors": ON_TEXTS.replace(" }", ", threshold = 0.5 }"),
}
"""Systems that show nothing below 0.5."""
MAPPED = WITH_TEXTS + 'gold.keywords = "mapped"\ngold.mapping.synonyms = "synonyms.toml"\n'


def at(similarity: float) -> list[float]:
    return [similarity, float(np.sqrt(1 - similarity**2))]


def lines(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def written(tmp_path: Path) -> Path:
    """Annotations, texts, synonyms, vectors, and a run with the same similarities."""
    ids = [one["query_id"] for one in TEXTS]
    arrays = {
        "clips": np.array([at(one) for one in SIMILARITIES]),
        "clips_ids": np.array(list(CLIPS)),
        "texts": np.array([[1.0, 0.0]] * len(ids)),
        "texts_ids": np.array(ids),
    }
    rows = (f"{query} Q0 {clip} 1 {one} x\n" for query in ids for clip, one in zip(CLIPS, SIMILARITIES, strict=True))
    put(tmp_path, clips__csv=TABLE, texts__jsonl=lines(TEXTS), synonyms__toml=SYNONYMS, vectors__npz=arrays)
    put(tmp_path, run__trec="".join(rows))
    return tmp_path


def ran(folder: Path, *parts: str, system: str = ON_CLIPS) -> Outcome:
    return carried_out(folder, "".join([HEAD, GOLD, *parts, system]))


def relevant(outcome: Outcome) -> dict[str, int]:
    return {one.query: one.relevant for one in outcome.report.sections_of(PartialMatches)["s"].queries}


def asked(outcome: Outcome) -> dict[str, set[str]]:
    return {
        one.query: {keyword.partition("=")[2] for keyword in one.keywords}
        for one in outcome.report.sections_of(PartialMatches)["s"].queries
    }


def groups_of(outcome: Outcome) -> set[str]:
    return {
        keyword.partition("=")[0]
        for one in outcome.report.sections_of(PartialMatches)["s"].queries
        for keyword in one.keywords
    }


def scores(report: Report, label: str, system: str = "s") -> dict[str, float]:
    found = report.scores[system]
    return dict(zip(found.queries.to_list(), found[label].tolist(), strict=True))


def warned(outcome: Outcome, *words: str) -> bool:
    return any(all(word in warning for word in words) for warning in outcome.report.warning_lines)


def many(folder: Path, number: int = 12) -> None:
    """Clips, half of them cars, of which every other is in a city; one is a tram."""
    rows = [("tram" if n == 1 else ("car", "bus")[n % 2], ("city", "")[n // 2 % 2]) for n in range(number)]
    put(folder, clips__csv="clip,thing,place\n" + "".join(f"c{n:03},{a},{b}\n" for n, (a, b) in enumerate(rows)))
    chance = np.random.default_rng(5)
    ids = np.array([f"c{n:03}" for n in range(number)])
    put(folder, vectors__npz={"clips": chance.normal(size=(number, 4)), "clips_ids": ids})
