"""What results have and lack of what was asked for, as values."""

from dataclasses import dataclass
from typing import Any

from karat.sections import Section
from karat.vocabulary import Keyword

__all__ = ["Alike", "LookAlike", "Looked", "Missed", "Partial", "Result"]


@dataclass(frozen=True)
class Result:
    """An item that was found: where, how alike it is, and which of the query's keywords it has, in their order."""

    item: str
    rank: int
    score: float | None
    has: tuple[bool, ...]
    relevant: bool
    shown: bool = True
    """Not, where its score is below the threshold."""
    annotated: bool = True


@dataclass(frozen=True)
class Looked:
    """A query with its keywords, how many items are relevant to it, and its first results."""

    query: str
    keywords: tuple[Keyword, ...]
    relevant: int
    results: tuple[Result, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "query": self.query,
            "keywords": [str(keyword) for keyword in self.keywords],
            "relevant": self.relevant,
            "results": [
                {
                    "item": one.item,
                    "rank": one.rank,
                    "score": one.score,
                    "relevant": one.relevant,
                    "shown": one.shown,
                    "annotated": one.annotated,
                    "has": [str(keyword) for keyword, has in zip(self.keywords, one.has, strict=True) if has],
                    "lacks": [str(keyword) for keyword, has in zip(self.keywords, one.has, strict=True) if not has],
                }
                for one in self.results
            ],
        }


@dataclass(frozen=True)
class Missed:
    """How often results lack a keyword, or a keyword of a group, that their query asks for."""

    name: str
    """``group=name`` of a keyword, or the name of a group."""
    queries: int
    """How many ask for it."""
    results: int
    """How many results those have; of a group, once for each keyword asked for."""
    lacking: int
    group: str = ""
    """Of a keyword."""
    instead: tuple[tuple[str, int], ...] = ()
    """Other keywords of the group that those results have, the most frequent first."""

    @property
    def share(self) -> float:
        return self.lacking / self.results if self.results else float("nan")

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "queries": self.queries,
            "results": self.results,
            "lacking": self.lacking,
            "share": self.share if self.results else None,
            "instead": [{"keyword": name, "results": number} for name, number in self.instead],
        }


@dataclass(frozen=True)
class LookAlike:
    """A result that scores high though it lacks what was asked for."""

    query: str
    item: str
    score: float
    lacks: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"query": self.query, "item": self.item, "score": self.score, "lacks": list(self.lacks)}


@dataclass(frozen=True)
class Alike:
    """How much of a query item's other keywords, of groups that do not count, items have on average."""

    relevant: float | None
    """Results that are relevant."""
    others: float | None
    """Results that are not."""
    anything: float
    """Any item."""
    groups: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "groups": list(self.groups),
            "relevant_results": self.relevant,
            "other_results": self.others,
            "any_item": self.anything,
        }


@dataclass(frozen=True, eq=False)
class Partial(Section):
    """What the first k results of all queries have and lack."""

    name = "partial_matches"

    k: int
    threshold: float | None
    whole: int
    """Results with all keywords of their query."""
    some: int
    none: int
    keywords: tuple[Missed, ...]
    """By how many results lack it, most first."""
    groups: tuple[Missed, ...]
    queries: tuple[Looked, ...]
    alike: Alike | None = None
    """Of queries that are items with other keywords than those that count."""
    look_alikes: tuple[LookAlike, ...] = ()
    """Of those that are not relevant, the results that score highest."""
    unknown: tuple[str, ...] = ()
    """Results that are not annotated."""

    def of(self, query: str) -> Looked | None:
        return next((one for one in self.queries if one.query == query), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "k": self.k,
            "threshold": self.threshold,
            "results": {"whole": self.whole, "some": self.some, "none": self.none},
            "keywords": [one.to_json() for one in self.keywords],
            "groups": [one.to_json() for one in self.groups],
            "alike": None if self.alike is None else self.alike.to_json(),
            "not_annotated": len(self.unknown),
            "look_alikes": [one.to_json() for one in self.look_alikes],
            "queries": [one.to_json() for one in self.queries],
        }
