"""Sweep over a grid of settings of one index: each build once, with all its searches; dominated ones are pruned.

Then the settings that meet the target are timed again, in interleaved rounds, to find the cheapest of them.

What is measured is kept in a journal as soon as it is known. A later call with the same data and options takes it from
there, builds only what still has something to measure, and tries anew what failed. A setting that the engine refuses as
impossible is kept as skipped, and not tried again.

Stated of a parameter with ``monotonic_recall``: as it grows, recall does not fall and time does not shorten. So within
one build, of settings that differ in such parameters only:

- a setting can find no more than any measured one above it, and no more than everything (recall 1);
- it takes no less time than any below it.

Where a measured one below already finds as much as the setting can find at most, the setting is dominated: it finds no
more and is no quicker, whatever it would measure. That is the case above a setting that finds everything, and between
two that find equally much. Such a point can be neither on the frontier (but for noise) nor the cheapest.

What is not pruned: settings above one that meets the target. They are no cheaper, but may find more, and belong to the
frontier. Nor are builds ever compared with each other: what a larger graph costs is stated nowhere.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import accumulate
from json import dumps, loads
from time import perf_counter

import numpy as np

from rankjury.core.hashing import hash_json
from rankjury.core.journal import Journal, JournalScope
from rankjury.core.params import Param, Params, Setting
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.text import plural
from rankjury.errors import DataError, ImpossibleSetting, RankjuryError, UsageError
from rankjury.retrieval.bench.benchmark import ROUNDS, WARM_UP, BuiltIndex, IndexBenchmark
from rankjury.retrieval.bench.grid import SweepGrid, format_params, is_at_most, params_key
from rankjury.retrieval.bench.latency import summarise
from rankjury.retrieval.bench.sweep_journal import WORDS, sweep_conditions
from rankjury.retrieval.bench.sweep_result import (
    COSTS,
    PAIRED_ROUNDS,
    Cost,
    PairedTimes,
    SweepPoint,
    SweepResult,
    setting_key,
)


def find_dominating(search: Params, measured: Sequence[SweepPoint], known: Mapping[str, Param]) -> SweepPoint | None:
    """Return the measured point of the same build that dominates this setting; None: it must be measured."""
    sound = [point for point in measured if point.comparable]
    ceiling = min((point.recall or 0.0 for point in sound if is_at_most(search, point.search, known)), default=1.0)
    for point in sound:
        if (point.recall or 0.0) >= ceiling and is_at_most(point.search, search, known):
            return point
    return None


_LONGEST_MESSAGE = 500
_SILENT = 5.0
"""Seconds without an answer after which the engine is checked."""
_MOST_OPEN, _MOST_BYTES = 8, 4_000_000_000
"""Limits on the indexes that are kept open for comparison: number and total bytes (at least two indexes)."""


def run_sweep(
    bench: IndexBenchmark,
    grid: SweepGrid,
    *,
    name: str,
    target: float | None = None,
    limit_p95_ms: float | None = None,
    journal: Journal | None = None,
    rounds: int = ROUNDS,
    warm_up: int = WARM_UP,
    concurrency: int = 1,
    progress: Progress = NO_PROGRESS,
    prune: bool = True,
    cheapest: Cost = "p95",
) -> SweepResult:
    """Measure every setting of the grid that is not dominated by a measured one.

    An engine that fails loses the rest of that build, and the sweep goes on with the next; both are in the result as
    failed, with the reason. A setting that the engine refuses as impossible loses only itself, and is skipped for good.

    Where there is a target, and ``cheapest`` is P95, the settings that meet it are then compared in interleaved rounds,
    with about as many queries each as they were measured with before.
    """
    grid.check(bench.kind)
    if rounds < 1:
        raise UsageError(f"found {rounds} rounds", expected="1 or more: a sweep takes times")
    timed = {"rounds": rounds, "warm_up": warm_up, "concurrency": concurrency}
    about = sweep_conditions(bench, **timed)
    whole = SweepResult(
        name, bench.engine, bench.metric, bench.k, len(bench.corpus), bench.corpus.dimensions, len(bench.queries),
        (), target, limit_p95_ms, bench.resampling.level if bench.resampling else None, timed, about,
    )  # fmt: skip
    compares = whole.aims and cheapest == "p95"
    run = _Run(bench, grid, whole, JournalScope(journal, name, about), progress, prune, compares)
    try:
        whole = replace(whole, points=tuple(run.points()))
        whole = replace(whole, times=run.times(whole)) if compares else whole
    finally:
        run.close_all_but(())
    return replace(whole, notes=(*run.stored.notes(WORDS), *run.notes), resumed=run.resumed)


@dataclass(frozen=True)
class _Part:
    """One build: its search settings and its known points, both by the hash of the setting."""

    build: dict[str, Setting]
    searches: dict[str, dict[str, Setting]]
    found: dict[str, SweepPoint]


class _Run:
    """State of a running sweep."""

    def __init__(
        self,
        bench: IndexBenchmark,
        grid: SweepGrid,
        whole: SweepResult,
        stored: JournalScope,
        progress: Progress,
        prune: bool,
        compares: bool,
    ) -> None:
        self.bench, self.grid, self.name, self.stored = bench, grid, whole.name, stored
        self.rounds, self.warm_up, self.concurrency = (whole.timed[key] for key in ("rounds", "warm_up", "concurrency"))
        self.progress, self.prune = progress, prune
        self.whole, self.compares = whole, compares
        """The result without points; whether the settings that meet the target are compared."""
        self.open: dict[str, tuple[BuiltIndex, Params]] = {}
        """Indexes kept open for comparison, by the key of their build."""
        self.known = bench.kind.search_params
        self.notes: list[str] = []
        self.done = self.resumed = 0
        self.of = len(grid) + grid.number_of_builds + compares

    def points(self) -> list[SweepPoint]:
        """Return all points in the order of the grid; points of an earlier call count as done."""
        parts = [self._part(build) for build in self.grid.builds()]
        self.done = sum(len(part.found) for part in parts)
        self.progress.update(self.name, self.done, self.of)
        if any(next(self._left(part), None) for part in parts):
            self.bench.truth()  # faults of the data are raised here, not as failures of an engine
        points: list[SweepPoint] = []
        for part in parts:
            points += self._of_build(part)
            self.close_all_but(self._compared(points))
        self.progress.update(self.name, self.done, self.of)
        return points

    def _part(self, build: dict[str, Setting]) -> _Part:
        key = params_key(build, self.bench.kind.build_params)
        searches = {
            hash_json([key, params_key(search, self.known)]): search for search in self.grid.searches(self.known)
        }
        found = {setting: point for setting in searches if (point := self._stored_point(setting)) is not None}
        self.resumed += sum(point.status == "measured" for point in found.values())
        return _Part(build, searches, found)

    def _stored_point(self, setting: str) -> SweepPoint | None:
        with suppress(KeyError, TypeError, ValueError):  # a line that was tampered with is measured again
            form = self.stored.find(setting)
            return None if form is None else SweepPoint.from_json(form)
        return None

    def _of_build(self, part: _Part) -> list[SweepPoint]:
        """Return the points of a build; it is built only if a setting must be measured."""
        if any(self._left(part)):
            if part.found:
                self.notes.append(f"{format_params(part.build)} was built again for the searches that were left")
            self._measure(part)
        else:
            self.done += 1
        points = [part.found.get(setting) or self._pruned(part, setting) for setting in part.searches]
        self.done += len(points) - len(part.found)
        return [point for point in points if point is not None]

    def _left(self, part: _Part) -> Iterator[str]:
        """Yield the settings to measure, cheap ones first; a measured point may prune later ones."""
        for setting in part.searches:
            if setting not in part.found and self._pruned(part, setting) is None:
                yield setting

    def _pruned(self, part: _Part, setting: str) -> SweepPoint | None:
        """Return the setting as a pruned point; None if it must be measured."""
        search = part.searches[setting]
        known = [part.found[key] for key in part.searches if key in part.found]
        by = find_dominating(search, known, self.known) if self.prune else None
        if by is None:
            return None
        finds = "finds everything" if by.recall == 1.0 else "finds as much as it could"
        because = f"{format_params(by.search)} {finds}, and is no slower"
        return SweepPoint(part.build, search, "pruned", because=because, by=by.search)

    def _measure(self, part: _Part) -> None:
        """Measure the settings of a build; if the engine fails, the remaining settings have failed too."""
        self._tell(part, "building")
        try:
            built = self.bench.build(part.build)
        except Exception as error:
            why = f"could not be built: {_told(error)}"
            self.done += 1
            if isinstance(error, ImpossibleSetting):
                for setting in list(self._left(part)):
                    self._skip(part, setting, error)
        else:
            self.done += 1
            self.open[self._key(part.build)] = built, part.build
            why = self._search_all(built, part)
            if not self.compares or next(self._left(part), None) is not None:
                self._close_build(self._key(part.build))
        for setting in list(self._left(part)):
            part.found[setting] = SweepPoint(part.build, part.searches[setting], "failed", because=why)
            self.done += 1

    def _search_all(self, built: BuiltIndex, part: _Part) -> str:
        """Measure all search settings; return the reason if it ended early."""
        for setting in self._left(part):
            search = part.searches[setting]
            self._tell(part, format_params(search))
            try:
                point = self._point(built, part.build, search)
            except ImpossibleSetting as error:
                self._skip(part, setting, error)
            except Exception as error:
                part.found[setting] = SweepPoint(part.build, search, "failed", because=_told(error))
                self.done += 1
                if not isinstance(error, UsageError):
                    return f"not tried after {format_params(search)} failed: {_told(error)}"
            else:
                self.stored.add(setting, point.to_json())
                part.found[setting] = point
                self.notes += [note for note in point.facts.get("notes") or () if note not in self.notes]
                self.done += 1
        return ""

    def _skip(self, part: _Part, setting: str, error: ImpossibleSetting) -> None:
        point = SweepPoint(part.build, part.searches[setting], "skipped", because=_told(error))
        self.stored.add(setting, point.to_json())
        part.found[setting] = point
        self.done += 1

    def _point(self, built: BuiltIndex, build: Params, search: Params) -> SweepPoint:
        recall = built.recall(search)
        failed = len(built.failures)
        timed = built.timed(
            search, rounds=self.rounds, warm_up=self.warm_up, concurrency=self.concurrency,
            progress=_watch(built, search),
        )  # fmt: skip
        latency = summarise(timed)
        if latency.failed and not (latency.n and built.engine.one_request_per_query):
            why = f": {latency.messages[0].message}" if latency.messages else ""
            raise DataError(f"{latency.failed:,} of {latency.n + latency.failed:,} timed queries failed{why}")
        return SweepPoint.measured(
            build, search, recall.to_json(), latency.to_json(), build_seconds=built.seconds, size_bytes=built.size,
            failed_queries=failed, facts=loads(dumps(built.engine.metadata(), default=str)),
        )  # fmt: skip

    def times(self, whole: SweepResult) -> PairedTimes | None:
        """Compare the settings that meet the target; None where there are not two, or they cannot be compared."""
        builds = self._compared(whole.points)
        meeting = whole.meeting()
        candidates = [point for point in meeting if self._key(point.build) in builds]
        if len(candidates) < len(meeting):
            left = len(meeting) - len(candidates)
            self.notes.append(
                f"{plural(left, 'setting', 'settings')} that met the target took no part in the interleaved rounds, "
                f"for which the indexes of only {len(builds)} builds are held together (those with the lowest p95)"
            )
        found, setting = None, _together(candidates)
        with suppress(KeyError, TypeError, ValueError):
            form = self.stored.find(setting, noted=False) if len(candidates) > 1 else None
            found = None if form is None else PairedTimes.from_json(form["comparison"])
        if found is None and len(candidates) > 1:
            try:
                found = self._measure_times(candidates)
                self.stored.add(setting, {"comparison": found.to_json()})
            except Exception as error:
                self.notes.append(f"the settings that meet the target could not be compared: {_told(error)}")
        self.done += 1
        self.progress.update(self.name, self.done, self.of)
        return found

    def _measure_times(self, candidates: Sequence[SweepPoint]) -> PairedTimes:
        for point in candidates:
            key = self._key(point.build)
            if key not in self.open:
                self.progress.update(f"{self.name} {point.build_title}: building, to be compared", self.done, self.of)
                self.open[key] = self.bench.build(point.build), point.build
                self.notes.append(f"{point.build_title} was built again to be compared")
        about = f"{self.name}: comparing {len(candidates)} settings"
        return measure_paired(
            [(self.open[self._key(point.build)][0], point) for point in candidates],
            asked=-(-self.rounds * len(self.bench.queries) // PAIRED_ROUNDS), warm_up=self.warm_up,
            concurrency=self.concurrency, watch=_watch,
            progress=Progress(lambda what, done, of: self.progress.update(f"{about}, {what}", self.done, self.of)),
        )  # fmt: skip

    def _compared(self, points: Sequence[SweepPoint]) -> list[str]:
        """Return the builds with settings that meet the target, lowest P95 first, as far as they fit in memory."""
        sizes: dict[str, int] = {}
        for point in sorted(replace(self.whole, points=tuple(points)).meeting(), key=COSTS["p95"]):
            sizes.setdefault(self._key(point.build), point.size_bytes or 0)
        totals = accumulate(sizes.values())
        held = [place < 2 or total <= _MOST_BYTES for place, total in enumerate(totals)]
        return [key for key, fits in zip(sizes, held, strict=True) if fits][:_MOST_OPEN]

    def _key(self, build: Params) -> str:
        return params_key(build, self.bench.kind.build_params)

    def close_all_but(self, keys: Sequence[str]) -> None:
        for key in [key for key in self.open if key not in keys]:
            self._close_build(key)

    def _close_build(self, key: str) -> None:
        """Close an index; points stay valid even if the engine cannot be closed."""
        built, build = self.open.pop(key)
        try:
            built.close()
        except Exception as error:
            self.notes.append(f"{format_params(build)} could not be closed: {_told(error)}")

    def _tell(self, part: _Part, what: str) -> None:
        self.progress.update(f"{self.name} {format_params(part.build)}: {what}", self.done, self.of)


def _watch(built: BuiltIndex, search: Params) -> Progress:
    """Return a progress callback that ends the loop if the engine is lost, instead of waiting for every query.

    After a long silence the engine is searched once more; an error ends the loop. Engines that answer each query by a
    request of its own may fail now and then and are not checked.
    """
    heard = perf_counter()

    def check(what: str, done: int, of: int) -> None:
        nonlocal heard
        if perf_counter() - heard > _SILENT and done < of and not built.engine.one_request_per_query:
            built.search(search)
        heard = perf_counter()

    return Progress(check)


def _told(error: Exception) -> str:
    """Return the error in one line."""
    text = str(error) if isinstance(error, RankjuryError) else f"{type(error).__name__}: {error}"
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[:_LONGEST_MESSAGE]} …"


def measure_paired(
    candidates: Sequence[tuple[BuiltIndex, SweepPoint]],
    *,
    asked: int,
    warm_up: int,
    concurrency: int,
    progress: Progress,
    watch: Callable[[BuiltIndex, Params], Progress],
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


def _together(candidates: Sequence[SweepPoint]) -> str:
    return hash_json(["comparison", *sorted(setting_key(point.build, point.search) for point in candidates)])
