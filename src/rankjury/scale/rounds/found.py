"""What is to be told of blocks beside their scores: counts, warnings, examples, and what values attributes have."""

from dataclasses import dataclass, replace

import polars as pl

from rankjury.errors import DataError
from rankjury.evaluation.checks import Findings
from rankjury.evaluation.sections import ReportWarning
from rankjury.evaluation.slices import IdOverlap
from rankjury.evaluation.slices.groups import ValueCounts
from rankjury.scale.request import EvaluationRequest
from rankjury.stats.mergeable import add_pairwise

_EXAMPLES = 3
_MOST_VALUES = 200_000
"""So many of an attribute are told apart when groups are made."""


@dataclass(frozen=True)
class BlockFindings:
    """Of some blocks; parts can be joined."""

    queries: int
    findings: tuple[Findings | None, ...]
    """By system; None: none of the gold's queries was looked at."""
    extra: tuple[int, ...]
    """By system, queries that no block with them had in the gold."""
    apart: tuple[int, ...]
    """By system, queries that only one of it and the baseline has."""
    examples: tuple[tuple[str, ...], ...]
    """Some queries of the gold, and of each system."""
    shared: tuple[IdOverlap, ...]
    """By table of attributes."""
    censuses: tuple[dict[str, ValueCounts], ...]

    def __add__(self, other: "BlockFindings") -> "BlockFindings":
        return BlockFindings(
            self.queries + other.queries,
            tuple(_joined(one, two) for one, two in zip(self.findings, other.findings, strict=True)),
            add_pairwise(self.extra, other.extra),
            add_pairwise(self.apart, other.apart),
            tuple(_first({*one, *two}) for one, two in zip(self.examples, other.examples, strict=True)),
            add_pairwise(self.shared, other.shared),
            tuple(
                {name: (census + two[name]).limited(_MOST_VALUES) for name, census in one.items()}
                for one, two in zip(self.censuses, other.censuses, strict=True)
            ),
        )

    def warnings(self, request: EvaluationRequest) -> list[ReportWarning]:
        """Return the warnings about every system, and about the tables of attributes."""
        measures = [one.measure for one in request.asked]
        found: list[ReportWarning] = []
        for name, one, extra in zip(request.systems, self.findings, self.extra, strict=True):
            if one is not None:
                whole = replace(one, extra=one.extra + extra)
                found += [warning.about(name) for warning in whole.warnings(measures)]
        for shared, asked in zip(self.shared, request.attributes, strict=True):
            found += shared.warnings("queries", asked.where)
        return [*found, *(request.item_groups.warnings if request.item_groups else ())]

    def check(self, request: EvaluationRequest) -> None:
        """Refuse a gold without queries, and systems that have none of them."""
        ours, *theirs = self.examples
        if self.queries == 0:
            raise _nothing_in(request.gold)
        for source, one, examples in zip(request.systems.values(), self.findings, theirs, strict=True):
            if not examples:
                raise _nothing_in(source)
            if one is None or one.missing == self.queries:
                raise DataError(
                    f"no query in common: the gold has {_listed(ours)}, the ranking has {_listed(examples)}",
                    where=f"{request.gold} × {source}",
                    expected="the same query ids on both sides",
                    hint="Check prefixes, leading zeros, and that these two files belong together.",
                )
            one.check(f"{request.gold} × {source}")


def example_ids(queries: pl.Series) -> tuple[str, ...]:
    """Some of the queries of these rows."""
    return _first(set(queries.head(_EXAMPLES).cast(pl.String)))


def attribute_censuses(attributes: pl.DataFrame) -> dict[str, ValueCounts]:
    """By attribute."""
    return {name: ValueCounts.of(attributes[name]).limited(_MOST_VALUES) for name in attributes.columns}


def _first(ids: set[str]) -> tuple[str, ...]:
    return tuple(sorted(ids)[:_EXAMPLES])


def _listed(examples: tuple[str, ...]) -> str:
    return ", ".join(map(repr, examples)) + " …"


def _nothing_in(where: str) -> DataError:
    return DataError("found no rows", where=where, expected="at least one query with an item")


def _joined(one: Findings | None, other: Findings | None) -> Findings | None:
    if one is None or other is None:
        return one or other
    return one + other
