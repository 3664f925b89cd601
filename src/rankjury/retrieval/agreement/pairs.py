"""Query-item pairs over which the similarities of two models are compared, and sampling of queries and items."""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import polars as pl

from rankjury.core.columns import ITEM, QUERY, SCORE
from rankjury.core.text import join_names, plural
from rankjury.core.types import Floats, Gold, Ints, Ranking, Vectors, cut_rows, places_in, segments_within
from rankjury.errors import DataError, UsageError
from rankjury.evaluation.query_lists import top_rows
from rankjury.retrieval.agreement.stats import Agreement, SimilarityPairs, estimate_agreement
from rankjury.retrieval.knn.search import score_listed
from rankjury.retrieval.knn.select import repeated
from rankjury.stats.resampling import Keys, Resampling, query_keys, random_words


class Similarities(Protocol):
    """Similarities of query-item pairs by one model."""

    everything: bool
    """Whether the similarities of all queries and items are known."""

    def of(self, queries: pl.Series, items: pl.Series) -> Floats:
        """Return the similarity of the i-th query and the i-th item; NaN if unknown."""


@dataclass(frozen=True, eq=False)
class VectorSimilarities:
    """Similarities of vectors."""

    corpus: Vectors
    queries: Vectors | None = None
    metric: str = "cosine"
    everything = True

    def of(self, queries: pl.Series, items: pl.Series) -> Floats:
        vectors = self.corpus if self.queries is None else self.queries
        pairs = np.stack([vectors.rows_of(queries), self.corpus.rows_of(items)])
        known = np.flatnonzero((pairs >= 0).all(axis=0))
        scores = np.full(len(queries), np.nan)
        scores[known] = score_listed(vectors.values, self.corpus.values, *pairs[:, known], metric=self.metric)
        return scores


@dataclass(frozen=True, eq=False)
class RunSimilarities:
    """Scores of a run: known for retrieved items only; a run without scores has none."""

    ranking: Ranking
    everything = False

    def of(self, queries: pl.Series, items: pl.Series) -> Floats:
        if not self.ranking.has_scores:
            return np.full(len(queries), np.nan)
        rows = self.ranking.frame().with_columns(pl.col(QUERY, ITEM).cast(pl.String))
        known = rows.group_by(QUERY, ITEM).agg(pl.col(SCORE).max())
        pairs = pl.DataFrame({QUERY: queries.cast(pl.String), ITEM: items.cast(pl.String)})
        scores = pairs.join(known, on=[QUERY, ITEM], how="left", maintain_order="left")[SCORE]
        return scores.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)


_CELLS_AT_ONCE = 1 << 20
_SPARE = 8
_HALF_A_WORD = np.uint64(32)
_FIRST = 1
"""Word 0 selects the queries, so the words of sampled queries are low and not used again."""


def sample_ids(ids: pl.Series, size: int | None, seed: int, *, where: str = "sample") -> pl.Series:
    """Return a sample of the ids in ascending order; None: all.

    The sample is determined by the seed and each id: the order of the ids does not matter, and a larger sample contains
    the smaller one.
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
            hint="Omit the sample size to take all.",
        )
    words = random_words(query_keys(ordered, seed), 0, 1)[:, 0]
    return ordered.gather(np.sort(np.argsort(words, kind="stable")[:size]))


def select_ids(ids: pl.Series, wanted: pl.Series, *, numbered: bool, where: str) -> tuple[pl.Series, list[str]]:
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
        raise DataError(f"duplicate queries: {join_names(twice)}", where=where, expected="each once")
    known = ids.cast(pl.String)
    unknown = wanted.filter(~wanted.is_in(known.implode()))
    if len(unknown):
        raise DataError(
            f"{plural(len(unknown), 'query is', 'queries are')} not known: {join_names(unknown)}",
            where=where,
            expected=f"row numbers from 0 to {len(ids) - 1:,}" if numbered else "ids of the reference",
            hint=None if numbered else "The reference contains ids, so row numbers cannot be used.",
        )
    doubtful = not numbered and wanted.str.contains(r"^\d+$").all()
    note = f"{where}: its {len(wanted):,} numbers are taken as ids, since the reference has ids, and not as row numbers"
    return wanted.sort(), [note] if doubtful else []


def sample_items(queries: pl.Series, own: Ints, items: int, size: int, seed: int) -> Ints:
    """Draw ``size`` item numbers below ``items`` for each query, ascending, without its ``own`` (−1: none).

    If there are fewer, all of them; −1 fills the row.
    """
    keys = query_keys(queries, seed)
    others = items - (own >= 0)
    size = min(size, int(others.max(initial=0)))
    drawn = np.full((len(queries), size), -1, dtype=np.int64)
    # If more than one in four items is drawn, all are shuffled.
    draw, width = (_shuffle, items) if size * 4 >= items else (_draw_distinct, 2 * size + _SPARE)
    for first, last in cut_rows(len(queries), max(1, _CELLS_AT_ONCE // max(1, width))):
        drawn[first:last] = draw(keys[first:last], others[first:last], size)
    past = (own[:, None] >= 0) & (drawn >= own[:, None])
    return np.sort(drawn + (past & (drawn >= 0)), axis=1)


def _shuffle(keys: Keys, others: Ints, size: int) -> Ints:
    """Shuffle the numbers below ``others`` and return the first."""
    words = random_words(keys, _FIRST, _FIRST + int(others.max())).astype(np.uint64)
    words[np.arange(words.shape[1]) >= others[:, None]] = np.iinfo(np.uint64).max
    order = np.argsort(words, axis=1, kind="stable")[:, :size]
    return np.where(order < others[:, None], order, -1)


def _draw_distinct(keys: Keys, others: Ints, size: int) -> Ints:
    """Draw with replacement until there are enough different numbers; return the first of these."""
    drawn = np.empty((keys.size, size), dtype=np.int64)
    short = np.arange(keys.size)
    words = 2 * size + _SPARE
    while short.size:
        # Uniform numbers below each row's limit; their bias is at most 2^-32.
        halves = random_words(keys[short], _FIRST, _FIRST + words) >> _HALF_A_WORD
        numbers = (halves * others[short].astype(np.uint64)[:, None] >> _HALF_A_WORD).astype(np.int64)
        first = ~repeated(numbers)
        first &= np.cumsum(first, axis=1) <= size
        enough = first.sum(axis=1) == size
        drawn[short[enough]] = numbers[enough][first[enough]].reshape(int(enough.sum()), size)
        short, words = short[~enough], words * 2
    return drawn


@dataclass(frozen=True, eq=False)
class PairList:
    """Query-item pairs by id, in order of query."""

    row: Ints
    """Row of each pair's query among the sorted queries."""
    queries: pl.Series
    items: pl.Series
    about: str


