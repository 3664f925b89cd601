"""What drifted, as a value: it prints, goes into reports and is held against targets."""

from dataclasses import dataclass
from sys import float_info
from types import MappingProxyType
from typing import Any

from karat.drift.churn import Churn
from karat.drift.circumstances import Circumstances
from karat.drift.moves import Moved
from karat.drift.pairs import Tested
from karat.errors import UsageError
from karat.records import to_json
from karat.sections import Section
from karat.targets import Decision, Outcome

__all__ = ["DRIFT_SCHEMA", "Drift"]

DRIFT_SCHEMA = "karat.drift/1"


@dataclass(frozen=True, eq=False)
class Drift(Decision, Section):
    """A system of a report beside the same system of an earlier one."""

    name = "drift"
    json_keys = MappingProxyType(
        {"source": "report", "old_source": "old_report", "moved": "figures", "tested": "paired"}
    )

    system: str
    old_system: str
    source: str
    old_source: str
    k: int
    allowed: float
    moved: tuple[Moved, ...]
    tested: tuple[Tested, ...]
    """Of the similarities of the best item and of the k best."""
    quality: tuple[Tested, ...]
    """Of the measures that both reports hold query by query."""
    churn: Churn | None
    """None where the reports do not hold the queries' first items."""
    circumstances: Circumstances
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        raise UsageError(
            "the truth value of a Drift is ambiguous: that it drifted, or that it is within the limit",
            expected="drift.failed (it drifted too far), drift.passed or drift.unsure",
        )

    @property
    def worst(self) -> Moved | None:
        """The figure that moved most; None where none can be judged."""
        judged = [one for one in self.moved if one.within is not None]
        return max(judged, key=lambda one: abs(one.change), default=None)

    @property
    def outcome(self) -> Outcome:
        """By the rule; unsure where it holds, but an interval reaches past what it allows."""
        if any(one.within is False for one in self.moved):
            return "fail"
        return "unsure" if any(one.may_be_past(self.allowed) for one in self.tested) else "pass"

    def exit_code(self, *, strict: bool = False) -> int:
        """Of a command that decides: 4 where the rule failed, 5 where it is unsure and that is not good enough."""
        return self._exit_code(strict)

    def figures(self) -> dict[str, float]:
        """Return the values that targets may be about: ``drift <= 5 %``.

        A change from exactly 0 is an infinite share. JSON has no infinity, so it is the largest float: a target on it
        fails, as the rule does.
        """
        found = {} if self.worst is None else {"drift": abs(self.worst.change)}
        for name in ("top1", f"top{self.k}", "norm"):
            of_name = [one for one in self.moved if one.figure.startswith(f"{name} ") and one.within is not None]
            if of_name:
                found[f"drift_{name}"] = max(abs(one.change) for one in of_name)
        if self.churn is not None:
            found |= {"churn": self.churn.changed, "churn_overlap": self.churn.overlap, "churn_rbo": self.churn.rbo}
        return {name: min(value, float_info.max) for name, value in found.items()}

    def to_json(self) -> dict[str, Any]:
        """Return all of it as one JSON object, with the outcome and what changed between the reports."""
        form: dict[str, Any] = {"schema": DRIFT_SCHEMA, "verdict": self.outcome, "worst": to_json(self.worst)}
        form |= super().to_json()
        circumstances: dict[str, Any] = form.pop("circumstances")
        return form | circumstances

    @classmethod
    def prepare(cls, value: Any) -> Any:
        return {**value, "circumstances": value} if isinstance(value, dict) else value
