"""Gold (relevant items), Ranking (retrieved items) and Vectors.

All are frozen and their arrays read-only. Rows are grouped by query (CSR: the rows of the i-th query are
``starts[i]:starts[i + 1]``). Ids are compared as strings; whole-number ids keep their type and equal their decimal
text. Row numbers as items, of vectors without ids, have the type ``ROW_NUMBER``: they also equal their decimal text,
but ties between them are ordered as numbers, 2 before 10 (``sort_key``).

Small blocks keep their arrays within the processor's cache, which saves more time than threads do. Results do not
depend on the block size or the number of threads.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UsageError, shorten

Matrix = NDArray[np.floating]


def listed(names: pl.Series | list[str], most: int = 5) -> str:
    """Return the first few names and the total number."""
    more = f" … ({len(names):,} in all)" if len(names) > most else ""
    return ", ".join(shorten(str(name)) for name in names[:most]) + more


def as_floats(values: NDArray[np.generic], where: str) -> Matrix:
    """Return a matrix with one row per id, in the precision of the input; whole numbers become floats."""
    if values.ndim != 2 or values.dtype.kind not in "fiu":
        raise DataError(
            f"found an array of shape {'×'.join(map(str, values.shape))} and type {values.dtype}",
            where=where,
            expected="a row of numbers for each id",
        )
    if values.shape[0] == 0 or values.shape[1] == 0:
        found = f"found {values.shape[0]:,} vectors of {values.shape[1]:,} numbers"
        raise DataError(found, where=where, expected="at least one")
    if values.dtype.kind != "f":
        return values.astype(np.float32 if values.dtype.itemsize <= 2 else np.float64)
    if values.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # overflow becomes infinite, which is reported as such
            return values.astype(np.float64)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def names_of(ids: pl.Series, where: str) -> pl.Series:
    """Return ids as strings, one in every row."""
    if not (ids.dtype == pl.String or ids.dtype.is_integer() or ids.dtype in (pl.Categorical, pl.Enum)):
        raise DataError(f"the ids are of type {ids.dtype}", where=where, expected="strings or whole numbers")
    names = ids.cast(pl.String).rename("id")
    if names.null_count() or (names == "").any():
        row = int((names.is_null() | (names == "")).arg_max() or 0)
        raise DataError(f"row {row + 1:,} has no id", where=where, expected="an id in every row")
    return names


def ids_and_rows(ids: Any, values: Any, where: str) -> tuple[pl.Series, Matrix]:
    """Return ids and a matrix from lists, arrays or a dict of id to vector."""
    if isinstance(ids, Mapping) and values is None:
        ids, values = list(ids), list(ids.values())
    of_ids = isinstance(ids, Iterable) and not isinstance(ids, str) and getattr(ids, "ndim", 1) == 1
    if not of_ids or not isinstance(values, Iterable):
        found = f"found ids of type {type(ids).__name__} and values of type {type(values).__name__}"
        raise UsageError(found, where=where, expected="Vectors(ids, matrix), or Vectors({id: vector})")
    if not isinstance(ids, pl.Series):
        listed_ids = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
        for id_ in listed_ids:
            if isinstance(id_, bool) or not isinstance(id_, str | int | np.integer):
                raise DataError(f"found the id {id_!r}", where=where, expected="strings or whole numbers")
        ids = pl.Series("id", [str(id_) for id_ in listed_ids], dtype=pl.String)
    names = names_of(ids, where)
    for row, vector in enumerate(values) if isinstance(values, list) else ():
        if isinstance(vector, Mapping | str):
            found = f"the vector of {shorten(names[row], quoted=True)} is of type {type(vector).__name__}"
            hint = "Create Vectors for each space: {id: vectors[id][space] …}." if isinstance(vector, Mapping) else None
            raise DataError(found, where=where, expected="a list or an array of numbers", hint=hint)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        expected = "one row of numbers for each id, all of one length"
        raise DataError(f"the values are not a matrix: {error}", where=where, expected=expected) from error
    if array.ndim == 0:
        raise DataError("the values are a single number", where=where, expected="one row of numbers for each id")
    if len(array) != len(names):
        raise DataError(f"found {len(array):,} vectors and {len(names):,} ids", where=where, expected="one id per row")
    return names, as_floats(array.view(), where)


WHOLE = 1 << 62
"""``depth`` of a ranking whose lists contain all candidates."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_ROWS_AT_ONCE = 1 << 14
ROW_NUMBER = pl.UInt32
"""Type of items that are row numbers. Whole-number ids from the user are 64-bit."""


