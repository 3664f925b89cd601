"""Write the files in examples/ from the bundled helpdesk sample: python scripts/make_examples.py [--check].

The recipes in docs/recipes start from these files; plans, notebooks and README.md files are written by hand.
``--check`` writes nothing and exits with 1 if a file differs. Vectors are made with wordllama, whose last bits depend
on the processor: ``--check`` accepts vectors that differ by 0.001, and runs are made from the vectors in examples/npy.
"""

import io
import json
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import wordllama

from make_helpdesk import FOLDER as SAMPLE, bm25_scores, read_texts

FOLDER = Path(__file__).resolve().parents[1] / "examples"
DEPTH = 10
DIMENSIONS = 64
Run = dict[str, dict[str, float]]
"""Scores by query and item, best first."""


def records(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (SAMPLE / name).read_text(encoding="utf-8").splitlines()]


def rows(name: str) -> list[list[str]]:
    return [line.split() for line in (SAMPLE / name).read_text(encoding="utf-8").splitlines()]


@cache
def qrels() -> list[tuple[str, str, int]]:
    return [(query, item, int(grade)) for query, _, item, grade in rows("qrels.trec")]


@cache
def bundled_run(name: str) -> Run:
    """Return a run of the sample, as deep as it is."""
    run: Run = {query["query_id"]: {} for query in records("queries.jsonl")}
    for query, _, item, _, score, _ in rows(name):
        run[query][item] = float(score)
    return run


def top(run: Run, depth: int = DEPTH) -> Run:
    """Return the best items of each query; equal scores are ordered by id."""
    return {q: dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:depth]) for q, found in run.items()}


def json_lines(values: Iterable[object]) -> bytes:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values).encode()


def json_by_query(values: Mapping[str, object]) -> bytes:
    """Return a JSON object with one query per line."""
    lines = (f"{json.dumps(query)}: {json.dumps(value)}" for query, value in values.items())
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def trec_run(run: Run, tag: str) -> bytes:
    lines = []
    for query, items in run.items():
        for rank, (item, score) in enumerate(items.items(), 1):
            lines.append(f"{query} Q0 {item} {rank} {score} {tag}\n")
    return "".join(lines).encode()


def trec_qrels(grades: Iterable[tuple[str, str, int]]) -> bytes:
    return "".join(f"{query} 0 {item} {grade}\n" for query, item, grade in grades).encode()


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def new_vectors() -> tuple[np.ndarray, np.ndarray]:
    """Return the first numbers of WordLlama's vectors, of length 1, of the documents and of the queries."""
    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, dim=256, disable_download=True)
    texts = (documents(), read_texts(SAMPLE / "queries.jsonl", "query_id", ("text",)))
    whole = (np.asarray(model.embed(list(by_id.values()))) for by_id in texts)
    corpus, queries = (shorten(array, DIMENSIONS).astype(np.float16) for array in whole)
    return corpus, queries


def shorten(vectors: np.ndarray, dimensions: int) -> np.ndarray:
    """Return the first numbers of vectors, scaled to length 1."""
    first = vectors[:, :dimensions].astype(np.float64)
    return first / np.linalg.norm(first, axis=1, keepdims=True)


@cache
def documents(*fields: str) -> dict[str, str]:
    return read_texts(SAMPLE / "documents.jsonl", "item_id", fields or ("title", "text"))


def beir() -> dict[str, bytes]:
    """The layout of BEIR's datasets, a run in TREC's format and one as BEIR's results."""
    corpus = ({"_id": d["item_id"], "title": d["title"], "text": d["text"]} for d in records("documents.jsonl"))
    queries = ({"_id": q["query_id"], "text": q["text"], "metadata": {}} for q in records("queries.jsonl"))
    judged = "".join(f"{query}\t{item}\t{grade}\n" for query, item, grade in qrels())
    return {
        "corpus.jsonl": json_lines(corpus),
        "queries.jsonl": json_lines(queries),
        "qrels/test.tsv": f"query-id\tcorpus-id\tscore\n{judged}".encode(),
        "bm25.trec": trec_run(top(bundled_run("bm25.trec")), "bm25"),
        "dense.json": json_by_query(top(bundled_run("dense.trec"))),
    }


def search_api() -> dict[str, bytes]:
    """Labels and items in CSV, and the responses of a search API before and after a change, one per line."""
    rng = random.Random(0)

    def responses(name: str, typical_ms: float) -> bytes:
        found = top(bundled_run(name))
        return json_lines(
            {
                "query": query,
                "took_ms": round(typical_ms * rng.lognormvariate(0, 0.4), 1),
                "results": [{"id": item, "score": score} for item, score in items.items()],
            }
            for query, items in found.items()
        )

    labels = "".join(f"{query},{item},{grade}\n" for query, item, grade in qrels())
    titles = "".join(f'{document["item_id"]},"{document["title"]}"\n' for document in records("documents.jsonl"))
    return {
        "labels.csv": f"query_id,item_id,grade\n{labels}".encode(),
        "items.csv": f"item_id,title\n{titles}".encode(),
        "queries.jsonl": (SAMPLE / "queries.jsonl").read_bytes(),
        "old.jsonl": responses("bm25.trec", 12),
        "new.jsonl": responses("dense.trec", 18),
    }


