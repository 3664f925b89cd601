"""Candidates against a reference, in memory: what a script or a notebook calls."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl

from rankjury.core.types import Ranking, Vectors, names_of
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.evaluation.compare import assess
from rankjury.evaluation.evaluate import resolve_measures
from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import as_warnings
from rankjury.io.vectors.ids import read_ids
from rankjury.retrieval.agreement.pairs import OfVectors, PairsOfSystems, ReferenceSide, chosen_ids, sample_ids
from rankjury.retrieval.agreement.reference import MEASURES, ReferenceTies, measures_for, reference_gold
from rankjury.retrieval.agreement.stats import ReferenceGold
from rankjury.retrieval.diagnostics import GoldSpaces, Hygiene
from rankjury.retrieval.rank import as_vectors, check_same_items, rank_vectors, resolve_exclude_self
from rankjury.stats.resampling import Resampling

_RESAMPLING = Resampling()


@check_arguments
def agree(
    reference: Any,
    candidates: Mapping[str, Any],
    k_values: Iterable[int] = (1, 3, 5, 10),
    *,
    n_samples: int | None = None,
    queries: Any = None,
    seed: int = 42,
    ids: Iterable[Any] | None = None,
    metric: str = "cosine",
    ties: ReferenceTies = "id",
    pairs: int = 20_000,
    exclude_self: bool | None = None,
    baseline: str | None = None,
    resampling: Resampling | None = _RESAMPLING,
) -> Report:
    """How far candidates find what a reference finds: ``rankjury.agree(ada, {"base": base, "tuned": tuned})``.

    Each is a matrix, a dict of id to vector, a path, or ``rankjury.Vectors``; matrices have the same rows, called by
    ``ids`` or by their number. ``n_samples`` of the items are asked, drawn by the seed; None: all. ``queries`` lists
    those to ask instead, or is a file of them: ids, or row numbers where the rows have no ids. ``pairs`` is over how
    many the similarities are compared; 0: not at all. ``exclude_self=False`` keeps each query's own item in its list;
    by default it is left out, since the queries are the items. ``how=None`` leaves intervals and comparisons away. The
    first candidate is the baseline.
    """
    cuts = _checked_cuts(k_values)
    _check_request(candidates, n_samples, seed, ties, pairs, baseline)
    if queries is not None and n_samples is not None:
        raise UsageError("found both queries and n_samples", expected="one of both")
    names = None if ids is None else pl.Series("id", [str(one) for one in ids])
    truth = as_vectors(reference, names, "reference")
    hygiene: dict[str, Hygiene] = {}
    exclude = resolve_exclude_self(exclude_self, truth, None)

    def ranked(name: str, vectors: Vectors, wanted: pl.Series, k: int) -> Ranking:
        space = rank_vectors(vectors, wanted=wanted, k=k, metric=metric, cuts=cuts, scored=False, exclude_self=exclude)
        hygiene.setdefault(name, space.hygiene)
        return space.ranking

    asked, told = sample_ids(truth.ids, n_samples, seed, where="n_samples"), list[str]()
    if queries is not None:
        asked, told = chosen_ids(truth.ids, _listed(queries), numbered=truth.numbered, where="queries")
    found = reference_gold(
        partial(ranked, "reference", truth), asked, cuts[-1], ties=ties, needed=cuts[-1], source=truth.source
    )
    side = ReferenceSide(found.gold, OfVectors(truth, None, metric), truth, exclude)
    compared = PairsOfSystems(side, over="sampled", size=pairs, seed=seed, k=cuts[-1]) if pairs else None

    def load(name: str) -> Ranking:
        vectors = as_vectors(candidates[name], names, name)
        check_same_items(truth, vectors)
        ranking = ranked(name, vectors, found.gold.queries, cuts[-1] + 1)
        if compared is not None:
            compared.add(name, OfVectors(vectors, None, metric), ranking)
        return ranking

    chosen = baseline or next(iter(candidates))
    report = assess(
        found.gold,
        ((name, load(name)) for name in candidates),
        resolve_measures(f"{measure}@{k}" for measure in measures_for(ties) for k in cuts),
        golds=dict.fromkeys(candidates, found.gold),
        resampling=resampling,
        baseline=chosen if resampling is not None and len(candidates) > 1 else None,
        tested=[f"{measure}@{cuts[-1]}" for measure in measures_for(ties)[: len(MEASURES)]],
        relative=True,
    )
    for name, agreement in (compared.agreements(resampling, chosen) if compared else {}).items():
        report = report.with_sections(agreement, system=name)
    report = replace(report, warnings=(*report.warnings, *as_warnings((*told, *found.notes(tuple(cuts))), "reference")))
    of_gold = {name: space for name, space in hygiene.items() if name not in candidates}
    report = report.with_sections(ReferenceGold(found.gold.source), *([GoldSpaces(of_gold)] if of_gold else ()))
    for name, space in hygiene.items():
        report = report.with_sections(space, system=name) if name in candidates else report
    return report


def _listed(queries: Any) -> pl.Series:
    """Ids, or row numbers, that a caller lists or names a file of."""
    if isinstance(queries, str | Path):
        return names_of(read_ids(str(queries)), str(queries))
    try:
        held = queries if isinstance(queries, pl.Series) else pl.Series("id", np.asarray(queries).tolist())
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise DataError(f"cannot be read: {error}", where="queries", expected="ids or row numbers") from error
    return names_of(held if len(held) else held.cast(pl.String), "queries")


def _checked_cuts(k_values: Any) -> list[int]:
    given = list(k_values) if isinstance(k_values, Iterable) else [k_values]
    if not given or not all(isinstance(k, Integral) and int(k) >= 1 for k in given):
        raise UsageError(f"found the cut-offs {given}", expected="whole numbers from 1")
    return sorted({int(k) for k in given})


def _check_request(candidates: Any, n_samples: Any, seed: Any, ties: str, pairs: Any, baseline: str | None) -> None:
    if not isinstance(candidates, Mapping) or not candidates:
        raise UsageError("found no candidates by name", expected='a dict of them, such as {"small": matrix}')
    for name, value, low in (("n_samples", n_samples, 1), ("seed", seed, 0), ("pairs", pairs, 0)):
        if value is not None and (not isinstance(value, Integral) or value < low):
            raise UsageError(f"{name} is {value!r}", expected=f"a whole number from {low}")
    if ties not in get_args(ReferenceTies):
        raise UnknownName("rule for ties", ties, get_args(ReferenceTies))
    if baseline is not None and baseline not in candidates:
        raise UnknownName("candidate", baseline, candidates)