def sort_key(ids: pl.Series) -> pl.Series:
    """Return the sort key of ids: row numbers as numbers, all other ids as strings."""
    return ids if ids.dtype == ROW_NUMBER else ids.cast(pl.String)


def freeze(instance: object) -> None:
    """Make the arrays of an instance read-only, as views, since the arrays may belong to the caller."""
    for name, value in list(vars(instance).items()):
        if isinstance(value, np.ndarray) and value.flags.writeable:
            view = value.view()
            view.flags.writeable = False
            object.__setattr__(instance, name, view)


class ReadOnlyArrays:
    """Base class of dataclasses whose arrays are read-only."""

    def __post_init__(self) -> None:
        freeze(self)


@dataclass(frozen=True, eq=False)
class Runs(ReadOnlyArrays):
    """Number of items of each grade per query, best first (CSR)."""

    starts: Ints
    grades: Floats
    counts: Ints


@dataclass(frozen=True, eq=False)
class Gold(ReadOnlyArrays):
    """For each query its judged items with a grade.

    ``rankjury.as_gold`` and ``rankjury.read_gold`` make one.

    Example:
        >>> rankjury.as_gold({"q": {"a": 2, "b": 1}})
        Gold(gold: 1 queries, 2 judged items)
    """

    queries: pl.Series
    """Ids of the queries."""
    starts: Ints
    """Where the rows of each query begin: those of the i-th are ``starts[i]`` to ``starts[i + 1]``."""
    items: pl.Series
    """Id of the item of each row."""
    grades: Floats
    """Grade of each row."""
    relevant_from: float | None = None
    """Lowest relevant grade; None: any grade above zero."""
    ordered: bool = False
    """Grades are positions in a list (the best item has the highest), so that the gold can be cut at k."""
    complete: bool = False
    """All unlisted items count as judged and not relevant."""
    counted: Runs | None = None
    """Number of items of each grade in total, if only the items of one ranking are listed."""
    lookup: Callable[["Ranking"], "Gold"] | None = field(default=None, repr=False)
    """Creates the gold for one ranking, if there are too many items to list; until then none is listed."""
    source: str = "gold"
    """Its name in messages and reports."""
    highest_of_whole: float | None = None
    """Highest grade of the complete gold, if this is a part of one; else None."""

    def __len__(self) -> int:
        return len(self.queries)

    def __repr__(self) -> str:
        return f"Gold({self.source}: {len(self):,} queries, {len(self.items):,} judged items)"

    @cached_property
    def sorted_queries(self) -> pl.Series:
        return self.queries.sort()

    @cached_property
    def remembered(self) -> dict[str, Any]:
        """Cache of values derived from the gold, by name: all systems are judged against the same gold."""
        return {}

    @cached_property
    def item_places(self) -> tuple[pl.Series, Ints]:
        """Distinct judged items as strings, ascending, and for each row the position of its item among them."""
        items = self.items.cast(pl.String)
        ids = items.unique().sort()
        return ids, places_in(ids, items)

    def against(self, ranking: "Ranking") -> "Gold":
        """Return the gold with all items listed that matter to a ranking.

        Args:
            ranking: The ranking that will be judged.

        Example:
            >>> len(gold.against(ranking))
            2
        """
        return self if self.lookup is None else self.lookup(ranking)

    def part(self, kept: Bools) -> "Gold":
        """Return some of the rows; queries that have none of them are omitted.

        Args:
            kept: For each row, whether it is kept.

        Example:
            >>> len(gold.part(gold.grades >= 2))
            1
        """
        lengths = np.diff(np.concatenate(([0], np.cumsum(kept)))[self.starts])
        filled = lengths > 0
        starts = np.concatenate(([0], np.cumsum(lengths[filled])))
        queries, items, grades = self.queries.filter(filled), self.items.filter(kept), self.grades[kept]
        highest = float(self.grades.max(initial=0.0)) if self.highest_of_whole is None else self.highest_of_whole
        return replace(self, queries=queries, starts=starts, items=items, grades=grades, highest_of_whole=highest)

    def frame(self) -> pl.DataFrame:
        """Return the judgments as a Polars frame: query_id, item_id, grade.

        Example:
            >>> gold.frame().columns
            ['query_id', 'item_id', 'grade']
        """
        return _frame(self, "grade", self.grades)


@dataclass(frozen=True)
class RowNumbers:
    """Vectors without ids that a ranking was made from: their ids are the numbers of their rows, from 0."""

    source: str
    """The file of the vectors, or their name."""
    rows: int
    roles: tuple[Literal["queries", "items"], ...]
    """What the vectors belong to: both if the queries are the items."""
    matched_with: str | None = None
    """The file with the ids that the row numbers are matched with, if it is not the gold."""


