"""Recommendations: top k candidates of each user by a model, and checks of recommendations from files.

The whole catalogue is ranked; training items of the user are excluded, and ties are ordered by item id. Models with
factors are searched exactly, at the speed of matrix multiplication; the others score blocks of users.
"""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.text import join_names, plural
from rankjury.core.types import Bools, Floats, Ints, Matrix, Ranking, cut_rows, freeze, gathered, places_in
from rankjury.errors import DataError, UnknownName
from rankjury.recsys.models import Recommender
from rankjury.recsys.task import Task, select_entries
from rankjury.retrieval.knn.search import LeftOut, nearest
from rankjury.retrieval.knn.select import MISSING
from rankjury.stats.resampling import pair_words, query_keys, random_words

_COLD_USERS = ("popularity", "nothing")
"""Fallbacks for users that a model does not know."""
_CELLS_AT_ONCE = 1 << 23
_EXAMPLES = 3
"""Maximum number of ids in an error."""


@dataclass(frozen=True, eq=False)
class Recommendations:
    """Items for each user of a task, best first, with scores; ``MISSING`` if there are fewer."""

    users: Ints
    """Item codes of the log."""
    items: Ints
    scores: Floats
    cold: Bools
    """Users that are unknown to the model, and got the fallback or nothing."""
    fallback: str

    def __post_init__(self) -> None:
        freeze(self)

    def ranking(self, task: Task, source: str = "recommender") -> Ranking:
        """Return a ranking with the ids of users and items."""
        present = self.items != MISSING
        return Ranking(
            task.log.users.gather(self.users).rename("query_id"),
            np.concatenate(([0], np.cumsum(present.sum(axis=1)))).astype(np.int64),
            task.log.items.gather(self.items[present]),
            self.scores[present],
            source,
            same_ids=True,
            fallback=self.cold.copy() if self.fallback == "popularity" and self.cold.any() else None,
        )

    def notes(self, depth: int | None = None) -> list[str]:
        """Return warnings on cold users and short lists; ``depth``: the number of used items, if not all."""
        notes = []
        cold = int(self.cold.sum())
        if cold:
            gets, scores = ("gets", "scores") if cold == 1 else ("get", "score")
            got = "the most popular items" if self.fallback == "popularity" else f"nothing, and {scores} 0"
            notes.append(f"{plural(cold, 'user is', 'users are')} unknown to the model, and {gets} {got}")
        k = self.items.shape[1] if depth is None else depth
        short = int(((self.items[~self.cold, :k] == MISSING).any(axis=1)).sum())
        if short:
            notes.append(f"{plural(short, 'user has', 'users have')} fewer than {k:,} candidates that it can score")
        return notes


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
    """Return the k best candidates of each user of the task, by a model fitted on its training windows.

    Not ``scored``: the same items in the same order, but scores may be levels that only give order and ties, which is
    faster if scores are not needed.
    """
    if cold not in _COLD_USERS:
        raise UnknownName("fall-back for cold users", cold, _COLD_USERS)
    users = task.users
    known = model.knows(users)
    items, scores = np.full((users.size, k), MISSING, dtype=np.int64), np.full((users.size, k), -np.inf)
    factors = model.factors() if task.sampled is None else None
    rows = np.flatnonzero(known)
    if factors is not None:
        _rank_by_factors(factors, task, rows, items, scores, scored, source, progress)
        # then users with individual candidates outside the catalogue that have factors
        starts, extra = task.extra_candidates
        has_factors = ~np.isnan(np.asarray(factors[1])[extra, 0])
        rows = rows[(np.diff(np.concatenate(([0], np.cumsum(has_factors)))[starts]) > 0)[rows]]
    _rank_by_blocks(model, task, rows, items, scores, source, progress)
    if not known.all() and cold == "popularity":
        counts = np.bincount(task.train.pairs.items, minlength=len(task.log.items)).astype(np.float64)
        rows = np.flatnonzero(~known)
        for first, last in cut_rows(rows.size, max(1, _CELLS_AT_ONCE // max(1, counts.size))):
            allowed = np.where(candidate_mask(task, rows[first:last]), counts, -np.inf)
            items[rows[first:last]], scores[rows[first:last]] = top_items(allowed, k)
    return Recommendations(users, items, scores, ~known, cold)


def _rank_by_factors(
    factors: tuple[Matrix, Matrix],
    task: Task,
    rows: Ints,
    items: Ints,
    scores: Floats,
    scored: bool,
    source: str,
    progress: Progress,
) -> None:
    """Fill rows of ``items`` and ``scores`` by exact search among the catalogue's items with factors."""
    of_users, of_items = factors
    candidates = np.flatnonzero(task.in_catalogue & ~np.isnan(of_items[:, 0]))
    queries, corpus = np.asarray(of_users)[task.users[rows]], np.asarray(of_items)[candidates]
    for name, side, codes, ids in (
        ("user", queries, task.users[rows], task.log.users),
        ("item", corpus, candidates, task.log.items),
    ):
        bad = np.flatnonzero(~np.isfinite(side).all(axis=1))
        if bad.size:
            raise _not_a_number(f"a factor of {name} {ids[int(codes[bad[0]])]!r}", bad.size, source)
    starts, excluded = task.excluded
    if rows.size < task.users.size:
        starts, at = gathered(starts, rows)
        excluded = excluded[at]
    if candidates.size < len(task.log.items):  # as positions among the candidates
        place = np.full(len(task.log.items), MISSING, dtype=np.int64)
        place[candidates] = np.arange(candidates.size)
        excluded = place[excluded]
        starts, excluded = select_entries(starts, excluded, excluded != MISSING)
    left_out = LeftOut(starts, excluded, candidates.size)
    best = nearest(queries, corpus, items.shape[1], metric="ip", left_out=left_out, scored=scored, progress=progress)
    width = best.items.shape[1]
    items[rows, :width] = np.where(best.items == MISSING, MISSING, candidates[best.items])
    scores[rows, :width] = best.scores


def _rank_by_blocks(
    model: Recommender, task: Task, rows: Ints, items: Ints, scores: Floats, source: str, progress: Progress
) -> None:
    """Fill rows of ``items`` and ``scores`` by scoring all items for blocks of users."""
    n = len(task.log.items)
    for first, last in cut_rows(rows.size, max(1, _CELLS_AT_ONCE // max(1, n))):
        block = rows[first:last]
        table = np.asarray(model.score(task.users[block], np.arange(n)), dtype=np.float64)
        if table.shape != (block.size, n):
            raise DataError(
                f"scores of shape {table.shape}", where=source, expected=f"{block.size:,} users × {n:,} items"
            )
        bad = np.isnan(table) | np.isposinf(table)
        if bad.any():
            row, column = divmod(int(np.argmax(bad)), n)
            user, item = task.log.users[int(task.users[block[row]])], task.log.items[column]
            raise _not_a_number(f"the score of item {item!r} for user {user!r}", int(bad.sum()), source)
        allowed = np.where(candidate_mask(task, block), table, -np.inf)
        items[block], scores[block] = top_items(allowed, items.shape[1])
        progress.update("Recommending", last, rows.size)


def _not_a_number(what: str, times: int, source: str) -> DataError:
    return DataError(
        f"{what} is not a number ({plural(times, 'such value', 'such values')} here)",
        where=source,
        expected="finite scores, or −∞ for items that cannot be recommended",
    )


def candidate_mask(task: Task, rows: Ints) -> Bools:
    """Return users × items: which items are candidates of which user; ``rows`` are positions in the task's users."""
    allowed = np.tile(task.in_catalogue, (rows.size, 1))
    for (starts, of), value in ((task.excluded, False), (task.extra_candidates, True)):
        some, at = gathered(starts, rows)
        allowed[np.repeat(np.arange(rows.size), np.diff(some)), of[at]] = value
    return sample_candidates(task, rows, allowed)


def sample_candidates(task: Task, rows: Ints, allowed: Bools) -> Bools:
    """Return the held-out candidates and a sample of the other allowed ones, determined by seed, user and item."""
    if task.sampled is None:
        return allowed
    starts, at = gathered(task.held_out_items[0], rows)
    held_out = np.zeros_like(allowed)
    held_out[np.repeat(np.arange(rows.size), np.diff(starts)), task.held_out_items[1][at]] = True
    # a separate random stream: the random recommender uses pairs of keys, and would avoid the sample
    of_items = random_words(query_keys(task.log.items, task.sampled.seed), 0, 1)[:, 0]
    of_users = query_keys(task.log.users, task.sampled.seed)[task.users[rows]]
    mixed = pair_words(of_users, of_items)
    mixed[~allowed | held_out] = np.iinfo(np.uint64).max
    n = min(task.sampled.n, allowed.shape[1])
    last = np.partition(mixed, n - 1, axis=1)[:, n - 1 : n]
    return held_out | ((mixed <= last) & allowed & (mixed < np.iinfo(np.uint64).max))


def top_items(table: Floats, k: int) -> tuple[Ints, Floats]:
    """Return the k highest of each row, ties by column; −∞ is never among them (``MISSING``)."""
    n, width = table.shape
    items, scores = np.full((n, k), MISSING, dtype=np.int64), np.full((n, k), -np.inf)
    if width == 0 or k == 0:
        return items, scores
    k = min(k, width)
    floor = np.partition(table, width - k, axis=1)[:, width - k]
    row, column = np.nonzero((table >= floor[:, None]) & (table > -np.inf))
    value = table[row, column]
    order = np.lexsort((column, -value, row))
    row, column, value = row[order], column[order], value[order]
    place = np.arange(row.size) - np.searchsorted(row, np.arange(n))[row]
    best = place < k
    items[row[best], place[best]], scores[row[best], place[best]] = column[best], value[best]
    return items, scores


def check_recommendations(ranking: Ranking, task: Task) -> tuple[Ranking, list[str]]:
    """Return recommendations from a file without items that are not candidates, and warnings on them.

    Training items of the user and items outside the catalogue are not candidates; held-out items always are. Users
    without held-out items are unchanged.
    """
    users = places_in(task.log.users, ranking.queries.cast(pl.String))
    evaluated = np.isin(users, task.users)
    if not evaluated.any():
        raise DataError(
            f"none of its users is among those of {task.window}: {join_names(ranking.queries, _EXAMPLES)}",
            where=ranking.source,
            expected=f"users such as {join_names(task.log.users.gather(task.users[:_EXAMPLES]))}",
        )
    row = np.repeat(np.arange(len(ranking)), np.diff(ranking.starts))
    item = places_in(task.log.items, ranking.items.cast(pl.String))
    checked = evaluated[row]
    width = len(task.log.items)
    key = np.where(checked & (item >= 0), users[row] * width + item, -1)
    taken, held_out = (
        np.isin(key, np.repeat(task.users, np.diff(starts)) * width + items)
        for starts, items in (task.excluded, task.held_out_items)
    )
    foreign = checked & ((item < 0) | ~task.in_catalogue[item]) & ~held_out & ~taken
    unsampled = np.zeros_like(taken)
    if task.sampled is not None:
        place = np.searchsorted(task.users, np.where(evaluated, users, 0))
        rows = np.flatnonzero(checked & (item >= 0) & ~taken & ~foreign)
        of_user = place[row[rows]]
        for first, last in cut_rows(task.users.size, max(1, _CELLS_AT_ONCE // max(1, width))):
            inside = (of_user >= first) & (of_user < last)
            if inside.any():
                candidates = candidate_mask(task, np.arange(first, last))
                unsampled[rows[inside]] = ~candidates[of_user[inside] - first, item[rows[inside]]]
    notes = []
    others = int((~evaluated).sum())
    if others:
        notes.append(
            f"{plural(others, 'user', 'users')} of the recommendations {'has' if others == 1 else 'have'} nothing held "
            f"out in {task.window}, and {'is' if others == 1 else 'are'} ignored"
        )
    missing = task.users[~np.isin(task.users, users[evaluated])]
    if missing.size:
        names = join_names(task.log.users.gather(missing[: _EXAMPLES + 1]), _EXAMPLES)
        notes.append(f"{plural(missing.size, 'user is', 'users are')} without recommendations: {names}")
    for wrong, what in (
        (taken, "of training items of the user"),
        (foreign, "of items outside the catalogue"),
        (unsampled, "of items outside the sampled candidates"),
    ):
        if wrong.any():
            many = plural(int(wrong.sum()), "recommendation is", "recommendations are")
            of_users = f" ({plural(np.unique(row[wrong]).size, 'user', 'users')})" if wrong is not unsampled else ""
            notes.append(f"{many} {what}{of_users}, removed: the following items move up")
    dropped = taken | foreign | unsampled
    if not dropped.any():
        return ranking, notes
    before = np.concatenate(([0], np.cumsum(~dropped))).astype(np.int64)
    rest = replace(
        ranking,
        starts=before[ranking.starts],
        items=ranking.items.filter(pl.Series(~dropped)),
        scores=None if ranking.scores is None else ranking.scores[~dropped],
        ranks_only=not ranking.has_scores,  # determined before ranks have gaps
    )
    return rest, notes
