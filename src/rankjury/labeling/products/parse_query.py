"""Query parser: finds the words of a product query that name a category, an attribute or a brand.

Longest phrases are matched first: ``running shoes`` is one category, ``rose gold`` one colour; each word counts once.
The dictionaries are the fields of the catalogue and the synonyms. The remaining words are looked up in the texts of the
catalogue. Two to four such words are one attribute if they mostly occur together: if the phrase is in two items or
more, and in at least half of those that have its rarest word. A word is ignored if no item has it, or if more than half
of them do.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from rankjury.labeling.normalize import BREAK, Phrase, phrase_key
from rankjury.labeling.products.features import (
    BRAND,
    LONGEST,
    NOWHERE,
    Features,
    TextIndex,
    expand_spellings,
    parse_phrases,
)
from rankjury.labeling.products.synonyms import CATEGORY, OTHER, Synonyms

KindsByKey = Mapping[str, tuple[str, ...]]
"""Possible kinds of a key; only category if it is one."""

_TOO_COMMON, _ITEMS_TO_TELL = 0.5, 20
"""In catalogues of at least _ITEMS_TO_TELL items, words that more than this share of the items has are ignored."""


@dataclass(frozen=True)
class QueryTerm:
    """Word or phrase of a query, with its possible kinds."""

    shown: str
    phrase: Phrase
    kinds: tuple[str, ...]
    within: Phrase | None = None
    """The query's category, if the term is another category that belongs to it: only items of both match."""
    written: Phrase | None = None
    """Phrase to search in texts, if it differs: dress boots, for the dress of ``men's dress boots``."""


@dataclass(frozen=True)
class ParsedQuery:
    """A query and its terms."""

    query: str
    text: str
    category: QueryTerm | None = None
    attributes: tuple[QueryTerm, ...] = ()
    brands: tuple[QueryTerm, ...] = ()
    unused: tuple[str, ...] = ()
    """Words that no item has, or too many."""

    @property
    def terms(self) -> tuple[QueryTerm, ...]:
        return (*((self.category,) if self.category else ()), *self.attributes, *self.brands)


@dataclass(frozen=True)
class Span:
    """Words ``start`` to ``end`` of a text; kinds are empty if no dictionary has the words."""

    start: int
    end: int
    kinds: tuple[str, ...] = ()


def build_vocabulary(features: Mapping[str, Features], synonyms: Synonyms) -> KindsByKey:
    """Return the kinds of all phrases of the catalogue's fields, of their synonyms, and of other known phrases.

    Known phrases are categories only if they do not end in one of the catalogue's: if all boots are ``Boots``, ``hiking
    boots`` are boots with an attribute.
    """
    spelled = expand_spellings(CATEGORY, features[CATEGORY].phrases, synonyms)
    own = {phrase[start:] for phrase in spelled for start in range(len(phrase))}
    ends = {phrase[-1:] for phrase in own}
    categories = own | {phrase for phrase in chain(*synonyms.known(CATEGORY)) if phrase[-1:] not in ends}
    kinds_by_key: defaultdict[str, set[str]] = defaultdict(set)
    for kind in sorted({*features, OTHER} - {CATEGORY}):
        phrases = expand_spellings(kind, features[kind].phrases, synonyms) if kind in features else set()
        for phrase in phrases.union(*synonyms.known(kind) if kind in synonyms.groups else ()):
            kinds_by_key[phrase_key(phrase)].add(kind)
    others = {key: tuple(sorted(kinds)) for key, kinds in kinds_by_key.items()}
    return others | {phrase_key(phrase): (CATEGORY,) for phrase in categories}


