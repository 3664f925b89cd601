"""The keywords that things may be annotated with, each in a semantic group: bicyclist, of object_type."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from karat.errors import DataError, UnknownName

__all__ = ["Keyword", "Vocabulary"]


@dataclass(frozen=True, order=True)
class Keyword:
    """A word or phrase within its group; the same word in two groups is two keywords."""

    group: str
    name: str

    def __str__(self) -> str:
        return f"{self.group}={self.name}"


@dataclass(frozen=True)
class Vocabulary:
    """Keywords by number: sorted by group (in the order in which groups were named), then by name."""

    keywords: tuple[Keyword, ...]
    source: str = field(default="vocabulary", compare=False)

    def __len__(self) -> int:
        return len(self.keywords)

    @classmethod
    def of(cls, groups: Mapping[str, Iterable[str]], source: str = "vocabulary") -> "Vocabulary":
        """From the names in each group."""
        found = tuple(Keyword(group, name) for group, names in groups.items() for name in sorted(set(names)))
        return cls(found, source)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(keyword.group for keyword in self.keywords))

    @cached_property
    def group_numbers(self) -> tuple[int, ...]:
        """Of each keyword the place of its group."""
        places = {group: place for place, group in enumerate(self.groups)}
        return tuple(places[keyword.group] for keyword in self.keywords)

    @cached_property
    def number_of(self) -> Mapping[Keyword, int]:
        return {keyword: number for number, keyword in enumerate(self.keywords)}

    @cached_property
    def _by_name(self) -> Mapping[str, tuple[int, ...]]:
        found: dict[str, tuple[int, ...]] = {}
        for number, keyword in enumerate(self.keywords):
            for spelling in (keyword.name, str(keyword)):
                found[spelling] = (*found.get(spelling, ()), number)
        return found

    def find(self, spelling: str, where: str = "") -> int:
        """The number of ``bicyclist`` or ``object_type=bicyclist``; a name that two groups have needs its group."""
        numbers = self._by_name.get(spelling, ())
        if not numbers:
            raise UnknownName("keyword", spelling, [one.name for one in self.keywords], where=where or self.source)
        if len(numbers) > 1:
            raise DataError(
                f"the keyword {spelling!r} stands in {len(numbers)} groups",
                where=where or self.source,
                expected=" or ".join(str(self.keywords[number]) for number in numbers),
            )
        return numbers[0]

    def by_group(self, numbers: Iterable[int]) -> dict[str, tuple[str, ...]]:
        """Names of some keywords, by group."""
        found: dict[str, tuple[str, ...]] = {}
        for number in sorted(numbers):
            keyword = self.keywords[number]
            found[keyword.group] = (*found.get(keyword.group, ()), keyword.name)
        return found

    def select(self, groups: Sequence[str]) -> "Vocabulary":
        """Only the keywords of these groups."""
        for group in groups:
            if group not in self.groups:
                raise UnknownName("group", group, self.groups, where=self.source)
        return Vocabulary(tuple(one for one in self.keywords if one.group in groups), self.source)
