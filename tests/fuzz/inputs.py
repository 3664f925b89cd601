"""Small valid files of every kind, and an archive of runs made from them: what the surfaces read."""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import polars as pl

import rankjury
from rankjury.evaluation.baseline_file import baseline_text
from rankjury.evaluation.compare import report_on
from rankjury.plan.archive import RunRecorder
from rankjury.plan.parse import read_plan
from rankjury.plan.run import execute_plan
from rankjury.tracking.archive.archive import Archive
from tests.evaluation import drifting
from tests.tracking.archive.made import PLAN, QUERIES, START, put_small, ranked

__all__ = ["ARCHIVE", "FILES", "archive_files", "files", "settled", "write_all"]

ARCHIVE = ".rankjury"
_IDS = [f"p{number:02}" for number in range(12)]
_OTHER_PLAN = PLAN.replace('"small"', '"other"').replace('targets = ["rr >= 0.3"]\n', "")
_TARGETS = 'targets = ["rr >= 0.3", "rr drop <= 0.5"]\n[[target]]\nrequire = "ndcg@3 >= 0.1"\nslice = "type=even"\n'
_PRODUCTS = [
    {
        "asin": "A1",
        "title": "Wrap dress",
        "store": "Marlo",
        "categories": ["Clothing", "Women", "Dresses"],
        "price": "$9",
    },
    {"asin": "A2", "title": "Red cotton shirt", "store": "Vell", "categories": ["Clothing", "Men", "Shirts"]},
    {"asin": "A3", "title": "Socks", "store": "Vell", "details": {"Color": "Red"}, "features": ["Soft cotton"]},
]
_ASKED = [
    {"id": "q1", "text": "women's dress", "type": "audience"},
    {"id": "q2", "text": "red cotton shirt", "type": "attribute"},
]
_TEXTS = [
    {"query_id": "t1", "text": "cyclist at night", "keywords": ["bicyclist", "night"]},
    {"query_id": "t2", "text": "bus", "keywords": ["bus"]},
]

_PINS = {
    "rankjury": "pins/1",
    "versions": {
        "1": {
            "sha256": "8b52d58dda1d248d65b79c8c7108d83b4f4d300a7e365b4673848162713a13a5",
            "queries": 2,
            "each": {"red-shirt-02638495": "f89074662fbd", "wrap-dress-dd6542ba": "a91f2474797a"},
        }
    },
}
_TOPS = [[f"item-{row + place}" for place in range(3)] for row in range(drifting.QUERIES)]


