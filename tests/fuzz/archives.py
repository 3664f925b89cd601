"""Fuzz surface of archives: damaged manifests, reports, tables and links, read by every command and page.

``archive-flips`` flips one bit of one file, and asks for more than no traceback: whoever reads the file either reports
an error or marks the damage, or shows the same numbers as before.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import polars as pl

from rankjury.errors import RankjuryError, guard_reading
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.manifest import file_entry, manifest_bytes
from rankjury.tracking.view.overview import RunCatalog
from rankjury.tracking.view.pages import Router
from rankjury.tracking.view.server import RequestRefused, parse_target
from tests.fuzz import inputs, mutators
from tests.fuzz.commands import run_command
from tests.fuzz.harness import Case, Surface, register

_QUICK_CALLS = 3
_SECONDS = 5.0
_TABLES = ("scores.parquet", "queries.parquet", "rankings.parquet", "golds.parquet", "items.parquet")
_FAILURES = (2, 3)
_MARK = re.compile(
    r"damaged|cannot (be )?read|not as it was|has changed|left out|is not whole|unreadable|does not match",
    re.IGNORECASE,
)
"""Words that tell of damage; what is shown beside them may be less than before."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


class SilentChangeError(AssertionError):
    """A number that is not the one that was stored, without a word of it."""


# What is called: by name, a function that returns what it read as text.


def _archive() -> Archive:
    return Archive(Path(inputs.ARCHIVE))


def _each(read: Callable[[Any], object]) -> Callable[[], str]:
    """Read something of every run; a run that cannot be read does not keep the others from it."""

    def call() -> str:
        archive = _archive()
        found = []
        for run in archive.runs():
            try:
                found.append(f"{run.name}: {read(run)}")
            except RankjuryError as error:
                found.append(f"{run.name}: cannot be read: {error}")
        return "\n".join((*found, *(f"cannot be read: {one}" for one in archive.troubles)))

    return call


def _rows(frame: Any) -> str:
    with guard_reading("rows"):  # they are read lazily, and here
        return str(frame.collect().rows())


def _answers(run: Any) -> str:
    answers = run.report.answers
    if answers is None:
        return "none"
    return str({name: one.tuples(answers.depth) for name, one in answers.systems.items()})


def _command(line: str) -> Callable[[], str]:
    def call() -> str:
        done = run_command(line.split())
        failed = "cannot be read" if done.code in _FAILURES else ""
        return f"{done.code}\n{done.out}\n{done.err}\n{failed}"

    return call


def _page(target: str) -> Callable[[], str]:
    """Ask for a page as the server does, without a socket."""

    def call() -> str:
        names = [name.split("/")[2] for name in sorted(inputs.archive_files()) if name.endswith("manifest.json")]
        address = target.format(first=quote(names[0]), second=quote(names[1]), last=quote(names[-1]))
        try:
            response = Router(RunCatalog(_archive()))(parse_target(address))
        except RequestRefused as refused:
            return f"cannot be read: {refused}"
        assert response.status != 500, address
        return response.body.decode()

    return call


def _about(run: Any) -> str:
    about = (run.plan, run.time, run.digest, run.verdict, run.systems, run.headline, run.files, run.bytes)
    return f"{about} {json.dumps(run.manifest['summary'])}"


