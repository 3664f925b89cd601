"""The manifest of a run, read without trust: its own digest, its version and its schema are checked once, here."""

import re
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic_core import SchemaValidator, core_schema

from karat.archive.durable import as_bytes
from karat.archive.files import is_plain_name, read_small, reason_of
from karat.archive.naming import to_moment
from karat.archive.upgrading import LaterVersion, lifted
from karat.errors import DamagedRun, DataError
from karat.json_types import (
    COUNT,
    FLAG,
    INTERVAL,
    NUMBER,
    TEXT,
    VALUE,
    array,
    check_json,
    optional,
    parse_json,
    record,
    table,
)

__all__ = ["MANIFEST", "manifest_bytes", "read_manifest"]

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
    body = as_bytes({key: value for key, value in manifest.items() if key != _DIGEST})[: -len(b"}\n")]
    return body + b',\n"sha256": "%s"}\n' % sha256(body).hexdigest().encode()


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and check the manifest of a run's folder; an older one is returned as the current version has it.

    Raises:
        DamagedRun: Where it is gone, was changed, or is not as karat writes it.
        DataError: Where a later karat wrote it.
    """
    path = folder / MANIFEST
    where = str(path)
    try:
        octets = read_small(path, _MOST_BYTES)
    except OSError as error:
        raise DamagedRun(path, reason_of(error)) from error
    try:
        manifest = parse_json(octets, where)
        _check_digest(manifest, octets)
        found = lifted(manifest, where)
        check_json(_validator(), found, where, "a manifest as karat writes it")
    except LaterVersion:
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
    """Build the schema of a manifest, ``karat.run/1``."""
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
        known = isinstance(time, str) and _TIME.fullmatch(time) is not None and 1 < to_moment(time).year < 9999
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
