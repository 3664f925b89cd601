"""Who may be recommended: the catalogue, and candidates that are drawn where somebody insists."""

from typing import Literal

import numpy as np
import polars as pl

from rankjury.core.text import join_names, plural
from rankjury.core.types import Bools, Ints, gathered, places_in
from rankjury.errors import DataError
from rankjury.recsys.splitting.split import Split, Window
from rankjury.recsys.task import Task
from rankjury.stats.resampling import keys_of, pair_words, random_words

Catalogue = Literal["items", "seen", "train"]
"""The items of a file, all that were seen up to the end of the window, or those of the training windows."""


def catalogue_of(
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


def drawn(task: Task, rows: Ints, allowed: Bools) -> Bools:
    """Of the allowed candidates those that were held out, and some of the others by the seed, user and item."""
    if task.sampled is None:
        return allowed
    starts, at = gathered(task.held.starts, task.users[rows])
    held = np.zeros_like(allowed)
    held[np.repeat(np.arange(rows.size), np.diff(starts)), task.held.items[at]] = True
    # a stream of its own: the random recommender orders by pairs of keys, and would shun what was drawn
    of_items = random_words(keys_of(task.log.items, task.sampled.seed), 0, 1)[:, 0]
    of_users = keys_of(task.log.users, task.sampled.seed)[task.users[rows]]
    mixed = pair_words(of_users, of_items)
    mixed[~allowed | held] = np.iinfo(np.uint64).max
    n = min(task.sampled.n, allowed.shape[1])
    last = np.partition(mixed, n - 1, axis=1)[:, n - 1 : n]
    return held | ((mixed <= last) & allowed & (mixed < np.iinfo(np.uint64).max))
