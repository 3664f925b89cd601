"""Query sets: reader, version, hash, and pins that detect changed queries.

Values over time are comparable only if the queries stay the same. So a version is pinned in a small file next to the
queries, and changed queries under a pinned version are an error: they need a new version.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from os.path import exists
from pathlib import Path
from typing import Any, Literal

import polars as pl

from rankjury.core.columns import find_id_column
from rankjury.core.hashing import hash_strings
from rankjury.core.text import json_text
from rankjury.core.types import listed
from rankjury.errors import DataError, guard_reading
from rankjury.io.atomic import write_text
from rankjury.io.attributes import is_query_lines, query_lines
from rankjury.io.json import parse_json
from rankjury.io.source import Source
from rankjury.io.tables import Row, read_records
from rankjury.labeling.products.catalog import as_text

_TEXTS = ("text", "query_text", "query", "question", "title")
_COLUMNS = {
    "type": ("type", "query_type", "kind"),
    "category": ("category",),
    "brand": ("brand",),
    "version": ("version", "query_set_version", "set_version"),
}


def read_queries(given: str | Path, *, needs_texts: bool = True, repeats: bool = False) -> pl.DataFrame:
    """Read ``id``, ``text``, ``type``, ``category``, ``brand`` and ``version`` (null if missing) of each query.

    Args:
        given: A table as .jsonl, .json, .csv, .tsv or .parquet, or a .txt with a query on each line
            (``rankjury.io.attributes.query_lines``).
        needs_texts: Whether a query without a text is an error; else its text is empty.
        repeats: Whether a query may occur more than once, as in a list of texts whose ids do not matter.

    Raises:
        DataError: There are no queries, a query has no id or text, or an id is a duplicate.
    """
    source = Source.open(given)
    with guard_reading(source.name, "queries"):
        records = read_query_records(source)
        names = list(dict.fromkeys(name for record in records for name in record.fields))
        ids = find_id_column(names, "query", source.name)
        texts = next((name for name in _TEXTS if name in names and name != ids), None)
        if texts is None and needs_texts:
            raise DataError(
                f"found the columns {', '.join(names)}; none holds texts", where=source.name, expected=f"{ids} and text"
            )
        rows = [_row(record, ids, texts or _TEXTS[0], needs_texts) for record in records]
        first: dict[str, str] = {}
        for row, record in zip(rows, records, strict=True):
            earlier = first.setdefault(row["id"], record.place)
            if earlier != record.place and not repeats:
                found = f"duplicate query {row['id']!r}, which is at {earlier} already"
                raise DataError(found, where=record.place, expected="each query once")
        return pl.DataFrame(rows, schema=dict.fromkeys(("id", "text", *_COLUMNS), pl.String))


def read_query_records(source: Source) -> list[Row]:
    """Read the records of a query set: of a table, or of a .txt file with one query per line."""
    if not is_query_lines(source):
        return read_records(source)
    return [Row(f"{source.name}:{number}", dict(fields)) for number, fields in query_lines(source)]


def _row(record: Row, ids: str, texts: str, needs_text: bool) -> dict[str, Any]:
    name, text = str(record.fields.get(ids) or "").strip(), as_text(record.fields.get(texts))
    if not name:
        raise DataError(f"no {ids}", where=record.place, expected="an id on every line")
    if text is None and needs_text:
        raise DataError(f"the query {name!r} has no {texts}", where=record.place, expected="a text for every query")
    row: dict[str, Any] = {"id": name, "text": text or ""}
    for column, names in _COLUMNS.items():
        row[column] = next(filter(None, (as_text(record.fields.get(field)) for field in names)), None)
    return row


PINS_SCHEMA = "pins/1"
_SHORT = 12
Pinned = Literal["pinned", "new", "no version"]


@dataclass(frozen=True, eq=False)
class QuerySet:
    """Queries in the order of their file."""

    ids: pl.Series
    texts: pl.Series
    types: pl.Series
    """Empty for queries without text; the same for categories and brands."""
    categories: pl.Series
    brands: pl.Series
    version: str | None
    source: str = "queries"

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def sha256(self) -> str:
        """Hash of all queries, ordered by id: independent of the order of rows and the format of the file."""
        return hash_strings(pl.Series(list(chain(*sorted(self._cells()))), dtype=pl.String))

    @cached_property
    def each(self) -> dict[str, str]:
        """Short hash of every query, by id: identifies changed queries."""
        return {cells[0]: hash_strings(pl.Series(cells, dtype=pl.String))[:_SHORT] for cells in self._cells()}

    def _cells(self) -> Iterator[tuple[str, ...]]:
        """Yield the id, text and type of each query, and its category and brand if it has one of them."""
        for *cells, category, brand in zip(self.ids, self.texts, self.types, self.categories, self.brands, strict=True):
            yield (*cells, category, brand) if category or brand else tuple(cells)

    def to_json(self) -> dict[str, Any]:
        return {"version": self.version, "sha256": self.sha256, "queries": len(self)}


def read_query_set(path: str | Path) -> QuerySet:
    """Read a table of queries with id and text, like ``read_queries``, and optionally the version of the set."""
    frame = read_queries(path)
    versions = sorted(set(frame["version"].drop_nulls()))
    if len(versions) > 1:
        raise DataError(
            f"found the versions {', '.join(versions)}",
            where=str(path),
            expected="one version of the whole set",
            hint="A set with new queries is a new version, including its unchanged queries.",
        )
    types, categories, brands = (frame[name].fill_null("") for name in ("type", "category", "brand"))
    texts = frame["text"].str.strip_chars()
    return QuerySet(frame["id"], texts, types, categories, brands, next(iter(versions), None), str(path))


def pins_path(source: str) -> Path:
    """Return the path of the pins: ``queries.pins.json`` for ``queries.jsonl``."""
    path = Path(source)
    return path.parent / f"{Source(source, path).system}.pins.json"


def read_pinned_queries(path: str | Path) -> pl.DataFrame:
    """Read queries like ``read_queries``; if pins exist, changed queries are an error."""
    if str(path) != "-" and exists(pins_path(str(path))):
        check_pins(read_query_set(path))
    return read_queries(path)


def check_pins(queries: QuerySet) -> Pinned:
    """Return whether this version is pinned; raise an error that names the queries that differ from the pinned ones."""
    if queries.version is None:
        return "no version"
    known = _read_pins(pins_path(queries.source)).get(queries.version)
    if known is None:
        return "new"
    if known["sha256"] == queries.sha256:
        return "pinned"
    before, after = known.get("each") or {}, queries.each
    groups = {
        "changed": sorted(name for name in before if name in after and before[name] != after[name]),
        "added": sorted(set(after) - set(before)),
        "removed": sorted(set(before) - set(after)),
    }
    changes = "; ".join(f"{name}: {listed(ids)}" for name, ids in groups.items() if before and ids)
    changes = changes or "the changed queries are unknown"
    raise DataError(
        f"the queries differ from those pinned as version {queries.version}: {changes}",
        where=queries.source,
        expected=f"the {known['queries']:,} queries of sha256 {known['sha256'][:_SHORT]}…",
        hint="Undo the change, or give the set a new version and pin that: rankjury pin QUERIES.",
    )


def pin_queries(queries: QuerySet) -> Pinned:
    """Pin this version unless it is pinned; return ``new`` if it was added. A pinned version never changes."""
    if queries.version is None:
        raise DataError(
            "the queries have no version",
            where=queries.source,
            expected="a column version with the same value in every row, or in a .txt the line: # version: 1",
        )
    known = check_pins(queries)
    if known == "new":
        path = pins_path(queries.source)
        entry = {"sha256": queries.sha256, "queries": len(queries), "each": dict(sorted(queries.each.items()))}
        form = {"rankjury": PINS_SCHEMA, "versions": {**_read_pins(path), queries.version: entry}}
        write_text(path, json_text(form))
    return known


def _read_pins(path: Path) -> dict[str, dict[str, Any]]:
    """Return the pins by version; empty if there is no such file."""
    if not exists(path):
        return {}
    expected = f'{{"rankjury": "{PINS_SCHEMA}", "versions": …}}'
    form = parse_json(Source.open(path).text(), str(path), expected=expected)
    schema = form.get("rankjury") if isinstance(form, dict) else None
    if schema != PINS_SCHEMA:
        raise DataError(f"found the schema {schema!r}", where=str(path), expected=expected)
    versions = form.get("versions")
    if not isinstance(versions, dict) or not all(map(_is_pin, versions.values())):
        raise DataError("a version without sha256 and queries", where=str(path), expected=expected)
    return versions


def _is_pin(entry: Any) -> bool:
    fits = isinstance(entry, dict) and isinstance(entry.get("sha256"), str) and type(entry.get("queries")) is int
    each = entry.get("each", {}) if fits else None
    return isinstance(each, dict) and all(isinstance(digest, str) for digest in each.values())
