"""Exact nearest neighbours: the k items most similar to each query, ties by id.

Tiles of 32-bit products determine which items can be among the k; only those are scored, in float64 (``similarity``).
If the products do not decide which is the last of the k, all candidates are scored. So the order is the same for any
tile size and number of threads, and only one tile is in memory.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count

import numpy as np
from numpy.typing import NDArray

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Bools, Floats, Ints, Matrix, cut_rows, gathered, in_threads, threads
from rankjury.retrieval.knn.select import MISSING, PARTS, Best, Tile, buffer_of, taken
from rankjury.retrieval.knn.similarity import Similarity, Singles, similarity_of


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Items to exclude by query, ascending (CSR)."""

    starts: Ints
    items: Ints
    n_items: int

    @classmethod
    def own(cls, own: Ints, n_items: int) -> "LeftOut":
        """Exclude one item of each query, the query itself; none if it is negative."""
        has = own >= 0
        return cls(np.concatenate(([0], np.cumsum(has))), own[has], n_items)

    @cached_property
    def counts(self) -> Ints:
        return np.diff(self.starts)

    @cached_property
    def _keys(self) -> Ints:
        queries = np.repeat(np.arange(self.counts.size), self.counts)
        return queries * self.n_items + self.items

    def holds(self, queries: Ints, items: Ints) -> Bools:
        """Return whether each of these pairs is excluded."""
        wanted = queries * self.n_items + items
        return np.searchsorted(self._keys, wanted, "left") < np.searchsorted(self._keys, wanted, "right")

    def between(self, first: int, last: int, low: int, high: int) -> tuple[Ints, Ints]:
        """Return the rows and columns of excluded pairs in a tile, counted from its first query and item."""
        items = self.items[int(self.starts[first]) : int(self.starts[last])]
        row, column = np.repeat(np.arange(last - first), self.counts[first:last]), items - low
        if low > 0 or high < self.n_items:
            inside = (column >= 0) & (column < high - low)
            row, column = row[inside], column[inside]
        return row, column

    def of(self, queries: Ints) -> tuple[Ints, Ints]:
        """Return the excluded pairs of these queries: row among them, and item."""
        starts, at = gathered(self.starts, queries)
        return np.repeat(np.arange(queries.size), np.diff(starts)), self.items[at]


Score = Callable[[Ints, Ints], Floats]
"""Returns the scores of each of these rows with the items in its columns."""
_COLUMNS_AT_ONCE = 4
"""Rows with similar numbers of items to score are scored together."""


def placed(
    columns: Ints, standing: Singles, k: int, slack: float, places: Ints, score: Score
) -> tuple[Ints, Floats, Bools]:
    """Return the first k of each row in order, their levels (``levels_of``), and which rows are undecided.

    ``columns`` are items of each row, ``standing`` their approximate scores, each off by at most ``slack``; items that
    are not listed have no higher approximation than the lowest. Of items whose approximations differ by more than twice
    the slack, the higher one is first. The others form runs, which are ordered by scores, then by ``places``."""
    order = np.argsort(-standing, axis=1)
    columns, stand_ins = taken(columns, order), taken(standing, order).astype(np.float64)
    near = stand_ins[:, :-1] - stand_ins[:, 1:] <= 2.0 * slack
    run = np.zeros(columns.shape, dtype=np.int64)
    np.cumsum(~near, axis=1, out=run[:, 1:])
    last = run[:, k - 1 : k]
    open_ = run[:, -1] == last[:, 0]
    doubtful = np.zeros(columns.shape, dtype=bool)
    doubtful[:, :-1] |= near
    doubtful[:, 1:] |= near
    doubtful &= (run <= last) & ~open_[:, None]
    # Row by row, and within a row run by run, so that sorted runs are written to the same cells.
    cells = np.flatnonzero(doubtful)
    row = cells // columns.shape[1]
    doubted = columns.reshape(-1)[cells]
    scores = _scored(row, doubted, len(columns), score)
    order = np.lexsort((places[doubted], -scores, row * columns.shape[1] + run.reshape(-1)[cells]))
    columns.reshape(-1)[cells] = doubted[order]
    values = np.zeros(columns.shape)
    values.reshape(-1)[cells] = scores[order]
    apart = (values[:, 1:k] != values[:, : k - 1]) | (run[:, 1:k] != run[:, : k - 1])
    return columns[:, :k], _falling(apart), open_


