"""A block → the scores of its queries, and what is to be told of it. Frames of scores are what rounds work on.

A frame has one row a query: its id, its key for resampling, a column for each column of the layout; for each group of
items the same columns once more and whether the query takes part; and its attributes.
"""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from karat.columns import ITEM, QUERY
from karat.errors import DataError
from karat.evaluation import Evaluation, against_part
from karat.findings import Findings
from karat.intake import gold_from_frame, ranking_from_frame
from karat.scale.request import ItemGroups, Request
from karat.slices.census import Census
from karat.slices.cuts import Shared, align
from karat.statistics.streams import Keys, keys_of
from karat.types import Bools, Floats, Gold, Ranking, places_in

__all__ = ["Found", "Scored", "ranking_of", "score_block"]

_KEY = "key"
_EXAMPLES = 3
_MOST_VALUES = 200_000
"""So many of an attribute are told apart when groups are made."""


@dataclass(frozen=True, eq=False)
class Scored:
    """The scores of some queries."""

    frame: pl.DataFrame
    columns: int
    """How many the layout has."""

    @classmethod
    def of(
        cls,
        queries: pl.Series,
        keys: Keys,
        tables: list[tuple[Floats, Bools]],
        attributes: list[pl.DataFrame],
    ) -> "Scored":
        """``tables`` are those of the whole gold, and then of each group of items, with who takes part."""
        columns: dict[str, object] = {QUERY: queries.cast(pl.String), _KEY: keys}
        for number, (scores, takes_part) in enumerate(tables):
            columns |= {_column(number, place): column for place, column in enumerate(scores.T)}
            if number:
                columns[_part(number)] = takes_part
        for number, table in enumerate(attributes):
            columns |= {_attribute(number, name): table[name] for name in table.columns}
        return cls(pl.DataFrame(columns), tables[0][0].shape[1])

    @property
    def keys(self) -> Keys:
        return self.frame[_KEY].to_numpy()

    def table(self, number: int) -> Floats:
        """Of the whole gold (0), or of a group of items; queries × columns."""
        names = [_column(number, place) for place in range(self.columns)]
        return np.column_stack([self.frame[name].to_numpy() for name in names])

    def takes_part(self, number: int) -> Bools:
        """Which queries have something of a group of items in their gold."""
        return self.frame[_part(number)].to_numpy()

    def attributes(self, number: int) -> pl.DataFrame:
        start = _attribute(number, "")
        return self.frame.select(
            pl.col(name).alias(name.removeprefix(start)) for name in self.frame.columns if name.startswith(start)
        )

    def per_query(self, request: Request) -> pl.DataFrame:
        """As people read it: system, query_id, and the measures; undefined is null."""
        frames = []
        for number, name in enumerate(request.systems):
            own = [
                pl.col(_column(0, number * len(request.asked) + place)).fill_nan(None).alias(one.label)
                for place, one in enumerate(request.asked)
            ]
            frames.append(self.frame.select(pl.lit(name).alias("system"), pl.col(QUERY), *own))
        return pl.concat(frames)


def _column(table: int, place: int) -> str:
    return f"{table}.{place}"


def _part(table: int) -> str:
    return f"{table}.part"


def _attribute(number: int, name: str) -> str:
    return f"a{number}.{name}"


@dataclass(frozen=True)
class Found:
    """What is to be told of blocks beside their scores; parts can be joined."""

    queries: int
    findings: tuple[Findings | None, ...]
    """By system; None: none of the gold's queries was looked at."""
    extra: tuple[int, ...]
    """By system, queries that no block with them had in the gold."""
    apart: tuple[int, ...]
    """By system, queries that only one of it and the baseline has."""
    examples: tuple[tuple[str, ...], ...]
    """Some queries of the gold, and of each system."""
    shared: tuple[Shared, ...]
    """By table of attributes."""
    censuses: tuple[dict[str, Census], ...]

    def __add__(self, other: "Found") -> "Found":
        return Found(
            self.queries + other.queries,
            tuple(_joined(one, two) for one, two in zip(self.findings, other.findings, strict=True)),
            tuple(one + two for one, two in zip(self.extra, other.extra, strict=True)),
            tuple(one + two for one, two in zip(self.apart, other.apart, strict=True)),
            tuple(
                tuple(sorted({*one, *two})[:_EXAMPLES]) for one, two in zip(self.examples, other.examples, strict=True)
            ),
            tuple(one + two for one, two in zip(self.shared, other.shared, strict=True)),
            tuple(
                {name: (census + two[name]).limited(_MOST_VALUES) for name, census in one.items()}
                for one, two in zip(self.censuses, other.censuses, strict=True)
            ),
        )

    def warnings(self, request: Request) -> list[str]:
        """What is told of every system, and of the tables of attributes."""
        measures = [one.measure for one in request.asked]
        told = []
        for name, one, extra in zip(request.systems, self.findings, self.extra, strict=True):
            more = [] if one is None else _with_extra(one, extra).told(measures)
            told += [f"{name}: {warning}" for warning in more]
        for shared, asked in zip(self.shared, request.attributes, strict=True):
            told += shared.told("queries", asked.where)
        return [*told, *(request.item_groups.warnings if request.item_groups else ())]

    def check(self, request: Request) -> None:
        """Refuse a gold without queries, and systems that have none of them."""
        if self.queries == 0:
            raise DataError("found no rows", where=request.gold, expected="at least one query with an item")
        for number, (one, source) in enumerate(zip(self.findings, request.systems.values(), strict=True)):
            if not self.examples[1 + number]:
                raise DataError("found no rows", where=source, expected="at least one query with an item")
            if one is None or one.missing == self.queries:
                ours, theirs = (", ".join(map(repr, some)) for some in (self.examples[0], self.examples[1 + number]))
                raise DataError(
                    f"no query in common: the gold has {ours} …, the ranking has {theirs} …",
                    where=f"{request.gold} × {source}",
                    expected="the same query ids on both sides",
                    hint="Check prefixes, leading zeros, and that these two files belong together.",
                )