CALLS: Mapping[str, Callable[[], str]] = {
    "runs": _each(_about),
    "find": lambda: f"{_archive().find('latest').name} {_archive().find('baseline:small').name}",
    "report": _each(lambda run: json.dumps(run.report.to_json())),
    "scores": _each(lambda run: _rows(run.scores())),
    "queries": _each(lambda run: _rows(run.tables.scan("queries.parquet"))),
    "answers": _each(_answers),
    "answer": _each(lambda run: run.answer("q03")),
    "names": _each(lambda run: run.tables.item_names()),
    "texts": _each(lambda run: run.tables.query_texts(["q01", "q02"])),
    "faults": _each(lambda run: run.faults()),
    "whole report": _each(lambda run: json.dumps(run.report.to_json(queries=True))),
    "running": lambda: str(_archive().running()),
    "leftovers": lambda: str(_archive().leftovers()),
    "recent": lambda: str([_about(run) for run in _archive().recent("small", 2)]),
    "prunable": lambda: str([run.name for run in _archive().prunable(keep=1)]),
    **{
        line: _command(line)
        for line in (
            "show latest:small",
            "show latest:small --json",
            "show --pr",
            "show -o out.md -o out.json",
            "show baseline:small -o out.html",
            "diff latest:small",
            "diff baseline:small latest:small --json",
            "gate targets.toml latest:small --baseline baseline:small",
            "gate targets.toml latest:small --baseline baseline:small --json",
            "drift latest:small baseline:small --system new --json",
            "history",
            "history small --json",
            "history small -o out.csv",
            "history other -m rr --system new",
            "prune --keep 1 --dry-run --json",
            "prune --older-than 1d --dry-run",
            "baseline show",
            "baseline set latest:other",
            "baseline unset small",
        )
    },
    **{
        target: _page(target)
        for target in (
            "/",
            "/?plan=small",
            "/history?plan=small",
            "/run/{first}",
            "/run/{last}",
            "/compare?a={first}&b={second}",
            "/compare?a={first}&b={last}&systems=all",
            "/api/running",
            "/api/run/{first}/rows?label=rr&sort=score:0",
            "/api/run/{last}/query?id=q03",
            "/api/compare/{first}/{second}/all/rows?label=rr",
            "/api/compare/{first}/{second}/all/query?id=q03",
        )
    },
}
_SLOW = ("whole report", "answers", "show b", "show -o", "diff", "/run", "/compare", "/api/compare", "gate", "drift")
"""Beginnings of calls that take ten milliseconds or more: one of them a case is enough."""
_PICTURES = "show latest:small --pictures drawn"


def _call(case: Case) -> object:
    _put(case)
    for name in case.options["calls"]:
        with suppress(RankjuryError):
            (_command(name) if name == _PICTURES else CALLS[name])()
    return None


@cache
def _files() -> Mapping[str, bytes]:
    return {"targets.toml": inputs.files()["targets.toml"], **inputs.archive_files()}


def _put(case: Case) -> None:
    inputs.write_all(_files(), {*case.files, *case.options.get("removed", ())})
    for name, target in case.options.get("links", {}).items():
        place = Path(name)
        with suppress(OSError, ValueError):
            place.unlink(missing_ok=True)
            os.mkfifo(place) if target == "FIFO" else place.symlink_to(target)
    own = case.options.get("running")
    if own is not None:
        folder = Path(inputs.ARCHIVE, "running")
        folder.mkdir(exist_ok=True)
        (folder / f"{os.getpid()}-abcd.json").write_bytes(own.encode("utf-8", "surrogatepass"))


def _calls(rng: Random) -> list[str]:
    slow = [name for name in CALLS if name.startswith(_SLOW)]
    calls = [*rng.sample([name for name in CALLS if name not in slow], _QUICK_CALLS), rng.choice(slow)]
    return [*calls, _PICTURES] if rng.random() < 0.002 else calls


# Damage.


def _seeds() -> list[Case]:
    return [Case(options={"calls": [name]}) for name in CALLS]


def _manifests() -> list[str]:
    return [name for name in sorted(inputs.archive_files()) if name.endswith("manifest.json")]


def _mutate(rng: Random, case: Case) -> Case:
    names = sorted(inputs.archive_files())
    case = Case(options={"calls": _calls(rng)})
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        kind = rng.randrange(11)
        if kind <= 3:
            case = _with_manifest(rng, case)
        elif kind == 4:
            case = _with_tree(rng, case, [name for name in names if name.endswith("report.json")])
        elif kind == 5:
            case = _with_tree(rng, case, [f"{inputs.ARCHIVE}/baselines.json"])
        elif kind == 6:
            case = _with_table(rng, case)
        elif kind == 7:
            name = rng.choice(names)
            case = case.with_file(name, mutators.mutate_bytes(rng, _content(case, name)))
        elif kind == 8:
            case = case.with_options(running=_running(rng))
        elif kind == 9:
            case = _with_link(rng, case, names)
        else:
            case = _moved(rng, case, names)
    return case


def _content(case: Case, name: str) -> bytes:
    return case.files[name] if name in case.files else inputs.archive_files()[name]


def _with_tree(rng: Random, case: Case, names: list[str]) -> Case:
    name = rng.choice(names)
    changed = mutators.mutate_json(rng, _content(case, name))
    return _hashed(rng, case.with_file(name, changed), name)


