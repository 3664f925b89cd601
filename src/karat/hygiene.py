"""What is to be known of a space of vectors before its scores are trusted."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from karat.blocks import cut_rows
from karat.neighbours import NOBODY, Neighbours, nearest, score_listed
from karat.records import read_record, to_json
from karat.report_warnings import ReportWarning, as_warnings
from karat.sections import Section
from karat.similarity import COSINES, norms_of
from karat.types import Floats, Ints, Matrix, Vectors
from karat.wording import count

__all__ = ["HUB_K", "GoldSpaces", "Hygiene", "inspect"]

HUB_K = 10
NEAR = 0.999
"""Cosine from which two vectors that are not equal count as near duplicates."""
_SAMPLE, _PAIRS_LOOKED_AT = 2_000, 500_000_000
_LISTED = 5
_ROWS_AT_ONCE = 4096
_CELLS_AT_ONCE = 1 << 17
_OUTLYING_SPREADS, _OUTLYING_SHARE = 5.0, 0.01
_MOST_COPIES = 50
"""Of one vector, past which a near duplicate is looked for."""
_MUCH_SKEW = 2.0
_OFTEN, _OFTEN_SHARE = 10, 0.02
_MUCH_ALIKE = 0.5
_BINS = 30


@dataclass(frozen=True, eq=False)
class Hygiene(Section):
    """Of one space: lengths, duplicates, how alike everything is, hubs, and ties at the cut-off."""

    name = "space"

    vectors: int
    dimensions: int
    norm_mean: float
    norm_std: float
    norm_min: float
    norm_max: float
    norm_outliers: tuple[str, ...]
    """Ids whose length is far from the others'."""
    duplicates: int
    """Vectors that equal an earlier one."""
    duplicate_examples: tuple[tuple[str, ...], ...]
    near_duplicates: int
    """Vectors whose nearest other is as good as equal, but not equal."""
    near_examples: tuple[tuple[str, str, float], ...]
    looked_at: int
    """How many vectors near duplicates were looked for among: all, or a sample."""
    mean_similarity: float
    """Mean cosine over all pairs: 0 where directions are even, near 1 where all vectors point the same way."""
    queries: int
    hub_k: int
    hub_skew: float
    """Skewness of how often an item is among the k nearest."""
    hubs: tuple[tuple[str, int], ...]
    never_found: float
    """Share of the items that are among nobody's k nearest."""
    tied_at: dict[int, float] = field(default_factory=dict)
    """Share of the queries whose K-th and K+1-th score are equal, by cut-off."""
    norm_edges: tuple[float, ...] = ()
    norm_counts: tuple[int, ...] = ()
    """How many vectors have a length between an edge and the next, the last edge with it."""

    def to_json(self) -> dict[str, Any]:
        return {
            "vectors": self.vectors,
            "dimensions": self.dimensions,
            "norm": {
                "mean": self.norm_mean,
                "std": self.norm_std,
                "min": self.norm_min,
                "max": self.norm_max,
                "outliers": list(self.norm_outliers),
                "histogram": {"edges": list(self.norm_edges), "counts": list(self.norm_counts)},
            },
            "duplicates": {"exact": self.duplicates, "groups": [list(group) for group in self.duplicate_examples]},
            "near_duplicates": {
                "found": self.near_duplicates,
                "looked_at": self.looked_at,
                "cosine_from": NEAR,
                "pairs": [list(pair) for pair in self.near_examples],
            },
            "mean_similarity": None if isnan(self.mean_similarity) else self.mean_similarity,
            "hubness": {
                "k": self.hub_k,
                "queries": self.queries,
                "skew": self.hub_skew,
                "hubs": [{"id": name, "found_by": times} for name, times in self.hubs],
                "never_found": self.never_found,
            },
            "tied_at": {str(k): share for k, share in self.tied_at.items()},
        }

    def warnings(self) -> Iterator[ReportWarning]:
        yield from as_warnings(self.notes())

    def notes(self) -> Iterator[str]:
        """What a person should be warned of."""
        if self.norm_outliers:
            yield f"vectors of outlying length: {', '.join(self.norm_outliers[:_LISTED])}"
        if self.duplicates:
            groups = "; ".join(" = ".join(group) for group in self.duplicate_examples[:2])
            equal = count(self.duplicates, "vector equals", "vectors equal")
            yield f"{equal} another ({groups}): they tie, and go by id"
        if self.near_duplicates:
            pairs = ", ".join(f"{one} ~ {other}" for one, other, _ in self.near_examples[:2])
            yield f"{count(self.near_duplicates, 'vector is', 'vectors are')} nearly equal to another ({pairs})"
        if self.mean_similarity > _MUCH_ALIKE:
            yield f"all vectors point much the same way: mean cosine {self.mean_similarity:.2f}"
        name, times = self.hubs[0] if self.hubs else ("", 0)
        if self.hub_skew > _MUCH_SKEW and times >= max(_OFTEN, _OFTEN_SHARE * self.queries):
            yield f"hubs: {name} is among the {self.hub_k} nearest of {times:,} queries of {self.queries:,}"