def _joined(one: Findings | None, other: Findings | None) -> Findings | None:
    if one is None or other is None:
        return one or other
    return one + other


def _with_extra(one: Findings, extra: int) -> Findings:
    return replace(one, extra=one.extra + extra)


def score_block(request: Request, frames: tuple[pl.DataFrame, ...]) -> tuple[Scored | None, Found]:
    """The gold, the systems' rankings and the tables of attributes, of the same queries; None: the gold has none."""
    gold_rows, *others = frames
    runs, tables = others[: len(request.systems)], others[len(request.systems) :]
    examples = tuple(_examples(frame[QUERY]) for frame in (gold_rows, *runs))
    if gold_rows.is_empty():
        nothing = Found(
            0,
            tuple(None for _ in runs),
            tuple(run[QUERY].n_unique() for run in runs),
            tuple(0 for _ in runs),
            examples,
            tuple(align(table, QUERY, _none(), "")[1] for table in tables),
            tuple(
                {name: Census.of(table[name].clear()) for name in table.columns if name != QUERY} for table in tables
            ),
        )
        return None, nothing
    gold = gold_from_frame(gold_rows, source=request.gold)
    evaluations = [
        _Evaluated.of(request, gold, ranking_of(run, source))
        for run, source in zip(runs, request.systems.values(), strict=True)
    ]
    sheets = [one.tables for one in evaluations]
    queries = gold.sorted_queries
    aligned = [
        align(table, QUERY, queries.cast(pl.String), asked.where)
        for table, asked in zip(tables, request.attributes, strict=True)
    ]
    whole = [
        (np.hstack([sheet[number][0] for sheet in sheets]), takes_part)
        for number, (_, takes_part) in enumerate(sheets[0])
    ]
    keys = keys_of(queries, request.how.seed if request.how else 0)
    found = Found(
        len(queries),
        tuple(one.findings for one in evaluations),
        tuple(0 for _ in runs),
        _apart([one.present for one in evaluations], request),
        examples,
        tuple(shared for _, shared in aligned),
        tuple({name: Census.of(table[name]).limited(_MOST_VALUES) for name in table.columns} for table, _ in aligned),
    )
    return Scored.of(queries, keys, whole, [table for table, _ in aligned]), found


def _none() -> pl.Series:
    return pl.Series(QUERY, [], dtype=pl.String)


def _examples(queries: pl.Series) -> tuple[str, ...]:
    return tuple(sorted(queries.head(_EXAMPLES).cast(pl.String).unique().to_list()))


def ranking_of(run: pl.DataFrame, source: str) -> Ranking:
    """Of a block, in which a system may have nothing."""
    if not run.is_empty():
        return ranking_from_frame(run, source=source)
    return Ranking(_none(), np.zeros(1, dtype=np.int64), run[ITEM], np.empty(0), source)


def _apart(present: list[Bools], request: Request) -> tuple[int, ...]:
    if request.baseline is None:
        return tuple(0 for _ in present)
    ours = present[list(request.systems).index(request.baseline)]
    return tuple(int((one != ours).sum()) for one in present)


@dataclass(frozen=True, eq=False)
class _Evaluated:
    """One system over the queries of a block."""

    tables: list[tuple[Floats, Bools]]
    """Against the whole gold, and against each group of its items, with the queries that take part."""
    findings: Findings
    present: Bools

    @classmethod
    def of(cls, request: Request, gold: Gold, ranking: Ranking) -> "_Evaluated":
        evaluation = Evaluation(gold, ranking, duplicates=request.duplicates, may_be_apart=True)
        findings = evaluation.findings([one.measure for one in request.asked])
        return cls(_tables(request, gold, ranking, evaluation), findings, evaluation.bench.present)


def _tables(request: Request, gold: Gold, ranking: Ranking, evaluation: Evaluation) -> list[tuple[Floats, Bools]]:
    values = evaluation.table(request.asked)
    every = np.ones(len(values), dtype=bool)
    tables = [(values, every)]
    for kept in _kept(gold, request.item_groups):
        if kept.all():
            tables.append((values, every))
            continue
        restricted, takes_part = np.full_like(values, np.nan), np.zeros(len(values), dtype=bool)
        if kept.any():
            part = against_part(evaluation, gold, ranking, kept, request.duplicates)
            rows = places_in(evaluation.queries, part.queries)
            restricted[rows], takes_part[rows] = part.table(request.asked), True
        tables.append((restricted, takes_part))
    return tables


def _kept(gold: Gold, groups: ItemGroups | None) -> list[Bools]:
    """Which rows of the gold are of each group of items."""
    if groups is None:
        return []
    places = places_in(groups.items, gold.items.cast(pl.String))
    return [members[places] for members in groups.members]
