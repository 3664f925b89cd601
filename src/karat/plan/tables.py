"""What all tables of a plan share, and what a gold and a system must be able to do."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict, Field

from karat.chance import Chance
from karat.dialects import Asked
from karat.hygiene import Hygiene
from karat.indexed import Equivalence
from karat.lab.measuring import Measured
from karat.pairing import ReferenceSide
from karat.plan.keyword_side import KeywordSide
from karat.plan.recommendation_side import RecommendationSide
from karat.progress import Progress
from karat.similarities import Similarities
from karat.statistics.intervals import Resampling
from karat.types import Floats, Gold, Ranking, Vectors

if TYPE_CHECKING:
    from karat.plan.lab import LabWork

__all__ = ["Folder", "GoldTable", "Loaded", "Shop", "SystemTable", "Table"]


class Table(BaseModel):
    """A table of the plan: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)

    @property
    def searches_itself(self) -> bool:
        """Whether the queries are items of the table's own corpus."""
        return False


@dataclass(frozen=True, eq=False)
class Loaded:
    """Golds by aspect."""

    golds: dict[str, Gold]
    closed: bool = False
    """The queries are the candidates: a set compared with itself."""
    queries_are_items: bool = False
    """Queries are items of the corpus, which may be more; so it is wherever the gold is ``closed``."""
    reference: ReferenceSide | None = None
    """Whose ranking the gold is, where it is a model's."""
    notes: tuple[str, ...] = ()
    """To be warned of."""
    spaces: dict[str, Hygiene] = field(default_factory=dict)
    """What is to be known of vectors that the gold is from."""
    keywords: KeywordSide | None = None
    """What queries ask for, where the gold is made of keywords."""
    recommendations: RecommendationSide | None = None
    """Who is recommended what, where the gold was held out of a log."""
    exclude_self: bool | None = None
    """Whether a query's own item is left out of results, where the gold says so; None: it does not say."""


class Folder(Protocol):
    """What a gold may use to be read."""

    cuts: tuple[int, ...]
    """The cut-offs of the measures."""
    gold_cut: int
    """The largest cut-off at which a measure cuts the gold; 0: none does."""

    how: Resampling
    """How intervals are made."""
    scratch: str
    """A folder for what is kept only while the plan runs; empty: among temporary files."""
    is_lab: bool
    """Whether what vectors are made of is to be kept."""
    progress: Progress

    def path(self, text: str) -> str:
        """A path of the plan, which is relative to the plan's folder."""

    def note(self, text: str) -> None:
        """Something to be warned of."""


class Shop(Folder, Protocol):
    """What a system may use to make its ranking."""

    gold: Gold
    """What it will be held against."""
    closed: bool
    exclude_self: bool | None
    """Whether the gold says that a query's own item is left out of results; None: it does not say."""
    reference: ReferenceSide | None
    keywords: KeywordSide | None
    recommendations: RecommendationSide | None
    lab: "LabWork"
    """How indexes are tried."""
    deepest: int | None
    """How deep anything looks into the ranking; None: to its end."""

    def ranking(self, name: str) -> Ranking:
        """Another system's."""

    def keep_space(self, hygiene: Hygiene) -> None:
        """What is to be known of the system's vectors."""

    def keep_index(self, measured: Measured, same: Equivalence | None) -> None:
        """What came of an index."""

    def keep_vectors(self, corpus: Vectors, queries: Vectors, scores: Floats) -> None:
        """What the system is made of, and how alike the first of each query are (queries × k)."""

    def keep_similarities(self, similarities: Similarities, ranking: Ranking) -> None:
        """What the system knows of pairs, to be held against the reference's."""

    def keep_fusion(self, how: Mapping[str, object]) -> None:
        """How the system was fused."""

    def keep_facts(self, facts: Mapping[str, object]) -> None:
        """What else to record of the system: its model, its chunking …"""


class GoldTable(Table, ABC):
    """Where truth comes from."""

    of_a_model: ClassVar[bool] = False
    """Whether it is a reference model's ranking, whose similarities others can be held against."""

    @abstractmethod
    def load(self, folder: Folder) -> Loaded:
        """Read it."""

    def complete(self, folder: Path) -> "GoldTable":
        """Return it with the files that belong to those it names; ``folder``: what paths are relative to."""
        return self

    def faults(self) -> Iterator[tuple[str, str]]:
        """Keys whose values do not fit together, and why."""
        yield from ()

    def misfits(self, asked: Sequence[Asked]) -> Iterator[tuple[str, str]]:
        """Keys whose values do not fit the measures, and why."""
        yield from ()

    def cautions(self, asked: Sequence[Asked]) -> Iterator[str]:
        """What to keep in mind of the measures with this gold."""
        yield from ()


class SystemTable(Table, ABC):
    """Where a ranking comes from."""

    ranks: ClassVar[bool] = True
    """Whether it has a ranking that can be fused and compared; a random order has none."""
    is_index: ClassVar[bool] = False
    """Whether it is a vector index, which can be swept."""
    gold: str | None = Field(None, description="Which aspect of the gold it is held against, where there are several.")
    threshold: float | None = Field(None, description="Results that score less are not shown, and do not count.")

    @property
    def lacks(self) -> str | None:
        """Why the system is left out, where it may be and must."""
        return None

    @abstractmethod
    def load(self, shop: Shop) -> Ranking | Chance:
        """Make it."""

    def needs(self) -> tuple[str, ...]:
        """The systems it is made from."""
        return ()

    def faults(self) -> Iterator[tuple[str, str]]:
        """Keys whose values do not fit together, and why."""
        yield from ()
