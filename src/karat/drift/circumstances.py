"""Under which circumstances two reports came about: what changed between them, declared or not."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from typing import Any

from karat.common_sections import Facts, Fingerprints
from karat.indexed import Indexed
from karat.records import Record
from karat.report import Report

__all__ = ["Changed", "Circumstances", "changes_of"]

_DECLARED = {
    "model": "model_version",
    "dataset": "dataset_version",
    "chunking": "chunking_config",
    "index": "index_params",
    "query set": "query_set_version",
}
"""What a plan says of each, and under which name."""
_BEHIND_VECTORS = ("model", "dataset", "chunking")
_PARTS = ("settings", "build", "search", "vectors")
_FACTS = ("library", "version", "postgresql", "pgvector")
"""Of an index's facts, those that tell what it is; others tell what happened."""


@dataclass(frozen=True)
class Declared(Record):
    """What two reports say of the same thing."""

    old: Any
    new: Any


@dataclass(frozen=True)
class Changed(Record):
    """One thing that differs between two reports."""

    what: str
    declared: Declared | None
    """What the reports say it was before and after; None where they say the same, or one says nothing."""
    found: tuple[str, ...]
    """What shows it, whatever was declared."""

    def __str__(self) -> str:
        told = [] if self.declared is None else [f"{_shown(self.declared.old)} → {_shown(self.declared.new)}"]
        return f"{self.what}: {'; '.join([*told, *self.found])}"


@dataclass(frozen=True)
class Circumstances(Record):
    """All that changed, and what that means for trusting the comparison."""

    changed: tuple[Changed, ...]
    undeclared: tuple[str, ...]
    """Changes that the declared versions do not tell of, as sentences."""
    unknown: tuple[str, ...]
    """Of these the reports hold nothing that could tell."""


@dataclass(frozen=True, eq=False)
class _Side:
    """What one report tells of its circumstances."""

    declared: Mapping[str, Any]
    facts: Mapping[str, Any]
    prints: Mapping[str, Any]
    index: Indexed | None
    query_set: Mapping[str, Any]

    @classmethod
    def of(cls, report: Report, system: str) -> "_Side":
        provenance = report.provenance
        meta, query_set = _table(provenance.get("meta")), _table(provenance.get("query_set"))
        declared = {what: meta.get(name) for what, name in _DECLARED.items()}
        if declared["query set"] is None:
            declared["query set"] = query_set.get("version")
        facts, prints = report.section(Facts, system), report.section(Fingerprints, system)
        return cls(declared, facts or {}, prints or {}, report.section(Indexed, system), query_set)

    @property
    def prepared(self) -> Mapping[str, Any]:
        """What was done to the vectors of the files: another treatment makes other vectors of the same model."""
        done = (self.index and self.index.vectors) or _table(self.facts.get("vectors"))
        return {name: one for name, one in done.items() if name != "filter"}


def changes_of(old: Report, old_system: str, new: Report, system: str) -> Circumstances:
    """Which of model, dataset, chunking, index and query set changed: by what is declared, and by what is found."""
    before, after = _Side.of(old, old_system), _Side.of(new, system)
    found = list(_found(before, after))
    changed = []
    for what in _DECLARED:
        declared, shown = _declared(what, before, after), tuple(one.short for one in found if one.what == what)
        if declared or shown:
            changed.append(Changed(what, declared and Declared(*declared), shown))
    unknown = [what for what in _DECLARED if not _known(what, before, after)]
    undeclared = [*_undeclared(before, after, found), *_without_effect(before, after, found)]
    return Circumstances(tuple(changed), tuple(undeclared), tuple(unknown))


def _declared(what: str, before: _Side, after: _Side) -> tuple[Any, Any] | None:
    """What both reports say, where they say different things."""
    sides = before.declared[what], after.declared[what]
    return None if None in sides or sides[0] == sides[1] else sides


@dataclass(frozen=True)
class _Trace:
    """What shows that something changed; with a sentence where a version should have told of it."""

    what: str
    short: str
    sentence: str | None = None


