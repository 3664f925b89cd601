"""Kinds of files by their content: gold or run, log, catalogue, ordered lists."""

from contextlib import suppress
from pathlib import Path

import polars as pl

from rankjury.core.columns import match_columns
from rankjury.core.convert import gold_from_frame, ranking_from_frame
from rankjury.core.types import Gold, Ranking
from rankjury.errors import RankjuryError
from rankjury.io.formats import read
from rankjury.io.json import parse_json
from rankjury.io.source import Source
from rankjury.io.tables import column_names, first_rows
from rankjury.labeling.products.catalog import TEXTS, read_catalogue
from rankjury.plan.folder_files import GOLD_NAMES, is_named
from rankjury.recsys.data.log import Log, find_columns
from rankjury.recsys.data.read import read_log

MAX_BYTES = 64 << 20
"""A larger file is not read whole: its first lines decide what it is."""


def read_gold_or_run(source: Source, path: Path) -> tuple[str, Gold | Ranking]:
    """Return ``gold`` or ``run`` with the content: by the columns where they differ, by the values, or by the name.

    Where both can be read, the name decides if it tells; else fractions are scores, and so are whole numbers of which
    no query has two that are equal.
    """
    frames, error = dict[str, pl.DataFrame](), None
    for kind in ("gold", "run"):
        try:
            frames[kind] = read(source, kind)
        except RankjuryError as failure:
            error = failure
    if not frames:
        assert error is not None
        raise error
    kind = next(iter(frames))
    if len(frames) == 2 and not is_named(path, GOLD_NAMES):
        gold = frames["gold"]
        grades = gold["grade"]
        distinct = gold.group_by("query_id").agg(pl.len().alias("n"), pl.col("grade").n_unique().alias("values"))
        is_order = bool((distinct["n"] == distinct["values"]).all()) and int(distinct["n"].max()) > 3  # type: ignore[arg-type]
        kind = "run" if is_order or not (grades == grades.round()).all() else "gold"
    make = gold_from_frame if kind == "gold" else ranking_from_frame
    return kind, make(frames[kind], source=source.name)


def kind_of_columns(names: list[str], where: str) -> str:
    try:
        match_columns(names, "gold", where)
    except RankjuryError:
        match_columns(names, "run", where)
        return "run"
    return "gold"


def has_columns_of_gold(path: Path) -> bool:
    with suppress(RankjuryError):
        return kind_of_columns(column_names(Source.open(path)), path.name) == "gold"
    return False


def log_columns(path: Path) -> dict[str, str]:
    """Return the columns of users, items, ratings and times; none where the file is not a log."""
    try:
        return find_columns(column_names(Source.open(path)), {}, path.name)
    except RankjuryError:
        return {}


def read_log_start(path: Path) -> Log:
    """Read a log; of a large file only the first rows."""
    return read_log(path if path.stat().st_size <= MAX_BYTES else first_rows(Source.open(path)))


def tensors_of(path: Path) -> tuple[list[str], bool]:
    """Return the names of the matrices, and whether there is nothing else, from the header of safetensors."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        tensors = parse_json(file.read(min(size, MAX_BYTES)), str(path))
    tensors.pop("__metadata__", None)
    keys = sorted(name for name, tensor in tensors.items() if len(tensor["shape"]) == 2)
    return keys, len(keys) == len(tensors)


def is_catalogue(path: Path) -> bool:
    """Return whether this JSON holds products with texts, and no lists of each other as a gold of ordered lists."""
    try:
        ids = frozenset(read_catalogue(path).ids)
    except RankjuryError:
        return False
    tree = parse_json(Source.open(path).text(), str(path))
    entries = tree if isinstance(tree, list) else list(tree.values())
    lists = [value for entry in entries[:1] for value in entry.values() if isinstance(value, list)]
    return any(name in TEXTS for name in entries[0]) and ids.isdisjoint(str(item) for ids_ in lists for item in ids_)


def is_ordered(path: Path) -> bool:
    tree = parse_json(Source.open(path).text(), str(path))
    return isinstance(tree, list) and any(
        isinstance(value, list) for entry in tree[:1] if isinstance(entry, dict) for value in entry.values()
    )
