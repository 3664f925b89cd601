"""What came of trying settings of a model: all trials, the best, and how surely it is better than what is in use."""

from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any
from zlib import (
    compress,
    decompress,
    error as ZlibError,  # noqa: N812
)

import numpy as np
import polars as pl

from rankjury.core.params import Param, Params, Setting, settled
from rankjury.core.text import plural
from rankjury.core.types import Floats, freeze
from rankjury.measures.measure import Aggregate
from rankjury.recsys.split import Window
from rankjury.recsys.tuning.search import GridEdge, SearchSpace, grid_edges
from rankjury.retrieval.bench.grid import format_params
from rankjury.stats.comparison import Comparison, PairedValues, compare_pairs, correct_p_values
from rankjury.stats.estimates import Estimate, estimate_all
from rankjury.stats.resampling import Resampling, query_keys


@dataclass(frozen=True, eq=False)
class Trial:
    """One setting of a model."""

    params: Mapping[str, Setting]
    values: Floats | None
    """The measure for every user; None where the trial failed …"""
    error: str | None = None
    """… and why."""
    fit_seconds: float | None = None
    recommend_seconds: float | None = None
    notes: tuple[str, ...] = ()
    number: int = 0
    """In the order of the search, from 0 on: the settings in use."""
    resumed: bool = False
    """Whether an earlier call made it."""

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def failed(self) -> bool:
        return self.values is None

    def as_entry(self) -> dict[str, Any]:
        """For the journal: every user's value to the last bit."""
        values = None
        if self.values is not None:
            values = b64encode(compress(np.ascontiguousarray(self.values, dtype="<f8").tobytes())).decode()
        return {
            "params": dict(self.params),
            "values": values,
            "error": self.error,
            "fit_seconds": self.fit_seconds,
            "recommend_seconds": self.recommend_seconds,
            "notes": list(self.notes),
        }

    @classmethod
    def from_entry(cls, form: Mapping[str, Any] | None, users: int) -> "Trial | None":
        """Read a stored trial of so many users; None where it failed, or was tampered with."""
        with suppress(KeyError, TypeError, ValueError, BadBase64, ZlibError):
            trial = None if form is None else cls._read(form)
            if trial is not None and trial.values is not None and trial.values.size == users:
                return trial
        return None

    @classmethod
    def _read(cls, form: Mapping[str, Any]) -> "Trial":
        values = form["values"]
        if values is not None:
            values = np.frombuffer(decompress(b64decode(values)), dtype="<f8").astype(np.float64)
        return cls(
            dict(form["params"]), values, form["error"], form["fit_seconds"], form["recommend_seconds"],
            tuple(form["notes"]), resumed=True,
        )  # fmt: skip


_SAME = 12
"""Decimals to which two means are the same."""


