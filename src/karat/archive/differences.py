"""What changed between two runs: inputs, plan, versions, packages, conventions, machine and commit."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from json import dumps
from re import fullmatch
from typing import Any

from karat.archive.run import Run

__all__ = ["Difference", "differences_between"]

_LONGEST = 60
_HASH = r"[0-9a-f]{32,64}"
_NO_CAUSE = ("name", "outputs", "output", "meta")
"""Keys of a plan that change no figure; what meta declares is told among the versions."""


@dataclass(frozen=True)
class Difference:
    """One thing that is otherwise."""

    kind: str
    """input, plan, version, package, convention, machine or git."""
    what: str
    before: Any
    after: Any
    """None where it is not there."""

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "what": self.what, "before": self.before, "after": self.after}

    def __str__(self) -> str:
        subject = f"{self.kind} {self.what}" if self.what else self.kind
        if self.before is None:
            return f"{subject} is new" if _is_hash(self.after) else f"{subject} is new: {_shown(self.after)}"
        if self.after is None:
            return f"{subject} is gone"
        if _is_hash(self.before) and self.kind != "git":
            return f"{subject} has other contents" if self.kind == "input" else f"{subject} differs"
        return f"{subject}: {_shown(self.before)} → {_shown(self.after)}"


def differences_between(before: Run, after: Run) -> list[Difference]:
    """In the order of what explains most: inputs, plan, versions, conventions, packages, commit, machine."""
    old, new = before.manifest, after.manifest
    return [
        *_of("input", old.get("inputs"), new.get("inputs")),
        *_of("plan", _causes(old), _causes(new)),
        *_of("version", _versions(old), _versions(new)),
        *_of("convention", _conventions(old), _conventions(new), both=True),
        *_of("package", old.get("packages"), new.get("packages")),
        *_commit(old.get("git"), new.get("git")),
        *_of("machine", old.get("machine"), new.get("machine")),
    ]


def _of(kind: str, before: Any, after: Any, *, both: bool = False) -> Iterator[Difference]:
    """Key by key; with ``both`` only what is on both sides."""
    old, new = dict(_flat(before or {})), dict(_flat(after or {}))
    for key in dict.fromkeys((*new, *old)):
        if old.get(key) != new.get(key) and not (both and (key not in old or key not in new)):
            yield Difference(kind, key, old.get(key), new.get(key))


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """``{"a": {"b": 1}}`` → a.b: 1; lists are values."""
    if isinstance(value, Mapping) and (value or not path):
        for key, one in value.items():
            yield from _flat(one, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


def _causes(manifest: Mapping[str, Any]) -> dict[str, Any]:
    content = (manifest.get("plan") or {}).get("content") or {}
    return {key: value for key, value in content.items() if key not in _NO_CAUSE}


def _versions(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Of queries and golds the digest tells all; how many there are is told where it differs as well."""
    return dict(manifest.get("versions") or {})


def _conventions(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {label: about.get("convention") for label, about in (manifest.get("measures") or {}).items()}


def _commit(before: Any, after: Any) -> Iterator[Difference]:
    old, new = ((side or {}).get("commit") for side in (before, after))
    if old != new:
        yield Difference("git", "", old, new)
    elif (before or {}).get("dirty") != (after or {}).get("dirty"):
        words = ["with changes" if (side or {}).get("dirty") else "as committed" for side in (before, after)]
        yield Difference("git", "work tree", *words)


def _is_hash(value: Any) -> bool:
    return isinstance(value, str) and fullmatch(_HASH, value) is not None


def _shown(value: Any) -> str:
    if _is_hash(value):
        return str(value)[:8]
    text = value if isinstance(value, str) else dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
