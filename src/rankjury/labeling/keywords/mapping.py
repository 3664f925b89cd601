"""Keyword mapping: maps the n-grams of a text to a fixed vocabulary by one of several methods.

A method (``Mapper``) finds candidates: n-grams that are similar to a keyword, with a score. Overlaps and duplicates are
resolved in one place for all methods (``resolve_candidates``). Each keyword of the result has its n-gram, score and
method; each dropped candidate has the reason.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.registry import Registry
from rankjury.core.text import join_names, plural
from rankjury.core.validation import Record, check_arguments
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.labeling.keywords.annotations import Keyword, Vocabulary

_MOST_WORDS = 10


@dataclass(frozen=True)
class MappedKeyword(Record):
    """A keyword found in a text, with its evidence."""

    keyword: Keyword
    ngram: str
    """The compared words of the text."""
    score: float
    method: str
    spelling: str = ""
    """The matched spelling: the keyword's name or a synonym."""

    def to_json(self) -> dict[str, Any]:
        names = ("ngram", "score", "method", "spelling")
        keyword = {"keyword": self.keyword.name, "group": self.keyword.group}
        return keyword | {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class DroppedKeyword(Record):
    """A candidate that was dropped, and the reason."""

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
    """Nearest keywords below the threshold, for a text without keywords (``add_nearest``)."""

    @property
    def keywords(self) -> tuple[Keyword, ...]:
        return tuple(mapped_.keyword for mapped_ in self.mapped)

    def numbers(self, vocabulary: Vocabulary) -> tuple[int, ...]:
        """Return the keyword numbers in a vocabulary, sorted."""
        return tuple(sorted(vocabulary.number_of[keyword] for keyword in self.keywords))


def summarize_mapping(method: str, extractions: Sequence[Extraction]) -> str:
    """Return how many texts a method found keywords for and which are most frequent, as a sentence."""
    mapped = sum(bool(extraction.mapped) for extraction in extractions)
    counts = Counter(keyword.name for extraction in extractions for keyword in extraction.keywords)
    texts = plural(len(extractions), "text", "texts")
    if not mapped:
        return f"No keyword by {method} in {texts}."
    if len(extractions) == 1:
        return f"{plural(len(counts), 'keyword', 'keywords')} by {method}: {join_names(counts)}."
    names = [name for name, _ in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))]
    return f"{mapped:,} of {texts} have a keyword by {method}; most frequent: {join_names(names[:3])}."


@dataclass(frozen=True)
class MappingSettings:
    """Settings of a keyword mapping."""

    method: str = "exact"
    model: str = "wordllama"
    threshold: float | None = None
    """Score that an n-gram must exceed; None: the method's default. Literal matches always count."""
    synonyms: str | Path | None = None
    ngrams: tuple[int, int] = (1, 3)
    diversity: float | None = None
    """Diversity of KeyBERT's MMR, which chooses keywords per text first: 0 (similarity only) to 1 (diversity only).

    None is Algorithm 1 of the driving protocol: each n-gram is compared with the whole vocabulary.
    """
    chosen: int = 12
    """Number of spellings that MMR chooses for a text, with a diversity."""

    def __post_init__(self) -> None:
        low, high = self.ngrams
        if not 1 <= low <= high <= _MOST_WORDS:
            found = f"n-grams of {low} to {high} words"
            raise UsageError(found, where="keywords", expected=f"something like 1 to 3, at most {_MOST_WORDS}")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise UsageError(f"a threshold of {self.threshold:g}", where="keywords", expected="0 to 1")
        if self.diversity is not None and self.method != "keybert":
            found = f"a diversity for the method {self.method}"
            raise UsageError(found, where="keywords", expected="the method keybert, which uses it for MMR")
        if self.diversity is not None and not 0 <= self.diversity <= 1:
            raise UsageError(f"a diversity of {self.diversity:g}", where="keywords", expected="0 to 1")
        if self.chosen < 1:
            raise UsageError(f"{self.chosen} keywords to choose", where="keywords", expected="1 or more")


