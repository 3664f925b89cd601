"""Queries of an archived run for pages: a table to sort and filter, scores by measure, single queries on demand."""

import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isnan
from threading import Lock
from typing import Any, Generic, TypeVar, cast

import numpy as np
import polars as pl

from rankjury.core.columns import QUERY
from rankjury.core.types import Floats, Ints
from rankjury.errors import UnknownName, UsageError
from rankjury.evaluation.query_lists import Answers
from rankjury.reporting.html.query_data import (
    LONGEST_TEXT,
    QueryDetails,
    keyword_results,
    select_cases,
)
from rankjury.reporting.html.rounding import round_for_display
from rankjury.reporting.tables import headline_labels, idle_systems
from rankjury.tracking.archive.run import ArchivedRun
from rankjury.tracking.archive.tables import GOLDS, SCORES

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LruCache(Generic[Key, Value]):
    """LRU cache for several threads. Threads that ask for the same key at once wait for one computation."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._computing: dict[Key, Lock] = {}
        self._lock = Lock()

    def get(self, key: Key, compute: Callable[[], Value]) -> Value:
        """Return the cached value, or the one that ``compute`` returns."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
            computing = self._computing.setdefault(key, Lock())
        with computing:
            with self._lock:
                if key in self._values:
                    return self._values[key]
            try:
                value = compute()
                with self._lock:
                    self._values[key] = value
                    while len(self._values) > self._size:
                        self._values.popitem(last=False)
            finally:  # after the value is stored: a thread that came in between would compute it again
                with self._lock:
                    self._computing.pop(key, None)
            return value


MAX_ROWS = 500
"""Rows of one response."""
_CACHED_ORDERS = 20
_BLANKS = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
"""Characters that JavaScript's trim() removes."""


@dataclass(frozen=True)
class RowRequest:
    """Request for rows of a table: filter, order and page."""

    label: str
    sort: str = "row"
    """loss, gain, difference:i, score:i (of the i-th system) or row."""
    down: bool = False
    text: str = ""
    slice: int | None = None
    offset: int = 0
    limit: int = 20
    find: str = ""
    """A query whose page is shown, whatever the offset."""


