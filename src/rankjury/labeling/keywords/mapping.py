"""From texts to keywords: the n-grams of a text, each mapped onto a fixed vocabulary by one of several methods.

A method (``Mapper``) says which n-grams come near which keyword, and how near; overlaps and doubles among them are
settled in one place for all methods (``settling``). What is kept says by which n-gram, with what score and by which
method it was found, and what is dropped says why.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.registry import Registry
from rankjury.core.validation import Record, check_arguments
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.labeling.keywords.annotations import Keyword, Vocabulary

_MOST_WORDS = 10
_NEAREST_SHOWN = 3


@dataclass(frozen=True)
class MappedKeyword(Record):
    """A keyword, and why it was found."""

    keyword: Keyword
    ngram: str
    """The words of the text, as they were compared."""
    score: float
    method: str
    spelling: str = ""
    """What the n-gram was compared with: the keyword's name, or a phrase that means it."""

    def to_json(self) -> dict[str, Any]:
        return {
            "keyword": self.keyword.name,
            "group": self.keyword.group,
            "ngram": self.ngram,
            "score": self.score,
            "method": self.method,
            "spelling": self.spelling,
        }


@dataclass(frozen=True)
class DroppedKeyword(Record):
    """What came near enough, but lost; the reason in plain words."""

    mapped: MappedKeyword
    reason: str

    def to_json(self) -> dict[str, Any]:
        return {**self.mapped.to_json(), "reason": self.reason}


@dataclass(frozen=True)
class Extraction(Record):
    """The keywords of a text in the order of its words."""

    text: str
    mapped: tuple[MappedKeyword, ...]
    dropped: tuple[DroppedKeyword, ...] = ()
    nearest: tuple[MappedKeyword, ...] = ()
    """Of a text without keywords: what came nearest, though not near enough (``add_nearest``)."""

    @property
    def keywords(self) -> tuple[Keyword, ...]:
        return tuple(one.keyword for one in self.mapped)

    def numbers(self, vocabulary: Vocabulary) -> tuple[int, ...]:
        """The keywords by their numbers in a vocabulary, in its order."""
        return tuple(sorted(vocabulary.number_of[one] for one in self.keywords))


@dataclass(frozen=True)
class MappingSettings:
    """How texts are mapped."""

    method: str = "exact"
    model: str = "wordllama"
    threshold: float | None = None
    """The score that an n-gram must exceed; None is the method's default. Literal matches always count."""
    synonyms: str | Path | None = None
    ngrams: tuple[int, int] = (1, 3)
    diversity: float | None = None
    """Let KeyBERT's MMR choose keywords for each text first, from 0 (by similarity alone) to 1 (by difference alone).

    None is Algorithm 1 of the driving protocol: each n-gram is compared with the whole vocabulary.
    """
    chosen: int = 12
    """The number of spellings that MMR chooses for a text, where there is a diversity."""

    def __post_init__(self) -> None:
        low, high = self.ngrams
        if not 1 <= low <= high <= _MOST_WORDS:
            found = f"n-grams of {low} to {high} words"
            raise UsageError(found, where="keywords", expected=f"something like 1 to 3, at most {_MOST_WORDS}")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise UsageError(f"a threshold of {self.threshold:g}", where="keywords", expected="0 to 1")
        if self.diversity is not None and self.method != "keybert":
            found = f"a diversity for the method {self.method}"
            raise UsageError(found, where="keywords", expected="the method keybert, whose MMR it is for")
        if self.diversity is not None and not 0 <= self.diversity <= 1:
            raise UsageError(f"a diversity of {self.diversity:g}", where="keywords", expected="0 to 1")
        if self.chosen < 1:
            raise UsageError(f"{self.chosen} keywords to choose", where="keywords", expected="1 or more")


@dataclass(frozen=True)
class Candidate:
    """Words ``start`` to ``end`` of a text came near enough to a keyword."""

    start: int
    end: int
    number: int
    """Of the keyword, in the vocabulary."""
    score: float
    ngram: str
    spelling: str
    beaten: "tuple[Candidate, ...]" = field(default=(), compare=False)
    """Other keywords that the same words came near to, though less."""
    sharing: tuple[int, ...] = ()
    """Keywords that have these words in common, so that they mean none of them."""
    literal: bool = False
    """The words are a name or a synonym of the keyword, so that no comparison of vectors may take them away."""


