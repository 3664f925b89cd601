"""Sections: what a speciality adds to a report, such as embedding diagnostics, an index benchmark or a drift.

A section is a frozen dataclass with a name. It belongs to one system or to the report as a whole, is one key of the
report's JSON, and has its tables and charts in one renderer (``rankjury.reporting.sections``) that all writers use. To
add one, write the dataclass, the renderer and a test; nothing else knows its name.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from rankjury.core.registry import Registry
from rankjury.core.text import join_names
from rankjury.core.types import Floats
from rankjury.core.validation import Positive, Record, RecordError
from rankjury.errors import DataError
from rankjury.stats.estimates import QuantileValues
from rankjury.stats.formatting import format_percent
from rankjury.stats.sums import mean_and_std

if TYPE_CHECKING:
    from rankjury.evaluation.report import Report

QUERIES = ("query", "queries")
"""What a query is called, and queries are, unless they are users."""
_MANY = 3  # systems from which on a warning that they share is shown once
GOLD_DUPLICATES = "gold-duplicates"
"""Code of the warning about duplicate rows of the gold, which is the same for all systems."""
GOLD_AS_RANKING = "gold-as-ranking"
"""Code of the warning that gold and ranking are the same file."""


@dataclass(frozen=True)
class ReportWarning(Record):
    """One warning. The same warning of several systems is shown once (``merge_warnings``, ``group_warnings``)."""

    omitted = ("share",)

    text: str
    """A sentence without the system's name. ``{query}`` and ``{queries}`` stand for what the queries of the report
    are (users of a recommender, for example) until the report is assembled (``with_unit``)."""
    system: str | None = None
    """The system that it is about; None: all, or the data."""
    code: str = ""
    """A short name for programs, such as ``missing-queries``."""
    count: int | None = None
    """How many queries, items or rows it is about, where that is known."""
    share: float | None = None
    """The largest share that it is about, such as that of results that are unjudged."""

    def about(self, system: str) -> "ReportWarning":
        """Return it as a warning about a system, unless it is about one already, or about the gold."""
        return self if self.system is not None or self.code == GOLD_DUPLICATES else replace(self, system=system)

    def with_unit(self, one: str, many: str) -> "ReportWarning":
        """Return it with the words for a query and for queries filled in."""
        return replace(self, text=self.text.replace("{query}", one).replace("{queries}", many))

    def __str__(self) -> str:
        text = self.with_unit(*QUERIES).text
        return text if self.system is None else f"{self.system}: {text}"


def with_unit(warnings: Iterable[ReportWarning], unit: tuple[str, str] = QUERIES) -> tuple[ReportWarning, ...]:
    """Return warnings with the words for a query and for queries filled in."""
    return tuple(warning.with_unit(*unit) for warning in warnings)


def as_warnings(texts: Iterable[str], code: str) -> list[ReportWarning]:
    """Return texts, such as a reader's notes, as warnings of one code."""
    return [ReportWarning(text, code=code) for text in texts]


def merge_warnings(warnings: Iterable[ReportWarning], systems: Sequence[str]) -> list[str]:
    """Return warnings as lines to show: each once, and what holds of three or more systems in one line."""
    distinct = list(dict.fromkeys(replace(warning, code="", count=None, share=None) for warning in warnings))
    owners: dict[str, list[str]] = {}
    for warning in distinct:
        if warning.system is not None:
            owners.setdefault(warning.text, []).append(warning.system)
    lines = []
    for warning in distinct:
        names = owners[warning.text] if warning.system is not None else []
        if len(names) < _MANY:
            lines.append(str(warning))
        elif warning.system == names[0]:
            lines.append(f"{', '.join(names) if len(names) < len(systems) else 'all systems'}: {warning.text}")
    return lines


_ROUTINE = MappingProxyType(
    {
        "unjudged": ("up to {share} of the top {count} results are unjudged and count as not relevant",) * 2,
        "nothing-relevant": ("{count} {query} has nothing relevant", "{count} {queries} have nothing relevant"),
        "small-slices": ("{count} slice is small", "{count} slices are small"),
        "few-differences": (
            "few {queries} differ in {count} comparison",
            "few {queries} differ in {count} comparisons",
        ),
        "different-queries": (
            "{count} {query} is answered by one system only",
            "{count} {queries} are answered by one system only",
        ),
    }
)
"""Warnings that most reports have, by code: what is said of one and of several where they are folded into one line."""
_ONE_KIND = frozenset(
    {
        *("missing-queries", "extra-queries", "duplicates", "ties", "short-lists", "short-slices"),
        *("no-common-items", "few-common-items", "no-expectation", "threshold"),
    }
)
"""Codes whose warnings say the same of each system, with other numbers."""
_SHOWN_FIRST = frozenset(
    {
        *("no-common-items", "few-common-items", "below-chance", "test-opened", "unknown-ids"),
        *("name-of-other-tool", "row-numbers", GOLD_AS_RANKING),
    }
)
"""Codes of warnings that make all results doubtful, or another number than was asked for: they are not folded into the
last line before others."""