def _lines(rows: Iterable[object]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def _vectors(seed: int, width: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(len(_IDS), width)).astype(np.float32)


def _npz(seed: int, width: int) -> bytes:
    held = io.BytesIO()
    np.savez(held, ids=np.array(_IDS), vectors=_vectors(seed, width))
    return held.getvalue()


def _npy() -> bytes:
    held = io.BytesIO()
    np.save(held, _vectors(1, 4))
    return held.getvalue()


def _parquet(frame: pl.DataFrame) -> bytes:
    held = io.BytesIO()
    frame.write_parquet(held)
    return held.getvalue()


def _log() -> bytes:
    rows = [
        f"u{user},i{(user * 7 + n * 3) % 11},{1 + (user + n) % 5},{10**9 + 3600 * (n * 9 + user)}"
        for n in range(6)
        for user in range(9)
    ]
    return ("user,item,rating,time\n" + "\n".join(rows) + "\n").encode()


def _frames() -> dict[str, bytes]:
    names = [f"q{query:02}" for query in range(QUERIES) for _ in "abc"]
    items = list("abc") * QUERIES
    gold = pl.DataFrame({"query_id": names, "item_id": items, "grade": [int(item == "a") for item in items]})
    run = pl.DataFrame({"query_id": names, "item_id": items, "score": [float(3 - "abc".index(item)) for item in items]})
    return {"gold.parquet": _parquet(gold), "run.parquet": _parquet(run)}


@cache
def files() -> Mapping[str, bytes]:
    """Return every file by its name; a plan and runs of it are in the archive."""
    with tempfile.TemporaryDirectory() as folder:
        plan = put_small(Path(folder))
        small = {path.name: path.read_bytes() for path in plan.parent.iterdir()}
        report, older = _reports(Path(folder))
        scores = rankjury.evaluate(plan.parent / "gold.qrels", plan.parent / "old.trec", ["rr", "ndcg@3"])
    return {
        **small,
        "rankjury.toml": PLAN.encode(),
        "run.trec": ranked(0).encode(),
        "other.trec": ranked(1).encode(),
        "targets.toml": _TARGETS.encode(),
        "report.json": report,
        "older.json": older,
        "baseline.json": baseline_text(report_on(scores)).encode(),
        "moved.json": json.dumps(
            drifting.report(hnsw=drifting.entry(drifting.stability(drifting.scores_of(1))), tops=_TOPS).to_json(
                queries=True
            )
        ).encode(),
        "still.json": json.dumps(drifting.report(tops=_TOPS).to_json(queries=True)).encode(),
        "ref.npz": _npz(1, 4),
        "base.npz": _npz(2, 3),
        "bare.npy": _npy(),
        "ids.txt": "\n".join(_IDS).encode(),
        "papers.jsonl": _lines({"paper_id": name, "title": name, "abstract": "a b"} for name in _IDS),
        "models_of_fuzz.py": b"def lengths(texts):\n    return [[float(len(text)), 1.0] for text in texts]\n",
        "products.json": json.dumps(_PRODUCTS).encode(),
        "asked.jsonl": _lines(_ASKED),
        "human.jsonl": _lines([{"query_id": "q1", "item_id": "A1", "grade": 3}]),
        "words.toml": b'[color]\nsame = [["red", "scarlet"]]\n',
        "synonyms.toml": b'[synonyms]\nbicyclist = ["cyclist"]\n',
        "pinned.txt": b"# version: 1\nwrap dress\nred shirt\n",
        "pinned.pins.json": json.dumps(_PINS).encode(),
        "clips.csv": b"clip,object,scene\nc1,bicyclist,night\nc2,pedestrian|bicyclist,urban|rain\nc3,bus,\n",
        "texts.jsonl": _lines(_TEXTS),
        "log.csv": _log(),
        "empty.csv": b"",
        **_frames(),
    }


FILES = (
    *("gold.qrels", "old.trec", "new.trec", "queries.csv", "items.csv", "plan.toml", "rankjury.toml", "run.trec"),
    *(
        "other.trec",
        "targets.toml",
        "report.json",
        "older.json",
        "baseline.json",
        "moved.json",
        "still.json",
        "ref.npz",
        "base.npz",
        "bare.npy",
        "ids.txt",
    ),
    *(
        "papers.jsonl",
        "models_of_fuzz.py",
        "products.json",
        "asked.jsonl",
        "human.jsonl",
        "words.toml",
        "synonyms.toml",
        "pinned.txt",
        "pinned.pins.json",
        "clips.csv",
    ),
    *("texts.jsonl", "log.csv", "empty.csv", "gold.parquet", "run.parquet"),
)
"""The names of `files`, which takes a second to make."""


def _reports(folder: Path) -> tuple[bytes, bytes]:
    """Return two reports with the scores of every query."""
    found = []
    for shift in (2, 1):
        (folder / "new.trec").write_text(ranked(shift))
        report = execute_plan(read_plan(folder / "plan.toml")).report
        found.append(json.dumps(report.to_json(queries=True)).encode())
    return found[0], found[1]


@cache
def archive_files() -> Mapping[str, bytes]:
    """Return the files of an archive: two runs of one plan, one of another, and a baseline."""
    with tempfile.TemporaryDirectory() as name, chdir(name):
        folder = Path(name)
        archive = Archive(folder / ARCHIVE)
        for day, (plan, shift) in enumerate(((PLAN, 1), (_OTHER_PLAN, 0), (PLAN, 2))):
            put_small(folder, plan)
            (folder / "new.trec").write_text(ranked(shift))
            checked = read_plan(folder / "plan.toml")
            begun = RunRecorder(checked)
            outcome = execute_plan(checked)
            origin = replace(begun.origin(), seconds=0.5)
            archive.store(outcome.report, origin, gate=outcome.gate, time=START + timedelta(days=day))
        archive.set_baseline(archive.runs("small")[0])
        made = [path for path in sorted((folder / ARCHIVE).rglob("*")) if path.is_file() and path.name != "lock"]
        return {str(path.relative_to(folder)): path.read_bytes() for path in made}


def write_all(contents: Mapping[str, bytes], left_out: Iterable[str] = ()) -> None:
    """Put files into the current folder, except those that a case has put there or has removed."""
    left_out = set(left_out)
    folders = {"."}
    for name, content in contents.items():
        if name not in left_out:
            folder = os.path.dirname(name) or "."  # noqa: PTH120 - Path takes longer than the writing
            if folder not in folders:
                os.makedirs(folder, exist_ok=True)  # noqa: PTH103
                folders.add(folder)
            with open(name, "wb") as file:  # noqa: PTH123
                file.write(content)


@contextmanager
def settled(seconds: float = 1.0) -> Iterator[None]:
    """Wait after a call until threads of a server have closed their sockets, so that none counts as left open."""
    before = _open_files()
    try:
        yield
    finally:
        until = monotonic() + seconds
        while _open_files() > before and monotonic() < until:
            sleep(0.001)


def _open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())