class Mapper(Protocol):
    """A method: finds the n-grams of texts that come near keywords. It settles nothing."""

    about: str
    """A line for people."""
    threshold: float
    """In force: what was asked for, or what is usual for the method."""
    notes: tuple[str, ...]
    """What is to be told of the vocabulary and its synonyms."""

    def candidates(self, texts: Sequence[str], progress: Progress) -> list[list[Candidate]]:
        """Of each text the n-grams above the threshold, each with the keyword that it is nearest to."""
        ...

    def nearest(self, text: str, count: int) -> list[Candidate]:
        """The keywords that a text comes nearest to, best first, whatever the threshold."""
        ...


MAPPERS: Registry[Callable[[Vocabulary, MappingSettings], Mapper]] = Registry(
    "method", home="rankjury.labeling.keywords.mappers", group="rankjury.keywords"
)
"""By the name of the method."""


def make_mapper(vocabulary: Vocabulary, settings: MappingSettings) -> Mapper:
    """The method of that name, ready for a vocabulary."""
    if not len(vocabulary):
        raise DataError("the vocabulary is empty", where=vocabulary.source, expected="at least one keyword")
    return MAPPERS.get(settings.method)(vocabulary, settings)


@check_arguments
def map_texts(
    texts: Sequence[str],
    vocabulary: Vocabulary,
    settings: MappingSettings | None = None,
    progress: Progress | Callable[[int, int], None] = NO_PROGRESS,
    *,
    groups: Sequence[str] | None = None,
    mapper: Mapper | None = None,
) -> list[Extraction]:
    """The keywords of each text.

    ``groups`` are those that count: n-grams are mapped onto the whole vocabulary, and what is of another group is
    dropped, so that night is not taken for the nearest kind of vehicle. ``mapper`` is for one that was made before.
    ``progress`` is called with how many steps are done, and of how many.
    """
    from rankjury.labeling.keywords.mapping import resolve_candidates

    if isinstance(texts, str):
        raise UsageError(f"the texts are the text {texts!r}", expected=f"a list: [{texts!r}]")
    settings = settings or MappingSettings()
    for group in () if groups is None else groups:
        if group not in vocabulary.groups:
            raise UnknownName("group", group, vocabulary.groups, where=vocabulary.source)
    mapper = mapper if mapper is not None else make_mapper(vocabulary, settings)
    different = list(dict.fromkeys(texts))
    candidates = mapper.candidates(different, Progress.of(progress))
    found = {
        text: resolve_candidates(text, near, vocabulary, settings.method, groups)
        for text, near in zip(different, candidates, strict=True)
    }
    return [found[text] for text in texts]


def add_nearest(
    extraction: Extraction, mapper: Mapper, vocabulary: Vocabulary, method: str, groups: Sequence[str] | None = None
) -> Extraction:
    """A text without keywords, with those of these groups that came nearest to it; one that has any as it is."""
    if extraction.mapped:
        return extraction
    near = (
        MappedKeyword(vocabulary.keywords[one.number], one.ngram, one.score, method, one.spelling)
        for one in mapper.nearest(extraction.text, len(vocabulary))
        if not one.sharing
    )
    fitting = [one for one in near if groups is None or one.keyword.group in groups]
    return replace(extraction, nearest=tuple(fitting[:_NEAREST_SHOWN]))


# MERGED rankjury.labeling.keywords.mapping
# """Which of a text's candidates stand: words mean one thing, a keyword is found once, and whoever lost is told why."""


_NAMED = 3


