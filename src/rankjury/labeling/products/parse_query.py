"""Query parser: which words of a product query name a category, an attribute or a brand.

The longest phrases first, so that ``running shoes`` is one category and ``rose gold`` one colour; no word counts twice.
The dictionaries are the fields of the catalogue and the synonyms. The remaining words are looked up in the texts of the
catalogue. Two to four such words are one attribute if they mostly occur together: if the phrase is in two items or
more, and in at least half of those that have its rarest word. A word is ignored if no item has it, or if more than half
of them do.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from rankjury.labeling.normalize import BREAK, Phrase, phrase_key
from rankjury.labeling.products.features import BRAND, LONGEST, Features, TextIndex, expand_spellings, parse_phrases
from rankjury.labeling.products.synonyms import CATEGORY, OTHER, Synonyms

KindsByKey = Mapping[str, tuple[str, ...]]
"""The kinds that a key may be of; category alone where it is one."""

_FEWEST_TOGETHER = 2
_TOO_COMMON, _ITEMS_TO_TELL = 0.5, 20


@dataclass(frozen=True)
class QueryTerm:
    """A word or phrase of a query, and what it may be."""

    shown: str
    phrase: Phrase
    kinds: tuple[str, ...]
    within: Phrase | None = None
    """The query's category, for another category that goes with it: only of items that are of both does it count."""
    written: Phrase | None = None
    """How texts put it where that is not the phrase itself: dress boots, for the dress of ``men's dress boots``."""


@dataclass(frozen=True)
class ParsedQuery:
    """A query taken apart."""

    query: str
    text: str
    category: QueryTerm | None = None
    attributes: tuple[QueryTerm, ...] = ()
    brands: tuple[QueryTerm, ...] = ()
    unused: tuple[str, ...] = ()
    """Words that no item has, or too many have to tell one from another."""

    @property
    def terms(self) -> tuple[QueryTerm, ...]:
        return (*((self.category,) if self.category else ()), *self.attributes, *self.brands)


@dataclass(frozen=True)
class Span:
    """Words of a text from one place to another; kinds are empty where no dictionary has them."""

    start: int
    end: int
    kinds: tuple[str, ...] = ()


def build_vocabulary(features: Mapping[str, Features], synonyms: Synonyms) -> KindsByKey:
    """What the catalogue's fields hold, all that means the same, and what is known beside.

    Known phrases are categories only where the catalogue has none that they end in: where all boots are ``Boots``,
    ``hiking boots`` are boots with an attribute.
    """
    spelled = expand_spellings(CATEGORY, features[CATEGORY].phrases, synonyms)
    own = {phrase[start:] for phrase in spelled for start in range(len(phrase))}
    ends = {phrase[-1:] for phrase in own}
    known = {phrase for phrases in synonyms.known(CATEGORY) for phrase in phrases if phrase[-1:] not in ends}
    found: dict[str, set[str]] = {}
    for kind, of_kind in features.items():
        if kind != CATEGORY:
            for phrase in expand_spellings(kind, of_kind.phrases, synonyms):
                found.setdefault(phrase_key(phrase), set()).add(kind)
    for kind in (*features, OTHER):
        if kind in synonyms.groups and kind != CATEGORY:
            for phrase in (spelling for phrases in synonyms.known(kind) for spelling in phrases):
                found.setdefault(phrase_key(phrase), set()).add(kind)
    return {
        **{key: tuple(sorted(kinds)) for key, kinds in found.items()},
        **{phrase_key(phrase): (CATEGORY,) for phrase in own | known},
    }


