"""Quality of a keyword mapping: precision, recall and F1 against keywords that people assigned.

Labelled texts are rows such as ``{"query_id": "t01", "text": "…", "keywords": ["bicyclist", …]}``.
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from math import fsum, isnan, nan
from pathlib import Path
from typing import Any

from rankjury.core.text import plural
from rankjury.core.validation import Record
from rankjury.errors import DataError
from rankjury.io.attributes import is_query_lines
from rankjury.io.source import Source
from rankjury.io.tables import Row, parse_cell, read_records
from rankjury.labeling.keywords.annotations import Keyword, Vocabulary
from rankjury.labeling.products.query_sets import read_queries

Numbers = Sequence[AbstractSet[int]]


@dataclass(frozen=True)
class MappingQuality(Record):
    """Precision, recall and F1 over all pairs of text and keyword; NaN if undefined."""

    precision: float
    """Share of the found keywords that are correct."""
    recall: float
    """Share of the assigned keywords that were found."""
    f1: float
    macro_f1: float
    """Mean F1 over keywords that were assigned or found."""
    exact: float
    """Share of texts whose keywords are exactly right."""
    n: int
    """Texts."""
    right: int
    found: int
    given: int


def summarize_quality(measured: Mapping[str, MappingQuality]) -> str:
    """Return which method maps texts best, by F1, as a sentence."""
    known = {name: quality for name, quality in measured.items() if not isnan(quality.f1)}
    texts = plural(next(iter(measured.values())).n, "text", "texts")
    if not known:
        return f"No keyword was given or found in {texts}: the quality is undefined."
    best, *others = sorted(known, key=lambda name: -known[name].f1)
    quality = known[best]
    about = f"F1 {quality.f1:.3f} (precision {quality.precision:.3f}, recall {quality.recall:.3f}) over {texts}"
    if not others:
        return f"{best} has {about}."
    return f"{best} maps best: {about}; then {', '.join(f'{name} {known[name].f1:.3f}' for name in others)}."


@dataclass(frozen=True)
class MappingMistake:
    """A text with missed or wrong keywords."""

    text: str
    missed: tuple[Keyword, ...]
    wrong: tuple[Keyword, ...]


def quality(found: Numbers, given: Numbers) -> MappingQuality:
    """Return the quality of found against assigned keyword numbers, one set per text."""
    pairs = list(zip(found, given, strict=True))
    right = sum(len(mine & theirs) for mine, theirs in pairs)
    all_found, all_given = sum(map(len, found)), sum(map(len, given))
    both = Counter(number for mine, theirs in pairs for number in (*mine, *theirs))
    met = Counter(number for mine, theirs in pairs for number in mine & theirs)
    own = [2 * met[number] / both[number] for number in sorted(both)]
    return MappingQuality(
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


@dataclass(frozen=True)
class MappingComparison:
    """Found and assigned keywords within the selected groups."""

    found: Numbers
    given: Numbers
    vocabulary: Vocabulary
    groups: tuple[str, ...]

    @property
    def whole(self) -> MappingQuality:
        return quality(self.found, self.given)

    @property
    def by_group(self) -> dict[str, MappingQuality]:
        parts = (compare_mappings(self.found, self.given, self.vocabulary, [group]) for group in self.groups)
        return {group: part.whole for group, part in zip(self.groups, parts, strict=True)}

    def mistakes(self, texts: Sequence[str]) -> list[MappingMistake]:
        """Return the texts with missed or wrong keywords, in their order."""

        def named(numbers: AbstractSet[int]) -> tuple[Keyword, ...]:
            return tuple(self.vocabulary.keywords[number] for number in sorted(numbers))

        return [
            MappingMistake(text, named(theirs - mine), named(mine - theirs))
            for text, mine, theirs in zip(texts, self.found, self.given, strict=True)
            if mine != theirs
        ]


def compare_mappings(
    found: Numbers, given: Numbers, vocabulary: Vocabulary, groups: Sequence[str] | None = None
) -> MappingComparison:
    """Compare found with assigned keywords of some groups; None: all groups."""
    counted = tuple(vocabulary.groups if groups is None else groups)
    members = {number for number, keyword in enumerate(vocabulary.keywords) if keyword.group in counted}
    found, given = ([keywords & members for keywords in side] for side in (found, given))
    return MappingComparison(found, given, vocabulary, counted)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else nan


KEYWORDS = "keywords"
_EXPECTED = f'a list such as "{KEYWORDS}": ["bicyclist", "entering ego path"]'


@dataclass(frozen=True)
class LabelledText:
    """A text and the numbers of its keywords."""

    id: str
    text: str
    numbers: frozenset[int]


def read_labelled_texts(
    given: str | Path, vocabulary: Vocabulary, *, separator: str = "|", partly: bool = False
) -> list[LabelledText]:
    """Read labelled texts from .jsonl, .json, .csv or .parquet; keywords are a list, or a text with a separator.

    ``partly``: texts without keywords are omitted instead of refused.
    """
    if str(given) == "-" or is_query_lines(Source.open(given)):
        raise DataError(f"no {KEYWORDS}", where=str(given), expected=f"a file of texts, each with {_EXPECTED}")
    queries, records = read_queries(given, needs_texts=False), read_records(Source.open(given))
    labelled = []
    for id_, text, record in zip(queries["id"], queries["text"], records, strict=True):
        if not partly or record.fields.get(KEYWORDS) is not None:
            numbers = (vocabulary.find(name, where=record.place) for name in _names(record, separator))
            labelled.append(LabelledText(id_, text, frozenset(numbers)))
    return labelled


def _names(record: Row, separator: str) -> Sequence[str]:
    value: Any = record.fields.get(KEYWORDS)
    if isinstance(value, str):
        listed = parse_cell(value) if value.lstrip().startswith("[") else None
        value = listed if isinstance(listed, list) else [part for part in value.split(separator) if part.strip()]
    if value is None:
        raise DataError(f"no {KEYWORDS}", where=record.place, expected=_EXPECTED)
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise DataError(f"{KEYWORDS} is {value!r}", where=record.place, expected=_EXPECTED)
    return [name.strip() for name in value]
