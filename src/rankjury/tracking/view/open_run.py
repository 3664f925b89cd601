"""Queries of an archived run for pages: a table to sort and filter, scores by measure, single queries on demand."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isnan
from threading import Lock
from typing import Any, Generic, TypeVar, cast

import numpy as np
import polars as pl

from rankjury.core.convert import QUERY
from rankjury.core.types import Floats, Ints
from rankjury.errors import DamagedRun, UnknownName, UsageError
from rankjury.evaluation.query_lists import Answers
from rankjury.reporting.html.query_data import (
    LONGEST_TEXT,
    QueryDetails,
    keyword_results,
    round_significant,
    select_cases,
)
from rankjury.reporting.tables import headline_labels, idle_systems
from rankjury.tracking.archive.run import ArchivedRun
from rankjury.tracking.archive.tables import GOLDS, QUERIES, SCORES

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LruCache(Generic[Key, Value]):
    """A few values by key, for several threads. Two that ask for the same at once wait for one making."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[Key, Value] = OrderedDict()
        self._making: dict[Key, Lock] = {}
        self._lock = Lock()

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """The value that is held, or that ``make`` makes."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
            making = self._making.setdefault(key, Lock())
        with making:
            with self._lock:
                if key in self._held:
                    return self._held[key]
            try:
                value = make()
            finally:
                with self._lock:
                    self._making.pop(key, None)
            with self._lock:
                self._held[key] = value
                while len(self._held) > self._most:
                    self._held.popitem(last=False)
            return value


MOST_ROWS = 500
"""That are given at a time."""
_ORDERS_KEPT = 20
_BLANKS = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
"""What a script's trim() takes away."""


@dataclass(frozen=True)
class RowRequest:
    """Which rows, in which order."""

    label: str
    sort: str = "row"
    """loss, gain, difference:i, score:i (of the i-th system) or row."""
    down: bool = False
    text: str = ""
    slice: int | None = None
    offset: int = 0
    limit: int = 20
    find: str = ""
    """A query: the page that it stands on, whatever the offset."""


@dataclass(frozen=True, eq=False)
class QueryTable:
    """Queries with their scores, the latter read when a measure is first asked for."""

    ids: pl.Series
    whole_texts: pl.Series
    """What queries say; null where it is not known."""
    systems: Sequence[str]
    bases: Sequence[int]
    """Of every system the place of the one that it is compared with; −1 where there is none."""
    lower: Mapping[str, bool]
    """By measure whether less is better."""
    column: Callable[[str], Floats]
    """Of a measure the scores, systems × queries, rounded as they are shown."""
    members: Callable[[int], Ints]
    """The rows of the queries in a slice, by its place."""
    idle: Sequence[int] = ()
    """The places of systems that nobody asks about, such as a random one."""
    _orders: LruCache[tuple[str, bool, str], Ints] = field(default_factory=lambda: LruCache(_ORDERS_KEPT))

    def rows(self, asked: RowRequest) -> dict[str, Any]:
        """How many fit, and those of the page that is asked for."""
        if asked.label not in self.lower:
            raise UnknownName("measure", asked.label, self.lower)
        order = self._orders.get((asked.sort, asked.down, asked.label), lambda: self._order(asked))
        kept = self._kept(asked)
        found = order if kept is None else order[kept[order]]
        limit = min(asked.limit, MOST_ROWS)
        # The page begins at the offset, or is that of the query that is to be found, where it is among these.
        row = self.row_of(asked.find) if asked.find and limit else None
        places = np.flatnonzero(found == (-1 if row is None else row))
        offset = int(places[0]) // limit * limit if len(places) else asked.offset
        shown = found[offset : offset + limit]
        values = self.column(asked.label)[:, shown].T
        listed = zip(shown.tolist(), self.ids.gather(shown), self.texts.gather(shown), values.tolist(), strict=True)
        rows = [
            {"row": row, "id": id_, "text": text, "values": [None if isnan(value) else value for value in own]}
            for row, id_, text, own in listed
        ]
        return {"total": len(found), "offset": offset, "rows": rows}

    def row_of(self, id_: str) -> int | None:
        """Where a query stands."""
        found = (self.ids == id_).arg_true()
        return int(found[0]) if len(found) else None

    @cached_property
    def texts(self) -> pl.Series:
        """As they are shown: what is longer is cut."""
        cut = pl.concat_str(pl.col("text").str.head(LONGEST_TEXT), pl.lit("…"))
        long = pl.col("text").str.len_chars() > LONGEST_TEXT
        frame = self.whole_texts.alias("text").to_frame()
        return frame.select(pl.when(long).then(cut).otherwise("text").alias("text"))["text"]

    @cached_property
    def _searched(self) -> pl.Series:
        parts = pl.DataFrame({"id": self.ids, "text": self.texts.fill_null("")})
        return parts.select(pl.concat_str("id", "text", separator="\n").str.to_lowercase().alias("searched"))[
            "searched"
        ]

    def _kept(self, asked: RowRequest) -> Any:
        """Which rows a filter leaves, as booleans; None where there is none."""
        wanted = pl.Series([asked.text.strip(_BLANKS)]).str.to_lowercase()[0]
        kept = None
        if wanted:
            kept = self._searched.str.contains(wanted, literal=True).to_numpy()
        if asked.slice is not None:
            within = np.zeros(len(self.ids), dtype=bool)
            within[self.members(asked.slice)] = True
            kept = within if kept is None else kept & within
        return kept

    def _order(self, asked: RowRequest) -> Ints:
        """All rows; what is undefined comes last, and equal ones go by row."""
        if asked.sort == "row":
            rows = np.arange(len(self.ids), dtype=np.int64)
            return rows[::-1] if asked.down else rows
        key = self._key(asked.sort, asked.label)
        return np.argsort(-key if asked.down else key, kind="stable").astype(np.int64)

    def _key(self, sort: str, label: str) -> Floats:
        kind, _, place = sort.partition(":")
        values = self.column(label)
        if kind in ("loss", "gain") and not place and self.compared:
            pick = np.fmin if kind == "loss" else np.fmax
            busy = [system for system in self.compared if system not in self.idle] or self.compared
            sign = -1.0 if self.lower[label] else 1.0
            return np.asarray(pick.reduce([sign * self._difference(values, system) for system in busy]))
        system = int(place) if place.isascii() and place.isdigit() and len(place) < 6 else -1
        if kind == "score" and 0 <= system < len(self.systems):
            return np.asarray(values[system])
        if kind == "difference" and system in self.compared:
            return self._difference(values, system)
        raise UsageError(f"cannot sort by {sort!r}", expected="loss, gain, difference:i, score:i or row")

    @cached_property
    def compared(self) -> list[int]:
        """The places of the systems that are compared with another."""
        return [system for system, base in enumerate(self.bases) if base >= 0]

    def _difference(self, values: Floats, system: int) -> Floats:
        """Equal ones are equal, whatever the last digits of a subtraction say; halves go up, as in a script."""
        return np.asarray(np.floor((values[system] - values[self.bases[system]]) * 1e9 + 0.5) / 1e9)