@dataclass(frozen=True, eq=False)
class Ranking(ReadOnlyArrays):
    """For each query its retrieved items, as given; ``judge`` orders them by score.

    ``scores`` is None where the given order is the ranking. ``rankjury.as_ranking`` and ``rankjury.read_run`` make one.

    Example:
        >>> rankjury.as_ranking({"q": ["b", "a"]})
        Ranking(ranking: 1 queries, 2 retrieved items)
    """

    queries: pl.Series
    """Ids of the queries."""
    starts: Ints
    """Where the rows of each query begin: those of the i-th are ``starts[i]`` to ``starts[i + 1]``."""
    items: pl.Series
    """Id of the item of each row."""
    scores: Floats | None
    """Score of each row; higher is better."""
    source: str = "ranking"
    """Its name in messages and reports."""
    seconds: Floats | None = None
    """Search time of each query, if measured."""
    notes: tuple[str, ...] = ()
    """Notes on how the ranking was made, reported with all results computed from it."""
    ranks_only: bool = False
    """Scores only give the order and its ties: they are negative ranks or levels, and are not shown."""
    depth: int | None = None
    """Maximum list length if lists contain the best candidates of each query (``WHOLE``: all of them);
    None: unknown, as for a file."""
    same_ids: bool = False
    """Its items come from the same catalogue as the gold's, so that ids cannot be spelled differently."""
    fallback: Bools | None = None
    """Queries answered by a fallback, such as popularity, instead of the system itself."""
    row_numbers: tuple[RowNumbers, ...] = ()
    """Vectors without ids that it was made from: the ids of its queries or items are row numbers."""

    def __len__(self) -> int:
        return len(self.queries)

    def __repr__(self) -> str:
        return f"Ranking({self.source}: {len(self):,} queries, {len(self.items):,} retrieved items)"

    @cached_property
    def has_scores(self) -> bool:
        """Whether the scores contain more information than the order.

        They do not if there are none, if the creator of the ranking declares so (``ranks_only``), or if those of every
        query are −1, −2 … or 0, −1 …: ranks, as for a list or a service without scores. A list of one item cannot
        distinguish score 0 from a rank, so at least one must be longer.
        """
        if self.scores is None or self.ranks_only:
            return False
        if not self.scores.size or (self.scores > 0).any() or (self.scores != np.rint(self.scores)).any():
            return True
        lengths = np.diff(self.starts)
        rows: Ints = np.repeat(np.arange(lengths.size), lengths)
        ordered, ranks = self.scores[np.lexsort((-self.scores, rows))], segments_within(self.starts)
        if np.array_equal(ordered, -1 - ranks):
            return False
        return not (lengths.max() > 1 and np.array_equal(ordered, -ranks))

    def frame(self) -> pl.DataFrame:
        """Return the ranking as a Polars frame: query_id, item_id, score (falling with the place if none was given).

        Example:
            >>> ranking.frame().columns
            ['query_id', 'item_id', 'score']
        """
        scores = self.scores
        if scores is None:
            scores = -1.0 - segments_within(self.starts).astype(np.float64)
        return _frame(self, "score", scores)


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors by id: row i of ``values`` belongs to the i-th id.

    Args:
        ids: Strings or whole numbers, in a list, an array or a Series; or a dict of id to vector, without ``values``.
        values: A matrix of numbers with one row per id.
        source: The name in errors and reports.
        numbered: Whether the ids are row numbers, because the vectors have no ids.

    Raises:
        DataError: An id is missing or a duplicate, there are more or fewer ids than rows, or a number is not finite.

    >>> rankjury.Vectors(["a", "b"], [[1.0, 0.0], [0.0, 1.0]])
    Vectors(vectors: 2 × 2, float64)
    """

    ids: pl.Series
    values: Matrix = None  # type: ignore[assignment] # a dict contains both
    source: str = "vectors"
    numbered: bool = False

    if TYPE_CHECKING:

        def __init__(self, ids: Any, values: Any = None, source: str = "vectors", numbered: bool = False) -> None: ...

    def __post_init__(self) -> None:
        ids, values = self.ids, self.values
        plain = isinstance(ids, pl.Series) and ids.dtype == pl.String and isinstance(values, np.ndarray)
        if not plain or values.ndim != 2 or values.dtype.kind != "f" or len(ids) != len(values):
            names, matrix = ids_and_rows(ids, values, self.source)
            object.__setattr__(self, "ids", names)
            object.__setattr__(self, "values", matrix)
            self.check()
        freeze(self)

    def check(self) -> Self:
        """Return the same, or raise an error that names the ids that are duplicates or have numbers not finite.

        Raises:
            DataError: An id is a duplicate, or a number is not finite.

        Example:
            >>> vectors.check() is vectors
            True
        """
        where, names, numbers = self.source, self.ids, self.values
        duplicates = names.filter(names.is_duplicated()).unique(maintain_order=True)
        if len(duplicates):
            raise DataError(f"duplicate ids: {listed(duplicates)}", where=where, expected="each id once")
        blocks = (slice(*block) for block in cut_rows(max(len(numbers), 1), _ROWS_AT_ONCE))
        rows = np.flatnonzero(~np.concatenate([np.isfinite(numbers[block]).all(axis=1) for block in blocks]))
        if rows.size:
            raise DataError(
                f"NaN or infinite numbers in the vectors of {listed(names.gather(rows))}",
                where=where,
                expected="finite numbers",
                hint="Embed those texts again, or remove them.",
            )
        return self

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Vectors({self.source}: {len(self):,} × {self.dimensions:,}, {self.values.dtype})"

    @property
    def dimensions(self) -> int:
        return int(self.values.shape[1])

    @cached_property
    def items(self) -> pl.Series:
        """The ids as items of a ranking: row numbers if the vectors have no ids."""
        numbers = self.ids.cast(ROW_NUMBER, strict=False) if self.numbered else self.ids
        return self.ids if numbers.null_count() else numbers

    @cached_property
    def places(self) -> Ints:
        """Rank of each row in the order of ids, from 0, for breaking ties."""
        return sort_key(self.items).rank("ordinal").cast(pl.Int64).to_numpy() - 1

    @check_arguments
    def rows_of(self, ids: pl.Series) -> Ints:
        """Return the row of each of these ids, −1 where there is none.

        Args:
            ids: The ids.

        Example:
            >>> vectors.rows_of(pl.Series(["b", "nobody"])).tolist()
            [1, -1]
        """
        return places_in(self.ids, ids)

    @check_arguments
    def take(self, rows: Ints) -> "Vectors":
        """Return the vectors of some rows.

        Args:
            rows: The numbers of the rows.

        Example:
            >>> vectors.take(np.array([1])).ids.to_list()
            ['b']
        """
        return replace(self, ids=self.ids.gather(rows), values=self.values[rows])


def segments_within(starts: Ints) -> Ints:
    """Return the position (from 0) of each row within its segment of CSR ``starts``."""
    lengths = np.diff(starts)
    return np.arange(int(starts[-1]), dtype=np.int64) - np.repeat(starts[:-1], lengths)


def places_in(known: pl.Series, wanted: pl.Series) -> Ints:
    """Return the position of each wanted id among the known ones, −1 if missing."""
    if wanted.dtype.is_nested():
        raise DataError(f"the ids are of type {wanted.dtype}", expected="strings or whole numbers")
    if known.dtype != wanted.dtype:
        known, wanted = known.cast(pl.String), wanted.cast(pl.String)
    if len(known) == len(wanted) and known.equals(wanted):
        return np.arange(len(known))
    places = pl.DataFrame({"id": known, "place": np.arange(len(known))})
    found = wanted.to_frame("id").join(places, on="id", how="left", maintain_order="left")
    return found["place"].fill_null(-1).cast(pl.Int64).to_numpy()


def gathered(starts: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Return selected segments one after the other: their CSR starts, and the positions of their entries."""
    lengths = np.diff(starts)[rows]
    found = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return found, np.repeat(starts[:-1][rows], lengths) + segments_within(found)


