"""Samples of queries and of pairs that hang on the seed and the ids alone: another model changes neither."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from karat.blocks import cut_rows
from karat.errors import DataError, UsageError
from karat.statistics.streams import Keys, keys_of, random_words
from karat.types import Ints
from karat.wording import count, named

__all__ = ["chosen_ids", "sample_ids", "sample_others"]

_CELLS_AT_ONCE = 1 << 20
_SPARE = 8
_MANY = 4
"""Where more than one of so many is wanted, all are put into a random order."""
_HALF_A_WORD = np.uint64(32)
_FIRST = 1
"""Word 0 chooses the queries: those that were sampled all have a low one."""


def sample_ids(ids: pl.Series, size: int | None, seed: int, *, where: str = "sample") -> pl.Series:
    """So many of the ids, each once, in ascending order; None: all.

    Each id has a random number by the seed, and the lowest are taken: neither the order of the ids nor what else is
    drawn plays a part, and a larger sample holds the smaller one.
    """
    ordered = ids.cast(pl.String).sort()
    if size is None:
        return ordered
    if size < 1:
        raise UsageError(f"a sample of {size}", where=where, expected="1 or more")
    if size > len(ordered):
        raise DataError(
            f"a sample of {size:,} from {len(ordered):,}",
            where=where,
            expected=f"at most {len(ordered):,}",
            hint="Leave the size of the sample away to take all.",
        )
    words = random_words(keys_of(ordered, seed), 0, 1)[:, 0]
    return ordered.gather(np.sort(np.argsort(words, kind="stable")[:size]))


def chosen_ids(ids: pl.Series, wanted: pl.Series, *, numbered: bool, where: str) -> tuple[pl.Series, list[str]]:
    """Choose queries that the user lists.

    Args:
        ids: All ids; numbers from 0 on where the rows have no ids of their own.
        wanted: The ids to ask, as strings.
        numbered: Whether the ids are row numbers.
        where: The file or argument that lists them.

    Returns:
        The ids in ascending order, and a note where they may have been meant as row numbers, which they are not.

    Raises:
        DataError: None are listed, one is listed twice, or one is not known.
    """
    if not len(wanted):
        raise DataError("found no queries", where=where, expected="at least one")
    if wanted.is_duplicated().any():
        twice = wanted.filter(wanted.is_duplicated()).unique(maintain_order=True)
        raise DataError(f"queries that are listed more than once: {named(twice)}", where=where, expected="each once")
    known = ids.cast(pl.String)
    unknown = wanted.filter(~wanted.is_in(known.implode()))
    if len(unknown):
        raise DataError(
            f"{count(len(unknown), 'query is', 'queries are')} not known: {named(unknown)}",
            where=where,
            expected=f"row numbers from 0 to {len(ids) - 1:,}" if numbered else "ids of the reference",
            hint=None if numbered else "The reference has ids of its own, so that row numbers cannot be used.",
        )
    doubtful = not numbered and wanted.str.contains(r"^\d+$").all()
    told = f"{where}: its {len(wanted):,} numbers are taken as ids, since the reference has ids, and not as row numbers"
    return wanted.sort(), [told] if doubtful else []


def sample_others(queries: pl.Series, own: Ints, items: int, size: int, seed: int) -> Ints:
    """For each query so many of the numbers below ``items``, ascending, each once, its ``own`` left out (−1: none).

    Where there are no more than that, all of them: then −1 fills the rows up.
    """
    keys = keys_of(queries, seed)
    others = items - (own >= 0)
    size = min(size, int(others.max(initial=0)))
    found = np.full((len(queries), size), -1, dtype=np.int64)
    many = size * _MANY >= items
    for first, last in cut_rows(len(queries), max(1, _CELLS_AT_ONCE // max(1, items if many else 2 * size + _SPARE))):
        part = slice(first, last)
        draw = _shuffled if many else _drawn
        found[part] = draw(keys[part], others[part], size)
    past = (own[:, None] >= 0) & (found >= own[:, None])
    return np.sort(np.where(past & (found >= 0), found + 1, found), axis=1)


def _shuffled(keys: Keys, others: Ints, size: int) -> Ints:
    """The first of all numbers below ``others`` in a random order."""
    words = random_words(keys, _FIRST, _FIRST + int(others.max())).astype(np.uint64)
    places = np.arange(words.shape[1])
    words[places >= others[:, None]] = np.iinfo(np.uint64).max
    order = np.argsort(words, axis=1, kind="stable")[:, :size]
    return np.where(order < others[:, None], order, -1)


def _drawn(keys: Keys, others: Ints, size: int) -> Ints:
    """Drawn with replacement until there are enough different ones; the first of these."""
    found = np.empty((keys.size, size), dtype=np.int64)
    short = np.arange(keys.size)
    words = 2 * size + _SPARE
    while short.size:
        numbers = _below(random_words(keys[short], _FIRST, _FIRST + words), others[short])
        enough = []
        for row, line in zip(short, _firsts(numbers, size), strict=True):
            if line is not None:
                found[row] = line
            enough.append(line is not None)
        short, words = short[~np.array(enough)], words * 2
    return found


def _firsts(numbers: Ints, size: int) -> Iterator[Ints | None]:
    """Of each row the first ``size`` different numbers; None where there are fewer."""
    order = np.argsort(numbers, axis=1, kind="stable")
    ordered = np.take_along_axis(numbers, order, axis=1)
    again = np.zeros(numbers.shape, dtype=bool)
    np.put_along_axis(again, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    for row, repeated in zip(numbers, again, strict=True):
        different = row[~repeated]
        yield different[:size] if different.size >= size else None


def _below(words: Keys, limits: Ints) -> Ints:
    """Numbers from 0 up to each row's limit, evenly to 2^-32."""
    return ((words >> _HALF_A_WORD) * limits.astype(np.uint64)[:, None] >> _HALF_A_WORD).astype(np.int64)
