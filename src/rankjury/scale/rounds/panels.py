"""Which parts of the queries are looked at by themselves: all of them, slices of them, slices of what is relevant."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rankjury.core.types import Floats
from rankjury.errors import DataError
from rankjury.evaluation.slices.groups import (
    AttributeRows,
    GroupDefinition,
    crossing_name,
    define_groups,
    suitable_attributes_of,
)
from rankjury.evaluation.slices.stats import check_slice_names
from rankjury.scale.request import EvaluationRequest
from rankjury.scale.rounds.found import BlockFindings
from rankjury.scale.rounds.scored import BlockScores
from rankjury.stats.resampling import Keys


@dataclass(frozen=True)
class Panel:
    """All queries, or a slice."""

    name: str
    note: str
    of: str
    """``queries`` or ``items``, of a slice; of all queries it is empty."""
    table: int = 0
    """Which scores: those against the whole gold, or against a group of items."""
    attributes: int = 0
    definition: GroupDefinition | None = None
    what: str = ""
    """The attribute, or the two, by which it is a slice."""

    @property
    def is_slice(self) -> bool:
        return bool(self.of)


@dataclass(frozen=True, eq=False)
class PanelScores:
    """A panel's queries among those of a block, and the others."""

    panel: Panel
    scores: Floats
    keys: Keys
    others: Floats


def make_panels(request: EvaluationRequest, found: BlockFindings) -> tuple[Panel, ...]:
    """All queries, then the slices; of some there may be nobody."""
    panels = [Panel("", "", "")]
    for number, (asked, censuses) in enumerate(zip(request.attributes, found.censuses, strict=True)):
        wanted = asked.asked or suitable_attributes_of(censuses)
        if not wanted:
            raise DataError("found no attribute that groups", where=asked.where, expected="a category or a number")
        panels += [
            Panel(one.name, one.note, "queries", attributes=number, definition=one, what=crossing_name(attributes))
            for attributes in wanted
            for one in define_groups(attributes, censuses, asked.where)
        ]
    groups = request.item_groups
    if groups is not None:
        named = zip(groups.names, groups.notes, strict=True)
        panels += [Panel(name, note, "items", table=number) for number, (name, note) in enumerate(named, 1)]
    check_slice_names([panel.name for panel in panels])
    return tuple(panels)


def panel_scores(scored: BlockScores, panels: Sequence[Panel], *, others: bool = False) -> Iterator[PanelScores]:
    """Every panel's part of a block; ``others``: with the scores of the queries that a slice leaves out."""
    tables: dict[int, Floats] = {}
    rows: dict[int, AttributeRows] = {}
    keys = scored.keys
    for panel in panels:
        if panel.table not in tables:
            tables[panel.table] = scored.table(panel.table)
        scores = tables[panel.table]
        members = None
        if panel.definition is not None:
            if panel.attributes not in rows:
                rows[panel.attributes] = AttributeRows(scored.attributes(panel.attributes))
            members = panel.definition.members(rows[panel.attributes])
        elif panel.table:
            members = scored.participates(panel.table)
        if members is None:
            yield PanelScores(panel, scores, keys, np.empty((0, scores.shape[1])))
        else:
            rest = scores[~members] if others and panel.of == "queries" else np.empty((0, scores.shape[1]))
            yield PanelScores(panel, scores[members], keys[members], rest)
