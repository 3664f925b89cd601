"""Tuning of a recommender: the settings that do best on the validation window.

Each setting is fitted on the task's training windows and scored on its window; rows of the test window are removed
first. A model that raises an error or returns NaN fails its trial, not the search.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.hashing import hash_ids
from rankjury.core.journal import Journal, JournalScope
from rankjury.core.params import Param, Params
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.version import __version__
from rankjury.errors import DataError, MissingExtra, RankjuryError, UsageError
from rankjury.evaluation.evaluate import Evaluation
from rankjury.measures.dialects import NamedMeasure
from rankjury.recsys.data.log import Log
from rankjury.recsys.models import Recommender
from rankjury.recsys.recommend import recommend
from rankjury.recsys.split import WINDOWS
from rankjury.recsys.task import Task
from rankjury.recsys.tuning.result import ModelTuning, Trial
from rankjury.recsys.tuning.search import SearchSpace, list_settings, widen_grid
from rankjury.retrieval.bench.grid import params_key
from rankjury.retrieval.rank import apply_threshold
from rankjury.stats.resampling import Resampling

MAX_EXTENSIONS = 5
"""How often a grid is widened: five steps are a factor of 32 on a grid of powers of two."""
_LONGEST_MESSAGE = 500


@dataclass(frozen=True, eq=False)
class TuningSubject:
    """A recommender to be tuned, the settings to try, and the task."""

    system: str
    model: str
    known: Mapping[str, Param]
    """The parameters of the model."""
    make: Callable[[Params], Recommender]
    task: Task
    settings: tuple[Params, ...]
    """The settings to try; the first are those in use."""
    tried: SearchSpace
    """The values of the parameters in which they differ."""
    asked: NamedMeasure
    depth: int
    """How many items to recommend."""
    cold: str = "popularity"
    threshold: float | None = None
    search: Mapping[str, Any] = field(default_factory=dict)
    """How the settings were chosen, for the record."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """What else determines the result of a trial: versions of libraries, files …"""
    simpler: Params = field(default_factory=dict)
    """Settings that make the model a simpler one, which are always tried."""
    place: str = ""
    """The plan's path, which distinguishes systems of the same name in one journal."""

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything that determines the result of a trial, but the settings; kept with each trial in the journal."""
        task = self.task
        attributes = sha256("\0".join(task.features.texts).encode())
        for side in (task.features.items, task.features.users):
            for name in sorted(side):
                matrix = np.ascontiguousarray(side[name])
                attributes.update(f"{name} {matrix.dtype} {matrix.shape}".encode())
                attributes.update(matrix.tobytes())
        return {
            "model": self.model,
            "measure": str(self.asked.measure),
            "depth": self.depth,
            "cold users": self.cold,
            "threshold": self.threshold,
            **self.about,
            "users": hash_ids(task.log.users),
            "items": hash_ids(task.log.items),
            "training interactions": _hash_rows(task.train),
            f"{task.window} interactions": _hash_rows(task.split.window(task.window)),
            "catalogue": sha256(np.packbits(task.in_catalogue).tobytes()).hexdigest(),
            "candidates": None if task.sampled is None else [task.sampled.n, task.sampled.seed],
            "attributes": attributes.hexdigest(),
            "versions": {"rankjury": __version__, "numpy": np.__version__, "polars": pl.__version__},
        }


def _hash_rows(log: Log) -> str:
    """Return a hash of the rows in their order, on which a model that learns row by row depends."""
    digest = sha256(f"{log.unit} {log.rated}".encode())
    for column in (log.user, log.item, log.value, log.time):
        digest.update(b"none" if column is None else np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


def without_test(task: Task) -> Task:
    """Return the task without the rows of the test window, so that nothing done with it can look at them."""
    if task.window == "test":
        raise UsageError(
            f"models would learn from {' and '.join(task.fit_on)} and be chosen on {task.window}",
            expected="settings that are chosen on validation, by models that never saw it",
            hint="Whoever chooses on test has nothing left to tell how good the choice is.",
        )
    split = task.split
    rows = split.window_codes != WINDOWS.index("test")
    if rows.all():
        return task
    return replace(task, split=replace(split, log=split.log.take(rows), window_codes=split.window_codes[rows]))


def tune_model(
    subject: TuningSubject,
    *,
    resampling: Resampling | None = None,
    journal: Journal | None = None,
    fresh: bool = False,
    extend: bool = False,
    progress: Progress = NO_PROGRESS,
) -> ModelTuning:
    """Try every setting, or take it from the journal where it was tried under the same conditions.

    ``extend``: where the best value of a numeric parameter is the smallest or the largest of its grid, the grid is
    widened by the next value and tried again, up to ``MAX_EXTENSIONS`` times. The result is that of the wider grid.
    """
    subject = replace(subject, task=without_test(subject.task))
    task, metric = subject.task, subject.asked.measure.metric
    queries = task.gold.queries.sort()  # errors of the data come before errors of a model
    search = f"{subject.place}/{subject.system}"
    stored = JournalScope(journal, search, {"search": search, **subject.identity}, fresh=fresh)
    trials: dict[str, Trial] = {}
    extensions = 0
    while True:
        of = len(subject.settings)
        for params in subject.settings:
            key = params_key(params, subject.known)
            if key in trials:
                continue
            progress.update(f"{subject.system}: trial {len(trials) + 1:,} of {of:,}", len(trials), of)
            trial = Trial.from_entry(stored.find(key), len(queries))
            if trial is None:
                trial = _run_trial(subject, params)
                stored.add(key, trial.as_entry())
            trials[key] = replace(trial, params=dict(params), number=len(trials))
        tuning = ModelTuning(
            subject.system, subject.model, subject.asked.label, metric.aggregate, metric.lower_is_better,
            task.window, task.fit_on, queries, tuple(trials.values()), subject.tried, subject.known,
            {**subject.search, **({"extensions": extensions} if extensions else {})},
            resampling or Resampling(), tuple(stored.notes()),
        )  # fmt: skip
        if not extend or not tuning.edges or extensions == MAX_EXTENSIONS:
            break
        tried = widen_grid(subject.tried, tuning.edges)  # settings in use stay the first
        settings = list_settings(subject.known, subject.settings[0], tried, simpler=subject.simpler)
        subject, extensions = replace(subject, tried=tried, settings=tuple(settings)), extensions + 1
    progress.update(subject.system, len(trials), len(trials))
    return tuning


def _run_trial(subject: TuningSubject, params: Params) -> Trial:
    """Fit and score one setting; an error fails the trial."""
    began = perf_counter()
    fitted = None
    try:
        model = subject.make(params)
        model.fit(subject.task.train, subject.task.features)
        fitted = perf_counter()
        task, measure = subject.task, subject.asked.measure
        lists = recommend(model, task, subject.depth, cold=subject.cold, source=subject.model)
        ranking = lists.ranking(task, subject.system)
        if subject.threshold is not None:
            ranking = apply_threshold(ranking, subject.threshold)
        background = task.background if measure.metric.of_lists else None
        values = Evaluation.match(task.gold, ranking, background=background).values(measure)
        if np.isnan(values).all():
            raise DataError(f"{subject.asked.label} is defined for none of {values.size:,} users", where=subject.system)
        notes = tuple(lists.notes(measure.k or 0))
    except MissingExtra:
        raise  # not the fault of a setting
    except Exception as error:
        text = str(error) if isinstance(error, RankjuryError) else f"{type(error).__name__}: {error}"
        message = " ".join(text.split())[:_LONGEST_MESSAGE]
        return Trial(dict(params), None, message, None if fitted is None else fitted - began)
    return Trial(dict(params), values, None, fitted - began, perf_counter() - fitted, notes)
