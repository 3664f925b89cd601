"""Base classes of a plan's golds and systems, their context when they load, and what they return."""

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
"""Up to how many candidates all are ranked, and how deep else."""
TOP = 10
"""How many of each query are looked at where no measure says how deep it looks."""


class PlanTable(BaseModel):
    """A table of the plan: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)

    @property
    def searches_itself(self) -> bool:
        """Whether the queries are items of the table's own corpus."""
        return False

    def check_files(self, context: "GoldContext") -> None:
        """Check the files that the table names, where that is to be done before the work."""


@dataclass(frozen=True, eq=False)
class GoldContext:
    """Context in which a gold loads."""

    checked: "CheckedPlan"
    resampling: Resampling
    """How intervals are made."""
    open_lab: Callable[[], "Lab"]
    """Returns how indexes are tried: one value for all systems, made when the first asks for it."""
    scratch: str
    """A folder for what is kept only while the plan runs; empty: among temporary files."""
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
        """The largest cut-off; ``TOP`` where no measure has one."""
        return max(self.cuts, default=TOP)

    @property
    def ties(self) -> TieRule:
        """How the first measure orders equal scores."""
        rule = self.asked[0].measure["ties"]
        return cast(TieRule, rule) if rule in get_args(TieRule) else "id"

    def path(self, text: str) -> str:
        """Return a path of the plan, which is relative to the plan's folder."""
        return text if text == "-" or Path(text).is_absolute() else str(self.checked.folder / text)

    @contextmanager
    def located(self, *path: str | int, system: str | None = None) -> Iterator[None]:
        """Add to an error which key of the plan it is about.

        With ``system``, that is the key of the system, or of the lab, which names the file that the error is about.
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
        for path, table in ((("systems", system), plan.systems[system]), (("lab",), plan.lab)):
            for key, value in table:
                files = {value, value.rpartition(":")[0]} - {""} if isinstance(value, str) else set()
                if any(self.path(file) in where for file in files):
                    return (*path, key)
        return ("systems", system)


@dataclass(frozen=True, eq=False)
class SystemContext(GoldContext):
    """Context in which a system loads."""

    loaded_gold: "LoadedGold"
    """The gold that was loaded."""
    gold: Gold
    """The aspect of it that the system is compared with."""
    deepest: int | None
    """How deep anything looks into the ranking; None: to its end."""
    rankings: Mapping[str, Ranking]
    """Those of the systems that it is made from."""


LastStep = Callable[["Report", GoldContext, Mapping[str, Gold]], "Report"]
"""Takes the report and the golds by system, and returns the report with something added."""


@dataclass(frozen=True, eq=False)
class Loaded:
    """The ranking of a system, with sections and warnings."""

    ranking: Ranking | RandomRanking | None
    """None once it was passed on to be scored: sections and warnings are kept without it."""
    sections: tuple[Section, ...] = ()
    warnings: tuple[ReportWarning, ...] = ()
    similarities: Similarities | None = None
    """The similarities of pairs, to be compared with a reference."""
    last_steps: tuple["LastStep", ...] = ()
    """Steps that complete the report once all systems are in it; a step of several systems is taken once."""

    def adding(self, *sections: Section, warnings: Sequence[ReportWarning] = ()) -> "Loaded":
        """Return it with sections and warnings added; facts are added to those that there are."""
        by_name = {section.name: section for section in self.sections}
        for section in sections:
            known = by_name.get(section.name)
            if isinstance(section, SystemFacts) and isinstance(known, SystemFacts):
                section = SystemFacts({**known, **section})
            by_name[section.name] = section
        return replace(self, sections=tuple(by_name.values()), warnings=(*self.warnings, *warnings))

    def final_sections(self, report: "Report", system: str, context: "GoldContext", gold: Gold) -> tuple[Section, ...]:
        """Return the sections once the system was scored."""
        return self.sections


@dataclass(frozen=True, eq=False)
class LoadedGold:
    """Golds by aspect, and what systems and the report need to know of them.

    A kind of gold that needs more of the systems than this overrides the methods.
    """

    golds: Mapping[str, Gold]
    closed: bool = False
    """The queries are the candidates: a set compared with itself."""
    queries_are_items: bool | None = None
    """Whether queries are items of the corpus, which may be more; None: the gold does not say."""
    exclude_self: bool | None = None
    """Whether a query's own item is left out of results; None: the gold does not say."""
    reference: ReferenceModel | None = None
    """The model whose ranking the gold is, where it is one."""
    sections: tuple[Section, ...] = ()
    warnings: tuple[ReportWarning, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    """Of items, where the plan names no file of them."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Of queries."""
    unit: tuple[str, str] = QUERIES
    """What a query is called, and queries are."""
    task: "Task | None" = None
    """What a recommender is fitted on and asked for."""
    tiers: "Tiers | None" = None
    crossings: Crossings = ()
    """Slices of queries that are crossed with slices of items."""
    background: Background | None = None
    """What measures beyond accuracy look at."""
    is_test_window: bool = False
    """Whether it is a test window, of which each look is recorded."""

    def slices(self, wanted: Collection[str]) -> list[SliceTable]:
        """Return slices of queries besides the plan's; those whose names are ``wanted`` are always there."""
        return []

    def item_slices(self) -> list[SliceTable]:
        """Return slices of items besides the plan's."""
        return []

    def measures(self, asked: tuple[NamedMeasure, ...]) -> tuple[NamedMeasure, ...]:
        """Return the measures under the conventions that the gold needs."""
        return asked

    def candidates(self, gold: Gold) -> int | Mapping[str, int] | None:
        """Return how many candidates a query has, all or by query; None where that is not known."""
        return len(gold) - 1 if self.closed else None

    def check_search(self) -> None:
        """Raise an error where a search by vectors cannot answer the queries."""

    def check_run(self, ranking: Ranking) -> tuple[Ranking, list[str]]:
        """Return a ranking that was read from a file, without what may not be in it, and what was found."""
        return ranking, []

    def recommender_task(self, where: str | None = None) -> "Task":
        """Return what a recommender is fitted on; raise an error where the gold is not held out of a log."""
        if self.task is None:
            raise UsageError(
                "the gold is not a log that a recommender could learn from",
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
        """Return what a system loaded as it is shown: from the threshold on, and with what the gold knows of it."""
        if threshold is None or not isinstance(loaded.ranking, Ranking):
            return loaded
        shown = apply_threshold(loaded.ranking, threshold)
        empty = int((np.diff(shown.starts) == 0).sum())
        text = f"the threshold {threshold:g} leaves {empty:,} of {len(shown):,} {{queries}} no result"
        warnings = [ReportWarning(text, code="threshold", count=empty)] if empty > len(shown) / 2 else []
        return replace(loaded, ranking=shown).adding(SystemFacts({"threshold": threshold}), warnings=warnings)

    def final_warnings(self, report: "Report", context: GoldContext) -> Iterator[ReportWarning]:
        """Return warnings about the systems once all are scored."""
        yield from ()


class GoldTable(PlanTable, ABC):
    """Where truth comes from."""

    is_model_reference: ClassVar[bool] = False
    """Whether it is a reference model's ranking, whose similarities others can be compared with."""

    @abstractmethod
    def load(self, context: GoldContext) -> LoadedGold:
        """Read it."""

    def complete(self, folder: Path) -> "GoldTable":
        """Return it with the files that belong to those it names; ``folder``: what paths are relative to."""
        return self

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield keys whose values do not fit together, and why."""
        yield from ()

    def measure_faults(self, asked: Sequence[NamedMeasure]) -> Iterator[tuple[str, str]]:
        """Yield keys whose values do not fit the measures, and why."""
        yield from ()

    def on_window(self, window: Literal["validation", "test"], fit_on: str | None = None) -> Self:
        """Return it on a window of what was held out, and what to learn from; as it is where nothing was."""
        return self


class SystemTable(PlanTable, ABC):
    """Where a ranking comes from."""

    ranks: ClassVar[bool] = True
    """Whether it has a ranking that can be fused and compared; a random order has none."""
    is_index: ClassVar[bool] = False
    """Whether it is a vector index, which can be swept."""
    is_recommender: ClassVar[bool] = False
    """Whether it is a recommender, which can be tuned."""
    gold: str | None = Field(
        None, description="The aspect of the gold to evaluate it against, where there are several."
    )
    threshold: float | None = Field(None, description="Results that score less are not shown, and do not count.")

    @property
    def unavailable_reason(self) -> str | None:
        """Why the system is left out, where it may be and must."""
        return None

    @abstractmethod
    def load(self, context: SystemContext) -> Loaded:
        """Make its ranking."""

    def needs(self) -> tuple[str, ...]:
        """Return the systems that it is made from."""
        return ()

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield keys whose values do not fit together, and why."""
        yield from ()


def default_depth(size: int, cuts: Sequence[int]) -> int | None:
    """Return how many of ``size`` candidates to rank where nothing says so; None: all of them."""
    return None if size <= FULL_DEPTH else max((DEFAULT_DEPTH, *cuts))


def fault_of(key: str, check: Callable[[], object]) -> Iterator[tuple[str, str]]:
    """Yield the key with the error that a check raises, if any."""
    try:
        check()
    except RankjuryError as error:
        yield key, str(error)


def warn_of_names(names: Collection[str] | pl.Series, one: str, many: str, text: str, code: str) -> list[ReportWarning]:
    """Return a warning that counts and lists names, or none if there are none."""
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