@dataclass(frozen=True)
class Candidate:
    """Words ``start`` to ``end`` of a text that match a keyword."""

    start: int
    end: int
    number: int
    """Number of the keyword in the vocabulary."""
    score: float
    ngram: str
    spelling: str
    beaten: "tuple[Candidate, ...]" = field(default=(), compare=False)
    """Other keywords that match the same words, with lower scores."""
    sharing: tuple[int, ...] = ()
    """Keywords that share these words, so that the words identify none of them."""
    literal: bool = False
    """The words are a name or a synonym of the keyword, so that they are always kept."""


class Mapper(Protocol):
    """A mapping method: finds candidates; it does not resolve overlaps."""

    about: str
    """One-line description."""
    threshold: float
    """The threshold used: as requested, or the method's default."""
    notes: tuple[str, ...]
    """Warnings about the vocabulary and its synonyms."""

    def candidates(self, texts: Sequence[str], progress: Progress) -> list[list[Candidate]]:
        """Return for each text the n-grams above the threshold, each with its nearest keyword."""

    def nearest(self, text: str, count: int) -> list[Candidate]:
        """Return the keywords nearest to a text, best first, regardless of the threshold."""


MAPPERS: Registry[Callable[[Vocabulary, MappingSettings], Mapper]] = Registry(
    "method", home="rankjury.labeling.keywords.mappers", group="rankjury.keywords"
)
"""Mapping methods by name."""


def make_mapper(vocabulary: Vocabulary, settings: MappingSettings) -> Mapper:
    """Return the mapper of the chosen method for a vocabulary."""
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
    """Return the keywords of each text, mapped onto a vocabulary.

    Args:
        texts: The texts.
        vocabulary: The keywords to map onto, such as ``annotations.vocabulary``.
        settings: Which mapper is used, and its thresholds.
        progress: Called with how many steps are done, and of how many.
        groups: The groups of keywords that count; by default all. Texts are mapped onto the whole vocabulary, and
            keywords of other groups are dropped, so that night is not taken for the nearest kind of vehicle.
        mapper: A mapper that was made before, instead of ``settings``.

    Returns:
        For each text the keywords that were found, and how.

    Raises:
        UsageError: A group or a mapper is not known.
        MissingExtra: The mapper's library is not installed.

    Example:
        >>> annotations = rankjury.read_annotations("clips.csv")
        >>> rankjury.map_texts(["a car at night"], annotations.vocabulary)
    """
    if isinstance(texts, str):
        raise UsageError(f"the texts are the text {texts!r}", expected=f"a list: [{texts!r}]")
    settings = settings or MappingSettings()
    for group in () if groups is None else groups:
        if group not in vocabulary.groups:
            raise UnknownName("group", group, vocabulary.groups, where=vocabulary.source)
    mapper = mapper if mapper is not None else make_mapper(vocabulary, settings)
    different = list(dict.fromkeys(texts))
    candidates = mapper.candidates(different, Progress.of(progress))
    extractions = {
        text: resolve_candidates(text, near, vocabulary, settings.method, groups)
        for text, near in zip(different, candidates, strict=True)
    }
    return [extractions[text] for text in texts]


def add_nearest(
    extraction: Extraction, mapper: Mapper, vocabulary: Vocabulary, method: str, groups: Sequence[str] | None = None
) -> Extraction:
    """Add the nearest keywords of these groups to an extraction without keywords; return others unchanged."""
    if extraction.mapped:
        return extraction
    candidates = mapper.nearest(extraction.text, len(vocabulary))
    near = (_mapped(candidate, vocabulary, method) for candidate in candidates if not candidate.sharing)
    fitting = [mapped for mapped in near if groups is None or mapped.keyword.group in groups]
    return replace(extraction, nearest=tuple(fitting[:3]))


