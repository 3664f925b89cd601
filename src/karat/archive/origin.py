"""Where a run comes from: its plan, its inputs, and the state of the work tree that it was made in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from json import dumps
from typing import Any

__all__ = ["Origin"]

_WITHOUT_EFFECT = ("outputs", "output")
"""Keys of a plan that change no figure."""
_OF_WORDS = ("systems", "hints", "warnings", "provenance", "gate")
"""Keys of a report under which messages and settings stand."""
_IDS = ("query", "item", "queries", "items", "measures")


@dataclass(frozen=True)
class Origin:
    """What was asked for, and of what."""

    name: str
    """What the plan is called; runs of one name make a history."""
    plan: Mapping[str, Any] = field(default_factory=dict)
    """The plan's content, without secrets and absolute paths."""
    file: str | None = None
    """The name of the plan's file."""
    text: str | None = None
    """The plan as TOML, without secrets, absolute paths and comments."""
    inputs: Mapping[str, str | None] = field(default_factory=dict)
    """By path as the plan spells it, the SHA-256 of what was read; None of what can be read only once. An absolute path
    is relative to the folder of the plan, or its last part."""
    git: Mapping[str, Any] | None = None
    """Commit and whether anything differs from it; None outside of a work tree."""
    seconds: float | None = None
    """How long it took."""
    prefixes: Mapping[str, str] = field(default_factory=dict)
    """Folders of this machine, as they may stand in messages, and what the archive has in their place."""

    @property
    def digest(self) -> str:
        """One hash over plan and inputs: runs that share it were asked the same of the same."""
        asked = {key: value for key, value in self.plan.items() if key not in _WITHOUT_EFFECT}
        form = {"name": self.name, "plan": asked, "inputs": dict(self.inputs)}
        return sha256(dumps(form, sort_keys=True, ensure_ascii=True, default=str).encode()).hexdigest()

    def shorten(self, form: Mapping[str, Any]) -> dict[str, Any]:
        """Return a report's form without the folders of this machine in what it says; ids may be paths, and stay."""
        return {key: self._shortened(value) if key in _OF_WORDS else value for key, value in form.items()}

    def _shortened(self, value: Any) -> Any:
        if isinstance(value, str):
            for prefix in sorted(self.prefixes, key=len, reverse=True) if "/" in value else ():
                value = value.replace(prefix, self.prefixes[prefix])
            return value
        if isinstance(value, Mapping):
            return {key: one if key in _IDS else self._shortened(one) for key, one in value.items()}
        return [self._shortened(one) for one in value] if isinstance(value, list | tuple) else value

    @property
    def can_be_repeated(self) -> bool:
        """Whether all inputs are known by their hashes."""
        return None not in self.inputs.values()
