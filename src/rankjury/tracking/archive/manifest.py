"""The manifest of a run: what it was made of, and enough of its results for a history.

It is read without trust: its own digest, its version and its schema are checked once, here. To change the form of a
run: raise ``CURRENT``, and add to ``STEPS`` the function that makes of a manifest of the version before one of the new
version. It gets a copy of its own. An older run then opens for ever, step by step.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from hashlib import sha256
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import SchemaValidator, core_schema

from rankjury.core.json_schema import (
    COUNT,
    FLAG,
    INTERVAL,
    NUMBER,
    TEXT,
    VALUE,
    array,
    check_json,
    optional,
    parse_strict_json,
    record,
    table,
)
from rankjury.core.validation import to_json
from rankjury.errors import DamagedRun, DataError
from rankjury.tracking.archive.files import (
    format_time,
    is_plain_name,
    json_bytes,
    parse_time,
    read_failure,
    read_limited,
)

if TYPE_CHECKING:
    from rankjury.evaluation.query_lists import Answers, ItemLists
    from rankjury.evaluation.report import Report

CURRENT = 1
SCHEMA = f"rankjury.run/{CURRENT}"
Upgrade = Callable[[dict[str, Any]], dict[str, Any]]
UPGRADES: dict[int, Upgrade] = {}
"""By version, what lifts a manifest of it to the next."""


class NewerVersionError(DataError):
    """A run that a later rankjury stored: not damaged, but not to be read here."""


def upgrade_manifest(
    manifest: Any, where: str, *, steps: Mapping[int, Upgrade] = UPGRADES, current: int = CURRENT
) -> dict[str, Any]:  # fmt: skip
    """A manifest of any version as one of the current; ``where`` is for errors."""
    schema = manifest.get("schema") if isinstance(manifest, dict) else None
    numbered = re.fullmatch(r"rankjury\.run/([1-9]\d{0,5})", schema) if isinstance(schema, str) else None
    if numbered is None:
        raise DataError("this is no manifest of rankjury", where=where, expected=f"the schema {SCHEMA}")
    version = int(numbered[1])
    if version > current:
        raise NewerVersionError(
            f"a later rankjury made this run (rankjury.run/{version})",
            where=where,
            expected=f"rankjury.run/{current} or earlier",
            hint="Update rankjury to open it: pip install --upgrade rankjury.",
        )
    found: dict[str, Any] = manifest
    for earlier in range(version, current):
        found = steps[earlier](dict(found)) | {"schema": f"rankjury.run/{earlier + 1}"}
    return found


MANIFEST = "manifest.json"
_DIGEST = "sha256"
_LAST_LINE = re.compile(rb',\n"sha256": "([0-9a-f]{64})"}\n')
_LAST_LINE_BYTES = len(b',\n"sha256": ""}\n') + 64
_MOST_BYTES = 100_000_000
_KEYS = frozenset(
    (
        *("schema", "name", "time", "plan", "inputs", "digest", "same_inputs_as", "versions", "packages", "machine"),
        *("seed", "git", "seconds", "verdict", "baseline", "by_chance", "queries", "headline", "measures", "summary"),
        *("results", "answers", "files"),
    )
)
"""The keys of manifests from before they held a digest of themselves."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)")


def manifest_bytes(manifest: Mapping[str, Any]) -> bytes:
    """Return the content of a manifest's file: JSON whose last line is the SHA-256 of all bytes before that line."""
    body = json_bytes({key: value for key, value in manifest.items() if key != _DIGEST})[: -len(b"}\n")]
    return body + b',\n"sha256": "%s"}\n' % sha256(body).hexdigest().encode()


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and check the manifest of a run's folder; an older one is returned as the current version has it.

    Raises:
        DamagedRun: Where it is gone, was changed, or is not as rankjury writes it.
        DataError: Where a later rankjury wrote it.
    """
    path = folder / MANIFEST
    where = str(path)
    try:
        octets = read_limited(path, _MOST_BYTES)
    except OSError as error:
        raise DamagedRun(path, read_failure(error)) from error
    try:
        manifest = parse_strict_json(octets, where)
        _check_digest(manifest, octets)
        found = upgrade_manifest(manifest, where)
        check_json(_validator(), found, where, "a manifest as rankjury writes it")
    except NewerVersionError:
        raise
    except DataError as error:
        raise DamagedRun(path, error.found, expected=error.expected) from error
    found.pop(_DIGEST, None)
    return found


def _check_digest(manifest: Any, octets: bytes) -> None:
    """Check a manifest's digest of itself.

    Manifests from before there was one have only keys of that time: so a digest whose key was damaged is missed too.
    """
    if not isinstance(manifest, dict) or (_DIGEST not in manifest and manifest.keys() <= _KEYS):
        return
    last = _LAST_LINE.fullmatch(octets[-_LAST_LINE_BYTES:])
    if last is None or sha256(octets[:-_LAST_LINE_BYTES]).hexdigest().encode() != last[1]:
        raise DataError("its content has changed")


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
    """A moment with its zone, from the years that a calendar can shift to another zone."""
    try:
        known = isinstance(time, str) and _TIME.fullmatch(time) is not None and 1 < parse_time(time).year < 9999
    except ValueError:
        known = False
    if not known:
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
    """``files`` is what else is in the folder."""
    from rankjury.evaluation.gate import Gate
    from rankjury.tracking.archive.environment import describe_machine, package_versions

    gate = report.section(Gate)
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
        "measures": _measures(report),
        "summary": {
            name: {
                label: {"mean": to_json(one.mean), "ci": to_json(one.ci), "se": to_json(one.se), "n": one.n}
                for label, one in system.estimates.items()
            }
            for name, system in report.systems.items()
        },
        "results": results_digest(report),
        "answers": _answers(report.answers),
        "files": {name: file_entry(held) for name, held in files.items()},
    }


def _answers(answers: "Answers | None") -> dict[str, Any] | None:
    """What the frames do not tell of the answers: which systems and golds there are, in their order."""
    if answers is None:
        return None
    return {
        "systems": list(answers.systems),
        "golds": list(answers.golds),
        "gold_of": dict(answers.gold_of),
        "depth": answers.depth,
    }


def file_entry(held: bytes) -> dict[str, Any]:
    """What tells whether a file is still as it was stored."""
    return {"bytes": len(held), "sha256": sha256(held).hexdigest()}


def _measures(report: "Report") -> dict[str, Any]:
    """By label, what is to be known to compare it with that of another run."""
    found: dict[str, Any] = {}
    for scores in report.scores.values():
        for label, convention, aggregate in zip(scores.labels, scores.conventions, scores.aggregates, strict=True):
            about: dict[str, Any] = {"convention": convention, "aggregate": aggregate}
            about |= {"lower_is_better": True} if label in scores.lower_is_better else {}
            about |= {"whole": True} if label in scores.whole else {}
            found.setdefault(label, about)
    return found


def results_digest(report: "Report") -> str:
    """Over every query's score in every system and measure: equal where no digit differs."""
    digest = sha256()
    for name, scores in report.scores.items():
        digest.update("\0".join([name, *scores.labels, *map(str, scores.queries)]).encode("utf-8", "surrogatepass"))
        digest.update(scores.values.astype("<f8").tobytes())
    return digest.hexdigest()


