"""Heuristic labels: every pair of query and product is graded by rules, and each grade has its evidence.

3   the category, and two attributes or more
2   the category, or two attributes or more
1   one attribute, or nothing but the brand
0   otherwise
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.columns import GRADE, ITEM, QUERY
from rankjury.core.convert import gold_from_frame
from rankjury.core.text import FORMULA_START, plural
from rankjury.core.types import Bools, Gold, Ints
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UsageError, guard_reading
from rankjury.io.formats import FORMATS, form_to_write, write
from rankjury.labeling.normalize import Phrase, phrase_key
from rankjury.labeling.products.catalog import TEXTS, ProductCatalogue
from rankjury.labeling.products.features import (
    FIELDS,
    NOWHERE,
    Codes,
    Features,
    TextIndex,
    extract_features,
    index_texts,
    phrase_keys,
)
from rankjury.labeling.products.parse_query import (
    KindsByKey,
    ParsedQuery,
    QueryTerm,
    build_vocabulary,
    find_spans,
    parse_query,
    unknown_spans,
)
from rankjury.labeling.products.synonyms import CATEGORY, OTHER, Synonyms, read_synonyms


@dataclass(frozen=True, eq=False)
class Matcher:
    """Searches terms in fields and, for items without the field, in texts.

    A category matches by the item's field or, for an item without one, by the type in its title. A colour, material,
    audience or brand matches by the field or, without it, in title, bullets or description. Others match in any text.
    """

    catalogue: ProductCatalogue
    features: Mapping[str, Features]
    vocabulary: KindsByKey
    synonyms: Synonyms
    texts: TextIndex
    _cache: dict[QueryTerm, Codes] = field(default_factory=dict)

    @property
    def places(self) -> tuple[str, ...]:
        """Names of the codes: where a term was found."""
        return (*self.features, *TEXTS)

    def codes(self, term: QueryTerm) -> Codes:
        """Return for every item the code of the first match, or NOWHERE."""
        if term not in self._cache:
            self._cache[term] = np.minimum.reduce([self._of_kind(kind, term) for kind in term.kinds])
        return self._cache[term]

    def _of_kind(self, kind: str, term: QueryTerm) -> Codes:
        phrase = term.phrase
        if kind == OTHER:
            return self._in_texts(kind, term.written or phrase)
        features = self.features[kind]
        name = self.synonyms.name(kind, phrase)
        if kind == CATEGORY:
            codes = np.full(len(self.catalogue), NOWHERE, dtype=np.uint8)
            codes[self._types_in_titles.get(name, [])] = len(self.features)
        elif kind in FIELDS:
            codes = np.where(features.lacking, self._in_texts(kind, phrase), np.uint8(NOWHERE))
        else:
            codes = self._in_texts(kind, phrase)
        codes[features.rows.get(name, np.empty(0, dtype=np.int64))] = list(self.features).index(kind)
        if term.within:
            codes[self.codes(QueryTerm("", term.within, (CATEGORY,))) == NOWHERE] = NOWHERE
        return codes

    def _in_texts(self, kind: str, phrase: Phrase) -> Codes:
        codes = self.texts.codes(self.synonyms.keys_for(kind, phrase))
        return np.where(codes == NOWHERE, codes, codes + np.uint8(len(self.features)))

    @cached_property
    def _types_in_titles(self) -> dict[str, list[int]]:
        """Return items by the types in their titles: of items without category, or of types within their category.

        So an item of ``Shoes`` with ``sneakers`` in its title is found under both. A type counts before ``with`` or
        ``for``; one right before another is a modifier: a shirt dress is not a shirt.
        """
        own: list[set[str]] = [set() for _ in range(len(self.catalogue))]
        for name, rows in self.features[CATEGORY].rows.items():
            for row in rows:
                own[row].add(name)
        types: dict[str, dict[int, None]] = {}
        for row, title in enumerate(self.catalogue.frame["title"]):
            words = self.synonyms.main_words(self.synonyms.tokens(title or ""))
            spans = [span for span in find_spans(words, self.vocabulary, self.synonyms) if span.kinds == (CATEGORY,)]
            starts = {span.start for span in spans}
            for span in spans:
                names = self.synonyms.covers(CATEGORY, tuple(words[span.start : span.end]))
                if span.end not in starts and (not own[row] or names & own[row]):
                    for name in names - own[row]:
                        types.setdefault(name, {})[row] = None
        return {name: list(rows) for name, rows in types.items()}


RULES = {"category and attributes": 3, "category": 2, "attributes": 2, "one attribute": 1, "brand": 1, "nothing": 0}
"""Grade of each rule; the first rule that applies counts."""
_NAMES = tuple(RULES)
_AT_ONCE = 4
"""Number of 8-bit codes packed into one number together with one of 31 bits."""
_MATCHES = {"category": pl.String(), "attributes": pl.List(pl.String), "brand": pl.String()}
SCHEMA = {QUERY: pl.String(), ITEM: pl.String(), GRADE: pl.Int64(), "rule": pl.String(), **_MATCHES}


def rule_numbers(category: Bools, attributes: Ints, brand: Bools) -> Ints:
    """Return the number of each item's rule, from matches of category and brand and the count of attributes."""
    several = attributes >= 2
    conditions = [category & several, category, several, attributes > 0, brand]
    return np.select(conditions, list(range(len(conditions))), len(conditions)).astype(np.int64)


