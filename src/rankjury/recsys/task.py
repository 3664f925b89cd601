"""Task: the users to recommend to, their candidates, and the held-out items."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.params import is_whole
from rankjury.core.text import join_names, plural
from rankjury.core.types import Background, Bools, Gold, Ints, freeze, gathered, places_in
from rankjury.core.validation import check_fields
from rankjury.errors import DataError, UnknownName, UsageError, shorten
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log, UserItems
from rankjury.recsys.split import WINDOWS, Split, Window

Item = TypeVar("Item", bound=np.generic)
Catalogue = Literal["items", "seen", "train"]
"""The items of a file, all seen up to the end of the window, or those of the training windows."""
_LIMIT = 2**62
"""Sums of a few numbers below this limit fit into 64 bits."""


@dataclass(frozen=True)
class Sampled:
    """Sampled candidates instead of the whole catalogue: n items that the user did not take, and the held-out ones."""

    n: int
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value, least in (("n", self.n, 1), ("seed", self.seed, 0)):
            if not is_whole(value) or not least <= value < _LIMIT:
                expected = f"a whole number from {least} to {_LIMIT - 1:,}"
                raise UsageError(f"{name} of sampled candidates is {shorten(value)}", expected=expected)


@dataclass(frozen=True, eq=False)
class Task:
    """Window of a split to be predicted from the windows before it."""

    split: Split
    window: Window = "test"
    fit_on: tuple[Window, ...] = ("train",)
    """Windows that models learn from; the user's items in them are not candidates."""
    catalogue: Bools | None = None
    """Items of the log that can be recommended to every user; None: all."""
    sampled: Sampled | None = None
    features: SideFeatures = field(default_factory=SideFeatures)
    setup_notes: tuple[str, ...] = ()
    """Warnings from reading the log and the catalogue."""

    def __post_init__(self) -> None:
        check_fields(self, "split", "window", "fit_on", "catalogue", "sampled", "features")
        freeze(self)
        for name in (self.window, *self.fit_on):
            if name not in WINDOWS:
                raise UnknownName("window", str(name), WINDOWS)
        place = WINDOWS.index(self.window)
        if not self.fit_on or any(WINDOWS.index(name) >= place for name in self.fit_on):
            raise UsageError(
                f"models would learn from {' and '.join(self.fit_on) or 'nothing'} and be evaluated on {self.window}",
                expected=f"earlier windows: {', '.join(WINDOWS[:place]) or 'there are none before train'}",
            )

    def __repr__(self) -> str:
        return f"Task({self.log.source}: {self.window} of {self.users.size:,} users, from {' and '.join(self.fit_on)})"

    @property
    def log(self) -> Log:
        """The whole log, training and held-out windows."""
        return self.split.log

    @cached_property
    def train(self) -> Log:
        """The rows of the training windows."""
        return self.split.window(*self.fit_on)

    @cached_property
    def held_out(self) -> UserItems:
        """Held-out items by user; users without any are not in ``users``."""
        return self.split.held_out(self.window).pairs

    @cached_property
    def users(self) -> Ints:
        """Codes of the users to recommend to: all with held-out items."""
        return np.flatnonzero(np.diff(self.held_out.starts))

    @cached_property
    def in_catalogue(self) -> Bools:
        """Whether each item of the log can be recommended to every user."""
        return np.ones(len(self.log.items), dtype=bool) if self.catalogue is None else self.catalogue

    @cached_property
    def held_out_items(self) -> tuple[Ints, Ints]:
        """Held-out items of each of ``users``. CSR: starts, and codes of items ascending."""
        starts, at = gathered(self.held_out.starts, self.users)
        return starts, self.held_out.items[at].astype(np.int64)

    @cached_property
    def gold(self) -> Gold:
        """The held-out items, with their ratings as grades."""
        starts, at = gathered(self.held_out.starts, self.users)
        return Gold(
            self.log.users.gather(self.users).rename("query_id"),
            starts,
            self.log.items.gather(self.held_out.items[at]),
            self.held_out.values[at],
            complete=True,
            source=f"{self.log.source} ({self.window})",
        )

    @cached_property
    def excluded(self) -> tuple[Ints, Ints]:
        """Items that are not candidates of each of ``users``: training items that are not held out.

        CSR: starts, and codes of items ascending.
        """
        starts, at = gathered(self.train.pairs.starts, self.users)
        items, width = self.train.pairs.items[at].astype(np.int64), len(self.log.items)
        row, held_row = _rows(starts), _rows(self.held_out_items[0])
        return select_entries(starts, items, ~np.isin(row * width + items, held_row * width + self.held_out_items[1]))

    @cached_property
    def extra_candidates(self) -> tuple[Ints, Ints]:
        """Held-out items of each of ``users`` outside the catalogue: candidates of that user only (CSR)."""
        starts, items = self.held_out_items
        return select_entries(starts, items, ~self.in_catalogue[items])

    @cached_property
    def candidates(self) -> dict[str, int]:
        """Number of candidates of each of ``users``."""
        inside = np.diff(select_entries(*self.excluded, self.in_catalogue[self.excluded[1]])[0])
        numbers = int(self.in_catalogue.sum()) - inside + np.diff(self.extra_candidates[0])
        if self.sampled is not None:
            numbers = np.minimum(numbers, np.diff(self.held_out.starts)[self.users] + self.sampled.n)
        return dict(zip(self.log.users.gather(self.users), numbers.tolist(), strict=True))

    @cached_property
    def background(self) -> Background:
        """Input of measures beyond accuracy, from the training windows only."""
        pairs = self.train.pairs
        place = np.cumsum(self.in_catalogue) - 1
        starts, items = select_entries(pairs.starts, pairs.items, self.in_catalogue[pairs.items])
        codes = place[items].astype(np.int64)
        return Background(
            items=self.log.items.filter(pl.Series(self.in_catalogue)),
            popularity=np.bincount(codes, minlength=int(self.in_catalogue.sum())).astype(np.int64),
            n_users=int((np.diff(pairs.starts) > 0).sum()),
            users=self.log.users,
            starts=starts,
            history=codes,
            features={name: matrix[self.in_catalogue] for name, matrix in self.features.items.items()},
        )

    def notes(self) -> Iterator[str]:
        """Yield warnings on the task, with counts."""
        yield from self.setup_notes
        taken = np.diff(self.train.pairs.starts)[self.users]
        items = np.unique(self.held_out.items)
        cold_items = int((self.train.per_item[items] == 0).sum())
        yield (
            f"{self.window}: {plural(self.users.size, 'user', 'users')}, "
            f"{plural(int((taken == 0).sum()), 'of whom has', 'of whom have')} no training interactions; "
            f"{plural(items.size, 'item', 'items')} held out, "
            f"{plural(cold_items, 'of which has', 'of which have')} none"
        )
        if self.held_out.dropped:
            rows = plural(self.held_out.dropped, "held-out row is", "held-out rows are")
            yield f"{rows} with the user and item of another row: the latest counts"
        if self.extra_candidates[1].size:
            pairs = plural(self.extra_candidates[1].size, "held-out interaction is", "held-out interactions are")
            yield f"{pairs} of items outside the catalogue: candidates of those users only"
        again = int(taken.sum()) - self.excluded[1].size
        if again:
            pairs = plural(again, "held-out interaction repeats", "held-out interactions repeat")
            yield f"{pairs} one of training: still candidates"
        if self.sampled is not None:
            yield (
                f"candidates are {self.sampled.n:,} sampled items and the held-out ones: sampled measures do not order "
                "systems as the whole catalogue does (Krichene & Rendle 2020), and are much too high; do not compare "
                "them with values on the whole catalogue"
            )
        yield "items that a user did not take count as not relevant, although the user may like them"
        yield from self.split.leaks


