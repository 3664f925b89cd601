"""Spellings of keywords: names and synonyms, split into words, and their occurrences in a text.

A synonym file may begin with ``ignored = ["video", "show me"]``; then ``[synonyms]`` has keywords with or without
their group: ``bicyclist = ["cyclist", "someone on a bike"]``, ``"ego_behavior=turning left" = ["left turn"]``.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

from rankjury.errors import DataError, UnknownName, parse_toml
from rankjury.io.source import Source
from rankjury.labeling.keywords.annotations import Vocabulary
from rankjury.labeling.keywords.mapping import Candidate, MappingSettings
from rankjury.labeling.normalize import BREAK, Phrase, phrase_key, singular, surfaces

_FILLERS = "a an the this that these those there is are was were am be been being some any"
_STOP_WORDS = (
    "about after and as at before but by for from he her him his i in into it its me my of off on onto or our out over "
    "she so than their them then they to toward towards under up us we what when where which while who whose with you "
    "your"
)
FILLERS = frozenset(_FILLERS.split())
"""Removed from texts and spellings, so that *entering the ego lane* equals *entering ego lane*."""
STOP_WORDS = FILLERS | frozenset(_STOP_WORDS.split())
"""Words without meaning except in phrases: *cutting in*, *on left*."""


@dataclass(frozen=True)
class Words:
    """The words of a text without fillers; a BREAK marks the end of a phrase."""

    shown: tuple[str, ...]
    compared: tuple[str, ...]

    def phrase(self, start: int, end: int) -> str:
        return " ".join(self.shown[start:end])

    def spans(self, low: int, high: int, closed: Collection[int] = ()) -> Iterator[tuple[int, int]]:
        """Yield runs of ``low`` to ``high`` words without a break or a ``closed`` position."""
        size = len(self.compared)
        for start in range(size):
            for end in range(start + 1, min(start + high, size) + 1):
                if self.compared[end - 1] == BREAK or end - 1 in closed:
                    break
                if end - start >= low:
                    yield start, end

    def says_something(self, start: int, end: int) -> bool:
        return any(word not in STOP_WORDS for word in self.shown[start:end])


def split_words(text: str, fillers: Collection[str] = FILLERS) -> Words:
    """Split a text or a keyword into words; an underscore is a blank."""
    shown = tuple(word for word in surfaces(text) if word not in fillers)
    return Words(shown, tuple(map(singular, shown)))


def parse_phrase(text: str, fillers: Collection[str] = FILLERS) -> tuple[str, Phrase]:
    """Return display text and compared words of a spelling: without breaks and, if other words remain, fillers."""
    words = split_words(text, fillers)
    if all(word == BREAK for word in words.compared):
        words = split_words(text, ())
    kept = [place for place, word in enumerate(words.compared) if word != BREAK]
    return " ".join(words.shown[place] for place in kept), tuple(words.compared[place] for place in kept)


_TABLE, _IGNORED = "synonyms", "ignored"


@dataclass(frozen=True)
class KeywordSynonyms:
    """Synonyms by the number of their keyword."""

    phrases: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Keywords of the file that are not in the vocabulary."""


def read_keyword_synonyms(given: str | Path | None, vocabulary: Vocabulary) -> KeywordSynonyms:
    """Read a synonym file. Keywords outside of the vocabulary give a note, as the file may be for other data."""
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
    known = {spelling for keyword in vocabulary.keywords for spelling in (keyword.name, str(keyword))}
    phrases: dict[int, tuple[str, ...]] = {}
    lacking = []
    for name, value in listed.items():
        read = _phrases(value, f"{source.name}, {name}")
        if name in known:
            number = vocabulary.find(name, where=source.name)
            phrases[number] = (*phrases.get(number, ()), *read)
        elif name == _IGNORED:  # written below the table header, so part of that table
            ignored += read
        else:
            near = get_close_matches(name, sorted(known), n=1, cutoff=0.7)
            lacking.append(f"{name!r} ({near[0]}?)" if near else repr(name))
    notes = (f"{source.name}: the vocabulary has no {', '.join(lacking)}",) if lacking else ()
    return KeywordSynonyms(phrases, ignored, notes)


def _phrases(value: Any, where: str) -> tuple[str, ...]:
    for phrase in value if isinstance(value, list) else [value]:
        if not isinstance(value, list) or not isinstance(phrase, str) or not parse_phrase(phrase)[1]:
            raise DataError(f"found {phrase!r}", where=where, expected='phrases, such as ["cyclist", "bike rider"]')
    return tuple(value)


@dataclass(frozen=True)
class Spelling:
    """A spelling of a keyword."""

    number: int
    shown: str
    phrase: Phrase


