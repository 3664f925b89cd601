"""Circumstances of two runs: what changed between them, for ``diff`` (by their manifests) and ``drift`` (by reports).

A manifest records inputs, plan, packages and machine as they were, so that every difference is listed. A report holds
versions that the user declared, and fingerprints that show what was not declared.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from json import dumps
from re import fullmatch
from typing import Any

from rankjury.core.validation import Record
from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import Fingerprints, SystemFacts

_LONGEST = 60
_DECLARED = {
    "model": "model_version",
    "dataset": "dataset_version",
    "chunking": "chunking_config",
    "index": "index_params",
    "query set": "query_set_version",
}
"""What a plan declares of each, and under which name."""
_BEHIND_VECTORS = ("model", "dataset", "chunking")


@dataclass(frozen=True)
class ManifestDifference(Record):
    """One value that is not the same in two runs."""

    kind: str
    """input, plan, version, package, convention, machine or git; of reports model, dataset, chunking, index …"""
    what: str
    before: Any
    after: Any
    """None where it is not there."""

    def __str__(self) -> str:
        subject = f"{self.kind} {self.what}" if self.what else self.kind
        if self.before is None:
            return f"{subject} is new" if _is_hash(self.after) else f"{subject} is new: {_shown(self.after)}"
        if self.after is None:
            return f"{subject} is gone"
        if _is_hash(self.before) and self.kind != "git":
            return f"{subject} has other contents" if self.kind == "input" else f"{subject} differs"
        return f"{subject}: {_shown(self.before)} → {_shown(self.after)}"

    @property
    def values(self) -> str:
        """Both values in full: ``16 → 32``."""
        return " → ".join("not said" if side is None else _text(side) for side in (self.before, self.after))


def differences_in(kind: str, before: Any, after: Any, *, both: bool = False) -> list[ManifestDifference]:
    """Return the values that differ between two tables, key by key; with ``both`` only those that are in both."""
    old, new = dict(_flat(before or {})), dict(_flat(after or {}))
    return [
        ManifestDifference(kind, key, old.get(key), new.get(key))
        for key in dict.fromkeys((*new, *old))
        if old.get(key) != new.get(key) and not (both and (key not in old or key not in new))
    ]


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """``{"a": {"b": 1}}`` → a.b: 1; lists are values."""
    if isinstance(value, Mapping) and (value or not path):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


def differences_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[ManifestDifference]:
    """Return how two manifests of archived runs differ, what explains most first."""
    plans, conventions = [], []
    for manifest in (before, after):
        content = dict((manifest.get("plan") or {}).get("content") or {})
        for key in ("name", "outputs", "output", "meta"):  # they change no value; what meta declares are versions
            content.pop(key, None)
        plans.append(content)
        measures = manifest.get("measures") or {}
        conventions.append({label: about.get("convention") for label, about in measures.items()})
    commits = [manifest.get("git") or {} for manifest in (before, after)]
    what, values = "", [commit.get("commit") for commit in commits]
    if values[0] == values[1]:
        what, values = "work tree", ["with changes" if commit.get("dirty") else "as committed" for commit in commits]
    git = [ManifestDifference("git", what, *values)] if values[0] != values[1] else []
    return [
        *differences_in("input", before.get("inputs"), after.get("inputs")),
        *differences_in("plan", *plans),
        *differences_in("version", before.get("versions"), after.get("versions")),
        *differences_in("convention", *conventions, both=True),
        *differences_in("package", before.get("packages"), after.get("packages")),
        *git,
        *differences_in("machine", before.get("machine"), after.get("machine")),
    ]


def _is_hash(value: Any) -> bool:
    return isinstance(value, str) and fullmatch("[0-9a-f]{32,64}", value) is not None


def _shown(value: Any) -> str:
    """Return a value as text for one line: hashes by their first digits, others cut where they are long."""
    text = _text(value)
    return text[:8] if _is_hash(value) else text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class DeclaredChange(Record):
    """What two reports say of the same thing."""

    old: Any
    new: Any


@dataclass(frozen=True)
class CircumstanceChange(Record):
    """One thing that differs between two reports."""

    what: str
    declared: DeclaredChange | None
    """What the reports say it was before and after; None where they say the same, or one says nothing."""
    found: tuple[str, ...]
    """What shows it, whatever was declared."""

    def __str__(self) -> str:
        declared = self.declared
        versions = [] if declared is None else [ManifestDifference("", "", declared.old, declared.new).values]
        return f"{self.what}: {'; '.join([*versions, *self.found])}"


@dataclass(frozen=True)
class Circumstances(Record):
    """All that changed between two reports, and what that means for trusting their comparison."""

    changed: tuple[CircumstanceChange, ...]
    undeclared: tuple[str, ...]
    """Changes that the declared versions do not tell of, as sentences."""
    unknown: tuple[str, ...]
    """Of these the reports hold nothing that could tell."""


def circumstances_between(old: Report, old_system: str, new: Report, system: str) -> Circumstances:
    """Return which of model, dataset, chunking, index and query set changed: by what is declared and what is found."""
    before, after = _Side.of(old, old_system), _Side.of(new, system)
    said = [what for what in _DECLARED if before.declared[what] is not None and after.declared[what] is not None]
    declared = {
        what: DeclaredChange(before.declared[what], after.declared[what])
        for what in said
        if before.declared[what] != after.declared[what]
    }
    differs = {name: before.prints[name] != after.prints[name] for name in before.prints if name in after.prints}
    traces = list(_traces(before, after, differs, "index" in said))
    evidence = {what: tuple(short for subject, short, _ in traces if subject == what) for what in _DECLARED}
    changed = [
        CircumstanceChange(what, declared.get(what), evidence[what])
        for what in _DECLARED
        if what in declared or evidence[what]
    ]
    sentences = {what: sentence for what, _, sentence in traces if sentence}
    undeclared = []
    other_vectors = differs.get("vectors", False) and before.prepared == after.prepared
    other_vectors = other_vectors and declared.keys().isdisjoint(_BEHIND_VECTORS)
    if other_vectors:
        undeclared.append(f"the vectors differ, but {_as_said(_BEHIND_VECTORS, said)}")
    for what, sentence in sentences.items():
        if what not in declared and not (other_vectors and what == "model"):
            undeclared.append(f"{sentence}, but {_as_said((what,), said)}")
    known = set(said)
    if differs.get("vectors") is False:
        known |= set(_BEHIND_VECTORS)
        without_effect = [what for what in _BEHIND_VECTORS if what in declared and what not in sentences]
        undeclared += [f"{_DECLARED[what]} changed, but the vectors are the same" for what in without_effect]
    known |= {"dataset"} if differs.get("items") else set()
    known |= {"index"} if before.index and after.index else set()
    known |= {"query set"} if "queries" in differs or (before.query_set and after.query_set) else set()
    return Circumstances(tuple(changed), tuple(undeclared), tuple(what for what in _DECLARED if what not in known))


@dataclass(frozen=True, eq=False)
class _Side:
    """What one report tells of its circumstances."""

    declared: Mapping[str, Any]
    facts: Mapping[str, Any]
    prints: Mapping[str, Any]
    index: Mapping[str, Mapping[str, Any]]
    """How the index is configured, table by table; empty where the system has none."""
    query_set: Mapping[str, Any]

    @classmethod
    def of(cls, report: Report, system: str) -> "_Side":
        meta, query_set = (_table(report.provenance.get(key)) for key in ("meta", "query_set"))
        declared = {what: meta.get(name) for what, name in _DECLARED.items()}
        if declared["query set"] is None:
            declared["query set"] = query_set.get("version")
        facts, prints = report.section(SystemFacts, system), report.section(Fingerprints, system)
        tables = (section.configuration() for section in report.systems[system].sections.values())
        return cls(declared, facts or {}, prints or {}, next(filter(None, tables), {}), query_set)

    @property
    def prepared(self) -> Mapping[str, Any]:
        """What was done to the vectors of the files: another treatment makes other vectors of the same model."""
        done = self.index.get("vectors") or _table(self.facts.get("vectors"))
        return {name: treatment for name, treatment in done.items() if name != "filter"}


def _traces(
    before: _Side, after: _Side, differs: Mapping[str, bool], says_index: bool
) -> Iterator[tuple[str, str, str | None]]:
    """Yield evidence of changes: what changed, briefly how, and a sentence where a declared version should say so."""
    for difference in differences_in("", before.facts, after.facts, both=True):
        what = difference.what.partition(".")[0]
        if what in _DECLARED and None not in (difference.before, difference.after):
            yield what, difference.values, None
    if differs.get("items"):
        yield "dataset", "other items", "there are other items"
    hashes = before.query_set.get("sha256"), after.query_set.get("sha256")
    if None not in hashes and hashes[0] != hashes[1]:
        yield "query set", "other ids, texts or types of queries", "the queries differ"
    elif differs.get("queries"):
        yield "query set", "other queries", "the queries differ"
    elif "queries" in differs and differs.get("query_vectors") and before.prepared == after.prepared:
        yield "model", "other vectors of the same queries", "the same queries have other vectors"
    threshold = ManifestDifference("", "threshold", before.facts.get("threshold"), after.facts.get("threshold"))
    if threshold.before != threshold.after:
        yield "index", f"threshold {threshold.values}", None
    tables, wrong = [(_table(before.facts.get("vectors")), _table(after.facts.get("vectors")))], False
    if before.index and after.index:
        tables = [(before.index.get(name, {}), after.index.get(name, {})) for name in {**before.index, **after.index}]
        wrong = says_index
    changes = [f"{change.what} {change.values}" for sides in tables for change in differences_in("", *sides)]
    # An index is recorded as it is: only what is declared of it can be wrong.
    sentence = f"the index differs ({', '.join(changes)})" if wrong else None
    yield from (("index", change, sentence) for change in changes)


def _as_said(whats: tuple[str, ...], said: list[str]) -> str:
    """``model_version and dataset_version are the same``; where nothing is declared, that is said."""
    names = [_DECLARED[what] for what in whats if what in said]
    if not names:
        return f"no {' or '.join(_DECLARED[what] for what in whats)} is declared in both"
    *others, last = names
    return f"{', '.join(others)} and {last} are the same" if others else f"{last} is the same"


def _table(given: Any) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}
