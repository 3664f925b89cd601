"""Sections: what a speciality adds to a report, such as embedding diagnostics, an index benchmark or a drift.

A section is a frozen dataclass with a name. It belongs to one system or to the report as a whole, is one key of the
report's JSON, and has its tables and charts in one renderer (``karat.reports.sections``) that all writers use. To add
one, write the dataclass, the renderer and a test; nothing else knows its name.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeVar

from karat.records import Record
from karat.registry import Registry
from karat.report_warnings import ReportWarning

__all__ = ["SECTIONS", "MappingSection", "Section", "UnknownSection", "read_section"]


class Section(Record):
    """Base class of sections. Two sections are equal where their JSON is."""

    name: ClassVar[str]
    """The key in the report's JSON."""

    def warnings(self) -> Iterator[ReportWarning]:
        """Return what a reader should be warned of; the system is filled in where the section belongs to one."""
        yield from ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]


SECTIONS: Registry[type[Section]] = Registry("section", home="karat.builtin_sections", group="karat.sections")
"""Classes of sections by name. Third parties register theirs by entry points of the group ``karat.sections``."""

S = TypeVar("S", bound=Section)


@dataclass(frozen=True, eq=False)
class MappingSection(Section, Mapping[str, Any]):
    """Base class of sections that are a table of names and JSON values."""

    content: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, key: str) -> Any:
        return self.content[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.content)

    def __len__(self) -> int:
        return len(self.content)

    def to_json(self) -> Any:
        return dict(self.content)

    @classmethod
    def from_json(cls, value: Any, where: str = "report") -> Self:
        return super().from_json({"content": value}, where)


@dataclass(frozen=True, eq=False)
class UnknownSection(Section):
    """A section whose class is not installed here: it is kept as it was read, and not shown."""

    key: str
    value: Any

    def to_json(self) -> Any:
        return self.value


def read_section(key: str, value: Any, where: str) -> Section:
    """Read the section that a key of the report's JSON holds."""
    kind = SECTIONS.find(key)
    return UnknownSection(key, value) if kind is None else kind.from_json(value, where)
