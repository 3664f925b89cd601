"""karat's own sections."""

from karat import (
    agreement,
    common_sections,
    drift,
    examples,
    exposures,
    gates,
    hints,
    hygiene,
    indexed,
    partial,
    stability,
)
from karat.sections import SECTIONS, Section

__all__: list[str] = []

_MODULES = (agreement, common_sections, drift, examples, exposures, gates, hints, hygiene, indexed, stability, partial)

for _module in _MODULES:
    for _found in vars(_module).values():
        if isinstance(_found, type) and issubclass(_found, Section) and _found.__module__.startswith(_module.__name__):
            SECTIONS.add(_found.name, _found)
