"""Base classes of a plan's golds and systems, their context while loading, and their results."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self, cast, get_args

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from rankjury.core.progress import Progress
from rankjury.core.text import join_names, plural
from rankjury.core.types import Background, Gold, Ranking, Vectors
from rankjury.errors import RankjuryError, UsageError
from rankjury.evaluation.random_baseline import RandomRanking
from rankjury.evaluation.sections import QUERIES, ReportWarning, Section, SystemFacts
from rankjury.evaluation.slices import SliceTable
from rankjury.evaluation.slices.stats import Crossings
from rankjury.measures.dialects import NamedMeasure
from rankjury.measures.judged import TieRule
from rankjury.retrieval.agreement.pairs import ReferenceModel, Similarities
from rankjury.retrieval.rank import apply_threshold
from rankjury.stats.resampling import Resampling

if TYPE_CHECKING:
    from rankjury.evaluation.report import Report
    from rankjury.plan.bench import Lab
    from rankjury.plan.parse import CheckedPlan
    from rankjury.recsys.task import Task
    from rankjury.recsys.tiers import Tiers

FULL_DEPTH, DEFAULT_DEPTH = 2_000, 1_000
"""All candidates are ranked up to the first number; above it, lists have the second length."""
TOP = 10
"""Depth used if no measure has a cut-off."""


class PlanTable(BaseModel):
    """Table of the plan; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)

    @property
    def searches_itself(self) -> bool:
        """Whether the queries are items of the table's corpus."""
        return False

    def check_files(self, context: "GoldContext") -> None:
        """Check the files of the table, if that must be done before any work."""


@dataclass(frozen=True, eq=False)
class GoldContext:
    """Context in which a gold loads."""

    checked: "CheckedPlan"
    resampling: Resampling
    """Settings of intervals."""
    open_lab: Callable[[], "Lab"]
    """Returns the lab: one instance for all systems, created on first use."""
    scratch: str
    """Folder for data that is stored only while the plan runs; empty: a temporary folder."""
    progress: Progress

    @property
    def lab(self) -> "Lab":
        return self.open_lab()

    @property
    def asked(self) -> tuple[NamedMeasure, ...]:
        return self.checked.asked

    @property
    def cuts(self) -> tuple[int, ...]:
        return self.checked.cuts

    @property
    def largest_cut(self) -> int:
        """The largest cut-off; ``TOP`` if no measure has one."""
        return max(self.cuts, default=TOP)

    @property
    def ties(self) -> TieRule:
        """The order of equal scores of the first measure."""
        rule = self.asked[0].measure["ties"]
        return cast(TieRule, rule) if rule in get_args(TieRule) else "id"

    def path(self, text: str) -> str:
        """Resolve a path of the plan, which is relative to the plan's folder."""
        return text if text == "-" or Path(text).is_absolute() else str(self.checked.folder / text)

    @contextmanager
    def located(self, *path: str | int, system: str | None = None) -> Iterator[None]:
        """Add the key of the plan to an error.

        With ``system``, that is the key of the system or of the lab that names the file of the error.
        """
        try:
            yield
        except RankjuryError as error:
            checked = self.checked
            if checked.places and checked.where not in str(error):
                key = path if system is None else self._key_of(error.where or "", system)
                place = checked.at(*key).replace(checked.where, Path(checked.where).name)
                error.where = f"{error.where} ({place})" if error.where else place
            raise

    def _key_of(self, where: str, system: str) -> tuple[str, ...]:
        plan = self.checked.plan
        keys: dict[str, tuple[str, ...]] = {}
        for path, table in ((("systems", system), plan.systems[system]), (("lab",), plan.lab)):
            for key, value in table:
                files = {value, value.rpartition(":")[0]} - {""} if isinstance(value, str) else set()
                keys |= {file: (*path, key) for file in files if self.path(file) in where and file not in keys}
        return keys[max(keys, key=len)] if keys else ("systems", system)


@dataclass(frozen=True, eq=False)
class SystemContext(GoldContext):
    """Context in which a system loads."""

    loaded_gold: "LoadedGold"
    """The loaded gold."""
    gold: Gold
    """The aspect of the gold that the system is compared with."""
    deepest: int | None
    """Maximum depth that is used of the ranking; None: all of it."""
    rankings: Mapping[str, Ranking]
    """Rankings of the systems that it is made from."""


