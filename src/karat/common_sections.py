"""Sections that several specialities share."""

from dataclasses import dataclass
from typing import Any

from karat.sections import MappingSection, Section

__all__ = ["Facts", "Fingerprints", "Fusion", "Interactions", "Keywords", "Quantiles", "ScoreHistogram"]


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
class Quantiles(MappingSection):
    """By measure: the scores at some shares of the queries, and how far they may be off."""

    name = "quantiles"


@dataclass(frozen=True, eq=False)
class Keywords(MappingSection):
    """What queries ask for by keywords: groups, match, how texts were mapped and how well."""

    name = "keywords"


@dataclass(frozen=True, eq=False)
class Interactions(MappingSection):
    """The log that the gold was held out of: its split, windows, catalogue and tiers."""

    name = "interactions"


@dataclass(frozen=True, eq=False)
class ScoreHistogram(Section):
    """Histogram of the scores of a system's first items."""

    name = "first_scores"

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    fallback_queries: int | None = None
    """How many queries were answered by a fallback, whose scores are left out."""

    def to_json(self) -> Any:
        found = super().to_json()
        if self.fallback_queries is None:
            del found["fallback_queries"]
        return found