def find_spans(words: list[str], vocabulary: KindsByKey, synonyms: Synonyms) -> list[Span]:
    """Return known phrases, longest first, without overlap, and the single words between them."""
    taken = [word == BREAK for word in words]
    spans = []
    for length in range(min(LONGEST, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            end = start + length
            kinds = vocabulary.get(phrase_key(words[start:end]))
            if kinds and not any(taken[start:end]) and (length > 1 or words[start] not in synonyms.ignored):
                spans.append(Span(start, end, kinds))
                taken[start:end] = [True] * length
    spans += [Span(place, place + 1) for place, used in enumerate(taken) if not used]
    return sorted(spans, key=lambda span: span.start)


def unknown_spans(words: list[str], spans: list[Span], synonyms: Synonyms) -> list[Span]:
    """Return runs of words that no dictionary has."""
    runs: list[Span] = []
    for span in spans:
        if not span.kinds and words[span.start] not in synonyms.ignored:
            start = runs.pop().start if runs and runs[-1].end == span.start else span.start
            runs.append(Span(start, span.end))
    return runs


def parse_query(
    query: str,
    text: str,
    vocabulary: KindsByKey,
    synonyms: Synonyms,
    index: TextIndex,
    *,
    items: int,
    category: str | None = None,
) -> ParsedQuery:
    """Parse a query of ``text``; ``category`` is a separate category that replaces the one in the text."""
    pairs = synonyms.words(text)
    words = [word for word, _ in pairs]
    spans = find_spans(words, vocabulary, synonyms)

    def term(span: Span, *kinds: str) -> QueryTerm:
        shown = " ".join(shown for _, shown in pairs[span.start : span.end])
        return QueryTerm(shown, tuple(words[span.start : span.end]), kinds or span.kinds)

    # The category is the last one (denim shirt dress), except after joining words: a dress with a belt.
    named = [span for span in spans if span.kinds == (CATEGORY,)]
    beside = len(synonyms.main_words(words))
    chosen = next(reversed([span for span in named if span.start < beside] or named), None)
    own = parse_phrases(category or "", synonyms)
    found = QueryTerm(category, own[-1], (CATEGORY,)) if category and own else term(chosen) if chosen else None
    kinds_of = {span: [kind for kind in span.kinds if kind not in (BRAND, CATEGORY)] for span in spans}
    attributes = [term(span, *kinds) for span, kinds in kinds_of.items() if kinds]
    if found and chosen:
        covered = synonyms.covers(CATEGORY, found.phrase)
        for span in named:
            if span != chosen and synonyms.name(CATEGORY, tuple(words[span.start : span.end])) not in covered:
                # One right before the category is a modifier, and counts only with it: dress boots.
                written = tuple(words[span.start : chosen.end]) if span.end == chosen.start else None
                attributes.append(replace(term(span, CATEGORY, OTHER), within=found.phrase, written=written))
    unknown = unknown_spans(words, spans, synonyms)
    parts = [part for run in unknown for part in _split_run(words, run, synonyms, index, items)]
    attributes += [term(span) for span in parts if span.kinds]
    brands = [term(span, BRAND) for span in spans if BRAND in span.kinds]
    unused = tuple(term(span).shown for span in parts if not span.kinds)
    return ParsedQuery(query, text, found, _distinct(attributes, synonyms), _distinct(brands, synonyms), unused)


def _split_run(words: list[str], run: Span, synonyms: Synonyms, index: TextIndex, items: int) -> Iterator[Span]:
    """Split unknown words: those that occur together in the catalogue are one term, the others are single."""

    def count(start: int, end: int) -> int:
        codes = index.codes(synonyms.keys_for(OTHER, tuple(words[start:end])))
        return int(np.count_nonzero(codes != NOWHERE))

    start = run.start
    while start < run.end:
        for end in range(min(run.end, start + LONGEST), start + 1, -1):
            rarest = min(count(place, place + 1) for place in range(start, end))
            together = count(start, end)
            if together >= 2 and 2 * together >= rarest:
                yield Span(start, end, (OTHER,))
                break
        else:
            end = start + 1
            n = count(start, end)
            is_known = n > 0 and (items < _ITEMS_TO_TELL or n <= _TOO_COMMON * items)
            yield Span(start, end, (OTHER,) if is_known else ())
        start = end


def _distinct(terms: list[QueryTerm], synonyms: Synonyms) -> tuple[QueryTerm, ...]:
    """Return one term per meaning: the first of them, at the position of the last."""
    found = {(term.kinds, *(synonyms.name(kind, term.phrase) for kind in term.kinds)): term for term in reversed(terms)}
    return tuple(reversed(found.values()))
