"""Report sections of recommenders: the log and its split (Interactions), and what is recommended (Exposure)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isnan
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from rankjury.core.types import Floats, Lists
from rankjury.core.validation import Record, SignedInt
from rankjury.errors import DataError
from rankjury.evaluation.sections import Section
from rankjury.recsys.task import Catalogue

if TYPE_CHECKING:
    from rankjury.evaluation.report import Report


@dataclass(frozen=True)
class WindowSize(Record):
    """Size of a window of the log, and how much of it training does not have."""

    json_keys = MappingProxyType({"begin": "from", "end": "to"})

    rows: int | None = None
    share: float | None = None
    users: int | None = None
    items: int | None = None
    cold_users: int | None = None
    """Users who are not in training."""
    cold_items: int | None = None
    first: SignedInt | None = None
    """The earliest time, as in the log."""
    last: SignedInt | None = None
    begin: str | None = None
    """The earliest time as ISO."""
    end: str | None = None


@dataclass(frozen=True)
class CatalogueSize(Record):
    """How many items can be recommended, and which these are."""

    kind: Catalogue
    items: int


@dataclass(frozen=True)
class SampledCandidates(Record):
    """How many candidates were drawn for each user."""

    sampled: int
    seed: int = 0


@dataclass(frozen=True)
class TierSize(Record):
    """How large a tier of users or items is."""

    range: str
    held_out: int
    """How many are in the window that systems are evaluated against."""
    train: int | None = None
    """How many are in training."""
    share: float | None = None
    """The share of training interactions."""


@dataclass(frozen=True, eq=False)
class Interactions(Section):
    """The log that the gold was held out of: its split, windows, catalogue and tiers."""

    name = "interactions"
    unit = ("user", "users")

    window: str
    """The window that systems are evaluated against."""
    fit_on: str
    split: Mapping[str, Any]
    catalogue: CatalogueSize
    windows: Mapping[str, WindowSize]
    candidates: str | SampledCandidates = "whole catalogue"
    cutoffs: Mapping[str, SignedInt] = field(default_factory=dict)
    cutoff_times: Mapping[str, str | None] = field(default_factory=dict)
    """The cut-offs as ISO, where they are times."""
    tiers: Mapping[str, Mapping[str, Mapping[str, TierSize]]] = field(default_factory=dict)
    """By side (users, items), tier and label."""
    leaks: tuple[str, ...] = ()
    """What the split lets training know of the window."""

    def __post_init__(self) -> None:
        for name, window in self.windows.items():
            if name != "train" and None in (window.cold_users, window.cold_items):
                raise DataError(f"the window {name} does not say how many users and items are new")

    def summary(self, report: "Report", system: str | None) -> Iterator[str]:
        """Yield how much of the window is cold (unknown to training), and which system is best for cold users."""
        window = self.windows.get(self.window)
        if window is None or not window.users or not (window.cold_users or window.cold_items):
            return
        items = f" and {window.cold_items:,} of {window.items:,} items" if window.items else ""
        sentence = f"Cold start: {window.cold_users or 0:,} of {window.users:,} users{items} are new to training"
        label = next(iter((*report.headline, *report.labels)), None)
        part = next((part for part in report.slices if part.name == "user=cold"), None)
        means = {
            name: estimates[label].mean
            for name, estimates in (part.estimates if part is not None else {}).items()
            if label in estimates and not report.systems[name].random and not isnan(estimates[label].mean)
        }
        if label is None or part is None or not means:
            yield f"{sentence}."
            return
        sign = -1 if report.lower_is_better(label) else 1
        best = max(means, key=lambda name: sign * means[name])
        beside = ""
        if report.baseline in means and best != report.baseline:
            beside = f" ({report.baseline} {means[report.baseline]:.3f})"
        tier = f"users with {part.note.replace('training interactions', '').strip()} training interactions"
        about = tier if "training interactions" in part.note else "cold users"
        yield f"{sentence}; best for {about}: {best}, {label} {means[best]:.3f}{beside}."

    def empty_tiers(self) -> dict[str, list[str]]:
        """Return the tiers of users and of items that nothing of the window is in; they are no slices."""
        return {
            side: [
                f"{'item.' if side == 'items' and name != 'item' else ''}{name}={label}"
                for name, sizes in tiers.items()
                for label, size in sizes.items()
                if not size.held_out and size.range
            ]
            for side, tiers in self.tiers.items()
        }

    def absent_slices(self) -> dict[str, str]:
        """Return the empty tiers, with the reason why they are no slices."""
        empty = (name for names in self.empty_tiers().values() for name in names)
        return {name: f"the tier {name} is empty in the {self.window} window" for name in empty}


@dataclass(frozen=True, eq=False)
class Exposure(Section):
    """Shares of recommendations and of training interactions by popularity, the most popular items first."""

    name = "exposure"

    k: int
    n: int
    """The number of recommendations."""
    edges: tuple[float, ...]
    """The upper end of each part, as a share of the catalogue, the most popular items first."""
    recommended: tuple[float, ...]
    """The share of recommendations in each part."""
    taken: tuple[float, ...]
    """The share of training interactions in each part."""
    distinct: int
    """The number of items that are recommended to any user."""
    catalogue: int


def exposure_of(lists: Lists, k: int, parts: int = 10) -> Exposure:
    """Return the exposure of the first k items of all users, by tenths of the catalogue (``parts``); ties by id."""
    background = lists.background
    codes = lists.first(k)
    often = np.bincount(codes[codes >= 0], minlength=len(background.items)).astype(np.float64)
    order = np.argsort(-background.popularity, kind="stable")
    bounds = np.round(np.linspace(0, order.size, min(parts, max(1, order.size)) + 1)).astype(np.int64)

    def shares(values: Floats) -> tuple[float, ...]:
        before = np.concatenate(([0.0], np.cumsum(values[order])))
        return tuple((np.diff(before[bounds]) / (values.sum() or 1.0)).tolist())

    return Exposure(
        k=k,
        n=int(often.sum()),
        edges=tuple((bounds[1:] / max(1, order.size)).tolist()),
        recommended=shares(often),
        taken=shares(background.popularity.astype(np.float64)),
        distinct=int((often > 0).sum()),
        catalogue=order.size,
    )