def grade_pairs(readings: Mapping[str, ParsedQuery], items: pl.Series, matcher: Matcher) -> pl.DataFrame:
    """Return the pairs above grade 0, query by query, with rules and matches."""
    rows, rules, which = ([np.empty(0, dtype=np.int64)] for _ in range(3))
    matches: list[dict[str, Any]] = []
    nowhere = np.empty((0, len(items)), dtype=np.uint8)
    for reading in readings.values():
        codes = np.concatenate([nowhere, *(matcher.codes(term)[None] for term in reading.terms)])  # terms × items
        has = codes != NOWHERE
        first = 1 if reading.category else 0
        last = first + len(reading.attributes)
        of_query = rule_numbers(has[:first].any(axis=0), has[first:last].sum(axis=0), has[last:].any(axis=0))
        rows.append(np.flatnonzero(of_query < _NAMES.index("nothing")))
        rules.append(of_query[rows[-1]])
        patterns, places = _patterns(codes[:, rows[-1]])
        which.append(places + len(matches))
        for pattern in patterns.T.tolist():
            terms = zip(reading.terms, pattern, strict=True)
            shown = [None if code == NOWHERE else f"{term.shown} ({matcher.places[code]})" for term, code in terms]
            match = {"category": shown[0] if first else None, "attributes": list(filter(None, shown[first:last]))}
            matches.append(match | {"brand": next(filter(None, shown[last:]), None)})
    numbers = np.repeat(np.arange(len(readings)), [part.size for part in rows[1:]])
    rule = np.concatenate(rules)
    pairs = {
        QUERY: pl.Series(list(readings), dtype=pl.String).gather(numbers),
        ITEM: items.gather(np.concatenate(rows)),
        GRADE: pl.Series(list(RULES.values())).gather(rule),
        "rule": pl.Series(_NAMES).gather(rule),
    }
    columns = pl.DataFrame(matches, schema=_MATCHES).select(pl.all().gather(np.concatenate(which)))
    return pl.DataFrame(pairs, schema_overrides=SCHEMA).hstack(columns)


def _patterns(codes: Codes) -> tuple[Codes, Ints]:
    """Return the distinct columns and the index of each column among them: a faster ``np.unique`` along an axis."""
    which = np.zeros(codes.shape[1], dtype=np.int64)
    first = np.zeros(min(1, which.size), dtype=np.int64)
    for start in range(0, len(codes), _AT_ONCE):
        for code in codes[start : start + _AT_ONCE]:
            which = which * (NOWHERE + 1) + code
        _, first, which = np.unique(which, return_index=True, return_inverse=True)
    return codes[:, first], which


GRADES = (0, 1, 2, 3)
RELEVANT_FROM = 2


