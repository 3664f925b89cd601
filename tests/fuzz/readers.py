"""Surfaces of the readers: every file that rankjury reads as data."""

from __future__ import annotations

import gzip
import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import zstandard

from rankjury import scale
from rankjury.errors import RankjuryError
from rankjury.evaluation.api import compare, evaluate
from rankjury.evaluation.baseline_file import baseline_text, read_baseline
from rankjury.evaluation.compare import report_on
from rankjury.evaluation.report import read_report
from rankjury.io.attributes import read_attributes, read_column
from rankjury.io.formats import read_gold, read_run
from rankjury.io.ordered_lists import read_ordered
from rankjury.io.vectors import read_candidates, read_ids, read_vectors
from rankjury.io.vectors.scan import read_headers, read_metadata
from rankjury.labeling.keywords.annotations import read_annotations
from rankjury.labeling.keywords.gold import keyword_gold
from rankjury.labeling.keywords.quality import read_labelled_texts
from rankjury.labeling.keywords.spellings import read_keyword_synonyms
from rankjury.labeling.products.catalog import read_catalogue
from rankjury.labeling.products.human import read_human_labels
from rankjury.labeling.products.labels import label
from rankjury.labeling.products.query_sets import (
    check_pins,
    pin_queries,
    read_pinned_queries,
    read_queries,
    read_query_set,
)
from rankjury.labeling.products.synonyms import read_synonyms
from rankjury.plan.draft import draft, kind_for
from rankjury.plan.folder_scan import scan_folder
from rankjury.plan.parse import read_plan
from rankjury.recsys.audit import audit
from rankjury.recsys.data.attributes import read_items, read_users
from rankjury.recsys.data.read import read_log
from rankjury.recsys.data.split_folder import read_folds, write_split
from rankjury.recsys.models.precomputed import read_scores
from rankjury.recsys.splitting import split_log
from rankjury.retrieval.embedding.corpus import read_corpus
from rankjury.retrieval.rank import rank_vectors
from rankjury.stats.resampling import Resampling
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
    keys = names.split(",")
    return b"".join(json.dumps(dict(zip(keys, row, strict=True))).encode() + b"\n" for row in rows)


def _nested(rows: Iterable[tuple[str, str, float]]) -> bytes:
    tree: dict[str, dict[str, float]] = {}
    for query, item, value in rows:
        tree.setdefault(query, {})[item] = value
    return json.dumps(tree).encode()


def _columns(names: str, rows: Iterable[Iterable[object]]) -> dict[str, object]:
    return {name: list(column) for name, column in zip(names.split(","), zip(*rows, strict=True), strict=True)}


_RUN = "query_id,item_id,score"
_TREC = "".join(f"{q} Q0 {i} {n} {s} tag\n" for n, (q, i, s) in enumerate(_RUN_ROWS, 1))
_GOLD = "query_id,item_id,grade"

surface("run-trec", {"run.trec": _TREC.encode()}, read_run)
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


# Compressed files.

_PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, 1, mtime=0),
    ".zst": lambda data: zstandard.compress(data, 1),
}
_PLAIN = {
    "run.trec": _TREC.encode(),
    "run.csv": _delimited(_RUN, _RUN_ROWS, ","),
    "run.json": _nested(_RUN_ROWS),
    "run.jsonl": _json_lines(_RUN, _RUN_ROWS),
}
surface(
    "run-compressed",
    {name + suffix: pack(data) for name, data in _PLAIN.items() for suffix, pack in _PACK.items()},
    read_run,
)

# Gold of other kinds.

_LISTS = [
    {"movie_id": name, "3_most_similar_movies_overall_ordered": [other for other in "abcd" if other != name]}
    for name in "abcd"
]
surface(
    "gold-ordered",
    {
        "gold.json": json.dumps(_LISTS).encode(),
        "lists.json": b'{"q1": ["a", "b"], "q2": ["c"]}',
        "aspects.json": b'{"q1": {"overall": ["a", "b"], "vibe": ["b", "a"]}, "q2": {"overall": ["c"], "vibe": ["a"]}}',
        "gold.jsonl": b'{"query_id": "q1", "item_id": "a", "rank": 1}\n{"query_id": "q1", "item_id": "b", "rank": 2}\n',
        "gold.csv": b"query_id,item_id,rank\nq1,a,1\nq1,b,2\nq2,c,1\n",
        "gold.parquet": parquet({"query_id": ["q1", "q1"], "item_id": ["a", "b"], "rank": [1, 2]}),
    },
    read_ordered,
)