def _with_manifest(rng: Random, case: Case) -> Case:
    """Change a manifest: anything of it, or one of the keys that others rely on, or the path of a file."""
    name = rng.choice(_manifests())
    content = _content(case, name)
    manifest = _parsed(content)
    if manifest is None:
        return case.with_file(name, mutators.mutate_json(rng, content))
    if rng.random() < 0.3:
        changed = mutators.mutate_json(rng, json.dumps(manifest).encode("utf-8", "surrogatepass"))
        return case.with_file(name, _signed(rng, changed))
    key = rng.choice(list(manifest) or ["name"])
    if rng.random() < 0.3 and isinstance(manifest.get("files"), dict) and manifest["files"]:
        file = rng.choice(list(manifest["files"]))
        path = rng.choice(_PATHS)
        about = manifest["files"][file]
        manifest["files"] = {(path if one == file else one): held for one, held in manifest["files"].items()}
        if rng.random() < 0.5:
            manifest["files"][file] = about
    elif rng.random() < 0.5:
        manifest[key] = mutators.odd_value(rng)
    else:
        manifest[key] = mutators.mutate_tree(rng, manifest.get(key))
    return case.with_file(name, _signed(rng, json.dumps(manifest).encode("utf-8", "surrogatepass")))


def _parsed(content: bytes) -> dict[str, Any] | None:
    """Return a manifest without its digest; None where it is none any more."""
    try:
        manifest = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return {key: one for key, one in manifest.items() if key != "sha256"} if isinstance(manifest, dict) else None


def _signed(rng: Random, changed: bytes) -> bytes:
    """Give a changed manifest a digest that fits, mostly, so that the damage reaches those who read it."""
    manifest = _parsed(changed)
    if manifest is None or rng.random() < 0.3:
        return changed
    with suppress(RankjuryError, ValueError, TypeError, RecursionError):
        return manifest_bytes(manifest)
    return changed


_PATHS = (
    *(
        "/dev/zero",
        "/dev/stdin",
        "../x",
        "../../baselines.json",
        "/etc/passwd",
        "../",
        "",
        ".",
        "a/b",
        "/proc/self/mem",
    ),
    *("fifo", "x\x00y", "x" * 300, "scores.parquet/", "report.html", "\ud800", "\x1b[31m", "-", "*", "~"),
)


def _with_table(rng: Random, case: Case) -> Case:
    """Change a table's columns, types or rows, or put another run's or another table in its place."""
    name = rng.choice([name for name in sorted(inputs.archive_files()) if name.endswith(".parquet")])
    if rng.random() < 0.25:
        other = rng.choice([name for name in sorted(inputs.archive_files()) if name.endswith(".parquet")])
        return _hashed(rng, case.with_file(name, inputs.archive_files()[other]), name)
    frame = pl.read_parquet(io.BytesIO(inputs.archive_files()[name]))
    for _ in range(rng.choice((1, 1, 2))):
        with suppress(pl.exceptions.PolarsError, ValueError):
            frame = _changed(rng, frame)
    held = io.BytesIO()
    frame.write_parquet(held)
    return _hashed(rng, case.with_file(name, held.getvalue()), name)


