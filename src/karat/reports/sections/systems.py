"""Renderer of what systems are made of: models, chunkings, thresholds, and how they were fused from others."""

from collections.abc import Mapping
from typing import Any

from karat.report import Report
from karat.reports.cells import table
from karat.reports.sections import Block, renderer
from karat.sections import Facts, Fusion

__all__ = ["render"]

_NOT_ON_PAGE = frozenset({"console", "markdown", "notebook", "pull-request"})


@renderer("facts")
@renderer("fusion")
def render(report: Report, brief: bool) -> Block | None:
    """Return how systems were fused from others; in files also the models, chunkings and thresholds of the others.

    The page lists both under provenance.
    """
    rows = [[name, _fusion_text(one)] for name, one in report.sections_of(Fusion).items()]
    rows += [] if brief else [[name, _text(one)] for name, one in report.sections_of(Facts).items() if one]
    made = table(["system", "made of"], rows, text=(0, 1), wraps=(0, 1))
    return Block("Systems", [made], order=60, only=_NOT_ON_PAGE) if rows else None


def _fusion_text(fusion: Fusion) -> str:
    """``rrf of anchor (0.5), content (0.25), vibe (0.25); c 60.0``"""
    weights = fusion.get("weights") or {}
    parts = [f"{name} ({weights[name]:g})" if name in weights else name for name in fusion.get("of") or ()]
    others = {key: value for key, value in fusion.items() if key not in ("of", "method", "weights")}
    more = _text(others)
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
