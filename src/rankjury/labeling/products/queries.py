"""Query sets: an id and a text each, with a type, a category and a brand where they are given."""

from pathlib import Path
from typing import Any

import polars as pl

from rankjury.core.convert import find_id_column
from rankjury.errors import DataError, guard_reading
from rankjury.io.attributes import is_query_lines, query_lines
from rankjury.io.records import Row, read_records
from rankjury.io.source import Source
from rankjury.labeling.products.fields import as_text

_TEXTS = ("text", "query_text", "query", "question", "title")
_TYPES = ("type", "query_type", "kind")
_VERSIONS = ("version", "query_set_version", "set_version")


def read_queries(given: str | Path, *, needs_texts: bool = True, repeats: bool = False) -> pl.DataFrame:
    """Read ``id``, ``text``, ``type``, ``category``, ``brand`` and ``version`` (null where not given) of each query.

    Args:
        given: A table as .jsonl, .json, .csv, .tsv or .parquet, or a .txt with a query on each line
            (``rankjury.io.attributes.query_lines``).
        needs_texts: Whether a query without a text is an error; else its text is empty.
        repeats: Whether a query may occur more than once, as in a list of texts whose ids do not matter.

    Raises:
        DataError: There are no queries, or one has no id or text, or the id of another.
    """
    source = Source.open(given)
    with guard_reading(source.name, "queries"):
        records = query_records(source)
        names = list(dict.fromkeys(name for one in records for name in one.fields))
        ids = find_id_column(names, "query", source.name)
        texts = next((name for name in _TEXTS if name in names and name != ids), None)
        if texts is None and needs_texts:
            raise DataError(
                f"found the columns {', '.join(names)}; none holds texts", where=source.name, expected=f"{ids} and text"
            )
        rows = [_row(one, ids, texts or _TEXTS[0], needs_texts) for one in records]
        first: dict[str, str] = {}
        for row, record in zip(rows, records, strict=True):
            earlier = first.setdefault(row["id"], record.place)
            if earlier != record.place and not repeats:
                found = f"duplicate query {row['id']!r}, which is at {earlier} already"
                raise DataError(found, where=record.place, expected="each query once")
        return pl.DataFrame(
            rows, schema=dict.fromkeys(("id", "text", "type", "category", "brand", "version"), pl.String)
        )


def query_records(source: Source) -> list[Row]:
    """Read the records of a query set: those of a table, or of a .txt with a query on each line."""
    if not is_query_lines(source):
        return read_records(source)
    return [Row(f"{source.name}:{number}", dict(fields)) for number, fields in query_lines(source)]


def _row(record: Row, ids: str, texts: str, needs_text: bool) -> dict[str, Any]:
    name, text = str(record.fields.get(ids) or "").strip(), as_text(record.fields.get(texts))
    if not name:
        raise DataError(f"no {ids}", where=record.place, expected="an id on every line")
    if text is None and needs_text:
        raise DataError(f"the query {name!r} has no {texts}", where=record.place, expected="a text for every query")
    kind, version = (_first(record, names) for names in (_TYPES, _VERSIONS))
    return {
        "id": name,
        "text": text or "",
        "type": kind,
        "category": as_text(record.fields.get("category")),
        "brand": as_text(record.fields.get("brand")),
        "version": version,
    }


def _first(record: Row, names: tuple[str, ...]) -> str | None:
    return next((told for name in names if (told := as_text(record.fields.get(name)))), None)
