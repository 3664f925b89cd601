"""Stored vectors: the corpus of an index that exists already, read from it and compared with an export."""

from dataclasses import dataclass

import numpy as np

from rankjury.core.params import Params
from rankjury.core.text import join_names
from rankjury.core.types import Vectors
from rankjury.retrieval.engines.base import ENGINES
from rankjury.retrieval.knn.similarity import norms_of

_ROUNDED = {2: 2e-3, 4: 1e-5}
"""By bytes of a stored number: what rounding and an export as text may change, as a share of the largest number."""
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class Stored:
    """The vectors that an index holds, and how they differ from the exported ones."""

    vectors: Vectors
    notes: tuple[str, ...] = ()


def read_stored(engine: str, metric: str, settings: Params | None, given: Vectors | None = None) -> Stored:
    """Read the vectors of an existing index, which are what its searches see.

    Args:
        engine: The name of the engine.
        metric: The similarity.
        settings: Where the index is.
        given: Exported vectors. The index must hold the same ids; vectors that differ are noted.

    Returns:
        The vectors by id, with notes.

    Raises:
        DataError: The ids or the dimensions are not those of ``given``.
    """
    with ENGINES.get(engine)(metric, settings) as opened:
        if given is not None:
            opened.build(given.values, given.ids)
        stored = opened.stored_vectors()
    return Stored(stored, () if given is None else tuple(_differences(stored, given)))


def _differences(stored: Vectors, given: Vectors) -> list[str]:
    rows = stored.rows_of(given.ids.cast(stored.ids.dtype))
    share = _ROUNDED.get(stored.values.dtype.itemsize, 0.0)
    differing = []
    for first in range(0, len(given), _ROWS_AT_ONCE):
        block = np.asarray(given.values[first : first + _ROWS_AT_ONCE], dtype=np.float64)
        apart = np.abs(stored.values[rows[first : first + len(block)]] - block).max(axis=1, initial=0.0)
        differing.append(apart > share * np.abs(block).max(axis=1, initial=0.0))
    which = np.flatnonzero(np.concatenate(differing))
    if not which.size:
        return []
    lengths = [float(norms_of(one.values).mean()) for one in (stored, given)]
    return [
        f"{which.size:,} of {len(given):,} stored vectors differ from {given.source}: "
        f"{join_names(given.ids.gather(which).cast(stored.ids.dtype))}; their mean length is {lengths[0]:.4g} in "
        f"{stored.source} and {lengths[1]:.4g} in the file. All values are of the stored vectors"
    ]
