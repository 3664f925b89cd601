"""Digests of the files and modules that a plan names: changed content is another model of the same name."""

import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import file_digest, sha256
from importlib.machinery import ModuleSpec, PathFinder
from itertools import accumulate
from os.path import exists, isdir, isfile
from pathlib import Path
from typing import Any

from rankjury.core.importing import is_function_name
from rankjury.io.source import plain_suffix
from rankjury.io.vectors import VECTOR_SUFFIXES, ids_file_of, split_off_key
from rankjury.recsys.data.movielens import find_file
from rankjury.recsys.data.split_folder import is_split_folder

_NAMES_NO_INPUT = frozenset(
    (
        *("name", "meta", "measures", "cutoffs", "headline", "baseline", "targets", "target", "outputs", "output"),
        *("figures", "statistics", "conventions", "sweep", "tune", "version"),
    )
)
"""Keys of a plan without inputs of a run."""
_WORDS = frozenset(
    (
        *("kind", "engine", "metric", "format", "method", "dtype", "ties", "match", "of", "folder"),
        *("separator", "no_value", "select", "show", "filter", "id", "user", "item", "value", "time", "query_text"),
    )
)
"""Keys whose values are words, columns, or working folders, not inputs."""


def digest_contents(settings: Any, folder: Path) -> dict[str, str]:
    """Return the digests of the files and modules named in settings, by path or module name.

    For a module only its own file counts, not its imports.
    """
    texts = sorted(set(texts_in(settings)))
    return {name: _digest(file) for text in texts for name, file in _files(text, folder)}


def list_inputs(plan: Mapping[str, Any], folder: Path) -> dict[str, Path | None]:
    """Return the files, folders and modules that a plan reads, by path as spelled in it; None for standard input."""
    inputs: dict[str, Path | None] = {}
    read = {key: value for key, value in plan.items() if key not in _NAMES_NO_INPUT}
    for text in sorted(set(texts_in(read, _WORDS))):
        if text == "-":  # standard input
            inputs[text] = None
        else:
            inputs |= dict(_files(text, folder)) or dict(_named_with_more(text, folder))
    return inputs


def digest_inputs(inputs: Mapping[str, Path | None]) -> dict[str, str | None]:
    """Return the digest of each input; unreadable ones are omitted, as the run itself reports them."""
    digests: dict[str, str | None] = {}
    for name, path in inputs.items():
        with suppress(OSError):
            digests[name] = None if path is None else _digest_of_folder(path) if path.is_dir() else _digest(path)
    return digests


def texts_in(settings: Any, words: Collection[str] = ()) -> Iterator[str]:
    """Yield the texts in nested settings, except those under the keys ``words``."""
    if isinstance(settings, str):
        yield settings
    elif isinstance(settings, Mapping):
        for key, value in settings.items():
            if key not in words or isinstance(value, Mapping):
                yield from texts_in(value, words)
    elif isinstance(settings, list | tuple):
        for value in settings:
            yield from texts_in(value, words)


def _files(text: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the file named by a text, also as FILE:KEY, and its id file; or the file of a module."""
    spelling = text if isfile(folder / text) else split_off_key(text)[0]
    path = folder / spelling
    if isfile(path):
        yield spelling, path
        ids = ids_file_of(str(path)) if plain_suffix(spelling) in VECTOR_SUFFIXES else None  # others contain ids
        if ids is not None:
            yield f"{spelling}, ids", Path(ids)
    elif is_function_name(text):
        module = text.partition(":")[0]
        if origin := _origin(module):
            yield module, origin


def _named_with_more(text: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield a folder, or the file before a colon: ``queries.csv:type,length``, ``items.csv:title``."""
    spelling = text
    while spelling and not exists(folder / spelling):
        spelling = spelling.rpartition(":")[0]
    path = folder / spelling
    if isfile(path):
        yield spelling, path
    elif spelling and isdir(path):
        log = find_file(path, "log")
        if log is None and folder.resolve().is_relative_to(path.resolve()):
            return  # the plan's folder, or a parent of it, which would include the plan's outputs
        if log is None or is_split_folder(path):
            yield spelling, path
        if log is not None:
            # For a folder with a log, only its input files: there may be others, such as outputs.
            files = filter(None, (log, find_file(path, "items"), find_file(path, "users")))
            yield from ((f"{spelling.rstrip('/')}/{file.name}", file) for file in files)


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return file_digest(content, "sha256").hexdigest()


def _digest_of_folder(folder: Path) -> str:
    """Return the digest of all files in a folder and its subfolders, in the order of names, without hidden ones."""
    digest = sha256()
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(place, name)
            if not name.startswith(".") and path.is_file():
                digest.update(os.fsencode(path.relative_to(folder)) + b"\0" + _digest(path).encode())
    return digest.hexdigest()


def _origin(module: str) -> Path | None:
    """Find the file of a module, first in the current folder, without running any code."""
    places: Sequence[str] | None = None
    spec: ModuleSpec | None = None
    for name in accumulate(module.split("."), "{}.{}".format):
        here = PathFinder.find_spec(name, [str(Path.cwd())]) if places is None else None
        spec = here or next(filter(None, (finder.find_spec(name, places) for finder in sys.meta_path)), None)
        if spec is None:
            return None
        places = spec.submodule_search_locations or []
    origin = None if spec is None else spec.origin
    return Path(origin) if origin is not None and isfile(Path(origin)) else None