@dataclass(frozen=True, eq=False)
class GoldSpaces(Section):
    """Embedding diagnostics of vectors that the gold was made from, by name."""

    name = "spaces"

    spaces: Mapping[str, Hygiene] = field(default_factory=dict)

    def warnings(self) -> Iterator[ReportWarning]:
        for name, space in self.spaces.items():
            yield from (one.about(name) for one in space.warnings())

    def to_json(self) -> Any:
        return to_json(self.spaces)

    @classmethod
    def from_json(cls, value: Any, where: str = "report") -> "GoldSpaces":
        found: GoldSpaces = read_record(cls, {"spaces": value}, where)
        return found


def inspect(
    corpus: Vectors,
    found: Neighbours,
    *,
    itself: bool,
    scored: bool = True,
    metric: str = "cosine",
    cuts: Sequence[int] = (),
) -> Hygiene:
    """Look at a corpus, and at what a search in it found; ``itself``: its items were the queries, in their order.

    ``scored``: it was found with scores, not with levels.
    """
    norms = norms_of(corpus.values)
    places = corpus.places
    in_order = np.sort(norms)  # so that no digit of a sum hangs on the order of the rows
    hub_k = min(HUB_K, int(found.found.max(initial=0)))
    occurrences = _occurrences(found.items[:, :hub_k], len(corpus))
    groups = _equal_rows(corpus.values, norms, places)
    known = found if itself and metric in COSINES else None
    near, examples, looked_at = _near_duplicates(corpus, known, scored, norms, groups, places)
    hubs = np.lexsort((places, -occurrences))[:_LISTED]
    edges, counts = _histogram(in_order)
    return Hygiene(
        vectors=len(corpus),
        dimensions=corpus.dimensions,
        norm_mean=float(in_order.mean()),
        norm_std=float(in_order.std()),
        norm_min=float(in_order[0]),
        norm_max=float(in_order[-1]),
        norm_outliers=tuple(corpus.ids.gather(_outliers(norms, places))),
        duplicates=len(corpus) - int(np.unique(groups).size),
        duplicate_examples=tuple(_examples(corpus.ids, groups, places)),
        near_duplicates=near,
        near_examples=examples,
        looked_at=looked_at,
        mean_similarity=_mean_cosine(corpus.values, norms, np.argsort(places)),
        queries=len(found.items),
        hub_k=hub_k,
        hub_skew=_skew(np.sort(occurrences).astype(np.float64)),
        hubs=tuple((corpus.ids[int(row)], int(occurrences[row])) for row in hubs if occurrences[row]),
        never_found=float((occurrences == 0).mean()),
        tied_at=dict(_ties(found, cuts)),
        norm_edges=edges,
        norm_counts=counts,
    )