_CLIPS = b"""clip,object,behavior,scene
c1,bicyclist,crossing|entering,urban
c2,car|bus,"none",urban|night
c3,pedestrian,crossing,rural
"""
_TEXTS = b"""{"query_id": "t1", "text": "cyclist crossing", "keywords": ["bicyclist", "crossing"], "type": "short"}
{"query_id": "t2", "text": "bus at night", "keywords": ["bus", "night"]}
"""
_SYNONYMS = b"""ignored = ["a", "the", "at"]
[synonyms]
bicyclist = ["cyclist", "bike rider"]
"night" = ["dark", "after dark"]
"""


def _keywords(path: str) -> object:
    annotations = read_annotations(path)
    return [keyword_gold(annotations, match=match) for match in ("all", "graded", "at-least-2")]


surface(
    "annotations",
    {
        "clips.csv": _CLIPS,
        "clips.tsv": _CLIPS.replace(b",", b"\t"),
        "clips.jsonl": b'{"clip": "c1", "object": ["a", "b"], "scene": "x|y"}\n{"clip": "c2", "object": []}\n',
        "clips.json": b'{"c1": {"object": "a|b", "scene": "x"}, "c2": {"object": "c", "scene": "y|x"}}',
        "clips.parquet": parquet({"clip": ["c1", "c2"], "object": ["a|b", "c"], "tags": [["x"], ["x", "y"]]}),
    },
    _keywords,
)


def _texts(path: str) -> object:
    vocabulary = read_annotations("clips.csv").vocabulary
    read_keyword_synonyms("synonyms.toml", vocabulary)
    return read_labelled_texts(path, vocabulary)


surface("keyword-texts", [{"texts.jsonl": _TEXTS, "synonyms.toml": _SYNONYMS, "clips.csv": _CLIPS}], _texts)

# Vectors.