@dataclass(frozen=True, eq=False)
class QueryTable:
    """Table of queries with their scores, which are read when a measure is first used."""

    ids: pl.Series
    whole_texts: pl.Series
    """Texts of the queries; null where they are not known."""
    systems: Sequence[str]
    bases: Sequence[int]
    """By system, the place of the one that it is compared with; −1 where there is none."""
    lower: Mapping[str, bool]
    """By measure, whether less is better."""
    column: Callable[[str], Floats]
    """Returns the scores of a measure, systems × queries, rounded as they are shown."""
    members: Callable[[int], Ints]
    """Returns the rows of the queries in a slice, by its place."""
    idle: Sequence[int] = ()
    """Places of systems that are compared but not of interest, such as a random one."""
    _orders: LruCache[tuple[str, bool, str], Ints] = field(default_factory=lambda: LruCache(_CACHED_ORDERS))

    def rows(self, request: RowRequest) -> dict[str, Any]:
        """Return how many rows match, and those of the page."""
        if request.label not in self.lower:
            raise UnknownName("measure", request.label, self.lower)
        rows = self._orders.get((request.sort, request.down, request.label), lambda: self._order(request))
        text = pl.Series([request.text.strip(_BLANKS)]).str.to_lowercase()[0]
        if text:
            rows = rows[self._searched.str.contains(text, literal=True).to_numpy()[rows]]
        if request.slice is not None:
            rows = rows[np.isin(rows, self.members(request.slice))]
        limit = min(request.limit, MAX_ROWS)
        # The page begins at the offset, or is that of the query to find, where it is among these rows.
        row = self.row_of(request.find) if request.find and limit else None
        places = np.flatnonzero(rows == (-1 if row is None else row))
        offset = int(places[0]) // limit * limit if len(places) else request.offset
        page = rows[offset : offset + limit]
        values = self.column(request.label)[:, page].T
        columns = zip(page.tolist(), self.ids.gather(page), self.texts.gather(page), values.tolist(), strict=True)
        lines = [
            {"row": row, "id": id_, "text": text, "values": [None if isnan(score) else score for score in scores]}
            for row, id_, text, scores in columns
        ]
        return {"total": len(rows), "offset": offset, "rows": lines}

    def row_of(self, id_: str) -> int | None:
        """Return the row of a query; None where there is none."""
        rows = (self.ids == id_).arg_true()
        return int(rows[0]) if len(rows) else None

    @cached_property
    def texts(self) -> pl.Series:
        """Texts as they are shown, long ones cut."""
        text = pl.col("text")
        cut = pl.concat_str(text.str.head(LONGEST_TEXT), pl.lit("…"))
        shown = pl.when(text.str.len_chars() > LONGEST_TEXT).then(cut).otherwise(text)
        return self.whole_texts.alias("text").to_frame().select(shown.alias("text")).to_series()

    @cached_property
    def _searched(self) -> pl.Series:
        parts = pl.DataFrame({"id": self.ids, "text": self.texts.fill_null("")})
        return parts.select(pl.concat_str("id", "text", separator="\n").str.to_lowercase()).to_series()

    def _order(self, request: RowRequest) -> Ints:
        """Return all rows in order; undefined ones come last, and equal ones go by row."""
        if request.sort == "row":
            rows = np.arange(len(self.ids), dtype=np.int64)
            return rows[::-1] if request.down else rows
        kind, _, place = request.sort.partition(":")
        values = self.column(request.label)
        system = int(place) if re.fullmatch("[0-9]{1,5}", place) else -1
        if kind in ("loss", "gain") and not place and self.compared:
            pick = np.fmin if kind == "loss" else np.fmax
            busy = [system for system in self.compared if system not in self.idle] or self.compared
            sign = -1.0 if self.lower[request.label] else 1.0
            key = np.asarray(pick.reduce([sign * self._difference(values, system) for system in busy]))
        elif kind == "score" and 0 <= system < len(self.systems):
            key = values[system]
        elif kind == "difference" and system in self.compared:
            key = self._difference(values, system)
        else:
            raise UsageError(f"cannot sort by {request.sort!r}", expected="loss, gain, difference:i, score:i or row")
        return np.argsort(-key if request.down else key, kind="stable").astype(np.int64)

    @cached_property
    def compared(self) -> list[int]:
        """Places of the systems that are compared with another."""
        return [system for system, base in enumerate(self.bases) if base >= 0]

    def _difference(self, values: Floats, system: int) -> Floats:
        """Return differences to nine decimals, so that equal ones are equal; halves go up, as in JavaScript."""
        return np.asarray(np.floor((values[system] - values[self.bases[system]]) * 1e9 + 0.5) / 1e9)


CACHED_COLUMNS = 12