def group_warnings(
    warnings: Iterable[ReportWarning],
    systems: Sequence[str],
    unit: tuple[str, str] = QUERIES,
    most: int = 5,
    more: str = "--full says more",
) -> list[str]:
    """Return warnings as at most ``most`` lines for a terminal: one for each kind, and the routine ones in the last.

    Args:
        warnings: The warnings of a report.
        systems: Its systems.
        unit: The words for a query and for queries.
        most: How many lines there are at most.
        more: Where the reader finds all of them.
    """
    kinds: dict[str, list[ReportWarning]] = {}
    for warning in warnings:
        is_kind = warning.code in _ROUTINE or warning.code in _ONE_KIND
        kinds.setdefault(warning.code if is_kind else warning.text, []).append(warning)
    routine = {code: same for code, same in kinds.items() if code in _ROUTINE}
    groups = [same for code, same in kinds.items() if code not in _ROUTINE]
    if len(routine) == 1 and len(groups) < most:  # nothing to fold: the sentence itself says more
        groups += routine.values()
        routine = {}
    shown = groups
    if len(groups) + bool(routine) > most:
        first = sorted(groups, key=lambda same: same[0].code not in _SHOWN_FIRST)[: most - 1]
        shown = [same for same in groups if same in first]
    lines = [_group_line(same, systems) for same in shown]
    parts = []
    for code, same in routine.items():
        count, share = (
            max((value for warning in same if (value := getattr(warning, name)) is not None), default=0)
            for name in ("count", "share")
        )
        words = {"count": f"{count:,}", "share": format_percent(share, 1), "query": unit[0], "queries": unit[1]}
        parts.append(_ROUTINE[code][count != 1].format(**words))
    left = len(groups) - len(shown)
    if left:
        parts.append(f"{left} more {'warnings' if left > 1 else 'warning'}")
    if parts:
        lines.append(f"{'; '.join(parts)}: {more}")
    return lines


def _group_line(same: Sequence[ReportWarning], systems: Sequence[str]) -> str:
    """Return the first of several warnings of a kind, with all systems that have it."""
    names = list(dict.fromkeys(warning.system for warning in same if warning.system is not None))
    first = same[0].with_unit(*QUERIES).text
    if not names:
        return first
    texts = {warning.text for warning in same}
    if len(texts) == 1:
        who = "all systems" if len(names) == len(systems) > 1 else ", ".join(names)
        return f"{who}: {first}"
    others = f" (similarly {join_names(names[1:], _MANY)})" if names[1:] else ""
    return f"{names[0]}: {first}{others}"


SECTIONS: "Registry[type[Section]]" = Registry(
    "section", home=("rankjury.evaluation", "rankjury.reporting.sections"), group="rankjury.sections", by_name=True
)
"""Classes of sections by name. A section is imported by its own module in ``evaluation`` or by its renderer, which is
looked for under the section's name first. Third parties register theirs by entry points."""


