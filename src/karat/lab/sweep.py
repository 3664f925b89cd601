"""A grid of settings of one index, measured: each build once, with all its searches; needless ones left out.

What is measured is kept in a journal as soon as it is known. A later call with the same data and options takes it from
there, builds only what still has something to measure, and tries anew what failed.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from json import dumps, loads
from time import perf_counter

from karat.engines import Params, Setting
from karat.errors import DataError, KaratError, UsageError
from karat.lab.bench import ROUNDS, WARM_UP, Bench, Built
from karat.lab.grid import Grid, key_of, spelled
from karat.lab.identity import identity_of
from karat.lab.journal import Journal, digest
from karat.lab.memory import Memory
from karat.lab.outcome import SCHEMA, Choice, Cost, Sweep
from karat.lab.points import Point
from karat.lab.pruning import needless

__all__ = ["SCHEMA", "Choice", "Cost", "Point", "Progress", "Sweep", "sweep"]

Progress = Callable[[str, int, int], None]
"""Told what is being done, how many points and builds are done, and of how many."""
_LONGEST_MESSAGE = 500
_SILENT = 5.0
"""Seconds without an answer after which a search is suspected to be lost."""


def sweep(
    bench: Bench,
    grid: Grid,
    *,
    name: str,
    target: float | None = None,
    limit_p95_ms: float | None = None,
    journal: Journal | None = None,
    rounds: int = ROUNDS,
    warm_up: int = WARM_UP,
    concurrency: int = 1,
    progress: Progress | None = None,
    prune: bool = True,
) -> Sweep:
    """Measure every setting of the grid that ``pruning`` does not show to be needless.

    An engine that fails loses the rest of that build, and the sweep goes on with the next; a setting that an engine
    refuses loses only itself. Both are in the result as failed, with the reason.
    """
    grid.check(bench.kind)
    if rounds < 1:
        raise UsageError(f"found {rounds} rounds", expected="1 or more: a sweep takes times")
    timed = {"rounds": rounds, "warm_up": warm_up, "concurrency": concurrency}
    about = identity_of(bench, **timed)
    run = _Run(bench, grid, name, Memory(journal, name, about), timed, progress or (lambda what, done, of: None), prune)
    points = run.points()
    return Sweep(
        name, bench.engine, bench.metric, bench.k, len(bench.corpus), bench.corpus.dimensions, len(bench.queries),
        tuple(points), target, limit_p95_ms, bench.how.level if bench.how else None, timed, about,
        (*run.memory.notes(), *run.notes), run.memory.taken,
    )  # fmt: skip


@dataclass(frozen=True)
class _Part:
    """One build: what to search with, and the points that are known, both by the digest of their settings."""

    build: dict[str, Setting]
    searches: dict[str, dict[str, Setting]]
    found: dict[str, Point]


class _Run:
    """One sweep under way."""

    def __init__(
        self, bench: Bench, grid: Grid, name: str, memory: Memory, timed: Mapping[str, int], progress: Progress,
        prune: bool,
    ) -> None:  # fmt: skip
        self.bench, self.grid, self.name, self.memory = bench, grid, name, memory
        self.rounds, self.warm_up, self.concurrency = timed["rounds"], timed["warm_up"], timed["concurrency"]
        self.progress, self.prune = progress, prune
        self.known = bench.kind.searches
        self.notes: list[str] = []
        self.done = 0
        self.of = len(grid) + grid.number_of_builds

    def points(self) -> list[Point]:
        """All, in the order of the grid; what an earlier call measured counts as done from the beginning."""
        parts = [self._part(build) for build in self.grid.builds()]
        self.done = sum(len(part.found) for part in parts)
        self.progress(self.name, self.done, self.of)
        if any(next(self._left(part), None) for part in parts):
            self.bench.truth()  # what is wrong with the data is no fault of an engine
        points = [point for part in parts for point in self._of_build(part)]
        self.progress(self.name, self.done, self.of)
        return points

    def _part(self, build: dict[str, Setting]) -> _Part:
        key = key_of(build, self.bench.kind.builds)
        searches = {digest([key, key_of(search, self.known)]): search for search in self.grid.searches(self.known)}
        return _Part(build, searches, {one: point for one in searches if (point := self.memory.find(one)) is not None})

    def _of_build(self, part: _Part) -> list[Point]:
        """It is built only where something is left to measure."""
        if any(self._left(part)):
            if part.found:
                self.notes.append(f"{spelled(part.build)} was built again for the searches that were left")
            self._measure(part)
        else:
            self.done += 1
        points = [part.found.get(setting) or self._pruned(part, setting) for setting in part.searches]
        self.done += len(points) - len(part.found)
        return [point for point in points if point is not None]

    def _left(self, part: _Part) -> Iterator[str]:
        """What must be measured, cheap settings first; asked anew after each, as that may make others needless."""
        for setting in part.searches:
            if setting not in part.found and self._pruned(part, setting) is None:
                yield setting

    def _pruned(self, part: _Part, setting: str) -> Point | None:
        """The setting as a pruned point, where it need not be measured."""
        search = part.searches[setting]
        known = [part.found[one] for one in part.searches if one in part.found]
        by = needless(search, known, self.known) if self.prune else None
        if by is None:
            return None
        finds = "finds everything" if by.recall == 1.0 else "finds as much as it could"
        because = f"{spelled(by.search)} {finds}, and is no slower"
        return Point(part.build, search, "pruned", because=because, by=by.search)

    def _measure(self, part: _Part) -> None:
        """Fill in what must be measured; where the engine fails, what is left has failed too."""
        self._tell(part, "building")
        try:
            built = self.bench.build(part.build)
        except Exception as error:
            why = f"could not be built: {_told(error)}"
            self.done += 1
        else:
            self.done += 1
            try:
                why = self._search_all(built, part)
            finally:
                self._close(built, part)
        for setting in list(self._left(part)):
            part.found[setting] = _failed(part, setting, why)
            self.done += 1

    def _search_all(self, built: Built, part: _Part) -> str:
        """Why it ended before the last."""
        for setting in self._left(part):
            search = part.searches[setting]
            self._tell(part, spelled(search))
            try:
                point = self._point(built, part.build, search)
            except Exception as error:
                part.found[setting] = _failed(part, setting, _told(error))
                self.done += 1
                if not isinstance(error, UsageError):
                    return f"not tried after {spelled(search)} failed: {_told(error)}"
            else:
                self.memory.keep(setting, point)
                part.found[setting] = point
                self.notes += [note for note in point.facts.get("notes") or () if note not in self.notes]
                self.done += 1
        return ""

    def _point(self, built: Built, build: Params, search: Params) -> Point:
        recall = built.recall(search)
        failed = len(built.failures)
        latency = built.latency(
            search, rounds=self.rounds, warm_up=self.warm_up, concurrency=self.concurrency,
            progress=_watch(built, search),
        )  # fmt: skip
        if latency.failed and not (latency.n and built.engine.answers_singly):
            why = f": {latency.messages[0][0]}" if latency.messages else ""
            raise DataError(f"{latency.failed:,} of {latency.n + latency.failed:,} timed queries failed{why}")
        return Point.measured(
            build, search, recall.as_json(), latency.as_json(), build_seconds=built.seconds, size_bytes=built.size,
            failed_queries=failed, facts=loads(dumps(built.engine.facts(), default=str)),
        )  # fmt: skip

    def _close(self, built: Built, part: _Part) -> None:
        """What was measured counts, even where the engine cannot be closed."""
        try:
            built.close()
        except Exception as error:
            self.notes.append(f"{spelled(part.build)} could not be closed: {_told(error)}")

    def _tell(self, part: _Part, what: str) -> None:
        self.progress(f"{self.name} {spelled(part.build)}: {what}", self.done, self.of)


def _failed(part: _Part, setting: str, why: str) -> Point:
    return Point(part.build, part.searches[setting], "failed", because=why)


def _watch(built: Built, search: Params) -> Callable[[int, int], None]:
    """End the loop where an engine is lost: it would wait for every single query in vain.

    When nothing was heard for long, the engine is asked once more; what it raises ends the loop. Engines of which every
    query is a request of its own may fail now and then, and are left alone.
    """
    heard = perf_counter()

    def told(done: int, of: int) -> None:
        nonlocal heard
        if perf_counter() - heard > _SILENT and done < of and not built.engine.answers_singly:
            built.search(search)
        heard = perf_counter()

    return told


def _told(error: Exception) -> str:
    """In one line."""
    text = str(error) if isinstance(error, KaratError) else f"{type(error).__name__}: {error}"
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[:_LONGEST_MESSAGE]} …"