class OpenRun:
    """Archived run for pages; its files are read when they are first used."""

    def __init__(self, run: ArchivedRun) -> None:
        self.run = run
        self.report = run.report
        self._columns: LruCache[str, Floats] = LruCache(CACHED_COLUMNS)

    @property
    def systems(self) -> list[str]:
        return list(self.report.systems)

    @cached_property
    def labels(self) -> list[str]:
        """Measures of single queries; coverage, for example, is a value over all."""
        return [label for label in self.report.labels if not self.report.is_whole(label)]

    @cached_property
    def slices(self) -> list[str]:
        """Names of the slices of queries, in the report's order."""
        return [part.name for part in self.report.slices if part.of == "queries"]

    @cached_property
    def queries(self) -> pl.DataFrame:
        """Queries in the order of scores: query_id, text and slices."""
        return self.run.tables.queries("text", "slices")

    @cached_property
    def table(self) -> QueryTable:
        compared = {comparison.system for comparison in self.report.comparisons}
        baseline, idle = self.report.baseline, idle_systems(self.report)
        place = self.systems.index(baseline) if baseline in self.systems else -1
        return QueryTable(
            self.queries[QUERY],
            self.queries["text"],
            self.systems,
            [place if name in compared else -1 for name in self.systems],
            {label: self.report.lower_is_better(label) for label in self.labels},
            self.rounded,
            self.members,
            [place for place, name in enumerate(self.systems) if name in idle],
        )

    def scores(self, label: str) -> Floats:
        """Return the scores of a measure, systems × queries; NaN is undefined."""
        column = self.run.tables.read(SCORES, (label,))[label].fill_null(np.nan).to_numpy()
        padded = np.append(column, np.nan)  # at −1
        return np.vstack([padded[self.run.tables.score_rows[name]] for name in self.systems])

    def rounded(self, label: str) -> Floats:
        """Return the scores of a measure as a page shows them."""
        return self._columns.get(label, lambda: round_for_display(self.scores(label), self._bases))

    @cached_property
    def _bases(self) -> list[int]:
        """By system, the place of the baseline; −1 where there is none."""
        baseline = self.report.baseline
        return [self.systems.index(baseline) if baseline in self.systems else -1] * len(self.systems)

    def members(self, place: int) -> Ints:
        """Return the rows of the queries in a slice, by its place."""
        if place >= len(self.slices):
            raise UsageError(f"there is no slice {place:,}", expected=f"one of {len(self.slices):,}")
        rows = self.run.tables.slice_rows.get(self.slices[place])
        return np.empty(0, dtype=np.int64) if rows is None else rows.to_numpy()

    @cached_property
    def keywords(self) -> dict[str, dict[str, Any]]:
        return keyword_results(self.report)

    def query(self, id_: str) -> dict[str, Any] | None:
        """Return the details of one query; None where the run does not have it."""
        row = self.table.row_of(id_)
        if row is None:
            return None
        answers = self.run.answer(id_)
        # With the digits of the table: the same value must not differ between two places.
        values = round_for_display(self.exact_scores(id_), self._bases)
        scores = {
            name: {
                label: value
                for label, value in zip(self.labels, row_values[:, None], strict=True)
                if label in system.estimates
            }
            for (name, system), row_values in zip(self.report.systems.items(), values, strict=True)
        }
        slices = {name: [0] for name in self.queries["slices"][row]}
        names, texts = self._item_names(answers), [self.table.texts[row]]
        return QueryDetails([id_], texts, scores, slices, names, answers, self.keywords).query(0) | {"row": row}

    def exact_scores(self, id_: str) -> Floats:
        """Return the scores of one query, systems × measures; NaN is undefined."""
        frame = self.run.tables.read(SCORES, where=pl.col(QUERY) == id_)
        values = frame.select(pl.col(self.labels).fill_null(np.nan)).to_numpy()
        by_system = dict(zip(frame["system"], values, strict=True))
        undefined = np.full(len(self.labels), np.nan)
        return np.vstack([by_system.get(name, undefined) for name in self.systems])

    def examples(self) -> QueryDetails:
        """Return the data of a page's examples: only their answers, and the scores of the first measure."""
        shown = [label for label in headline_labels(self.report) if label in self.labels][:1]
        scores: dict[str, dict[str, Floats]] = {name: {} for name in self.systems}
        for label in shown:
            for name, values in zip(self.systems, self.scores(label), strict=True):
                if label in self.report.systems[name].estimates:
                    scores[name][label] = values
        slices: dict[str, Sequence[int]] = dict.fromkeys(self.slices, ())
        ids, texts = cast("Sequence[str]", self.table.ids), cast("Sequence[str | None]", self.table.texts)
        details = QueryDetails(ids, texts, scores, slices)
        chosen = {
            case.id
            for label in shown
            for _, best, worst in select_cases(details, label, lower=self.report.lower_is_better(label))
            for case in (*best, *worst)
        }
        answers = self.run.tables.answers(self.queries[QUERY], sorted(chosen))
        return QueryDetails(ids, texts, scores, slices, self._item_names(answers), answers)

    def _item_names(self, answers: Answers | None) -> dict[str, str]:
        """Return the names of the items in some answers."""
        lists = () if answers is None else (*answers.golds.values(), *answers.systems.values())
        items = {item for ranking in lists for item in ranking.items}
        return self.run.tables.item_names(items) if items else {}

    @cached_property
    def lists_no_gold(self) -> bool:
        """Whether there are judged items, but too many to be stored."""
        return GOLDS in self.run.files and self.run.tables.is_empty(GOLDS)
