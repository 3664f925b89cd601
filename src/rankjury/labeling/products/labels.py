"""Heuristic labels: how well an item fits a query, by what its fields and texts say.

Each label says which rule of ``grading`` gave it, and by which matches.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from rankjury.core.convert import GRADE, ITEM, QUERY, gold_from_frame
from rankjury.core.text import FORMULA_START
from rankjury.core.types import Gold
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UsageError, guard_reading
from rankjury.io.formats import FORMATS, form_to_write, write, write_table
from rankjury.labeling.normalize import key_of
from rankjury.labeling.products.catalog import Catalogue
from rankjury.labeling.products.features import features_of
from rankjury.labeling.products.match import Matcher
from rankjury.labeling.products.parse_query import (
    Reading,
    Term,
    Vocabulary,
    find_spans,
    leftovers,
    read_query,
    vocabulary_of,
)
from rankjury.labeling.products.rules import SCHEMA, grade_pairs
from rankjury.labeling.products.scan import NOWHERE, keys_in, scan
from rankjury.labeling.products.synonyms import CATEGORY, OTHER, Synonyms, read_synonyms

GRADES = (0, 1, 2, 3)
RELEVANT_FROM = 2
_MATCHES = ("category", "attributes", "brand")
"""Columns of texts from the catalogue."""


@dataclass(frozen=True, eq=False)
class Labels:
    """Graded pairs of queries and items, and how each came to its grade."""

    queries: pl.DataFrame
    """id, text, type, category."""
    items: pl.Series
    found: pl.DataFrame
    """query_id, item_id, grade, rule, category, attributes, brand of every pair above grade 0, and of those below that
    people graded."""
    readings: Mapping[str, Reading]
    matcher: Matcher = field(repr=False)
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.found.filter(pl.col(GRADE) > 0).height

    def __repr__(self) -> str:
        return f"Labels({self.queries.height:,} queries × {len(self.items):,} items, {len(self):,} above grade 0)"

    @check_arguments
    def frame(self, *, zeros: bool = False) -> pl.DataFrame:
        """A row a pair in the order of queries and items; ``zeros``: those of grade 0 as well."""
        if not zeros:
            return self.found.filter(pl.col(GRADE) > 0)
        pairs = self.queries.select(pl.col("id").alias(QUERY)).join(self.items.to_frame(ITEM), how="cross")
        whole = pairs.join(self.found, on=(QUERY, ITEM), how="left", maintain_order="left")
        empty = pl.lit([], dtype=pl.List(pl.String))
        return whole.with_columns(
            pl.col(GRADE).fill_null(0), pl.col("rule").fill_null("nothing"), pl.col("attributes").fill_null(empty)
        )

    def gold(self) -> Gold:
        """As a gold of which grade 2 and above is relevant."""
        rows = self.frame().select(QUERY, ITEM, GRADE)
        return gold_from_frame(rows, source="labels", relevant_from=RELEVANT_FROM)

    @cached_property
    def counts(self) -> pl.DataFrame:
        """Pairs by grade, and queries without anything relevant, of every type of query: type, queries, 0 … 3, none."""
        grades = [str(grade) for grade in GRADES[1:]]
        counted = self.frame().group_by(QUERY).agg((pl.col(GRADE) == int(grade)).sum().alias(grade) for grade in grades)
        queries = self.queries.select(pl.col("id").alias(QUERY), "type")
        per_query = queries.join(counted, on=QUERY, how="left", maintain_order="left")
        per_query = per_query.with_columns(pl.col(grades).fill_null(0).cast(pl.Int64))
        return per_query.group_by("type", maintain_order=True).agg(
            pl.len().cast(pl.Int64).alias("queries"),
            (pl.len().cast(pl.Int64) * len(self.items) - pl.sum_horizontal(pl.col(grades).sum())).alias("0"),
            pl.col(grades).sum(),
            (pl.col("2") + pl.col("3") == 0).sum().cast(pl.Int64).alias("none"),
        )

    @property
    def without_relevant(self) -> list[str]:
        """Queries for which no item is of grade 2 or above."""
        held = set(self.found.filter(pl.col(GRADE) >= RELEVANT_FROM)[QUERY])
        return [name for name in self.queries["id"] if name not in held]

    @check_arguments
    def reading(self, query: str) -> Reading:
        """How a query was taken apart."""
        if query not in self.readings:
            raise _unknown("query", query, list(self.readings), "the query set")
        return self.readings[query]

    def rows_of(self, query: str) -> pl.DataFrame:
        """The labels of a query above grade 0, the best first."""
        self.reading(query)
        return self.frame().filter(pl.col(QUERY) == query).sort(GRADE, descending=True, maintain_order=True)

    def row_of(self, query: str, item: str) -> pl.DataFrame:
        """The label of one pair, whatever its grade."""
        self._place_of(item)
        held = self.found.filter((pl.col(QUERY) == query) & (pl.col(ITEM) == item))
        nothing = {QUERY: query, ITEM: item, GRADE: 0, "rule": "nothing", "attributes": []}
        return held if held.height else pl.DataFrame([nothing], schema=SCHEMA)

    def explain(self, query: str, item: str) -> list[tuple[Term, str, str | None]]:
        """Each term of the query, what it is taken for, and where the item says so (None: nowhere)."""
        reading, place = self.reading(query), self._place_of(item)
        terms = [(term, "category") for term in (reading.category,) if term]
        terms += [(term, "attribute") for term in reading.attributes] + [(term, "brand") for term in reading.brands]
        codes = [int(self.matcher.codes(term)[place]) for term, _ in terms]
        said = [None if code == NOWHERE else self.matcher.places[code] for code in codes]
        return [(term, role, where) for (term, role), where in zip(terms, said, strict=True)]

    def _place_of(self, item: str) -> int:
        place = self.items.index_of(item)
        if place is None:
            raise _unknown("item", item, self.items.to_list(), "the catalogue")
        return place


@check_arguments
def label(
    catalogue: Catalogue, queries: pl.DataFrame, *, synonyms: Synonyms | None = None, own_category: bool = False
) -> Labels:
    """Grade every pair of a query (a frame with id and text, perhaps type and category) and an item.

    ``own_category``: a query's category is what its column says, where that says something, rather than its text.
    """
    known = synonyms or read_synonyms()
    queries = _whole(queries)
    features = features_of(catalogue, known)
    vocabulary = vocabulary_of(features, known)
    texts = queries["text"].to_list()
    wanted: set[str] = set().union(*(_wanted(known.tokens(text), vocabulary, known) for text in texts))
    scanned = scan(catalogue, known, wanted)
    matcher = Matcher(catalogue, features, vocabulary, known, scanned)
    own = queries["category"].to_list() if own_category else [None] * len(texts)
    readings = {
        name: read_query(name, text, vocabulary, known, scanned, items=len(catalogue), category=category)
        for name, text, category in zip(queries["id"], texts, own, strict=True)
    }
    found = grade_pairs(readings, catalogue.ids, matcher)
    return Labels(queries, catalogue.ids, found, readings, matcher, tuple(_notes(catalogue, readings, features)))


def write_labels(labels: Labels, path: Path, *, zeros: bool = False, brief: bool = False) -> int:
    """In the form of the suffix: .jsonl, .csv, .tsv and .parquet with rule and matches, TREC and .json without.

    ``brief`` leaves rule and matches out of all. Returns how many pairs.
    """
    form, _ = form_to_write(path, None, FORMATS)
    rows = labels.frame(zeros=zeros)
    if rows.is_empty():
        raise DataError("no item fits any query, so that there is nothing to write", where=str(path))
    if brief and form not in ("trec", "json"):
        write_table(rows.select(QUERY, ITEM, GRADE), path)
    elif form in ("trec", "json"):
        write(rows.select(QUERY, ITEM, GRADE), path, "gold")
    elif form in ("csv", "tsv"):
        texts = pl.col(*_MATCHES).str.replace(FORMULA_START, "'${1}")  # ids stay: runs are joined by them
        write_table(rows.with_columns(pl.col("attributes").list.join("; ")).with_columns(texts), path)
    else:
        write_table(rows, path)
    return rows.height


def _whole(queries: pl.DataFrame) -> pl.DataFrame:
    for name in ("id", "text"):
        if name not in queries.columns:
            raise DataError(f"found the columns {', '.join(queries.columns)}", where="queries", expected="id and text")
    present = [pl.col(name) if name in queries.columns else pl.lit(None).alias(name) for name in ("type", "category")]
    if queries["text"].null_count() or queries["id"].null_count():
        raise DataError("a query without an id or a text", where="queries", expected="both in every row")
    with guard_reading("queries", expected="columns of texts"):
        found = queries.select("id", "text", *present).cast(pl.String)
    for name in ("id", "text"):
        if found[name].null_count():
            row = int(found[name].is_null().arg_max() or 0)
            raise DataError(f"row {row + 1:,} has no {name}", where="queries", expected="id and text in every row")
    return found


def _wanted(words: list[str], vocabulary: Vocabulary, known: Synonyms) -> set[str]:
    """The keys of all that a query may have to be looked for in texts."""
    spans = find_spans(words, vocabulary, known)
    found = {key_of(words[one.start : next_.end]) for one, next_ in pairwise(spans) if one.kinds == (CATEGORY,)}
    for span in spans:
        phrase = tuple(words[span.start : span.end])
        for kind in (*span.kinds, OTHER):
            found |= set() if kind == CATEGORY else known.keys_for(kind, phrase)
    for stretch in leftovers(words, spans, known):
        found |= keys_in(words[stretch.start : stretch.end])
    return found


def _notes(catalogue: Catalogue, readings: Mapping[str, Reading], features: Mapping[str, Any]) -> Iterator[str]:
    yield from catalogue.notes
    lacking = int(features["category"].lacking.sum())
    if lacking:
        yield f"{lacking:,} of {len(catalogue):,} items have no category that tells them apart: titles were looked at"
    bare = [reading.query for reading in readings.values() if not reading.terms]
    if bare:
        shown = ", ".join(bare[:5]) + (f" … ({len(bare):,} in all)" if len(bare) > 5 else "")
        yield f"no word of {shown} was understood"


def _unknown(kind: str, name: str, known: list[str], of: str) -> UsageError:
    """As UnknownName, but without a list of thousands."""
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(near)}?" if near else None
    return UsageError(f"unknown {kind} {name!r}", expected=f"an id of {of}", hint=hint)
