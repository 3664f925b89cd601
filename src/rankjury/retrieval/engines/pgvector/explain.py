"""What PostgreSQL's planner really did, told by EXPLAIN.

Every way of searching is asked about once, by a few of its queries, before it answers. The planner is free at first.
Where it would not use the index, as of small tables, it is held to it; that, and where even this was of no use, is
noted. An exact scan that would use an index is an error.
"""

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from rankjury.errors import DataError

FREE = {"enable_seqscan": "on", "enable_bitmapscan": "on", "enable_sort": "on", "enable_indexscan": "on"}
"""The planner may do as it likes."""
_HELD = FREE | {"enable_seqscan": "off", "enable_bitmapscan": "off", "enable_sort": "off"}
_EXACT = FREE | {"enable_indexscan": "off"}
_SETTINGS_TOLD = "enable_seqscan, enable_bitmapscan and enable_sort were set off"
_SAMPLE = 3


@dataclass(frozen=True)
class Plan:
    """How a statement is carried out, in a line, and whether a vector index has a part in it."""

    text: str
    indexes: frozenset[str] = frozenset()
    """The vector indexes that it reads."""

    @property
    def used(self) -> bool:
        return bool(self.indexes)


def read_plan(answer: bytes | str, indexes: Mapping[str, str]) -> Plan:
    """From EXPLAIN's JSON: the nodes from the top down, those that read a table or an index with its name."""
    said, used, nodes = [], set(), [json.loads(answer)[0]["Plan"]]
    while nodes:
        node = nodes.pop(0)
        name = node.get("Index Name")
        read = f" using {name}" if name else f" on {node['Relation Name']}" if "Relation Name" in node else ""
        said.append(node["Node Type"] + read)
        used |= {name} & indexes.keys()
        nodes[:0] = node.get("Plans", [])
    return Plan(" > ".join(said), frozenset(used))


class Way(Hashable, Protocol):
    """A way of searching."""

    @property
    def exact(self) -> bool: ...
    @property
    def settings(self) -> Mapping[str, str]: ...


Explain = Callable[[Mapping[str, str], int], Plan]
"""The plan of the n-th query at hand, under settings of the planner."""


@dataclass
class Proof:
    """What was found, for the report, and how the planner is to be set for each way of searching."""

    notes: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    """The vector indexes that searches read."""
    _settled: dict[Way, Mapping[str, str]] = field(default_factory=dict)
    _found: dict[str, dict[str, Any]] = field(default_factory=dict)

    def settled(self, way: Way, queries: int, explain: Explain) -> Mapping[str, str]:
        """All settings for a way of searching, the planner's among them."""
        found = self._settled.get(way)
        if found is None:
            sample = np.unique(np.linspace(0, queries - 1, _SAMPLE).astype(int)).tolist()
            planner = self._exact(sample, explain) if way.exact else self._by_index(sample, explain)
            found = self._settled[way] = {**way.settings, **planner}
        return found

    def _exact(self, sample: Sequence[int], explain: Explain) -> Mapping[str, str]:
        for plan in (explain(_EXACT, query) for query in sample):
            self._record("exact", plan, as_wanted=not plan.used)
            if plan.used:
                raise DataError(f"the exact scan would use an index: {plan.text}", where="PostgreSQL")
        return _EXACT

    def _by_index(self, sample: Sequence[int], explain: Explain) -> Mapping[str, str]:
        plans = [explain(FREE, query) for query in sample]
        settings = FREE
        unused = next((plan for plan in plans if not plan.used), None)
        if unused is not None:
            settings, plans = _HELD, [explain(_HELD, query) for query in sample]
            self.note(f"the planner by itself would not use the index ({unused.text}): {_SETTINGS_TOLD}")
        for plan in plans:
            self._record("index", plan, as_wanted=plan.used)
            self.used |= plan.indexes
            if not plan.used:
                self.note(f"warning: the index was not used: {plan.text}")
        self._found["index"]["held"] = self._found["index"].get("held", False) or unused is not None
        return settings

    def _record(self, which: str, plan: Plan, *, as_wanted: bool) -> None:
        found = self._found.setdefault(which, {"used": plan.used, "plan": plan.text, "explained": 0})
        found["explained"] += 1
        if not as_wanted:
            found["used"], found["plan"] = plan.used, plan.text

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def to_json(self) -> dict[str, Any]:
        return {which: dict(found) for which, found in self._found.items()}