def _npy(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def npz(**arrays: Any) -> bytes:
    """Return a zip file of arrays, the same each time."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:  # np.savez writes the time
        for name, values in arrays.items():
            content = values if isinstance(values, bytes) else _npy(values)
            out.writestr(zipfile.ZipInfo(name if isinstance(values, bytes) else f"{name}.npy"), content)
    return file.getvalue()


_MATRIX = np.array([[1, 0, 0.5], [0.25, -1, 2], [3, 1, 1], [0, 0, 1]], dtype=np.float32)
_IDS = ["a", "b", "c", "d"]
_BY_ID = dict(zip(_IDS, _MATRIX.tolist(), strict=True))
_METADATA = json.dumps({"schema": "rankjury.vectors/1", "count": 4, "dimensions": 3, "dtype": "float32"}).encode()


def _safetensors() -> bytes:
    shape = {"dtype": "F32", "shape": [4, 3], "data_offsets": [0, 48]}
    header = json.dumps({"anchor": shape}).encode()
    return len(header).to_bytes(8, "little") + header + _MATRIX.tobytes()


_VECTORS = {
    "v.npy": _npy(_MATRIX),
    "v.npz": npz(vectors=_MATRIX, ids=np.array(_IDS)),
    "each.npz": npz(a=_MATRIX[0], b=_MATRIX[1]),
    "embedded.npz": npz(vectors=_MATRIX, ids=np.array(_IDS), **{"rankjury.json": _METADATA}),
    "v.safetensors": _safetensors(),
    "v.parquet": parquet({"id": _IDS, "vector": _MATRIX.tolist()}),
    "v.json": json.dumps(_BY_ID).encode(),
    "spaces.json": json.dumps({name: {"anchor": value} for name, value in _BY_ID.items()}).encode(),
    "v.jsonl": b"".join(json.dumps({"id": name, "vector": value}).encode() + b"\n" for name, value in _BY_ID.items()),
}


def _vectors(path: str) -> object:
    with suppress(RankjuryError):
        read_headers(path)
    with suppress(RankjuryError):
        read_metadata(path)
    vectors = read_vectors(path)
    return rank_vectors(vectors, k=2)


for _suffix in ("npy", "npz", "safetensors", "parquet", "json", "jsonl"):
    surface(
        f"vectors-{_suffix}", {name: data for name, data in _VECTORS.items() if name.endswith("." + _suffix)}, _vectors
    )

surface(
    "vector-ids",
    [
        {"ids.txt": b"a\nb\nc\nd\n"},
        {"ids.json": b'["a", "b", "c", "d"]'},
        {"ids.npy": _npy(np.array(_IDS))},
        {"ids.csv": b"id,title\na,x\nb,y\nc,z\nd,\n"},
        {"ids.jsonl": b'{"id": "a"}\n{"id": "b"}\n'},
        {"ids.parquet": parquet({"id": _IDS, "n": [1, 2, 3, 4]})},
    ],
    lambda path: read_ids(f"{path}:id" if path.endswith((".csv", ".jsonl", ".parquet")) else path),
)
surface(
    "vectors-with-ids",
    [
        {"v.npy": _npy(_MATRIX), f"v.ids.{suffix}": data}
        for suffix, data in (("txt", b"a\nb\nc\nd\n"), ("json", b'["a","b","c","d"]'), ("npy", _npy(np.array(_IDS))))
    ],
    read_vectors,
)
surface(
    "candidates",
    {
        "c.txt": b"a\nb\nc\n",
        "c.csv": b"query_id,item_id\nq1,a\nq1,b\n",
        "c.json": b'["a", "b"]',
        "c.parquet": parquet({"query_id": ["q1"], "item_id": ["a"]}),
    },
    read_candidates,
)
surface(
    "scores",
    [
        {"s.npy": _npy(_MATRIX), "users.txt": b"1\n2\n3\n4\n", "items.txt": b"a\nb\nc\n"},
        {"s.npz": npz(scores=_MATRIX, users=np.array(["1", "2", "3", "4"]), items=np.array(["a", "b", "c"]))},
        {"s.csv": b"user_id,item_id,score\n1,a,0.5\n2,b,1\n"},
        {"s.parquet": parquet({"user_id": [1, 2], "item_id": ["a", "b"], "score": [0.5, 1.0]})},
    ],
    lambda path: read_scores(path, *(("users.txt", "items.txt") if path.endswith(".npy") else ("", ""))),
)

# Tables of attributes, slices.

_ATTRIBUTES = {
    "queries.csv": b"query_id,type,length,text\nq1,head,3,a b c\nq2,tail,1,d\nq10,head,2,\n",
    "queries.jsonl": b'{"query_id": "q1", "type": "head", "n": 1, "t": ["a"]}\n{"query_id": "q2", "type": null}\n',
    "queries.json": b'{"q1": {"type": "head", "n": 1}, "q2": {"type": "tail", "n": 2}, "q10": {"type": "a"}}',
    "list.json": b'[{"query_id": "q1", "type": "head"}, {"query_id": "q2", "type": "tail"}]',
    "queries.txt": b"# version: 1\n# type: head\nq1\tred dress\nq2\tblue coat\n",
    "queries.parquet": parquet(
        {"query_id": ["q1", "q2", "q10"], "type": ["a", "b", None], "n": [1, 2, 3], "on": [True, False, None]}
    ),
}
_QUERIES_GOLD = {"q1": {"a": 2, "c": 1}, "q2": {"d": 3}, "q10": {"a": 1}}
_QUERIES_RUNS = {"x": {"q1": {"a": 1.0}, "q2": {"d": 2.0, "a": 1.0}}, "y": {"q1": {"c": 1.0}, "q2": {"a": 2.0}}}


def _slices(path: str) -> object:
    resampling = Resampling(resamples=100)
    return compare(_QUERIES_GOLD, _QUERIES_RUNS, "ndcg@3", slices=path, resampling=resampling).to_json(queries=True)


def _slices_by(path: str) -> object:
    table, _ = read_attributes(path, "query")
    resampling = Resampling(resamples=100)
    names = [name for name in table.columns if name not in ("id", "query_id")][:3]
    by = ",".join(f"{name}(quantiles=2)" if table[name].dtype.is_numeric() else name for name in names)
    return compare(_QUERIES_GOLD, _QUERIES_RUNS, "ndcg@3", slices=path, by=by, resampling=resampling).to_json(
        queries=True
    )


def _item_slices(path: str) -> object:
    resampling = Resampling(resamples=100)
    return compare(_QUERIES_GOLD, _QUERIES_RUNS, "ndcg@3", item_slices=path, resampling=resampling).to_json(
        queries=True
    )


surface("slices", _ATTRIBUTES, _slices)
surface("slices-by", _ATTRIBUTES, _slices_by)
surface(
    "item-slices",
    {
        "items.csv": b"item_id,genre,year\na,x,1999\nc,y,2001\nd,x,2000\n",
        "items.jsonl": b'{"item_id": "a", "genre": "x", "n": 1}\n{"item_id": "c", "genre": "y", "n": 2}\n',
        "items.parquet": parquet({"item_id": ["a", "c", "d"], "genre": [["x"], ["y"], []], "year": [1, 2, 3]}),
    },
    _item_slices,
)
surface(
    "names",
    _ATTRIBUTES,
    lambda path: [read_column(f"{path}:{name}", "query", "names") for name in ("type", "text", "n")[:1]],
)

# Logs of interactions, with items and users.

_LOG_ROWS = [
    (1, 10, 5, 978300760),
    (1, 11, 3, 978302109),
    (2, 10, 4, 978301968),
    (2, 12, 1, 978300275),
    (3, 11, 2, 978824291),
]


def _log(path: str) -> object:
    log = read_log(path)
    return log, audit(log)


surface(
    "log",
    {
        "ratings.dat": "".join("::".join(map(str, row)) + "\n" for row in _LOG_ROWS).encode(),
        "u.data": _delimited("", _LOG_ROWS, "\t")[1:],
        "ratings.csv": _delimited("userId,movieId,rating,timestamp", _LOG_ROWS, ","),
        "dates.csv": b"user,item,date\n1,a,2024-01-01\n2,b,2024-01-02\n2,a,2024-02-01\n",
        "log.tsv": _delimited(
            "user_id,item_id,timestamp", [(user, item, time) for user, item, _, time in _LOG_ROWS], "\t"
        ),
        "log.jsonl": _json_lines("user_id,item_id,rating,timestamp", _LOG_ROWS),
        "log.parquet": parquet(_columns("user_id,item_id,rating,timestamp", _LOG_ROWS)),
        "log.csv.gz": gzip.compress(_delimited("user_id,item_id", [row[:2] for row in _LOG_ROWS], ","), 1, mtime=0),
    },
    _log,
    quick=100,
)
surface(
    "log-items",
    {
        "movies.dat": "1::Toy Story (1995)::Animation|Comedy\n2::Amélie (2001)::Drama\n".encode("latin-1"),
        "movies.csv": b'movieId,title,genres\n1,Toy Story (1995),Animation|Comedy\n2,"Heat, The",Drama\n',
        "u.item": b"1|Toy Story (1995)|01-Jan-1995||http://x|"
        + b"|".join([b"0"] * 18)
        + b"|1\n2|B (1990)|01-Jan-1990||http://y|"
        + b"|".join([b"1"] * 19)
        + b"\n",
        "items.jsonl": b'{"item_id": 1, "title": "a", "genres": ["x", "y"]}\n{"item_id": 2, "title": "b"}\n',
        "items.parquet": parquet({"item_id": [1, 2], "title": ["a", "b"], "genres": [["x"], ["x", "y"]]}),
    },
    read_items,
)
surface(
    "log-users",
    {
        "users.dat": b"1::F::1::10::48067\n2::M::56::16::70072\n",
        "u.user": b"1|24|M|technician|85711\n2|53|F|other|94043\n",
        "users.csv": b"userId,ageGroup,country\n1,25-34,PL\n2,35-44,PT\n",
    },
    read_users,
)


def _split_folder() -> list[Case]:
    log = read_log(pl.DataFrame(_columns("user_id,item_id,rating,timestamp", _LOG_ROWS)))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "split"
        write_split(split_log(log, fractions=[0.4, 0.2, 0.4]), home)
        files = {f"split/{path.name}": path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}
    return [Case(files, {"read": "split"})]


def _mutate_any(rng: Random, case: Case) -> Case:
    target = rng.choice(sorted(case.files))
    if rng.random() < 0.05:
        return Case({name: data for name, data in case.files.items() if name != target}, case.options)
    return case.with_file(target, mutators.mutate_file(rng, target, case.files[target]))


register(Surface("split", _split_folder, _mutate_any, lambda case: read_folds("split")))

# Texts: catalogues, queries, labels, pins, synonyms.

_PRODUCTS = b"""{"id": "f1", "title": "Red dress", "brand": "O", "category": "a", "price": 44.9, "bullets": ["Soft"]}
{"id": "f2", "title": "Blue jeans", "brand": "Qu", "category": ["a", "jeans"], "price": "59,00 EUR"}
"""
_SEARCHES = b"""{"id": "q1", "text": "red dress", "type": "category", "category": "dress", "version": "2026"}
{"id": "q2", "text": "blue jeans by Qu", "type": "brand", "brand": "Qu", "version": "2026"}
"""
_PRODUCT_FILES = {
    "catalogue.jsonl": _PRODUCTS,
    "catalogue.json": b'{"products": [' + b",".join(_PRODUCTS.splitlines()) + b"]}",
    "catalogue.csv": b"id,title,brand,category,price\nf1,Red dress,Ost,Clothing > Dresses,44.90\nf2,Jeans,Qu,,$59\n",
    "catalogue.parquet": parquet(
        {"id": ["f1", "f2"], "title": ["Red dress", "Jeans"], "price": [1.5, None], "tags": [["a"], []]}
    ),
}
surface("catalogue", _PRODUCT_FILES, read_catalogue)
surface(
    "corpus",
    {name: data for name, data in _PRODUCT_FILES.items() if name != "catalogue.json"},
    lambda path: read_corpus(path, ["title"]),
)


def _labels(path: str) -> object:
    catalogue, queries = read_catalogue(path), read_queries("queries.jsonl")
    labels = label(catalogue, queries, synonyms=read_synonyms("synonyms.toml"))
    return read_human_labels("human.jsonl", labels)


_OWN_SYNONYMS = b"""replace = false
[category]
known = ["dress", "jeans"]
same = [["dress", "gown"]]
counts_as = { frock = ["dress"] }
[color]
same = [["red", "crimson"]]
"""
_HUMAN = (
    b'{"query_id": "q1", "item_id": "f1", "grade": 3}\n{"query_id": "q2", "item_id": "f2", "grade": 0, "why": "x"}\n'
)
surface(
    "labels",
    [{"catalogue.jsonl": _PRODUCTS, "queries.jsonl": _SEARCHES, "synonyms.toml": _OWN_SYNONYMS, "human.jsonl": _HUMAN}],
    _labels,
)
surface("synonyms", {"synonyms.toml": _OWN_SYNONYMS}, read_synonyms)


def _query_set(path: str) -> object:
    return check_pins(read_query_set(path)), read_pinned_queries(path)


def _pinned_seeds() -> list[Case]:
    files: dict[str, bytes] = {
        "queries.jsonl": _SEARCHES,
        "queries.csv": b"id,text,version\nq1,red dress,1\nq2,jeans,1\n",
    }
    files["queries.txt"] = b"# version: 1\n# type: head\nq1\tred dress\nblue coat\n"
    found = []
    for name, data in files.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(data)
            pin_queries(read_query_set(path))
            pins = (Path(folder) / "queries.pins.json").read_bytes()
        found.append(Case({name: data, "queries.pins.json": pins}, {"read": name}))
    return found


register(Surface("query-set", _pinned_seeds, _mutate_any, lambda case: _query_set(case.options["read"])))

# Reports that were saved.


def report_forms() -> list[dict[str, Any]]:
    """Return small reports of several kinds, as they are saved."""
    resampling = Resampling(resamples=100)
    table = pl.DataFrame({"query_id": ["q1", "q2", "q10"], "type": ["a", "b", "a"]})
    recorded = {"x": {"latency_p95_ms": 12.5}, "y": {"latency_p95_ms": 20.0}}
    plain = compare(_QUERIES_GOLD, _QUERIES_RUNS, ["ndcg@3", "ap"], resampling=resampling)
    sliced = compare(_QUERIES_GOLD, _QUERIES_RUNS, ["ndcg@3"], slices=table, recorded=recorded, resampling=resampling)
    return [plain.to_json(queries=True), sliced.to_json(queries=True), sliced.to_json(queries=False)]


def _report_seeds() -> list[Case]:
    return [Case({"report.json": json.dumps(form).encode()}, {"read": "report.json"}) for form in report_forms()]


register(Surface("report", _report_seeds, _mutate_any, lambda case: read_report("report.json")))


def _baseline_seeds() -> list[Case]:
    gold, run = {"q1": {"a": 1, "b": 2}, "q2": {"c": 0}}, {"q1": {"a": 2.5, "b": 1.5}}
    report = report_on(evaluate(gold, run, ["ndcg@3", "rr"])).with_recorded({"ranking": {"latency_ms": 12.5}})
    return [Case({"baseline.json": baseline_text(report).encode()}, {"read": "baseline.json"})]


register(Surface("baseline", _baseline_seeds, _mutate_any, lambda case: read_baseline("baseline.json")))

# What `init` looks at, and evaluation in blocks.


def _init(case: Case) -> object:
    found = scan_folder(Path())
    Path("rankjury.toml").write_text(draft(kind_for(found), found, "folder"))
    return read_plan("rankjury.toml")


def _folders() -> list[Case]:
    runs = {"gold.qrels": "".join(f"{q} 0 {i} {g}\n" for q, i, g in _GOLD_ROWS).encode(), **_PLAIN}
    spaces = {"gold.json": json.dumps(_LISTS).encode(), "v.npz": _VECTORS["v.npz"], "v.npy": _VECTORS["v.npy"]}
    spaces |= {"v.safetensors": _VECTORS["v.safetensors"], "w.parquet": _VECTORS["v.parquet"]}
    search = {
        "labels.csv": _delimited(_GOLD, _GOLD_ROWS, ","),
        "items.npz": _VECTORS["embedded.npz"],
        "catalogue.jsonl": _PRODUCTS,
    }
    search |= {"queries.jsonl": _SEARCHES, "queries.npz": npz(vectors=_MATRIX[:2], ids=np.array(["q1", "q2"]))}
    clips = {"clips.csv": _CLIPS, "queries.jsonl": _TEXTS, "vectors.npz": npz(clips=_MATRIX[:3], queries=_MATRIX[:2])}
    log = {
        "ratings.csv": _delimited("userId,movieId,rating,timestamp", _LOG_ROWS, ","),
        "movies.csv": b"movieId,title\n10,a\n",
        "users.csv": b"userId,age\n1,2\n",
    }
    nested = {
        "data/queries.txt": b"q1\tred dress\n",
        "data/run.parquet": parquet(_columns(_RUN, _RUN_ROWS)),
        "ml-1m/ratings.dat": b"1::2::3::4\n",
    }
    return [Case(files) for files in (runs, spaces, search, clips, log, nested)]


register(Surface("init", _folders, _mutate_any, _init, writes=True))


def _in_blocks(case: Case) -> object:
    slices = "queries.parquet" if "queries.parquet" in case.files else None
    resampling = Resampling(resamples=100)
    report = scale.evaluate(
        "gold.parquet", {"x": "run.parquet", "y": "more"}, "ndcg@3", baseline="x", slices=slices, resampling=resampling
    )
    return report.to_json(queries=False)


def _block_files() -> list[Case]:
    gold, run = parquet(_columns(_GOLD, _GOLD_ROWS)), parquet(_columns(_RUN, _RUN_ROWS))
    files = {"gold.parquet": gold, "run.parquet": run, "more/part=1/a.parquet": run}
    return [Case(files), Case({**files, "queries.parquet": _ATTRIBUTES["queries.parquet"]})]


register(Surface("blocks", _block_files, _mutate_any, _in_blocks))