def _histogram(in_order: Floats) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Bins of one width from the least to the most; one bin where there is no room for more between them."""
    low, high = float(in_order[0]), float(in_order[-1])
    width = (high - low) / _BINS
    if not width > np.spacing(high):
        return (low, high), (len(in_order),)
    counts, edges = np.histogram(in_order, _BINS, (low, high))
    return tuple(edges.tolist()), tuple(counts.tolist())


def _occurrences(items: Ints, n: int) -> Ints:
    return np.bincount(items[items != NOBODY], minlength=n)


def _skew(values: Floats) -> float:
    """Third standardised moment; 0 where all are equal."""
    apart = values - values.mean()
    spread = float(np.sqrt((apart**2).mean()))
    return float((apart**3).mean() / spread**3) if spread > 0 else 0.0


def _outliers(norms: Floats, places: Ints) -> Ints:
    """Far from the median in spreads of the middle half, and by more than one percent."""
    apart = np.abs(norms - np.median(norms))
    spread = 1.4826 * float(np.median(apart))
    far = (apart > _OUTLYING_SPREADS * spread) & (apart > _OUTLYING_SHARE * np.median(norms))
    order = np.lexsort((places, -apart))
    return order[far[order]][: 2 * _LISTED]


def _equal_rows(values: Matrix, norms: Floats, places: Ints) -> Ints:
    """For each row the lowest place of a row that equals it; 0 and −0 are the same.

    Rows of one length are told apart by a hash, and compared in full only where hashes are equal too.
    """
    suspects = _alike(norms)
    suspects = suspects[_alike(_hashes(values, suspects))]
    groups = places.copy()
    if suspects.size:
        plain = values[suspects] + values.dtype.type(0)
        rows = plain.view(np.dtype((np.void, plain.dtype.itemsize * plain.shape[1]))).reshape(-1)
        _, inverse = np.unique(rows, return_inverse=True)
        lowest = np.full(inverse.max() + 1, places.max() + 1)
        np.minimum.at(lowest, inverse.reshape(-1), places[suspects])
        groups[suspects] = lowest[inverse.reshape(-1)]
    return groups


def _alike(keys: NDArray[Any]) -> Ints:
    """The places of those that another one equals."""
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return np.flatnonzero(counts[inverse] > 1)


def _hashes(values: Matrix, rows: Ints) -> NDArray[np.uint64]:
    multipliers = np.random.default_rng(0).integers(1, 2**63, values.shape[1], dtype=np.uint64) * np.uint64(
        2
    ) + np.uint64(1)
    hashes = np.empty(rows.size, dtype=np.uint64)
    for first, last in cut_rows(rows.size, _ROWS_AT_ONCE):
        words = (values[rows[first:last]].astype(np.float64) + 0.0).view(np.uint64)
        hashes[first:last] = ((words ^ (words >> np.uint64(29))) * multipliers).sum(axis=1, dtype=np.uint64)
    return hashes


def _examples(ids: pl.Series, groups: Ints, places: Ints) -> Iterator[tuple[str, ...]]:
    first, counts = np.unique(groups, return_counts=True)
    for group in first[counts > 1][:_LISTED].tolist():
        rows = np.flatnonzero(groups == group)
        yield tuple(ids.gather(rows[np.argsort(places[rows])][:_LISTED]))


def _near_duplicates(
    corpus: Vectors, found: Neighbours | None, scored: bool, norms: Floats, groups: Ints, places: Ints
) -> tuple[int, tuple[tuple[str, str, float], ...], int]:
    """How many have another that is as good as equal, some such pairs, and among how many they were looked for."""
    if not norms.all() or len(corpus) < 2:
        return 0, (), 0
    rows = np.arange(len(corpus))
    # Behind its own copies stands the first that may be nearly equal.
    deep = min(int(np.unique(groups, return_counts=True)[1].max()), _MOST_COPIES)
    if found is None:
        # A sample that hangs on the ids alone, not on their order.
        hashed = corpus.ids.hash(0).to_numpy()
        size = min(_SAMPLE, max(1, _PAIRS_LOOKED_AT // len(corpus)))
        rows = np.sort(np.lexsort((rows, hashed))[:size])
        found, scored = nearest(corpus.values[rows], corpus.values, deep, own=rows, places=places), True
    candidates = found.items[:, :deep]
    scores = found.scores[:, : candidates.shape[1]] if scored else _cosines(corpus.values, rows, candidates)
    other = (candidates != NOBODY) & (groups[candidates] != groups[rows][:, None]) & (scores >= NEAR)
    has = np.flatnonzero(other.any(axis=1))
    best = other[has].argmax(axis=1)
    order = np.lexsort((places[rows[has]], -scores[has, best]))[:_LISTED]
    pairs = [
        (corpus.ids[int(rows[row])], corpus.ids[int(candidates[row, place])], float(scores[row, place]))
        for row, place in zip(has[order].tolist(), best[order].tolist(), strict=True)
    ]
    return int(has.size), tuple(pairs), int(rows.size)


def _cosines(values: Matrix, rows: Ints, candidates: Ints) -> Floats:
    """Of each row with its candidates."""
    known = candidates != NOBODY
    found = np.full(candidates.shape, -np.inf)
    of_rows = np.broadcast_to(rows[:, None], candidates.shape)
    found[known] = score_listed(values, values, of_rows[known], candidates[known])
    return found


def _mean_cosine(values: Matrix, norms: Floats, order: Ints) -> float:
    """Over all pairs, from the length of the sum of directions: exact, and linear in the number of vectors."""
    n = len(values)
    if n < 2 or not norms.all():
        return float("nan")
    total = np.zeros(values.shape[1])
    for first, last in cut_rows(n, max(1, _CELLS_AT_ONCE // values.shape[1])):  # blocks that stay in the cache
        rows = order[first:last]
        total += (values[rows].astype(np.float64) / norms[rows, None]).sum(axis=0)
    return float((np.vecdot(total, total) - n) / (n * (n - 1)))


def _ties(found: Neighbours, cuts: Sequence[int]) -> Iterator[tuple[int, float]]:
    for k in cuts:
        if k < found.items.shape[1]:
            tied = (found.scores[:, k - 1] == found.scores[:, k]) & (found.items[:, k] != NOBODY)
            yield k, float(tied.mean())