def resolve_candidates(
    text: str, candidates: Sequence[Candidate], vocabulary: Vocabulary, method: str, groups: Sequence[str] | None = None
) -> Extraction:
    """Keep candidates best first: literal matches, then the higher score, the longer n-gram, the earlier n-gram, the
    vocabulary's order.

    A candidate is dropped if its words overlap those of a kept one, if its keyword was already found (its words are
    then used up), or if it is a part that several keywords share. Of the remaining keywords, those of groups outside
    ``groups`` are dropped as well.
    """
    winners: list[Candidate] = []
    best: dict[int, Candidate] = {}
    dropped: list[tuple[Candidate, str]] = []
    for rival in sorted((_prefer_groups(candidate, vocabulary, groups) for candidate in candidates), key=_order):
        winner = next((other for other in winners if rival.start < other.end and other.start < rival.end), None)
        if rival.sharing:
            names = [vocabulary.keywords[number].name for number in rival.sharing]
            shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            dropped.append((rival, f"{rival.ngram!r} is only a part that {shown} share"))
        elif winner is not None:
            dropped.append((rival, _overlapping(rival, winner, vocabulary)))
        else:
            winners.append(rival)
            earlier = best.setdefault(rival.number, rival)
            if earlier is not rival:
                dropped.append((rival, f"already found by {earlier.ngram!r} ({earlier.score:.2f})"))
    dropped += _beaten(best, vocabulary)
    for number, candidate in list(best.items()):
        group = vocabulary.keywords[number].group
        if groups is not None and group not in groups:
            dropped.append((candidate, f"{group} is not selected"))
            del best[number]
    in_place = sorted(best.values(), key=lambda candidate: candidate.start)
    lost = sorted(dropped, key=lambda pair: _order(pair[0]))
    return Extraction(
        text,
        tuple(_mapped(candidate, vocabulary, method) for candidate in in_place),
        tuple(DroppedKeyword(_mapped(candidate, vocabulary, method), reason) for candidate, reason in lost),
    )


def _prefer_groups(candidate: Candidate, vocabulary: Vocabulary, groups: Sequence[str] | None) -> Candidate:
    """Return the candidate, or an equally good keyword of a selected group."""
    if groups is None or vocabulary.keywords[candidate.number].group in groups:
        return candidate
    for other in candidate.beaten:
        if other.score == candidate.score and vocabulary.keywords[other.number].group in groups:
            rest = tuple(third for third in candidate.beaten if third is not other)
            return replace(other, beaten=(replace(candidate, beaten=()), *rest))
    return candidate


def best_candidates(candidates: Iterable[Candidate], count: int) -> list[Candidate]:
    """Return the best candidates, each keyword once, including beaten ones."""
    best: dict[int, Candidate] = {}
    everyone = [other for candidate in candidates for other in (candidate, *candidate.beaten)]
    for candidate in sorted(everyone, key=_order):
        best.setdefault(candidate.number, candidate)
    return list(best.values())[:count]


def _order(candidate: Candidate) -> tuple[bool, float, int, int, int]:
    return not candidate.literal, -candidate.score, candidate.start - candidate.end, candidate.start, candidate.number


def _overlapping(candidate: Candidate, winner: Candidate, vocabulary: Vocabulary) -> str:
    name = vocabulary.keywords[winner.number].name
    if winner.number == candidate.number:
        return f"found by {winner.ngram!r} ({winner.score:.2f}), which it overlaps"
    if winner.score > candidate.score:
        how = f"is more similar to {name} ({winner.score:.2f})"
    elif winner.literal and not candidate.literal:
        how = f"is a literal match of {name}"
    elif winner.end - winner.start > candidate.end - candidate.start:
        how = f"is longer, and means {name}"
    elif winner.start < candidate.start:
        how = f"comes before it, and means {name}"
    else:
        how = f"is equally similar to {name}, which is earlier in the vocabulary"
    return f"overlaps {winner.ngram!r}, which {how}"


def _beaten(best: dict[int, Candidate], vocabulary: Vocabulary) -> Iterator[tuple[Candidate, str]]:
    """Yield keywords with a lower score than another one for the same words."""
    for winner in best.values():
        for candidate in winner.beaten:
            if candidate.number not in best:
                mine, other = vocabulary.keywords[winner.number], vocabulary.keywords[candidate.number]
                name = mine.name if mine.name != other.name else str(mine)
                how = "is more similar to" if winner.score > candidate.score else "is equally similar to"
                yield candidate, f"{winner.ngram!r} {how} {name} ({winner.score:.2f})"


def _mapped(candidate: Candidate, vocabulary: Vocabulary, method: str) -> MappedKeyword:
    return MappedKeyword(
        vocabulary.keywords[candidate.number], candidate.ngram, candidate.score, method, candidate.spelling
    )
