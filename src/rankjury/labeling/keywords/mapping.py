"""From texts to keywords: the n-grams of a text, each mapped onto a fixed vocabulary by one of several methods.

A method (``Mapper``) says which n-grams come near which keyword, and how near; overlaps and doubles among them are
settled in one place for all methods (``settling``). What is kept says by which n-gram, with what score and by which
method it was found, and what is dropped says why.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.registry import Registry
from rankjury.core.validation import Record, check_arguments
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.labeling.keywords.vocabulary import Keyword, Vocabulary

_MOST_WORDS = 10
_NEAREST_SHOWN = 3


@dataclass(frozen=True)
class Mapped(Record):
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
class Dropped(Record):
    """What came near enough, but lost; the reason in plain words."""

    mapped: Mapped
    reason: str

    def to_json(self) -> dict[str, Any]:
        return {**self.mapped.to_json(), "reason": self.reason}


@dataclass(frozen=True)
class Extraction(Record):
    """The keywords of a text in the order of its words."""

    text: str
    mapped: tuple[Mapped, ...]
    dropped: tuple[Dropped, ...] = ()
    nearest: tuple[Mapped, ...] = ()
    """Of a text without keywords: what came nearest, though not near enough (``with_nearest``)."""

    @property
    def keywords(self) -> tuple[Keyword, ...]:
        return tuple(one.keyword for one in self.mapped)

    def numbers(self, vocabulary: Vocabulary) -> tuple[int, ...]:
        """The keywords by their numbers in a vocabulary, in its order."""
        return tuple(sorted(vocabulary.number_of[one] for one in self.keywords))


@dataclass(frozen=True)
class Settings:
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


MAPPERS: Registry[Callable[[Vocabulary, Settings], Mapper]] = Registry(
    "method", home="rankjury.labeling.keywords.mappers", group="rankjury.keywords"
)
"""By the name of the method."""


def make_mapper(vocabulary: Vocabulary, settings: Settings) -> Mapper:
    """The method of that name, ready for a vocabulary."""
    if not len(vocabulary):
        raise DataError("the vocabulary is empty", where=vocabulary.source, expected="at least one keyword")
    return MAPPERS.get(settings.method)(vocabulary, settings)


@check_arguments
def map_texts(
    texts: Sequence[str],
    vocabulary: Vocabulary,
    settings: Settings | None = None,
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
    from rankjury.labeling.keywords.resolve import settle

    if isinstance(texts, str):
        raise UsageError(f"the texts are the text {texts!r}", expected=f"a list: [{texts!r}]")
    settings = settings or Settings()
    for group in () if groups is None else groups:
        if group not in vocabulary.groups:
            raise UnknownName("group", group, vocabulary.groups, where=vocabulary.source)
    mapper = mapper if mapper is not None else make_mapper(vocabulary, settings)
    different = list(dict.fromkeys(texts))
    candidates = mapper.candidates(different, Progress.of(progress))
    found = {
        text: settle(text, near, vocabulary, settings.method, groups)
        for text, near in zip(different, candidates, strict=True)
    }
    return [found[text] for text in texts]


def with_nearest(
    extraction: Extraction, mapper: Mapper, vocabulary: Vocabulary, method: str, groups: Sequence[str] | None = None
) -> Extraction:
    """A text without keywords, with those of these groups that came nearest to it; one that has any as it is."""
    if extraction.mapped:
        return extraction
    near = (
        Mapped(vocabulary.keywords[one.number], one.ngram, one.score, method, one.spelling)
        for one in mapper.nearest(extraction.text, len(vocabulary))
        if not one.sharing
    )
    fitting = [one for one in near if groups is None or one.keyword.group in groups]
    return replace(extraction, nearest=tuple(fitting[:_NEAREST_SHOWN]))
