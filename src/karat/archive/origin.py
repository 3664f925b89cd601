"""Where a run comes from: its plan, its inputs, and the state of the work tree that it was made in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from json import dumps
from typing import Any

__all__ = ["Origin"]

_WITHOUT_EFFECT = ("outputs", "output")
"""Keys of a plan that change no figure."""


@dataclass(frozen=True)
class Origin:
    """What was asked for, and of what."""

    name: str
    """What the plan is called; runs of one name make a history."""
    plan: Mapping[str, Any] = field(default_factory=dict)
    """The plan's content, without secrets."""
    file: str | None = None
    """The name of the plan's file."""
    text: str | None = None
    """The plan as it was written, without secrets."""
    inputs: Mapping[str, str | None] = field(default_factory=dict)
    """By path as the plan spells it, the SHA-256 of what was read; None of what can be read only once."""
    git: Mapping[str, Any] | None = None
    """Commit and whether anything differs from it; None outside of a work tree."""
    seconds: float | None = None
    """How long it took."""

    @property
    def digest(self) -> str:
        """One hash over plan and inputs: runs that share it were asked the same of the same."""
        asked = {key: value for key, value in self.plan.items() if key not in _WITHOUT_EFFECT}
        form = {"name": self.name, "plan": asked, "inputs": dict(self.inputs)}
        return sha256(dumps(form, sort_keys=True, ensure_ascii=True, default=str).encode()).hexdigest()

    @property
    def can_be_repeated(self) -> bool:
        """Whether all inputs are known by their hashes."""
        return None not in self.inputs.values()
