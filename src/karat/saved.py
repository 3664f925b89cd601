"""A report in its versioned form, fresh or read back: its systems, slices and columns by name."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import nan
from typing import Any

import numpy as np
import polars as pl

from karat.dialects import resolve
from karat.errors import DataError, KaratError, UnknownName
from karat.results import Recorded
from karat.sections import SECTIONS
from karat.statistics.intervals import Bounds, Resampling
from karat.types import Floats

__all__ = ["Column", "Saved"]


@dataclass(frozen=True)
class Saved:
    """The versioned form, and where it is from."""

    form: Mapping[str, Any]
    source: str

    @property
    def systems(self) -> Mapping[str, Any]:
        return self.form["systems"]  # type: ignore[no-any-return]

    @property
    def baseline(self) -> str | None:
        return self.form.get("baseline")

    @property
    def how(self) -> Resampling:
        given = self.form.get("resampling") or {}
        return Resampling(**{one.name: given[one.name] for one in fields(Resampling) if one.name in given})

    def figures(self, system: str) -> Mapping[str, Recorded]:
        """What else was recorded of a system."""
        found: Mapping[str, Any] = self.systems[system].get("figures") or {}
        return {name: Recorded.from_json(form) for name, form in found.items() if form is not None}

    def part(self, name: str | None) -> Mapping[str, Any]:
        """The whole report, or one of its slices: both have systems and comparisons."""
        if name is None:
            return self.form
        slices = {part["slice"]: part for part in self.form.get("slices") or ()}
        if not slices:
            raise DataError(
                f"the report has no slices, but a target asks for {name!r}",
                where=self.source,
                hint="Make it with --slices queries.csv:attribute.",
            )
        if self.form.get("interactions"):
            about: Any = SECTIONS.get("interactions").from_json(self.form["interactions"], self.source)
            if any(name in names for names in about.empty_tiers().values()):
                raise DataError(f"the tier {name} is empty in the {about.window} window", where=self.source)
        if name not in slices:
            raise UnknownName("slice", name, slices, where=self.source)
        return slices[name]  # type: ignore[no-any-return]

    def column(self, measure: str, system: str, part: str | None, where: str) -> "Column":
        """A measure of a system; spelled otherwise than in the report, it is found all the same."""
        measures: Mapping[str, Any] = self.systems[system]["measures"]
        if measure in measures:
            return self._within(measure, system, part, where)
        known = [*measures, *self.figures(system)]
        try:
            meant = str(resolve(measure).measure)
        except KaratError:
            raise UnknownName("measure or figure", measure, known, where=where) from None
        conventions = {label: entry.get("convention") or label for label, entry in measures.items()}
        found = next((label for label, convention in conventions.items() if convention == meant), None)
        if found is not None:
            return self._within(found, system, part, where)
        alike = next((label for label in measures if label.lower() == measure.lower()), None)
        hint = f"Make the report with -m '{measure}' too."
        if alike:
            hint = f"Its {alike} follows other conventions: {conventions[alike]} instead of {meant}."
        raise DataError(f"the report has no {measure}", where=where, expected=f"one of {', '.join(known)}", hint=hint)

    def _within(self, label: str, system: str, part: str | None, where: str) -> "Column":
        """A slice lacks what is one figure over all, such as coverage."""
        slices = {one["slice"]: one for one in self.form.get("slices") or ()}
        if part not in slices:
            return Column(self, system, label, part)
        if system not in slices[part]["systems"]:
            raise DataError(f"the gold of {system} has nothing of the slice {part}", where=where)
        held = slices[part]["systems"][system]["measures"]
        if label not in held:
            raise DataError(
                f"{label} was not worked out for the slice {part}", where=where, expected=f"one of {', '.join(held)}"
            )
        return Column(self, system, label, part)


@dataclass(frozen=True)
class Column:
    """One measure of one system in a report, over all queries or over a slice of them."""

    saved: Saved
    system: str
    label: str
    part: str | None

    @property
    def entry(self) -> Mapping[str, Any]:
        return self.saved.part(self.part)["systems"][self.system]["measures"][self.label]  # type: ignore[no-any-return]

    @property
    def mean(self) -> float | None:
        return self.entry["mean"]  # type: ignore[no-any-return]

    @property
    def n(self) -> int:
        return self.entry["n"]  # type: ignore[no-any-return]

    @property
    def ci(self) -> Bounds | None:
        ci = self.entry.get("ci")
        return (ci[0], ci[1]) if ci else None

    @property
    def convention(self) -> str:
        return self.saved.systems[self.system]["measures"][self.label].get("convention") or self.label

    def per_query(self) -> pl.DataFrame | None:
        """The scores of every query, as id and value; None where the report does not hold them."""
        queries = self.saved.form.get("queries")
        if queries is None:
            return None
        values: Floats = np.array(
            [nan if one is None else one for one in queries["scores"][self.system][self.label]], dtype=np.float64
        )
        frame = pl.DataFrame({"id": pl.Series(queries["ids"], dtype=pl.String), "value": values})
        if self.part is None:
            return frame
        rows = queries.get("slices", {}).get(self.part)
        return None if rows is None else frame[rows]
