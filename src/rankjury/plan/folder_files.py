"""Files of a folder and below it that may hold data, by their names, within limits."""

import os
from collections.abc import Iterator
from pathlib import Path

from rankjury.errors import guard_reading
from rankjury.io.source import plain_suffix
from rankjury.recsys.data.movielens import FILES

MAX_FILES, MAX_DEPTH = 200, 4
"""How many files are opened, and how many folders deep they are looked for."""
_MAX_LISTED = 20_000
_SKIPPED_FOLDERS = ("node_modules", "venv", "__pycache__", "site-packages")
GOLD_NAMES = ("qrel", "gold", "label", "judg", "truth")
RUN_NAMES = ("run", "result", "bm25", "dense", "rank")
QUERY_NAMES = ("quer", "topic", "question")
ITEM_NAMES = ("corpus", "doc", "item", "product", "catalog", "passage", "movie", "paper", "article", "clip", "video")
TEXT_SUFFIXES = (
    *(".txt", ".trec", ".run", ".qrels", ".qrel", ".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".pq"),
    *(".res", ".test"),
)
ARRAYS = (".npy", ".npz", ".safetensors")
ID_LISTS = ("ids.txt", "ids.json", "ids.npy")
"""Ends of names of files with the ids of vectors."""
_OTHER_FILES = (".schema.json", ".pins.json")
"""Ends of names of files that rankjury writes beside a plan or queries."""


def choose_files(folder: Path, limits: list[str], unusable: dict[str, str]) -> list[Path]:
    """Return the files that may hold data, those near the top first, and add a note where some are omitted."""
    files = sorted(_walk(folder, limits, unusable), key=lambda path: (len(path.parts), path))
    if len(files) > MAX_FILES:
        limits.append(f"{len(files):,} files may hold data; only {MAX_FILES} were opened, data by its name first")
        names = (*GOLD_NAMES, *RUN_NAMES, *QUERY_NAMES, *ITEM_NAMES)
        by_name = sorted(files, key=lambda path: not (is_named(path, names) or plain_suffix(path.name) in ARRAYS))
        chosen = set(by_name[:MAX_FILES])
        files = [path for path in files if path in chosen]
    return files


def _walk(folder: Path, limits: list[str], unusable: dict[str, str]) -> Iterator[Path]:
    """Yield files whose names tell that they may hold data, without hidden folders and those of installed packages."""
    waiting, seen, listed = [(folder, 0)], set[str](), 0
    for place, depth in waiting:
        real = os.path.realpath(place)
        if real in seen:
            continue
        seen.add(real)
        try:
            entries = sorted(os.scandir(place), key=lambda entry: entry.name)
        except OSError as error:
            if depth == 0:
                with guard_reading(str(place)):
                    raise
            unusable[f"{place.relative_to(folder).as_posix()}/"] = error.strerror or "cannot be read"
            continue
        if any(entry.name == "pyvenv.cfg" for entry in entries):
            continue
        for entry in entries:
            listed += 1
            if listed > _MAX_LISTED:
                limits.append(f"more than {_MAX_LISTED:,} files; those after {entry.name} were not looked at")
                return
            if entry.name.startswith("."):
                continue
            path = place / entry.name
            if path.is_dir():
                if depth < MAX_DEPTH and entry.name.lower() not in _SKIPPED_FOLDERS:
                    waiting.append((path, depth + 1))
            elif path.is_file() and _may_hold_data(path):
                yield path


def _may_hold_data(path: Path) -> bool:
    name, suffix = path.name.lower(), plain_suffix(path.name)
    if name.endswith(_OTHER_FILES):
        return False
    if suffix == ".toml":
        return "synonym" in name
    known = {*TEXT_SUFFIXES, *ARRAYS}
    return suffix in known or name in _RELEASE_FILES or (suffix == "" and is_named(path, (*GOLD_NAMES, *RUN_NAMES)))


_RELEASE_FILES = frozenset(name for names in FILES.values() for name in names)


def is_named(path: Path, names: tuple[str, ...]) -> bool:
    """Return whether the name of the file contains one of these, in whatever case."""
    return any(name in path.name.lower() for name in names)
