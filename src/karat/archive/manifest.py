"""The manifest of a run: all that tells it from others, and enough of its results for a history."""

from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

from karat.archive.contents import answers_form
from karat.archive.naming import to_text
from karat.archive.origin import Origin
from karat.archive.surroundings import machine, packages
from karat.archive.upgrading import SCHEMA
from karat.archive.versions import versions_of
from karat.report import Report

__all__ = ["about_file", "manifest_of"]


def manifest_of(
    report: Report,
    form: Mapping[str, Any],
    origin: Origin,
    moment: datetime,
    files: Mapping[str, bytes],
    same_inputs_as: str | None,
) -> dict[str, Any]:
    """``files`` is what else is in the folder."""
    gate = form.get("gate") or {}
    return {
        "schema": SCHEMA,
        "name": origin.name,
        "time": to_text(moment),
        "plan": {"file": origin.file, "content": dict(origin.plan)},
        "inputs": dict(origin.inputs),
        "digest": origin.digest,
        "same_inputs_as": same_inputs_as,
        "versions": versions_of(report, form),
        "packages": packages(),
        "machine": machine(),
        "seed": None if report.resampling is None else report.resampling.seed,
        "git": None if origin.git is None else dict(origin.git),
        "seconds": origin.seconds,
        "verdict": gate.get("verdict"),
        "baseline": report.baseline,
        "by_chance": sorted(report.random_systems),
        "queries": report.n_queries,
        "headline": list(report.headline or report.labels),
        "measures": _measures(report),
        "summary": _summary(form),
        "results": results_digest(report),
        "answers": answers_form(report.answers),
        "files": {name: about_file(held) for name, held in files.items()},
    }


def about_file(held: bytes) -> dict[str, Any]:
    """What tells whether a file is still as it was stored."""
    return {"bytes": len(held), "sha256": sha256(held).hexdigest()}


def _measures(report: Report) -> dict[str, Any]:
    """By label, what is to be known to compare it with that of another run."""
    found: dict[str, Any] = {}
    for scores in report.scores.values():
        for label, convention, aggregate in zip(scores.labels, scores.conventions, scores.aggregates, strict=True):
            about: dict[str, Any] = {"convention": convention, "aggregate": aggregate}
            about |= {"lower_is_better": True} if label in scores.lower_is_better else {}
            about |= {"whole": True} if label in scores.whole else {}
            found.setdefault(label, about)
    return found


def _summary(form: Mapping[str, Any]) -> dict[str, Any]:
    """By system and measure: mean, interval, standard error and n."""
    return {
        name: {
            label: {key: entry.get(key) for key in ("mean", "ci", "se", "n")}
            for label, entry in system["measures"].items()
        }
        for name, system in form["systems"].items()
    }


def results_digest(report: Report) -> str:
    """Over every query's score in every system and measure: equal where no digit differs."""
    digest = sha256()
    for name, scores in report.scores.items():
        digest.update("\0".join([name, *scores.labels, *map(str, scores.queries)]).encode("utf-8", "surrogatepass"))
        digest.update(scores.values.astype("<f8").tobytes())
    return digest.hexdigest()
