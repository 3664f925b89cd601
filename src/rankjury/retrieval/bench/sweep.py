"""Sweep over a grid of settings of one index: each build once, with all its searches; dominated ones are pruned.

Then the settings that meet the target are timed again, in interleaved rounds, to find the cheapest of them.

Points are stored in a journal as soon as they are measured. A later call with the same data and options reads them,
builds only what still has something to measure, and tries again what failed. A setting that the engine refuses as
impossible is stored as skipped, and not tried again.

As a parameter with ``monotonic_recall`` grows, recall does not fall and time does not shorten. So among settings of one
build that differ in such parameters only, a setting finds no more than any measured one above it, and takes no less
time than any below it. If a measured one below already finds as much, the setting is dominated: it can be neither on
the frontier (but for noise) nor the cheapest. That is the case above a setting that finds everything, and between two
that find equally much.

Settings above one that meets the target are not pruned: they may find more, and belong to the frontier. Builds are
never compared with each other: what a larger graph costs is stated nowhere.
"""

import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import scrypt, sha256
from importlib.metadata import PackageNotFoundError, requires, version
from itertools import accumulate
from json import dumps, loads
from time import perf_counter
from typing import Any

import numpy as np

from rankjury.core.hashing import hash_json, hash_vectors
from rankjury.core.journal import Journal, JournalScope
from rankjury.core.params import Param, Params, Setting
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.secrets import Masker
from rankjury.core.text import plural
from rankjury.core.version import __version__
from rankjury.errors import DataError, ImpossibleSetting, RankjuryError, UsageError
from rankjury.retrieval.bench.benchmark import ROUNDS, BuiltIndex, IndexBenchmark
from rankjury.retrieval.bench.grid import SweepGrid, format_params, is_at_most, params_key
from rankjury.retrieval.bench.latency import Latency, summarise
from rankjury.retrieval.bench.loops import WARM_UP
from rankjury.retrieval.bench.sweep_result import (
    COSTS,
    PAIRED_ROUNDS,
    Cost,
    PairedTimes,
    Status,
    SweepPoint,
    SweepResult,
    setting_key,
)
from rankjury.retrieval.engines.base import Engine


def find_dominating(search: Params, measured: Sequence[SweepPoint], known: Mapping[str, Param]) -> SweepPoint | None:
    """Return the measured point of the same build that dominates this setting; None: it must be measured."""
    sound = [point for point in measured if point.comparable]
    ceiling = min((point.recall or 0.0 for point in sound if is_at_most(search, point.search, known)), default=1.0)
    for point in sound:
        if (point.recall or 0.0) >= ceiling and is_at_most(point.search, search, known):
            return point
    return None


_SILENT = 5.0
"""Seconds without an answer after which the engine is checked."""
_MAX_OPEN, _MAX_OPEN_BYTES = 8, 4_000_000_000
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

    If an engine fails, the remaining settings of that build are in the result as failed, with the reason, and the sweep
    goes on with the next build. Only the setting itself is skipped if the engine refuses it as impossible.

    With a target and ``cheapest`` P95, the settings that meet it are then compared in interleaved rounds, with about as
    many queries each as they were measured with before.
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
    return replace(whole, notes=(*run.stored.notes(_CONDITION_NAMES), *run.notes), resumed=run.resumed)


@dataclass(frozen=True)
class _Part:
    """One build: its search settings and its known points, both by the hash of the setting."""

    build: dict[str, Setting]
    searches: dict[str, dict[str, Setting]]
    points: dict[str, SweepPoint]


