"""Scores: per query and measure, what came out; and figures beside them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from karat.arguments import check_arguments
from karat.errors import UnknownName
from karat.markup import snippet_of
from karat.measure import Aggregate, is_descriptive
from karat.records import FiniteFloat, Record
from karat.report_warnings import ReportWarning
from karat.statistics.estimates import Estimate, estimate_all, mean_of, summarise
from karat.statistics.intervals import Resampling
from karat.statistics.streams import keys_of
from karat.types import Floats, Ints
from karat.usual import beside, usual_names
from karat.wording import aligned, count, estimate_shown

__all__ = ["Recorded", "Scores"]


@dataclass(frozen=True)
class Recorded(Record):
    """A figure beside the measures, such as a latency, and how far to trust it where that is known."""

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
    """Per query × measure. NaN is undefined: counted and shown, never averaged."""

    queries: pl.Series
    labels: tuple[str, ...]
    conventions: tuple[str, ...]
    """The spelling of each measure under which it was computed, as far as it differs from karat's defaults."""
    aggregates: tuple[Aggregate, ...]
    values: Floats
    warnings: tuple[ReportWarning, ...] = ()
    source: str = "ranking"
    lower_is_better: frozenset[str] = frozenset()
    """Labels of the measures of which less is better."""
    whole: Mapping[str, float] = field(default_factory=dict)
    """The measures that are one figure over all queries: values are contributions to it. With the highest it can be."""

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
    def usual_names(self) -> dict[str, str]:
        """By label, the usual name of a measure whose own name misleads."""
        return usual_names(dict(zip(self.labels, self.conventions, strict=True)))

    @property
    def descriptive(self) -> frozenset[str]:
        """The measures that describe the run or the gold, and whose differences are not tested."""
        named = zip(self.labels, self.conventions, strict=True)
        return frozenset(label for label, convention in named if is_descriptive(convention))

    def only(self, labels: Sequence[str] | None) -> "Scores":
        """Some of the measures; None: all."""
        if labels is None:
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
        """Some of the queries."""
        return replace(self, queries=self.queries.gather(rows), values=self.values[rows])

    @property
    def by_query(self) -> "Scores":
        """Without the measures that are one figure over all queries."""
        return self.only([label for label in self.labels if label not in self.whole]) if self.whole else self

    @check_arguments
    def summary(self, label: str) -> Estimate:
        """Mean, spread, n and the number of undefined queries of one measure; no interval."""
        return summarise(self[label], self.aggregates[self._column(label)])

    def mean(self) -> dict[str, float]:
        """The mean of each measure over the queries where it is defined."""
        columns = zip(self.labels, self.values.T, self.aggregates, strict=True)
        return {label: mean_of(column, aggregate) for label, column, aggregate in columns}

    @check_arguments
    def estimates(self, how: Resampling | None = Resampling()) -> dict[str, Estimate]:  # noqa: B008 - frozen
        """Each measure's mean with a bootstrap interval over queries; None for no intervals."""
        keys = keys_of(self.queries, how.seed) if how else None
        found = zip(self.labels, estimate_all(self.values, self.aggregates, keys, how), strict=True)
        return {label: self.bounded(label, one) for label, one in found}

    def bounded(self, label: str, estimate: Estimate) -> Estimate:
        """Of a figure over all queries the interval is cut where the figure cannot be."""
        if label not in self.whole or estimate.ci is None:
            return estimate
        low, high = estimate.ci
        return replace(estimate, ci=(max(0.0, low), min(self.whole[label], high)))

    @property
    def per_query(self) -> pl.DataFrame:
        """One row per query, one column per measure; undefined is null."""
        columns = {label: pl.Series(self[label]).fill_nan(None) for label in self.labels}
        return pl.DataFrame({"query_id": self.queries, **columns})

    def _rows(self) -> list[tuple[str, str, str, str]]:
        usual = self.usual_names
        summaries = [(beside(label, usual.get(label)), self.summary(label)) for label in self.labels]
        return [(name, estimate_shown(s), f"{s.n:,}", f"{s.undefined:,}") for name, s in summaries]

    @property
    def title(self) -> str:
        return f"Scores of {self.source} over {count(len(self.queries), 'query', 'queries')}"

    def __repr__(self) -> str:
        table = aligned([("measure", "mean", "n", "undefined"), *self._rows()])
        return "\n".join([self.title, *table, *(f"warning: {warning}" for warning in self.warnings)])

    def _repr_html_(self) -> str:
        return snippet_of("scores", self)
