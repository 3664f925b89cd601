"""Keyword annotations: the vocabulary, the keywords of each item as bits, and the reader of annotation tables.

A cell may contain several values split by a separator, or a list. A column of true and false (or yes and no) is one
keyword, named like the column, of the rows that are true.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.text import plural
from rankjury.core.types import Bools, Ints, freeze, places_in
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UnknownName, UsageError, guard_reading
from rankjury.io.attributes import read_attributes
from rankjury.io.json import parse_json
from rankjury.retrieval.embedding.corpus import Corpus


@dataclass(frozen=True, order=True)
class Keyword:
    """Word or phrase within its group; the same word in two groups is two keywords."""

    group: str
    name: str

    def __str__(self) -> str:
        return f"{self.group}={self.name}"


@dataclass(frozen=True)
class Vocabulary:
    """Keywords by number: sorted by group (in input order), then by name."""

    keywords: tuple[Keyword, ...]
    source: str = field(default="vocabulary", compare=False)

    def __len__(self) -> int:
        return len(self.keywords)

    @classmethod
    def of(cls, groups: Mapping[str, Iterable[str]], source: str = "vocabulary") -> "Vocabulary":
        """Make a vocabulary from the names in each group."""
        keywords = (Keyword(group, name) for group, names in groups.items() for name in sorted(set(names)))
        return cls(tuple(keywords), source)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(keyword.group for keyword in self.keywords))

    @cached_property
    def group_numbers(self) -> tuple[int, ...]:
        """Index of each keyword's group."""
        places = {group: place for place, group in enumerate(self.groups)}
        return tuple(places[keyword.group] for keyword in self.keywords)

    @cached_property
    def number_of(self) -> Mapping[Keyword, int]:
        return {keyword: number for number, keyword in enumerate(self.keywords)}

    @cached_property
    def _by_name(self) -> Mapping[str, tuple[int, ...]]:
        numbers: dict[str, tuple[int, ...]] = {}
        for number, keyword in enumerate(self.keywords):
            for spelling in (keyword.name, str(keyword)):
                numbers[spelling] = (*numbers.get(spelling, ()), number)
        return numbers

    def find(self, spelling: str, where: str = "") -> int:
        """Return the number of ``bicyclist`` or ``object_type=bicyclist``; an ambiguous name needs its group."""
        numbers = self._by_name.get(spelling, ())
        if not numbers:
            known = [keyword.name for keyword in self.keywords]
            raise UnknownName("keyword", spelling, known, where=where or self.source)
        if len(numbers) > 1:
            raise DataError(
                f"the keyword {spelling!r} is in {len(numbers)} groups",
                where=where or self.source,
                expected=" or ".join(str(self.keywords[number]) for number in numbers),
            )
        return numbers[0]

    def by_group(self, numbers: Iterable[int]) -> dict[str, tuple[str, ...]]:
        """Return the names of keywords by group."""
        names: dict[str, tuple[str, ...]] = {}
        for number in sorted(numbers):
            keyword = self.keywords[number]
            names[keyword.group] = (*names.get(keyword.group, ()), keyword.name)
        return names

    def select(self, groups: Sequence[str]) -> "Vocabulary":
        """Return only the keywords of these groups."""
        for group in groups:
            if group not in self.groups:
                raise UnknownName("group", group, self.groups, where=self.source)
        return Vocabulary(tuple(keyword for keyword in self.keywords if keyword.group in groups), self.source)


Bits = NDArray[np.uint64]
WORD_BITS = 64