LastStep = Callable[["Report", GoldContext, Mapping[str, Gold]], "Report"]
"""Takes the report and the golds by system, and returns the extended report."""


@dataclass(frozen=True, eq=False)
class Loaded:
    """Ranking of a system, with sections and warnings."""

    ranking: Ranking | RandomRanking | None
    """None after it was passed on for scoring: sections and warnings are stored without it."""
    sections: tuple[Section, ...] = ()
    warnings: tuple[ReportWarning, ...] = ()
    similarities: Similarities | None = None
    """Similarities of pairs, to be compared with a reference."""
    last_steps: tuple["LastStep", ...] = ()
    """Steps that complete the report after all systems; a step shared by several systems runs once."""

    def adding(self, *sections: Section, warnings: Sequence[ReportWarning] = ()) -> "Loaded":
        """Return it with additional sections and warnings; facts are added to the existing ones."""
        by_name = {section.name: section for section in self.sections}
        for section in sections:
            known = by_name.get(section.name)
            if isinstance(section, SystemFacts) and isinstance(known, SystemFacts):
                section = SystemFacts({**known, **section})
            by_name[section.name] = section
        return replace(self, sections=tuple(by_name.values()), warnings=(*self.warnings, *warnings))

    def final_sections(self, report: "Report", system: str, context: "GoldContext", gold: Gold) -> tuple[Section, ...]:
        """Return the sections that need the scored report."""
        return self.sections


