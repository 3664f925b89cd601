"""Synonyms: spellings with the same meaning, types that count as others, and phrases with another meaning."""

import tomllib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from itertools import takewhile
from pathlib import Path
from typing import Any

from rankjury.errors import DataError, UnknownName, parse_toml
from rankjury.io.source import Source
from rankjury.labeling.normalize import BREAK, Phrase, phrase_key, singular, surfaces, tokens

CATEGORY, OTHER = "category", "other"
KINDS = (CATEGORY, "color", "material", "audience", "brand", OTHER)
_PARTS = ("same", "known", "counts_as", "whole")
_LISTS = ("ignored", "beside")


@dataclass(frozen=True, eq=False)
class Synonyms:
    """Phrases by kind. A kind outside of KINDS, such as a column called fit, uses the synonyms of ``other``."""

    groups: Mapping[str, Mapping[str, tuple[Phrase, ...]]] = field(default_factory=dict)
    """For each kind the synonyms of a key, including itself."""
    also: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    """For each kind the keys that a key counts as."""
    whole: frozenset[str] = frozenset()
    """Keys of pairs of words with another meaning than their words."""
    ignored: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()
    """Words before an accessory: a dress with a belt."""

    def known(self, kind: str) -> Collection[tuple[Phrase, ...]]:
        """Return the phrases of a kind, each with all its spellings."""
        return set(self._groups_of(kind).values())

    def _groups_of(self, kind: str) -> Mapping[str, tuple[Phrase, ...]]:
        return self.groups.get(_known_kind(kind), {})

    def same(self, kind: str, phrase: Phrase) -> tuple[Phrase, ...]:
        """Return all spellings of a phrase."""
        return self._groups_of(kind).get(phrase_key(phrase), (phrase,))

    def name(self, kind: str, phrase: Phrase) -> str:
        """Return one key for all spellings of a phrase."""
        return min(map(phrase_key, self.same(kind, phrase)))

    def tokens(self, text: str) -> list[str]:
        """Return the words of a text; the words of a ``whole`` pair are joined."""
        words = tokens(text)
        if self.whole.isdisjoint(map(str.__add__, words, words[1:])):
            return words
        return [phrase_key(words[start:end]) for start, end in self._spans(words)]

    def words(self, text: str) -> list[tuple[str, str]]:
        """Return the words like ``tokens``, each with its display text."""
        shown = surfaces(text)
        words = [singular(word) for word in shown]
        return [(phrase_key(words[start:end]), " ".join(shown[start:end])) for start, end in self._spans(words)]

    def _spans(self, words: list[str]) -> Iterator[tuple[int, int]]:
        start = 0
        while start < len(words):
            end = start + (2 if "".join(words[start : start + 2]) in self.whole else 1)
            yield start, min(end, len(words))
            start = end

    def main_words(self, words: list[str]) -> list[str]:
        """Return the words before the first word of ``beside``."""
        return list(takewhile(lambda word: word not in self.beside, words))

    @cached_property
    def covers(self) -> Callable[[str, Phrase], frozenset[str]]:
        """(kind, phrase) → the names of all kinds of such an item: ankle boots are boots.

        These are the names of all spellings, of their endings, and of what they count as.
        """

        @cache
        def covers(kind: str, phrase: Phrase) -> frozenset[str]:
            ends = {spelling[start:] for spelling in self.same(kind, phrase) for start in range(len(spelling))}
            names = {self.name(kind, end) for end in ends}
            also = self.also.get(_known_kind(kind), {})
            return frozenset(names.union(*(also.get(name, frozenset()) for name in names)))

        return covers

    def keys_for(self, kind: str, phrase: Phrase) -> set[str]:
        """Return the keys that match a phrase in a text: its spellings, and all phrases that are kinds of it."""
        covered = self._covered_by.get((_known_kind(kind), self.name(kind, phrase)), set())
        return covered.union(map(phrase_key, self.same(kind, phrase)))

    @cached_property
    def _covered_by(self) -> dict[tuple[str, str], set[str]]:
        covered: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for kind, groups in self.groups.items():
            for key, phrases in groups.items():
                for name in self.covers(kind, phrases[0]):
                    covered[kind, name].add(key)
        return covered


def _known_kind(kind: str) -> str:
    return kind if kind in KINDS else OTHER


def _shipped_table() -> dict[str, Any]:
    return tomllib.loads((files("rankjury.labeling.products") / "synonyms.toml").read_text(encoding="utf-8"))


