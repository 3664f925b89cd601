"""Versions of data, model, index, chunking, query set and gold: as declared, and as found."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import numpy as np

from karat.answers import Listed
from karat.report import Report

__all__ = ["versions_of"]

_DECLARED = {
    "data": ("dataset_version", "data_version", "dataset", "data"),
    "model": ("model_version", "model"),
    "index": ("index_params", "index_version", "index"),
    "chunking": ("chunking_config", "chunking"),
    "queries": ("query_set_version", "queries_version"),
}
"""By which names a plan's meta tells of each."""
_OF_AN_INDEX = ("engine", "metric", "settings", "build", "search", "vectors")
_OF_ITS_LIBRARY = ("library", "version", "postgresql", "pgvector")


def versions_of(report: Report, form: Mapping[str, Any]) -> dict[str, Any]:
    """Whatever is known of each, under its name: what is ``declared``, and what was found by system."""
    provenance = form.get("provenance") or {}
    meta = provenance.get("meta") or {}
    found: dict[str, dict[str, Any]] = {name: {} for name in (*_DECLARED, "golds")}
    for name, keys in _DECLARED.items():
        declared = next((meta[key] for key in keys if key in meta), None)
        if declared is not None:
            found[name]["declared"] = declared
    for system, entry in form["systems"].items():
        for name, what, value in _of_system(entry):
            found[name].setdefault(what, {})[system] = value
    found["queries"] |= _queries(report) | ({"set": provenance["query_set"]} if provenance.get("query_set") else {})
    if report.answers is not None:
        found["golds"] = {name: _digest(gold) for name, gold in report.answers.golds.items()}
    return {name: known for name, known in found.items() if known}


def _of_system(entry: Mapping[str, Any]) -> list[tuple[str, str, Any]]:
    """Under which name, what, and its value."""
    prints, facts, index = (entry.get(key) or {} for key in ("fingerprints", "facts", "index"))
    held = [
        ("data", "items", prints.get("items")),
        ("model", "vectors", prints.get("vectors")),
        ("model", "query_vectors", prints.get("query_vectors")),
        ("model", "model", facts.get("model")),
        ("model", "params", facts.get("params")),
        ("chunking", "chunking", facts.get("chunking")),
    ]
    if index:
        library = {key: value for key, value in (index.get("facts") or {}).items() if key in _OF_ITS_LIBRARY}
        settings = {key: value for key, value in (index.get("settings") or {}).items() if key != "folder"}
        about = {key: index.get(key) for key in _OF_AN_INDEX} | {"settings": settings} | library
        held.append(("index", "index", about))
    return [one for one in held if one[2] is not None]


def _queries(report: Report) -> dict[str, Any]:
    ids = next(iter(report.scores.values())).queries
    known = {} if report.queries is None else report.queries.query_texts
    texts = [known.get(query, "") for query in map(str, ids)] if known else []
    return {"n": len(ids), "digest": sha256("\0".join([*map(str, ids), *texts]).encode()).hexdigest()}


def _digest(gold: Listed) -> dict[str, Any]:
    """Over the judged items that are kept, their grades, and how many there are in all."""
    digest = sha256("\0".join(gold.items.to_list()).encode())
    for numbers in (gold.starts, gold.grades, gold.total):
        digest.update(np.ascontiguousarray(numbers).tobytes())
    return {"judged": int(gold.total.sum()), "digest": digest.hexdigest()}