_DECLARED = {
    "data": ("dataset_version", "data_version", "dataset", "data"),
    "model": ("model_version", "model"),
    "index": ("index_params", "index_version", "index"),
    "chunking": ("chunking_config", "chunking"),
    "queries": ("query_set_version", "queries_version"),
}
"""By which names a plan's meta tells of each."""
_OF_AN_INDEX = ("engine", "metric", "settings", "build", "search", "vectors")
_OF_ITS_LIBRARY = ("library", "version", "postgresql", "pgvector")


def collect_versions(report: "Report") -> dict[str, Any]:
    """Return what is known of each version, under its name: what is ``declared``, and what was found by system."""
    provenance = report.provenance
    meta = provenance.get("meta") or {}
    found: dict[str, dict[str, Any]] = {name: {} for name in (*_DECLARED, "golds")}
    for name, keys in _DECLARED.items():
        declared = next((meta[key] for key in keys if key in meta), None)
        if declared is not None:
            found[name]["declared"] = declared
    for system in report.systems:
        for name, what, value in _system_versions(report, system):
            found[name].setdefault(what, {})[system] = value
    ids = next(iter(report.scores.values())).queries
    known = {} if report.queries is None else report.queries.query_texts
    texts = [known.get(query, "") for query in map(str, ids)] if known else []
    digest = sha256("\0".join([*map(str, ids), *texts]).encode()).hexdigest()
    found["queries"] |= {"n": len(ids), "digest": digest}
    if provenance.get("query_set"):
        found["queries"]["set"] = provenance["query_set"]
    if report.answers is not None:
        found["golds"] = {name: _digest(gold) for name, gold in report.answers.golds.items()}
    return {name: about for name, about in found.items() if about}


def _system_versions(report: "Report", system: str) -> list[tuple[str, str, Any]]:
    """Return what is known of a system: under which name, what, and its value."""
    from rankjury.evaluation.sections import Fingerprints, SystemFacts

    prints = report.section(Fingerprints, system) or Fingerprints()
    facts = report.section(SystemFacts, system) or SystemFacts()
    found = [
        ("data", "items", prints.get("items")),
        ("model", "vectors", prints.get("vectors")),
        ("model", "query_vectors", prints.get("query_vectors")),
        ("model", "model", facts.get("model")),
        ("model", "params", facts.get("params")),
        ("chunking", "chunking", facts.get("chunking")),
    ]
    if "index" in report.systems[system].sections:
        from rankjury.retrieval.bench.result import IndexResult

        index = report.needed_section(IndexResult, system)
        library = {key: value for key, value in index.facts.items() if key in _OF_ITS_LIBRARY}
        about = {name: to_json(getattr(index, name)) for name in _OF_AN_INDEX}
        about["settings"] = {key: value for key, value in about["settings"].items() if key != "folder"}
        found.append(("index", "index", about | library))
    return [one for one in found if one[2] is not None]


def _digest(gold: "ItemLists") -> dict[str, Any]:
    """Over the judged items that are kept, their grades, and how many there are in all."""
    import numpy as np

    digest = sha256("\0".join(gold.items.to_list()).encode())
    for numbers in (gold.starts, gold.grades, gold.total):
        digest.update(np.ascontiguousarray(numbers).tobytes())
    return {"judged": int(gold.total.sum()), "digest": digest.hexdigest()}


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

    def shorten(self, report: "Report") -> "Report":
        """Return a report without the folders of this machine in its messages and settings; ids stay as they are."""
        form = report.to_json()
        shortened = {key: self._shortened(value) if key in _OF_WORDS else value for key, value in form.items()}
        if shortened == form:
            return report
        found = type(report).from_json(shortened, report.source)
        slices = (replace(one, rows=own.rows) for one, own in zip(found.slices, report.slices, strict=True))
        return replace(found, slices=tuple(slices), queries=report.queries)

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
