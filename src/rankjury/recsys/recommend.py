"""The first k of the whole catalogue for each user: what they have is left out, equal scores stand by id.

Models that have factors are searched exactly, at the speed of the multiplication; the others score blocks of users.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.text import join_names, plural
from rankjury.core.types import Bools, Floats, Ints, Matrix, Ranking, cut_rows, freeze, gathered, places_in
from rankjury.errors import DataError, UnknownName
from rankjury.recsys.models import Recommender
from rankjury.recsys.task import Task
from rankjury.retrieval.knn.search import LeftOut, nearest
from rankjury.retrieval.knn.select import MISSING
from rankjury.stats.resampling import keys_of, pair_words, random_words

COLD = ("popularity", "nothing")
"""What users get of whom a model knows nothing."""
CELLS_AT_ONCE = 1 << 23


@dataclass(frozen=True, eq=False)
class Recommendations:
    """For each user of a task the items, best first, and their scores; ``MISSING`` where there are fewer."""

    users: Ints
    """Codes, as in the log."""
    items: Ints
    scores: Floats
    cold: Bools
    """Who is unknown to the model, and got the fall-back or nothing."""
    fallback: str
    short: int
    """How many of the users that it knows have fewer items than were asked for."""

    def __post_init__(self) -> None:
        freeze(self)

    def ranking(self, task: Task, source: str = "recommender") -> Ranking:
        """With the ids of users and items, for judging."""
        held = self.items != MISSING
        return Ranking(
            task.log.users.gather(self.users).rename("query_id"),
            np.concatenate(([0], np.cumsum(held.sum(axis=1)))).astype(np.int64),
            task.log.items.gather(self.items[held]),
            self.scores[held],
            source,
            same_ids=True,
            fallback=self.cold.copy() if self.fallback == "popularity" and self.cold.any() else None,
        )

    def notes(self, looked_at: int | None = None) -> list[str]:
        """What is to be warned of; ``looked_at``: so many are asked for, if not all that were recommended."""
        found = []
        cold = int(self.cold.sum())
        if cold:
            gets = ("gets", "scores") if cold == 1 else ("get", "score")
            got = (
                f"{gets[0]} the most popular items"
                if self.fallback == "popularity"
                else f"{gets[0]} nothing, and {gets[1]} 0"
            )
            found.append(f"{plural(cold, 'user is', 'users are')} not known to the model, and {got}")
        k = self.items.shape[1] if looked_at is None else looked_at
        short = int(((self.items[~self.cold, :k] == MISSING).any(axis=1)).sum())
        if short:
            found.append(f"{plural(short, 'user has', 'users have')} fewer than {k:,} candidates that it can score")
        return found


def recommend(
    model: Recommender,
    task: Task,
    k: int,
    *,
    cold: str = "popularity",
    scored: bool = True,
    source: str = "recommender",
    progress: Progress = NO_PROGRESS,
) -> Recommendations:
    """The k best candidates of each user of the task, by a model that was fitted on its training windows.

    Not ``scored``: the same items in the same order, but scores may be levels that only tell order and ties, which is
    quicker where that is all that is looked at.
    """
    if cold not in COLD:
        raise UnknownName("fall-back for cold users", cold, COLD)
    users = task.users
    known = model.knows(users)
    items, scores = np.full((users.size, k), MISSING, dtype=np.int64), np.full((users.size, k), -np.inf)
    factors = model.factors() if task.sampled is None else None
    rows = np.flatnonzero(known)
    if factors is not None:
        _by_factors(factors, task, rows, k, items, scores, scored, source, progress)
        # then users with candidates of their own, beyond the catalogue, that have factors
        starts, beyond = task.beyond
        has_factors = ~np.isnan(np.asarray(factors[1])[beyond, 0])
        rows = rows[(np.diff(np.concatenate(([0], np.cumsum(has_factors)))[starts]) > 0)[rows]]
    _by_blocks(model, task, rows, k, items, scores, source, progress)
    if not known.all() and cold == "popularity":
        counts = np.bincount(task.train.pairs.items, minlength=len(task.log.items)).astype(np.float64)
        rows = np.flatnonzero(~known)
        for first, last in cut_rows(rows.size, max(1, CELLS_AT_ONCE // max(1, counts.size))):
            allowed = np.where(candidate_mask(task, rows[first:last]), counts, -np.inf)
            items[rows[first:last]], scores[rows[first:last]] = top_items(allowed, k)
    short = int(((items[known] == MISSING).any(axis=1)).sum()) if k else 0
    return Recommendations(users, items, scores, ~known, cold, short)


def _by_factors(
    factors: tuple[Matrix, Matrix],
    task: Task,
    rows: Ints,
    k: int,
    items: Ints,
    scores: Floats,
    scored: bool,
    source: str,
    progress: Progress,
) -> None:
    """Exact search among the catalogue's items that have factors."""
    of_users, of_items = factors
    candidates = np.flatnonzero(task.in_catalogue & ~np.isnan(of_items[:, 0]))
    queries, corpus = np.asarray(of_users)[task.users[rows]], np.asarray(of_items)[candidates]
    for name, side, ids in (("user", queries, task.users[rows]), ("item", corpus, candidates)):
        bad = np.flatnonzero(~np.isfinite(side).all(axis=1))
        if bad.size:
            known = task.log.users if name == "user" else task.log.items
            raise _no_number(f"a factor of {name} {known[int(ids[bad[0]])]!r}", bad.size, source)
    left = _left_out(task, rows, candidates)
    found = nearest(queries, corpus, k, metric="ip", left_out=left, scored=scored, progress=progress)
    width = found.items.shape[1]
    items[rows, :width] = np.where(found.items == MISSING, MISSING, candidates[found.items])
    scores[rows, :width] = found.scores


