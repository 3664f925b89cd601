"""Clips, texts, synonyms and vectors in the folder of a test, and plans on them."""

import io
import json

import numpy as np

from tests.cli.conftest import Rankjury
from tests.cli.support import Outcome, put

CLIPS = (
    "clip,thing,act,place\nc1,car|van,turning,city\nc2,car,turning|braking,city\nc3,bike,braking,\n"
    "c4,bike,turning,rural\nc5,van,,city\nc6,,braking,rural\n"
)
TEXTS = (
    {"query_id": "t1", "text": "a car that is turning", "keywords": ["car", "turning"]},
    {"query_id": "t2", "text": "bicycles", "keywords": ["bike"]},
)
SYNONYMS = '[synonyms]\nbike = ["bicycle"]\n'
HEAD = (
    'measures = ["Recall@1", "Recall@5", "NDCG@5", "MAP"]\nconventions.dialect = "alfa"\n'
    'statistics.resamples = 100\n[gold]\nkind = "keywords"\npath = "clips.csv"\n'
)
ON_CLIPS = '[systems.s]\nkind = "vectors"\npath = "clips.npz"\n'
ON_TEXTS = f'{ON_CLIPS}queries = "texts.npz"\n'
GIVEN = 'queries = "texts.jsonl"\n'
MAPPED = f'{GIVEN}keywords = "mapped"\nmapping.synonyms = "synonyms.toml"\n'


def vectors(name: str, *ids: str) -> None:
    held = io.BytesIO()
    np.savez(held, ids=np.array(ids), v=np.random.default_rng(len(ids)).normal(size=(len(ids), 4)))
    put(name, held.getvalue())


def texts(*rows: object) -> None:
    put("texts.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))


def put_files() -> None:
    put("clips.csv", CLIPS)
    put("synonyms.toml", SYNONYMS)
    texts(*TEXTS)
    vectors("clips.npz", "c1", "c2", "c3", "c4", "c5", "c6")
    vectors("texts.npz", "t1", "t2")


def put_plan(gold: str = "", system: str = ON_CLIPS) -> None:
    put("rankjury.toml", f"{HEAD}{gold}{system}")


def run(rankjury: Rankjury, gold: str = "", system: str = ON_CLIPS) -> Outcome:
    put_plan(gold, system)
    return rankjury("run")


def check_warned(outcome: Outcome, *fragments: str) -> None:
    """It runs, and one of the warnings says all of it."""
    assert outcome.code == 0 and "Traceback" not in outcome.err, outcome.err
    assert any(all(fragment in line for fragment in fragments) for line in outcome.warnings), outcome.err
