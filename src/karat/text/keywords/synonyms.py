"""Synonyms of keywords: a TOML file of phrases that mean them, and of words that say nothing.

At its top may stand ``ignored = ["video", "show me"]``; then a table ``[synonyms]`` of keywords, with their group or
without it: ``bicyclist = ["cyclist", "someone on a bike"]``, ``"ego_behavior=turning left" = ["left turn"]``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from karat.errors import DataError, UnknownName
from karat.formats.source import Source
from karat.guard import parse_toml
from karat.text.keywords.ngrams import phrase_of
from karat.vocabulary import Vocabulary

__all__ = ["KeywordSynonyms", "read_keyword_synonyms"]

_TABLE, _IGNORED = "synonyms", "ignored"
_EXPECTED = 'phrases, such as ["cyclist", "bike rider"]'


@dataclass(frozen=True)
class KeywordSynonyms:
    """Phrases by the number of their keyword."""

    phrases: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Keywords of the file that the vocabulary does not have."""


def read_keyword_synonyms(given: str | Path | None, vocabulary: Vocabulary) -> KeywordSynonyms:
    """Those of a file; none without one. Keywords that the vocabulary lacks are noted: it may be of other data."""
    if given is None:
        return KeywordSynonyms()
    source = Source.open(given)
    table = parse_toml(source.text(), source.name)
    for name in table:
        if name not in (_TABLE, _IGNORED):
            raise UnknownName("key", name, (_TABLE, _IGNORED), where=source.name)
    listed = table.get(_TABLE, {})
    if not isinstance(listed, dict):
        raise DataError(f"{_TABLE} is {listed!r}", where=source.name, expected=f"a table [{_TABLE}]")
    ignored = _phrases(table.get(_IGNORED, []), f"{source.name}, {_IGNORED}")
    return _by_number(listed, ignored, vocabulary, source.name)


def _by_number(
    listed: Mapping[str, Any], ignored: tuple[str, ...], vocabulary: Vocabulary, where: str
) -> KeywordSynonyms:
    known = {spelling for one in vocabulary.keywords for spelling in (one.name, str(one))}
    phrases: dict[int, tuple[str, ...]] = {}
    lacking = []
    for name, value in listed.items():
        read = _phrases(value, f"{where}, {name}")
        if name in known:
            number = vocabulary.find(name, where=where)
            phrases[number] = (*phrases.get(number, ()), *read)
        elif name == _IGNORED:  # written below the table's head, to which it then belongs
            ignored += read
        else:
            lacking.append(_lacking(name, known))
    notes = (f"{where}: the vocabulary has no {', '.join(lacking)}",) if lacking else ()
    return KeywordSynonyms(phrases, ignored, notes)


def _lacking(name: str, known: set[str]) -> str:
    near = get_close_matches(name, sorted(known), n=1, cutoff=0.7)
    return f"{name!r} ({near[0]}?)" if near else repr(name)


def _phrases(value: Any, where: str) -> tuple[str, ...]:
    wrong = value if not isinstance(value, list) else next((one for one in value if not _is_phrase(one)), None)
    if wrong is not None:
        raise DataError(f"found {wrong!r}", where=where, expected=_EXPECTED)
    return tuple(value)


def _is_phrase(value: Any) -> bool:
    return isinstance(value, str) and bool(phrase_of(value)[1])