@cache
def _shipped() -> Synonyms:
    return _make_synonyms([_shipped_table()])


def read_synonyms(given: str | Path | None = None) -> Synonyms:
    """Return rankjury's synonyms, extended by those of a file, or replaced by them if the file says so."""
    if given is None:
        return _shipped()
    source = Source.open(given)
    table = parse_toml(source.text(), source.name)
    _check(table, source.name)
    return _make_synonyms([table] if table.get("replace") else [_shipped_table(), table])


def _check(table: Mapping[str, Any], where: str) -> None:
    for name, value in table.items():
        if name in _LISTS:
            _check_phrases(value, f"{where}, {name}")
        elif name == "replace":
            if not isinstance(value, bool):
                raise DataError(f"replace is {value!r}", where=where, expected="true or false")
        elif name not in KINDS:
            raise UnknownName("kind of word", name, (*KINDS, *_LISTS, "replace"), where=where)
        elif not isinstance(value, Mapping):
            raise DataError(f"{name} is {value!r}", where=where, expected=f"a table [{name}]")
        else:
            for part, phrases in value.items():
                _check_part(part, phrases, f"{where}, [{name}]")


def _check_part(name: str, value: Any, where: str) -> None:
    if name not in _PARTS:
        raise UnknownName("key", name, _PARTS, where=where)
    if name == "counts_as" and not isinstance(value, Mapping):
        raise DataError(f"counts_as is {value!r}", where=where, expected="phrases, each with a list of phrases")
    if name == "same" and not isinstance(value, list):
        raise DataError(f"same is {value!r}", where=where, expected="a list of lists of phrases")
    for phrases in value.values() if name == "counts_as" else value if name == "same" else [value]:
        _check_phrases(phrases, f"{where}, {name}")
    for text in value if name == "whole" else ():
        if len(_phrase(text)) != 2:
            raise DataError(f"found {text!r}", where=f"{where}, whole", expected="phrases of two words")


def _check_phrases(value: Any, where: str) -> None:
    wrong = value
    if isinstance(value, list):
        wrong = next((text for text in value if not isinstance(text, str) or not _phrase(text)), None)
    if wrong is not None:
        raise DataError(f"found {wrong!r}", where=where, expected='phrases, such as ["sneakers", "running shoes"]')


def _make_synonyms(tables: list[dict[str, Any]]) -> Synonyms:
    whole = {_phrase(text) for table in tables for kind in KINDS for text in table.get(kind, {}).get("whole", [])}
    fusing = Synonyms(whole=frozenset(map(phrase_key, whole)))

    def phrase(text: str) -> Phrase:
        return tuple(word for word in fusing.tokens(text) if word != BREAK)

    groups, also = {}, {}
    for kind in KINDS:
        of_kind = [table.get(kind, {}) for table in tables]
        same = [texts for table in of_kind for texts in table.get("same", [])]
        same += [[text] for table in of_kind for text in table.get("known", [])]
        counts_as = [pair for table in of_kind for pair in table.get("counts_as", {}).items()]
        same += [[text] for name, others in counts_as for text in (name, *others)]
        groups[kind] = _join_groups([[phrase(text) for text in texts] for texts in same])
        spellings = Synonyms({kind: groups[kind]})
        also[kind] = dict[str, frozenset[str]]()
        for text, others in counts_as:
            name = spellings.name(kind, phrase(text))
            names = {spellings.name(kind, phrase(other)) for other in others}
            also[kind][name] = also[kind].get(name, frozenset()) | names
    words = {name: frozenset(phrase_key(_phrase(text)) for t in tables for text in t.get(name, [])) for name in _LISTS}
    return Synonyms(groups, also, fusing.whole, words["ignored"], words["beside"])


def _phrase(text: str) -> Phrase:
    return tuple(word for word in tokens(text) if word != BREAK)


def _join_groups(lists: list[list[Phrase]]) -> dict[str, tuple[Phrase, ...]]:
    """Join groups that share a phrase."""
    groups: dict[str, tuple[Phrase, ...]] = {}
    for phrases in lists:
        spellings = (spelling for phrase in phrases for spelling in (*groups.get(phrase_key(phrase), ()), phrase))
        group = tuple(dict.fromkeys(spellings))
        groups |= dict.fromkeys(map(phrase_key, group), group)
    return groups
