"""Fuzz harness: surfaces, cases that can be repeated by their number, and workers that survive what a case does.

A **surface** is one way into rankjury: a reader, a plan, a function of the API, a command. It has seeds, which are
small valid inputs, a mutation, and a call. A call may succeed or raise a RankjuryError; anything else is a **finding**:
another exception, a signal, a hang, more memory than ``MEMORY``, an open file or a file left behind.

Add a surface to a module named in ``MODULES``::

    def _seeds() -> list[Case]:
        return [Case({"run.csv": b"query_id,item_id,score\\nq,a,1\\n"})]

    def _mutate(rng: Random, case: Case) -> Case:
        return case.with_file("run.csv", mutators.mutate_text(rng, case.files["run.csv"]))

    def _call(case: Case) -> object:
        return read_run("run.csv")  # the files of the case are in the current folder

    register(Surface("run-csv", _seeds, _mutate, _call))

Seeds are made once in each worker and have to be the same each time. What is not a file, such as arguments, goes into
``Case.options`` as JSON values, so that a found case can be kept in ``found/``. The first cases of a surface are its
seeds as they are, which have to succeed. Case ``i`` depends on the surface's name, the seed and ``i`` alone, as long as
seeds and mutators stay as they are; a case that has to outlast them is kept as a file::

    make fuzz MINUTES=60                            every surface, on both cores
    make fuzz SURFACE=run-csv,gold CASES=1000 SEED=7
    python -m tests.fuzz SURFACE SEED CASE          repeat one case in this process, with its traceback
    python -m tests.fuzz SURFACE SEED CASE --keep "what is wrong with it"    write it to found/

A module with surfaces is imported in the workers alone: threads that Polars starts do not survive a fork, so workers
are spawned, and this module imports neither rankjury nor Polars at its top.
"""

from __future__ import annotations

import base64
import faulthandler
import gc
import json
import multiprocessing
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

__all__ = ["FOUND", "MODULES", "SURFACES", "Case", "Finding", "Outcome", "Surface", "Worker", "load", "register", "run"]

MODULES = (
    "tests.fuzz.readers",
    "tests.fuzz.plans",
    "tests.fuzz.targets",
    "tests.fuzz.archives",
    "tests.fuzz.commands",
    "tests.fuzz.api",
    "tests.fuzz.http",
    "tests.fuzz.services",
)
"""The modules that register surfaces."""
FOUND = Path(__file__).parent / "found"
LIMIT = 10.0
"""Seconds of a core that a case may take; on the clock, where others use the machine or it waits, it may be more."""
_PATIENCE = 4
"""How many times the limit a case may take on the clock."""
MEMORY = 4 << 30
"""Bytes of address space that a case may add to what its worker has at the start."""
GROWTH = 1 << 30
"""Bytes of memory that one case may add to the peak; inputs have a few kilobytes."""


