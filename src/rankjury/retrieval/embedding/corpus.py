"""Corpus: a table of ids and texts; a text is joined from the chosen columns."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import polars as pl

from rankjury.core.columns import find_id_column
from rankjury.core.hashing import hash_strings
from rankjury.core.types import listed, names_of
from rankjury.errors import DataError, UnknownName, UsageError, guard_reading
from rankjury.io.attributes import is_query_lines, query_lines
from rankjury.io.source import Source, plain_suffix
from rankjury.io.tables import TABLE_SUFFIXES, read_table

EMPTY_POLICIES = ("error", "skip")


@dataclass(frozen=True, eq=False)
class Corpus:
    """Ids and texts, in the order of the table."""

    ids: pl.Series
    texts: pl.Series
    columns: tuple[str, ...]
    joint: str = "\n"
    """Separator of the texts of several columns."""
    source: str = "corpus"
    skipped: list[str] = field(default_factory=list)
    """Ids of omitted items without text."""

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def sha256(self) -> str:
        """Hash of ids and texts in their order."""
        return hash_strings(self.ids, self.texts)


def read_corpus(
    given: str, columns: Sequence[str], *, joint: str = "\n", id_column: str | None = None, empty: str = "error"
) -> Corpus:
    """Read a .jsonl, .json (a list of objects, or {id: object}), .csv, .tsv or .parquet table, or a .txt of queries.

    Stripped cells are joined by ``joint``, without empty ones. ``empty``: ``error``, or ``skip`` to omit rows without
    text.
    """
    if empty not in EMPTY_POLICIES:
        raise UnknownName("policy on empty texts", empty, EMPTY_POLICIES)
    source = Source.open(given)
    with guard_reading(source.name, "a table of texts"):
        frame = _table(source)
        if frame.is_empty():
            raise DataError("found no rows", where=source.name, expected="one text per row")
        chosen = id_column or _find_id_column(frame.columns, columns, source.name)
        for name in (chosen, *columns):
            if name not in frame.columns:
                raise UnknownName("column", name, frame.columns, where=source.name)
        if not columns:
            raise UsageError("no text column was given", expected="something like title,abstract")
        ids = names_of(frame[chosen], source.name)
        if ids.is_duplicated().any():
            twice = ids.filter(ids.is_duplicated()).unique(maintain_order=True)
            raise DataError(f"duplicate ids: {listed(twice)}", where=source.name, expected="each id once")
        texts = join_columns([frame[name] for name in columns], joint, source.name)
        corpus = Corpus(ids, texts, tuple(columns), joint, source.name)
        filled = texts.fill_null("") != ""
        if filled.all():
            return corpus
        skipped = ids.filter(~filled)
        if empty == "error" or not filled.any():
            raise DataError(
                f"no text in {', '.join(columns)} for {listed(skipped)}",
                where=source.name,
                expected="one text per row",
                hint="Omit them with --empty skip." if filled.any() else None,
            )
        return replace(corpus, ids=ids.filter(filled), texts=texts.filter(filled), skipped=skipped.to_list())


def join_columns(columns: Sequence[pl.Series], joint: str, where: str) -> pl.Series:
    """Return the stripped cells of each row as one text; lists are joined by commas, and empty cells omitted."""
    parts = {}
    for place, cells in enumerate(columns):
        inner = cells.dtype.inner if isinstance(cells.dtype, pl.List) else cells.dtype
        if not (inner in (pl.String, pl.Categorical, pl.Enum, pl.Null, pl.Boolean) or inner.is_numeric()):
            raise DataError(f"the column {cells.name} is of type {cells.dtype}", where=where, expected="texts")
        if isinstance(cells.dtype, pl.List):
            cells = cells.cast(pl.List(pl.String)).list.join(", ")
        texts = cells.cast(pl.String).str.strip_chars()
        parts[str(place)] = texts.set(texts == "", None)
    return pl.DataFrame(parts).select(text=pl.concat_str(pl.all(), separator=joint, ignore_nulls=True))["text"]


def _find_id_column(names: Sequence[str], texts: Sequence[str], where: str) -> str:
    """Return the column of item ids, or else of query ids: both can be embedded."""
    try:
        return find_id_column(names, "item", where)
    except DataError as error:
        try:
            return find_id_column([name for name in names if name not in texts], "query", where)
        except DataError:
            error.hint = "Give the id column with --id."
            raise error from None


def _table(source: Source) -> pl.DataFrame:
    suffix = plain_suffix(source.name)
    if suffix == ".txt" and is_query_lines(source):
        return pl.DataFrame([fields for _, fields in query_lines(source)], infer_schema_length=None)
    if suffix not in (*TABLE_SUFFIXES, ".json", ".txt"):
        problem = f"unknown text format of {source.name!r}"
        raise UsageError(problem, expected=f"one of the suffixes {', '.join((*TABLE_SUFFIXES, '.json', '.txt'))}")
    return read_table(source)
