"""A plan's run put into the archive: with what it read, as it was when the run began."""

import re
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from karat.archive import Archive, Origin, Run
from karat.archive.naming import name_of_plan
from karat.archive.surroundings import commit_of
from karat.gates import Gate
from karat.plan.contents import digests_of, inputs_of
from karat.plan.model import Plan
from karat.plan.reading import Checked
from karat.report import Report

__all__ = ["Begun", "begin", "plan_name"]

_WORDS = "password|passwd|token|secret|api_?key"
_SECRETS = (
    re.compile(r"""(://[^:/@\s"']*:)[^\s"']+(?=@)"""),  # postgresql://user:password@host
    re.compile(r"""(https?://)[^:/@\s"']+(?=@)"""),  # https://token@host
    re.compile(
        rf"""((?:{_WORDS})["']?\s*[=:]\s*)("{{3}}.*?"{{3}}|'{{3}}.*?'{{3}}|"(?:[^"\\]|\\.)*"|'[^']*'|[^\s&,"'}}]+)""",
        re.IGNORECASE | re.DOTALL,
    ),
)
_SECRET_KEY = re.compile(_WORDS, re.IGNORECASE)
_MASK = "***"


@dataclass(frozen=True)
class Begun:
    """A run that has begun: what it reads is being hashed while it works."""

    checked: Checked
    digests: "Future[dict[str, str | None]]"
    commit: "Future[dict[str, Any] | None]"
    started: float

    def origin(self) -> Origin:
        """Where the run comes from; waits for the hashes."""
        checked = self.checked
        return Origin(
            plan_name(checked),
            _without_secrets(content_of(checked.plan)),
            _as_text(Path(checked.where).name) if checked.places else None,
            _text_of(checked),
            self.digests.result(),
            self.commit.result(),
            round(monotonic() - self.started, 3),
        )

    def keep(
        self,
        archive: Archive,
        report: Report,
        gate: Gate | None,
        page: Callable[[Mapping[str, Any], Run], str] | None = None,
    ) -> Run:
        """Store what came of it; ``page`` makes the report that people open."""
        return archive.store(report, self.origin(), gate=gate, page=page)


def begin(checked: Checked) -> Begun:
    """Note what the plan reads, and begin to hash it: other work need not wait for that."""
    workers = ThreadPoolExecutor(2, thread_name_prefix="karat-archive")
    inputs = inputs_of(content_of(checked.plan), checked.folder)
    digests = workers.submit(digests_of, inputs)
    commit = workers.submit(commit_of, checked.folder)
    workers.shutdown(wait=False)
    return Begun(checked, digests, commit, monotonic())


def plan_name(checked: Checked) -> str:
    """What runs of the plan are called by."""
    return name_of_plan(checked.plan.name, Path(checked.where))


def content_of(plan: Plan) -> dict[str, Any]:
    """What the plan says, and nothing that it leaves unsaid."""
    return plan.model_dump(mode="json", exclude_unset=True)


def _text_of(checked: Checked) -> str | None:
    try:
        text = Path(checked.where).read_text(encoding="utf-8") if checked.places else None
    except (OSError, UnicodeDecodeError):
        return None
    return None if text is None else str(_without_secrets(text))


def _as_text(name: str) -> str:
    """A file's name may hold bytes that are no text."""
    return name.encode("utf-8", "replace").decode()


def _without_secrets(value: Any) -> Any:
    """Without passwords, such as a dsn may hold."""
    if isinstance(value, str):
        for pattern in _SECRETS:
            value = pattern.sub(rf"\1{_MASK}", value)
        return value
    if isinstance(value, dict):
        return {key: _MASK if _is_secret(key, one) else _without_secrets(one) for key, one in value.items()}
    return [_without_secrets(one) for one in value] if isinstance(value, list) else value


def _is_secret(key: object, value: Any) -> bool:
    return isinstance(value, str) and bool(_SECRET_KEY.search(str(key)))