@dataclass(frozen=True)
class Case:
    """An input: files by their name, and whatever else the call takes, as JSON values."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    def with_file(self, name: str, content: bytes) -> Case:
        """Return this case with other content of one file."""
        return replace(self, files={**self.files, name: content})

    def with_options(self, **options: Any) -> Case:
        """Return this case with other options."""
        return replace(self, options={**self.options, **options})

    def to_json(self) -> dict[str, Any]:
        """Return the case as JSON: content as text where it is UTF-8, as base64 where it is not."""
        return {"files": {name: _encoded(data) for name, data in self.files.items()}, "options": dict(self.options)}

    @staticmethod
    def from_json(given: Mapping[str, Any]) -> Case:
        """Return the case that ``as_json`` gave."""
        return Case({name: _decoded(data) for name, data in given["files"].items()}, given["options"])


def _encoded(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def _decoded(data: Mapping[str, str]) -> bytes:
    return data["text"].encode("utf-8") if "text" in data else base64.b64decode(data["base64"])


@dataclass(frozen=True)
class Surface:
    """A way into rankjury: valid inputs, how to damage one, and the call that has to cope with it."""

    name: str
    seeds: Callable[[], Sequence[Case]]
    mutate: Callable[[Random, Case], Case]
    call: Callable[[Case], object]
    writes: bool = False
    """Whether the call may leave files in the current folder; ``.part`` files are a finding anyway."""
    quick: int = 60
    """Cases in ``make test``."""
    limit: float = LIMIT

    def case(self, seed: int, number: int) -> Case:
        """Return one case: the seeds themselves first, then mutations of them."""
        seeds = _seeds_of(self)
        if number < len(seeds):
            return seeds[number]
        rng = Random(f"{self.name}/{seed}/{number}")
        return self.mutate(rng, rng.choice(seeds))


SURFACES: dict[str, Surface] = {}
_SEEDS: dict[str, Sequence[Case]] = {}


def register(surface: Surface) -> None:
    """Add a surface to the registry."""
    if surface.name in SURFACES:
        raise ValueError(f"duplicate surface {surface.name!r}")
    SURFACES[surface.name] = surface


def load(modules: Iterable[str] = MODULES) -> dict[str, Surface]:
    """Import the modules that register surfaces. This imports Polars: call it in workers, not in what starts them."""
    for name in modules:
        import_module(name)
    return SURFACES


def _seeds_of(surface: Surface) -> Sequence[Case]:
    if surface.name not in _SEEDS:
        _SEEDS[surface.name] = surface.seeds()
    return _SEEDS[surface.name]


@dataclass(frozen=True)
class Finding:
    """An outcome that is neither success nor a RankjuryError."""

    surface: str
    seed: int
    number: int
    kind: str
    """The type of the exception, or ``hang``, ``signal SIGABRT``, ``memory``, ``open files``, ``left files``."""
    place: str
    """The innermost frame in rankjury, such as ``formats/jsonl.py:33 read``: with ``kind`` it identifies the fault."""
    message: str
    case: Case | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Return what distinguishes one fault from another."""
        return self.kind, self.place

    def __str__(self) -> str:
        again = f"python -m tests.fuzz {self.surface} {self.seed} {self.number}"
        return f"{self.kind} at {self.place or 'no place in rankjury'}: {self.message}\n    {again}"


@dataclass
class Outcome:
    """What a number of cases gave."""

    cases: int = 0
    accepted: int = 0
    """Cases that succeeded; the others were refused with a RankjuryError or are findings."""
    seconds: float = 0.0
    findings: list[Finding] = field(default_factory=list)
    """The first finding of each fault."""
    repeated: int = 0
    """Further cases with a fault that is among the findings."""

    def add(self, other: Outcome) -> None:
        """Add what further cases gave."""
        self.cases += other.cases
        self.accepted += other.accepted
        self.seconds += other.seconds
        self.repeated += other.repeated
        for finding in other.findings:
            self.note(finding)

    def note(self, finding: Finding) -> None:
        """Add a finding, unless the same fault is there."""
        if any(known.key == finding.key for known in self.findings):
            self.repeated += 1
        else:
            self.findings.append(finding)


# One case, in whatever process.


def attempt(surface: Surface, case: Case, folder: Path) -> tuple[str, str, str] | bool:
    """Run a case with its files in a folder, which is empty afterwards.

    Returns:
        Whether it succeeded, or kind, place and message of a finding.
    """
    from rankjury.errors import RankjuryError

    names = _write(case, folder)
    files = _open_files()
    try:
        surface.call(case)
        accepted = True
    except RankjuryError as error:
        str(error)
        accepted = False
    except BaseException as error:
        return type(error).__name__, _place_of(error), _cut(_message(error))
    finally:
        left = _clear(folder, names)
    unwanted = [name for name in left if not surface.writes or name.endswith(".part")]
    if unwanted:
        return "left files", surface.name, ", ".join(sorted(unwanted)[:5])
    if _open_files() > files:
        gc.collect()
        if _open_files() > files and surface.name in _LEAKY:  # the first may be a library's own, which stays open
            return "open files", surface.name, f"{_open_files() - files} more than before"
        _LEAKY.add(surface.name)
    return accepted


_LEAKY: set[str] = set()


def _write(case: Case, folder: Path) -> set[str]:
    for name, content in case.files.items():
        path = folder / name
        with suppress(OSError, ValueError):  # a name that no file can have
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return set(_listing(folder))


def _listing(folder: Path) -> list[str]:
    return [os.path.join(root, name) for root, _, names in os.walk(folder) for name in names]  # noqa: PTH118


def _clear(folder: Path, names: set[str]) -> list[str]:
    os.chdir(folder)
    left = [os.path.relpath(path, folder) for path in _listing(folder) if path not in names]
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            Path(entry.path).unlink()
    return left


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - quicker