@dataclass(frozen=True, eq=False)
class ModelTuning:
    """The trials of one model; the first is of the settings in use."""

    system: str
    model: str
    measure: str
    aggregate: Aggregate
    lower_is_better: bool
    window: Window
    fit_on: tuple[Window, ...]
    users: pl.Series
    """In whose order a trial's values are."""
    trials: tuple[Trial, ...]
    tried: SearchSpace
    """The values of the parameters in which they differ."""
    known: Mapping[str, Param]
    """What can be set of the model."""
    search: dict[str, Any]
    resampling: Resampling
    notes: tuple[str, ...] = ()

    @cached_property
    def estimates(self) -> dict[int, Estimate]:
        """By number of the trial; those that failed have none."""
        done = [trial for trial in self.trials if trial.values is not None]
        if not done:
            return {}
        values = np.column_stack([trial.values for trial in done])  # type: ignore[misc]
        found = estimate_all(
            values, [self.aggregate] * len(done), query_keys(self.users, self.resampling.seed), self.resampling
        )
        return {trial.number: one for trial, one in zip(done, found, strict=True)}

    @cached_property
    def ranked(self) -> tuple[Trial, ...]:
        """Best first; of equal ones that which was tried first, failed ones last."""
        sign = 1.0 if self.lower_is_better else -1.0

        def place(trial: Trial) -> tuple[bool, float, int]:
            mean = 0.0 if trial.failed else sign * round(self.estimates[trial.number].mean, _SAME)
            return trial.failed, mean, trial.number

        return tuple(sorted(self.trials, key=place))

    @property
    def failed(self) -> tuple[Trial, ...]:
        return tuple(trial for trial in self.trials if trial.failed)

    @property
    def own(self) -> Trial:
        """The settings in use."""
        return self.trials[0]

    @property
    def best(self) -> Trial | None:
        return None if self.ranked[0].failed else self.ranked[0]

    @property
    def second(self) -> Trial | None:
        others = [trial for trial in self.ranked[1:] if not trial.failed]
        return others[0] if others else None

    @property
    def edges(self) -> list[GridEdge]:
        """The numeric parameters whose best value is the smallest or largest of the grid; none of a random search.

        A parameter of which another value is exactly as good, all else equal, has no edge.
        """
        if self.best is None or self.search.get("kind") == "random":
            return []
        found = grid_edges(self.known, self.own.params, self.tried, self.best.params)
        return [edge for edge in found if not self._is_flat(edge.parameter)]

    def _is_flat(self, parameter: str) -> bool:
        """Return whether a trial that differs from the best in this parameter alone has the same mean."""

        def others(trial: Trial) -> Params:
            whole = settled(self.known, trial.params, "parameter")
            return {name: value for name, value in whole.items() if name != parameter}

        def mean(trial: Trial) -> float:
            return round(self.estimates[trial.number].mean, _SAME)

        best = self.ranked[0]
        return any(
            trial is not best and not trial.failed and mean(trial) == mean(best) and others(trial) == others(best)
            for trial in self.trials
        )

    @cached_property
    def _compared(self) -> dict[str, Comparison]:
        """The best with the settings in use, and with the second best; corrected for both."""
        against = {"own": self.own, "second": self.second}
        others = {
            name: trial for name, trial in against.items() if trial is not None and self.best not in (None, trial)
        }
        pairs = [
            PairedValues("best", name, self.measure, self.best.values, one.values, self.aggregate, self.lower_is_better)
            for name, one in others.items()
            if self.best is not None and self.best.values is not None and one.values is not None
        ]
        found = correct_p_values(compare_pairs(pairs, query_keys(self.users, self.resampling.seed), self.resampling))
        return {one.baseline: one for one in found}

    @property
    def to_own(self) -> Comparison | None:
        """None where the settings in use are the best, or failed."""
        return self._compared.get("own")

    @property
    def to_second(self) -> Comparison | None:
        return self._compared.get("second")

    @property
    def better(self) -> bool:
        """Whether the best was shown to be better than the settings in use, on the users it was chosen on."""
        return self.to_own is not None and self.to_own.is_significant(self.resampling.level)

    @property
    def verdict(self) -> str:
        if self.best is None:
            return "every trial failed"
        if self.best is self.own:
            return "none of the settings tried is better than those in use: keep them"
        if self.to_own is None:
            return "the settings in use failed, so that the best has nothing to be compared with"
        if self.better:
            return "the best setting is better than those in use, on the users it was chosen on"
        return "the best setting is not shown to be better than those in use"

    @property
    def caution(self) -> str:
        """What to keep in mind of the best of many; nothing where there was no choice."""
        done = len(self.trials) - len(self.failed)
        if done < 2:
            return ""
        return (
            f"the best of {done:,} trials was chosen on the {plural(len(self.users), 'user', 'users')} it is measured "
            "on: its mean and its differences are optimistic, by how much cannot be known from them; "
            "the test window can tell, once (--final)"
        )

    def spelled(self, trial: Trial) -> str:
        """``factors=64 alpha=0.1``: those parameters in which settings differ."""
        whole = settled(self.known, trial.params, "parameter")
        return format_params({name: whole[name] for name in self.tried})

    def to_json(self) -> dict[str, Any]:
        return {
            "system": self.system,
            "model": self.model,
            "measure": self.measure,
            "lower_is_better": self.lower_is_better,
            "window": self.window,
            "fit_on": list(self.fit_on),
            "users": len(self.users),
            "search": self.search,
            "parameters": list(self.tried),
            "edges": [asdict(edge) for edge in self.edges],
            "trials": [self._trial(place, trial) for place, trial in enumerate(self.ranked, 1)],
            "failed": len(self.failed),
            "resumed": sum(trial.resumed for trial in self.trials),
            "own": self._short(self.own),
            "best": self._short(self.best),
            "second": self._short(self.second),
            "best_to_own": None if self.to_own is None else self.to_own.to_json(),
            "best_to_second": None if self.to_second is None else self.to_second.to_json(),
            "better_than_own": self.better,
            "verdict": self.verdict,
            "caution": self.caution or None,
            "notes": list(self.notes),
            "resampling": self.resampling.to_json(),
        }

    def _short(self, trial: Trial | None) -> dict[str, Any] | None:
        return None if trial is None else {"number": trial.number, "params": dict(trial.params)}

    def _trial(self, place: int, trial: Trial) -> dict[str, Any]:
        return {
            "place": None if trial.failed else place,
            "number": trial.number,
            "params": dict(trial.params),
            "settings": settled(self.known, trial.params, "parameter"),
            "in_use": trial is self.own,
            "status": "failed" if trial.failed else "done",
            "error": trial.error,
            "estimate": None if trial.failed else self.estimates[trial.number].to_json(),
            "seconds": {"fit": trial.fit_seconds, "recommend": trial.recommend_seconds},
            "resumed": trial.resumed,
            "notes": list(trial.notes),
        }
