"""Parts of a report: the results of one system, and the data of single queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import inf
from typing import Any

import polars as pl

from karat.answers import Answers
from karat.errors import DataError, KaratError
from karat.measure import Measure
from karat.records import FiniteFloat, read_record, to_json
from karat.results import Recorded, Scores
from karat.sections import Section, read_sections
from karat.statistics.estimates import Estimate
from karat.types import Floats
from karat.usual import usual_names

__all__ = ["QueryData", "SystemResult"]


@dataclass(frozen=True)
class SystemResult:
    """What was found of one system."""

    estimates: Mapping[str, Estimate]
    """By measure."""
    conventions: Mapping[str, str]
    """By measure, the spelling under which it was computed, as far as it differs from karat's defaults."""
    gold: str | None = None
    """Which gold it was compared with, where there are several."""
    random: bool = False
    """Whether the scores are expectations of a random order."""
    recorded: Mapping[str, Recorded] = field(default_factory=dict)
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
        return {label: _parse(spelling) for label, spelling in self.conventions.items()}

    def scores_from(self, ids: pl.Series, values: Floats, source: str) -> Scores:
        """Return scores that were stored: ``values`` has one row per query and one column per measure."""
        measures = {label: self.measures[label] for label in self.labels}
        metrics = {label: one.metric for label, one in measures.items() if one is not None}
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
        """Return it with some of the measures."""
        kept = [label for label in labels if label in self.estimates]
        return replace(
            self,
            estimates={label: self.estimates[label] for label in kept},
            conventions={label: self.conventions[label] for label in kept},
        )

    def to_json(self) -> dict[str, Any]:
        """Return one entry of the report's systems; a section is a key."""
        usual = usual_names(self.conventions)
        measures = {
            label: one.to_json()
            | {"convention": self.conventions[label]}
            | ({"usual_name": usual[label]} if label in usual else {})
            for label, one in self.estimates.items()
        }
        known = {"gold": self.gold, "by_chance": self.random, "figures": to_json(self.recorded)}
        sections = {name: section.to_json() for name, section in self.sections.items()}
        return {"measures": measures} | {key: value for key, value in known.items() if value} | sections

    @classmethod
    def from_json(cls, value: Any, where: str = "report") -> "SystemResult":
        """Read one entry of the report's systems."""
        entry = read_record(_SystemForm, value, where)
        own = {one.name for one in fields(_SystemForm)}
        return cls(
            {label: one.estimate for label, one in entry.measures.items()},
            {label: one.convention or label for label, one in entry.measures.items()},
            entry.gold,
            entry.by_chance,
            {name: one if isinstance(one, Recorded) else Recorded(one) for name, one in entry.figures.items()},
            read_sections(value, own, where, system=True),
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
    figures: dict[str, FiniteFloat | Recorded] = field(default_factory=dict)


def _parse(spelling: str) -> Measure | None:
    try:
        return Measure.parse(spelling)
    except KaratError:
        return None


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
        found = replace(self, scores={name: one.only(labels) for name, one in self.scores.items()})
        if "top" in vars(self):  # computed, or read from a report that has the lists alone
            vars(found)["top"] = self.top
        return found

    @cached_property
    def top(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        """By system, the first items of every query, where they are known."""
        answers = self.answers
        return {} if answers is None else {name: one.tuples(answers.depth) for name, one in answers.systems.items()}

    @property
    def texts(self) -> dict[str, str]:
        """By query, its text; where queries are items and have none, the item's name."""
        return {**(self.names if self.queries_are_items else {}), **self.query_texts}