@dataclass(frozen=True, eq=False)
class Annotations:
    """Keyword numbers of each item, ascending (CSR: row i has ``starts[i]:starts[i + 1]``)."""

    ids: pl.Series
    vocabulary: Vocabulary
    starts: Ints
    codes: Ints
    source: str = "annotations"
    notes: tuple[str, ...] = ()
    """Warnings about the source table."""

    def __post_init__(self) -> None:
        freeze(self)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Annotations({self.source}: {len(self):,} items, {len(self.vocabulary):,} keywords)"

    @cached_property
    def bits(self) -> Bits:
        """Bit i of row v: whether item i has keyword v."""
        words = (len(self) + WORD_BITS - 1) // WORD_BITS
        packed = np.zeros((len(self.vocabulary), words * 8), dtype=np.uint8)
        of_item = np.repeat(np.arange(len(self)), np.diff(self.starts))
        np.bitwise_or.at(packed, (self.codes, of_item >> 3), (1 << (of_item & 7)).astype(np.uint8))
        return packed.view("<u8").astype(np.uint64, copy=False)

    @cached_property
    def frequencies(self) -> Ints:
        """Number of items with each keyword."""
        return np.bincount(self.codes, minlength=len(self.vocabulary)).astype(np.int64)

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {str(id_): row for row, id_ in enumerate(self.ids)}

    def row_of(self, id_: str) -> int:
        """Return the row of an item; raise UnknownName if it is missing."""
        if id_ not in self._row_of:
            raise UnknownName("item", id_, self._row_of, where=self.source)
        return self._row_of[id_]

    @check_arguments
    def rows_of(self, ids: pl.Series) -> Ints:
        """Return the row of each id; −1 if it is missing."""
        return places_in(self.ids, ids)

    @check_arguments
    def keywords_of(self, id_: str) -> tuple[int, ...]:
        """Return the numbers of an item's keywords."""
        row = self.row_of(id_)
        return tuple(self.codes[self.starts[row] : self.starts[row + 1]].tolist())

    def have(self, rows: Ints, codes: Ints) -> Bools:
        """Return for each pair whether the item has the keyword; row −1 has none."""
        words = self.bits[codes, np.maximum(rows, 0) >> 6]
        has = (words >> (rows & 63).astype(np.uint64)) & np.uint64(1) == 1
        return np.asarray(has & (rows >= 0), dtype=bool)

    @check_arguments
    def select(self, groups: tuple[str, ...]) -> "Annotations":
        """Return only the keywords of these groups."""
        chosen = self.vocabulary.select(groups)
        if not len(chosen):
            raise DataError(f"found no keyword in {', '.join(groups)}", where=self.source, expected="at least one")
        numbers = np.array([chosen.number_of.get(keyword, -1) for keyword in self.vocabulary.keywords], dtype=np.int64)
        codes = numbers[self.codes]
        starts = np.concatenate(([0], np.cumsum(codes >= 0)))[self.starts]
        return replace(self, vocabulary=chosen, starts=starts, codes=codes[codes >= 0])


SEPARATOR = "|"
NO_VALUE = ("", "n/a", "nan", "null")
"""Cells that mean no value, ignoring case."""
_TRUE = ("true", "yes")
_FLAGS = ({"0", "1"}, {"0.0", "1.0"}, {"t", "f"}, {"y", "n"}, {"on", "off"})
"""Pairs of values that may mean true and false."""
_ROW, _NAME, _GROUP = "row", "name", "group"
_LISTED = 5

Groups = Mapping[str, str | Sequence[str]]


@check_arguments
def read_annotations(
    path: str | Path,
    groups: Groups | None = None,
    *,
    id_column: str | None = None,
    separator: str = SEPARATOR,
    no_value: Sequence[str] = NO_VALUE,
) -> Annotations:
    """Read the keywords of items from a CSV, TSV, JSONL or Parquet table.

    Args:
        path: The path, or ``-`` for standard input.
        groups: The columns of each group of keywords; by default every column but that of the ids is a group of its
            own.
        id_column: The column of ids, where its name does not tell.
        separator: What separates the keywords of a cell.
        no_value: Cells that hold no keyword.

    Returns:
        The annotations, with their ``vocabulary``.

    Raises:
        DataError: The table cannot be read, or an id is missing or a duplicate.
        UnknownName: A column does not exist.

    Example:
        >>> rankjury.read_annotations("clips.csv", {"traffic": ["thing"]})
    """
    frame, ids = read_attributes(str(path), "item", id_column=id_column, as_written=True)
    with guard_reading(str(path), "annotations"):
        return annotations_from_frame(
            frame, groups, id_column=ids, separator=separator, no_value=no_value, source=str(path)
        )


