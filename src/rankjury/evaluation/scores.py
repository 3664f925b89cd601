"""Scores per query and measure, and what a report holds of one system."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.text import render_snippet, save_value
from rankjury.core.types import Floats, Gold, Ints
from rankjury.core.validation import FiniteFloat, Record, check_arguments, read_record, to_json
from rankjury.errors import DataError, RankjuryError, UnknownName
from rankjury.evaluation.query_lists import Answers
from rankjury.evaluation.result_rows import as_frame, as_pandas, estimate_rows
from rankjury.evaluation.sections import ReportWarning, Section, read_sections
from rankjury.measures.measure import Aggregate, Measure, common_names, is_descriptive
from rankjury.stats.estimates import Estimate, estimate_all, mean_of, summarise
from rankjury.stats.resampling import Resampling, query_keys


@dataclass(frozen=True)
class RecordedValue(Record):
    """A value that is not a measure, such as a latency, with its interval where that is known."""

    value: FiniteFloat
    ci: tuple[FiniteFloat, FiniteFloat] | None = None
    n: int | None = None

    def to_json(self) -> float | dict[str, Any]:
        """A bare number where there is nothing more to say."""
        if self.ci is None and self.n is None:
            return self.value
        return {"value": self.value, "ci": None if self.ci is None else list(self.ci), "n": self.n}

    @classmethod
    def prepare(cls, value: Any) -> Any:
        return value if isinstance(value, dict) else {"value": value}


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of one ranking per query and measure. NaN is undefined: counted and shown, never averaged.

    ``print`` shows the answer, the means with their intervals, and the warnings. ``scores["ndcg@10"]`` are the values
    of one measure by query, in the order of ``queries``.

    Example:
        >>> scores = rankjury.evaluate({"q1": ["a"], "q2": ["b"]}, {"q1": ["a"], "q2": ["a", "b"]}, "rr")
        >>> scores["rr"].tolist()
        [1.0, 0.5]
    """

    queries: pl.Series
    """Ids of the queries."""
    labels: tuple[str, ...]
    """The measures as they were asked for."""
    conventions: tuple[str, ...]
    """The spelling of each measure under which it was computed, as far as it differs from rankjury's defaults."""
    aggregates: tuple[Aggregate, ...]
    """How the value of each measure is made of those of the queries: ``mean``, ``sum`` or ``geometric``."""
    values: Floats
    """Queries × measures."""
    warnings: tuple[ReportWarning, ...] = ()
    """What a reader should be warned of."""
    source: str = "ranking"
    """The name of the ranking."""
    lower_is_better: frozenset[str] = frozenset()
    """Labels of the measures of which less is better."""
    whole: Mapping[str, float] = field(default_factory=dict)
    """The measures that are one figure over all queries: values are contributions to it. With the highest it can be."""
    gold: Gold | None = field(default=None, repr=False)
    """The gold of ``rankjury.evaluate``; None where scores are those of a report."""

    def __post_init__(self) -> None:
        self.values.flags.writeable = False

    @check_arguments
    def __getitem__(self, label: str) -> Floats:
        """The per-query values of one measure."""
        return self.values[:, self._column(label)]

    def _column(self, label: str) -> int:
        if label not in self.labels:
            raise UnknownName("measure among those computed:", label, self.labels)
        return self.labels.index(label)

    def __iter__(self) -> Iterator[str]:
        return iter(self.labels)

    @property
    def common_names(self) -> dict[str, str]:
        """By label, the usual name of a measure whose own name misleads."""
        return common_names(dict(zip(self.labels, self.conventions, strict=True)))

    @property
    def descriptive(self) -> frozenset[str]:
        """The measures that describe the run or the gold, and whose differences are not tested."""
        named = zip(self.labels, self.conventions, strict=True)
        return frozenset(label for label, convention in named if is_descriptive(convention))

    def only(self, labels: Sequence[str] | None) -> "Scores":
        """Return the scores of some measures.

        Args:
            labels: The measures as they were asked for; None for all.

        Example:
            >>> scores.only(["rr"]).labels
            ('rr',)
        """
        if labels is None or tuple(labels) == self.labels:
            return self
        places = [self._column(label) for label in labels]
        return replace(
            self,
            labels=tuple(self.labels[place] for place in places),
            conventions=tuple(self.conventions[place] for place in places),
            aggregates=tuple(self.aggregates[place] for place in places),
            values=self.values[:, places],
        )

    @check_arguments
    def part(self, rows: Ints) -> "Scores":
        """Return the scores of some queries.

        Args:
            rows: Their row numbers.

        Example:
            >>> len(scores.part(np.array([0])).queries)
            1
        """
        return replace(self, queries=self.queries.gather(rows), values=self.values[rows])

    @property
    def by_query(self) -> "Scores":
        """Without the measures that are one figure over all queries."""
        return self.only([label for label in self.labels if label not in self.whole]) if self.whole else self

    @check_arguments
    def summary(self, label: str) -> Estimate:
        """Return mean, spread, n and the number of undefined queries of one measure; no interval.

        Args:
            label: The measure as it was asked for.

        Example:
            >>> scores.summary("rr").n
            2
        """
        return summarise(self[label], self.aggregates[self._column(label)])

    def mean(self) -> dict[str, float]:
        """Return the mean of each measure over the queries where it is defined.

        Example:
            >>> scores.mean()["ndcg@10"]
        """
        columns = zip(self.labels, self.values.T, self.aggregates, strict=True)
        return {label: mean_of(column, aggregate) for label, column, aggregate in columns}

    @check_arguments
    def estimates(self, resampling: Resampling | None = Resampling()) -> dict[str, Estimate]:  # noqa: B008 - frozen
        """Return each measure's mean with its bootstrap interval over queries.

        Args:
            resampling: How intervals are made; None for no intervals.

        Returns:
            By measure an Estimate: ``mean``, ``ci``, ``std``, ``se``, ``n`` and ``undefined``.

        Example:
            >>> scores.estimates()["ndcg@10"].ci
        """
        if resampling == Resampling():
            return dict(self._estimates)
        return estimate_systems({"": self}, resampling)[""]

    @cached_property
    def _estimates(self) -> dict[str, Estimate]:
        return estimate_systems({"": self}, Resampling())[""]

    def save(self, *files: str | Path) -> list[Path]:
        """Write the results to files, each in the format of its suffix, as ``Report.save`` does.

        Args:
            *files: Names of files: ``.html`` (the page), ``.json``, ``.md``, ``.csv``, or ``.png`` and ``.svg``.

        Returns:
            The files that were written.

        Raises:
            UsageError: A suffix is not known, or there is nothing for it.

        Example:
            >>> scores.save("report.html")
        """
        return save_value("scores", self, files)

    def to_polars(self) -> pl.DataFrame:
        """Return the means and their intervals as a Polars frame with one row per measure.

        Returns:
            A frame with the columns of ``Report.to_polars``.

        Example:
            >>> scores.to_polars()["ci_low"]
        """
        return as_frame(estimate_rows({self.source: self.estimates()}))

    def to_pandas(self) -> Any:
        """Return the means and their intervals as a pandas frame with one row per measure.

        Returns:
            A frame with the columns of ``Report.to_polars``.

        Raises:
            MissingExtra: pandas is not installed.

        Example:
            >>> scores.to_pandas()[["measure", "mean", "ci_low", "ci_high"]]
        """
        return as_pandas(self.to_polars())

    def bounded(self, label: str, estimate: Estimate) -> Estimate:
        """Return an estimate whose interval is cut where a value over all queries cannot be.

        Args:
            label: The measure.
            estimate: Its estimate.

        Example:
            >>> scores.bounded("rr", scores.summary("rr")).n
            2
        """
        if label not in self.whole or estimate.ci is None:
            return estimate
        low, high = estimate.ci
        return replace(estimate, ci=(max(0.0, low), min(self.whole[label], high)))

    @property
    def per_query(self) -> pl.DataFrame:
        """One row per query, one column per measure; undefined is null."""
        columns = {label: pl.Series(self[label]).fill_nan(None) for label in self.labels}
        return pl.DataFrame({"query_id": self.queries, **columns})

    def __repr__(self) -> str:
        return render_snippet("scores text", self)

    def _repr_html_(self) -> str:
        return render_snippet("scores", self)


