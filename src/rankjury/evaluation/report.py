"""Report: evaluation results as one value, with one versioned JSON form.

Every writer, the gate, drift, the archive and the page take a ``Report``, fresh or read back:
``Report.from_json(report.to_json()) == report``. What a speciality adds is a section
(``rankjury.evaluation.sections``). Data of single queries, of which there may be many, is outside of the value
(``queries``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from math import isnan
from os.path import isfile
from pathlib import Path
from typing import Any, TypeVar, cast

import polars as pl

from rankjury.core.hashing import GoldDigest
from rankjury.core.text import render_snippet, save_value
from rankjury.core.types import Gold
from rankjury.core.validation import check_arguments, read_record, to_json
from rankjury.core.version import __version__
from rankjury.errors import DataError, UsageError
from rankjury.evaluation.paired import Change
from rankjury.evaluation.query_lists import Answers
from rankjury.evaluation.report_json import (
    DEFAULT_DETECT,
    DERIVED,
    REPORT_EXPECTED,
    REPORT_HINT,
    SCHEMA,
    ReportForm,
    check_references,
    check_schema,
    gold_form,
    with_queries,
)
from rankjury.evaluation.result_rows import as_frame, as_pandas, report_rows
from rankjury.evaluation.scores import QueryData, RecordedValue, Scores, SystemResult, per_query_table
from rankjury.evaluation.sections import (
    QUERIES,
    ReportWarning,
    Section,
    SystemFacts,
    group_warnings,
    merge_warnings,
    read_sections,
)
from rankjury.evaluation.slices.stats import Slice, worst_slices
from rankjury.evaluation.summary import summarize_report
from rankjury.io.json import parse_json
from rankjury.io.source import Source
from rankjury.measures.measure import Measure, common_names, with_common_name
from rankjury.stats.comparison import Comparison
from rankjury.stats.estimates import Estimate
from rankjury.stats.resampling import Resampling

_MAX_QUERIES_IN_JSON = 50_000
_MAX_NAME_LENGTH = 24
S = TypeVar("S", bound=Section)


@dataclass(frozen=True, repr=False)
class Report:
    """Evaluation results: estimates, comparisons, slices, warnings, provenance, and sections.

    ``print`` shows the answer, the means and differences, and the warnings; ``save`` writes a file, ``to_pandas``
    returns a frame. ``rankjury.evaluate``, ``compare``, ``agree`` and ``run_plan`` make one.

    Example:
        >>> report = rankjury.evaluate({"q": ["a"]}, {"old": {"q": ["b", "a"]}, "new": {"q": ["a"]}}, "rr")
        >>> report.mean()
        {'old': {'rr': 0.5}, 'new': {'rr': 1.0}}
    """

    systems: Mapping[str, SystemResult]
    resampling: Resampling | None = None
    """How intervals were made; None where there are none."""
    baseline: str | None = None
    comparisons: tuple[Comparison, ...] = ()
    changes: tuple[Change, ...] = ()
    slices: tuple[Slice, ...] = ()
    headline: tuple[str, ...] = ()
    """The measures to show first; where there are none, all of them."""
    detect: float = DEFAULT_DETECT
    """A difference of interest: how many queries would show it is said."""
    sections: Mapping[str, Section] = field(default_factory=dict)
    """Sections of the report as a whole, by name; those of a system are in ``systems``."""
    warnings: tuple[ReportWarning, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    queries: QueryData | None = field(default=None, compare=False)
    """Scores, lists and texts of single queries; None where they are not known here."""
    gold: Gold | GoldDigest | None = field(default=None, compare=False)
    """The gold of all systems, or its digest in a report that was read; None where there are several."""
    source: str = field(default="report", compare=False)
    """Where it was read from, for messages."""
    version: str = field(default_factory=lambda: __version__, compare=False)
    """The version of rankjury that made it."""

    def save(self, *files: str | Path) -> list[Path]:
        """Write the report to files, each in the format of its suffix.

        Args:
            *files: Names of files: ``.html`` (the page), ``.json`` (reads back), ``.md``, ``.csv``, or ``.png`` and
                ``.svg`` (measures by cut-off).

        Returns:
            The files that were written.

        Raises:
            UsageError: A suffix is not known, or the report has nothing for it, such as no cut-offs for a picture.

        Example:
            >>> report.save("report.html", "report.json")
        """
        return save_value("report", self, files)

    def to_polars(self, *, slices: bool = False) -> pl.DataFrame:
        """Return the results as a Polars frame with one row per system and measure.

        Args:
            slices: Add the rows of slices, and a column with their names, which is empty for all queries.

        Returns:
            A frame with the columns system, measure, mean, ci_low, ci_high, std, n and undefined; where systems are
            compared also baseline, difference, difference_low, difference_high, p, p_holm (corrected for all
            comparisons), better, equal and worse. What is unknown is null.

        Example:
            >>> report.to_polars().filter(pl.col("measure") == "ndcg@10")
        """
        return as_frame(report_rows(self, slices=slices), slices=slices, compared=self.baseline is not None)

    def to_pandas(self, *, slices: bool = False) -> Any:
        """Return the results as a pandas frame with one row per system and measure.

        Args:
            slices: As in ``to_polars``, which has the same columns.

        Raises:
            MissingExtra: pandas is not installed.

        Example:
            >>> report.to_pandas().pivot(index="measure", columns="system", values="mean")
        """
        return as_pandas(self.to_polars(slices=slices))

    def mean(self) -> dict[str, dict[str, float]]:
        """Return the mean of each measure, by system.

        Example:
            >>> report.mean()["dense"]["ndcg@10"]
        """
        return {
            name: {label: by.mean for label, by in system.estimates.items()} for name, system in self.systems.items()
        }

    @property
    def per_query(self) -> pl.DataFrame:
        """One row per system and query, one column per measure; undefined is null."""
        return per_query_table(self.scores)

    def section(self, kind: type[S], system: str | None = None) -> S | None:
        """Return the section of a kind; None where there is none.

        Args:
            kind: The class of the section.
            system: The system that it is about; None for the report as a whole.

        Example:
            >>> report.section(Gate) is None
            True
        """
        sections = self.sections if system is None else self.systems[system].sections
        section = sections.get(kind.name)
        return section if isinstance(section, kind) else None

    def needed_section(self, kind: type[S], system: str | None = None) -> S:
        """Return the section of a kind, or raise a UsageError.

        Args:
            kind: The class of the section.
            system: The system that it is about; None for the report as a whole.

        Example:
            >>> gate = report.with_sections(rankjury.gate(report, "rr >= 0")).needed_section(Gate)
        """
        section = self.section(kind, system)
        if section is None:
            raise UsageError(f"the report has no section {kind.name!r}", where=self.source)
        return section

    def sections_of(self, kind: type[S]) -> dict[str, S]:
        """Return the sections of a kind by system, of those systems that have one.

        Args:
            kind: The class of the section.

        Example:
            >>> report.sections_of(ScoreHistogram)
            {}
        """
        return {name: section for name in self.systems if (section := self.section(kind, name)) is not None}

    def with_sections(self, *sections: Section, system: str | None = None) -> "Report":
        """Return the report with sections added.

        A section of the same name is replaced. The sections' warnings are added to the report's.

        Args:
            *sections: The sections, such as a gate.
            system: The system that they are about; None for the report as a whole.

        Example:
            >>> report.with_sections(rankjury.gate(report, "rr >= 0")).save("report.html")
        """
        added = {section.name: section for section in sections}
        further = [warning for section in sections for warning in section.warnings()]
        warnings = (*self.warnings, *(warning if system is None else warning.about(system) for warning in further))
        if system is None:
            return replace(self, sections={**self.sections, **added}, warnings=warnings)
        changed = replace(self.systems[system], sections={**self.systems[system].sections, **added})
        return replace(self, systems={**self.systems, system: changed}, warnings=warnings)

    def with_texts(self, names: Mapping[str, str], texts: Mapping[str, str]) -> "Report":
        """Return the report with names of items and texts of queries, which tables and pages show beside the ids.

        Args:
            names: Names by item id.
            texts: Texts by query id.

        Example:
            >>> report.with_texts({"d1": "Reset a password"}, {"q1": "forgot my password"}).texts["q1"]
            'forgot my password'
        """
        if self.queries is None:
            return self
        return replace(self, queries=replace(self.queries, names=names, query_texts=texts))

    def with_recorded(self, values: Mapping[str, Mapping[str, float | RecordedValue]]) -> "Report":
        """Return the report with values of systems, such as latencies, added.

        Args:
            values: The values, by system and name.

        Example:
            >>> report = report.with_recorded({"dense": {"latency_p95_ms": 12.5}})
            >>> rankjury.gate(report, "latency_p95_ms <= 20").passed
            True
        """
        systems = dict(self.systems)
        for name, added in values.items():
            recorded = dict(systems[name].recorded)
            for key, value in added.items():
                recorded[key] = value if isinstance(value, RecordedValue) else RecordedValue(value)
            systems[name] = replace(systems[name], recorded=recorded)
        return replace(self, systems=systems)

    @property
    def estimates(self) -> dict[str, dict[str, Estimate]]:
        """By system and measure."""
        return {name: dict(system.estimates) for name, system in self.systems.items()}

    @property
    def scores(self) -> Mapping[str, Scores]:
        """By system, the scores of every query."""
        if self.queries is None:
            raise UsageError(
                "the report has no per-query scores",
                where=self.source,
                hint="Block-wise evaluation writes them to a file: per_query=, or --per-query.",
            )
        return self.queries.scores

    @property
    def answers(self) -> Answers | None:
        """The gold's and every system's first items of every query, where they are known."""
        return None if self.queries is None else self.queries.answers

    @property
    def top_items(self) -> Mapping[str, tuple[tuple[str, ...], ...]]:
        """By system, the first items of every query, where they are known."""
        return {} if self.queries is None else self.queries.top

    @property
    def golds(self) -> dict[str, str]:
        """By system, which gold it was compared with, where there are several."""
        return {name: system.gold for name, system in self.systems.items() if system.gold}

    @property
    def random_systems(self) -> list[str]:
        """Systems whose scores are expectations of a random order."""
        return [name for name, system in self.systems.items() if system.random]

    @property
    def labels(self) -> tuple[str, ...]:
        """The measures, in the order asked."""
        return tuple(dict.fromkeys(label for system in self.systems.values() for label in system.estimates))

    @property
    def n_queries(self) -> int:
        """How many queries there are, also of those for which a measure is undefined."""
        estimates = (estimate for system in self.systems.values() for estimate in system.estimates.values())
        return max((estimate.n + estimate.undefined for estimate in estimates), default=0)

    @property
    def unit(self) -> tuple[str, str]:
        """What a query is, and queries are: users of a recommender are called so."""
        return next((section.unit for section in self.sections.values() if section.unit is not None), QUERIES)

    @property
    def common_names(self) -> dict[str, str]:
        """By label, the common name of a measure whose own name misleads."""
        names: dict[str, str] = {}
        for system in self.systems.values():
            names |= common_names(system.conventions)
        return names

    def measure(self, label: str) -> Measure | None:
        """Return a measure with its conventions; None where its metric is not installed here.

        Args:
            label: The measure as it was asked for.

        Example:
            >>> print(report.measure("rr"))
            rr
        """
        return next((system.measures[label] for system in self.systems.values() if label in system.measures), None)

    def is_whole(self, label: str) -> bool:
        """Return whether a measure is one value over all queries, to which each contributes.

        Args:
            label: The measure as it was asked for.

        Example:
            >>> report.is_whole("rr")
            False
        """
        measure = self.measure(label)
        return measure is not None and measure.metric.whole

    def lower_is_better(self, label: str) -> bool:
        """Return whether less of a measure is better.

        Args:
            label: The measure as it was asked for.

        Example:
            >>> report.lower_is_better("rr")
            False
        """
        measure = self.measure(label)
        return measure is not None and measure.metric.lower_is_better

    def describes(self, label: str) -> bool:
        """Return whether a measure describes a run, such as ``judged@10``, rather than how good it is.

        Args:
            label: The measure as it was asked for.

        Example:
            >>> report.describes("rr")
            False
        """
        measure = self.measure(label)
        return measure is not None and measure.metric.descriptive

    @check_arguments
    def both_names(self, label: str) -> str:
        """Return ``Recall@5 = precision@5`` where the measure is commonly called something else, else the label.

        Args:
            label: The measure as it was asked for.

        Example:
            >>> report.both_names("rr")
            'rr'
        """
        return with_common_name(label, self.common_names.get(label))

    @check_arguments
    def only(self, labels: Sequence[str]) -> "Report":
        """Return the report with some of the measures, for showing.

        Args:
            labels: The measures as they were asked for.

        Example:
            >>> report.only(["rr"]).labels
            ('rr',)
        """
        return replace(
            self,
            queries=None if self.queries is None else self.queries.only(labels),
            systems={name: system.only(labels) for name, system in self.systems.items()},
            comparisons=tuple(comparison for comparison in self.comparisons if comparison.measure in labels),
            changes=tuple(change for change in self.changes if change.measure in labels),
            slices=tuple(part.only(labels) for part in self.slices),
        )

    @property
    def keeps_queries(self) -> bool:
        """Whether the JSON can hold every query's scores."""
        return self.queries is not None and len(self.queries.ids) <= _MAX_QUERIES_IN_JSON

    @property
    def summary(self) -> tuple[str, ...]:
        """The sentences that every output begins with: may it ship, is it better, how good, where is it weakest."""
        return summarize_report(self)

    @property
    def level(self) -> float:
        return (self.resampling or Resampling()).level

    @property
    def warning_lines(self) -> list[str]:
        """Warnings as lines to show; what holds of several systems is one line."""
        return merge_warnings(self.warnings, list(self.systems))

    @property
    def warning_groups(self) -> list[str]:
        """Warnings as a few lines for a terminal, the routine ones folded into one."""
        return group_warnings(self.warnings, list(self.systems), self.unit)

    def __repr__(self) -> str:
        return render_snippet("report text", self)

    def _repr_html_(self) -> str:
        return render_snippet("report", self)

    def query_name(self, id_: str) -> str:
        """Return what a table calls a query: the item's name where queries are items, else the id.

        Args:
            id_: The query.

        Example:
            >>> report.query_name("q1")
            'q1'
        """
        return self.name_of(id_) if self.queries is not None and self.queries.queries_are_items else id_

    @property
    def names(self) -> Mapping[str, str]:
        """Names of items, where they are known."""
        return {} if self.queries is None else self.queries.names

    @property
    def texts(self) -> Mapping[str, str]:
        """By query, its text, where it is known."""
        return {} if self.queries is None else self.queries.texts

    def fact(self, system: str, name: str) -> Any:
        """Return one of a system's facts, such as its model; None where it is not known.

        Args:
            system: The system.
            name: The name of the fact.

        Example:
            >>> report.fact("dense", "model") is None
            True
        """
        facts = self.section(SystemFacts, system)
        return None if facts is None else facts.get(name)

    def query_text(self, id_: str) -> str | None:
        """Return a query's own text, where it is known.

        Args:
            id_: The query.

        Example:
            >>> report.query_text("q1") is None
            True
        """
        return None if self.queries is None else self.queries.query_texts.get(id_)

    @check_arguments
    def name_of(self, id_: str) -> str:
        """Return an item's name, cut short where a table could not hold it.

        Args:
            id_: The item.

        Example:
            >>> report.name_of("a")
            'a'
        """
        name = self.names.get(id_, id_)
        return name if len(name) <= _MAX_NAME_LENGTH or name == id_ else f"{name[: _MAX_NAME_LENGTH - 1].rstrip()}…"

    @check_arguments
    def to_json(self, *, queries: bool = False) -> dict[str, Any]:
        """Return the versioned JSON form; what is undefined is null.

        Args:
            queries: Whether to add every query's scores.

        Example:
            >>> report.to_json()["schema"]
            'rankjury.report/1'
        """
        form: dict[str, Any] = {
            "schema": SCHEMA,
            "rankjury": self.version,
            "systems": {name: system.to_json() for name, system in self.systems.items()},
        }
        if self.headline:
            form["headline"] = list(self.headline)
        if self.resampling is not None:
            form["resampling"] = self.resampling.to_json()
        if self.baseline is not None:
            form["baseline"] = self.baseline
            form["detect"] = self.detect
            form["comparisons"] = []
            for comparison in self.comparisons:
                needed = {"difference": self.detect, "queries": comparison.needed_for(self.detect, self.level)}
                form["comparisons"].append(comparison.to_json() | {"to_detect": needed})
            form["changes"] = to_json(self.changes)
        if self.slices:
            form["slices"] = [part.to_json() for part in self.slices]
            form["worst_slices"] = [lost.to_json() for lost in worst_slices(self.slices, self.level)]
        form |= {name: section.to_json() for name, section in self.sections.items()}
        if queries and self.keeps_queries:
            form["queries"] = self._per_query()
            form |= gold_form(self.gold)
        return form | {"warnings": to_json(self.warnings), "provenance": dict(self.provenance)}

    def _per_query(self) -> dict[str, Any]:
        """Return enough for another report to be compared with this one query by query."""
        data = cast(QueryData, self.queries)
        scores = {
            name: {
                label: [None if isnan(value) else value for value in table[label].tolist()] for label in table.labels
            }
            for name, table in data.scores.items()
        }
        slices = {part.name: list(part.rows) for part in self.slices if part.of == "queries"}
        tops = {"top": {name: [list(items) for items in top] for name, top in data.top.items()}} if data.top else {}
        return {"ids": [str(query) for query in data.ids], "scores": scores, "slices": slices} | tops

    @classmethod
    def from_json(cls, value: Any, where: str = "report") -> "Report":
        """Return the report that ``to_json`` wrote, now or in an earlier version.

        Args:
            value: The parsed JSON.
            where: The file, for errors.

        Raises:
            DataError: Where it is not a report, or a value in it is not as rankjury writes it.

        Example:
            >>> rankjury.Report.from_json(report.to_json()) == report
            True
        """
        form = check_schema(value, where)
        entry = read_record(ReportForm, form, where)
        slices = []
        for part in entry.slices:
            estimates = {name: dict(system.measures) for name, system in part.systems.items()}
            differences = (*part.comparisons, *part.gaps)
            slices.append(Slice(part.slice, part.note, part.of, part.n, estimates, beside=differences))
        report = cls(
            entry.systems,
            entry.resampling,
            entry.baseline,
            entry.comparisons,
            entry.changes,
            tuple(slices),
            entry.headline,
            entry.detect,
            read_sections(form, {key.name for key in fields(ReportForm)} | DERIVED, where),
            entry.warnings,
            entry.provenance,
            gold=entry.gold,
            source=where,
            version=entry.rankjury,
        )
        check_references(report)
        return report if entry.queries is None else with_queries(report, entry.queries)


def looks_like_report(path: str) -> bool:
    """Return whether a file is one of rankjury's reports: a JSON object that says so."""
    if path == "-" or not isfile(path) or not Path(path).stat().st_size:
        return False
    source = Source.open(path)
    return not source.is_parquet() and source.head.lstrip()[:1] == "{" and '"rankjury.report/' in source.text()


def read_report(path: str) -> Report:
    """Read a report that ``-o report.json`` or ``--json`` wrote."""
    text = Source.open(path).text()
    if not text.lstrip().startswith("{"):
        raise DataError("this is not a report of rankjury", where=path, expected=REPORT_EXPECTED, hint=REPORT_HINT)
    return Report.from_json(parse_json(text, path, expected=REPORT_EXPECTED), path)
