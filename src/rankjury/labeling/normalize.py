"""Word normalization: ignores case, accents, apostrophes, hyphens and plurals.

``women's`` becomes ``women``, ``Rosé`` ``rose``, ``slim-fit`` ``slim fit``, ``t-shirt`` ``tshirt``, ``dresses``
``dress``. Phrases are compared with their words joined, so that ``slimfit`` equals ``slim fit`` as well.
"""

import re
import unicodedata
from functools import lru_cache

Phrase = tuple[str, ...]

BREAK = "."
"""Token that ends a phrase: for a comma, a slash, the end of a sentence."""

_SAME_CHARACTER = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'", "´": "'", "‐": "-", "‑": "-", "\u00ad": ""})
_POSSESSIVE = re.compile(r"'s\b|'")
_AMPERSAND = re.compile(r"\s+&\s+")
# A letter that belongs to the next word: t-shirt, v-neck, a-line; with a blank only in unambiguous cases.
_LETTER = re.compile(r"\b(t (?=shirt)|[uv] (?=neck))")
_BREAKS = re.compile(r"[.,;:!?()\[\]{}/|+<>•·–—\n\r]+|\s-+\s")
_TOKEN = re.compile(r"(?<![^\W_])[a-z]-[a-z]{2,}|[^\W_]+|\.")

_IRREGULAR = {
    "woman": "women",
    "man": "men",
    "children": "child",
    "scarves": "scarf",
    "feet": "foot",
    "knives": "knife",
    "leaves": "leaf",
}
# Without s these are other words that are common in catalogues: short sleeves, a tight fit, a block heel.
_PLURAL_ONLY = frozenset(("shorts", "jeans", "tights", "briefs", "overalls", "flats", "heels", "pumps", "slides"))
_PLURAL_ENDINGS = ("shorts", "jeans", "tights", "overalls")
_SHORTEST_PLURAL = 4


def tokens(text: str) -> list[str]:
    """Return the normalized words of a text, with a BREAK at the end of a phrase."""
    return [singular(word) for word in surfaces(text)]


def surfaces(text: str) -> list[str]:
    """Return the same words for display: ``t-shirts``."""
    return _TOKEN.findall(_BREAKS.sub(" . ", _folded(text)))


def phrase_key(phrase: Phrase | list[str]) -> str:
    """Return the key of a phrase for lookup: its words joined."""
    return "".join(phrase)


def _folded(text: str) -> str:
    text = text.translate(_SAME_CHARACTER)
    if not text.isascii():
        text = "".join(sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))
    text = _POSSESSIVE.sub("", text.casefold())
    if "&" in text:
        text = _AMPERSAND.sub(" and ", text).replace("&", "")
    return _LETTER.sub(lambda found: f"{found.group(0)[0]}-", text)


@lru_cache(maxsize=1 << 16)
def singular(word: str) -> str:
    """Return the same word for singular and plural, by simple rules: ``hoody`` for ``hoodie`` and ``hoodies``."""
    word = word.replace("-", "")
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word in _PLURAL_ONLY or word.endswith(_PLURAL_ENDINGS):
        return word
    if len(word) >= _SHORTEST_PLURAL and word.endswith("s") and not word.endswith("ss"):
        word = word[:-2] if word.endswith(("sses", "shes", "ches", "xes")) else word[:-1]
    return f"{word[:-2]}y" if len(word) > _SHORTEST_PLURAL and word.endswith("ie") else word