def resolve_candidates(
    text: str, candidates: Sequence[Candidate], vocabulary: Vocabulary, method: str, groups: Sequence[str] | None = None
) -> Extraction:
    """Keep candidates best first: literal matches, then the higher score, the longer n-gram, the earlier n-gram, the
    vocabulary's order.

    A candidate whose words are taken, in part or whole, is dropped; so is one whose keyword is there already, though
    its words are taken then; so is a part that several keywords share. Of what is left, keywords of groups that are not
    among ``groups`` are dropped as well.
    """
    standing: list[Candidate] = []
    kept: dict[int, Candidate] = {}
    dropped: list[tuple[Candidate, str]] = []
    for one in sorted((_counting(one, vocabulary, groups) for one in candidates), key=_order):
        winner = next((other for other in standing if one.start < other.end and other.start < one.end), None)
        if one.sharing:
            dropped.append((one, _shared(one, vocabulary)))
        elif winner is not None:
            dropped.append((one, _overlapping(one, winner, vocabulary)))
        else:
            standing.append(one)
            earlier = kept.setdefault(one.number, one)
            if earlier is not one:
                dropped.append((one, f"found already, by {earlier.ngram!r} ({earlier.score:.2f})"))
    dropped += _beaten(kept, vocabulary)
    for number, one in list(kept.items()):
        group = vocabulary.keywords[number].group
        if groups is not None and group not in groups:
            dropped.append((one, f"{group} is not selected"))
            del kept[number]
    in_place = sorted(kept.values(), key=lambda one: one.start)
    lost = sorted(dropped, key=lambda pair: _order(pair[0]))
    return Extraction(
        text,
        tuple(_mapped(one, vocabulary, method) for one in in_place),
        tuple(DroppedKeyword(_mapped(one, vocabulary, method), reason) for one, reason in lost),
    )


def _counting(one: Candidate, vocabulary: Vocabulary, groups: Sequence[str] | None) -> Candidate:
    """Of keywords that the same words mean equally well, one of a group that counts."""
    if groups is None or vocabulary.keywords[one.number].group in groups:
        return one
    for other in one.beaten:
        if other.score == one.score and vocabulary.keywords[other.number].group in groups:
            rest = tuple(third for third in one.beaten if third is not other)
            return replace(other, beaten=(replace(one, beaten=()), *rest))
    return one


def best_candidates(candidates: Iterable[Candidate], count: int) -> list[Candidate]:
    """So many, each keyword once, and those that were beaten among them."""
    found: dict[int, Candidate] = {}
    everyone = [other for one in candidates for other in (one, *one.beaten)]
    for one in sorted(everyone, key=_order):
        found.setdefault(one.number, one)
    return list(found.values())[:count]


def _order(one: Candidate) -> tuple[bool, float, int, int, int]:
    return not one.literal, -one.score, one.start - one.end, one.start, one.number


def _shared(one: Candidate, vocabulary: Vocabulary) -> str:
    names = [vocabulary.keywords[number].name for number in one.sharing]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{one.ngram!r} is only a part, which {', '.join(names[:_NAMED])}{more} share"


def _overlapping(one: Candidate, winner: Candidate, vocabulary: Vocabulary) -> str:
    name = vocabulary.keywords[winner.number].name
    if winner.number == one.number:
        return f"found by {winner.ngram!r} ({winner.score:.2f}), which it overlaps"
    if winner.score > one.score:
        how = f"comes nearer to {name} ({winner.score:.2f})"
    elif winner.literal and not one.literal:
        how = f"is a literal match of {name}"
    elif winner.end - winner.start > one.end - one.start:
        how = f"is longer, and means {name}"
    elif winner.start < one.start:
        how = f"comes before it, and means {name}"
    else:
        how = f"may as well mean {name}, which the vocabulary has first"
    return f"overlaps {winner.ngram!r}, which {how}"


def _beaten(kept: dict[int, Candidate], vocabulary: Vocabulary) -> Iterator[tuple[Candidate, str]]:
    """Keywords that the words of another came near to as well."""
    for winner in kept.values():
        for one in winner.beaten:
            if one.number in kept:
                continue
            mine, other = vocabulary.keywords[winner.number], vocabulary.keywords[one.number]
            name = mine.name if mine.name != other.name else str(mine)
            how = "is nearer to" if winner.score > one.score else "may as well mean"
            yield one, f"{winner.ngram!r} {how} {name} ({winner.score:.2f})"


def _mapped(one: Candidate, vocabulary: Vocabulary, method: str) -> MappedKeyword:
    return MappedKeyword(vocabulary.keywords[one.number], one.ngram, one.score, method, one.spelling)
