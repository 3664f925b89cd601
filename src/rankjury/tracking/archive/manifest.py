"""Manifest of a run: what it was made of, and enough of its results for a history.

It is read without trust: its digest of itself, its version and its schema are checked here. To change the format of a
run, raise ``CURRENT`` and add to ``UPGRADES`` the function that turns a manifest of the version before into one of the
new version. Older runs stay readable, step by step.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from hashlib import sha256
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import SchemaValidator, core_schema

from rankjury.core.validation import to_json
from rankjury.errors import DamagedRun, DataError
from rankjury.tracking.archive.files import (
    COUNT,
    FLAG,
    INTERVAL,
    NUMBER,
    TEXT,
    VALUE,
    array,
    check_json,
    format_time,
    is_plain_name,
    json_bytes,
    optional,
    parse_strict_json,
    read_failure,
    read_limited,
    record,
    table,
)

if TYPE_CHECKING:
    from rankjury.evaluation.report import Report

CURRENT = 1
SCHEMA = f"rankjury.run/{CURRENT}"
Upgrade = Callable[[dict[str, Any]], dict[str, Any]]
UPGRADES: dict[int, Upgrade] = {}
"""By version, the function that turns a manifest into one of the next version; it gets a copy."""
MANIFEST = "manifest.json"
_DIGEST = "sha256"
_LAST_LINE = re.compile(rb',\n"sha256": "([0-9a-f]{64})"}\n')
_LAST_LINE_BYTES = len(b',\n"sha256": ""}\n') + 64
_MAX_BYTES = 100_000_000
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)")


class NewerVersionError(DataError):
    """A run that a later rankjury stored: not damaged, but not readable here."""


def upgrade_manifest(
    manifest: Any, where: str, *, steps: Mapping[int, Upgrade] = UPGRADES, current: int = CURRENT
) -> dict[str, Any]:  # fmt: skip
    """Return a manifest of any version as one of the current; ``where`` is for errors."""
    schema = manifest.get("schema") if isinstance(manifest, dict) else None
    numbered = re.fullmatch(r"rankjury\.run/([1-9]\d{0,5})", schema) if isinstance(schema, str) else None
    if numbered is None:
        raise DataError("this is not a manifest of rankjury", where=where, expected=f"the schema {SCHEMA}")
    version = int(numbered[1])
    if version > current:
        raise NewerVersionError(
            f"a later rankjury made this run (rankjury.run/{version})",
            where=where,
            expected=f"rankjury.run/{current} or earlier",
            hint="Update rankjury to open it: pip install --upgrade rankjury.",
        )
    upgraded: dict[str, Any] = manifest
    for earlier in range(version, current):
        upgraded = steps[earlier](dict(upgraded)) | {"schema": f"rankjury.run/{earlier + 1}"}
    return upgraded


def manifest_bytes(manifest: Mapping[str, Any]) -> bytes:
    """Return the content of a manifest's file: JSON whose last line is the SHA-256 of all bytes before that line."""
    body = json_bytes({key: value for key, value in manifest.items() if key != _DIGEST})[: -len(b"}\n")]
    return body + b',\n"sha256": "%s"}\n' % sha256(body).hexdigest().encode()


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and check the manifest of a run's folder; an older one is returned in the current version.

    Raises:
        DamagedRun: Where it is missing, was changed, or is not as rankjury writes it.
        DataError: Where a later rankjury wrote it.
    """
    path = folder / MANIFEST
    where = str(path)
    try:
        octets = read_limited(path, _MAX_BYTES)
    except OSError as error:
        raise DamagedRun(path, read_failure(error)) from error
    try:
        manifest = parse_strict_json(octets, where)
        last = _LAST_LINE.fullmatch(octets[-_LAST_LINE_BYTES:])
        if last is not None and sha256(octets[:-_LAST_LINE_BYTES]).hexdigest().encode() != last[1]:
            raise DataError("its content has changed")
        manifest = upgrade_manifest(manifest, where)  # a later version may have its digest elsewhere
        if last is None:
            raise DataError("its content has changed")
        check_json(_validator(), manifest, where, "a manifest as rankjury writes it")
    except NewerVersionError:
        raise
    except DataError as error:
        raise DamagedRun(path, error.found, expected=error.expected) from error
    return {key: value for key, value in manifest.items() if key != _DIGEST}


@cache
def _validator() -> SchemaValidator:
    """Build the schema of a manifest, ``rankjury.run/1``."""
    name = core_schema.no_info_plain_validator_function(_check_name)
    digest = core_schema.str_schema(strict=True, pattern="^[0-9a-f]{64}$")
    estimate = record({"mean": optional(NUMBER), "n": COUNT}, ci=INTERVAL, se=NUMBER)
    about = record(
        {},
        convention=TEXT,
        aggregate=core_schema.literal_schema(["mean", "sum", "geometric"]),
        lower_is_better=FLAG,
        whole=FLAG,
    )
    answers = record({"systems": array(TEXT), "golds": array(TEXT), "gold_of": table(TEXT)}, depth=COUNT)
    return SchemaValidator(
        record(
            {
                "name": TEXT,
                "time": core_schema.no_info_plain_validator_function(_check_time),
                "summary": table(table(estimate, least=1), least=1),
                "files": table(record({"bytes": COUNT, "sha256": digest}), name),
            },
            plan=record({}, file=TEXT, content=table(VALUE)),
            inputs=table(optional(TEXT)),
            digest=TEXT,
            same_inputs_as=TEXT,
            versions=table(VALUE),
            packages=table(VALUE),
            machine=table(VALUE),
            seed=VALUE,
            git=record({}, commit=TEXT, dirty=FLAG),
            seconds=NUMBER,
            verdict=TEXT,
            baseline=TEXT,
            by_chance=array(TEXT),
            queries=COUNT,
            queries_are_items=FLAG,
            headline=array(TEXT),
            measures=table(about),
            results=TEXT,
            answers=core_schema.no_info_after_validator_function(_check_golds, answers),
        )
    )


def _check_name(name: Any) -> Any:
    if not isinstance(name, str) or not is_plain_name(name):
        raise ValueError("not the name of a file in the run's folder")
    return name


def _check_time(time: Any) -> Any:
    """Check a time with its zone, in the years that a calendar can shift to another zone."""
    try:
        is_time = _TIME.fullmatch(time) is not None and 1 < datetime.fromisoformat(time).year < 9999
    except (TypeError, ValueError):
        is_time = False
    if not is_time:
        raise ValueError(f"the time is {str(time)[:40]!r}; expected such as 2026-11-17T05:09:35.123Z")
    return time


def _check_golds(answers: dict[str, Any]) -> dict[str, Any]:
    golds = answers["golds"]
    if not all(answers["gold_of"].get(system) in golds for system in answers["systems"]):
        raise ValueError("a system has no gold")
    return answers


def make_manifest(
    report: "Report",
    origin: "Origin",
    moment: datetime,
    files: Mapping[str, bytes],
    same_inputs_as: str | None,
) -> dict[str, Any]:
    """Return the manifest of a run; ``files`` are the other files of its folder."""
    from rankjury.evaluation.gate import Gate
    from rankjury.tracking.archive.environment import describe_machine, package_versions

    gate, answers = report.section(Gate), report.answers
    results = sha256()  # equal for another run where no digit of any query's score differs
    measures: dict[str, dict[str, Any]] = {}
    for name, scores in report.scores.items():
        results.update("\0".join([name, *scores.labels, *map(str, scores.queries)]).encode("utf-8", "surrogatepass"))
        results.update(scores.values.astype("<f8").tobytes())
        for label, convention, aggregate in zip(scores.labels, scores.conventions, scores.aggregates, strict=True):
            flags = {"lower_is_better": label in scores.lower_is_better, "whole": label in scores.whole}
            about = {"convention": convention, "aggregate": aggregate}
            measures.setdefault(label, about | {flag: True for flag, is_set in flags.items() if is_set})
    return {
        "schema": SCHEMA,
        "name": origin.name,
        "time": format_time(moment),
        "plan": {"file": origin.file, "content": dict(origin.plan)},
        "inputs": dict(origin.inputs),
        "digest": origin.digest,
        "same_inputs_as": same_inputs_as,
        "versions": collect_versions(report),
        "packages": package_versions(),
        "machine": describe_machine(),
        "seed": None if report.resampling is None else report.resampling.seed,
        "git": None if origin.git is None else dict(origin.git),
        "seconds": origin.seconds,
        "verdict": None if gate is None else gate.outcome,
        "baseline": report.baseline,
        "by_chance": sorted(report.random_systems),
        "queries": report.n_queries,
        "queries_are_items": report.queries is not None and report.queries.queries_are_items,
        "headline": list(report.headline or report.labels),
        "measures": measures,
        "summary": {
            name: {
                label: {key: to_json(getattr(estimate, key)) for key in ("mean", "ci", "se", "n")}
                for label, estimate in system.estimates.items()
            }
            for name, system in report.systems.items()
        },
        "results": results.hexdigest(),
        "answers": None
        if answers is None
        else {
            "systems": list(answers.systems),
            "golds": list(answers.golds),
            "gold_of": dict(answers.gold_of),
            "depth": answers.depth,
        },
        "files": {name: file_entry(content) for name, content in files.items()},
    }


def file_entry(content: bytes) -> dict[str, Any]:
    """Return the size and hash of a file, by which a change of it is found."""
    return {"bytes": len(content), "sha256": sha256(content).hexdigest()}


_DECLARED = {
    "data": ("dataset_version", "data_version", "dataset", "data"),
    "model": ("model_version", "model"),
    "index": ("index_params", "index_version", "index"),
    "chunking": ("chunking_config", "chunking"),
    "queries": ("query_set_version", "queries_version"),
}
"""By kind of version, the keys of a plan's ``meta`` that state it."""


