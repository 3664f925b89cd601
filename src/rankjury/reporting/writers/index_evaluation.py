"""One index in one file: the report's versioned form, and in front of it what a reader looks for first."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rankjury.core.text import json_text
from rankjury.core.validation import to_json
from rankjury.errors import UsageError
from rankjury.evaluation.examples import Examples
from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import Fingerprints, Stability
from rankjury.reporting.writers import OutputRequest, writer
from rankjury.retrieval.bench.result import IndexResult
from rankjury.retrieval.hints import Hints
from rankjury.stats.estimates import Estimate

_META = ("dataset_version", "model_version", "index_params", "chunking_config", "query_set_version")


def _check(request: OutputRequest) -> None:
    """Refuse a file of an index that is not there."""
    name = request.system
    if name not in (request.indexes or ()):
        raise UsageError(
            f"no index is called {name!r}" if name else "which index is not said",
            expected="{index} in the name of the file, or system = one of the kind index",
        )


@writer("evaluation", ".json", by_suffix=False, each="{index}", is_report=True, check=_check)
def to_evaluation(report: Report, request: OutputRequest) -> str:
    """Meta, quality, ANN, latency, stability, examples; then all that other commands read."""
    system, gate = request.system or "", request.gate
    alone = _alone(report, system)
    indexed, stability = report.sections_of(IndexResult)[system], report.sections_of(Stability)[system]
    latency = None if indexed.latency is None else indexed.latency.to_json()
    verdicts = [verdict.to_json() for verdict in gate.verdicts if verdict.system == system] if gate is not None else []
    summary = {
        "meta": _meta(report, system),
        "quality": _quality(report.estimates[system]),
        "ann": indexed.recall.to_json() | {"own_exact": to_json(indexed.own_exact)},
        "latency": latency,
        "stability": {"k": stability.k, "top1": to_json(stability.top1), f"top{stability.k}": to_json(stability.topk)}
        | {"norm": to_json(stability.norm)},
        "examples": _examples(report, system),
        "segments": [
            {"slice": part.name, "of": part.of, "n": part.n, "measures": _quality(part.estimates.get(system, {}))}
            for part in report.slices
        ],
        "targets": verdicts,
    }
    form = alone.to_json(queries=True)
    form = {key: form[key] for key in ("schema", "rankjury")} | summary | form
    return json_text(form)


def _quality(estimates: Mapping[str, Estimate]) -> dict[str, Any]:
    """Every measure with its own n: a query may be defined under one measure and not under another."""
    return {
        label: {
            "mean": estimate.mean if estimate.n else None,
            "ci": None if estimate.ci is None else list(estimate.ci),
            "n": estimate.n,
        }
        for label, estimate in estimates.items()
    }


def _meta(report: Report, system: str) -> dict[str, Any]:
    declared: Mapping[str, Any] = report.provenance.get("meta") or {}
    indexed = report.sections_of(IndexResult)[system]
    query_set: Mapping[str, Any] = report.provenance.get("query_set") or {}
    usual = {
        "index_params": {"engine": indexed.engine, "metric": indexed.metric}
        | {"build": dict(indexed.build), "search": dict(indexed.search), "vectors": dict(indexed.vectors)},
        "query_set_version": query_set.get("version"),
        "chunking_config": report.fact(system, "chunking"),
    }
    meta = {key: declared.get(key, usual.get(key)) for key in _META}
    meta |= {key: value for key, value in declared.items() if key not in meta}
    beside = {"date": report.provenance.get("made"), "index": system, "query_set": dict(query_set)}
    return meta | beside | {"fingerprints": dict(report.section(Fingerprints, system) or {})}


def _examples(report: Report, system: str) -> dict[str, Any]:
    shown = [one.to_json() for one in report.sections_of(Examples).get(system, ())]
    return {
        "successes": [one for one in shown if one["kind"] == "success"],
        "failures": [one for one in shown if one["kind"] == "failure"],
    }


def _alone(report: Report, system: str) -> Report:
    """The report of this system only."""

    def own(by_system: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in by_system.items() if name == system}

    found = report.section(Hints)
    hints = None if found is None else Hints(tuple(one for one in found if one.system == system))
    return replace(
        report,
        systems=own(report.systems),
        baseline=None,
        comparisons=(),
        changes=(),
        slices=tuple(replace(part, estimates=own(part.estimates), beside=()) for part in report.slices),
        sections={name: section for name, section in report.sections.items() if name not in ("hints", "spaces")}
        | ({"hints": hints} if hints else {}),
        queries=None
        if report.queries is None
        else replace(
            report.queries,
            scores=own(report.scores),
            answers=None if report.answers is None else report.answers.only(system),
        ),
        warnings=tuple(warning for warning in report.warnings if warning.system in (None, system)),
    )