def _frame(lists: Gold | Ranking, name: str, values: Floats) -> pl.DataFrame:
    queries = lists.queries.gather(np.repeat(np.arange(len(lists)), np.diff(lists.starts)))
    items = lists.items.cast(pl.String) if lists.items.dtype == ROW_NUMBER else lists.items
    return pl.DataFrame({"query_id": queries, "item_id": items, name: values})


Result = TypeVar("Result")

ROWS_PER_BLOCK = 1 << 18


def cut_into_blocks(starts: Ints, rows_per_block: int | None = None) -> list[tuple[int, int]]:
    """Return ranges of whole segments (first, last + 1) of about ``rows_per_block`` rows each."""
    size = rows_per_block or ROWS_PER_BLOCK
    segments = starts.size - 1
    bounds = np.searchsorted(starts, np.arange(size, int(starts[-1]), size))
    edges = np.unique(np.concatenate(([0], bounds, [segments])))
    return list(pairwise(edges.tolist()))


def cut_rows(rows: int, rows_per_block: int | None = None) -> list[tuple[int, int]]:
    """Return ranges of rows (first, last + 1), independent of segments."""
    size = rows_per_block or ROWS_PER_BLOCK
    return [(first, min(first + size, rows)) for first in range(0, rows, size)]


def in_threads(work: Callable[[int, int], Result], parts: list[tuple[int, int]]) -> Iterator[Result]:
    """Yield the results of the parts in their order, computed in threads."""
    if len(parts) < 2 or threads() < 2:
        yield from (work(first, last) for first, last in parts)
        return
    with ThreadPoolExecutor(max_workers=threads()) as pool:
        yield from pool.map(lambda part: work(*part), parts)