@dataclass(frozen=True, eq=False)
class Labels:
    """Graded pairs of queries and items, with the reason of each grade."""

    queries: pl.DataFrame
    """id, text, type, category."""
    items: pl.Series
    found: pl.DataFrame
    """query_id, item_id, grade, rule, category, attributes, brand of every pair above grade 0, and of pairs of grade 0
    that people graded."""
    readings: Mapping[str, ParsedQuery]
    matcher: Matcher = field(repr=False)
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.found.filter(pl.col(GRADE) > 0).height

    @property
    def sentence(self) -> str:
        """How many pairs were graded, how many are relevant, and how many queries have nothing relevant."""
        relevant = self.found.filter(pl.col(GRADE) >= RELEVANT_FROM).height
        queries = plural(self.queries.height, "query", "queries")
        items = plural(len(self.items), "item", "items")
        bare = len(self.without_relevant)
        none = f"; {plural(bare, 'query has', 'queries have')} none" if bare else "; every query has one"
        return f"{plural(relevant, 'pair is', 'pairs are')} relevant (grade 2 or 3) of {queries} × {items}{none}."

    def __repr__(self) -> str:
        return f"Labels({self.queries.height:,} queries × {len(self.items):,} items, {len(self):,} above grade 0)"

    @check_arguments
    def frame(self, *, zeros: bool = False) -> pl.DataFrame:
        """Return one row per pair in the order of queries and items; ``zeros``: including those of grade 0."""
        if not zeros:
            return self.found.filter(pl.col(GRADE) > 0)
        pairs = self.queries.select(pl.col("id").alias(QUERY)).join(self.items.to_frame(ITEM), how="cross")
        whole = pairs.join(self.found, on=(QUERY, ITEM), how="left", maintain_order="left")
        empty = pl.lit([], dtype=pl.List(pl.String))
        return whole.with_columns(
            pl.col(GRADE).fill_null(0), pl.col("rule").fill_null("nothing"), pl.col("attributes").fill_null(empty)
        )

    def gold(self) -> Gold:
        """Return a gold in which grade 2 and above is relevant."""
        rows = self.frame().select(QUERY, ITEM, GRADE)
        return gold_from_frame(rows, source="labels", relevant_from=RELEVANT_FROM)

    @cached_property
    def counts(self) -> pl.DataFrame:
        """Number of pairs by grade, and of queries without relevant items, by type of query."""
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
        """Queries without an item of grade 2 or above."""
        others = set(self.found.filter(pl.col(GRADE) >= RELEVANT_FROM)[QUERY])
        return [name for name in self.queries["id"] if name not in others]

    @check_arguments
    def reading(self, query: str) -> ParsedQuery:
        """Return the parsed query."""
        if query not in self.readings:
            raise _unknown("query", query, list(self.readings), "the query set")
        return self.readings[query]

    def rows_of(self, query: str) -> pl.DataFrame:
        """Return the labels of a query above grade 0, best first."""
        self.reading(query)
        return self.frame().filter(pl.col(QUERY) == query).sort(GRADE, descending=True, maintain_order=True)

    def row_of(self, query: str, item: str) -> pl.DataFrame:
        """Return the label of one pair, of any grade."""
        self._place_of(item)
        row = self.found.filter((pl.col(QUERY) == query) & (pl.col(ITEM) == item))
        nothing = {QUERY: query, ITEM: item, GRADE: 0, "rule": "nothing", "attributes": []}
        return row if row.height else pl.DataFrame([nothing], schema=SCHEMA)

    def explain(self, query: str, item: str) -> list[tuple[QueryTerm, str, str | None]]:
        """Return each term of the query with its interpretation, and where the item contains it (None: nowhere)."""
        reading, place = self.reading(query), self._place_of(item)
        roles = ["category"] * bool(reading.category) + ["attribute"] * len(reading.attributes)
        roles += ["brand"] * len(reading.brands)
        codes = [int(self.matcher.codes(term)[place]) for term in reading.terms]
        places = [None if code == NOWHERE else self.matcher.places[code] for code in codes]
        return list(zip(reading.terms, roles, places, strict=True))

    def _place_of(self, item: str) -> int:
        place = self.items.index_of(item)
        if place is None:
            raise _unknown("item", item, self.items.to_list(), "the catalogue")
        return place


