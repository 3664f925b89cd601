"""Recommendations that were made elsewhere, checked against a task: what users had, what is unknown, who is missing."""

from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl

from rankjury.core.text import join_names, plural
from rankjury.core.types import Bools, Ints, Ranking, cut_rows, gathered, places_in
from rankjury.errors import DataError
from rankjury.recsys.models.rank import CELLS_AT_ONCE, candidates_of
from rankjury.recsys.task import Task

_FEW = 3


def check_recommendations(
    ranking: Ranking,
    task: Task,
    *,
    seen: Literal["drop", "keep"] = "drop",
    unknown: Literal["drop", "keep"] = "drop",
) -> tuple[Ranking, list[str]]:
    """The ranking, perhaps without items that are no candidates, and what is to be told of it.

    ``seen`` are items that the user took in training, ``unknown`` those that the catalogue lacks; items that were held
    out are candidates, whatever they are. Users of whom nothing was held out are left as they are.
    """
    users = places_in(task.log.users, ranking.queries.cast(pl.String))
    asked = np.isin(users, task.users)
    if not asked.any():
        raise DataError(
            f"none of its users is among those of {task.window}: {join_names(ranking.queries, _FEW)}",
            where=ranking.source,
            expected=f"users such as {join_names(task.log.users.gather(task.users[:_FEW]))}",
        )
    row = np.repeat(np.arange(len(ranking)), np.diff(ranking.starts))
    item = places_in(task.log.items, ranking.items.cast(pl.String))
    taken, foreign = _faults(task, users, asked, row, item)
    notes = []
    others = int((~asked).sum())
    if others:
        notes.append(
            f"{plural(others, 'user', 'users')} of the recommendations {'has' if others == 1 else 'have'} nothing held "
            f"out in {task.window}, and {'does' if others == 1 else 'do'} not count"
        )
    missing = task.users[~np.isin(task.users, users[asked])]
    if missing.size:
        names = join_names(task.log.users.gather(missing[: _FEW + 1]), _FEW)
        notes.append(f"{plural(missing.size, 'user is', 'users are')} recommended nothing: {names}")
    notes += _item_notes(taken, foreign, row, seen, unknown)
    dropped = (taken & (seen == "drop")) | (foreign & (unknown == "drop"))
    if task.sampled is not None:
        absent = _not_drawn(task, users, asked, row, item) & ~taken & ~foreign
        dropped |= absent
        if absent.any():
            many = plural(int(absent.sum()), "recommendation is", "recommendations are")
            notes.append(f"{many} of items that are not among the drawn candidates, left out: what follows moves up")
    if not dropped.any():
        return ranking, notes
    kept = ~dropped
    before = np.concatenate(([0], np.cumsum(kept))).astype(np.int64)
    left = replace(
        ranking,
        starts=before[ranking.starts],
        items=ranking.items.filter(pl.Series(kept)),
        scores=None if ranking.scores is None else ranking.scores[kept],
        ranks_only=not ranking.has_scores,  # told before the ranks have gaps
    )
    return left, notes


def _faults(task: Task, users: Ints, asked: Bools, row: Ints, item: Ints) -> tuple[Bools, Bools]:
    """Which rows are of items that the user has, and which of items that are not in the catalogue."""
    width = len(task.log.items)
    checked = asked[row]
    key = np.where(checked & (item >= 0), np.where(checked, users[row], 0) * width + item, -1)
    starts, out = task.left_out
    taken = np.isin(key, np.repeat(task.users, np.diff(starts)) * width + out) & (key >= 0)
    held_starts, at = gathered(task.held.starts, task.users)
    held = np.isin(key, np.repeat(task.users, np.diff(held_starts)) * width + task.held.items[at])
    outside = (item < 0) | ~task.in_catalogue[item]
    return taken, checked & outside & ~held & ~taken


def _not_drawn(task: Task, users: Ints, asked: Bools, row: Ints, item: Ints) -> Bools:
    """Which rows are of items that are no candidates of the user, where candidates were drawn."""
    found = np.zeros(row.size, dtype=bool)
    place = np.searchsorted(task.users, np.where(asked, users, 0))
    looked_at = np.flatnonzero(asked[row] & (item >= 0))
    of_user = place[row[looked_at]]
    width = max(1, len(task.log.items))
    for first, last in cut_rows(task.users.size, max(1, CELLS_AT_ONCE // width)):
        inside = (of_user >= first) & (of_user < last)
        if inside.any():
            drawn = candidates_of(task, np.arange(first, last))
            found[looked_at[inside]] = ~drawn[of_user[inside] - first, item[looked_at[inside]]]
    return found


def _item_notes(taken: Bools, foreign: Bools, row: Ints, seen: str, unknown: str) -> list[str]:
    notes = []
    for rows, what, choice in (
        (taken, "of items that the user has from training", seen),
        (foreign, "of items that the catalogue lacks", unknown),
    ):
        n = int(rows.sum())
        if n:
            users = plural(np.unique(row[rows]).size, "user", "users")
            done = (
                "left out: what follows moves up" if choice == "drop" else "kept: they take places, and cannot be right"
            )
            notes.append(f"{plural(n, 'recommendation is', 'recommendations are')} {what} ({users}), {done}")
    return notes
