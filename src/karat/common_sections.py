"""Sections that several specialities share."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from karat.sections import MappingSection, Section
from karat.statistics.quantiles import QuantileValues

__all__ = ["Facts", "Fingerprints", "Fusion", "Keywords", "Quantiles", "ScoreHistogram"]


@dataclass(frozen=True, eq=False)
class Facts(MappingSection):
    """What a system is made of: a model, a chunking, a threshold."""

    name = "facts"


@dataclass(frozen=True, eq=False)
class Fusion(MappingSection):
    """How a system was fused from others."""

    name = "fusion"


@dataclass(frozen=True, eq=False)
class Fingerprints(MappingSection):
    """Hashes of a system's items, vectors and queries."""

    name = "fingerprints"


@dataclass(frozen=True, eq=False)
class Quantiles(Section):
    """Scores at some shares of the queries, by measure."""

    name = "quantiles"
    json_field = "measures"

    measures: Mapping[str, QuantileValues] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Keywords(MappingSection):
    """What queries ask for by keywords: groups, match, how texts were mapped and how well."""

    name = "keywords"


@dataclass(frozen=True, eq=False)
class ScoreHistogram(Section):
    """Histogram of the scores of a system's first items."""

    name = "first_scores"
    omitted = ("fallback_queries",)

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    fallback_queries: int | None = None
    """How many queries were answered by a fallback, whose scores are left out."""
