"""A block → the scores of its queries, and what is to be told of it."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from rankjury.core.convert import ITEM, QUERY, gold_from_frame, ranking_from_frame
from rankjury.core.types import Bools, Floats, Gold, Ranking, places_in
from rankjury.errors import DataError
from rankjury.evaluation.checks import Findings
from rankjury.evaluation.evaluate import Evaluation, evaluate_item_group
from rankjury.evaluation.slices import align
from rankjury.scale.request import EvaluationRequest
from rankjury.scale.rounds.found import BlockFindings, attribute_censuses, example_ids
from rankjury.scale.rounds.scored import BlockScores
from rankjury.stats.resampling import query_keys


def score_block(
    request: EvaluationRequest, frames: tuple[pl.DataFrame, ...]
) -> tuple[BlockScores | None, BlockFindings]:
    """The gold, the systems' rankings and the tables of attributes, of the same queries; None: the gold has none."""
    gold_rows, *others = frames
    runs, tables = others[: len(request.systems)], others[len(request.systems) :]
    if gold_rows.is_empty():
        return None, _without_gold(runs, tables)
    gold = gold_from_frame(gold_rows, source=request.gold)
    try:
        evaluated = [
            _Evaluated.of(request, gold, block_ranking(run, source))
            for run, source in zip(runs, request.systems.values(), strict=True)
        ]
    except DataError as error:
        error.forget_count()
        raise
    queries = gold.sorted_queries
    aligned = [
        align(table, QUERY, queries.cast(pl.String), asked.where)
        for table, asked in zip(tables, request.attributes, strict=True)
    ]
    attributes = [table for table, _ in aligned]
    baseline = None if request.baseline is None else list(request.systems).index(request.baseline)
    ours = None if baseline is None else evaluated[baseline].present
    found = BlockFindings(
        len(queries),
        tuple(one.findings for one in evaluated),
        tuple(0 for _ in runs),
        tuple(0 if ours is None else int((one.present != ours).sum()) for one in evaluated),
        tuple(example_ids(frame[QUERY]) for frame in (gold_rows, *runs)),
        tuple(shared for _, shared in aligned),
        tuple(map(attribute_censuses, attributes)),
    )
    keys = query_keys(queries, request.resampling.seed if request.resampling else 0)
    together = zip(*(one.tables for one in evaluated), strict=True)  # the same queries take part in each system's
    side_by_side = [(np.hstack([values for values, _ in same]), same[0][1]) for same in together]
    return BlockScores.of(queries, keys, side_by_side, attributes), found


def _without_gold(runs: list[pl.DataFrame], tables: list[pl.DataFrame]) -> BlockFindings:
    return BlockFindings(
        0,
        tuple(None for _ in runs),
        tuple(run[QUERY].n_unique() for run in runs),
        tuple(0 for _ in runs),
        ((), *(example_ids(run[QUERY]) for run in runs)),
        tuple(align(table, QUERY, _nobody(), "")[1] for table in tables),
        tuple(attribute_censuses(table.drop(QUERY).clear()) for table in tables),
    )


def _nobody() -> pl.Series:
    return pl.Series(QUERY, [], dtype=pl.String)


def block_ranking(run: pl.DataFrame, source: str) -> Ranking:
    """Of a block, in which a system may have nothing."""
    if not run.is_empty():
        return ranking_from_frame(run, source=source)
    return Ranking(_nobody(), np.zeros(1, dtype=np.int64), run[ITEM], np.empty(0), source)


@dataclass(frozen=True, eq=False)
class _Evaluated:
    """One system over the queries of a block."""

    tables: list[tuple[Floats, Bools]]
    """Against the whole gold, and against each group of its items, with the queries that take part."""
    findings: Findings
    present: Bools

    @classmethod
    def of(cls, request: EvaluationRequest, gold: Gold, ranking: Ranking) -> "_Evaluated":
        evaluation = Evaluation(gold, ranking, duplicates=request.duplicates, allow_disjoint_queries=True)
        findings = evaluation.findings([one.measure for one in request.asked])
        return cls(_tables(request, gold, ranking, evaluation), findings, evaluation.matched.present)


def _tables(
    request: EvaluationRequest, gold: Gold, ranking: Ranking, evaluation: Evaluation
) -> list[tuple[Floats, Bools]]:
    values = evaluation.table(request.asked)
    tables = [(values, np.ones(len(values), dtype=bool))]
    groups = request.item_groups
    for number in range(len(groups.names)) if groups is not None else ():
        restricted, takes_part = np.full_like(values, np.nan), np.zeros(len(values), dtype=bool)
        if groups is not None and groups.rows(number, gold.items).any():
            part = evaluate_item_group(evaluation, gold, ranking, groups, number, request.duplicates)
            rows = places_in(evaluation.queries, part.queries)
            restricted[rows], takes_part[rows] = part.table(request.asked), True
        tables.append((restricted, takes_part))
    return tables