def _left_out(task: Task, rows: Ints, candidates: Ints) -> LeftOut:
    """What these users are not recommended, as places among the candidates."""
    starts, out = task.left_out
    if rows.size < task.users.size:
        starts, at = gathered(starts, rows)
        out = out[at]
    if candidates.size < len(task.log.items):
        place = np.full(len(task.log.items), MISSING, dtype=np.int64)
        place[candidates] = np.arange(candidates.size)
        out = place[out]
        inside = out != MISSING
        starts, out = np.concatenate(([0], np.cumsum(inside))).astype(np.int64)[starts], out[inside]
    return LeftOut(starts, out, candidates.size)


def _by_blocks(
    model: Recommender,
    task: Task,
    rows: Ints,
    k: int,
    items: Ints,
    scores: Floats,
    source: str,
    progress: Progress,
) -> None:
    """Scores of whole blocks of users, candidates chosen from them."""
    n = len(task.log.items)
    everything = np.arange(n)
    for first, last in cut_rows(rows.size, max(1, CELLS_AT_ONCE // max(1, n))):
        block = rows[first:last]
        table = np.asarray(model.score(task.users[block], everything), dtype=np.float64)
        if table.shape != (block.size, n):
            raise DataError(
                f"scores of shape {table.shape}", where=source, expected=f"{block.size:,} users × {n:,} items"
            )
        bad = np.isnan(table) | np.isposinf(table)
        if bad.any():
            row, column = divmod(int(np.argmax(bad)), n)
            user, item = task.log.users[int(task.users[block[row]])], task.log.items[column]
            raise _no_number(f"the score of item {item!r} for user {user!r}", int(bad.sum()), source)
        allowed = np.where(candidate_mask(task, block), table, -np.inf)
        items[block], scores[block] = top_items(allowed, k)
        progress.update("Recommending", last, rows.size)


def candidate_mask(task: Task, rows: Ints) -> Bools:
    """Users × items: who may be recommended what; ``rows`` are places among the task's users."""
    allowed = np.tile(task.in_catalogue, (rows.size, 1))
    for (starts, of), value in ((task.left_out, False), (task.beyond, True)):
        some, at = gathered(starts, rows)
        allowed[np.repeat(np.arange(rows.size), np.diff(some)), of[at]] = value
    return allowed if task.sampled is None else sample_candidates(task, rows, allowed)


def sample_candidates(task: Task, rows: Ints, allowed: Bools) -> Bools:
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


def _no_number(what: str, times: int, source: str) -> DataError:
    return DataError(
        f"{what} is no number ({plural(times, 'such value', 'such values')} here)",
        where=source,
        expected="finite scores, or −∞ for what cannot be recommended",
    )


def top_items(table: Floats, k: int) -> tuple[Ints, Floats]:
    """The k highest of each row, equal ones by column; −∞ is never among them (``MISSING``)."""
    n, width = table.shape
    items, scores = np.full((n, k), MISSING, dtype=np.int64), np.full((n, k), -np.inf)
    if width == 0 or k == 0:
        return items, scores
    kept = min(k, width)
    floor = np.partition(table, width - kept, axis=1)[:, width - kept]
    row, column = np.nonzero((table >= floor[:, None]) & (table > -np.inf))
    value = table[row, column]
    order = np.lexsort((column, -value, row))
    row, column, value = row[order], column[order], value[order]
    place = np.arange(row.size) - np.searchsorted(row, np.arange(n))[row]
    held = place < kept
    items[row[held], place[held]], scores[row[held], place[held]] = column[held], value[held]
    return items, scores


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
            sample_candidates = candidate_mask(task, np.arange(first, last))
            found[looked_at[inside]] = ~sample_candidates[of_user[inside] - first, item[looked_at[inside]]]
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
