"""Results of tuning a model: its trials, the best one, and whether it is better than the settings in use."""

import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.params import Param, Params, Setting, resolve_params
from rankjury.core.text import plural
from rankjury.core.types import Floats, freeze
from rankjury.measures.measure import Aggregate
from rankjury.recsys.split import Window
from rankjury.recsys.tuning.search import GridEdge, SearchSpace, grid_edges
from rankjury.retrieval.bench.grid import format_params
from rankjury.stats.comparison import Comparison, PairedValues, compare_pairs, correct_p_values
from rankjury.stats.estimates import Estimate, estimate_all
from rankjury.stats.formatting import format_difference, format_estimate, format_p
from rankjury.stats.resampling import Resampling, query_keys


@dataclass(frozen=True, eq=False)
class Trial:
    """One setting of a model, fitted and scored, or the reason why it failed."""

    params: Mapping[str, Setting]
    values: Floats | None
    """The measure for every user; None where the trial failed."""
    error: str | None = None
    fit_seconds: float | None = None
    recommend_seconds: float | None = None
    notes: tuple[str, ...] = ()
    number: int = 0
    """The place in the search; 0 are the settings in use."""
    resumed: bool = False
    """Whether it was read from the journal."""

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def failed(self) -> bool:
        """Whether there are no values."""
        return self.values is None

    def as_entry(self) -> dict[str, Any]:
        """Return the entry for the journal, with every user's value to the last bit."""
        values = None
        if self.values is not None:
            values = b64encode(zlib.compress(np.ascontiguousarray(self.values, dtype="<f8").tobytes())).decode()
        return {
            "params": dict(self.params),
            "values": values,
            "error": self.error,
            "fit_seconds": self.fit_seconds,
            "recommend_seconds": self.recommend_seconds,
            "notes": list(self.notes),
        }

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any] | None, users: int) -> "Trial | None":
        """Read a stored trial of so many users; None where it failed, or was tampered with."""
        with suppress(KeyError, TypeError, ValueError, zlib.error):
            if entry is None or entry["values"] is None:
                return None
            values = np.frombuffer(zlib.decompress(b64decode(entry["values"])), dtype="<f8").astype(np.float64)
            seconds = entry["fit_seconds"], entry["recommend_seconds"]
            trial = cls(dict(entry["params"]), values, entry["error"], *seconds, tuple(entry["notes"]), resumed=True)
            return trial if values.size == users else None
        return None


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
    """The users, in the order of a trial's values."""
    trials: tuple[Trial, ...]
    tried: SearchSpace
    """The values of the parameters in which they differ."""
    known: Mapping[str, Param]
    """The parameters of the model."""
    search: dict[str, Any]
    resampling: Resampling
    notes: tuple[str, ...] = ()

    @cached_property
    def estimates(self) -> dict[int, Estimate]:
        """Estimates by number of the trial; failed trials have none."""
        done = [trial for trial in self.trials if trial.values is not None]
        if not done:
            return {}
        values = np.column_stack([trial.values for trial in done])  # type: ignore[misc]
        keys = query_keys(self.users, self.resampling.seed)
        estimates = estimate_all(values, [self.aggregate] * len(done), keys, self.resampling)
        return {trial.number: estimate for trial, estimate in zip(done, estimates, strict=True)}

    def _mean(self, trial: Trial) -> float:
        return round(self.estimates[trial.number].mean, 12)  # means that differ less are the same

    @cached_property
    def ranked(self) -> tuple[Trial, ...]:
        """The trials, best first, equal ones in the order of the search, failed ones last."""
        sign = 1.0 if self.lower_is_better else -1.0
        done = [trial for trial in self.trials if not trial.failed]
        return (*sorted(done, key=lambda trial: (sign * self._mean(trial), trial.number)), *self.failed)

    @property
    def failed(self) -> tuple[Trial, ...]:
        """The failed trials."""
        return tuple(trial for trial in self.trials if trial.failed)

    @property
    def current(self) -> Trial:
        """The trial of the settings in use."""
        return self.trials[0]

    @property
    def best(self) -> Trial | None:
        """The best trial; None where all failed."""
        return None if self.ranked[0].failed else self.ranked[0]

    @property
    def second(self) -> Trial | None:
        """The second best trial."""
        others = [trial for trial in self.ranked[1:] if not trial.failed]
        return others[0] if others else None

    @property
    def edges(self) -> list[GridEdge]:
        """The numeric parameters whose best value is the smallest or largest of the grid; none of a random search.

        A parameter of which another value is exactly as good, all else equal, has no edge.
        """
        if self.best is None or self.search.get("kind") == "random":
            return []
        found = grid_edges(self.known, self.current.params, self.tried, self.best.params)
        return [edge for edge in found if not self._is_flat(edge.parameter)]

    def _is_flat(self, parameter: str) -> bool:
        """Return whether a trial that differs from the best in this parameter alone has the same mean."""

        def others(trial: Trial) -> Params:
            return {name: value for name, value in self._settings(trial).items() if name != parameter}

        best, *rest = (trial for trial in self.ranked if not trial.failed)
        return any(self._mean(trial) == self._mean(best) and others(trial) == others(best) for trial in rest)

    def _settings(self, trial: Trial) -> dict[str, Setting]:
        """Return all parameters of a trial with their values."""
        return resolve_params(self.known, trial.params, "parameter")

    @cached_property
    def _comparisons(self) -> dict[str, Comparison]:
        """The best compared with the settings in use and with the second best; p-values corrected for both."""
        best = self.best
        if best is None or best.values is None:
            return {}
        pairs = [
            PairedValues(
                *("best", name, self.measure, self.aggregate, self.lower_is_better),
                values=best.values,
                baseline_values=other.values,
            )
            for name, other in (("own", self.current), ("second", self.second))
            if other is not None and other is not best and other.values is not None
        ]
        keys = query_keys(self.users, self.resampling.seed)
        comparisons = correct_p_values(compare_pairs(pairs, keys, self.resampling))
        return {comparison.baseline: comparison for comparison in comparisons}

    @property
    def versus_current(self) -> Comparison | None:
        """The best compared with the settings in use; None where these are the best, or failed."""
        return self._comparisons.get("own")

    @property
    def versus_second(self) -> Comparison | None:
        """The best compared with the second best."""
        return self._comparisons.get("second")

    @property
    def better(self) -> bool:
        """Whether the best was shown to be better than the settings in use, on the users it was chosen on."""
        return self.versus_current is not None and self.versus_current.is_significant(self.resampling.level)

    @property
    def verdict(self) -> str:
        """A sentence on the best setting and those in use."""
        if self.best is None:
            return "every trial failed"
        if self.best is self.current:
            return "none of the settings tried is better than those in use: keep them"
        if self.versus_current is None:
            return "the settings in use failed, so that the best has nothing to be compared with"
        if self.better:
            return "the best setting is better than those in use, on the users it was chosen on"
        return "the best setting is not shown to be better than those in use"

    @property
    def sentence(self) -> str:
        """The best setting, and whether it is better than those in use, by how much."""
        if self.best is None:
            return f"{self.system}: every trial failed."
        mean = format_estimate(self.estimates[self.best.number])
        tried = plural(len(self.trials) - len(self.failed), "setting", "settings")
        if self.best is self.current:
            kept = f"keep the settings in use ({self.spelled(self.best)}), the best of {tried}"
            return f"{self.system}: {kept}: {self.measure} {mean}."
        sentence = f"{self.system}: the best of {tried} is {self.spelled(self.best)}, {self.measure} {mean}"
        comparison = self.versus_current
        if comparison is None:
            return f"{sentence}; the settings in use failed."
        shown = "better" if self.better else "not shown to be better"
        difference = format_difference(comparison.difference, comparison.ci)
        p = format_p(comparison.p_holm, at_floor=comparison.at_floor)
        return f"{sentence}, {shown} than those in use on the {self.window} window: {difference}, p {p}."

    @property
    def caution(self) -> str:
        """A warning that the best of several trials is optimistic; empty where there was no choice."""
        done = len(self.trials) - len(self.failed)
        if done < 2:
            return ""
        return (
            f"the best of {done:,} trials was chosen on the {plural(len(self.users), 'user', 'users')} it is measured "
            "on: its mean and its differences are optimistic, by how much cannot be known from them; "
            "the test window can tell, once (--final)"
        )

    def spelled(self, trial: Trial) -> str:
        """Return ``factors=64 alpha=0.1``: the parameters in which settings differ."""
        settings = self._settings(trial)
        return format_params({name: settings[name] for name in self.tried})

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
            **{
                name: None if trial is None else {"number": trial.number, "params": dict(trial.params)}
                for name, trial in (("own", self.current), ("best", self.best), ("second", self.second))
            },
            "best_to_own": None if self.versus_current is None else self.versus_current.to_json(),
            "best_to_second": None if self.versus_second is None else self.versus_second.to_json(),
            "better_than_own": self.better,
            "verdict": self.verdict,
            "caution": self.caution or None,
            "notes": list(self.notes),
            "resampling": self.resampling.to_json(),
        }

    def _trial(self, place: int, trial: Trial) -> dict[str, Any]:
        return {
            "place": None if trial.failed else place,
            "number": trial.number,
            "params": dict(trial.params),
            "settings": self._settings(trial),
            "in_use": trial is self.current,
            "status": "failed" if trial.failed else "done",
            "error": trial.error,
            "estimate": None if trial.failed else self.estimates[trial.number].to_json(),
            "seconds": {"fit": trial.fit_seconds, "recommend": trial.recommend_seconds},
            "resumed": trial.resumed,
            "notes": list(trial.notes),
        }
