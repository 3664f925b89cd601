"""Archiving of a plan's run, with what it read as it was when the run began; the record of looks at a test window."""

import json
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePath
from time import monotonic
from typing import Any

from rankjury.core.secrets import Masker
from rankjury.core.text import plural
from rankjury.core.version import __version__
from rankjury.errors import DataError
from rankjury.evaluation.report import Report
from rankjury.io.json import parse_json
from rankjury.plan.input_digests import digest_contents, digest_inputs, list_inputs
from rankjury.plan.parse import CheckedPlan
from rankjury.plan.schema import Plan
from rankjury.plan.toml import to_toml
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.environment import git_commit
from rankjury.tracking.archive.files import default_plan_name
from rankjury.tracking.archive.manifest import Origin
from rankjury.tracking.archive.run import ArchivedRun

_LOOKS_SUFFIX = ".opened.jsonl"
_MAX_HISTORY = 50
"""How many earlier runs of a plan its page shows."""


@dataclass(frozen=True)
class RunRecorder:
    """A run that has begun: what it reads is being hashed while it works."""

    checked: CheckedPlan
    digests: "Future[dict[str, str | None]]"
    commit: "Future[dict[str, Any] | None]"
    text: str | None
    """The plan's text as it was when the run began, without secrets."""
    started: float

    def origin(self) -> Origin:
        """Return where the run comes from; waits for the hashes."""
        checked = self.checked
        name = Path(checked.where).name.encode("utf-8", "replace").decode()  # it may have bytes that are not text
        return Origin(
            plan_name(checked),
            recorded(plan_content(checked.plan), checked.folder),
            name if checked.places else None,
            self.text,
            _unique_names(self.digests.result(), checked.folder),
            self.commit.result(),
            round(monotonic() - self.started, 3),
            _prefixes(plan_content(checked.plan), checked.folder),
        )


def start_recording(checked: CheckedPlan) -> RunRecorder:
    """Note what the plan reads, and begin to hash it: other work need not wait for that."""
    workers = ThreadPoolExecutor(2, thread_name_prefix="rankjury-archive")
    inputs = list_inputs(plan_content(checked.plan), checked.folder)
    digests = workers.submit(digest_inputs, inputs)
    commit = workers.submit(git_commit, checked.folder)
    workers.shutdown(wait=False)
    try:
        content = tomllib.loads(Path(checked.where).read_text(encoding="utf-8-sig")) if checked.places else None
    except (OSError, ValueError):
        content = None
    # Written anew from the masked content: comments, which may hold secrets too, are left out.
    text = None if content is None else to_toml(recorded(content, checked.folder))
    return RunRecorder(checked, digests, commit, text, monotonic())


def page_with_history(archive: Archive) -> Callable[[Report, ArchivedRun], str]:
    """Return what makes the page of an archived run: with where it comes from, and the runs of the plan before it."""

    def page(report: Report, run: ArchivedRun) -> str:
        from rankjury.reporting.html.page import render_page
        from rankjury.tracking.archive.history import history_charts

        earlier = archive.recent(run.plan, _MAX_HISTORY)
        history = history_charts([*earlier, run], run.headline[0]) if earlier else []
        return render_page(report, manifest=run.manifest, history=history)

    return page


def has_equal_results(run: ArchivedRun, archive: Archive) -> bool:
    """Return whether a run that repeats an earlier one came to the same figures."""
    before = archive.find(run.manifest["same_inputs_as"]).manifest
    return all(before.get(key) == run.manifest[key] for key in ("results", "summary"))


def plan_name(checked: CheckedPlan) -> str:
    """Return the name under which runs of the plan are archived."""
    return default_plan_name(checked.plan.name, Path(checked.where))


def plan_content(plan: Plan) -> dict[str, Any]:
    """Return the content of the plan without defaults."""
    return plan.model_dump(mode="json", exclude_unset=True)


def recorded(content: Any, folder: Path) -> Any:
    """Return a plan's content as it is kept: without secrets and without absolute paths."""
    return _map_texts(Masker().plan(content), lambda text: shorten_path(text, folder))