@dataclass
class _Run:
    """State of a running sweep."""

    bench: IndexBenchmark
    grid: SweepGrid
    whole: SweepResult
    """The result without points."""
    stored: JournalScope
    progress: Progress
    prune: bool
    compares: bool
    """Whether the settings that meet the target are compared."""
    open: dict[str, tuple[BuiltIndex, Params]] = field(default_factory=dict)
    """Indexes kept open for comparison, by the key of their build."""
    notes: list[str] = field(default_factory=list)
    done: int = 0
    resumed: int = 0

    def points(self) -> list[SweepPoint]:
        """Return all points in the order of the grid, and build only where a setting must be measured.

        Points of an earlier call count as done.
        """
        parts = [self._part(build) for build in self.grid.builds()]
        self.done = sum(len(part.points) for part in parts)
        self._show()
        if any(next(self._left(part), None) for part in parts):
            self.bench.truth()  # faults of the data are raised here, not as failures of an engine
        points: list[SweepPoint] = []
        for part in parts:
            if any(self._left(part)):
                if part.points:
                    self.notes.append(f"{format_params(part.build)} was built again for the searches that were left")
                self._measure(part)
            else:
                self.done += 1
            settled = [part.points.get(setting) or self._pruned(part, setting) for setting in part.searches]
            self.done += len(settled) - len(part.points)
            points += [point for point in settled if point is not None]
            self.close_all_but(self._compared(points))
        self._show()
        return points

    def _show(self, what: str = "") -> None:
        total = len(self.grid) + self.grid.number_of_builds + self.compares
        self.progress.update(f"{self.whole.name}{what}", self.done, total)

    def _part(self, build: dict[str, Setting]) -> _Part:
        key, known = self._key(build), self.bench.kind.search_params
        searches = {hash_json([key, params_key(search, known)]): search for search in self.grid.searches(known)}
        points = {}
        for setting in searches:
            with suppress(KeyError, TypeError, ValueError):  # a line that was tampered with is measured again
                if (form := self.stored.find(setting)) is not None:
                    points[setting] = SweepPoint.from_json(form)
        self.resumed += sum(point.status == "measured" for point in points.values())
        return _Part(build, searches, points)

    def _left(self, part: _Part) -> Iterator[str]:
        """Yield the settings to measure, cheap ones first; a measured point may prune later ones."""
        for setting in part.searches:
            if setting not in part.points and self._pruned(part, setting) is None:
                yield setting

    def _pruned(self, part: _Part, setting: str) -> SweepPoint | None:
        """Return the setting as a pruned point; None if it must be measured."""
        search = part.searches[setting]
        measured = [part.points[key] for key in part.searches if key in part.points]
        by = find_dominating(search, measured, self.bench.kind.search_params) if self.prune else None
        if by is None:
            return None
        finds = "finds everything" if by.recall == 1.0 else "finds as much as it could"
        because = f"{format_params(by.search)} {finds}, and is no slower"
        return SweepPoint(part.build, search, "pruned", because=because, by=by.search)

    def _measure(self, part: _Part) -> None:
        """Measure the settings of a build; if the engine fails, the remaining settings have failed too."""
        self._show(f" {format_params(part.build)}: building")
        why: Exception | str
        try:
            built = self.bench.build(part.build)
        except Exception as error:
            self.done += 1
            why = error if isinstance(error, ImpossibleSetting) else f"could not be built: {_format_error(error)}"
        else:
            self.done += 1
            self.open[self._key(part.build)] = built, part.build
            why = self._search_all(built, part)
            if not self.compares or next(self._left(part), None) is not None:
                self._close_build(self._key(part.build))
        for setting in list(self._left(part)):
            self._refuse(part, setting, why)

    def _search_all(self, built: BuiltIndex, part: _Part) -> str:
        """Measure all search settings; return the reason if it ended early."""
        for setting in self._left(part):
            search = part.searches[setting]
            self._show(f" {format_params(part.build)}: {format_params(search)}")
            try:
                recall = built.recall(search)
                failed = len(built.failures)
                form = {
                    "build": part.build,
                    "search": search,
                    "status": "measured",
                    "recall": recall.to_json(),
                    "latency": self._time(built, search).to_json(),
                    "failed_queries": failed,
                    "build_seconds": built.seconds,
                    "size_bytes": built.engine.size(),
                    "facts": loads(dumps(built.engine.metadata(), default=str)),
                }
                point = SweepPoint.from_json(form)
            except Exception as error:
                self._refuse(part, setting, error)
                if not isinstance(error, UsageError):
                    return f"not tried after {format_params(search)} failed: {_format_error(error)}"
            else:
                self.stored.add(setting, point.to_json())
                part.points[setting] = point
                self.notes += [note for note in point.facts.get("notes") or () if note not in self.notes]
                self.done += 1
        return ""

    def _refuse(self, part: _Part, setting: str, why: Exception | str) -> None:
        """Record a setting that failed; one that the engine refuses for good is skipped, also by later sweeps."""
        status: Status = "skipped" if isinstance(why, ImpossibleSetting) else "failed"
        because = why if isinstance(why, str) else _format_error(why)
        part.points[setting] = SweepPoint(part.build, part.searches[setting], status, because=because)
        if status == "skipped":
            self.stored.add(setting, part.points[setting].to_json())
        self.done += 1

    def _time(self, built: BuiltIndex, search: Params, total: int | None = None, seed: int = 0) -> Latency:
        """Time ``total`` queries (None: all, in as many rounds as the sweep has) in an order drawn by the seed."""
        options: dict[str, Any] = {**self.whole.timed, "total": total, "seed": seed}
        latency = summarise(built.timed(search, progress=_watch(built, search), **options))
        if latency.failed and not (latency.n and built.engine.one_request_per_query):
            why = f": {latency.messages[0].message}" if latency.messages else ""
            raise DataError(f"{latency.failed:,} of {latency.n + latency.failed:,} timed queries failed{why}")
        return latency

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
        keys = sorted(setting_key(point.build, point.search) for point in candidates)
        times, setting = None, hash_json(["comparison", *keys])
        with suppress(KeyError, TypeError, ValueError):
            form = self.stored.find(setting, noted=False) if len(candidates) > 1 else None
            times = None if form is None else PairedTimes.from_json(form["comparison"])
        if times is None and len(candidates) > 1:
            try:
                times = self._measure_times(candidates)
                self.stored.add(setting, {"comparison": times.to_json()})
            except Exception as error:
                self.notes.append(f"the settings that meet the target could not be compared: {_format_error(error)}")
        self.done += 1
        self._show()
        return times

    def _measure_times(self, candidates: Sequence[SweepPoint]) -> PairedTimes:
        """Time all candidates in interleaved rounds; in each, all answer the same queries, one after the other."""
        for point in candidates:
            key = self._key(point.build)
            if key not in self.open:
                self._show(f" {point.build_title}: building, to be compared")
                self.open[key] = self.bench.build(point.build), point.build
                self.notes.append(f"{point.build_title} was built again to be compared")
        n, queries = len(candidates), -(-self.whole.timed["rounds"] * len(self.bench.queries) // PAIRED_ROUNDS)
        p95_ms = np.empty((n, PAIRED_ROUNDS))
        for number in range(PAIRED_ROUNDS):
            self._show(f": comparing {n} settings, round {number + 1} of {PAIRED_ROUNDS}")
            for place in np.random.default_rng((number, n)).permutation(n).tolist():
                point = candidates[place]
                built, _ = self.open[self._key(point.build)]
                p95_ms[place, number] = self._time(built, point.search, queries, number).p95.ms
        settings = tuple((point.build, point.search) for point in candidates)
        return PairedTimes(settings, tuple(map(tuple, p95_ms.tolist())), queries)

    def _compared(self, points: Sequence[SweepPoint]) -> list[str]:
        """Return the builds with settings that meet the target, lowest P95 first, as far as they fit in memory."""
        sizes: dict[str, int] = {}
        for point in sorted(replace(self.whole, points=tuple(points)).meeting(), key=COSTS["p95"]):
            sizes.setdefault(self._key(point.build), point.size_bytes or 0)
        totals = zip(sizes, accumulate(sizes.values()), strict=True)
        return [key for place, (key, total) in enumerate(totals) if place < 2 or total <= _MAX_OPEN_BYTES][:_MAX_OPEN]

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
            self.notes.append(f"{format_params(build)} could not be closed: {_format_error(error)}")


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


def _format_error(error: Exception) -> str:
    """Return the error in one line."""
    text = str(error) if isinstance(error, RankjuryError) else f"{type(error).__name__}: {error}"
    line = " ".join(text.split())
    return line if len(line) <= 500 else f"{line[:500]} …"


_CONDITION_NAMES = {
    "corpus": "the items' vectors",
    "order": "the items' order",
    "queries": "the queries' vectors",
    "texts": "the queries' texts",
    "settings": "where the engine is",
}
"""Conditions in words, where the key does not say it."""


def sweep_conditions(bench: IndexBenchmark, **timed: int) -> dict[str, Any]:
    """Return the conditions of a sweep: everything but the settings that determines its values, without secrets.

    Sweeps of equal conditions share points. They are stored with every point, so what is long is hashed.
    """
    filters = [str(filter_) for filter_ in bench.filters or ()] if any(bench.filters or ()) else None
    return {
        "engine": bench.engine,
        "metric": bench.metric,
        "settings": _hash_settings(bench),
        "k": bench.k,
        "corpus": hash_vectors(bench.corpus),
        "order": _hash("\0".join(map(str, bench.corpus.ids)).encode()),
        "queries": hash_vectors(bench.queries),
        "texts": None if bench.texts is None else _hash(dumps(list(bench.texts)).encode()),
        "filters": None if filters is None else _hash(dumps(filters).encode()),
        "attributes": None if bench.attributes is None else _hash(bench.attributes.write_csv().encode()),
        "own": None if bench.own is None else _hash(np.asarray(bench.own, dtype=np.int64).tobytes()),
        "resampling": None if bench.resampling is None else bench.resampling.to_json(),
        **timed,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "versions": library_versions(bench.kind),
    }


def library_versions(engine: type[Engine]) -> dict[str, str]:
    """Return the versions of rankjury, NumPy and the libraries of the engine's extra."""
    libraries, needed = ["numpy"], list[str]()
    with suppress(PackageNotFoundError):
        needed = requires("rankjury") or []
    for line in needed:  # such as psycopg[binary]>=3.2; extra == 'pgvector'
        name, _, marker = line.partition(";")
        if engine.extra is not None and re.search(rf"extra == ['\"]{re.escape(engine.extra)}['\"]", marker):
            libraries.append(re.split(r"[^\w.-]", name.strip(), maxsplit=1)[0])
    versions = {"rankjury": __version__}
    for library in libraries:
        with suppress(PackageNotFoundError):
            versions[library] = version(library)
    return versions


def _hash_settings(bench: IndexBenchmark) -> str:
    """Return a hash of the settings without folder and secrets; a slow hash if they may hide a secret in another."""
    lenient, strict = (
        {
            name: str(masker.setting(name, value))
            for name, value in (bench.settings or {}).items()
            if name != "folder" and not re.search("key|token|password|secret|header", name)
        }
        for masker in (Masker(lenient=True), Masker())
    )
    shown = dumps(lenient, sort_keys=True).encode()
    return _hash(shown) if lenient == strict else scrypt(shown, salt=b"rankjury", n=2**14, r=8, p=1, dklen=32).hex()


def _hash(octets: bytes) -> str:
    return sha256(octets).hexdigest()