def elasticsearch() -> dict[str, bytes]:
    """Responses of _search by query, and one response of _msearch, whose order is that of the queries."""

    def response(items: Mapping[str, float]) -> dict[str, object]:
        hits = [{"_index": "kb", "_id": item, "_score": score} for item, score in items.items()]
        total = {"value": len(hits), "relation": "eq"}
        inner = {"total": total, "max_score": max(items.values(), default=None), "hits": hits}
        return {"took": 3, "timed_out": False, "hits": inner}

    old = {query: response(items) for query, items in top(bundled_run("bm25.trec")).items()}
    new = [{**response(items), "status": 200} for items in top(bundled_run("dense.trec")).values()]
    return {
        "queries.jsonl": (SAMPLE / "queries.jsonl").read_bytes(),
        "qrels.txt": trec_qrels(qrels()),
        "old.json": json_by_query(old),
        "new-msearch.json": ('{"took": 41, "responses": [\n' + ",\n".join(map(json.dumps, new)) + "\n]}\n").encode(),
    }


def npy_files() -> dict[str, bytes]:
    """Vectors without ids, the ids beside them, and labels."""
    corpus, queries = new_vectors()
    return {
        "corpus.npy": npy(corpus),
        "corpus.ids.txt": "".join(f"{item}\n" for item in documents()).encode(),
        "queries.npy": npy(queries),
        "queries.ids.txt": "".join(f"{query['query_id']}\n" for query in records("queries.jsonl")).encode(),
        "qrels.txt": trec_qrels(qrels()),
    }


def chunks() -> dict[str, bytes]:
    """Thirty long pages, each of three articles on different subjects, and labels of pages."""
    articles = records("documents.jsonl")
    pages = {f"page-{number + 1:02}": articles[number::30] for number in range(30)}
    page_of = {article["item_id"]: page for page, group in pages.items() for article in group}
    grades: dict[tuple[str, str], int] = defaultdict(int)
    for query, item, grade in qrels():
        grades[query, page_of[item]] = max(grades[query, page_of[item]], grade)
    return {
        "pages.jsonl": json_lines(
            {
                "id": page,
                "title": " / ".join(article["title"] for article in group),
                "text": " ".join(f"{article['title']}. {article['text']}" for article in group),
            }
            for page, group in pages.items()
        ),
        "queries.jsonl": (SAMPLE / "queries.jsonl").read_bytes(),
        "qrels.txt": trec_qrels((query, page, grade) for (query, page), grade in grades.items()),
    }


def fuse(*runs: tuple[Run, float], c: int = 60) -> Run:
    """Return the weighted reciprocal rank fusion of runs."""
    fused: Run = {}
    for run, weight in runs:
        for query, items in run.items():
            for rank, item in enumerate(items, 1):
                scores = fused.setdefault(query, {})
                scores[item] = scores.get(item, 0.0) + weight / (c + rank)
    return fused


def systems() -> dict[str, bytes]:
    """Ten systems on the same queries, as lists of items without scores."""
    queries = read_texts(SAMPLE / "queries.jsonl", "query_id", ("text",))
    bm25, dense = bundled_run("bm25.trec"), bundled_run("dense.trec")

    def similarities(dimensions: int) -> Run:
        left, right = (shorten(np.load(FOLDER / "npy" / name), dimensions) for name in ("queries.npy", "corpus.npy"))
        table = (left @ right.T).tolist()
        return {query: dict(zip(documents(), row, strict=True)) for query, row in zip(queries, table, strict=True)}

    runs = {
        "bm25": bm25,
        "bm25-title": bm25_scores(documents("title"), queries),
        "bm25-text": bm25_scores(documents("text"), queries),
        "bm25-b0": bm25_scores(documents(), queries, b=0.0),
        "bm25-k3": bm25_scores(documents(), queries, k1=3.0),
        "dense": dense,
        "dense-64": similarities(64),
        "dense-32": similarities(32),
        "fused": fuse((bm25, 1.0), (dense, 1.0)),
        "fused-30-70": fuse((bm25, 0.3), (dense, 0.7)),
    }
    lists = {name: {query: list(items) for query, items in top(run).items()} for name, run in runs.items()}
    return {"qrels.txt": trec_qrels(qrels())} | {f"{name}.json": json_by_query(run) for name, run in lists.items()}


PARTS: dict[str, Callable[[], dict[str, bytes]]] = {
    "beir": beir,
    "search-api": search_api,
    "elasticsearch": elasticsearch,
    "npy": npy_files,
    "chunks": chunks,
    "systems": systems,
}


def same(path: Path, content: bytes) -> bool:
    """Return whether a file has this content; vectors may differ by 0.001."""
    if not path.is_file():
        return False
    if path.suffix != ".npy":
        return path.read_bytes() == content
    found, made = np.load(path), np.load(io.BytesIO(content))
    return found.dtype == made.dtype and found.shape == made.shape and np.allclose(found, made, rtol=0, atol=1e-3)


def main() -> int:
    """Write the files, or name those that differ."""
    differ = []
    for part, make in PARTS.items():
        for name, content in make().items():
            path = FOLDER / part / name
            if "--check" not in sys.argv:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            elif not same(path, content):
                differ.append(path)
    sys.stderr.writelines(f"{path.relative_to(FOLDER.parent)} differs\n" for path in differ)
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main())