class Section(Record):
    """Base class of sections; a subclass with a name is registered. Two sections are equal where their JSON is."""

    name: ClassVar[str]
    """The key in the report's JSON."""
    unit: ClassVar[tuple[str, str] | None] = None
    """What a query is called, and queries are, in a report with this section; None: it does not say."""
    system_only: ClassVar[bool] = False
    """Whether only systems have it: the report as a whole may have something else under its name."""
    leads: ClassVar[int] = 0
    """Whether its summary comes before the comparison with the baseline, lower numbers first: verdicts are 1. 0: after
    it."""

    replaces_means: ClassVar[bool] = False
    """Whether its summary already says how good the systems are, so that the highest mean is not named again."""

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls):
            SECTIONS.add(cls.name, cls)

    def warnings(self) -> Iterator[ReportWarning]:
        """Return what a reader should be warned of; the system is filled in where the section belongs to one."""
        yield from ()

    def summary(self, report: "Report", system: str | None) -> Iterator[str]:
        """Yield the sentences that the section adds to those a report begins with (``rankjury.evaluation.summary``).

        Args:
            report: The report that it is part of.
            system: The system that it belongs to; None: the report as a whole.
        """
        yield from ()

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the section's values as rows of the report's CSV and frame: ``measure``, ``mean``, ``ci_low`` …"""
        yield from ()

    def configuration(self) -> Mapping[str, Mapping[str, Any]]:
        """Return what the system is and how it was made, as tables by name; reports are compared by them."""
        return {}

    def absent_slices(self) -> Mapping[str, str]:
        """Return slices that the report could have but has not, by name, each with the reason."""
        return {}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class MappingSection(Section, Mapping[str, Any]):
    """Base class of sections that are a table of names and JSON values."""

    json_field = "content"

    content: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, key: str) -> Any:
        return self.content[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.content)

    def __len__(self) -> int:
        return len(self.content)


@dataclass(frozen=True, eq=False)
class UnknownSection(Section):
    """A section whose class is not installed here: it is kept as it was read, and not shown."""

    json_field = "value"

    key: str
    value: Any


def read_sections(
    form: Mapping[str, Any], other_keys: Collection[str], where: str, *, system: bool = False
) -> dict[str, Section]:
    """Read the sections that a report's JSON, or one of its systems, has besides its own keys."""
    found: dict[str, Section] = {}
    for key, value in form.items():
        if key in other_keys or value is None:
            continue
        kind = SECTIONS.find(key)
        if kind is None or (kind.system_only and not system):
            found[key] = UnknownSection(key, value)
            continue
        try:
            found[key] = kind.from_json(value, where)
        except RecordError as error:
            raise error.within(key) from error
    return found


@dataclass(frozen=True, eq=False)
class SystemFacts(MappingSection):
    """What a system is made of: a model, a chunking, a threshold."""

    name = "facts"


@dataclass(frozen=True, eq=False)
class FusionFacts(MappingSection):
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


@dataclass(frozen=True)
class MeanStd(Record):
    """Mean and sample standard deviation; NaN where there are too few values for one."""

    mean: float
    std: float

    @classmethod
    def of(cls, values: Floats) -> "MeanStd":
        """Return those of values; sums are exact before they are rounded, so that no digit depends on their order."""
        return cls(*mean_and_std(values))


@dataclass(frozen=True, eq=False)
class QuerySimilarities(Record):
    """Similarities of each query's first items; NaN where a query found nothing."""

    ids: tuple[str, ...]
    top1: Floats
    topk_mean: Floats
    topk_std: Floats

    def __post_init__(self) -> None:
        if len(set(self.ids)) < len(self.ids):
            raise DataError("a query occurs twice")
        for column in (self.top1, self.topk_mean, self.topk_std):
            if len(column) != len(self.ids):
                raise DataError(f"found {len(column):,} values for {len(self.ids):,} queries")


@dataclass(frozen=True, eq=False)
class Stability(Section):
    """Of one system: similarities of the best item and of the k best, over queries; lengths of the vectors it holds."""

    name = "stability"
    system_only = True

    k: Positive
    top1: MeanStd
    topk: MeanStd
    """Of all similarities among the first k, of all queries together."""
    norm: MeanStd
    queries: QuerySimilarities


def measure_stability(queries: pl.Series, scores: Floats, norms: Floats, *, k: int = 10) -> Stability:
    """From the similarities that each query found (queries × items, not finite where nothing was) and vectors' lengths.

    The higher similarity is the more alike, in whatever order they stand.
    """
    held = np.where(np.isfinite(scores), scores, -np.inf)
    best = np.flip(np.sort(held, axis=1), axis=1)[:, :k]
    found = [row[np.isfinite(row)] for row in best]
    spreads = [MeanStd.of(row) for row in found]
    top1 = np.array([row[0] if row.size else nan for row in found], dtype=np.float64)
    return Stability(
        k,
        top1=MeanStd.of(top1[~np.isnan(top1)]),
        topk=MeanStd.of(best[np.isfinite(best)]),
        norm=MeanStd.of(np.asarray(norms, dtype=np.float64)),
        queries=QuerySimilarities(
            tuple(map(str, queries)),
            top1,
            np.array([spread.mean for spread in spreads], dtype=np.float64),
            np.array([spread.std for spread in spreads], dtype=np.float64),
        ),
    )