@check_arguments
def label(
    catalogue: ProductCatalogue, queries: pl.DataFrame, *, synonyms: Synonyms | None = None, own_category: bool = False
) -> Labels:
    """Grade every pair of a query and a product by rules on types, categories and attributes.

    Args:
        catalogue: The products, as ``rankjury.read_catalogue`` reads them.
        queries: A Polars frame with the columns id and text, perhaps type and category.
        synonyms: Words that mean the same; by default those that rankjury knows.
        own_category: Whether a query's category column decides, where it has a value, rather than its text.

    Returns:
        The labels: ``.gold`` is what ``rankjury.evaluate`` takes.

    Raises:
        DataError: A column is missing, or an id is a duplicate.

    Example:
        >>> catalogue = rankjury.read_catalogue("items.jsonl")
        >>> labels = rankjury.label(catalogue, pl.DataFrame({"id": ["q"], "text": ["red dress"]}))
    """
    known = synonyms or read_synonyms()
    queries = _whole(queries)
    features = extract_features(catalogue, known)
    vocabulary = build_vocabulary(features, known)
    texts = queries["text"].to_list()
    wanted: set[str] = set().union(*(_wanted(known.tokens(text), vocabulary, known) for text in texts))
    index = index_texts(catalogue, known, wanted)
    matcher = Matcher(catalogue, features, vocabulary, known, index)
    own = queries["category"].to_list() if own_category else [None] * len(texts)
    readings = {
        name: parse_query(name, text, vocabulary, known, index, items=len(catalogue), category=category)
        for name, text, category in zip(queries["id"], texts, own, strict=True)
    }
    found = grade_pairs(readings, catalogue.ids, matcher)
    return Labels(queries, catalogue.ids, found, readings, matcher, tuple(_notes(catalogue, readings, features)))


def write_labels(labels: Labels, path: Path, *, zeros: bool = False, brief: bool = False) -> int:
    """Write the labels by the suffix: .jsonl, .csv, .tsv and .parquet with rule and matches, TREC and .json without.

    ``brief`` omits rule and matches in all formats. Returns the number of pairs.
    """
    form, _ = form_to_write(path, None, FORMATS)
    rows = labels.frame(zeros=zeros)
    if rows.is_empty():
        raise DataError("no item matches any query, so there is nothing to write", where=str(path))
    kind = "gold" if form in ("trec", "json") else "table"
    if brief or kind == "gold":
        rows = rows.select(QUERY, ITEM, GRADE)
    elif form in ("csv", "tsv"):
        texts = pl.col(*_MATCHES).str.replace(FORMULA_START, "'${1}")  # not ids, which must match those of runs
        rows = rows.with_columns(pl.col("attributes").list.join("; ")).with_columns(texts)
    write(rows, path, kind)
    return rows.height


def _whole(queries: pl.DataFrame) -> pl.DataFrame:
    for name in ("id", "text"):
        if name not in queries.columns:
            raise DataError(f"found the columns {', '.join(queries.columns)}", where="queries", expected="id and text")
    present = [pl.col(name) if name in queries.columns else pl.lit(None).alias(name) for name in ("type", "category")]
    if queries["text"].null_count() or queries["id"].null_count():
        raise DataError("a query without an id or a text", where="queries", expected="both in every row")
    with guard_reading("queries", expected="columns of texts"):
        return queries.select("id", "text", *present).cast(pl.String)


def _wanted(words: list[str], vocabulary: KindsByKey, known: Synonyms) -> set[str]:
    """Return the keys that may have to be searched in texts for a query."""
    spans = find_spans(words, vocabulary, known)
    pairs = [(span, following) for span, following in pairwise(spans) if span.kinds == (CATEGORY,)]
    keys = {phrase_key(words[span.start : following.end]) for span, following in pairs}
    for span in spans:
        for kind in {*span.kinds, OTHER} - {CATEGORY}:
            keys |= known.keys_for(kind, tuple(words[span.start : span.end]))
    for stretch in unknown_spans(words, spans, known):
        keys |= phrase_keys(words[stretch.start : stretch.end])
    return keys


def _notes(
    catalogue: ProductCatalogue, readings: Mapping[str, ParsedQuery], features: Mapping[str, Any]
) -> Iterator[str]:
    yield from catalogue.notes
    if lacking := int(features[CATEGORY].lacking.sum()):
        yield f"{lacking:,} of {len(catalogue):,} items have no specific category: their titles were used"
    bare = [reading.query for reading in readings.values() if not reading.terms]
    if bare:
        shown = ", ".join(bare[:5]) + (f" … ({len(bare):,} in all)" if len(bare) > 5 else "")
        yield f"no word of {shown} was understood"


def _unknown(kind: str, name: str, known: list[str], of: str) -> UsageError:
    """Return an error like UnknownName, but without a list of thousands."""
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(near)}?" if near else None
    return UsageError(f"unknown {kind} {name!r}", expected=f"an id of {of}", hint=hint)
