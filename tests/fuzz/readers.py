"""Surfaces of the readers: every file that karat reads as data."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from random import Random

import polars as pl

from karat.gold.labels import read_gold
from karat.rankers.runs import read_run
from tests.fuzz import mutators
from tests.fuzz.harness import Case, Surface, register

_SUFFIXES = (
    ".trec", ".txt", ".run", ".qrels", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".pq", "", ".npy",
    ".npz", ".safetensors", ".gz", ".csv.gz", ".json.gz", ".jsonl.gz", ".trec.gz", ".zst", ".csv.zst", ".dat", ".md",
    ".toml",
)  # fmt: skip


def parquet(columns: dict[str, object]) -> bytes:
    """Return a Parquet file of these columns."""
    file = io.BytesIO()
    pl.DataFrame(columns).write_parquet(file)
    return file.getvalue()


def surface(
    name: str,
    files: dict[str, bytes] | Iterable[dict[str, bytes]],
    read: Callable[[str], object],
    *,
    rename: bool = True,
    quick: int = 40,
) -> None:
    """Register a reader.

    Args:
        name: Of the surface.
        files: Valid files; each of a dictionary is a seed of its own. A list has seeds of several files, of which
            the first is the one that is read.
        read: The reader, which gets the name of the (first) file.
        rename: Whether a file may get a suffix that does not fit its content.
        quick: Cases in ``make test``.
    """
    groups = [{key: value} for key, value in files.items()] if isinstance(files, dict) else list(files)
    seeds = [Case(group, {"read": next(iter(group))}) for group in groups]

    def mutate(rng: Random, case: Case) -> Case:
        target = rng.choice(list(case.files))
        changed = case.with_file(target, mutators.mutate_file(rng, target, case.files[target]))
        if rename and target == case.options["read"] and rng.random() < 0.03:
            other = target.partition(".")[0] + rng.choice(_SUFFIXES)
            renamed = {(other if key == target else key): value for key, value in changed.files.items()}
            return Case(renamed, {"read": other})
        return changed

    register(Surface(name, lambda: seeds, mutate, lambda case: read(case.options["read"]), quick=quick))


_RUN_ROWS = [
    ("q1", "a", 3.5),
    ("q1", "b", 2.0),
    ("q1", "c", -1e-3),
    ("q2", "a", 1.0),
    ("q2", "d", 0.5),
    ("q10", "é", 7.0),
]
_GOLD_ROWS = [("q1", "a", 2), ("q1", "c", 1), ("q1", "x", 0), ("q2", "d", 3), ("q10", "é", 1)]


def _delimited(header: str, rows: Iterable[Iterable[object]], separator: str) -> bytes:
    lines = [header.replace(",", separator), *(separator.join(map(str, row)) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def _json_lines(names: str, rows: Iterable[Iterable[object]]) -> bytes:
    import json

    keys = names.split(",")
    return b"".join(json.dumps(dict(zip(keys, row, strict=True))).encode() + b"\n" for row in rows)


def _nested(rows: Iterable[tuple[str, str, float]]) -> bytes:
    import json

    tree: dict[str, dict[str, float]] = {}
    for query, item, value in rows:
        tree.setdefault(query, {})[item] = value
    return json.dumps(tree).encode()


def _columns(names: str, rows: Iterable[Iterable[object]]) -> dict[str, object]:
    return {name: list(column) for name, column in zip(names.split(","), zip(*rows, strict=True), strict=True)}


_RUN = "query_id,item_id,score"
_GOLD = "query_id,item_id,grade"

surface(
    "run-trec",
    {"run.trec": "".join(f"{q} Q0 {i} {n} {s} tag\n" for n, (q, i, s) in enumerate(_RUN_ROWS, 1)).encode()},
    read_run,
)
surface("run-json", {"run.json": _nested(_RUN_ROWS), "lists.json": b'{"q1": ["a", "b"], "q2": ["c"]}'}, read_run)
surface("run-jsonl", {"run.jsonl": _json_lines(_RUN, _RUN_ROWS)}, read_run)
surface("run-csv", {"run.csv": _delimited(_RUN, _RUN_ROWS, ",")}, read_run)
surface("run-tsv", {"run.tsv": _delimited(_RUN, _RUN_ROWS, "\t")}, read_run)
surface("run-parquet", {"run.parquet": parquet(_columns(_RUN, _RUN_ROWS))}, read_run, quick=80)
surface("gold-trec", {"gold.qrels": "".join(f"{q} 0 {i} {g}\n" for q, i, g in _GOLD_ROWS).encode()}, read_gold)
surface("gold-json", {"gold.json": _nested(_GOLD_ROWS)}, read_gold)
surface("gold-jsonl", {"gold.jsonl": _json_lines(_GOLD, _GOLD_ROWS)}, read_gold)
surface("gold-csv", {"gold.csv": _delimited(_GOLD, _GOLD_ROWS, ",")}, read_gold)
surface("gold-tsv", {"gold.tsv": _delimited(_GOLD, _GOLD_ROWS, "\t")}, read_gold)
surface("gold-parquet", {"gold.parquet": parquet(_columns(_GOLD, _GOLD_ROWS))}, read_gold, quick=80)
