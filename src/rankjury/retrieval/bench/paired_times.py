"""Paired comparison of settings by P95 latency: interleaved rounds, and which settings can be distinguished by them.

Times that are taken one setting after the other cannot be compared on a machine that does other work: a burst of load
slows whichever setting is measured then. So the candidates take turns. In every round each of them answers the same
queries in the same order, and the order of the candidates is drawn anew. Only values of the same round are compared.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from math import exp, fsum, log
from typing import Any

import numpy as np

from rankjury.core.params import Params
from rankjury.core.progress import Progress
from rankjury.errors import DataError
from rankjury.retrieval.bench.build import Built
from rankjury.retrieval.bench.points import Point
from rankjury.retrieval.bench.timing.latency import summarise
from rankjury.stats.significance import SignedRanks

PAIRED_ROUNDS = 16
"""The least p-value of 16 paired values is 2/2^16, so that 1,600 candidates can still be distinguished."""
_LEVEL = 0.95
_MARGIN = 1.05
"""A setting is quicker only by more than 5 %: equal indexes in one process can differ by a few per cent in every round,
as their memory is laid out differently, and by another amount when they are built again."""
SINGLE_FACTOR = 2.0
"""Costs that were measured once, not in pairs, differ only where one is twice the other."""


def setting_key(build: Params, search: Params) -> str:
    """Return a text that is the same for equal settings, whatever the order of their parameters."""
    return dumps([dict(build), dict(search)], sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True)
class PairedTimes:
    """P95 of each candidate in each interleaved round, in milliseconds."""

    settings: tuple[tuple[Params, Params], ...]
    """Build and search parameters of the candidates."""
    p95_ms: tuple[tuple[float, ...], ...]
    """One row per candidate, one value per round."""
    asked: int = 0
    """Queries that each candidate answered in a round."""

    @property
    def rounds(self) -> int:
        return len(self.p95_ms[0]) if self.p95_ms else 0

    def of(self, point: Point) -> tuple[float, ...] | None:
        """Return the values of a setting, one per round; None where it was not compared."""
        key = setting_key(point.build, point.search)
        keys = [setting_key(*setting) for setting in self.settings]
        return self.p95_ms[keys.index(key)] if key in keys else None

    def mean(self, point: Point) -> float | None:
        """Return the geometric mean over the rounds; None where the setting was not compared."""
        values = self.of(point)
        return None if not values else exp(fsum(map(log, values)) / len(values))

    def to_json(self) -> dict[str, Any]:
        rows = [
            {"build": dict(build), "search": dict(search), "p95_ms": list(values)}
            for (build, search), values in zip(self.settings, self.p95_ms, strict=True)
        ]
        return {"rounds": self.rounds, "asked": self.asked, "settings": rows}

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> "PairedTimes":
        """Read what ``to_json`` gave; KeyError, TypeError or ValueError where it is something else."""
        rows = form["settings"]
        times = tuple(tuple(map(float, row["p95_ms"])) for row in rows)
        if {len(values) for values in times} - {int(form["rounds"])} or any(
            value <= 0 for row in times for value in row
        ):
            raise ValueError("expected a positive time for every round")
        return cls(tuple((dict(row["build"]), dict(row["search"])) for row in rows), times, int(form["asked"]))


def surely_less(quick: Sequence[float], slow: Sequence[float], tests: int = 1) -> bool:
    """Decide whether the first is less than the second in paired rounds by more than the margin.

    Args:
        quick: The values of one setting, one per round.
        slow: The values of the other, in the same rounds.
        tests: How many such decisions are made together; Bonferroni's correction for so many.

    Returns:
        Whether Wilcoxon's signed-rank test of the logarithms of their ratios, at 95 %, rejects that the second is at
        most 5 % larger. As the order within a round is random, the test is exact whatever the load was.
    """
    ratios = np.log(np.asarray(slow, dtype=np.float64) / np.asarray(quick, dtype=np.float64)) - log(_MARGIN)
    ranks = SignedRanks.of(ratios)
    found = ranks.part()
    mostly_less = 2 * found.positive > found.n * (found.n + 1)  # of all doubled ranks
    return mostly_less and ranks.p * max(1, tests) <= 1.0 - _LEVEL


def measure_paired(
    candidates: Sequence[tuple[Built, Point]],
    *,
    asked: int,
    warm_up: int,
    concurrency: int,
    progress: Progress,
    watch: Callable[[Built, Params], Progress],
    rounds: int = PAIRED_ROUNDS,
) -> PairedTimes:
    """Time all candidates in interleaved rounds.

    Args:
        candidates: The settings, each with the index it is searched on.
        asked: Queries per candidate and round.
        warm_up: Queries that every worker asks before each turn without measuring.
        concurrency: Callers at a time.
        progress: Receives each round.
        watch: Returns what ends the loop where an engine is lost.
        rounds: How often each candidate takes its turn.

    Raises:
        DataError: No query of a turn was answered, or some failed of an engine that answers all or none.
    """
    found = np.empty((len(candidates), rounds))
    for number in range(rounds):
        progress.update(f"round {number + 1} of {rounds}", number, rounds)
        for place in np.random.default_rng((number, len(candidates))).permutation(len(candidates)).tolist():
            built, point = candidates[place]
            timed = built.timed(
                point.search, total=asked, seed=number, warm_up=warm_up, concurrency=concurrency,
                progress=watch(built, point.search),
            )  # fmt: skip
            if timed.failures and not (timed.answered.size and built.engine.one_request_per_query):
                message = timed.failures[0][1]
                raise DataError(f"{len(timed.failures):,} of {asked:,} timed queries failed: {message}")
            found[place, number] = summarise(timed).p95.ms
    settings = tuple((point.build, point.search) for _, point in candidates)
    return PairedTimes(settings, tuple(map(tuple, found.tolist())), asked)