def _place_of(error: BaseException) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _in_rankjury(frame.filename)]
    return _place(frames[-1].filename, frames[-1].lineno or 0, frames[-1].name) if frames else ""


def _suite_place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    frame = next((one for one in reversed(frames) if "/tests/fuzz/" in one.filename), frames[-1])
    return f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"


def _in_rankjury(filename: str) -> bool:
    return "/src/rankjury/" in filename


def _place(filename: str, line: int, function: str) -> str:
    return f"{filename.rpartition('/src/rankjury/')[2]}:{line} {function}"


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as fault:
        return f"its message raises {type(fault).__name__}"


def _cut(text: str) -> str:
    first = text.strip().partition("\n")[0].encode("utf-8", "backslashreplace").decode()
    return f"{first[:150]}…" if len(first) > 150 else first


# The worker's side.

_NUMBER, _CASES, _ACCEPTED = range(3)


def _serve(connection: Connection, shared: Any, modules: Sequence[str], folder: str, memory: int) -> None:
    """Run what the connection asks for until it closes; ``shared`` has the number of the case that is being run."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("POLARS_MAX_THREADS", "RANKJURY_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    trace = Path(f"{folder}.trace").open("w")  # noqa: SIM115 - open as long as the process
    faulthandler.enable(trace)
    faulthandler.register(signal.SIGUSR1, trace)
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    warnings.simplefilter("ignore")
    Path(folder).mkdir(exist_ok=True)
    os.chdir(folder)
    surfaces = load(modules)
    _limit_memory(memory)
    connection.send("ready")
    while True:
        try:
            name, seed, first, count, seconds, make = connection.recv()
        except EOFError:  # whatever started the worker is gone
            shutil.rmtree(Path(folder).parent, ignore_errors=True)
            return
        if make:
            try:
                connection.send(surfaces[name].case(seed, first))
            except Exception:  # a fault of the suite, which is the finding
                connection.send(Case())
        elif name is None:
            connection.send({surface.name: surface.limit for surface in surfaces.values()})
        else:
            _run_here(surfaces[name], seed, first, count, seconds, connection, shared, Path(folder))


def _run_here(
    surface: Surface,
    seed: int,
    first: int,
    count: int,
    seconds: float,
    connection: Connection,
    shared: Any,
    folder: Path,
) -> None:
    end = time.monotonic() + seconds
    known: set[tuple[str, str]] = set()
    for number in range(first, first + count):
        shared[_NUMBER] = number
        peak = _peak()
        try:
            case = surface.case(seed, number)
            result = attempt(surface, case, folder)
        except Exception as error:  # a fault of the suite
            case = Case()
            result = f"suite: {type(error).__name__}", _suite_place(error), _cut(_message(error))
        if _peak() - peak > GROWTH and isinstance(result, bool):
            result = "memory", surface.name, f"{(_peak() - peak) >> 20} MB for one case"
        if isinstance(result, bool):
            shared[_ACCEPTED] += result
            if result is False and number < len(_SEEDS[surface.name]):
                result = "refused seed", surface.name, "a seed as it is raises a RankjuryError"
        if not isinstance(result, bool):
            kind, place, message = result
            new = (kind, place) not in known
            known.add((kind, place))
            connection.send(Finding(surface.name, seed, number, kind, place, message, case if new else None))
        shared[_CASES] += 1
        if time.monotonic() > end:
            break
    shared[_NUMBER] = -1
    connection.send("done")


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _limit_memory(more: int) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


# The side that starts workers.


class Worker:
    """A process that runs cases, and is started again after one that ends or holds it."""

    def __init__(self, modules: Sequence[str] = MODULES, *, memory: int = MEMORY) -> None:
        self.modules = tuple(modules)
        self.memory = memory
        shm = Path("/dev/shm")
        self.home = Path(tempfile.mkdtemp(prefix="rankjury-fuzz-", dir=shm if os.access(shm, os.W_OK) else None))
        self.folder = self.home / "case"
        self._start()
        self.connection.send((None, 0, 0, 0, 0.0, False))
        self.limits: dict[str, float] = self.connection.recv()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process and remove its folder."""
        self.process.kill()
        self.process.join()
        self.connection.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def run(self, surface: str, seed: int, first: int, count: int, seconds: float = 1e9) -> Outcome:
        """Run cases ``first`` to ``first + count - 1``, or as many of them as fit into the seconds."""
        outcome = Outcome()
        start = time.monotonic()
        end = first + count
        while first < end and (left := seconds - (time.monotonic() - start)) > 0:
            self.shared[:] = [-1, 0, 0]
            self.connection.send((surface, seed, first, end - first, left, False))
            broken = self._watch(outcome, surface)
            outcome.cases += self.shared[_CASES]
            outcome.accepted += self.shared[_ACCEPTED]
            if broken is None:
                break
            first = max(int(self.shared[_NUMBER]), first)
            kind, place, message = broken
            self._stop_and_start()
            case = self._make_again(surface, seed, first)
            outcome.cases += 1
            outcome.note(Finding(surface, seed, first, kind, place, message, case))
            first += 1
        outcome.seconds = time.monotonic() - start
        return outcome

    def _watch(self, outcome: Outcome, surface: str) -> tuple[str, str, str] | None:
        """Gather findings until the cases are done (None) or the process has to be started again (why)."""
        number, since, used = -2, time.monotonic(), self._used()
        while True:
            with suppress(EOFError, ConnectionError):
                while self.connection.poll(0.05):
                    message = self.connection.recv()
                    if isinstance(message, Finding):
                        outcome.note(message)
                    else:
                        return None
            if not self.process.is_alive():
                code = self.process.exitcode or 0
                name = signal.Signals(-code).name if code < 0 else f"exit {code}"
                return f"signal {name}" if code < 0 else name, self._traced(), "the process ended"
            limit = self.limits[surface]
            if self.shared[_NUMBER] != number:
                number, since, used = self.shared[_NUMBER], time.monotonic(), self._used()
            elif self._used() - used > limit or time.monotonic() - since > _PATIENCE * limit:
                os.kill(self.process.pid or 0, signal.SIGUSR1)  # faulthandler writes where it is
                time.sleep(0.3)
                return "hang", self._traced(), f"took more than {limit:g} s"

    def _used(self) -> float:
        """Return the seconds of a core that the process has used."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _traced(self) -> str:
        """Return the innermost rankjury frame of faulthandler's trace, whose most recent call is first."""
        text = Path(f"{self.folder}.trace").read_text(errors="replace")
        for filename, line, function in re.findall(r'File "(.*?)", line (\d+) in (.*)', text):
            if _in_rankjury(filename):
                return _place(filename, int(line), function)
        return ""

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.shared: Any = context.RawArray("q", 3)
        self.process = context.Process(
            target=_serve, args=(other, self.shared, self.modules, str(self.folder), self.memory), daemon=True
        )
        self.process.start()
        other.close()
        try:
            self.connection.recv()
        except EOFError:
            self.process.join()
            raise RuntimeError("a worker does not start; import the modules with surfaces to see why") from None

    def _stop_and_start(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._start()

    def _make_again(self, surface: str, seed: int, number: int) -> Case:
        """Return the case that ended the process; an empty one where making it is what ends the process."""
        try:
            self.connection.send((surface, seed, number, 1, 0.0, True))
            found: Case = self.connection.recv()
        except (EOFError, ConnectionError):
            self._stop_and_start()
            return Case({}, {})
        return found


def run(surface: str, seed: int, first: int, count: int, modules: Sequence[str] = MODULES) -> Outcome:
    """Run cases of one surface in a worker of its own."""
    with Worker(modules) as worker:
        return worker.run(surface, seed, first, count)


def write_found(case: Case, surface: str, about: str, folder: Path = FOUND) -> Path:
    """Keep a case in ``found/``, which ``make test`` runs again; the file is named by its description."""
    path = folder / f"{surface}-{'-'.join(re.findall('[a-z0-9]+', about.lower()))[:60]}.json"
    form = {"surface": surface, "about": about, **case.to_json()}
    path.write_text(json.dumps(form, indent=1) + "\n")
    return path


def read_found(path: Path) -> tuple[str, Case]:
    """Return the surface and the case that were kept in a file."""
    form = json.loads(path.read_text())
    return form["surface"], Case.from_json(form)


if __name__ == "__main__":
    sys.exit("python -m tests.fuzz")