def annotations_from_frame(
    frame: pl.DataFrame,
    groups: Groups | None = None,
    *,
    id_column: str,
    separator: str = SEPARATOR,
    no_value: Sequence[str] = NO_VALUE,
    source: str = "annotations",
) -> Annotations:
    """Make annotations from a DataFrame; arguments as for ``read_annotations``."""
    if not separator:
        raise UsageError("the separator is empty", expected=f"such as {SEPARATOR!r}")
    ids = _read_ids(frame, id_column, source)
    columns = _columns_of(frame, id_column, groups, source)
    absent = ["", *(value.strip().lower() for value in no_value)]
    places = [(group, name) for group, names in columns.items() for name in names]
    parts = [
        _values(frame[name], name, separator, absent, source).with_columns(pl.lit(group).alias(_GROUP))
        for group, name in places
    ]
    pairs = pl.concat(parts).unique()
    vocabulary = _vocabulary(pairs, columns, source, named=groups is not None)
    notes = (*_separators([frame[name] for _, name in places], separator), *_odd_keywords(vocabulary))
    keywords = [(keyword.group, keyword.name) for keyword in vocabulary.keywords]
    schema = {_GROUP: pl.String, _NAME: pl.String}
    numbers = pl.DataFrame(keywords, schema=schema, orient="row").with_row_index("code")
    coded = pairs.join(numbers, on=[_GROUP, _NAME]).sort(_ROW, "code")
    starts = np.concatenate(([0], np.cumsum(np.bincount(coded[_ROW].to_numpy(), minlength=len(ids)))))
    codes = coded["code"].cast(pl.Int64).to_numpy()
    return Annotations(ids, vocabulary, starts.astype(np.int64), codes, source, notes)


def _read_ids(frame: pl.DataFrame, column: str, source: str) -> pl.Series:
    if column not in frame.columns:
        raise UnknownName("column", column, frame.columns, where=source)
    if _is_no_text(frame[column].dtype):
        raise DataError(f"{column} is of type {frame[column].dtype}", where=source, expected="ids")
    ids = frame[column].cast(pl.String).str.strip_chars()
    blank = (ids.is_null() | (ids == "")).arg_true()
    if len(blank):
        raise DataError(f"row {blank[0] + 1:,} has no {column}", where=source, expected="an id in every row")
    if ids.is_duplicated().any():
        duplicate = ids.filter(ids.is_duplicated())[0]
        first, second = (ids == duplicate).arg_true()[:2]
        repeats = plural(int(ids.len() - ids.n_unique()), "row repeats", "rows repeat")
        raise DataError(
            f"duplicate id {duplicate!r} in rows {first + 1:,} and {second + 1:,} ({repeats} an id)",
            where=source,
            expected="each item once",
            hint="Put several values of one item into one cell, split by a separator.",
        )
    return ids


def _is_no_text(dtype: pl.DataType) -> bool:
    """Return whether values of this type cannot be cast to text."""
    return dtype.is_nested() or dtype in (pl.Binary, pl.Object, pl.Duration)


def _columns_of(frame: pl.DataFrame, id_column: str, groups: Groups | None, source: str) -> dict[str, tuple[str, ...]]:
    known = [name for name in frame.columns if name != id_column]
    if not known:
        raise DataError(f"found no column but {id_column}", where=source, expected="at least one attribute")
    if groups is None:
        return {name: (name,) for name in known}
    columns = {group: (names,) if isinstance(names, str) else tuple(names) for group, names in groups.items()}
    if not columns:
        raise UsageError("no group was given", where=source, expected="at least one group with its columns")
    for group, names in columns.items():
        if not names:
            raise UsageError(f"the group {group} has no column", where=source, expected="at least one column")
        for name in names:
            if name not in known:
                raise UnknownName("column", name, known, where=f"{source}, group {group}")
    return columns


def _values(cells: pl.Series, column: str, separator: str, absent: list[str], source: str) -> pl.DataFrame:
    """Return ``row`` and ``name`` of each value in a column."""
    texts = _as_lists(cells, separator, source)
    rows = pl.DataFrame({_ROW: np.arange(len(cells)), _NAME: texts}).explode(_NAME)
    rows = rows.with_columns(pl.col(_NAME).str.strip_chars()).drop_nulls()
    rows = rows.filter(~pl.col(_NAME).str.to_lowercase().is_in(absent))
    lowered = rows[_NAME].str.to_lowercase()
    if len(rows) and lowered.is_in([*_TRUE, "false", "no"]).all():
        rows = rows.filter(lowered.is_in(_TRUE)).with_columns(pl.lit(column).alias(_NAME))
    return rows