def _rows(starts: Ints) -> Ints:
    """Return the row of each entry (CSR)."""
    return np.repeat(np.arange(starts.size - 1), np.diff(starts))


def select_entries(starts: Ints, items: NDArray[Item], mask: Bools) -> tuple[Ints, NDArray[Item]]:
    """Return some of the entries (CSR)."""
    before = np.concatenate(([0], np.cumsum(mask))).astype(np.int64)
    return before[starts], items[mask]


def catalogue_mask(
    kind: Catalogue, split: Split, window: Window, fit_on: tuple[Window, ...], listed: pl.Series | None = None
) -> tuple[Bools, list[str]]:
    """Return which items of the log can be recommended to every user, and warnings on them."""
    log = split.log
    mask = np.zeros(len(log.items), dtype=bool)
    if kind == "items":
        if listed is None:
            raise DataError("there is no file of items", where=log.source, expected="items = FILE, or catalogue = seen")
        mask[places_in(log.items, listed.cast(pl.String))] = True
        taken = np.unique(log.item)
        unknown = int((~mask[taken]).sum())
        if taken.size and unknown == taken.size:
            raise DataError(
                f"none of the log's {plural(unknown, 'item', 'items')} is in the file of items",
                where=log.source,
                expected=f"ids such as {join_names(log.items.gather(taken[:3]))}; the file has {join_names(listed, 3)}",
            )
        lacking = plural(unknown, "item of the log is", "items of the log are")
        return mask, [f"{lacking} not in the file of items"] if unknown else []
    known: tuple[Window, ...] = fit_on if kind == "train" else (*fit_on, window)
    if kind == "seen" and window == "test":
        known = WINDOWS
    mask[split.window(*dict.fromkeys(known)).item] = True
    return mask, []