_COLUMNS_KEPT = 12


class OpenRun:
    """A run whose files are read when something of them is first wanted."""

    def __init__(self, run: ArchivedRun) -> None:
        self.run = run
        self.report = run.report
        self._columns: LruCache[str, Floats] = LruCache(_COLUMNS_KEPT)

    @property
    def systems(self) -> list[str]:
        return list(self.report.systems)

    @cached_property
    def labels(self) -> list[str]:
        """The measures of single queries; coverage, for one, is a figure over all."""
        return [label for label in self.report.labels if not self.report.is_whole(label)]

    @cached_property
    def slices(self) -> list[str]:
        """The names of the slices of queries, in the report's order."""
        return [part.name for part in self.report.slices if part.of == "queries"]

    @cached_property
    def asked(self) -> pl.DataFrame:
        """query_id and text, in the order of scores."""
        return self.run.tables.queries("text")

    @cached_property
    def table(self) -> QueryTable:
        compared = {one.system for one in self.report.comparisons}
        baseline, idle = self.report.baseline, idle_systems(self.report)
        place = self.systems.index(baseline) if baseline in self.systems else -1
        return QueryTable(
            self.asked[QUERY],
            self.asked["text"],
            self.systems,
            [place if name in compared else -1 for name in self.systems],
            {label: self.report.lower_is_better(label) for label in self.labels},
            self.rounded,
            self.members,
            [place for place, name in enumerate(self.systems) if name in idle],
        )

    @cached_property
    def _places(self) -> list[Ints]:
        """Of every system where its queries stand in the file of scores; −1 where one has none.

        The file is in the order of ids, and of each the systems are in the report's order. As no pair stands there
        twice, it suffices to know how many rows there are to know that all systems have all queries.
        """
        ids, many = self.asked.select(QUERY), len(self.systems)
        held = self.run.tables.read(SCORES, ("system",))["system"]
        if len(held) == len(ids) * many and held.head(many).to_list() == self.systems:
            first = np.empty(len(ids), dtype=np.int64)
            first[ids[QUERY].arg_sort().to_numpy()] = np.arange(0, len(held), many)
            return [first + place for place in range(many)]
        frame = self.run.tables.read(SCORES, (QUERY, "system")).with_row_index("at")
        found = []
        for name in self.systems:
            own = ids.join(frame.filter(pl.col("system") == name), on=QUERY, how="left", maintain_order="left")
            if len(own) != len(ids):
                raise DamagedRun(self.run.path / SCORES, f"a query of {name} occurs twice")
            found.append(own["at"].cast(pl.Int64).fill_null(-1).to_numpy())
        return found

    def scores(self, label: str) -> Floats:
        """Of a measure, systems × queries; NaN is undefined."""
        held = self.run.tables.read(SCORES, (label,))[label].fill_null(np.nan).to_numpy()
        known = np.append(held, np.nan)
        return np.vstack([known[places] for places in self._places])

    def rounded(self, label: str) -> Floats:
        """The same as a page shows it."""
        return self._columns.get(label, lambda: round_significant(self.scores(label)))

    @cached_property
    def _slices_of(self) -> pl.Series:
        """The names of the slices that each query is in."""
        return self.run.tables.read(QUERIES, ("slices",))["slices"]

    @cached_property
    def _members(self) -> dict[str, Ints]:
        """By slice, the rows of its queries."""
        rows = self._slices_of.to_frame().with_row_index("row").explode("slices").drop_nulls("slices")
        grouped = rows.group_by("slices", maintain_order=True).agg("row")
        return {name: own.to_numpy() for name, own in zip(grouped["slices"], grouped["row"], strict=True)}

    def members(self, place: int) -> Ints:
        """The rows of the queries in a slice."""
        if place >= len(self.slices):
            raise UsageError(f"there is no slice {place:,}", expected=f"one of {len(self.slices):,}")
        return self._members.get(self.slices[place], np.empty(0, dtype=np.int64))

    @cached_property
    def keywords(self) -> dict[str, dict[str, Any]]:
        return keyword_results(self.report)

    def query(self, id_: str) -> dict[str, Any] | None:
        """All that is known of one query; None where nobody asked it."""
        row = self.table.row_of(id_)
        if row is None:
            return None
        answers = self.run.answer(id_)
        ids = () if answers is None else [item for one in _listed(answers) for item in one.items]
        details = QueryDetails(
            [id_],
            [self.table.texts[row]],
            self._scores_of(id_),
            {name: [0] for name in self._slices_of[row]},
            self.run.names(ids) if ids else {},
            answers,
            self.keywords,
        )
        return details.query(0) | {"row": row}

    def _scores_of(self, id_: str) -> dict[str, dict[str, Floats]]:
        """By system and measure, with the digits of the table: the same figure must not be another elsewhere."""
        frame = self.run.tables.read(SCORES, where=pl.col(QUERY) == id_)
        values = round_significant(frame.select(pl.col(self.labels).fill_null(np.nan)).to_numpy())
        held = dict(zip(frame["system"], values, strict=True))
        unknown = np.full(len(self.labels), np.nan)
        return {
            name: {
                label: held.get(name, unknown)[[place]]
                for place, label in enumerate(self.labels)
                if label in system.estimates
            }
            for name, system in self.report.systems.items()
        }

    def examples(self) -> QueryDetails:
        """Enough for a page's examples: their answers alone, and the scores of the first measure."""
        shown = [label for label in headline_labels(self.report) if label in self.labels][:1]
        known: dict[str, dict[str, Floats]] = {name: {} for name in self.systems}
        for label in shown:
            for name, own in zip(self.systems, self.scores(label), strict=True):
                if label in self.report.systems[name].estimates:
                    known[name][label] = own
        slices: dict[str, Sequence[int]] = dict.fromkeys(self.slices, ())
        ids, texts = cast("Sequence[str]", self.table.ids), cast("Sequence[str | None]", self.table.texts)
        bare = QueryDetails(ids, texts, known, slices)
        chosen = {
            case.id
            for label in shown
            for _, best, worst in select_cases(bare, label, lower=self.report.lower_is_better(label))
            for case in (*best, *worst)
        }
        answers = self.run.tables.answers_to(self.asked[QUERY], sorted(chosen))
        items = () if answers is None else {item for one in _listed(answers) for item in one.items}
        return QueryDetails(ids, texts, known, slices, self.run.names(items) if items else {}, answers)

    @cached_property
    def lists_no_gold(self) -> bool:
        """Whether there are judged items, but too many to be listed."""
        return self.run.file(GOLDS) is not None and self.run.tables.is_empty(GOLDS)


def _listed(answers: Answers) -> list[Any]:
    return [*answers.golds.values(), *answers.systems.values()]
