"""Where in the texts of a catalogue phrases stand: in the title, in the bullets, or in the description."""

from collections.abc import Iterable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.labeling.normalize import BREAK
from rankjury.labeling.products.catalog import TEXTS, Catalogue
from rankjury.labeling.products.features import LONGEST
from rankjury.labeling.products.synonyms import Synonyms

Codes = NDArray[np.uint8]
NOWHERE = 255


class Scanned:
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


def scan(catalogue: Catalogue, synonyms: Synonyms, wanted: set[str]) -> Scanned:
    """Look for phrases, all at once."""
    found: dict[str, tuple[list[int], ...]] = {}
    for code, name in enumerate(TEXTS):
        cells = catalogue.frame[name]
        texts = cells.list.join(f" {BREAK} ") if isinstance(cells.dtype, pl.List) else cells
        for row, text in enumerate(texts):
            if text:
                for key in keys_in(synonyms.tokens(text)) & wanted:
                    found.setdefault(key, tuple([] for _ in TEXTS))[code].append(row)
    return Scanned(found, len(catalogue))


def keys_in(words: list[str]) -> set[str]:
    """Of every phrase in a text."""
    found = set(words)
    phrases = words
    for length in range(1, LONGEST):
        phrases = list(map(str.__add__, phrases, words[length:]))
        found.update(phrases)
    return found
