"""Writer of one entry per retriever: mean hits, reciprocal rank and nDCG at K, and values and items per query."""

from collections.abc import Sequence
from math import isnan
from typing import Any

from rankjury.core.text import json_text
from rankjury.core.types import Floats
from rankjury.errors import UsageError
from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import FusionFacts
from rankjury.measures.dialects import resolve
from rankjury.reporting.writers import OutputRequest, writer

_MEASURES = {"hits": "recall", "rr": "rr", "ndcg": "ndcg(gain=exp)"}
_DEFAULT_K = 5
_KEYS = ("K", "weights", "c", "timestamp", "model_tag", "per_query")
_MEANS = {"hits": "mean_hits", "rr": "mean_mrr", "ndcg": "mean_ndcg"}


def _check(names: Sequence[str], conventions: Sequence[str], k: int) -> None:
    """Refuse reports without rankings or one of the three measures, and systems named like keys of the format."""
    if not names:
        raise UsageError("the form retrievers needs a system that ranks")
    taken = next((name for name in names if name in _KEYS), None)
    if taken is not None:
        raise UsageError(f"the form retrievers cannot hold a system called {taken!r}", expected="another name")
    for measure in _MEASURES.values():
        wanted = str(resolve(f"{measure}@{k}").measure)
        if wanted not in conventions:
            needed = ", ".join(f"{measure}@{k}" for measure in _MEASURES.values())
            raise UsageError(f"the form retrievers needs {wanted}", expected=f"the measures {needed}")


@writer(
    "retrievers",
    ".json",
    by_suffix=False,
    check=lambda request: _check(request.rankings or (), request.measures or (), request.k or _DEFAULT_K),
)
def to_retrievers(report: Report, request: OutputRequest) -> str:
    """Return JSON. A fused system is called NAME_weighted_METHOD among the means, and NAME among the queries."""
    names, k = [name for name in report.systems if name in report.top_items], request.k or _DEFAULT_K
    _check(names, [convention for system in report.systems.values() for convention in system.conventions.values()], k)
    columns = {
        name: {short: _column(report, name, measure, k) for short, measure in _MEASURES.items()} for name in names
    }
    queries = [str(query) for query in report.scores[names[0]].queries]
    fusions = report.sections_of(FusionFacts)
    fusion = next(iter(fusions.values()), FusionFacts())
    form: dict[str, Any] = {
        "K": k,
        "weights": fusion.get("weights"),
        "c": fusion.get("c"),
        "timestamp": report.provenance.get("made"),
        "model_tag": (report.provenance.get("meta") or {}).get("model"),
    }
    for name in names:
        ending = f"_weighted_{fusions[name]['method']}" if name in fusions else ""
        title = name if name.endswith(ending) else name + ending
        if title in form:
            raise UsageError(f"the form retrievers would hold two systems as {title!r}", expected="other names")
        means = {short: report.estimates[name][label].mean for short, (label, _) in columns[name].items()}
        form[title] = {_MEANS[short]: _known(mean) for short, mean in means.items()}
    form["per_query"] = {
        query: {
            name: {short: _known(float(values[row])) for short, (_, values) in columns[name].items()}
            | {"topK": list(report.top_items[name][row][:k])}
            for name in names
        }
        for row, query in enumerate(queries)
    }
    return json_text(form)


def _column(report: Report, system: str, measure: str, k: int) -> tuple[str, Floats]:
    """Return the label under which the report has the measure, and its values."""
    scores = report.scores[system]
    wanted = str(resolve(f"{measure}@{k}").measure)
    label = scores.labels[scores.conventions.index(wanted)]
    return label, scores[label]


def _known(value: float) -> float | None:
    return None if isnan(value) else value
