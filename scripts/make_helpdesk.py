"""Make the two runs of the helpdesk sample: ``bm25.trec`` and ``dense.trec``.

Reads ``documents.jsonl`` and ``queries.jsonl`` of the sample and writes the top 20 documents per
query, found once by BM25 and once by the cosine of WordLlama vectors. Run it from the root of the
repository, in an environment that has wordllama and numpy (rankjury itself needs no wordllama)::

    pip install wordllama numpy
    python scripts/make_helpdesk.py

The 256-dimensional WordLlama model comes with its package, so nothing is downloaded.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import wordllama

FOLDER = Path(__file__).resolve().parents[1] / "src" / "rankjury" / "plan" / "samples" / "helpdesk"
DEPTH = 20
Scores = dict[str, dict[str, float]]


def read_texts(path: Path, id_field: str, text_fields: tuple[str, ...]) -> dict[str, str]:
    """Read a JSON-lines file as id -> text, joining the text fields with ". "."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return {row[id_field]: ". ".join(row[field] for field in text_fields) for row in rows}


def tokenize(text: str) -> list[str]:
    """Split a text into lower-case word tokens."""
    return re.findall(r"\w+", text.lower())


def bm25_scores(documents: dict[str, str], queries: dict[str, str], k1: float = 1.2, b: float = 0.75) -> Scores:
    """Score with Okapi BM25, keeping only documents that share a token with the query."""
    counts = {item: Counter(tokenize(text)) for item, text in documents.items()}
    lengths = {item: count.total() for item, count in counts.items()}
    mean_length = sum(lengths.values()) / len(lengths)
    frequency = Counter(token for count in counts.values() for token in count)

    def weight(token: str, item: str) -> float:
        tf, df = counts[item][token], frequency[token]
        idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
        return idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * lengths[item] / mean_length))

    scores: Scores = {}
    for query, text in queries.items():
        tokens = tokenize(text)
        totals = {item: sum(weight(token, item) for token in tokens) for item in documents}
        scores[query] = {item: total for item, total in totals.items() if total > 0}
    return scores


def dense_scores(documents: dict[str, str], queries: dict[str, str]) -> Scores:
    """Score with the cosine between the WordLlama vectors of query and document."""
    package = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=package, dim=256, disable_download=True)
    items = np.asarray(model.embed(list(documents.values()), norm=True))
    asked = np.asarray(model.embed(list(queries.values()), norm=True))
    rows = (asked @ items.T).tolist()
    return {query: dict(zip(documents, row, strict=True)) for query, row in zip(queries, rows, strict=True)}


def write_run(path: Path, scores: Scores, tag: str, decimals: int) -> None:
    """Write the best documents per query as TREC run lines; ties go by id, descending, as in trec_eval."""
    with path.open("w", encoding="utf-8", newline="\n") as out:
        for query, by_item in scores.items():
            rounded = [(round(score, decimals), item) for item, score in by_item.items()]
            for rank, (score, item) in enumerate(sorted(rounded, reverse=True)[:DEPTH], start=1):
                out.write(f"{query} Q0 {item} {rank} {score:.{decimals}f} {tag}\n")


def main() -> None:
    """Read the sample's texts and write both runs next to them."""
    parser = argparse.ArgumentParser(description="Make the runs of the helpdesk sample.")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder of the sample")
    folder = parser.parse_args().folder
    documents = read_texts(folder / "documents.jsonl", "item_id", ("title", "text"))
    queries = read_texts(folder / "queries.jsonl", "query_id", ("text",))
    write_run(folder / "bm25.trec", bm25_scores(documents, queries), "bm25", decimals=4)
    write_run(folder / "dense.trec", dense_scores(documents, queries), "dense", decimals=6)


if __name__ == "__main__":
    main()
