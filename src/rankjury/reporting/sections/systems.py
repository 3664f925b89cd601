"""Renderers of what any system may have: quantiles, scores of its first items, and what it is made of."""

from collections.abc import Mapping
from functools import partial
from math import isnan
from typing import Any

from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import FusionFacts, Quantiles, SystemFacts
from rankjury.reporting.charts.sections import first_charts
from rankjury.reporting.sections import SectionBlock, renderer
from rankjury.reporting.tables import TextTable, make_table
from rankjury.stats.formatting import NO_VALUE, format_percent

_NOT_ON_PAGE = frozenset({"console", "markdown", "notebook", "pull-request"})
"""The page shows quantiles with its measures, and what systems are made of under provenance."""


@renderer("quantiles")
def render_quantiles(report: Report, brief: bool) -> SectionBlock | None:
    """Return one row per measure and system."""
    found = quantiles_table(report)
    return SectionBlock("Quantiles", [found], order=10, only=_NOT_ON_PAGE) if found else None


def quantiles_table(report: Report) -> TextTable:
    """Return scores at some shares of the queries: one row per measure and system; no rows where none were asked."""
    known = {name: quantiles.measures for name, quantiles in report.sections_of(Quantiles).items()}
    entries = [(label, name, of[label]) for label in report.labels for name, of in known.items() if label in of]
    shares = entries[0][2].at if entries else ()
    rows = []
    for label, name, quantiles in entries:
        cells = (NO_VALUE if isnan(value) else f"{value:.4f}" for value in quantiles.at.values())
        rows.append([report.both_names(label), name, *cells])
    error = max((quantiles.relative_error for _, _, quantiles in entries), default=0)
    rounded = f"; counted after rounding, off by {format_percent(error, 2)} at most" if error else ""
    header = ["measure", "system", *(format_percent(float(share)) for share in shares)]
    return make_table(header, rows, text=(0, 1), notes=[f"Scores at shares of the {report.unit[1]}{rounded}."])


@renderer("first_scores")
def render_first_scores(report: Report, brief: bool) -> SectionBlock | None:
    """Return the distribution of the scores of first items, for writers that draw."""
    charts = partial(first_charts, report)
    return SectionBlock("Scores of first items", charts=charts, order=49, only=frozenset({"html"}))


@renderer("facts")
@renderer("fusion")
def render_systems(report: Report, brief: bool) -> SectionBlock | None:
    """Return how systems were fused from others; in files also the models, chunkings and thresholds of the others."""
    rows = [[name, _fusion_text(facts)] for name, facts in report.sections_of(FusionFacts).items()]
    rows += [] if brief else [[name, _text(facts)] for name, facts in report.sections_of(SystemFacts).items() if facts]
    made = make_table(["system", "made of"], rows, text=(0, 1), wraps=(0, 1))
    return SectionBlock("Systems", [made], order=60, only=_NOT_ON_PAGE) if rows else None


def _fusion_text(fusion: FusionFacts) -> str:
    """``rrf of anchor (0.5), content (0.25), vibe (0.25); c 60.0``"""
    weights = fusion.get("weights") or {}
    parts = [f"{name} ({weights[name]:g})" if name in weights else name for name in fusion.get("of") or ()]
    more = _text({key: value for key, value in fusion.items() if key not in ("of", "method", "weights")})
    return f"{fusion.get('method')} of {', '.join(parts)}" + (f"; {more}" if more else "")


def _text(values: Mapping[str, Any]) -> str:
    """``model content, params (features genre, idf true)``; what is not set or empty is left out."""
    shown = []
    for key, value in values.items():
        if isinstance(value, Mapping):
            inner = _text(value)
            shown += [f"{key} ({inner})"] if inner else []
        elif isinstance(value, list | tuple):
            shown += [f"{key} {', '.join(map(str, value))}"] if value else []
        elif value is not None:
            text = f"{value:g}" if isinstance(value, float) else str(value)
            shown.append(f"{key} {text.lower() if isinstance(value, bool) else text}")
    return ", ".join(shown)