def find_spans(words: list[str], vocabulary: KindsByKey, synonyms: Synonyms) -> list[Span]:
    """Known phrases, the longest first, none over another; then the words between them, one by one."""
    taken = [word == BREAK for word in words]
    found = []
    for length in range(min(LONGEST, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            end = start + length
            kinds = vocabulary.get(phrase_key(words[start:end]))
            if kinds and not any(taken[start:end]) and (length > 1 or words[start] not in synonyms.ignored):
                found.append(Span(start, end, kinds))
                taken[start:end] = [True] * length
    found += [Span(place, place + 1) for place, used in enumerate(taken) if not used]
    return sorted(found, key=lambda span: span.start)


def unknown_spans(words: list[str], spans: list[Span], synonyms: Synonyms) -> list[Span]:
    """Stretches of words that no dictionary has."""
    found: list[Span] = []
    for span in spans:
        if span.kinds or words[span.start] in synonyms.ignored:
            continue
        if found and found[-1].end == span.start:
            found[-1] = replace(found[-1], end=span.end)
        else:
            found.append(span)
    return found


def parse_query(
    query: str,
    text: str,
    vocabulary: KindsByKey,
    synonyms: Synonyms,
    scanned: TextIndex,
    *,
    items: int,
    category: str | None = None,
) -> ParsedQuery:
    """``category`` is the query's own, where that is to count instead of what its text says."""
    pairs = synonyms.words(text)
    words = [word for word, _ in pairs]
    spans = find_spans(words, vocabulary, synonyms)

    def term(span: Span, *kinds: str) -> QueryTerm:
        shown = " ".join(shown for _, shown in pairs[span.start : span.end])
        return QueryTerm(shown, tuple(words[span.start : span.end]), kinds or span.kinds)

    # The category is the last one named (denim shirt dress), but for what goes with it: a dress with a belt.
    named = [span for span in spans if span.kinds == (CATEGORY,)]
    beside = next((place for place, word in enumerate(words) if word in synonyms.beside), len(words))
    chosen = next(reversed([span for span in named if span.start < beside] or named), None)
    own = parse_phrases(category or "", synonyms)
    found = QueryTerm(category, own[-1], (CATEGORY,)) if category and own else term(chosen) if chosen else None
    kinds_of = {span: [kind for kind in span.kinds if kind not in (BRAND, CATEGORY)] for span in spans}
    attributes = [term(span, *kinds) for span, kinds in kinds_of.items() if kinds]
    if found and chosen:
        others = _other_categories(words, spans, chosen, found, synonyms)
        attributes += [replace(term(span, CATEGORY, OTHER), within=found.phrase, written=how) for span, how in others]
    stretches = unknown_spans(words, spans, synonyms)
    parts = [part for stretch in stretches for part in _parted(words, stretch, synonyms, scanned, items)]
    attributes += [term(span) for span in parts if span.kinds]
    brands = [term(span, BRAND) for span in spans if BRAND in span.kinds]
    unused = tuple(term(span).shown for span in parts if not span.kinds)
    return ParsedQuery(query, text, found, _distinct(attributes, synonyms), _distinct(brands, synonyms), unused)


def _other_categories(
    words: list[str], spans: list[Span], chosen: Span, category: QueryTerm, synonyms: Synonyms
) -> Iterator[tuple[Span, Phrase | None]]:
    """Categories that the query names beside its own, and how texts put them.

    One right before it says what kind is asked for, and counts only with it: the dress of ``dress boots``.
    """
    used = synonyms.covers(CATEGORY, category.phrase)
    for span in spans:
        named = span.kinds == (CATEGORY,) and span != chosen
        if named and synonyms.name(CATEGORY, tuple(words[span.start : span.end])) not in used:
            yield span, tuple(words[span.start : chosen.end]) if span.end == chosen.start else None


def _parted(words: list[str], stretch: Span, synonyms: Synonyms, scanned: TextIndex, items: int) -> Iterator[Span]:
    """Unknown words: those that stand together in the catalogue as one, the others by themselves."""

    def count(start: int, end: int) -> int:
        return scanned.items_with(synonyms.keys_for(OTHER, tuple(words[start:end])))

    start = stretch.start
    while start < stretch.end:
        for end in range(min(stretch.end, start + LONGEST), start + 1, -1):
            rarest = min(count(place, place + 1) for place in range(start, end))
            together = count(start, end)
            if together >= _FEWEST_TOGETHER and 2 * together >= rarest:
                yield Span(start, end, (OTHER,))
                break
        else:
            end = start + 1
            has_it = count(start, end)
            tells = has_it > 0 and (items < _ITEMS_TO_TELL or has_it <= _TOO_COMMON * items)
            yield Span(start, end, (OTHER,) if tells else ())
        start = end


def _distinct(terms: list[QueryTerm], synonyms: Synonyms) -> tuple[QueryTerm, ...]:
    """What means the same counts once."""
    found = {(term.kinds, *(synonyms.name(kind, term.phrase) for kind in term.kinds)): term for term in reversed(terms)}
    return tuple(reversed(found.values()))