def estimate_systems(systems: Mapping[str, Scores], resampling: Resampling | None) -> dict[str, dict[str, Estimate]]:
    """Return every system's estimates; systems with the same queries are resampled together."""
    first = next(iter(systems.values()))
    if any(not scores.queries.equals(first.queries) for scores in systems.values()):
        return {name: estimate_systems({name: scores}, resampling)[name] for name, scores in systems.items()}
    aggregates = [aggregate for scores in systems.values() for aggregate in scores.aggregates]
    keys = query_keys(first.queries, resampling.seed) if resampling else None
    values = np.hstack([scores.values for scores in systems.values()])
    estimates = iter(estimate_all(values, aggregates, keys, resampling))
    return {
        name: {label: scores.bounded(label, next(estimates)) for label in scores.labels}
        for name, scores in systems.items()
    }


@dataclass(frozen=True)
class SystemResult:
    """Results of one system."""

    estimates: Mapping[str, Estimate]
    """By measure."""
    conventions: Mapping[str, str]
    """By measure, the spelling under which it was computed, as far as it differs from rankjury's defaults."""
    gold: str | None = None
    """Which gold it was compared with, where there are several."""
    random: bool = False
    """Whether the scores are expectations of a random order."""
    recorded: Mapping[str, RecordedValue] = field(default_factory=dict)
    """Other values that targets may be about, such as a latency, by name."""
    sections: Mapping[str, Section] = field(default_factory=dict)
    """By name."""

    @classmethod
    def of(cls, scores: Scores, estimates: Mapping[str, Estimate], *, random: bool = False) -> "SystemResult":
        """Return the result of scored queries."""
        return cls(dict(estimates), dict(zip(scores.labels, scores.conventions, strict=True)), random=random)

    @property
    def labels(self) -> tuple[str, ...]:
        """The measures, in the order asked."""
        return tuple(self.estimates)

    @cached_property
    def measures(self) -> dict[str, Measure | None]:
        """By label, the measure; None where its metric is not installed here."""
        measures: dict[str, Measure | None] = dict.fromkeys(self.conventions)
        for label, spelling in self.conventions.items():
            with suppress(RankjuryError):
                measures[label] = _parse_known(spelling)
        return measures

    def scores_from(self, ids: pl.Series, values: Floats, source: str) -> Scores:
        """Return scores that were stored: ``values`` has one row per query and one column per measure."""
        measures = {label: self.measures[label] for label in self.labels}
        metrics = {label: measure.metric for label, measure in measures.items() if measure is not None}
        return Scores(
            ids,
            self.labels,
            tuple(self.conventions[label] for label in self.labels),
            tuple(metrics[label].aggregate if label in metrics else "mean" for label in self.labels),
            values,
            source=source,
            lower_is_better=frozenset(label for label, metric in metrics.items() if metric.lower_is_better),
            whole={label: inf for label, metric in metrics.items() if metric.whole},
        )

    def only(self, labels: Sequence[str]) -> "SystemResult":
        """Return the results of some measures."""
        kept = [label for label in labels if label in self.estimates]
        estimates = {label: self.estimates[label] for label in kept}
        return replace(self, estimates=estimates, conventions={label: self.conventions[label] for label in kept})

    def to_json(self) -> dict[str, Any]:
        """Return one entry of the report's systems; a section is a key."""
        measures = {
            label: estimate.to_json() | {"convention": self.conventions[label]}
            for label, estimate in self.estimates.items()
        }
        for label, name in common_names({label: self.conventions[label] for label in measures}).items():
            measures[label]["common_name"] = name
        known = {"gold": self.gold, "by_chance": self.random, "figures": to_json(self.recorded)}
        sections = {name: section.to_json() for name, section in self.sections.items()}
        return {"measures": measures} | {key: value for key, value in known.items() if value} | sections

    @classmethod
    def from_json(cls, value: Any, where: str = "report") -> "SystemResult":
        """Read one entry of the report's systems."""
        entry = read_record(_SystemForm, value, where)
        return cls(
            {label: measure.estimate for label, measure in entry.measures.items()},
            {label: measure.convention or label for label, measure in entry.measures.items()},
            entry.gold,
            entry.by_chance,
            entry.figures,
            read_sections(value, [field.name for field in fields(_SystemForm)], where, system=True),
        )