def sample_pairs(queries: pl.Series, items: pl.Series, size: int, seed: int, *, exclude_self: bool = True) -> PairList:
    """Sample about ``size`` pairs: the same number of items per query, determined by the seed and its id.

    ``exclude_self`` never draws the item of the query's own id.
    """
    queries, items = queries.cast(pl.String).sort(), items.cast(pl.String).sort()
    own = places_in(items, queries) if exclude_self else np.full(len(queries), -1)
    drawn = sample_items(queries, own, len(items), -(-size // len(queries)), seed)
    row, place = np.nonzero(drawn >= 0)
    return PairList(row, queries.gather(row), items.gather(drawn[row, place]), f"drawn by seed {seed}")


def top_pairs(gold: Gold, ranking: Ranking, k: int) -> PairList:
    """Pair every query with the first k items of the reference, which are the gold's, and with the ranking's."""
    expected = gold.frame().select(pl.col(QUERY, ITEM).cast(pl.String)).filter(segments_within(gold.starts) < k)
    queries = gold.queries.cast(pl.String).sort()
    retrieved = top_rows(ranking, queries, k).select(QUERY, ITEM)
    both = pl.concat([expected, retrieved]).unique().sort(QUERY, ITEM)
    return PairList(places_in(queries, both[QUERY]), both[QUERY], both[ITEM], f"among the first {k} of either")


def score_pairs(listed: PairList, reference: Similarities, candidate: Similarities) -> SimilarityPairs:
    """Return the similarities by both models; pairs that one of them does not know are omitted."""
    ours, theirs = reference.of(listed.queries, listed.items), candidate.of(listed.queries, listed.items)
    known = ~(np.isnan(ours) | np.isnan(theirs))
    return SimilarityPairs(listed.row[known], ours[known], theirs[known], listed.about, int((~known).sum()))


@dataclass(frozen=True, eq=False)
class ReferenceModel:
    """A model whose ranking is the gold."""

    gold: Gold
    similarities: Similarities
    vectors: Vectors | None = None
    """Vectors of its items, if it has vectors."""
    exclude_self: bool = True
    """Whether a query's own item is excluded from the gold and the pairs."""


class PairCollector:
    """Collects the pair similarities of systems as they are loaded."""

    def __init__(
        self,
        reference: ReferenceModel,
        *,
        over: Literal["sampled", "top"] | None,
        size: int,
        seed: int,
        k: int,
        where: str = "agreement",
    ) -> None:
        """``size`` is how many pairs are sampled, ``k`` the depth of ``top``; None: sampled where vectors are known."""
        self.reference, self.where = reference, where
        self.over, self.size, self.seed, self.k = over, size, seed, k
        self._pairs: dict[str, SimilarityPairs] = {}

    def add(self, name: str, similarities: Similarities, ranking: Ranking) -> None:
        pairs = score_pairs(self._list_pairs(name, similarities, ranking), self.reference.similarities, similarities)
        if not pairs.row.size:
            raise DataError(
                f"no pair has a similarity by both the reference and {name}",
                where=self.where,
                expected="runs with scores",
                hint="Leave the agreement of similarities away: --pairs 0, or a plan without [agreement].",
            )
        self._pairs[name] = pairs

    def _list_pairs(self, name: str, similarities: Similarities, ranking: Ranking) -> PairList:
        vectors = self.reference.vectors if similarities.everything else None
        if self.over == "top" or (self.over is None and vectors is None):
            return top_pairs(self.reference.gold, ranking, self.k)
        if vectors is None:
            problem = f"sampled pairs need vectors, and {name} or the reference is a run"
            raise UsageError(problem, where=self.where, expected="the pairs of the top k")
        gold, exclude = self.reference.gold, self.reference.exclude_self
        return sample_pairs(gold.queries, vectors.ids, self.size, self.seed, exclude_self=exclude)

    def agreements(self, resampling: Resampling | None, baseline: str | None) -> dict[str, Agreement]:
        """Return the agreement by system, with differences to the baseline if both are over the same pairs."""
        level = (resampling or Resampling()).level
        keys = query_keys(self.reference.gold.queries.sort(), resampling.seed if resampling else 0)
        agreements = {name: estimate_agreement(pairs, keys, resampling) for name, pairs in self._pairs.items()}
        if baseline is not None and baseline in agreements:
            theirs = self._pairs[baseline]
            for name, ours in self._pairs.items():
                same = np.array_equal(ours.row, theirs.row) and np.array_equal(ours.reference, theirs.reference)
                if name != baseline and same:
                    agreements[name] = agreements[name].with_differences(agreements[baseline], level)
        return agreements
