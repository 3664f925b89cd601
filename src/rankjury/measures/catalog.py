"""What exists, read from the registries: for ``rankjury metrics`` and the tables of the documentation."""

from collections.abc import Iterator
from typing import Any

from rankjury.measures.aliases import foreign_names
from rankjury.measures.dialects import DIALECTS, Dialect
from rankjury.measures.measure import METRICS, Measure, Metric, common_names


def metrics_table() -> list[list[str]]:
    """Name, rankjury's own aliases, title."""
    return [[metric.name, ", ".join(metric.aliases), metric.title] for metric in METRICS]


def dialects_table() -> list[list[str]]:
    """Name and what it reproduces."""
    return [[dialect.name, dialect.about] for dialect in DIALECTS]


def dialect_facts(dialect: Dialect) -> dict[str, Any]:
    """What a dialect sets."""
    by_metric = {name: dict(options) for name, options in dialect.by_metric.items()}
    return {"name": dialect.name, "about": dialect.about, "common": dict(dialect.common), "by_metric": by_metric}


def metric_facts(metric: Metric) -> dict[str, Any]:
    """Everything there is to say about one metric."""
    return {
        "name": metric.name,
        "aliases": list(metric.aliases),
        "title": metric.title,
        "formula": metric.formula,
        "source": metric.source,
        "cut": metric.cut,
        "aggregate": metric.aggregate,
        "options": [
            {"name": o.name, "choices": list(o.choices), "default": o.default_value, "about": o.about}
            for o in metric.all_options
        ],
        "elsewhere": foreign_names(metric.name),
        "common_names": common_names({str(one): str(one) for one in _variants(metric)}),
    }


def _variants(metric: Metric) -> Iterator[Measure]:
    """The metric with each choice of its own options, one at a time."""
    k = 10 if metric.cut == "required" else None
    for option in metric.options:
        yield from (Measure(metric.name, k, ((option.name, choice),)) for choice in option.choices)