def _found(before: _Side, after: _Side) -> Iterator[_Trace]:
    for what in _DECLARED:
        recorded = before.facts.get(what), after.facts.get(what)
        if None not in recorded and recorded[0] != recorded[1]:
            yield _Trace(what, " → ".join(_shown(side) for side in recorded))
    if _differ("items", before, after):
        yield _Trace("dataset", "other items", "there are other items")
    hashes = before.query_set.get("sha256"), after.query_set.get("sha256")
    other_queries = _differ("queries", before, after)
    if None not in hashes and hashes[0] != hashes[1]:
        yield _Trace("query set", "other ids, texts or types of queries", "the queries differ")
    elif other_queries:
        yield _Trace("query set", "other queries", "the queries differ")
    elif other_queries is False and _differ("query_vectors", before, after) and before.prepared == after.prepared:
        yield _Trace("model", "other vectors of the same queries", "the same queries have other vectors")
    thresholds = before.facts.get("threshold"), after.facts.get("threshold")
    if thresholds[0] != thresholds[1]:
        yield _Trace("index", f"threshold {_shown(thresholds[0])} → {_shown(thresholds[1])}")
    if before.index is None or after.index is None:
        sides = (_table(side.facts.get("vectors")) for side in (before, after))
        yield from (_Trace("index", one) for one in _changes_in(*sides))
    else:
        shown = list(_index_changes(before.index, after.index))
        # An index is recorded as it is: only what is declared of it can be wrong.
        wrong = f"the index differs ({', '.join(shown)})" if _said("index", before, after) else None
        yield from (_Trace("index", one, wrong) for one in shown)


def _index_changes(before: Indexed, after: Indexed) -> Iterator[str]:
    yield from _changes_in(*({name: getattr(side, name) for name in ("engine", "metric")} for side in (before, after)))
    for part in _PARTS:
        yield from _changes_in(getattr(before, part), getattr(after, part))
    yield from _changes_in(*({name: side.facts.get(name) for name in _FACTS} for side in (before, after)))


def _changes_in(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield f"{name} {_shown(old.get(name))} → {_shown(new.get(name))}"


def _differ(name: str, before: _Side, after: _Side) -> bool | None:
    """Whether a fingerprint differs; None where it is not in both reports."""
    sides = before.prints.get(name), after.prints.get(name)
    return None if None in sides else sides[0] != sides[1]


def _undeclared(before: _Side, after: _Side, found: Sequence[_Trace]) -> Iterator[str]:
    silent = [what for what in _DECLARED if _declared(what, before, after) is None]
    vectors = bool(_differ("vectors", before, after)) and set(_BEHIND_VECTORS) <= set(silent)
    vectors = vectors and before.prepared == after.prepared
    if vectors:
        yield f"the vectors differ, but {_as_said(_BEHIND_VECTORS, before, after)}"
    told = {one.what: one.sentence for one in found if one.sentence and one.what in silent}
    for what, sentence in told.items():
        if not (vectors and what == "model"):
            yield f"{sentence}, but {_as_said((what,), before, after)}"


def _said(what: str, before: _Side, after: _Side) -> bool:
    return before.declared[what] is not None and after.declared[what] is not None


def _as_said(whats: tuple[str, ...], before: _Side, after: _Side) -> str:
    """``model_version and dataset_version are the same``; where nothing is declared, that is said."""
    said = [_DECLARED[what] for what in whats if _said(what, before, after)]
    if not said:
        return f"no {' or '.join(_DECLARED[what] for what in whats)} is declared in both"
    *others, last = said
    return f"{', '.join(others)} and {last} are the same" if others else f"{last} is the same"


def _without_effect(before: _Side, after: _Side, found: Sequence[_Trace]) -> Iterator[str]:
    """Declared changes that left no trace."""
    if _differ("vectors", before, after) is False:
        for what in _BEHIND_VECTORS:
            if _declared(what, before, after) and not any(one.what == what and one.sentence for one in found):
                yield f"{_DECLARED[what]} changed, but the vectors are the same"


def _known(what: str, before: _Side, after: _Side) -> bool:
    """Whether anything in both reports could tell."""
    if _said(what, before, after):
        return True
    if what == "query set":
        return _differ("queries", before, after) is not None or bool(before.query_set and after.query_set)
    if what == "index":
        return before.index is not None and after.index is not None
    return _differ("vectors", before, after) is False or (what == "dataset" and _differ("items", before, after) is True)


def _table(given: Any) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def _shown(value: Any) -> str:
    if value is None:
        return "not said"
    return value if isinstance(value, str) else dumps(value, ensure_ascii=False)
