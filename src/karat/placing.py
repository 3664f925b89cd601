"""Order without scores: stand-ins decide where they are far enough apart, and scores only where they are not."""

from collections.abc import Callable

import numpy as np

from karat.selection import taken
from karat.similarity import Singles
from karat.types import Bools, Floats, Ints

__all__ = ["levels_of", "placed"]

Score = Callable[[Ints, Ints], Floats]
"""Of each of these rows with the items in its columns."""
_COLUMNS_AT_ONCE = 4
"""Rows with about as many items to score are scored together."""


def placed(
    columns: Ints, standing: Singles, k: int, slack: float, places: Ints, score: Score
) -> tuple[Ints, Floats, Bools]:
    """The first k of each row in order, their levels (``levels_of``), and which rows are left open.

    ``columns`` are items of each row, ``standing`` their stand-ins, none of which is off by more than ``slack``; all
    items that are not listed stand no higher than the lowest. Of items whose stand-ins are more than twice the slack
    apart the higher one is first. The others form runs, within which scores decide, then ``places``.
    """
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
    # Row by row, and within a row run by run: so they go back to the same cells once each run is in order.
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
    """Of pairs in order of row; rows with about as many of them are scored together."""
    counts = np.bincount(row, minlength=rows)
    first = np.cumsum(counts) - counts
    found = np.empty(row.size)
    sizes = -(-counts // _COLUMNS_AT_ONCE) * _COLUMNS_AT_ONCE
    for size in np.unique(sizes[counts > 0]).tolist():
        some = np.flatnonzero(sizes == size)
        # The last of a row stands in for what it lacks.
        which = first[some, None] + np.minimum(np.arange(size), counts[some, None] - 1)
        found[which] = score(some, columns[which])
    return found


def levels_of(scores: Floats) -> Floats:
    """For scores that fall along each row: 0, −1, −2 …, the same for those that are equal."""
    return _falling(scores[:, 1:] != scores[:, :-1])


def _falling(apart: Bools) -> Floats:
    levels = np.zeros((len(apart), apart.shape[1] + 1))
    np.cumsum(apart, axis=1, out=levels[:, 1:])
    return np.negative(levels, out=levels)
