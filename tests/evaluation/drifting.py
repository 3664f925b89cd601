"""Reports of which the drift is known."""

from typing import Any

import numpy as np
import polars as pl

from rankjury.core.types import Floats
from rankjury.evaluation.report import Report
from rankjury.evaluation.report_json import SCHEMA
from rankjury.evaluation.sections import measure_stability

QUERIES, K = 24, 3
META = {"model_version": "m1", "dataset_version": "d1", "chunking_config": "title", "query_set_version": "2026-11"}
PRINTS = {"items": "i", "vectors": "v", "queries": "q", "query_vectors": "w"}
INDEX: dict[str, Any] = {
    "engine": "faiss-hnsw",
    "metric": "cosine",
    "settings": {},
    "build": {"m": 16},
    "search": {"ef_search": 40},
    "facts": {"library": "faiss", "version": "1.9"},
    **{"items": 100, "dimensions": 8, "build_seconds": 0.5, "size_bytes": None, "failed": 0},
    "recall": {"k": 10, "mean": 0.99, "ci": [0.98, 1.0], "p5": 0.9, "n": QUERIES},
    "own_exact": None,
}


def scores_of(seed: int = 0, n: int = QUERIES) -> Floats:
    """Similarities from 0.5 to 0.9, best first."""
    found = np.random.default_rng(seed).uniform(0.5, 0.9, size=(n, K))
    return np.asarray(-np.sort(-found, axis=1), dtype=np.float64)


def stability(scores: Floats | None = None, norms: Any = (1.0, 1.0, 1.0), ids: list[str] | None = None) -> Any:
    """In its JSON form."""
    scores = scores_of() if scores is None else scores
    names = pl.Series(ids or [f"q{row:02}" for row in range(len(scores))], dtype=pl.String)
    return measure_stability(names, scores, np.array(norms, dtype=np.float64), k=K).to_json()


def entry(stable: Any = None, *, values: list[float] | None = None, **beside: Any) -> dict[str, Any]:
    """A system with one measure over its queries."""
    values = [0.5] * QUERIES if values is None else values
    mean = float(np.mean(values))
    measure = {"mean": mean, "n": len(values), "undefined": 0, "convention": "ndcg@10", "ci": None}
    found = {"measures": {"ndcg@10": measure}, "stability": stable, "fingerprints": PRINTS, "index": INDEX} | beside
    return {key: value for key, value in found.items() if value}


def report(source: str = "new.json", **given: Any) -> Report:
    return Report.from_json(form_of(**given), source)


def form_of(*, values: list[float] | None = None, tops: Any = None, **systems: Any) -> dict[str, Any]:
    """The JSON of a report, with the same queries' scores and, as ``tops``, first items for every system."""
    given = systems or {"hnsw": entry(stability(), values=values)}
    ids = next(iter(given.values())).get("stability", {}).get("queries", {}).get("ids", ["q00"])
    scores = {name: dict.fromkeys(one["measures"], values or [0.5] * len(ids)) for name, one in given.items()}
    top = {} if tops is None else {"top": dict.fromkeys(given, tops)}
    return {
        "schema": SCHEMA,
        "systems": given,
        "resampling": {"resamples": 1000, "level": 0.95, "seed": 0, "interval": "auto"},
        "queries": {"ids": ids, "scores": scores, **top},
        "provenance": {"meta": dict(META), "query_set": {"version": "2026-11", "sha256": "s", "queries": len(ids)}},
    }