def collect_versions(report: "Report") -> dict[str, Any]:
    """Return the known versions by kind: what is ``declared``, and values by system."""
    import numpy as np

    provenance = report.provenance
    meta = provenance.get("meta") or {}
    versions: dict[str, dict[str, Any]] = {kind: {} for kind in (*_DECLARED, "golds")}
    for kind, keys in _DECLARED.items():
        declared = next((meta[key] for key in keys if key in meta), None)
        if declared is not None:
            versions[kind]["declared"] = declared
    for system in report.systems:
        for kind, key, value in _system_versions(report, system):
            if value is not None:
                versions[kind].setdefault(key, {})[system] = value
    ids = next(iter(report.scores.values())).queries
    known = {} if report.queries is None else report.queries.query_texts
    texts = [known.get(query, "") for query in map(str, ids)] if known else []
    digest = sha256("\0".join([*map(str, ids), *texts]).encode()).hexdigest()
    versions["queries"] |= {"n": len(ids), "digest": digest}
    if provenance.get("query_set"):
        versions["queries"]["set"] = provenance["query_set"]
    for name, gold in report.answers.golds.items() if report.answers is not None else ():
        judged = sha256("\0".join(gold.items.to_list()).encode())
        for numbers in (gold.starts, gold.grades, gold.total):
            judged.update(np.ascontiguousarray(numbers).tobytes())
        versions["golds"][name] = {"judged": int(gold.total.sum()), "digest": judged.hexdigest()}
    return {kind: entries for kind, entries in versions.items() if entries}


