"""Which items have what a query asks for, and where they say so."""

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from rankjury.labeling.normalize import Phrase
from rankjury.labeling.products.catalog import TEXTS, Catalogue
from rankjury.labeling.products.features import FIELDS, Features
from rankjury.labeling.products.parse_query import Term, Vocabulary, find_spans
from rankjury.labeling.products.scan import NOWHERE, Codes, Scanned
from rankjury.labeling.products.synonyms import CATEGORY, OTHER, Synonyms


class Matcher:
    """Looks terms up in fields and, for items without the field, in texts.

    A category, colour, material, audience or brand counts where the item's own field says so; where an item has no such
    field, its title, its bullets or its description may. Other attributes count wherever they stand.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        features: Mapping[str, Features],
        vocabulary: Vocabulary,
        synonyms: Synonyms,
        scanned: Scanned,
    ) -> None:
        self.places = (*features, *TEXTS)
        """What the codes stand for."""
        self._catalogue = catalogue
        self._features = features
        self._vocabulary = vocabulary
        self._synonyms = synonyms
        self._scanned = scanned
        self._held: dict[Term, Codes] = {}

    def codes(self, term: Term) -> Codes:
        """For every item the first of the places that say so, or NOWHERE."""
        if term not in self._held:
            self._held[term] = np.minimum.reduce([self._of_kind(kind, term) for kind in term.kinds])
        return self._held[term]

    def _of_kind(self, kind: str, term: Term) -> Codes:
        phrase = term.phrase
        if kind == OTHER:
            return self._in_texts(kind, term.written or phrase)
        features = self._features[kind]
        name = self._synonyms.name(kind, phrase)
        if kind == CATEGORY:
            codes = np.full(len(self._catalogue), NOWHERE, dtype=np.uint8)
            codes[self._types_in_titles.get(name, [])] = len(self._features)
        elif kind in FIELDS:
            codes = np.where(features.lacking, self._in_texts(kind, phrase), np.uint8(NOWHERE))
        else:
            codes = self._in_texts(kind, phrase).copy()
        codes[features.rows.get(name, np.empty(0, dtype=np.int64))] = list(self._features).index(kind)
        if term.within:
            codes[self.codes(Term("", term.within, (CATEGORY,))) == NOWHERE] = NOWHERE
        return codes

    def _in_texts(self, kind: str, phrase: Phrase) -> Codes:
        codes = self._scanned.codes(self._synonyms.keys_for(kind, phrase))
        return np.where(codes == NOWHERE, codes, codes + np.uint8(len(self._features)))

    @cached_property
    def _types_in_titles(self) -> dict[str, list[int]]:
        """Types that titles name: of items without a category, and those that are a kind of the item's own category.

        So an item of ``Shoes`` whose title says ``sneakers`` is found under both.
        """
        own: list[set[str]] = [set() for _ in range(len(self._catalogue))]
        for name, rows in self._features[CATEGORY].rows.items():
            for row in rows:
                own[row].add(name)
        found: dict[str, list[int]] = {}
        for row, title in enumerate(self._catalogue.frame["title"]):
            for phrase in self._types_of(title or ""):
                names = self._synonyms.covers(CATEGORY, phrase)
                if not own[row] or names & own[row]:
                    for name in names - own[row]:
                        held = found.setdefault(name, [])
                        if not held or held[-1] != row:
                            held.append(row)
        return found

    def _types_of(self, title: str) -> Iterator[Phrase]:
        """Before ``with`` or ``for``; one right before another only says what kind: a shirt dress is no shirt."""
        words = self._synonyms.tokens(title)
        beside = next((place for place, word in enumerate(words) if word in self._synonyms.beside), len(words))
        words = words[:beside]
        spans = [one for one in find_spans(words, self._vocabulary, self._synonyms) if one.kinds == (CATEGORY,)]
        starts = {span.start for span in spans}
        yield from (tuple(words[span.start : span.end]) for span in spans if span.end not in starts)