def shorten_path(text: str, folder: Path) -> str:
    """Return an absolute path relative to the plan's folder, or its last part where it lies elsewhere."""
    path = PurePath(text.removeprefix("file://"))
    if not path.is_absolute() and not text.startswith("~"):
        return text
    bases = (base for base in (folder, folder.absolute(), folder.resolve()) if path.is_relative_to(base))
    return next((str(path.relative_to(base)) for base in bases), path.name or text)


def _prefixes(content: Any, folder: Path) -> dict[str, str]:
    """Return the folders of absolute paths, as they may stand in messages, and what to write in their place."""
    found: dict[str, str] = {}

    def note(text: str) -> str:
        path = PurePath(text)
        if path.is_absolute() and path.parent != path and len(path.parts) > 2:
            found[f"{path.parent}/"] = ""
        elif path.is_absolute() and path.name:
            found[text] = path.name
        return text

    _map_texts(content, note)
    places = {str(folder), str(folder.absolute()), str(folder.resolve()), str(Path.cwd()), tempfile.gettempdir()}
    with suppress(RuntimeError):  # no home
        places.add(str(Path.home()))
    return found | {
        f"{place}/": "" for place in places if len(PurePath(place).parts) > 1 and PurePath(place).is_absolute()
    }


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _map_texts(entry, change) for key, entry in value.items()}
    return [_map_texts(entry, change) for entry in value] if isinstance(value, list | tuple) else value


def _unique_names(digests: Mapping[str, str | None], folder: Path) -> dict[str, str | None]:
    """Return the inputs by shortened path; a second one of the same name gets a number."""
    found: dict[str, str | None] = {}
    for path, digest in digests.items():
        name = shorter = shorten_path(path, folder)
        number = 1
        while name in found:
            number += 1
            name = f"{shorter} ({number})"
        found[name] = digest
    return found


@dataclass(frozen=True)
class WindowLooks:
    """How often a test window was looked at, this time included."""

    times: int
    settings: int
    """With how many different systems and settings."""
    first: str
    is_recorded: bool
    """Whether the file of looks could be written."""

    def to_json(self) -> dict[str, Any]:
        return {"times": self.times, "settings": self.settings, "first": self.first}

    def notes(self) -> Iterator[str]:
        if self.settings > 1:
            yield (
                f"the test window was opened {plural(self.times, 'time', 'times')} with {self.settings:,} different "
                f"settings since {self.first}: choosing among them tunes on it; rankjury tune chooses on validation"
            )
        if not self.is_recorded:
            yield "that the test window was opened could not be recorded beside the plan"


def record_test_look(checked: CheckedPlan, now: str) -> WindowLooks | None:
    """Record a look at the test window; None where the plan is no file, or is a sample of rankjury's."""
    if not Path(checked.where).is_file():
        return None
    package = Path(__file__).resolve().parent.parent
    if package in Path(checked.where).resolve().parents:
        return None
    file = Path(checked.where).with_suffix(_LOOKS_SUFFIX)
    systems = {name: table.model_dump(mode="json") for name, table in checked.plan.systems.items()}
    contents = digest_contents(systems, checked.folder)
    settings = {"gold": checked.plan.gold.model_dump(mode="json"), "systems": systems, "contents": contents}
    digest = sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
    entry = {"opened": now, "rankjury": __version__, "systems": list(systems), "settings": digest}
    looks = [*_read_looks(file), entry]
    is_recorded = True
    try:
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(entry) + "\n")
    except OSError:
        is_recorded = False
    first = next(str(look["opened"]) for look in looks if "opened" in look)
    return WindowLooks(len(looks), len({str(look.get("settings")) for look in looks}), first, is_recorded)


def _read_looks(file: Path) -> list[dict[str, Any]]:
    """Return the earlier looks; a damaged line counts as one."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    looks = []
    for line in lines:
        try:
            look = parse_json(line, str(file))
        except DataError:
            look = {}
        looks.append(look if isinstance(look, dict) else {})
    return looks
