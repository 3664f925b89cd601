"""What exists, read from the registries: for ``karat metrics`` and the tables of the documentation."""

from typing import Any

from karat.dialects import DIALECTS
from karat.measure import METRICS, Metric
from karat.names import names_elsewhere

__all__ = ["dialects_table", "metric_facts", "metrics_table"]


def metrics_table() -> list[list[str]]:
    """Name, karat's own aliases, title."""
    return [[metric.name, ", ".join(metric.aliases), metric.title] for metric in METRICS]


def dialects_table() -> list[list[str]]:
    """Name and what it reproduces."""
    return [[dialect.name, dialect.about] for dialect in DIALECTS]


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
            {"name": o.name, "choices": list(o.choices), "default": o.usual, "about": o.about}
            for o in metric.all_options
        ],
        "elsewhere": names_elsewhere(metric.name),
    }