def _changed(rng: Random, frame: pl.DataFrame) -> pl.DataFrame:
    if not frame.width:
        return frame
    column = rng.choice(frame.columns)
    kind = rng.randrange(12)
    if kind == 0:
        return frame.drop(column)
    if kind == 1:
        return frame.rename({column: rng.choice((mutators.odd_text(rng), "system", "query_id", "text"))})
    if kind == 2:
        return frame.head(rng.choice((0, 1, len(frame) // 2)))
    if kind == 3:
        return pl.concat([frame, frame.head(rng.choice((1, len(frame))))])
    if kind == 4:
        return frame.reverse()
    if kind == 5:
        return frame.with_columns(pl.lit(rng.choice((None, "", "x", -1, 2**63 - 1, float("nan")))).alias(column))
    if kind == 6:
        types = (pl.String, pl.Int8, pl.UInt64, pl.Float32, pl.Boolean, pl.Binary, pl.Date, pl.Categorical, pl.Null)
        return frame.with_columns(pl.col(column).cast(rng.choice(types), strict=False))
    if kind == 7:
        return frame.with_columns(pl.concat_list(pl.col(column)).alias(column))
    if kind == 8:
        return frame.with_columns(pl.struct(pl.col(column)).alias(column))
    if kind == 9:
        at = rng.randrange(len(frame)) if len(frame) else 0
        return frame.with_columns(
            pl.when(pl.int_range(pl.len()) == at).then(None).otherwise(pl.col(column)).alias(column)
        )
    if kind == 10:
        return frame.with_columns(pl.col(column).shuffle(seed=rng.randrange(1000)))
    return frame.with_columns(pl.lit("x").alias(mutators.odd_text(rng)))


def _hashed(rng: Random, case: Case, name: str) -> Case:
    """Give the manifest the hash of a changed file, now and then, as one who means harm would."""
    if rng.random() < 0.3 or "/runs/" not in name:
        return case
    place = f"{name.rpartition('/')[0]}/manifest.json"
    manifest = _parsed(_content(case, place))
    if manifest is None or not isinstance(manifest.get("files"), dict):
        return case
    manifest["files"][name.rpartition("/")[2]] = file_entry(case.files[name])
    with suppress(RankjuryError, ValueError, TypeError, RecursionError):
        return case.with_file(place, manifest_bytes(manifest))
    return case


def _running(rng: Random) -> str:
    form = {"schema": "rankjury.running/1", "plan": "plan.toml", "name": "small", "pid": 1, "process_started": None}
    form |= {
        "started": "2026-01-01T06:30:00.000Z",
        "updated": "2026-01-01T06:30:01.000Z",
        "what": "x",
        "done": 1,
        "of": 3,
    }
    return mutators.mutate_json(rng, json.dumps(form).encode()).decode("utf-8", "surrogateescape")


def _with_link(rng: Random, case: Case, names: list[str]) -> Case:
    name = rng.choice((rng.choice(names), f"{rng.choice(_manifests()).rpartition('/')[0]}/report.html"))
    target = rng.choice(("FIFO", "/dev/zero", "/dev/null", "/etc/passwd", "missing", ".", "../../../report.json", name))
    return case.with_options(links={**case.options.get("links", {}), name: target})


def _moved(rng: Random, case: Case, names: list[str]) -> Case:
    """Remove a file, or add one that is not a run's."""
    if rng.random() < 0.6:
        return case.with_options(removed=[*case.options.get("removed", ()), rng.choice(names)])
    runs = f"{inputs.ARCHIVE}/runs"
    place = rng.choice(
        (
            "x",
            ".x.1-5-0123abcd-ab.part/y",
            "20260109T063000Z-small-00000000/manifest.json",
            "\x1b[31m/manifest.json",
            "é/manifest.json",
        )
    )
    return case.with_file(f"{runs}/{place}", rng.choice((b"", b"{}", b"[]", _content(case, rng.choice(_manifests())))))


# Flipped bits.


def _flip_seeds() -> list[Case]:
    names = [name for name in sorted(inputs.archive_files()) if "/runs/" in name]
    return [Case({name: inputs.archive_files()[name]}, {"calls": ["runs", "whole report"]}) for name in names]


_NOT_COMPARED = ("baseline ", "/api/running", "recent", _PICTURES)
"""Calls that write, or that leave out what cannot be read without showing a number of it."""


def _flip(rng: Random, case: Case) -> Case:
    ((name, content),) = case.files.items()
    at = rng.randrange(len(content))
    flipped = content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]
    calls = [call for call in _calls(rng) if not call.startswith(_NOT_COMPARED)]
    return Case({name: flipped}, {"calls": calls})


def _call_flipped(case: Case) -> object:
    calls = case.options["calls"]
    if any(name not in _INTACT for name in calls):
        inputs.write_all(_files())
        _INTACT.update({name: CALLS[name]() for name in calls})
    _put(case)
    for name, content in case.files.items():
        Path(name).write_bytes(content)
    for name in calls:
        before = _INTACT[name]
        try:
            after = CALLS[name]()
        except RankjuryError:
            continue
        if after != before and not _is_marked(before, after) and _has_other_numbers(name, before, after):
            raise SilentChangeError(
                f"{name} after a flipped bit in {Path(next(iter(case.files))).name}: {_difference(before, after)}"
            )
    return None


_INTACT: dict[str, str] = {}
"""By call, what it reads from the intact archive."""


def _is_marked(before: str, after: str) -> bool:
    return len(_MARK.findall(after)) > len(_MARK.findall(before))


def _numbers(text: str) -> list[str]:
    return _NUMBER.findall(text)


def _has_other_numbers(name: str, before: str, after: str) -> bool:
    """Return whether numbers changed; the page of a run may lack the history of its plan, where another is damaged."""
    if name.startswith("/run/"):
        return not set(_numbers(after)) <= set(_numbers(before))
    return _numbers(after) != _numbers(before)


def _difference(before: str, after: str) -> str:
    at = next((at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), 0)
    return f"{before[max(0, at - 20) : at + 20]!r} became {after[max(0, at - 20) : at + 20]!r}"


register(Surface("archives", _seeds, _mutate, _call, writes=True, quick=80, limit=_SECONDS))
register(Surface("archive-flips", _flip_seeds, _flip, _call_flipped, writes=True, quick=50, limit=_SECONDS))
