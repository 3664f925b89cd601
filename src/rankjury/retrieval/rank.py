"""Rankings from vectors: the nearest items of each query.

A query is itself an item if the queries are the corpus. If they are other vectors, an item that happens to have the
query's id (both numbered from 0, or both with whole-number ids) is an item like any other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.columns import ITEM, QUERY
from rankjury.core.convert import frame_of
from rankjury.core.params import is_whole
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.text import join_names, plural
from rankjury.core.types import WHOLE, Bools, Ints, Ranking, RowNumbers, Vectors, as_floats, names_of, places_in
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UnknownName, UsageError, guard_reading
from rankjury.evaluation.query_lists import require_scores
from rankjury.io.vectors import read_vectors, same_file
from rankjury.io.vectors.arrays import check_vectors
from rankjury.io.vectors.tables import read_frame
from rankjury.retrieval.diagnostics import HUB_K, SpaceDiagnostics, diagnose_space
from rankjury.retrieval.knn.search import Neighbours, nearest, score_listed
from rankjury.retrieval.knn.select import MISSING
from rankjury.retrieval.knn.similarity import METRICS, ZERO_VECTORS, norms_of

Search = Callable[..., Neighbours]
"""Takes the arguments of ``rankjury.retrieval.knn.search.nearest``, and returns the same with scores."""


@dataclass(frozen=True, eq=False)
class Space:
    """A ranking, and diagnostics of the vectors it came from."""

    ranking: Ranking
    hygiene: SpaceDiagnostics

    def __repr__(self) -> str:
        return f"Space({self.ranking!r} in {self.hygiene.sentence.rstrip('.')})"


@check_arguments
def rank_vectors(
    corpus: Any,
    queries: Any = None,
    *,
    k: int | None = None,
    metric: str = "cosine",
    wanted: Any = None,
    candidates: Any = None,
    cuts: Sequence[int] = (),
    scored: bool = True,
    exclude_self: bool | None = None,
    source: str | None = None,
    progress: Progress | Callable[[int, int], None] = NO_PROGRESS,
    search: Search | None = None,
) -> Space:
    """Rank the corpus for each query by the similarity of their vectors, exactly.

    Args:
        corpus: The items: a matrix, whose rows are numbered from 0; a dict of id to vector; a frame of ids and vectors;
            the path of a file of vectors (``FILE:KEY`` for one of several); or ``rankjury.Vectors(ids, matrix)``.
        queries: The queries, in the same forms; by default each item is a query.
        k: How many items to find for each query; by default all.
        metric: ``cosine``, ``cosine-zero`` (0 with a zero vector), ``ip`` or ``l2``.
        wanted: Ids of the queries to ask; by default all. Where it is all of them, they keep the corpus's order.
        candidates: Ids of the items that can be found; by default all.
        cuts: Cut-offs at which the diagnostics count ties.
        scored: Whether the ranking has scores; without, it has levels (0, −1, −2 …, the same for items that tie), which
            is quicker.
        exclude_self: Whether each query's own item is left out; by default where the queries are the corpus: none are
            given, the same object, or the same file. The ranking's ``notes`` say what became of others with the same
            id.
        source: The name of the ranking in errors and reports.
        progress: Called with how much is done, and of how much.
        search: A function that finds what the exact search would, elsewhere.

    Returns:
        ``.ranking``, which ``rankjury.evaluate`` takes, and ``.hygiene``: lengths, duplicates, hubs and ties of the
        vectors.

    Raises:
        DataError: Vectors differ in dimension, are zero or not finite, or an id has none.
        UsageError: An argument is not valid.

    Example:
        >>> found = rankjury.rank_vectors({"a": [1.0, 0.0], "b": [0.9, 0.1], "c": [0.0, 1.0]}, k=1)
        >>> rankjury.evaluate({"a": ["b"]}, found, "rr").mean()
        {'rr': 1.0}
    """
    _check_request(k, metric)
    same = queries is corpus
    corpus = corpus if isinstance(corpus, Vectors) else as_vectors(corpus, None, "corpus")
    if queries is not None and not isinstance(queries, Vectors):
        queries = corpus if same else as_vectors(queries, None, "queries")
    asked = queries if queries is not None else corpus
    if wanted is not None:
        asked = select_vectors(asked, as_id_list(wanted, "wanted"), "query", own_file=asked is not corpus)
    pool = corpus if candidates is None else select_vectors(corpus, as_id_list(candidates, "candidates"), "candidate")
    if not len(pool):
        raise DataError("found no candidates", where=pool.source, expected="at least one")
    check_comparable(asked, pool, metric)
    exclude = resolve_exclude_self(exclude_self, corpus, queries)
    own = rows_of_queries(pool, asked, exclude=exclude)
    itself = len(asked) == len(pool) and bool((own == np.arange(len(pool))).all()) and queries is None
    # One more than requested detects whether the last is tied with the next; hubs are searched among ten.
    deep = len(pool) if k is None else max(k, HUB_K) + 1
    found = (search or partial(nearest, scored=scored))(
        pool.values if itself else asked.values,
        pool.values,
        deep,
        metric=metric,
        places=pool.places,
        own=own,
        progress=Progress.of(progress),
    )
    hygiene = diagnose_space(pool, found, itself=itself, scored=scored, metric=metric, cuts=cuts)
    first = Neighbours(found.items[:, :k].copy(), found.scores[:, :k].copy()) if k is not None else found
    ranks_only = not scored and search is None
    ranking = ranking_from_neighbours(asked.ids, pool.items, first, source or corpus.source, ranks_only=ranks_only)
    n = 0 if resolve_exclude_self(None, corpus, queries) else int((pool.rows_of(asked.ids) >= 0).sum())
    depth = WHOLE if k is None or k >= len(pool) - 1 else None
    numbered = row_numbers(corpus, queries)
    ranking = replace(ranking, notes=_self_notes(n, len(asked), exclude), depth=depth, row_numbers=numbered)
    return Space(ranking, hygiene)


def rank_listed(
    corpus: Vectors,
    queries: Vectors | None,
    pairs: pl.DataFrame,
    *,
    k: int | None = None,
    metric: str = "cosine",
    exclude_self: bool | None = None,
) -> Ranking:
    """Rank each query's own candidates: ``pairs`` has the columns query_id and item_id. ``k`` is how many to keep.

    ``exclude_self`` is as in ``rank_vectors``.
    """
    _check_request(k, metric)
    asked = queries if queries is not None else corpus
    rows, columns = asked.rows_of(pairs[QUERY]), corpus.rows_of(pairs[ITEM])
    query_hint = _unknown_hint(corpus) if asked is corpus else _own_file_hint(asked)
    for what, names, found, where, hint in (
        ("query", pairs[QUERY], rows, asked.source, query_hint),
        ("candidate", pairs[ITEM], columns, corpus.source, None),
    ):
        if (found < 0).any():
            raise _unknown(names.filter(pl.Series(found < 0)).unique(maintain_order=True), what, where, hint)
    check_comparable(asked, corpus, metric)
    names = pairs[QUERY].unique().sort()
    exclude = resolve_exclude_self(exclude_self, corpus, queries)
    is_own = (pairs[QUERY] == pairs[ITEM]).to_numpy()
    n = 0 if resolve_exclude_self(None, corpus, queries) else pairs.filter(is_own)[QUERY].n_unique()
    listed = ~is_own if exclude else np.full(len(pairs), True)
    rows, columns = rows[listed], columns[listed]
    query = places_in(names, pairs[QUERY].filter(listed))
    scores = score_listed(asked.values, corpus.values, rows, columns, metric=metric)
    order = np.lexsort((corpus.places[columns], -scores, query))
    if k is not None:
        starts = np.searchsorted(query[order], np.arange(len(names)))
        order = order[np.arange(order.size) - starts[query[order]] < k]
    # A query whose only candidate was itself has an empty list, and stays among the queries.
    starts = np.concatenate(([0], np.cumsum(np.bincount(query[order], minlength=len(names))))).astype(np.int64)
    items = corpus.items.gather(columns[order])
    notes, depth = _self_notes(n, len(names), exclude), WHOLE if k is None else None
    numbered = row_numbers(corpus, queries)
    return Ranking(names, starts, items, scores[order], corpus.source, notes=notes, depth=depth, row_numbers=numbered)


def row_numbers(corpus: Vectors, queries: Vectors | None) -> tuple[RowNumbers, ...]:
    """Return the vectors of items and of queries that have no ids; ``queries`` is None if the queries are items."""
    own = queries is not None and queries is not corpus
    found = [RowNumbers(corpus.source, len(corpus), ("items",) if own else ("queries", "items"))]
    found = found if corpus.numbered else []
    if own and queries is not None and queries.numbered:
        found.append(RowNumbers(queries.source, len(queries), ("queries",)))
    return tuple(found)


def check_same_items(reference: Vectors, candidate: Vectors) -> None:
    """Refuse models that do not rank the same items: items are matched by id, never by the order of rows."""
    where = f"{reference.source}, {candidate.source}"
    if reference.numbered != candidate.numbered:
        without, other = (reference, candidate) if reference.numbered else (candidate, reference)
        raise DataError(
            f"{without.source} has no ids, so its rows cannot be matched with the ids of {other.source}",
            where=where,
            expected="ids for both, or for neither",
            hint="Give ids, one per row: --ids FILE, ids in a plan, in Python rankjury.Vectors(ids, matrix).",
        )
    if reference.numbered and len(reference) != len(candidate):
        raise DataError(
            f"found {len(reference):,} rows and {len(candidate):,} rows, without ids",
            where=where,
            expected="as many rows in both, in the same order",
            hint="Give a file of ids for each, so that rows can be matched.",
        )
    lacking = reference.ids.filter(pl.Series(candidate.rows_of(reference.ids) < 0))
    extra = candidate.ids.filter(pl.Series(reference.rows_of(candidate.ids) < 0))
    if len(lacking) or len(extra):
        parts = [
            f"{plural(len(ids), 'id is', 'ids are')} only in {vectors.source} ({join_names(ids)})"
            for ids, vectors in ((lacking, reference), (extra, candidate))
            if len(ids)
        ]
        raise DataError(" and ".join(parts), where=where, expected="the same ids in both")


def _check_request(k: int | None, metric: str) -> None:
    if k is not None and (not is_whole(k) or k < 1):
        raise UsageError(f"k is {k!r}", expected="1 or more, a whole number")
    if metric not in METRICS:
        raise UnknownName("similarity", metric, METRICS)


def select_vectors(vectors: Vectors, wanted: pl.Series, what: str, *, own_file: bool = False) -> Vectors:
    """Return the vectors of these ids, which must all exist; ``own_file``: these are queries with their own file."""
    rows = vectors.rows_of(wanted)
    if (rows < 0).any():
        hint = _own_file_hint(vectors) if own_file else _unknown_hint(vectors) if what == "query" else None
        raise _unknown(wanted.filter(pl.Series(rows < 0)), what, vectors.source, hint)
    are_all = len(rows) == len(vectors) and bool((np.bincount(rows, minlength=len(vectors)) == 1).all())
    return vectors if are_all else vectors.take(rows)


def _own_file_hint(queries: Vectors) -> str | None:
    if not queries.numbered:
        return None
    return (
        f"The rows have no ids and are numbered from 0 to {len(queries) - 1:,}: give a file with the id of each row, "
        "queries_ids in a plan, --queries-ids of a command."
    )


def _unknown_hint(corpus: Vectors) -> str:
    rows = "The rows have no ids and are numbered from 0: give ids, --ids FILE, ids in a plan. " * corpus.numbered
    return f"{rows}Queries that are not items need their own vectors: queries = FILE in a plan."


def _unknown(ids: pl.Series, what: str, where: str, hint: str | None) -> DataError:
    found = f"{len(ids):,} {what} ids have" if len(ids) > 1 else f"the {what} id has"
    return DataError(f"{found} no vector: {join_names(ids)}", where=where, expected="a vector for each", hint=hint)


def check_comparable(asked: Vectors, pool: Vectors, metric: str) -> None:
    """Refuse vectors that cannot be compared: other dimensions, too long, or zero for the cosine."""
    if asked.dimensions != pool.dimensions:
        problem = f"queries of {asked.dimensions:,} dimensions and a corpus of {pool.dimensions:,}"
        raise DataError(problem, where=f"{asked.source}, {pool.source}", expected="vectors of one model")
    for vectors in (pool,) if asked is pool else (asked, pool):
        with np.errstate(over="ignore"):
            norms = norms_of(vectors.values)
        for bad, what, hint in (
            (~(norms < 1e150), "too long to be squared", "Scale the vectors down."),
            ((norms == 0) & (metric == "cosine"), "zero, which has no direction", ZERO_VECTORS),
        ):
            if bad.any():
                names = vectors.ids.filter(pl.Series(bad))
                found = f"the vector of {join_names(names)} is {what}"
                if len(names) > 1:
                    found = f"{len(names):,} vectors are {what}: {join_names(names)}"
                raise DataError(found, where=vectors.source, expected=f"vectors for {metric}", hint=hint)


def ranking_from_neighbours(
    queries: pl.Series, items: pl.Series, found: Neighbours, source: str, *, ranks_only: bool = False
) -> Ranking:
    """Return the neighbours as a ranking by id, best first; ``judge`` orders equal scores."""
    present = found.items != MISSING
    starts: Ints = np.concatenate(([0], np.cumsum(found.found))).astype(np.int64)
    shown = items.gather(found.items[present])
    return Ranking(queries.rename(QUERY), starts, shown, found.scores[present], source, ranks_only=ranks_only)


def resolve_exclude_self(said: bool | None, corpus: Vectors, queries: Vectors | None) -> bool:
    """Return whether each query's own item is excluded from its results.

    Args:
        said: The choice of the user or the gold; None: decide by the files.
        corpus: The items.
        queries: The queries, if they are other vectors.

    Returns:
        ``said``, or whether the queries are the corpus: none are given, they are the same object, or both were read
        from the same array of the same file.
    """
    if said is not None:
        return said
    return queries is None or queries is corpus or same_file(queries.source, corpus.source)


def rows_of_queries(corpus: Vectors, asked: Vectors, *, exclude: bool) -> Ints:
    """Return the row of the corpus that is each query itself, to be excluded; ``MISSING`` if there is none."""
    return corpus.rows_of(asked.ids) if exclude else np.full(len(asked), MISSING, dtype=np.int64)


def self_note(n: int, queries: int, *, exclude: bool) -> str:
    """Return the note on ``n`` queries that are not the corpus but have the id of an item, with their treatment."""
    has = f"{plural(n, 'query has', 'queries have')} the id of an item (of {queries:,})"
    done = "is excluded from their results (--keep-self, exclude_self = false: keep it)"
    kept = "is kept in their results (--exclude-self, exclude_self = true: exclude it)"
    return f"{has}, which {done if exclude else kept}"


def _self_notes(n: int, queries: int, exclude: bool) -> tuple[str, ...]:
    return (self_note(n, queries, exclude=exclude),) if n else ()


def self_rows(ranking: Ranking) -> Bools:
    """Return which rows of a ranking are the query itself, by its id."""
    of_row = np.repeat(np.arange(len(ranking)), np.diff(ranking.starts))
    return (ranking.queries.cast(pl.String).gather(of_row) == ranking.items.cast(pl.String)).to_numpy()


def drop_self(ranking: Ranking) -> Ranking:
    """Return the ranking without each query's own item; the items below move up."""
    others = ~self_rows(ranking)
    if others.all():
        return ranking
    return replace(_keep_rows(ranking, others), ranks_only=not ranking.has_scores)  # before the ranks have gaps


