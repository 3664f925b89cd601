"""Features of products: the values of their fields by kind, and an index of phrases in their texts."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

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
"""Of the phrases that are learned and looked for, in words."""
_STEP = " > "
_JOINTS = frozenset(("and", "or", "with", "by"))
_DEPARTMENT_STEPS = 3
_SHARED_BY, _FEWEST_TO_SHARE = 0.9, 10
_FEW_VALUES, _WORDS_OF_A_VALUE, _MOST_COLUMNS = 20, 4, 200


@dataclass(frozen=True, eq=False)
class Features:
    """Of one kind."""

    kind: str
    phrases: frozenset[Phrase]
    """Those that the fields hold, with the phrases that they end in: what queries may say."""
    rows: dict[str, Ints]
    """Which items have a name."""
    lacking: Bools
    """Items without such a field."""


def extract_features(catalogue: ProductCatalogue, synonyms: Synonyms) -> dict[str, Features]:
    """By kind: category, color, material, audience, brand, and the columns that hold attributes of their own."""
    frame = catalogue.frame
    audiences = {phrase[0] for phrases in synonyms.known(AUDIENCE) for phrase in phrases if len(phrase) == 1}
    paths = [_types_of(steps or [], synonyms, audiences) for steps in frame["categories"].to_list()]
    types = _without_departments([of_types for of_types, _ in paths], synonyms)
    found = {CATEGORY: _features(CATEGORY, types, synonyms, ends_only=True)}
    read = cache(lambda text: parse_phrases(text, synonyms))
    for kind in FIELDS:
        values = [read(cell or "") for cell in frame[kind]]
        if kind == BRAND:
            values = [_brand(cell, synonyms) for cell in frame[kind]]
        if kind == AUDIENCE:
            values = [own or told for own, (_, told) in zip(values, paths, strict=True)]
        found[kind] = _features(kind, values, synonyms)
    for name in _attribute_columns(catalogue):
        cells = ([cell] if isinstance(cell, str) else cell or [] for cell in frame[name].to_list())
        values = [[phrase for text in texts for phrase in parse_phrases(text, synonyms)] for texts in cells]
        found[name] = _features(name, values, synonyms)
    return found


def split_at_breaks(words: list[str]) -> Iterator[Phrase]:
    """The stretches between breaks."""
    held: list[str] = []
    for word in (*words, BREAK):
        if word != BREAK:
            held.append(word)
        elif held:
            yield tuple(held)
            held = []


def parse_phrases(text: str, synonyms: Synonyms) -> list[Phrase]:
    """The values that a field names: ``Black/White`` are two, as are ``95% cotton, 5% elastane``."""
    words = (BREAK if word in _JOINTS or word.isdigit() else word for word in synonyms.tokens(text))
    return list(split_at_breaks(list(words)))


def _brand(text: str | None, synonyms: Synonyms) -> list[Phrase]:
    """One name, whatever stands in it: Dolce & Gabbana, 7 For All Mankind."""
    name = tuple(word for word in synonyms.tokens(text or "") if word != BREAK)
    return [name] if name else []


def expand_spellings(kind: str, phrases: frozenset[Phrase], synonyms: Synonyms) -> set[Phrase]:
    """Phrases and all that mean the same."""
    return {same for phrase in phrases for same in synonyms.same(kind, phrase)}


def _types_of(paths: list[str], synonyms: Synonyms, audiences: set[str]) -> tuple[list[Phrase], list[Phrase]]:
    """The types that the ways to a category name, and the audiences: Women > Shoes > Ankle Boots.

    Of a way of three steps or more the first is a department, and names no type; so is one of two steps that names
    several, such as Clothing, Shoes & Jewelry > Women.
    """
    types, told = [], []
    for path in paths:
        steps = [parse_phrases(step, synonyms) for step in path.split(_STEP)]
        department = len(steps) >= _DEPARTMENT_STEPS or (len(steps) > 1 and len(steps[0]) > 1)
        for number, phrases in enumerate(steps):
            for phrase in phrases:
                start = 0
                while start < len(phrase) and phrase[start] in audiences:
                    told.append(phrase[start : start + 1])
                    start += 1
                if phrase[start:] and not (department and number == 0):
                    types.append(phrase[start:])
    return types, told


def _without_departments(types: list[list[Phrase]], synonyms: Synonyms) -> list[list[Phrase]]:
    """A type that nearly all items share tells none from another, unless it is known as one."""
    if len(types) < _FEWEST_TO_SHARE:
        return types
    counts = Counter(phrase for phrases in types for phrase in set(phrases))
    known = {phrase for phrases in synonyms.known(CATEGORY) for phrase in phrases}
    shared = {phrase for phrase, n in counts.items() if n > _SHARED_BY * len(types) and phrase not in known}
    return [[phrase for phrase in phrases if phrase not in shared] for phrases in types]


def _features(kind: str, values: list[list[Phrase]], synonyms: Synonyms, *, ends_only: bool = False) -> Features:
    """``ends_only``: of a phrase only what it ends in counts by itself; an ankle boot is a boot, and no ankle."""
    phrases: set[Phrase] = set()
    rows: dict[str, list[int]] = {}
    for row, of_item in enumerate(values):
        names: set[str] = set()
        for phrase in of_item:
            starts = [0] if kind == BRAND else range(max(0, len(phrase) - LONGEST), len(phrase))
            phrases.update(phrase[start:] for start in starts)
            for end in (len(phrase),) if ends_only else range(1, len(phrase) + 1):
                names |= synonyms.covers(kind, phrase[max(0, end - LONGEST) : end])
        for name in names:
            rows.setdefault(name, []).append(row)
    lacking = np.array([not of_item for of_item in values], dtype=bool)
    return Features(kind, frozenset(phrases), {name: np.array(held) for name, held in rows.items()}, lacking)


def _attribute_columns(catalogue: ProductCatalogue) -> list[str]:
    """Columns of short texts that come again: fit, pattern, season."""
    found = []
    for name in catalogue.extras:
        cells = catalogue.frame[name]
        if isinstance(cells.dtype, pl.List):
            cells = cells.explode()
        if cells.dtype != pl.String:
            continue
        values = cells.drop_nulls()
        few = values.n_unique() <= max(_FEW_VALUES, len(values) // 2)
        if len(values) and few and float(values.str.count_matches(r"\s+").mean() or 0) < _WORDS_OF_A_VALUE:  # type: ignore[arg-type]
            found.append(name)
    return found[:_MOST_COLUMNS]


Codes = NDArray[np.uint8]
NOWHERE = 255


class TextIndex:
    """Where each phrase stands."""

    def __init__(self, found: dict[str, tuple[list[int], ...]], items: int) -> None:
        self._found = found
        self._items = items

    def codes(self, keys: Iterable[str]) -> Codes:
        """For every item the place among TEXTS of the first that has one of these spellings, or NOWHERE."""
        held = [self._found[key] for key in keys if key in self._found]
        codes = np.full(self._items, NOWHERE, dtype=np.uint8)
        for code in reversed(range(len(TEXTS))):
            for rows in held:
                codes[rows[code]] = code
        return codes

    def items_with(self, keys: Iterable[str]) -> int:
        """In how many items one of these spellings stands."""
        return int(np.count_nonzero(self.codes(keys) != NOWHERE))


def index_texts(catalogue: ProductCatalogue, synonyms: Synonyms, wanted: set[str]) -> TextIndex:
    """Look for phrases, all at once."""
    found: dict[str, tuple[list[int], ...]] = {}
    for code, name in enumerate(TEXTS):
        cells = catalogue.frame[name]
        texts = cells.list.join(f" {BREAK} ") if isinstance(cells.dtype, pl.List) else cells
        for row, text in enumerate(texts):
            if text:
                for key in phrase_keys(synonyms.tokens(text)) & wanted:
                    found.setdefault(key, tuple([] for _ in TEXTS))[code].append(row)
    return TextIndex(found, len(catalogue))


def phrase_keys(words: list[str]) -> set[str]:
    """Of every phrase in a text."""
    found = set(words)
    phrases = words
    for length in range(1, LONGEST):
        phrases = list(map(str.__add__, phrases, words[length:]))
        found.update(phrases)
    return found