@dataclass(frozen=True, eq=False)
class LoadedGold:
    """Golds by aspect, with their properties for systems and the report.

    A kind of gold with other requirements overrides the methods.
    """

    golds: Mapping[str, Gold]
    closed: bool = False
    """The queries are the candidates, as in a set compared with itself."""
    queries_are_items: bool | None = None
    """Whether queries are items of the corpus, which may have more items; None: unknown."""
    exclude_self: bool | None = None
    """Whether a query's own item is excluded from results; None: unknown."""
    reference: ReferenceModel | None = None
    """Name of the reference model, if the gold is its ranking."""
    sections: tuple[Section, ...] = ()
    warnings: tuple[ReportWarning, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of items, used if the plan has no file of them."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Texts of queries."""
    unit: tuple[str, str] = QUERIES
    """The nouns for a query and for queries."""
    task: "Task | None" = None
    """Task of a recommender: training data and users."""
    tiers: "Tiers | None" = None
    crossings: Crossings = ()
    """Slices of queries that are crossed with slices of items."""
    background: Background | None = None
    """Training data for measures beyond accuracy."""
    is_test_window: bool = False
    """Whether it is a test window, whose uses are recorded."""

    def slices(self, wanted: Collection[str]) -> list[SliceTable]:
        """Return slices of queries in addition to the plan's; slices named in ``wanted`` are always included."""
        return []

    def item_slices(self) -> list[SliceTable]:
        """Return slices of items in addition to the plan's."""
        return []

    def measures(self, asked: tuple[NamedMeasure, ...]) -> tuple[NamedMeasure, ...]:
        """Return the measures under the conventions required by the gold."""
        return asked

    def candidates(self, gold: Gold) -> int | Mapping[str, int] | None:
        """Return the number of candidates of a query, for all or by query; None if unknown."""
        return len(gold) - 1 if self.closed else None

    def check_search(self) -> None:
        """Raise an error if the queries cannot be answered by vector search."""

    def check_run(self, ranking: Ranking) -> tuple[Ranking, list[str]]:
        """Return a ranking from a file without invalid results, and notes on these."""
        return ranking, []

    def recommender_task(self, where: str | None = None) -> "Task":
        """Return the task of a recommender; raise an error if the gold is not held out of a log."""
        if self.task is None:
            raise UsageError(
                "recommenders need a gold of interactions",
                where=where,
                expected='a gold of the kind "interactions"',
            )
        return self.task

    def choose_queries(
        self, gold: Gold, corpus: Vectors, queries: Vectors | None
    ) -> tuple[pl.Series, Sequence[ReportWarning]]:
        """Return the queries to search for."""
        return gold.queries.cast(pl.String).sort(), ()

    def complete(self, loaded: Loaded, threshold: float | None, context: GoldContext) -> Loaded:
        """Return a loaded system with results above the threshold only, and with sections of the gold."""
        if threshold is None or not isinstance(loaded.ranking, Ranking):
            return loaded
        shown = apply_threshold(loaded.ranking, threshold)
        empty = int((np.diff(shown.starts) == 0).sum())
        text = f"the threshold {threshold:g} leaves {empty:,} of {len(shown):,} {{queries}} without results"
        warnings = [ReportWarning(text, code="threshold", count=empty)] if empty > len(shown) / 2 else []
        return replace(loaded, ranking=shown).adding(SystemFacts({"threshold": threshold}), warnings=warnings)

    def final_warnings(self, report: "Report", context: GoldContext) -> Iterator[ReportWarning]:
        """Return warnings about the systems after all are scored."""
        yield from ()


class GoldTable(PlanTable, ABC):
    """Source of the gold."""

    is_model_reference: ClassVar[bool] = False
    """Whether it is a reference model's ranking, whose similarities are comparable."""

    @abstractmethod
    def load(self, context: GoldContext) -> LoadedGold:
        """Load the gold."""

    def complete(self, folder: Path) -> "GoldTable":
        """Return the table with companion files added; ``folder``: base of relative paths."""
        return self

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield keys whose values exclude each other, with the reason."""
        yield from ()

    def measure_faults(self, asked: Sequence[NamedMeasure]) -> Iterator[tuple[str, str]]:
        """Yield keys whose values do not match the measures, with the reason."""
        yield from ()

    def on_window(self, window: Literal["validation", "test"], fit_on: str | None = None) -> Self:
        """Return the table for a window of a split, and its training windows; unchanged if there is no split."""
        return self


class SystemTable(PlanTable, ABC):
    """Source of a ranking."""

    ranks: ClassVar[bool] = True
    """Whether it has a ranking that can be fused and compared; a random order has none."""
    is_index: ClassVar[bool] = False
    """Whether it is a vector index, which can be swept."""
    is_recommender: ClassVar[bool] = False
    """Whether it is a recommender, which can be tuned."""
    gold: str | None = Field(None, description="The aspect of the gold to evaluate against, if there are several.")
    threshold: float | None = Field(None, description="Results with lower scores are removed.")

    @property
    def unavailable_reason(self) -> str | None:
        """Reason for omitting an optional system that is not installed."""
        return None

    @abstractmethod
    def load(self, context: SystemContext) -> Loaded:
        """Return the ranking of the system."""

    def needs(self) -> tuple[str, ...]:
        """Return the systems that it is made from."""
        return ()

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield keys whose values exclude each other, with the reason."""
        yield from ()


def default_depth(size: int, cuts: Sequence[int]) -> int | None:
    """Return the default number of ranked candidates of ``size``; None: all of them."""
    return None if size <= FULL_DEPTH else max((DEFAULT_DEPTH, *cuts))


def fault_of(key: str, check: Callable[[], object]) -> Iterator[tuple[str, str]]:
    """Yield the key with the error that a check raises, if any."""
    try:
        check()
    except RankjuryError as error:
        yield key, str(error)


def warn_of_names(names: Collection[str] | pl.Series, one: str, many: str, text: str, code: str) -> list[ReportWarning]:
    """Return a warning that counts and lists names; none without names."""
    if not len(names):
        return []
    return [ReportWarning(f"{plural(len(names), one, many)} {text}: {join_names(names)}", code=code, count=len(names))]


def threshold_warnings(asked: Sequence[NamedMeasure], text: str) -> list[ReportWarning]:
    """Warn of measures that count an item of any grade as relevant; ``{measures}`` in the text names them."""
    labels = [
        named.label
        for named in asked
        if named.measure["rel"] is None
        and named.measure.metric.needs_relevant
        and named.measure["gain"] in (None, "binary")
    ]
    text = text.format(measures=", ".join(labels))
    return [ReportWarning(text, code="no-threshold", count=len(labels))] if labels else []
