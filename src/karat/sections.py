"""Sections: what a speciality adds to a report, such as embedding diagnostics, an index benchmark or a drift.

A section is a frozen dataclass with a name. It belongs to one system or to the report as a whole, is one key of the
report's JSON, and has its tables and charts in one renderer (``karat.reports.sections``) that all writers use. To add
one, write the dataclass, the renderer and a test; nothing else knows its name.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from karat.records import Record, RecordError
from karat.registry import Registry
from karat.report_warnings import ReportWarning

__all__ = ["SECTIONS", "MappingSection", "Section", "UnknownSection", "read_sections"]


class Section(Record):
    """Base class of sections. Two sections are equal where their JSON is."""

    name: ClassVar[str]
    """The key in the report's JSON."""
    system_only: ClassVar[bool] = False
    """Whether only systems have it: the report as a whole may have something else under its name."""

    def warnings(self) -> Iterator[ReportWarning]:
        """Return what a reader should be warned of; the system is filled in where the section belongs to one."""
        yield from ()

    def absent_slices(self) -> Mapping[str, str]:
        """Return slices that the report could have but has not, by name, each with the reason."""
        return {}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]


SECTIONS: Registry[type[Section]] = Registry(
    "section",
    home={
        "agreement": "karat.agreement:Agreement",
        "reference": "karat.agreement:ReferenceGold",
        "drift": "karat.drift:Drift",
        "examples": "karat.examples:Examples",
        "exposure": "karat.exposures:Exposure",
        "facts": "karat.common_sections:Facts",
        "fingerprints": "karat.common_sections:Fingerprints",
        "first_scores": "karat.common_sections:ScoreHistogram",
        "fusion": "karat.common_sections:Fusion",
        "gate": "karat.gates:Gate",
        "hints": "karat.hints:Hints",
        "index": "karat.indexed:Indexed",
        "interactions": "karat.interactions.summary:Interactions",
        "keywords": "karat.common_sections:Keywords",
        "partial_matches": "karat.partial:Partial",
        "quantiles": "karat.common_sections:Quantiles",
        "space": "karat.hygiene:Hygiene",
        "spaces": "karat.hygiene:GoldSpaces",
        "stability": "karat.stability:Stability",
    },
    group="karat.sections",
)
"""Classes of sections by name. Third parties register theirs by entry points of the group ``karat.sections``."""

S = TypeVar("S", bound=Section)


@dataclass(frozen=True, eq=False)
class MappingSection(Section, Mapping[str, Any]):
    """Base class of sections that are a table of names and JSON values."""

    json_field = "content"

    content: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, key: str) -> Any:
        return self.content[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.content)

    def __len__(self) -> int:
        return len(self.content)


@dataclass(frozen=True, eq=False)
class UnknownSection(Section):
    """A section whose class is not installed here: it is kept as it was read, and not shown."""

    json_field = "value"

    key: str
    value: Any


def read_sections(
    form: Mapping[str, Any], other_keys: Collection[str], where: str, *, system: bool = False
) -> dict[str, Section]:
    """Read the sections that a report's JSON, or one of its systems, has besides its own keys."""
    found: dict[str, Section] = {}
    for key, value in form.items():
        if key in other_keys or value is None:
            continue
        kind = SECTIONS.find(key)
        if kind is None or (kind.system_only and not system):
            found[key] = UnknownSection(key, value)
            continue
        try:
            found[key] = kind.from_json(value, where)
        except RecordError as error:
            raise error.within(key) from error
    return found
