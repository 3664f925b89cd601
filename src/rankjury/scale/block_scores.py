"""Scores and findings of one block of queries, the input of every round."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from rankjury.core.columns import ITEM, QUERY
from rankjury.core.convert import gold_from_frame, ranking_from_frame
from rankjury.core.types import Bools, Floats, Gold, Ranking, places_in
from rankjury.errors import DataError
from rankjury.evaluation.checks import Findings, warn_of_names
from rankjury.evaluation.evaluate import Evaluation, evaluate_item_group
from rankjury.evaluation.sections import ReportWarning
from rankjury.evaluation.slices import IdOverlap, align
from rankjury.evaluation.slices.groups import ValueCounts
from rankjury.scale.request import EvaluationRequest
from rankjury.stats.resampling import Keys, query_keys
from rankjury.stats.sums import add_pairwise

_KEY = "key"
_EXAMPLES = 3
_MAX_VALUES = 200_000
"""Maximum number of distinct values of an attribute when groups are made."""
_MAX_QUERIES = 1 << 27
"""Fixed-point sums of the scores of this many queries fit into 64 bits."""
_NO_QUERIES = pl.Series(QUERY, [], dtype=pl.String)

Table = tuple[Floats, Bools]
"""Scores, queries × columns, and which queries participate."""


@dataclass(frozen=True, eq=False)
class BlockScores:
    """Scores of a block of queries, as a frame with one row per query.

    Its columns are the query's id, its key for resampling, and one column of scores per column of the layout; the same
    columns again for each group of items, and whether the query participates; and the query's attributes.
    """

    frame: pl.DataFrame
    columns: int
    """Number of columns of the layout."""

    @classmethod
    def of(cls, queries: pl.Series, keys: Keys, tables: list[Table], attributes: list[pl.DataFrame]) -> "BlockScores":
        """Join the tables of the whole gold (the first) and of each group of items, and the attributes."""
        columns: dict[str, object] = {QUERY: queries.cast(pl.String), _KEY: keys}
        for number, (scores, participates) in enumerate(tables):
            columns |= {f"{number}.{place}": column for place, column in enumerate(scores.T)}
            if number:
                columns[f"{number}.part"] = participates
        for number, table in enumerate(attributes):
            columns |= {f"a{number}.{name}": table[name] for name in table.columns}
        return cls(pl.DataFrame(columns), tables[0][0].shape[1])

    @property
    def keys(self) -> Keys:
        return self.frame[_KEY].to_numpy()

    def table(self, number: int) -> Floats:
        """Return the scores against the whole gold (0) or a group of items, queries × columns."""
        return np.column_stack([self.frame[f"{number}.{place}"].to_numpy() for place in range(self.columns)])

    def participates(self, number: int) -> Bools:
        """Return which queries have items of a group in their gold."""
        return self.frame[f"{number}.part"].to_numpy()

    def attributes(self, number: int) -> pl.DataFrame:
        """Return the attributes of the queries from one of the tables of attributes."""
        prefix = f"a{number}."
        names = (name for name in self.frame.columns if name.startswith(prefix))
        return self.frame.select(pl.col(name).alias(name.removeprefix(prefix)) for name in names)

    def per_query(self, request: EvaluationRequest) -> pl.DataFrame:
        """Return one row per system and query: system, query_id, and the measures; undefined is null."""
        frames = []
        for number, name in enumerate(request.systems):
            measures = [
                pl.col(f"0.{number * len(request.asked) + place}").fill_nan(None).alias(asked.label)
                for place, asked in enumerate(request.asked)
            ]
            frames.append(self.frame.select(pl.lit(name).alias("system"), pl.col(QUERY), *measures))
        return pl.concat(frames)


@dataclass(frozen=True)
class BlockFindings:
    """Counts, warnings, example ids and attribute values of blocks; can be added."""

    queries: int
    findings: tuple[Findings | None, ...]
    """By system; None: no gold query was found."""
    extra: tuple[int, ...]
    """By system, the queries in blocks without gold."""
    apart: tuple[int, ...]
    """By system, the queries that only one of it and the baseline has."""
    examples: tuple[tuple[str, ...], ...]
    """Example queries of the gold, and of each system."""
    shared: tuple[IdOverlap, ...]
    """By table of attributes."""
    censuses: tuple[dict[str, ValueCounts], ...]

    def __add__(self, other: "BlockFindings") -> "BlockFindings":
        return BlockFindings(
            self.queries + other.queries,
            tuple(
                ours + theirs if ours is not None and theirs is not None else ours or theirs
                for ours, theirs in zip(self.findings, other.findings, strict=True)
            ),
            add_pairwise(self.extra, other.extra),
            add_pairwise(self.apart, other.apart),
            tuple(
                tuple(sorted({*ours, *theirs})[:_EXAMPLES])
                for ours, theirs in zip(self.examples, other.examples, strict=True)
            ),
            add_pairwise(self.shared, other.shared),
            tuple(
                {name: (census + theirs[name]).limited(_MAX_VALUES) for name, census in ours.items()}
                for ours, theirs in zip(self.censuses, other.censuses, strict=True)
            ),
        )

    def warnings(self, request: EvaluationRequest) -> list[ReportWarning]:
        """Return the warnings about every system, and about the tables of attributes."""
        measures = [asked.measure for asked in request.asked]
        found = list(warn_of_names(request.asked))
        for name, findings, extra in zip(request.systems, self.findings, self.extra, strict=True):
            if findings is not None:
                whole = replace(findings, extra=findings.extra + extra)
                found += [warning.about(name) for warning in whole.warnings(measures)]
        for shared, table in zip(self.shared, request.attributes, strict=True):
            found += shared.warnings("queries", table.path)
        return [*dict.fromkeys(found), *(request.item_groups.warnings if request.item_groups else ())]

    def check(self, request: EvaluationRequest) -> None:
        """Refuse a gold with no or too many queries, and systems that have none of its queries."""
        ours, *theirs = self.examples
        sources = {request.gold: ours, **dict(zip(request.systems.values(), theirs, strict=True))}
        empty = next((source for source, examples in sources.items() if not examples), None)
        if self.queries == 0 or empty is not None:
            where = request.gold if self.queries == 0 else empty
            raise DataError("found no rows", where=where, expected="at least one query with an item")
        for source, findings, examples in zip(request.systems.values(), self.findings, theirs, strict=True):
            if findings is None or findings.missing == self.queries:
                listed = [", ".join(map(repr, ids)) + " …" for ids in (ours, examples)]
                raise DataError(
                    f"no query in common: the gold has {listed[0]}, the ranking has {listed[1]}",
                    where=f"{request.gold} × {source}",
                    expected="the same query ids on both sides",
                    hint="Check prefixes, leading zeros, and that these two files belong together.",
                )
            findings.check(f"{request.gold} × {source}")
        if self.queries > _MAX_QUERIES:
            raise DataError(f"found {self.queries:,} queries", where=request.gold, expected=f"at most {_MAX_QUERIES:,}")


def _attribute_censuses(attributes: pl.DataFrame) -> dict[str, ValueCounts]:
    return {name: ValueCounts.of(attributes[name]).limited(_MAX_VALUES) for name in attributes.columns}


def score_block(
    request: EvaluationRequest, frames: tuple[pl.DataFrame, ...]
) -> tuple[BlockScores | None, BlockFindings]:
    """Return the scores (None if the gold has no rows) and findings of a block.

    Args:
        request: The systems and measures.
        frames: Rows of the gold, of each ranking and of each attribute table, for the same queries.
    """
    gold_rows, *others = frames
    runs, tables = others[: len(request.systems)], others[len(request.systems) :]
    heads = (rows[QUERY].head(_EXAMPLES).cast(pl.String) for rows in (gold_rows, *runs))
    examples = tuple(tuple(sorted(set(head))) for head in heads)
    if gold_rows.is_empty():
        return None, BlockFindings(
            0,
            tuple(None for _ in runs),
            tuple(run[QUERY].n_unique() for run in runs),
            tuple(0 for _ in runs),
            examples,
            tuple(align(table, QUERY, _NO_QUERIES, "")[1] for table in tables),
            tuple(_attribute_censuses(table.drop(QUERY).clear()) for table in tables),
        )
    gold = gold_from_frame(gold_rows, source=request.gold)
    try:
        evaluated = [
            _evaluate_system(request, gold, block_ranking(run, source))
            for run, source in zip(runs, request.systems.values(), strict=True)
        ]
    except DataError as error:
        error.drop_count()
        raise
    queries = gold.sorted_queries
    aligned = [
        align(rows, QUERY, queries.cast(pl.String), table.path)
        for rows, table in zip(tables, request.attributes, strict=True)
    ]
    attributes = [table for table, _ in aligned]
    baseline = None if request.baseline is None else evaluated[list(request.systems).index(request.baseline)][2]
    found = BlockFindings(
        len(queries),
        tuple(findings for _, findings, _ in evaluated),
        tuple(0 for _ in runs),
        tuple(0 if baseline is None else int((present != baseline).sum()) for _, _, present in evaluated),
        examples,
        tuple(shared for _, shared in aligned),
        tuple(map(_attribute_censuses, attributes)),
    )
    keys = query_keys(queries, request.resampling.seed if request.resampling else 0)
    by_group = zip(*(tables for tables, _, _ in evaluated), strict=True)  # the same queries participate in each system
    side_by_side = [(np.hstack([scores for scores, _ in same]), same[0][1]) for same in by_group]
    return BlockScores.of(queries, keys, side_by_side, attributes), found


def block_ranking(run: pl.DataFrame, source: str) -> Ranking:
    """Return the ranking of a block; a system may have no rows in it."""
    if not run.is_empty():
        return ranking_from_frame(run, source=source)
    return Ranking(_NO_QUERIES, np.zeros(1, dtype=np.int64), run[ITEM], np.empty(0), source)


def _evaluate_system(request: EvaluationRequest, gold: Gold, ranking: Ranking) -> tuple[list[Table], Findings, Bools]:
    """Return the tables against the gold and each group of its items, findings, and which queries the system has."""
    evaluation = Evaluation.match(gold, ranking, duplicates=request.duplicates, allow_disjoint_queries=True)
    values = evaluation.table(request.asked)
    tables = [(values, np.ones(len(values), dtype=bool))]
    groups = request.item_groups
    for number in range(len(groups.names)) if groups is not None else ():
        restricted, participates = np.full_like(values, np.nan), np.zeros(len(values), dtype=bool)
        if groups is not None and groups.rows(number, gold.items).any():
            part = evaluate_item_group(evaluation, gold, ranking, groups, number, request.duplicates)
            rows = places_in(evaluation.queries, part.queries)
            restricted[rows], participates[rows] = part.table(request.asked), True
        tables.append((restricted, participates))
    return tables, evaluation.findings([asked.measure for asked in request.asked]), evaluation.matched.present
