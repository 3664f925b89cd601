"""Features of products: the values of their fields by kind, and an index of phrases in their texts."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import chain, groupby, takewhile

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.types import Bools, Ints
from rankjury.labeling.normalize import BREAK, Phrase
from rankjury.labeling.products.catalog import TEXTS, ProductCatalogue
from rankjury.labeling.products.synonyms import CATEGORY, Synonyms

AUDIENCE, BRAND = "audience", "brand"
FIELDS = ("color", "material", AUDIENCE, BRAND)
LONGEST = 4
"""Length in words of the longest phrases that are indexed and searched."""
_STEP = " > "
_JOINTS = frozenset(("and", "or", "with", "by"))
_SHARED_BY, _FEWEST_TO_SHARE = 0.9, 10
_FEW_VALUES, _WORDS_OF_A_VALUE = 20, 4


@dataclass(frozen=True, eq=False)
class Features:
    """Features of one kind."""

    phrases: frozenset[Phrase]
    """Phrases in the fields, and their endings: possible phrases of queries."""
    rows: dict[str, Ints]
    """Rows of the items that have the phrase."""
    lacking: Bools
    """Items without this field."""


def extract_features(catalogue: ProductCatalogue, synonyms: Synonyms) -> dict[str, Features]:
    """Return features by kind: category, color, material, audience, brand, and the columns of other attributes."""
    frame = catalogue.frame
    audiences = {phrase[0] for phrase in chain(*synonyms.known(AUDIENCE)) if len(phrase) == 1}
    paths = [_types_of(steps or [], synonyms, audiences) for steps in frame["categories"].to_list()]
    types = _without_departments([own for own, _ in paths], synonyms)
    features = {CATEGORY: _features(CATEGORY, types, synonyms, ends_only=True)}
    read = cache(lambda text: parse_phrases(text, synonyms))
    for kind in FIELDS:
        values = [read(cell or "") for cell in frame[kind]]
        if kind == BRAND:  # one name, whatever its words: Dolce & Gabbana, 7 For All Mankind
            names = (tuple(word for word in synonyms.tokens(cell or "") if word != BREAK) for cell in frame[kind])
            values = [[name] if name else [] for name in names]
        if kind == AUDIENCE:
            values = [own or of_path for own, (_, of_path) in zip(values, paths, strict=True)]
        features[kind] = _features(kind, values, synonyms)
    for name in _attribute_columns(catalogue):
        cells = ([cell] if isinstance(cell, str) else cell or [] for cell in frame[name].to_list())
        values = [[phrase for text in texts for phrase in parse_phrases(text, synonyms)] for texts in cells]
        features[name] = _features(name, values, synonyms)
    return features


def parse_phrases(text: str, synonyms: Synonyms) -> list[Phrase]:
    """Return the values in a field: ``Black/White`` are two, as are ``95% cotton, 5% elastane``."""
    words = synonyms.tokens(text)
    groups = groupby(words, lambda word: word == BREAK or word in _JOINTS or word.isdigit())
    return [tuple(phrase) for is_break, phrase in groups if not is_break]


def expand_spellings(kind: str, phrases: frozenset[Phrase], synonyms: Synonyms) -> set[Phrase]:
    """Return the phrases and all their synonyms."""
    return {same for phrase in phrases for same in synonyms.same(kind, phrase)}


def _types_of(paths: list[str], synonyms: Synonyms, audiences: set[str]) -> tuple[list[Phrase], list[Phrase]]:
    """Return the types in category paths, and the audiences: Women > Shoes > Ankle Boots.

    The first of three or more steps is a department, not a type; so is the first of two steps if it names several, such
    as Clothing, Shoes & Jewelry > Women.
    """
    types: list[Phrase] = []
    named_audiences: list[Phrase] = []
    for path in paths:
        steps = [parse_phrases(step, synonyms) for step in path.split(_STEP)]
        department = len(steps) >= 3 or (len(steps) > 1 and len(steps[0]) > 1)
        for number, phrases in enumerate(steps):
            for phrase in phrases:
                start = len(list(takewhile(audiences.__contains__, phrase)))
                named_audiences += [(word,) for word in phrase[:start]]
                if phrase[start:] and not (department and number == 0):
                    types.append(phrase[start:])
    return types, named_audiences


def _without_departments(types: list[list[Phrase]], synonyms: Synonyms) -> list[list[Phrase]]:
    """Drop types that nearly all items share, as they do not distinguish items, unless they are known types."""
    if len(types) < _FEWEST_TO_SHARE:
        return types
    counts = Counter(phrase for phrases in types for phrase in set(phrases))
    known = set(chain(*synonyms.known(CATEGORY)))
    shared = {phrase for phrase, n in counts.items() if n > _SHARED_BY * len(types) and phrase not in known}
    return [[phrase for phrase in phrases if phrase not in shared] for phrases in types]


def _features(kind: str, values: list[list[Phrase]], synonyms: Synonyms, *, ends_only: bool = False) -> Features:
    """Index the values of all items; ``ends_only``: an ankle boot is a boot, but not an ankle."""
    phrases: set[Phrase] = set()
    rows: defaultdict[str, list[int]] = defaultdict(list)
    for row, of_item in enumerate(values):
        names: set[str] = set()
        for phrase in of_item:
            starts = [0] if kind == BRAND else range(max(0, len(phrase) - LONGEST), len(phrase))
            phrases.update(phrase[start:] for start in starts)
            for end in (len(phrase),) if ends_only else range(1, len(phrase) + 1):
                names |= synonyms.covers(kind, phrase[max(0, end - LONGEST) : end])
        for name in names:
            rows[name].append(row)
    lacking = np.array([not of_item for of_item in values], dtype=bool)
    return Features(frozenset(phrases), {name: np.array(places) for name, places in rows.items()}, lacking)


def _attribute_columns(catalogue: ProductCatalogue) -> list[str]:
    """Return the columns of short texts that repeat: fit, pattern, season."""
    columns = []
    for name in catalogue.extras:
        cells = catalogue.frame[name]
        values = (cells.explode() if isinstance(cells.dtype, pl.List) else cells).drop_nulls()
        if values.dtype == pl.String and len(values):
            few = values.n_unique() <= max(_FEW_VALUES, len(values) // 2)
            if few and float(values.str.count_matches(r"\s+").mean() or 0) < _WORDS_OF_A_VALUE:  # type: ignore[arg-type]
                columns.append(name)
    return columns[:200]


Codes = NDArray[np.uint8]
NOWHERE = 255


@dataclass(frozen=True, eq=False)
class TextIndex:
    """Index of phrases in texts."""

    rows: dict[str, tuple[list[int], ...]]
    """By key, the items that contain it, for each of TEXTS."""
    items: int

    def codes(self, keys: Iterable[str]) -> Codes:
        """Return for every item the index of the first of TEXTS with one of these keys, or NOWHERE."""
        known = [self.rows[key] for key in keys if key in self.rows]
        codes = np.full(self.items, NOWHERE, dtype=np.uint8)
        for code in reversed(range(len(TEXTS))):
            for rows in known:
                codes[rows[code]] = code
        return codes


def index_texts(catalogue: ProductCatalogue, synonyms: Synonyms, wanted: set[str]) -> TextIndex:
    """Search all texts for the wanted phrases."""
    rows_by_key: dict[str, tuple[list[int], ...]] = {}
    for code, name in enumerate(TEXTS):
        cells = catalogue.frame[name]
        texts = cells.list.join(f" {BREAK} ") if isinstance(cells.dtype, pl.List) else cells
        for row, text in enumerate(texts):
            if text:
                for key in phrase_keys(synonyms.tokens(text)) & wanted:
                    rows_by_key.setdefault(key, tuple([] for _ in TEXTS))[code].append(row)
    return TextIndex(rows_by_key, len(catalogue))


def phrase_keys(words: list[str]) -> set[str]:
    """Return the key of every phrase in a text."""
    keys = set(words)
    phrases = words
    for length in range(1, LONGEST):
        phrases = list(map(str.__add__, phrases, words[length:]))
        keys.update(phrases)
    return keys