def _scored(row: Ints, columns: Ints, rows: int, score: Score) -> Floats:
    """Score pairs in order of row; rows with similar numbers of pairs are scored together."""
    counts = np.bincount(row, minlength=rows)
    first = np.cumsum(counts) - counts
    found = np.empty(row.size)
    sizes = -(-counts // _COLUMNS_AT_ONCE) * _COLUMNS_AT_ONCE
    for size in np.unique(sizes[counts > 0]).tolist():
        some = np.flatnonzero(sizes == size)
        # Shorter rows are padded with their last item.
        which = first[some, None] + np.minimum(np.arange(size), counts[some, None] - 1)
        found[which] = score(some, columns[which])
    return found


def levels_of(scores: Floats) -> Floats:
    """Return levels of scores that decrease along each row: 0, −1, −2 …, the same for equal scores."""
    return _falling(scores[:, 1:] != scores[:, :-1])


def _falling(apart: Bools) -> Floats:
    levels = np.zeros((len(apart), apart.shape[1] + 1))
    np.cumsum(apart, axis=1, out=levels[:, 1:])
    return np.negative(levels, out=levels)


TILE_BYTES = 1 << 26
_ITEMS_IN_A_TILE = 1 << 15
_FEWEST_QUERIES_IN_A_TILE = 64
_MOST_QUERIES_IN_A_TILE = 4096
_MOST_TO_MERGE = 32
_PAIRS_AT_ONCE = 1 << 18
_FEW_PAIRS = 1 << 11
"""All scored sooner than threads could be started to choose among them."""
_QUERIES_AT_ONCE = 64
"""Number of undecided queries per block."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Items of each query, best first, and their scores; ``MISSING`` if there are fewer than k.

    Instead of scores there may be levels: 0, −1, −2 …, the same for tied items.
    """

    items: Ints
    scores: Floats

    def __post_init__(self) -> None:
        self.items.flags.writeable = self.scores.flags.writeable = False

    @property
    def found(self) -> Ints:
        """Number of items of each query."""
        return np.asarray(np.count_nonzero(self.items != MISSING, axis=1), dtype=np.int64)


def nearest(
    queries: Matrix,
    items: Matrix,
    k: int,
    *,
    metric: str = "cosine",
    places: Ints | None = None,
    own: Ints | None = None,
    left_out: LeftOut | None = None,
    scored: bool = True,
    tile_bytes: int | None = None,
    progress: Progress = NO_PROGRESS,
) -> Neighbours:
    """Return the k items most similar to each query, or all of them if there are fewer.

    ``places`` is each item's position in the order of ids, for ties (None: input order); ``own`` is the item that is
    the query itself, to be excluded, or ``MISSING``; ``left_out`` excludes any number of items. Not ``scored``: the
    same items in the same order with levels instead of scores, which is faster.
    """
    similarity = similarity_of(metric, queries, items)
    if own is not None and (own != MISSING).any():
        left_out = LeftOut.own(own, len(items))
    places = np.arange(len(items)) if places is None else places
    return _Search(similarity, min(k, len(items)), places, left_out, tile_bytes or TILE_BYTES, progress).run(scored)


@dataclass(eq=False)
class _Search:
    """A search: its inputs, and the steps from tiles to neighbours."""

    similarity: Similarity
    k: int
    places: Ints
    left_out: LeftOut | None
    tile_bytes: int
    progress: Progress

    def __post_init__(self) -> None:
        self.n_queries, self.n_items = len(self.similarity.queries), len(self.similarity.items)
        self.keep = min(self.k + max(4, self.k // 16), self.n_items)
        self.rows_at_once = min(-(-self.n_queries // PARTS), max(1, _PAIRS_AT_ONCE // max(1, self.keep)))

    def run(self, scored: bool) -> Neighbours:
        items = np.full((self.n_queries, self.k), MISSING, dtype=np.int64)
        scores = np.full((self.n_queries, self.k), -np.inf)
        if self.n_queries == 0 or self.k == 0:
            return Neighbours(items, scores)
        if 2 * self.keep >= self.n_items or self.n_queries * self.n_items <= _FEW_PAIRS:
            self._score_all(np.arange(self.n_queries), items, scores)
            return Neighbours(items, scores if scored else levels_of(scores))
        roughly, standing = self._candidates()
        few = np.zeros(self.n_queries, dtype=bool)
        if self.left_out is not None:  # queries with few more remaining items than requested
            few = self.n_items - self.left_out.counts <= self.keep
        if few.any():
            self._score_all(np.flatnonzero(few), items, scores)
            scored = True
        rows = np.flatnonzero(~few) if scored else self._place(roughly, standing, items, scores)
        open_ = self._settle(rows, roughly, standing, items, scores)
        self._score_open(open_, items, scores)
        if not scored:
            scores[rows] = levels_of(scores[rows])
        return Neighbours(items, scores)

    def _candidates(self) -> tuple[Ints, Singles]:
        """Return for every query the items with the highest approximate scores, and these, unordered."""
        best = Best(self.n_queries, self.keep)
        # For few neighbours within one set, computing only half of the products outweighs the cost of merging.
        itself = self.similarity.symmetric and self.similarity.queries is self.similarity.items
        itself = itself and self.keep <= _MOST_TO_MERGE
        if itself and self.left_out is not None:
            itself = np.array_equal(*self.left_out.of(np.arange(self.n_queries)))
        with ThreadPoolExecutor(threads()) as pool:
            for tile in self._tiles(itself):
                best.add(tile, pool, across=False, before=partial(self._leave_out, tile))
                if itself and tile.first != tile.low:
                    best.add(tile, pool, across=True)
        return best.items, best.standing

    def _tiles(self, itself: bool) -> Iterator[Tile]:
        """Yield tiles of every query with every item; ``itself``: of a set with itself, each pair once."""
        widest = int(max((self.tile_bytes // 4) ** 0.5, _FEWEST_QUERIES_IN_A_TILE)) if itself else _ITEMS_IN_A_TILE
        width = -(-self.n_items // -(-self.n_items // widest))
        fitting = self.tile_bytes // (4 * width)
        height = width if itself else int(np.clip(fitting, _FEWEST_QUERIES_IN_A_TILE, _MOST_QUERIES_IN_A_TILE))
        across, down = cut_rows(self.n_items, width), cut_rows(self.n_queries, height)
        buffer = buffer_of(min(height, self.n_queries), width)
        steps = len(across) * (len(across) + 1) // 2 if itself else len(across) * len(down)
        step = count()
        for number, (low, high) in enumerate(across):
            right = self.similarity.item_tile(low, high)
            for row, (first, last) in enumerate(down[: number + 1] if itself else down):
                self.progress.update("Searching", next(step), steps)
                left = right if itself and row == number else self.similarity.query_tile(first, last)
                yield Tile.product(left, right, buffer, first, low)

    def _leave_out(self, tile: Tile, first: int, last: int) -> None:
        """Exclude items from some rows of a tile."""
        if self.left_out is not None:
            rows = tile.first + first, tile.first + last
            row, column = self.left_out.between(*rows, tile.low, tile.low + tile.columns)
            tile.values[first:last].reshape(-1)[row * tile.values.shape[1] + column] = -np.inf

    def _place(self, roughly: Ints, standing: Singles, items: Ints, levels: Floats) -> Ints:
        """Order the candidates, and return the queries that must be scored."""

        def of_rows(first: int, last: int) -> Ints:
            rows = np.arange(first, last)
            items[first:last], levels[first:last], open_ = placed(
                roughly[first:last],
                standing[first:last],
                self.k,
                self.similarity.slack,
                self.places,
                lambda some, columns: self.similarity.scores(rows[some], columns),
            )
            return rows[open_]

        return np.concatenate(list(in_threads(of_rows, cut_rows(self.n_queries, self.rows_at_once))))

    def _settle(self, chosen: Ints, roughly: Ints, standing: Singles, items: Ints, scores: Floats) -> Ints:
        """Score the candidates of these queries, and return the queries whose k-th neighbour is still undecided."""

        def of_rows(first: int, last: int) -> Ints:
            rows = chosen[first:last]
            by_standing = np.argpartition(-standing[rows], self.k - 1, axis=1)
            columns, stand_ins = (taken(both[rows], by_standing) for both in (roughly, standing))
            found = self.similarity.scores(rows, columns[:, : self.k])
            # No item after the first k can be among them if the best of them is certainly below the lowest of the k.
            open_ = self._may_come_in(rows, found.min(axis=1), stand_ins[:, self.k :].max(axis=1, initial=-np.inf))
            items[rows], scores[rows] = self._in_order(columns[:, : self.k], found)
            others = self.similarity.scores(rows[open_], columns[open_, self.k :])
            items[rows[open_]], scores[rows[open_]] = self._in_order(columns[open_], np.hstack([found[open_], others]))
            still = self._may_come_in(rows[open_], scores[rows[open_], -1], stand_ins[open_].min(axis=1))
            return rows[open_][still]

        parts = in_threads(of_rows, cut_rows(chosen.size, self.rows_at_once))
        return np.concatenate([np.empty(0, dtype=np.int64), *parts])

    def _may_come_in(self, rows: Ints, lowest: Floats, others: Singles) -> NDArray[np.bool_]:
        """Return whether an item with an approximate score of at most ``others`` may score as high as ``lowest``."""
        return self.similarity.stand_in(rows, lowest) <= others + self.similarity.slack

    def _in_order(self, columns: Ints, values: Floats) -> tuple[Ints, Floats]:
        """Return the k best of each row, by score, then by id."""
        by_id = np.argsort(self.places[columns], axis=1)
        columns, values = (taken(both, by_id) for both in (columns, values))
        order = np.argsort(-values, axis=1, kind="stable")[:, : self.k]
        return taken(columns, order), taken(values, order)

    def _score_open(self, rows: Ints, items: Ints, scores: Floats) -> None:
        """Score all items that may be among the k: those whose approximate score is not certainly below the k-th's."""
        for first, last in cut_rows(rows.size, _QUERIES_AT_ONCE):
            block = rows[first:last]
            kth = self.similarity.stand_in(block, scores[block, -1])
            left = np.concatenate([self.similarity.query_tile(row, row + 1) for row in block.tolist()])
            best = _BestSoFar(self, block)
            for low, high in cut_rows(self.n_items, _ITEMS_IN_A_TILE):
                product = left @ self.similarity.item_tile(low, high).T
                row, column = np.nonzero(product >= (kth - self.similarity.slack)[:, None])
                best.add(row, column + low)
            items[block], scores[block] = best.table()

    def _score_all(self, chosen: Ints, items: Ints, scores: Floats) -> None:
        """Score all items for these queries, if most of them are needed."""

        def of_rows(first: int, last: int) -> None:
            rows = chosen[first:last]
            columns = np.tile(np.arange(self.n_items), (rows.size, 1))
            found = self.similarity.scores(rows, columns)
            if self.left_out is not None:
                found[self.left_out.of(rows)] = -np.inf
            ordered, scores[rows] = self._in_order(columns, found)
            items[rows] = np.where(np.isneginf(scores[rows]), MISSING, ordered)
            self.progress.update("Scoring neighbours", last, chosen.size)

        deque(in_threads(of_rows, cut_rows(chosen.size, max(1, _PAIRS_AT_ONCE // self.n_items))), maxlen=0)


class _BestSoFar:
    """Best items of a few queries while candidates are added, a bounded number at a time."""

    def __init__(self, search: _Search, queries: Ints) -> None:
        self.search, self.queries = search, queries
        self.row = self.column = np.empty(0, dtype=np.int64)
        self.value = np.empty(0)

    def add(self, rows: Ints, columns: Ints) -> None:
        search = self.search
        for first, last in cut_rows(rows.size, _PAIRS_AT_ONCE):
            row, column = rows[first:last], columns[first:last]
            if search.left_out is not None:
                others = ~search.left_out.holds(self.queries[row], column)
                row, column = row[others], column[others]
            value = search.similarity.scores(self.queries[row], column[:, None])[:, 0]
            row, column, value = np.append(self.row, row), np.append(self.column, column), np.append(self.value, value)
            order = np.lexsort((search.places[column], -value, row))
            row, column, value = row[order], column[order], value[order]
            starts = np.searchsorted(row, np.arange(self.queries.size))
            kept = np.arange(row.size) - starts[row] < search.k
            self.row, self.column, self.value = row[kept], column[kept], value[kept]

    def table(self) -> tuple[Ints, Floats]:
        shape = (self.queries.size, self.search.k)
        items, scores = np.full(shape, MISSING, dtype=np.int64), np.full(shape, -np.inf)
        place = np.arange(self.row.size) - np.searchsorted(self.row, np.arange(shape[0]))[self.row]
        items[self.row, place], scores[self.row, place] = self.column, self.value
        return items, scores


def score_listed(queries: Matrix, items: Matrix, rows: Ints, columns: Ints, *, metric: str = "cosine") -> Floats:
    """Return the scores of the pairs (rows[i], columns[i]), for queries with individual candidates."""
    similarity = similarity_of(metric, queries, items)

    def of_rows(first: int, last: int) -> Floats:
        return similarity.scores(rows[first:last], columns[first:last, None])[:, 0]

    return np.concatenate([np.empty(0), *in_threads(of_rows, cut_rows(rows.size, _PAIRS_AT_ONCE))])


def score_neighbours(
    queries: Matrix, items: Matrix, columns: Ints, *, rows: Ints | None = None, metric: str = "cosine"
) -> Floats:
    """Return the scores of each query (those of ``rows``; None: all) with the items in its columns; −∞ if MISSING."""
    known = columns != MISSING
    of_rows = np.broadcast_to((np.arange(len(columns)) if rows is None else rows)[:, None], columns.shape)
    scores = np.full(columns.shape, -np.inf)
    scores[known] = score_listed(queries, items, of_rows[known], columns[known], metric=metric)
    return scores
