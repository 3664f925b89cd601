"""Formats of gold and run files: readers and writers.

A gold frame has query_id, item_id and grade; a run frame has query_id, item_id and score (and rank).
"""

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from rankjury.core.columns import GRADE, QUERY_COLUMNS, SCORE, fold_name, looks_like_header
from rankjury.core.convert import as_gold, as_ranking, gold_from_frame, ranking_from_frame
from rankjury.core.types import Gold, Ranking
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UnknownName, UsageError, guard_reading
from rankjury.io import json as nested, parquet, tables, trec
from rankjury.io.atomic import replacing
from rankjury.io.source import COMPRESSIONS, Packing, Source, plain_suffix, separator_of

_READERS = {
    "trec": trec.read,
    "json": nested.read,
    "jsonl": nested.read_jsonl,
    "csv": tables.read_delimited,
    "tsv": tables.read_delimited,
    "parquet": parquet.read,
}
FORMATS = tuple(_READERS)
TABLE_FORMATS = ("csv", "tsv", "jsonl", "parquet")
_SUFFIXES = {
    **{".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv"},
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".trec", ".run", ".qrels", ".qrel", ".txt", ".res", ".test"), "trec"),
}
# An object with a key, an empty object, or a list of objects; not an id like {a} or [1].
_JSON_START = re.compile(r'\{\s*("|\}|$)|\[\s*(\{|\]|$)')
# An object whose first value is a text or a number.
_RECORD_START = re.compile(r'\{\s*"([^"\\]*)"\s*:\s*["\d-]')
_QUERY_KEYS = {*QUERY_COLUMNS, "id"}


def format_of(source: Source) -> str:
    """Return the format of a source: by its content, or by its suffix if the content is ambiguous."""
    if source.is_parquet():
        return "parquet"
    suffix = _SUFFIXES.get(plain_suffix(source.name))
    if suffix == "parquet":
        raise DataError("not a Parquet file", where=source.name, expected="a Parquet file")
    lines = source.head_lines
    if not lines:
        raise DataError("found only blank lines", where=source.name, expected="data")
    first = lines[0].strip()
    if "\r" in first:
        expected = "lines that end in \\n or \\r\\n"
        raise DataError("found carriage returns within a line", where=f"{source.name}:1", expected=expected)
    if _JSON_START.match(first):
        return "jsonl" if suffix == "jsonl" or _is_json_lines(lines) else "json"
    if suffix in ("json", "jsonl"):
        return suffix
    if separator_of(lines[0]) is not None:
        return "tsv" if separator_of(lines[0]) == "\t" else "csv"
    if suffix == "csv" or (suffix == "tsv" and len(lines[0].split()) not in (4, 6)):
        return suffix
    return "trec"


def suffixes_of(form: str) -> list[str]:
    """Return the suffixes of files in a format."""
    return [suffix for suffix, name in _SUFFIXES.items() if name == form]


def _is_json_lines(lines: Sequence[str]) -> bool:
    """Return whether a text is one object per line: its first line is an object, and another or a record.

    In {query: {item: number}} no value is a text or a number. A record may be longer than the lines that were read.
    """
    try:
        record = json.loads(lines[0])
    except (ValueError, RecursionError):
        names_query = _RECORD_START.match(lines[0].strip()) if len(lines) == 1 else None
        return names_query is not None and fold_name(names_query[1]) in _QUERY_KEYS
    if not isinstance(record, dict):
        return False
    if len(lines) > 1 and lines[1].lstrip().startswith("{"):
        return True
    keys = (key for key, value in record.items() if isinstance(value, str | int))
    return looks_like_header(record) or any(fold_name(key) in _QUERY_KEYS for key in keys)


def read(given: str | Path | Source, kind: str, form: str | None = None) -> pl.DataFrame:
    """Read a ``gold`` or a ``run``; ``form`` overrides the format detected from content and suffix."""
    source = given if isinstance(given, Source) else Source.open(given)
    if form is not None and form not in _READERS:
        raise UnknownName("format", form, FORMATS)
    with guard_reading(source.name):
        source.refuse_pickle(kind)
        is_text = not source.is_parquet() and not source.compression
        if is_text and re.match(r'\s*\{\s*"schema":\s*"rankjury\.', source.head):
            expected = "relevance judgments" if kind == "gold" else f"a {kind}"
            hint = "rankjury gate and rankjury drift read reports."
            raise DataError("this is a rankjury report", where=source.name, expected=expected, hint=hint)
        chosen = form or format_of(source)
    with guard_reading(source.name, chosen.upper()):
        frame = _READERS[chosen](source, kind)
    if frame.is_empty():
        raise DataError("found a header but no rows", where=source.name, expected="at least one row")
    return frame


