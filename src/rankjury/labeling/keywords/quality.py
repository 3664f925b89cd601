"""How good a mapping is: the keywords that were found beside those that people gave.

All figures are functions of sets of numbers; nothing here knows how keywords are found.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from math import fsum, nan

from rankjury.core.validation import Record
from rankjury.labeling.keywords.vocabulary import Keyword, Vocabulary

Numbers = Sequence[AbstractSet[int]]


@dataclass(frozen=True)
class Quality(Record):
    """Over all pairs of a text and a keyword; NaN where there is nothing to divide by."""

    precision: float
    """Of the keywords that were found, the share that people gave as well."""
    recall: float
    """Of the keywords that people gave, the share that was found."""
    f1: float
    macro_f1: float
    """The mean of each keyword's own F1, over keywords that were given or found."""
    exact: float
    """The share of texts whose keywords are wholly right: none is missing, and none too many."""
    n: int
    """Texts."""
    right: int
    found: int
    given: int


@dataclass(frozen=True)
class Mistake:
    """A text that was not mapped as people did."""

    text: str
    missed: tuple[Keyword, ...]
    wrong: tuple[Keyword, ...]


def quality(found: Numbers, given: Numbers) -> Quality:
    """``found`` and ``given`` hold the numbers of each text's keywords."""
    pairs = list(zip(found, given, strict=True))
    right = sum(len(mine & theirs) for mine, theirs in pairs)
    all_found, all_given = sum(map(len, found)), sum(map(len, given))
    both = Counter(number for mine, theirs in pairs for number in (*mine, *theirs))
    met = Counter(number for mine, theirs in pairs for number in mine & theirs)
    own = [2 * met[number] / both[number] for number in sorted(both)]
    return Quality(
        precision=_share(right, all_found),
        recall=_share(right, all_given),
        f1=_share(2 * right, all_found + all_given),
        macro_f1=_share(fsum(own), len(own)),
        exact=_share(sum(mine == theirs for mine, theirs in pairs), len(pairs)),
        n=len(pairs),
        right=right,
        found=all_found,
        given=all_given,
    )


def quality_by_group(found: Numbers, given: Numbers, vocabulary: Vocabulary) -> dict[str, Quality]:
    """The same within each group of the vocabulary."""
    members: Mapping[str, set[int]] = {group: set() for group in vocabulary.groups}
    for number, keyword in enumerate(vocabulary.keywords):
        members[keyword.group].add(number)
    return {
        group: quality([one & numbers for one in found], [one & numbers for one in given])
        for group, numbers in members.items()
    }


def mistakes(texts: Sequence[str], found: Numbers, given: Numbers, vocabulary: Vocabulary) -> list[Mistake]:
    """Texts that are not wholly right, in their order."""

    def named(numbers: Iterable[int]) -> tuple[Keyword, ...]:
        return tuple(vocabulary.keywords[number] for number in sorted(numbers))

    return [
        Mistake(text, named(theirs - mine), named(mine - theirs))
        for text, mine, theirs in zip(texts, found, given, strict=True)
        if mine != theirs
    ]


@dataclass(frozen=True)
class Compared:
    """What was found beside what was given, within the groups that count."""

    found: Numbers
    given: Numbers
    vocabulary: Vocabulary
    groups: tuple[str, ...]

    @property
    def whole(self) -> Quality:
        return quality(self.found, self.given)

    @property
    def by_group(self) -> dict[str, Quality]:
        every = quality_by_group(self.found, self.given, self.vocabulary)
        return {group: every[group] for group in self.groups}

    def mistakes(self, texts: Sequence[str]) -> list[Mistake]:
        return mistakes(texts, self.found, self.given, self.vocabulary)


def within(found: Numbers, given: Numbers, vocabulary: Vocabulary, groups: Sequence[str] | None = None) -> Compared:
    """Only keywords of some groups; None: of all."""
    counted = tuple(vocabulary.groups if groups is None else groups)
    kept = {number for number, one in enumerate(vocabulary.keywords) if one.group in counted}
    return Compared([one & kept for one in found], [one & kept for one in given], vocabulary, counted)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else nan