def apply_threshold(ranking: Ranking, threshold: float) -> Ranking:
    """Return the ranking without items that score below a threshold; a query may get an empty list."""
    scores = require_scores(ranking)
    return _keep_rows(replace(ranking, scores=scores), scores >= threshold)


def _keep_rows(ranking: Ranking, rows: Bools) -> Ranking:
    return replace(
        ranking,
        starts=np.concatenate(([0], np.cumsum(rows)))[ranking.starts],
        items=ranking.items.filter(pl.Series(rows)),
        scores=None if ranking.scores is None else ranking.scores[rows],
    )


def as_vectors(given: Any, ids: pl.Series | None, name: str) -> Vectors:
    """Return vectors from a matrix, a dict of id to vector, a frame, a path, or ``Vectors``.

    A matrix is viewed, not copied.
    """
    if isinstance(given, Vectors):
        return given.check()
    if isinstance(given, pl.DataFrame | pl.LazyFrame) or hasattr(given, "columns"):
        with guard_reading(name, "vectors"):
            raw = read_frame(frame_of(given), name)
        given, ids = raw.values, raw.ids if raw.ids is not None else ids
    if isinstance(given, Mapping):
        if not given:
            raise DataError("found no vectors", where=name, expected="a vector for at least one id")
        return Vectors(given, source=name).check()
    if isinstance(given, str | Path):
        return read_vectors(given)
    expected = "a matrix, a dict of id to vector, a frame, a path, or rankjury.Vectors(ids, matrix)"
    try:
        array = np.asarray(given).view()
    except (TypeError, ValueError) as error:
        raise DataError(f"cannot be read: {error}", where=name, expected=expected) from error
    if not array.ndim:
        raise DataError(f"found vectors of type {type(given).__name__}", where=name, expected=expected)
    values = as_floats(array, name)
    numbers = pl.int_range(len(values), eager=True).cast(pl.String) if ids is None else ids
    if len(numbers) != len(values):
        raise DataError(
            f"found {len(values):,} vectors and {len(numbers):,} ids", where=name, expected="one id per row"
        )
    return replace(check_vectors(numbers, values, name), numbered=ids is None)


def as_id_list(given: Any, where: str) -> pl.Series:
    """Return ids, or row numbers, from a list, an array or a Series."""
    try:
        ids = given if isinstance(given, pl.Series) else pl.Series("id", np.asarray(given).tolist())
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise DataError(f"cannot be read: {error}", where=where, expected="ids or row numbers") from error
    return names_of(ids if len(ids) else ids.cast(pl.String), where)