def block_heads(query: pl.Series) -> Ints:
    """Return the rows whose query is not that of the row before."""

    def changes(first: int, last: int) -> Ints:
        hashes = query.slice(first, last - first + 1).hash(0).to_numpy()
        return np.flatnonzero(hashes[1:] != hashes[:-1]) + first + 1

    start = np.zeros(min(len(query), 1), dtype=np.int64)
    return np.concatenate([start, *in_threads(changes, cut_rows(len(query)))])


def stable_order(codes: Ints) -> Ints:
    """Sort small numbers in a stable way, 16 bits at a time, for which NumPy has a radix sort; return the order."""
    order = np.argsort((codes & 0xFFFF).astype(np.uint16), kind="stable")
    for shift in range(16, max(int(codes.max(initial=0)).bit_length(), 1), 16):
        digits = ((codes[order] >> shift) & 0xFFFF).astype(np.uint16)
        order = order[np.argsort(digits, kind="stable")]
    return order


def are_whole(numbers: pl.Series) -> bool:
    """Return whether all are whole numbers that can be written as such without loss; negative zero cannot."""
    exact = (numbers == numbers.round()) & (numbers.abs() <= 2**53) & ~((numbers == 0) & (1 / numbers < 0))
    return bool(exact.all())


def threads() -> int:
    """Return the number of threads: RANKJURY_THREADS, or the number of cores."""
    given = os.environ.get("RANKJURY_THREADS", "")
    return int(given) if given.isdigit() and int(given) else os.cpu_count() or 1


@dataclass(frozen=True, eq=False)
class Background(ReadOnlyArrays):
    """Training data of recommenders: item popularity and user histories, without the test period."""

    items: pl.Series
    """Ids of the catalogue, ascending; item codes are positions in it."""
    popularity: Ints
    """Number of training users per item."""
    n_users: int
    """Number of training users."""
    users: pl.Series
    """User ids, ascending."""
    starts: Ints
    history: Ints
    """Training items of each user: codes of items, ascending (CSR with ``starts``)."""
    features: Mapping[str, Matrix] = field(default_factory=dict)
    """Item features by name, such as genre: one row per item; a row of zeros is unknown."""

    @cached_property
    def remembered(self) -> dict[str, tuple[object, Any]]:
        """Cache of the last result by name, with its input: all systems are evaluated for the same users."""
        return {}

    def histories(self, queries: pl.Series) -> tuple[Ints, Ints]:
        """Return the training items of these users: CSR starts and codes; empty for unknown users."""
        cached_queries, found = self.remembered.get("histories", (None, None))
        if not isinstance(cached_queries, pl.Series) or not cached_queries.equals(queries):
            rows = places_in(self.users, queries.cast(pl.String))
            rows = np.where(rows < 0, len(self.users), rows)  # unknown users get the empty last segment
            starts, places = gathered(np.append(self.starts, self.starts[-1]), rows)
            found = starts, self.history[places]
            self.remembered["histories"] = queries, found
        return cast(tuple[Ints, Ints], found)


@dataclass(frozen=True, eq=False)
class Lists(ReadOnlyArrays):
    """Top items of each query, in order."""

    codes: Ints
    """Queries × depth: positions in the background's items; −1 for no item, or an item outside of the catalogue."""
    starts: Ints
    history: Ints
    """Training items of each query's user (CSR)."""
    background: Background

    def first(self, k: int | None) -> Ints:
        """Return the first k items of each query."""
        return self.codes if k is None else self.codes[:, :k]


def checked_background(given: object, where: str) -> Background | None:
    """Return the background; refuse any other type, such as a task, which only has one."""
    if given is None or isinstance(given, Background):
        return given
    raise UsageError(f"a background of type {type(given).__name__}", where=where, expected="background=task.background")