def _as_lists(cells: pl.Series, separator: str, source: str) -> pl.Series:
    if isinstance(cells.dtype, pl.Array):
        cells = cells.arr.to_list()
    dtype = cells.dtype
    is_list = isinstance(dtype, pl.List)
    inner = pl.Series([], dtype=dtype.inner).dtype if isinstance(dtype, pl.List) else dtype
    if _is_no_text(inner):
        raise DataError(f"{cells.name} is of type {dtype}", where=source, expected="texts, or lists of texts")
    texts = cells.cast(pl.List(pl.String) if is_list else pl.String)
    if is_list:
        return texts.list.eval(pl.element().str.strip_suffix(".0")) if inner.is_float() else texts
    if inner.is_float():
        return texts.str.strip_suffix(".0").str.split(separator)
    if texts.str.contains(r"^\s*\[[\s\S]*\]\s*$").any():  # a list in some rows, a text in others
        return pl.Series(cells.name, [_split(text, separator) for text in texts], dtype=pl.List(pl.String))
    return texts.str.split(separator)


def _split(text: str | None, separator: str) -> list[str] | None:
    if text is None:
        return None
    try:
        values = parse_json(text, "") if text.strip().startswith("[") else None
    except DataError:
        values = None
    if isinstance(values, list) and not any(isinstance(value, list | dict) for value in values):
        return [value if isinstance(value, str) else json.dumps(value) for value in values if value is not None]
    return text.split(separator)


def _odd_keywords(vocabulary: Vocabulary) -> Iterator[str]:
    """Yield notes on keywords that differ in case only, and on those that may mean true and false."""
    folded: dict[str, dict[str, list[str]]] = {}
    for keyword in vocabulary.keywords:
        folded.setdefault(keyword.group, {}).setdefault(keyword.name.casefold(), []).append(keyword.name)
    for group, names in folded.items():
        for same in names.values():
            if len(same) > 1:
                yield f"{group}: {', '.join(same)} differ in case only, and are different keywords"
        if set(names) in _FLAGS:
            both = " and ".join(sorted(names))
            yield f"{group}: {both} are separate keywords; if they mean no and yes, write false and true"


def _separators(cells: Iterable[pl.Series], separator: str) -> Iterator[str]:
    """Yield a note if no cell contains the separator but many contain another one."""
    texts = {column.name: column.drop_nulls() for column in cells if column.dtype == pl.String}
    if any(column.str.contains(separator, literal=True).any() for column in texts.values()):
        return
    for name, column in texts.items():
        for other in (";", "|", ","):
            share = column.str.contains(other, literal=True).mean() if len(column) else 0.0
            if other != separator and isinstance(share, float) and share >= 0.2:
                yield f"{name}: no cell holds {separator!r}, but many hold {other!r}: is that the separator?"
                break


def _vocabulary(pairs: pl.DataFrame, columns: Mapping[str, Sequence[str]], source: str, *, named: bool) -> Vocabulary:
    if pairs.is_empty():
        raise DataError("found no keyword in any column", where=source, expected="annotations in at least one row")
    names: dict[str, list[str]] = {group: [] for group in columns}
    for group, name in pairs.select(_GROUP, _NAME).unique().iter_rows():
        names[group].append(name)
    empty = [group for group in names if not names[group]]
    if empty and named:
        shown = ", ".join(f"{group} ({', '.join(columns[group])})" for group in empty[:_LISTED])
        problem = f"{plural(len(empty), 'group has', 'groups have')} no keyword: {shown}"
        raise DataError(problem, where=source, expected="at least one value in the columns of every group")
    return Vocabulary.of(names, source)


def annotations_corpus(annotations: Annotations) -> Corpus:
    """Return a text of each item's keywords by group: ``bicyclist, entering ego path; urban``."""
    vocabulary = annotations.vocabulary
    texts = []
    for first, last in pairwise(annotations.starts.tolist()):
        groups = vocabulary.by_group(annotations.codes[first:last].tolist()).values()
        texts.append("; ".join(", ".join(names) for names in groups).replace("_", " "))
    rows = pl.DataFrame({"id": annotations.ids.cast(pl.String), "text": pl.Series(texts, dtype=pl.String)})
    named = np.diff(annotations.starts) > 0
    known, skipped = rows.filter(named), rows.filter(~named)["id"].to_list()
    return Corpus(known["id"], known["text"], vocabulary.groups, "; ", annotations.source, skipped)
