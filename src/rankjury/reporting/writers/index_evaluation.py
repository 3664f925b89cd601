"""Writer of the results of one index: a summary for readers, then the report's versioned JSON."""

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
    """Refuse the file of an unknown index."""
    name = request.system
    if name not in (request.indexes or ()):
        raise UsageError(
            f"no index is called {name!r}" if name else "which index is not said",
            expected="{index} in the name of the file, or system = one of the kind index",
        )


@writer("evaluation", ".json", by_suffix=False, each="{index}", is_report=True, check=_check)
def to_evaluation(report: Report, request: OutputRequest) -> str:
    """Return meta, quality, ANN, latency, stability and examples of an index; then all that other commands read."""
    system = request.system or ""
    indexed, stability = report.sections_of(IndexResult)[system], report.sections_of(Stability)[system]
    examples = report.sections_of(Examples).get(system, ())
    verdicts = [] if request.gate is None else request.gate.verdicts
    summary = {
        "meta": _meta(report, system),
        "quality": _quality(report.estimates[system]),
        "ann": indexed.recall.to_json() | {"own_exact": to_json(indexed.own_exact)},
        "latency": None if indexed.latency is None else indexed.latency.to_json(),
        "stability": {"k": stability.k, "top1": to_json(stability.top1), f"top{stability.k}": to_json(stability.topk)}
        | {"norm": to_json(stability.norm)},
        "examples": {
            name: [example.to_json() for example in examples if example.kind == kind]
            for name, kind in (("successes", "success"), ("failures", "failure"))
        },
        "segments": [
            {"slice": part.name, "of": part.of, "n": part.n, "measures": _quality(part.estimates.get(system, {}))}
            for part in report.slices
        ],
        "targets": [verdict.to_json() for verdict in verdicts if verdict.system == system],
    }
    form = _alone(report, system).to_json(queries=True)
    return json_text({key: form[key] for key in ("schema", "rankjury")} | summary | form)


def _quality(estimates: Mapping[str, Estimate]) -> dict[str, Any]:
    """Return every measure with its own n: a query may be defined under one measure and not under another."""
    return {
        label: {"mean": estimate.mean if estimate.n else None, "ci": estimate.ci and list(estimate.ci), "n": estimate.n}
        for label, estimate in estimates.items()
    }


def _meta(report: Report, system: str) -> dict[str, Any]:
    declared: Mapping[str, Any] = report.provenance.get("meta") or {}
    indexed = report.sections_of(IndexResult)[system]
    query_set: Mapping[str, Any] = report.provenance.get("query_set") or {}
    defaults = {
        "index_params": {"engine": indexed.engine, "metric": indexed.metric}
        | {"build": dict(indexed.build), "search": dict(indexed.search), "vectors": dict(indexed.vectors)},
        "query_set_version": query_set.get("version"),
        "chunking_config": report.fact(system, "chunking"),
    }
    meta = {key: defaults.get(key) for key in _META} | dict(declared)
    meta |= {"date": report.provenance.get("made"), "index": system, "query_set": dict(query_set)}
    return meta | {"fingerprints": dict(report.section(Fingerprints, system) or {})}


def _alone(report: Report, system: str) -> Report:
    """Return the report of this system only."""

    def own(by_system: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in by_system.items() if name == system}

    sections = {name: section for name, section in report.sections.items() if name not in ("hints", "spaces")}
    if hints := Hints(tuple(hint for hint in report.section(Hints) or () if hint.system == system)):
        sections["hints"] = hints
    queries = report.queries
    if queries is not None:
        answers = None if queries.answers is None else queries.answers.only(system)
        queries = replace(queries, scores=own(queries.scores), answers=answers)
    return replace(
        report,
        systems=own(report.systems),
        baseline=None,
        comparisons=(),
        changes=(),
        slices=tuple(replace(part, estimates=own(part.estimates), beside=()) for part in report.slices),
        sections=sections,
        queries=queries,
        warnings=tuple(warning for warning in report.warnings if warning.system in (None, system)),
    )
