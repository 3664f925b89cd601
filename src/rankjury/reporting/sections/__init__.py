"""Renderers of sections: the tables and charts of each section, built once for all writers.

A renderer is a module of this package, or of a third party that names it under the entry point group
``rankjury.section_renderers``. It takes the whole report and returns what is to be shown of its section for all
systems::

    @renderer("space")
    def render(report: Report, brief: bool) -> SectionBlock | None:
        found = report.sections_of(Hygiene)
        return SectionBlock("Embedding spaces", tables=[...]) if found else None

Console, Markdown, the HTML page, notebooks and pull requests show the blocks that ``render_sections`` returns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankjury.core.registry import Registry
from rankjury.evaluation.report import Report
from rankjury.reporting.tables import TextTable

if TYPE_CHECKING:
    from rankjury.reporting.charts.spec import Chart


@dataclass(frozen=True)
class SectionBlock:
    """What is shown of a section."""

    title: str
    tables: Sequence[TextTable] = ()
    lines: Sequence[str] = ()
    """Sentences, shown under the tables."""
    charts: "Callable[[], Sequence[Chart]]" = tuple
    """Builds the charts; only writers that draw call it."""
    order: int = 100
    """Blocks are shown in this order, equal ones by name."""
    replaces: frozenset[str] = frozenset()
    """Core tables (``headline``, ``comparison``, ``slices``) that it shows better: the console leaves these out."""
    core_tables: int = 0
    """How many of the last tables are those, which only writers without the core tables show."""
    only: frozenset[str] = frozenset()
    """Writers (``console``, ``markdown``, ``html``, ``notebook``, ``pull-request``) that show it; none: all."""

    @property
    def own_tables(self) -> Sequence[TextTable]:
        """The tables for writers that show the core tables anyway."""
        return self.tables[: len(self.tables) - self.core_tables]


Render = Callable[[Report, bool], SectionBlock | None]
"""Takes the report and whether little is wanted: a terminal or a notebook shows the headline, files and pages all."""
_BRIEF = frozenset({"console", "notebook", "pull-request"})
RENDERERS: Registry[Render] = Registry(
    "section renderer", home="rankjury.reporting.sections", group="rankjury.section_renderers"
)


def renderer(name: str) -> Callable[[Render], Render]:
    """Register the decorated function as the renderer of the section ``name``."""
    return RENDERERS.register(name)


def render_sections(report: Report, writer: str) -> list[tuple[str, SectionBlock]]:
    """Return the blocks that a writer shows, by section name, in their order."""
    present = {*report.sections, *(name for system in report.systems.values() for name in system.sections)}
    renders = {RENDERERS.find(name): name for name in sorted(present)}  # several sections may share a renderer
    found = []
    for render, name in renders.items():
        block = None if render is None else render(report, writer in _BRIEF)
        if block is not None and (not block.only or writer in block.only):
            found.append((name, block))
    return sorted(found, key=lambda pair: (pair[1].order, pair[0]))