@dataclass(frozen=True)
class _MeasureForm:
    """An estimate with the convention it was computed under, as one object of JSON."""

    estimate: Estimate
    convention: str | None

    @classmethod
    def from_json(cls, value: Any, where: str = "report") -> "_MeasureForm":
        convention = value.get("convention") if isinstance(value, dict) else None
        if convention is not None and not isinstance(convention, str):
            raise DataError("convention: Input should be a valid string", where=where)
        return cls(Estimate.from_json(value, where), convention)


@dataclass(frozen=True)
class _SystemForm:
    measures: dict[str, _MeasureForm]
    gold: str | None = None
    by_chance: bool = False
    figures: dict[str, RecordedValue] = field(default_factory=dict)


_parse_known = lru_cache(maxsize=256)(Measure.parse)
"""Systems share their measures. What is not known is asked for again: its metric may be registered by then."""


@dataclass(frozen=True, eq=False)
class QueryData:
    """Data of single queries: it may be large, and is no part of a report's value.

    A subclass may load it when it is asked for.
    """

    scores: Mapping[str, Scores]
    """By system; all over the same queries, in the same order."""
    answers: Answers | None = None
    """The gold's and every system's first items of every query."""
    query_texts: Mapping[str, str] = field(default_factory=dict)
    """The queries' texts, by query."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of items, for people."""
    queries_are_items: bool = False
    """Queries are items of the corpus, so that names of items are theirs too; equal ids alone do not say so."""

    @property
    def ids(self) -> pl.Series:
        """The queries, in the order of scores."""
        return next(iter(self.scores.values())).queries

    def only(self, labels: Sequence[str]) -> "QueryData":
        """Return the data with the scores of some measures."""
        found = replace(self, scores={name: table.only(labels) for name, table in self.scores.items()})
        if "top" in vars(self):  # computed, or read from a report that has the lists alone
            vars(found)["top"] = self.top
        return found

    @cached_property
    def top(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        """By system, the first items of every query, where they are known."""
        answers = self.answers
        return {} if answers is None else {name: lists.tuples(answers.depth) for name, lists in answers.systems.items()}

    @property
    def texts(self) -> dict[str, str]:
        """By query, its text; where queries are items and have none, the item's name."""
        return {**(self.names if self.queries_are_items else {}), **self.query_texts}


def per_query_table(scores: Mapping[str, Scores]) -> pl.DataFrame:
    """Return the scores of all systems with one row per system and query: system, query_id and the measures."""
    return pl.concat([own.per_query.select(pl.lit(name).alias("system"), pl.all()) for name, own in scores.items()])
