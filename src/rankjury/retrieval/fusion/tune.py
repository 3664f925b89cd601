"""Tuning of fusion weights, with cross-validation of whether the best weights are better on held-out queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb
from typing import Any

import numpy as np

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Floats, Gold, Ints, Ranking
from rankjury.core.version import __version__
from rankjury.errors import UsageError
from rankjury.evaluation.evaluate import Evaluation
from rankjury.measures.dialects import NamedMeasure
from rankjury.retrieval.fusion.align import Aligned
from rankjury.retrieval.fusion.fusion import METHODS, Fusion
from rankjury.stats.comparison import Comparison, PairedValues, compare_pairs, correct_p_values
from rankjury.stats.estimates import Estimate, estimate_all, to_mean_scale
from rankjury.stats.formatting import format_difference, format_p
from rankjury.stats.resampling import Keys, Resampling, query_keys

TUNING_SCHEMA = "rankjury.tuning/1"
CONSTANTS = (60.0, 5.0, 10.0, 20.0, 40.0, 100.0)
"""Values tried for c; the first is the default."""
_STEPS = (20, 10, 5, 4, 3, 2, 1)
_MAX_SETTINGS = 1_000
_SAME = 12
"""Decimals to which equal means must agree."""


@dataclass(frozen=True)
class Tuning:
    """The best setting, its values in sample and on held-out queries, and the comparison with equal weights."""

    systems: tuple[str, ...]
    measure: str
    best: Fusion
    equal: Fusion
    chosen: tuple[Fusion, ...]
    """The setting chosen in each fold, from the queries of all other folds."""
    tried: int
    in_sample: Estimate
    held_out: Estimate
    with_equal: Estimate
    alone: dict[str, Estimate]
    """Each system on its own."""
    with_current: Estimate | None
    """With the current weights, if known."""
    current: Fusion | None
    comparison: Comparison
    """Held-out values compared with equal weights."""
    resampling: Resampling

    @property
    def better(self) -> bool:
        """Whether tuned weights are significantly better than equal ones on held-out queries."""
        return self.comparison.gain > 0 and self.comparison.is_significant(self.resampling.level)

    @property
    def verdict(self) -> str:
        if self.better:
            return "tuned weights are better than equal weights on held-out queries"
        if self.comparison.gain < 0 and self.comparison.is_significant(self.resampling.level):
            return "tuned weights are worse than equal weights on held-out queries: keep equal weights"
        simplest = "equal weights" if self.with_current is None else "equal weights, or the current ones"
        return f"tuned weights are not shown to be better than equal weights: keep {simplest}"

    @property
    def sentence(self) -> str:
        """Whether the best weights beat equal weights on held-out queries, by how much, and what to use."""
        weights = zip(self.systems, self.best.weights_of(len(self.systems)), strict=True)
        spelled = ", ".join(f"{name} {weight:.3g}" for name, weight in weights)
        constant = f"; c {self.best.c:g}" if METHODS.get(self.best.method).has_c else ""
        comparison = self.comparison
        difference = format_difference(comparison.difference, comparison.ci)
        p = f"p {format_p(comparison.p, at_floor=comparison.at_floor)}"
        text = f"{self.verdict[0].upper()}{self.verdict[1:]}"
        head, colon, advice = text.partition(": ")
        best = f"best: {spelled}{constant}" if self.better else f"best in sample: {spelled}{constant}"
        return f"{head}: {self.measure} {difference}, {p}; {best}{f'; {advice}' if colon else ''}."

    @property
    def remark(self) -> str:
        """Note on a system that is better alone than the fusion with equal weights; empty if there is none."""
        sign = -1 if self.comparison.lower_is_better else 1
        name, best = max(self.alone.items(), key=lambda system: sign * system[1].mean)
        better = sign * best.mean > sign * self.with_equal.mean
        return f"{name} alone is better than the fusion with equal weights" if better else ""

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": TUNING_SCHEMA,
            "rankjury": __version__,
            "measure": self.measure,
            "method": self.best.method,
            "tried": self.tried,
            "folds": len(self.chosen),
            "best": self._setting(self.best),
            "by_fold": [self._setting(fusion) for fusion in self.chosen],
            "in_sample": self.in_sample.to_json(),
            "held_out": self.held_out.to_json(),
            "equal_weights": {**self._setting(self.equal), **self.with_equal.to_json()},
            "alone": {name: estimate.to_json() for name, estimate in self.alone.items()},
            "in_use": None
            if self.current is None or self.with_current is None
            else {**self._setting(self.current), **self.with_current.to_json()},
            "held_out_to_equal": self.comparison.to_json(),
            "better_than_equal": self.better,
            "verdict": self.verdict,
            "resampling": self.resampling.to_json(),
        }

    def _setting(self, fusion: Fusion) -> dict[str, Any]:
        weights = dict(zip(self.systems, fusion.weights_of(len(self.systems)), strict=True))
        return {"weights": weights} | ({"c": fusion.c} if METHODS.get(fusion.method).has_c else {})


def tune(
    gold: Gold,
    rankings: Mapping[str, Ranking],
    asked: NamedMeasure,
    *,
    method: str = "rrf",
    depth: int | None = None,
    normalise: str | None = None,
    constants: Sequence[float] = CONSTANTS,
    current: Fusion | None = None,
    whole: bool = False,
    folds: int = 5,
    resampling: Resampling | None = None,
    progress: Progress = NO_PROGRESS,
) -> Tuning:
    """Try weights (and c) and choose those with the best value of the measure; cross-validated over queries.

    Each query is scored with the setting that is best on the queries of the other folds: the mean of these is the
    held-out estimate. The fold of a query is determined by the seed and its id. ``current`` is the current setting.
    ``whole``: items below the depth of every list are ranked as well, as in a plan for a closed set.
    """
    resampling = resampling or Resampling()
    names = tuple(rankings)
    if len(names) < 2:
        raise UsageError(f"found {len(names)} ranking", expected="two or more to fuse")
    settings = [
        Fusion(method, weights, c, depth, normalise) for weights, c in settings_of(len(names), method, constants)
    ]
    aligned = Aligned.of(list(rankings.values()))

    def evaluate(ranking: Ranking) -> Floats:
        return Evaluation.match(gold, ranking).values(asked.measure)

    columns = []
    for number, fusion in enumerate(settings):
        progress.update("Trying weights", number, len(settings))
        columns.append(evaluate(aligned.fuse(fusion, whole=whole)))
    values = np.column_stack(columns)  # queries × settings
    keys = query_keys(gold.queries.sort(), resampling.seed)
    fold = _folds(keys, folds)
    sign = -1.0 if asked.measure.metric.lower_is_better else 1.0
    aggregate = asked.measure.metric.aggregate
    scaled = sign * to_mean_scale(values, aggregate)
    best = _best(scaled)
    chosen = [_best(scaled[fold != number]) for number in range(int(fold.max()) + 1)]
    held_out = values[np.arange(len(fold)), np.array(chosen)[fold]]
    alone = [evaluate(ranking) for ranking in rankings.values()]
    in_use = [] if current is None else [evaluate(aligned.fuse(current, whole=whole))]
    estimated = np.column_stack([values[:, best], held_out, values[:, 0], *alone, *in_use])
    in_sample, out, equal, *each = estimate_all(estimated, [aggregate] * estimated.shape[1], keys, resampling)
    pair = PairedValues(
        *("held out", "equal weights", asked.label, aggregate, sign < 0), values=held_out, baseline_values=values[:, 0]
    )
    return Tuning(
        systems=names,
        measure=asked.label,
        best=settings[best],
        equal=settings[0],
        chosen=tuple(settings[number] for number in chosen),
        tried=len(settings),
        in_sample=in_sample,
        held_out=out,
        with_equal=equal,
        alone=dict(zip(names, each, strict=False)),
        with_current=each[-1] if current is not None else None,
        current=current,
        comparison=correct_p_values(compare_pairs([pair], keys, resampling))[0],
        resampling=resampling,
    )


def settings_of(
    systems: int, method: str = "rrf", constants: Sequence[float] = CONSTANTS
) -> list[tuple[tuple[float, ...], float]]:
    """Return weights that sum to 1 and values of c: equal weights with the first c, then others by their distance."""
    tried_constants = tuple(dict.fromkeys(constants)) if METHODS.get(method).has_c else (CONSTANTS[0],)
    if not tried_constants:
        raise UsageError("no value of c to try", expected="one or more")
    most = _MAX_SETTINGS // len(tried_constants)
    # Equal weights are an additional setting if the parts cannot be divided evenly.
    parts = next((n for n in _STEPS if comb(n + systems - 1, systems - 1) + (n % systems > 0) <= most), None)
    if parts is None:
        raise UsageError(
            f"{len(tried_constants):,} values of c", expected=f"at most {_MAX_SETTINGS // (systems + 1)} to try"
        )
    grid = {(1 / systems,) * systems: 0.0}
    for bars in combinations(range(parts + systems - 1), systems - 1):  # all ways to divide 1 into equal parts
        edges = (-1, *bars, parts + systems - 1)
        weights = tuple((high - low - 1) / parts for low, high in pairwise(edges))
        distance = sum(abs(weight - 1 / systems) for weight in weights)
        if distance > 1e-9:
            grid[weights] = distance
    return sorted(
        ((weights, c) for weights in grid for c in tried_constants),
        key=lambda setting: (round(grid[setting[0]], _SAME), tried_constants.index(setting[1]), setting[0]),
    )


def _folds(keys: Keys, folds: int) -> Ints:
    """Return the fold of each query: assigned in the order of their keys, so that folds are of equal size."""
    queries = keys.size
    if not 2 <= folds <= queries or queries - -(-queries // folds) < 2:
        raise UsageError(
            f"{folds} folds of {queries:,} queries", expected=f"2 to {queries:,} folds, and two queries to learn from"
        )
    fold = np.empty(queries, dtype=np.int64)
    fold[np.argsort(keys, kind="stable")] = np.arange(queries) % folds
    return fold


def _best(values: Floats) -> int:
    """Return the setting with the highest mean over the queries where it is defined; the first of ties."""
    defined = ~np.isnan(values)
    counts = np.maximum(defined.sum(axis=0), 1)
    means = np.where(defined, values, 0.0).sum(axis=0) / counts
    return int(np.argmax(np.round(means, _SAME)))