def kind_of(source: Source, form: str | None = None) -> str:
    """Return ``gold`` or ``run``: by the columns if they differ, else ``gold`` if all values are whole numbers."""
    try:
        gold = read(source, "gold", form)
    except DataError:
        read(source, "run", form)
        return "run"
    try:
        run = read(source, "run", form)
    except DataError:
        return "gold"
    values = run[SCORE] if SCORE in run.columns else gold[GRADE]
    return "gold" if (values == values.round()).all() else "run"


def write(frame: pl.DataFrame, path: Path, kind: str, form: str | None = None) -> str:
    """Write a gold, a run or any ``table`` in the format of ``form`` or of the suffix; return the format."""
    chosen, compression = form_to_write(path, form, TABLE_FORMATS if kind == "table" else FORMATS)
    packing: dict[str, Any] = {"compression": compression, "check_extension": False}
    with replacing(path) as part:
        if chosen == "parquet":
            frame.write_parquet(part)
        elif chosen == "jsonl":
            frame.write_ndjson(part, **packing)
        elif chosen in ("csv", "tsv"):
            frame.write_csv(part, separator="\t" if chosen == "tsv" else ",", **packing)
        else:
            if chosen == "json":
                lines = pl.read_lines(io.BytesIO(nested.to_text(frame).encode()))
            else:
                lines = trec.write(frame, kind, Source(path.name, path).system.replace(" ", "_") or "rankjury")
            lines.write_csv(part, include_header=False, separator=" ", quote_style="never", **packing)
    return chosen


def form_to_write(path: Path, form: str | None, allowed: Sequence[str]) -> tuple[str, Packing]:
    """Return the format and the compression for a file name."""
    chosen = form or _SUFFIXES.get(plain_suffix(path.name))
    if form is not None and form not in FORMATS:
        raise UnknownName("format", form, FORMATS)
    if chosen is None or chosen not in allowed:
        suffixes = ", ".join(suffix for suffix, name in sorted(_SUFFIXES.items()) if name in allowed)
        raise UsageError(f"the format of {path.name!r} is unknown", expected=f"one of the suffixes {suffixes}")
    compression: Packing = COMPRESSIONS.get(path.suffix.lower(), "uncompressed")
    if chosen == "parquet" and compression != "uncompressed":
        raise UsageError("Parquet files are already compressed", where=path.name, hint="Omit the last suffix.")
    return chosen, compression


@check_arguments
def read_gold(path: str | Path, format: str | None = None, *, relevant_from: float | None = None) -> Gold:
    """Read a gold from a file: TREC qrels, JSON, JSONL, CSV, TSV or Parquet.

    Args:
        path: The path, or ``-`` for standard input.
        format: ``trec``, ``json``, ``jsonl``, ``csv``, ``tsv`` or ``parquet``; by default the content decides.
        relevant_from: Grade from which an item is relevant; by default any above 0.

    Returns:
        The gold.

    Raises:
        DataError: The file cannot be read, or a line is not valid.

    Example:
        >>> rankjury.read_gold("qrels.trec", relevant_from=2)
    """
    source = Source.open(path)
    with guard_reading(source.name):
        return gold_from_frame(read(source, "gold", format), source=source.name, relevant_from=relevant_from)


@check_arguments
def read_run(path: str | Path, format: str | None = None) -> Ranking:
    """Read a run from a file: TREC, JSON, JSONL, CSV, TSV or Parquet.

    Args:
        path: The path, or ``-`` for standard input.
        format: ``trec``, ``json``, ``jsonl``, ``csv``, ``tsv`` or ``parquet``; by default the content decides.

    Returns:
        The ranking.

    Raises:
        DataError: The file cannot be read, or a line is not valid.

    Example:
        >>> rankjury.read_run("run.trec")
    """
    source = Source.open(path)
    with guard_reading(source.name):
        return ranking_from_frame(read(source, "run", format), source=source.name)


def load_gold(given: Any) -> Gold:
    """Return a gold from a path, or from any form in memory."""
    return read_gold(given) if isinstance(given, str | Path) else as_gold(given)


def load_ranking(given: Any) -> Ranking:
    """Return a ranking from a path, or from any form in memory."""
    return read_run(given) if isinstance(given, str | Path) else as_ranking(given)