def _system_versions(report: "Report", system: str) -> Iterator[tuple[str, str, Any]]:
    """Yield versions of a system: kind, key and value; None where it is not known."""
    from rankjury.evaluation.sections import Fingerprints, SystemFacts

    prints = report.section(Fingerprints, system) or Fingerprints()
    facts = report.section(SystemFacts, system) or SystemFacts()
    yield "data", "items", prints.get("items")
    yield "model", "vectors", prints.get("vectors")
    yield "model", "query_vectors", prints.get("query_vectors")
    yield "model", "model", facts.get("model")
    yield "model", "params", facts.get("params")
    yield "chunking", "chunking", facts.get("chunking")
    if "index" in report.systems[system].sections:
        from rankjury.retrieval.bench.result import IndexResult

        index = report.needed_section(IndexResult, system)
        fields = ("engine", "metric", "settings", "build", "search", "vectors")
        about = {name: to_json(getattr(index, name)) for name in fields}
        about["settings"].pop("folder", None)
        facts_of_library = ("library", "version", "postgresql", "pgvector")
        library = {key: value for key, value in index.facts.items() if key in facts_of_library}
        yield "index", "index", about | library


_MESSAGE_KEYS = ("systems", "hints", "warnings", "provenance", "gate")
"""Keys of a report that hold messages and settings."""
_ID_KEYS = ("query", "item", "queries", "items", "measures")


@dataclass(frozen=True)
class Origin:
    """Origin of a report: the plan and its inputs."""

    name: str
    """Name of the plan; runs of one name make a history."""
    plan: Mapping[str, Any] = field(default_factory=dict)
    """The plan's content, without secrets and absolute paths."""
    file: str | None = None
    """The name of the plan's file."""
    text: str | None = None
    """The plan as TOML, without secrets, absolute paths and comments."""
    inputs: Mapping[str, str | None] = field(default_factory=dict)
    """By path as the plan spells it, the SHA-256 of the content; None for what can be read only once. An absolute path
    is relative to the folder of the plan, or its last part."""
    git: Mapping[str, Any] | None = None
    """Commit and whether anything differs from it; None outside of a work tree."""
    seconds: float | None = None
    """Duration of the run."""
    prefixes: Mapping[str, str] = field(default_factory=dict)
    """Folders of this machine that may occur in messages, and their replacements."""

    @property
    def digest(self) -> str:
        """Hash of inputs and plan, without the keys that change no value."""
        plan = {key: value for key, value in self.plan.items() if key not in ("outputs", "output")}
        form = {"name": self.name, "plan": plan, "inputs": dict(self.inputs)}
        return sha256(dumps(form, sort_keys=True, ensure_ascii=True, default=str).encode()).hexdigest()

    def shorten(self, report: "Report") -> "Report":
        """Return a report without the folders of this machine in its messages and settings; ids stay as they are."""
        form = report.to_json()
        shortened = {key: self._shorten(value) if key in _MESSAGE_KEYS else value for key, value in form.items()}
        if shortened == form:
            return report
        copy = type(report).from_json(shortened, report.source)
        slices = (replace(new, rows=old.rows) for new, old in zip(copy.slices, report.slices, strict=True))
        return replace(copy, slices=tuple(slices), queries=report.queries)

    def _shorten(self, value: Any) -> Any:
        if isinstance(value, str):
            for prefix in sorted(self.prefixes, key=len, reverse=True) if "/" in value else ():
                value = value.replace(prefix, self.prefixes[prefix])
            return value
        if isinstance(value, Mapping):
            return {key: inner if key in _ID_KEYS else self._shorten(inner) for key, inner in value.items()}
        return [self._shorten(inner) for inner in value] if isinstance(value, list | tuple) else value
