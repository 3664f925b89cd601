"""Task: who is to be recommended what, from which candidates, and what was held out to evaluate it on."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl

from rankjury.core.lists import Background
from rankjury.core.params import is_whole
from rankjury.core.text import join_names, plural
from rankjury.core.types import Bools, Gold, Ints, freeze, gathered, places_in
from rankjury.core.validation import check_arguments, check_fields
from rankjury.errors import DataError, UnknownName, UsageError, shorten
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log, UserItems
from rankjury.recsys.split import WINDOWS, Split, Window

Catalogue = Literal["items", "seen", "train"]
"""The items of a file, all that were seen up to the end of the window, or those of the training windows."""
_MOST = 2**62
"""So that sums of a few such numbers fit into 64 bits."""


@dataclass(frozen=True)
class Sampled:
    """Candidates drawn instead of the whole catalogue: so many that a user did not take, beside what was held out."""

    n: int
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value, least in (("n", self.n, 1), ("seed", self.seed, 0)):
            if not is_whole(value) or not least <= value < _MOST:
                expected = f"a whole number from {least} to {_MOST - 1:,}"
                raise UsageError(f"{name} of sampled candidates is {shorten(value)}", expected=expected)


@dataclass(frozen=True, eq=False)
class Task:
    """A window of a split to be predicted from what came before it."""

    split: Split
    window: Window = "test"
    fit_on: tuple[Window, ...] = ("train",)
    """The windows that models learn from; what a user took there is no candidate."""
    catalogue: Bools | None = None
    """Which of the log's items can be recommended to everybody; None: all."""
    sampled: Sampled | None = None
    facts: SideFeatures = field(default_factory=SideFeatures)
    told: tuple[str, ...] = ()
    """What was found when it was made, to be warned of."""

    def __post_init__(self) -> None:
        check_fields(self, "split", "window", "fit_on", "catalogue", "sampled", "facts")
        freeze(self)
        for name in (self.window, *self.fit_on):
            if name not in WINDOWS:
                raise UnknownName("window", str(name), WINDOWS)
        place = WINDOWS.index(self.window)
        if not self.fit_on or any(WINDOWS.index(name) >= place for name in self.fit_on):
            raise UsageError(
                f"models would learn from {' and '.join(self.fit_on) or 'nothing'} and be evaluated on {self.window}",
                expected=f"only what comes before: {', '.join(WINDOWS[:place]) or 'nothing comes before train'}",
            )

    def __repr__(self) -> str:
        return f"Task({self.log.source}: {self.window} of {self.users.size:,} users, from {' and '.join(self.fit_on)})"

    @property
    def log(self) -> Log:
        return self.split.log

    @cached_property
    def train(self) -> Log:
        return self.split.window(*self.fit_on)

    @cached_property
    def held(self) -> UserItems:
        """What was held out, by user; users without anything have no row in ``users``."""
        return self.split.held_out(self.window).pairs

    @cached_property
    def users(self) -> Ints:
        """The codes of those who are recommended something: all that something was held out of."""
        return np.flatnonzero(np.diff(self.held.starts))

    @cached_property
    def in_catalogue(self) -> Bools:
        return np.ones(len(self.log.items), dtype=bool) if self.catalogue is None else self.catalogue

    @cached_property
    def gold(self) -> Gold:
        """What was held out, its rating as grade."""
        starts, at = gathered(self.held.starts, self.users)
        return Gold(
            self.log.users.gather(self.users).rename("query_id"),
            starts,
            self.log.items.gather(self.held.items[at]),
            self.held.values[at],
            complete=True,
            source=f"{self.log.source} ({self.window})",
        )

    @cached_property
    def left_out(self) -> tuple[Ints, Ints]:
        """Of each of ``users`` the items that are no candidates: what they took in training, unless it was held out.

        CSR: starts, and codes of items ascending.
        """
        return self.left_out_of(self.users)

    @check_arguments
    def left_out_of(self, users: Ints) -> tuple[Ints, Ints]:
        """The same of any users."""
        taken, held = self.train.pairs, self.held
        starts, at = gathered(taken.starts, users)
        row, item = np.repeat(np.arange(users.size), np.diff(starts)), taken.items[at].astype(np.int64)
        of_starts, of_at = gathered(held.starts, users)
        size = len(self.log.items)
        kept = np.repeat(np.arange(users.size), np.diff(of_starts)) * size + held.items[of_at]
        out = ~np.isin(row * size + item, kept)
        return np.searchsorted(row[out], np.arange(users.size + 1)).astype(np.int64), item[out]

    @cached_property
    def beyond(self) -> tuple[Ints, Ints]:
        """Of each of ``users`` what was held out though the catalogue lacks it: candidates of theirs alone (CSR)."""
        starts, at = gathered(self.held.starts, self.users)
        row, item = np.repeat(np.arange(self.users.size), np.diff(starts)), self.held.items[at].astype(np.int64)
        extra = ~self.in_catalogue[item]
        return np.searchsorted(row[extra], np.arange(self.users.size + 1)).astype(np.int64), item[extra]

    @cached_property
    def candidates(self) -> dict[str, int]:
        """How many candidates each of ``users`` has."""
        out_starts, out = self.left_out
        row = np.repeat(np.arange(self.users.size), np.diff(out_starts))
        inside = np.bincount(row[self.in_catalogue[out]], minlength=self.users.size)
        numbers = int(self.in_catalogue.sum()) - inside + np.diff(self.beyond[0])
        if self.sampled is not None:
            held = np.diff(self.held.starts)[self.users]
            numbers = np.minimum(numbers, held + self.sampled.n)
        return dict(zip(self.log.users.gather(self.users), numbers.tolist(), strict=True))

    @cached_property
    def background(self) -> Background:
        """What measures beyond accuracy may know: of the training windows alone."""
        pairs = self.train.pairs
        place = np.cumsum(self.in_catalogue) - 1
        kept = self.in_catalogue[pairs.items]
        before = np.concatenate(([0], np.cumsum(kept)))
        codes = place[pairs.items[kept]].astype(np.int64)
        return Background(
            items=self.log.items.filter(pl.Series(self.in_catalogue)),
            popularity=np.bincount(codes, minlength=int(self.in_catalogue.sum())).astype(np.int64),
            n_users=int((np.diff(pairs.starts) > 0).sum()),
            users=self.log.users,
            starts=before[pairs.starts],
            history=codes,
            features={name: matrix[self.in_catalogue] for name, matrix in self.facts.items.items()},
        )

    def notes(self) -> Iterator[str]:
        """What is to be known of the task, with counts."""
        yield from self.told
        taken = np.diff(self.train.pairs.starts)[self.users]
        held = np.unique(self.held.items)
        cold_items = int((np.bincount(self.train.item, minlength=len(self.log.items))[held] == 0).sum())
        yield (
            f"{self.window}: {plural(self.users.size, 'user', 'users')}, "
            f"{plural(int((taken == 0).sum()), 'of whom has', 'of whom have')} no training interactions; "
            f"{plural(held.size, 'item', 'items')} held out, {plural(cold_items, 'of which has', 'of which have')} none"
        )
        if self.held.dropped:
            rows = plural(self.held.dropped, "held-out row is", "held-out rows are")
            yield f"{rows} of a user and an item that another row is of: the latest counts"
        outside = int(np.diff(self.beyond[0]).sum())
        if outside:
            pairs = plural(outside, "held-out interaction is", "held-out interactions are")
            yield f"{pairs} of items that the catalogue lacks: candidates of those users alone"
        again = int(np.diff(gathered(self.train.pairs.starts, self.users)[0]).sum()) - int(self.left_out[0][-1])
        if again:
            pairs = plural(again, "held-out interaction repeats", "held-out interactions repeat")
            yield f"{pairs} one of training: candidates all the same"
        if self.sampled is not None:
            yield (
                f"candidates are {self.sampled.n:,} drawn items beside those held out: sampled measures do not order "
                "systems as the whole catalogue does (Krichene & Rendle 2020), and are much too high; compare no "
                "figure with one of the whole catalogue"
            )
        yield "what a user did not take counts as not relevant, though nobody asked whether they would have liked it"
        yield from self.split.leaks


