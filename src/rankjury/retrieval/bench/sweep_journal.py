"""Conditions of a sweep: everything but the settings that determines its values; equal conditions share points."""

import os
import platform
import re
from collections.abc import Iterator
from hashlib import scrypt, sha256
from importlib.metadata import PackageNotFoundError, requires, version
from json import dumps
from typing import Any

import numpy as np

from rankjury.core.hashing import hash_vectors
from rankjury.core.secrets import Masker
from rankjury.core.version import __version__
from rankjury.retrieval.bench.benchmark import IndexBenchmark
from rankjury.retrieval.engines.base import Engine

_ALWAYS = ("numpy",)
_SECRETS = ("key", "token", "password", "secret", "header")
WORDS = {
    "corpus": "the items' vectors",
    "order": "the items' order",
    "queries": "the queries' vectors",
    "texts": "the queries' texts",
    "settings": "where the engine is",
}
"""What the keys of an identity stand for, where they do not say it."""


def sweep_conditions(bench: IndexBenchmark, *, rounds: int, warm_up: int, concurrency: int) -> dict[str, Any]:
    """Return the conditions of a sweep, without secrets; small enough to be stored with every point."""
    attributes = None if bench.attributes is None else _hashed(bench.attributes.write_csv().encode())
    return {
        "engine": bench.engine,
        "metric": bench.metric,
        "settings": _hashed_settings(bench),
        "k": bench.k,
        "corpus": hash_vectors(bench.corpus),
        "order": _hashed("\0".join(map(str, bench.corpus.ids)).encode()),
        "queries": hash_vectors(bench.queries),
        "texts": None if bench.texts is None else _hashed(dumps(list(bench.texts)).encode()),
        "filters": _hashed(dumps([str(filter_) for filter_ in bench.filters]).encode()) if any(bench.filters) else None,
        "attributes": attributes,
        "own": None if bench.own is None else _hashed(np.asarray(bench.own, dtype=np.int64).tobytes()),
        "resampling": None if bench.resampling is None else bench.resampling.to_json(),
        "rounds": rounds,
        "warm_up": warm_up,
        "concurrency": concurrency,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "versions": library_versions(bench.kind),
    }


def library_versions(engine: type[Engine]) -> dict[str, str]:
    """Return the versions of rankjury, NumPy and the libraries of the engine's extra."""
    found = {"rankjury": __version__}
    for library in (*_ALWAYS, *_libraries_of(engine.extra)):
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


def _libraries_of(extra: str | None) -> Iterator[str]:
    """``psycopg[binary]>=3.2; extra == 'pgvector'`` → psycopg"""
    try:
        needed = requires("rankjury") or []
    except PackageNotFoundError:
        return
    for line in needed:
        name, _, marker = line.partition(";")
        if extra is not None and re.search(rf"extra == ['\"]{re.escape(extra)}['\"]", marker):
            yield re.split(r"[^\w.-]", name.strip(), maxsplit=1)[0]


def _open_settings(bench: IndexBenchmark, masker: Masker) -> Iterator[tuple[str, Any]]:
    """Yield the engine's settings without its folder and without secrets."""
    for name, value in sorted(bench.settings.items()):
        if name != "folder" and not any(word in name for word in _SECRETS):
            yield name, str(masker.setting(name, value))


def _hashed_settings(bench: IndexBenchmark) -> str:
    """Return a hash of the settings; a slow hash if they may contain a secret under another name."""
    lenient, strict = (
        dumps(dict(_open_settings(bench, masker)), sort_keys=True).encode()
        for masker in (Masker(lenient=True), Masker())
    )
    if lenient == strict:
        return _hashed(lenient)
    return scrypt(lenient, salt=b"rankjury", n=2**14, r=8, p=1, dklen=32).hex()


def _hashed(octets: bytes) -> str:
    return sha256(octets).hexdigest()
