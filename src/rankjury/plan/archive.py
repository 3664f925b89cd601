"""Archiving of plan runs, with digests of their inputs at the start; and the record of uses of a test window."""

import json
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
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
from rankjury.plan.input_digests import digest_contents, digest_inputs, list_inputs, texts_in
from rankjury.plan.parse import CheckedPlan
from rankjury.plan.toml import to_toml
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.environment import git_commit
from rankjury.tracking.archive.files import default_plan_name
from rankjury.tracking.archive.manifest import Origin
from rankjury.tracking.archive.run import ArchivedRun

_MAX_HISTORY = 50
"""Number of earlier runs of a plan on its page."""


class RunRecorder:
    """Recorder of a run, which hashes the inputs of the plan while it runs."""

    def __init__(self, checked: CheckedPlan) -> None:
        self._checked, self._started = checked, monotonic()
        self._content = checked.plan.model_dump(mode="json", exclude_unset=True)
        workers = ThreadPoolExecutor(2, thread_name_prefix="rankjury-archive")
        self._digests = workers.submit(digest_inputs, list_inputs(self._content, checked.folder))
        self._commit = workers.submit(git_commit, checked.folder)
        workers.shutdown(wait=False)
        try:
            written = tomllib.loads(Path(checked.where).read_text(encoding="utf-8-sig")) if checked.places else None
        except (OSError, ValueError):
            written = None
        # Written anew from the masked content: comments, which may contain secrets, are omitted.
        self._text = None if written is None else to_toml(_without_secrets(written, checked.folder))

    def origin(self) -> Origin:
        """Return the origin of the run; waits for the hashes."""
        checked = self._checked
        name = Path(checked.where).name.encode("utf-8", "replace").decode()  # it may contain bytes that are not text
        return Origin(
            plan_name(checked),
            _without_secrets(self._content, checked.folder),
            name if checked.places else None,
            self._text,
            _unique_names(self._digests.result(), checked.folder),
            self._commit.result(),
            round(monotonic() - self._started, 3),
            _prefixes(self._content, checked.folder),
        )


def archived_page(archive: Archive, report: Report, run: ArchivedRun) -> str:
    """Return the page of an archived run, with its origin and the earlier runs of the plan."""
    from rankjury.reporting.html.page import render_page
    from rankjury.tracking.archive.history import history_charts

    earlier = archive.recent(run.plan, _MAX_HISTORY)
    history = history_charts([*earlier, run], run.headline[0]) if earlier else []
    return render_page(report, manifest=run.manifest, history=history)


def plan_name(checked: CheckedPlan) -> str:
    """Return the name under which runs of the plan are archived."""
    return default_plan_name(checked.plan.name, Path(checked.where))


def _without_secrets(content: Any, folder: Path) -> Any:
    """Return a plan's content for the archive: without secrets and absolute paths."""
    return _map_texts(Masker().plan(content), lambda text: _shorten_path(text, folder))


def _shorten_path(text: str, folder: Path) -> str:
    """Return an absolute path relative to the plan's folder, or its last part if it is elsewhere."""
    path = PurePath(text.removeprefix("file://"))
    if not path.is_absolute() and not text.startswith("~"):
        return text
    bases = (base for base in (folder, folder.absolute(), folder.resolve()) if path.is_relative_to(base))
    return next((str(path.relative_to(base)) for base in bases), path.name or text)


def _prefixes(content: Any, folder: Path) -> dict[str, str]:
    """Return the folders of absolute paths in messages, with their replacements."""
    prefixes: dict[str, str] = {}
    for text in texts_in(content):
        path = PurePath(text)
        if path.is_absolute() and len(path.parts) > 2:
            prefixes[f"{path.parent}/"] = ""
        elif path.is_absolute() and path.name:
            prefixes[text] = path.name
    places = {str(folder), str(folder.absolute()), str(folder.resolve()), str(Path.cwd()), tempfile.gettempdir()}
    with suppress(RuntimeError):  # no home folder
        places.add(str(Path.home()))
    return prefixes | {
        f"{place}/": "" for place in places if len(PurePath(place).parts) > 1 and PurePath(place).is_absolute()
    }


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _map_texts(entry, change) for key, entry in value.items()}
    return [_map_texts(entry, change) for entry in value] if isinstance(value, list | tuple) else value


def _unique_names(digests: Mapping[str, str | None], folder: Path) -> dict[str, str | None]:
    """Return the inputs by shortened path; a duplicate name gets a number."""
    by_name: dict[str, str | None] = {}
    for path, digest in digests.items():
        name = shorter = _shorten_path(path, folder)
        number = 1
        while name in by_name:
            number += 1
            name = f"{shorter} ({number})"
        by_name[name] = digest
    return by_name


def record_test_look(checked: CheckedPlan, now: str) -> tuple[dict[str, Any], list[str]] | None:
    """Record a use of the test window; return the number of uses, including this one, with warnings.

    If the plan is not a file, or is a sample of rankjury, nothing is recorded and None returned.
    """
    package = Path(__file__).resolve().parent.parent
    if not Path(checked.where).is_file() or package in Path(checked.where).resolve().parents:
        return None
    file = Path(checked.where).with_suffix(".opened.jsonl")
    systems = {name: table.model_dump(mode="json") for name, table in checked.plan.systems.items()}
    contents = digest_contents(systems, checked.folder)
    settings = {"gold": checked.plan.gold.model_dump(mode="json"), "systems": systems, "contents": contents}
    digest = sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
    entry = {"opened": now, "rankjury": __version__, "systems": list(systems), "settings": digest}
    looks = [*_read_looks(file), entry]
    first = next(str(look["opened"]) for look in looks if "opened" in look)
    number = len({str(look.get("settings")) for look in looks})
    warnings = []
    if number > 1:
        warnings.append(
            f"the test window was opened {plural(len(looks), 'time', 'times')} with {number:,} different settings "
            f"since {first}: choosing among them is tuning on the test window; rankjury tune chooses on validation"
        )
    try:
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(entry) + "\n")
    except OSError:
        warnings.append("the use of the test window could not be recorded next to the plan")
    return {"times": len(looks), "settings": number, "first": first}, warnings


def _read_looks(file: Path) -> list[dict[str, Any]]:
    """Return the earlier uses; a damaged line counts as one."""
    looks = []
    with suppress(OSError, UnicodeDecodeError):
        for line in file.read_text(encoding="utf-8").splitlines():
            look = None
            with suppress(DataError):
                look = parse_json(line, str(file))
            looks.append(look if isinstance(look, dict) else {})
    return looks