def catalogue_mask(
    kind: Catalogue, split: Split, window: Window, fit_on: tuple[Window, ...], listed: pl.Series | None = None
) -> tuple[Bools, list[str]]:
    """Which of the log's items everybody may be recommended, and what is to be told of it."""
    log = split.log
    found = np.zeros(len(log.items), dtype=bool)
    if kind == "items":
        if listed is None:
            raise DataError("there is no file of items", where=log.source, expected="items = FILE, or catalogue = seen")
        found[places_in(log.items, listed.cast(pl.String))] = True
        taken = np.unique(log.item)
        unknown = int((~found[taken]).sum())
        if taken.size and unknown == taken.size:
            raise DataError(
                f"none of the log's {plural(unknown, 'item', 'items')} is in the file of items",
                where=log.source,
                expected=f"ids such as {join_names(log.items.gather(taken[:3]))}; the file has {join_names(listed, 3)}",
            )
        return found, [
            f"{plural(unknown, 'item of the log is', 'items of the log are')} not in the file of items"
        ] if unknown else []
    known: tuple[Window, ...] = fit_on if kind == "train" else (*fit_on, window)
    if kind == "seen" and window == "test":
        known = ("train", "validation", "test")
    found[split.window(*dict.fromkeys(known)).item] = True
    return found, []
