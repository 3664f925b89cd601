"""Diagnostics for an embedding space: norms, duplicates, anisotropy, hubness, ties."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.text import join_names, plural
from rankjury.core.types import Floats, Ints, Matrix, Vectors, cut_rows
from rankjury.core.validation import Record
from rankjury.evaluation.sections import ReportWarning, Section, as_warnings
from rankjury.retrieval.knn.search import Neighbours, nearest, score_neighbours
from rankjury.retrieval.knn.select import MISSING
from rankjury.retrieval.knn.similarity import COSINES, norms_of

HUB_K = 10
NEAR = 0.999
"""Minimum cosine of near duplicates."""
_SAMPLE, _PAIRS_LOOKED_AT = 2_000, 500_000_000
_LISTED = 5
_ALIKE = 0.5
"""Mean cosine above which all directions are similar."""
_ROWS_AT_ONCE = 4096
_CELLS_AT_ONCE = 1 << 17
_MAX_COPIES = 50
"""Maximum copies of one vector after which near duplicates are searched."""
_BINS = 30


@dataclass(frozen=True)
class NormHistogram(Record):
    """Histogram of norms; the last bin includes its upper edge."""

    edges: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()


@dataclass(frozen=True)
class Norms(Record):
    """Norms of vectors."""

    mean: float
    std: float
    min: float
    max: float
    outliers: tuple[str, ...] = ()
    """Ids of vectors with outlying norms."""
    histogram: NormHistogram = NormHistogram()


@dataclass(frozen=True)
class DuplicateVectors(Record):
    """Exact duplicates: vectors that equal an earlier one, and the first groups."""

    exact: int
    groups: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class NearDuplicates(Record):
    """Near duplicates: vectors whose nearest other vector is almost equal."""

    found: int
    looked_at: int
    """Vectors that were examined: all, or a sample."""
    pairs: tuple[tuple[str, str, float], ...] = ()
    """The nearest pairs with their cosine."""
    cosine_from: float = NEAR


@dataclass(frozen=True)
class Hub(Record):
    """Item that is among the nearest of many queries."""

    id: str
    found_by: int


@dataclass(frozen=True)
class Hubness(Record):
    """Statistics of how often items are among the k nearest of queries."""

    k: int
    queries: int
    skew: float
    """Skewness of how often an item is among the k nearest."""
    hubs: tuple[Hub, ...]
    never_found: float
    """Share of the items that are among the k nearest of no query."""

    @property
    def has_hubs(self) -> bool:
        """Whether an item is among the nearest of so many queries that it is a risk."""
        return self.skew > 2.0 and bool(self.hubs) and self.hubs[0].found_by >= max(10, 0.02 * self.queries)


@dataclass(frozen=True, eq=False)
class SpaceDiagnostics(Section):
    """Diagnostics of one embedding space: norms, duplicates, anisotropy, hubness, ties at the cut-off."""

    name = "space"

    vectors: int
    dimensions: int
    norm: Norms
    duplicates: DuplicateVectors
    near_duplicates: NearDuplicates
    mean_similarity: float
    """Mean cosine over all pairs: 0 for evenly distributed directions, near 1 if all vectors point the same way."""
    hubness: Hubness
    tied_at: dict[int, float] = field(default_factory=dict)
    """Share of the queries with equal K-th and K+1-th scores, by cut-off."""

    def warnings(self) -> Iterator[ReportWarning]:
        yield from as_warnings(self.notes(), "vectors")

    @property
    def sentence(self) -> str:
        """Return the size of the space and the number of risks: ``1,000 vectors of 384 dimensions: 2 risks …``."""
        about = f"{plural(self.vectors, 'vector', 'vectors')} of {plural(self.dimensions, 'dimension', 'dimensions')}"
        hubness = self.hubness
        risks = {
            "outlying lengths": bool(self.norm.outliers),
            "equal vectors": bool(self.duplicates.exact),
            "nearly equal vectors": bool(self.near_duplicates.found),
            "similar directions": self.mean_similarity > _ALIKE,
            "hubs": hubness.has_hubs,
        }
        found = [name for name, is_found in risks.items() if is_found]
        if not found:
            return f"{about}: no risk found (lengths, duplicates, hubs)."
        return f"{about}: {plural(len(found), 'risk', 'risks')} ({join_names(found)})."

    def notes(self) -> Iterator[str]:
        """Yield warnings."""
        if self.norm.outliers:
            yield (
                f"vectors of outlying length: {', '.join(self.norm.outliers[:_LISTED])}; dot product and Euclidean "
                "distance rank them otherwise than cosine, which ignores lengths"
            )
        if self.duplicates.exact:
            groups = "; ".join(" = ".join(group) for group in self.duplicates.groups[:2])
            equal = plural(self.duplicates.exact, "vector equals", "vectors equal")
            yield f"{equal} another ({groups}): they are tied, and ordered by id"
        if self.near_duplicates.found:
            pairs = ", ".join(f"{first} ~ {other}" for first, other, _ in self.near_duplicates.pairs[:2])
            yield f"{plural(self.near_duplicates.found, 'vector is', 'vectors are')} nearly equal to another ({pairs})"
        if self.mean_similarity > _ALIKE:
            yield f"all vectors point in similar directions: mean cosine {self.mean_similarity:.2f}"
        hubness = self.hubness
        if hubness.has_hubs:
            hub = hubness.hubs[0]
            often = f"{hub.found_by:,} queries of {hubness.queries:,}"
            yield f"hubs: {hub.id} is among the {hubness.k} nearest of {often}"


@dataclass(frozen=True, eq=False)
class GoldSpaces(Section):
    """Embedding diagnostics of the vectors of the gold, by name."""

    name = "spaces"
    json_field = "spaces"

    spaces: Mapping[str, SpaceDiagnostics] = field(default_factory=dict)

    def warnings(self) -> Iterator[ReportWarning]:
        for name, space in self.spaces.items():
            yield from (warning.about(name) for warning in space.warnings())


def diagnose_space(
    corpus: Vectors,
    found: Neighbours,
    *,
    itself: bool,
    scored: bool = True,
    metric: str = "cosine",
    cuts: Sequence[int] = (),
) -> SpaceDiagnostics:
    """Return the diagnostics of a corpus and of a search in it; ``itself``: its items were the queries, in order.

    ``scored``: ``found`` has scores, not quantised levels.
    """
    norms = norms_of(corpus.values)
    places = corpus.places
    in_order = np.sort(norms)  # so that sums do not depend on the order of the rows
    groups = _equal_rows(corpus.values, norms, places)
    known = found if itself and metric in COSINES else None
    return SpaceDiagnostics(
        vectors=len(corpus),
        dimensions=corpus.dimensions,
        norm=Norms(
            float(in_order.mean()),
            float(in_order.std()),
            float(in_order[0]),
            float(in_order[-1]),
            tuple(corpus.ids.gather(_outliers(norms, places))),
            _histogram(in_order),
        ),
        duplicates=DuplicateVectors(
            len(corpus) - int(np.unique(groups).size), tuple(_examples(corpus.ids, groups, places))
        ),
        near_duplicates=_near_duplicates(corpus, known, scored, norms, groups, places),
        mean_similarity=_mean_cosine(corpus.values, norms, np.argsort(places)),
        hubness=_hubness(corpus, found),
        tied_at={
            k: float(((found.scores[:, k - 1] == found.scores[:, k]) & (found.items[:, k] != MISSING)).mean())
            for k in cuts
            if k < found.items.shape[1]
        },
    )


def _histogram(in_order: Floats) -> NormHistogram:
    """Return a histogram with bins of equal width; one bin if all values are almost equal."""
    low, high = float(in_order[0]), float(in_order[-1])
    width = (high - low) / _BINS
    if not width > np.spacing(high):
        return NormHistogram((low, high), (len(in_order),))
    counts, edges = np.histogram(in_order, _BINS, (low, high))
    return NormHistogram(tuple(edges.tolist()), tuple(counts.tolist()))


def _hubness(corpus: Vectors, found: Neighbours) -> Hubness:
    k = min(HUB_K, int(found.found.max(initial=0)))
    near = found.items[:, :k]
    occurrences = np.bincount(near[near != MISSING], minlength=len(corpus))
    # The skew is the third standardised moment.
    ordered = np.sort(occurrences).astype(np.float64)
    centred = ordered - ordered.mean()
    spread = float(np.sqrt((centred**2).mean()))
    skew = float((centred**3).mean() / spread**3) if spread > 0 else 0.0
    rows = np.lexsort((corpus.places, -occurrences))[:_LISTED].tolist()
    hubs = tuple(Hub(corpus.ids[row], int(occurrences[row])) for row in rows if occurrences[row])
    return Hubness(k, len(found.items), skew, hubs, float((occurrences == 0).mean()))


def _outliers(norms: Floats, places: Ints) -> Ints:
    """Return rows far from the median: by more than 5 robust standard deviations and 1 %."""
    median = np.median(norms)
    distances = np.abs(norms - median)
    far = (distances > 5.0 * (1.4826 * float(np.median(distances)))) & (distances > 0.01 * median)
    order = np.lexsort((places, -distances))
    return order[far[order]][: 2 * _LISTED]


def _equal_rows(values: Matrix, norms: Floats, places: Ints) -> Ints:
    """Return for each row the lowest position of an equal row; 0 and −0 are equal.

    Rows of equal norm are distinguished by a hash, and compared in full only if their hashes are equal.
    """
    suspects = _repeated_values(norms)
    suspects = suspects[_repeated_values(_hashes(values, suspects))]
    groups = places.copy()
    if suspects.size:
        plain = values[suspects] + values.dtype.type(0)
        rows = plain.view(np.dtype((np.void, plain.dtype.itemsize * plain.shape[1]))).reshape(-1)
        inverse = np.unique(rows, return_inverse=True)[1].reshape(-1)
        lowest = np.full(inverse.max() + 1, places.max() + 1)
        np.minimum.at(lowest, inverse, places[suspects])
        groups[suspects] = lowest[inverse]
    return groups


def _repeated_values(keys: NDArray[Any]) -> Ints:
    """Return the places of values that occur more than once."""
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return np.flatnonzero(counts[inverse] > 1)


def _hashes(values: Matrix, rows: Ints) -> NDArray[np.uint64]:
    random = np.random.default_rng(0).integers(1, 2**63, values.shape[1], dtype=np.uint64)
    multipliers = random * np.uint64(2) + np.uint64(1)
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
) -> NearDuplicates:
    if not norms.all() or len(corpus) < 2:
        return NearDuplicates(0, 0)
    rows = np.arange(len(corpus))
    # The first candidate for a near duplicate comes after the exact copies.
    deep = min(int(np.unique(groups, return_counts=True)[1].max()), _MAX_COPIES)
    if found is None:
        # The sample depends on the ids, not on their order.
        size = min(_SAMPLE, max(1, _PAIRS_LOOKED_AT // len(corpus)))
        rows = np.sort(np.argsort(corpus.ids.hash(0).to_numpy(), kind="stable")[:size])
        found, scored = nearest(corpus.values[rows], corpus.values, deep, own=rows, places=places), True
    candidates, scores = found.items[:, :deep], found.scores[:, :deep]
    if not scored:
        scores = score_neighbours(corpus.values, corpus.values, candidates, rows=rows)
    other = (candidates != MISSING) & (groups[candidates] != groups[rows][:, None]) & (scores >= NEAR)
    has = np.flatnonzero(other.any(axis=1))
    best = other[has].argmax(axis=1)
    order = np.lexsort((places[rows[has]], -scores[has, best]))[:_LISTED]
    pairs = [
        (corpus.ids[int(rows[row])], corpus.ids[int(candidates[row, place])], float(scores[row, place]))
        for row, place in zip(has[order].tolist(), best[order].tolist(), strict=True)
    ]
    return NearDuplicates(int(has.size), int(rows.size), tuple(pairs))


def _mean_cosine(values: Matrix, norms: Floats, order: Ints) -> float:
    """Return the mean cosine over all pairs, from the norm of the sum of unit vectors: exact and linear in time."""
    n = len(values)
    if n < 2 or not norms.all():
        return float("nan")
    total = np.zeros(values.shape[1])
    for first, last in cut_rows(n, max(1, _CELLS_AT_ONCE // values.shape[1])):  # blocks that fit into the cache
        rows = order[first:last]
        total += (values[rows].astype(np.float64) / norms[rows, None]).sum(axis=0)
    return float((np.vecdot(total, total) - n) / (n * (n - 1)))