@dataclass(frozen=True, eq=False)
class Spellings:
    """Spellings of all keywords: names in the order of the vocabulary, then synonyms, so that names win ties."""

    listed: tuple[Spelling, ...]
    ignored: frozenset[Phrase] = frozenset()
    fillers: frozenset[str] = FILLERS
    notes: tuple[str, ...] = ()

    def read(self, text: str) -> Words:
        return split_words(text, self.fillers)

    @cached_property
    def by_key(self) -> dict[str, list[Spelling]]:
        """Spellings by phrase key, each keyword once."""
        by_key: dict[str, dict[int, Spelling]] = {}
        for spelling in self.listed:
            by_key.setdefault(phrase_key(spelling.phrase), {}).setdefault(spelling.number, spelling)
        return {key: list(spellings.values()) for key, spellings in by_key.items()}

    @cached_property
    def longest(self) -> int:
        """Maximum number of words to join: one more than in any spelling, as *cross walk* equals *crosswalk*."""
        return max(len(spelling.phrase) for spelling in self.listed) + 1

    def literal(self, words: Words) -> Iterator[Candidate]:
        """Yield the spellings that occur in a text."""
        for start, end in words.spans(1, self.longest):
            own = words.compared[start:end]
            if same := self.by_key.get(phrase_key(own)):
                first, *others = (
                    Candidate(start, end, spelling.number, 1.0, words.phrase(start, end), spelling.shown, literal=True)
                    for spelling in sorted(same, key=lambda spelling: spelling.phrase != own)
                )
                yield replace(first, beaten=tuple(others))

    @cached_property
    def _owners(self) -> dict[Phrase, dict[int, None]]:
        """Keywords by proper part of a spelling, without stop words."""
        found: dict[Phrase, dict[int, None]] = {}
        for spelling in self.listed:
            own = _telling(spelling.phrase)
            for start in range(len(own)):
                for end in range(start + 1, len(own) + (start > 0)):
                    found.setdefault(own[start:end], {})[spelling.number] = None
        return found

    def sharing(self, words: Words, start: int, end: int) -> tuple[int, ...]:
        """Return the keywords that share these words, so that these identify none of them: *lane* of *lane change*."""
        owners = self._owners.get(_telling(words.compared[start:end]), ())
        return tuple(owners) if len(owners) > 1 else ()

    def closed(self, words: Words) -> frozenset[int]:
        """Return the positions of ignored words."""
        most = max(map(len, self.ignored), default=0)
        spans = (span for span in words.spans(1, most) if words.compared[slice(*span)] in self.ignored)
        return frozenset(place for start, end in spans for place in range(start, end))


def _telling(phrase: Phrase) -> Phrase:
    return tuple(word for word in phrase if word not in STOP_WORDS)


def load_spellings(vocabulary: Vocabulary, settings: MappingSettings) -> Spellings:
    """Return names and synonyms as spellings; keywords without any word are noted."""
    synonyms = read_keyword_synonyms(settings.synonyms, vocabulary)
    texts = [(number, keyword.name) for number, keyword in enumerate(vocabulary.keywords)]
    texts += [(number, phrase) for number, phrases in sorted(synonyms.phrases.items()) for phrase in phrases]
    # for spellings of fillers only, fillers count in texts as well
    spelled = (split_words(text, ()).shown for _, text in texts)
    fillers = FILLERS.difference(*(words for words in spelled if FILLERS.issuperset(words)))
    listed = tuple(Spelling(number, *parse_phrase(text, fillers)) for number, text in texts)
    written = tuple(spelling for spelling in listed if spelling.phrase)
    if not written:
        raise DataError("no keyword has a word", where=vocabulary.source, expected="letters or digits")
    wordless = [repr(str(vocabulary.keywords[spelling.number])) for spelling in listed if not spelling.phrase]
    notes = [f"{', '.join(wordless)} cannot be found in texts: no word in it"] if wordless else []
    notes += _alike(written, vocabulary)
    ignored = frozenset(parse_phrase(text, fillers)[1] for text in synonyms.ignored)
    return Spellings(written, ignored, fillers, (*synonyms.notes, *notes))


def _alike(written: tuple[Spelling, ...], vocabulary: Vocabulary) -> Iterator[str]:
    """Yield notes on keywords of one group with the same words, such as C# and C++: texts are mapped to the first."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for spelling in written[: len(vocabulary)]:
        keyword = vocabulary.keywords[spelling.number]
        if spelling.shown and parse_phrase(keyword.name)[1] == spelling.phrase:
            found.setdefault((keyword.group, phrase_key(spelling.phrase)), {})[keyword.name] = None
    for (_, key), names in found.items():
        if len(names) > 1:
            yield f"{', '.join(names)} have the same words ({key}): texts are mapped to {next(iter(names))}"
