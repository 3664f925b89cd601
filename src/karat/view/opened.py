"""An archived run opened for pages: its queries read once, their scores measure by measure, a query on its own."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
import polars as pl

from karat.answers import Answers
from karat.archive import Run
from karat.archive.tables import GOLDS, QUERIES, SCORES, answers_to, asked_of, is_empty, read_rows
from karat.columns import QUERY
from karat.errors import DamagedRun, UsageError
from karat.reports.charts.from_form.reading import idle_systems, is_of_queries, labels_of, less_is_better
from karat.reports.html.cases import cases_of
from karat.reports.html.details import Details, keywords_of
from karat.reports.html.rounding import few_digits
from karat.reports.html.sections import headline_labels
from karat.types import Floats, Ints
from karat.view.recent import Recent
from karat.view.table import Table

__all__ = ["Opened"]

_COLUMNS_KEPT = 12


class Opened:
    """A run whose files are read when something of them is first wanted."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.form: dict[str, Any] = run.form
        self._columns: Recent[str, Floats] = Recent(_COLUMNS_KEPT)

    @property
    def systems(self) -> list[str]:
        return list(self.form["systems"])

    @cached_property
    def labels(self) -> list[str]:
        """The measures of single queries; coverage, for one, is a figure over all."""
        return [label for label in labels_of(self.form) if is_of_queries(self.form, label)]

    @cached_property
    def slices(self) -> list[str]:
        """The names of the slices of queries, in the report's order."""
        return [part["slice"] for part in self.form.get("slices") or () if part.get("of", "queries") == "queries"]

    @cached_property
    def asked(self) -> pl.DataFrame:
        """query_id and text, in the order of scores."""
        return asked_of(self.run, "text")

    @cached_property
    def _slices_of(self) -> pl.Series:
        """Of every query the names of the slices that it is in."""
        return read_rows(self.run, QUERIES, ("slices",))["slices"]

    @cached_property
    def table(self) -> Table:
        compared = {one["system"] for one in self.form.get("comparisons") or ()}
        baseline = self.form.get("baseline")
        place = self.systems.index(baseline) if baseline in self.systems else -1
        return Table(
            self.asked[QUERY],
            self.asked["text"],
            self.systems,
            [place if name in compared else -1 for name in self.systems],
            {label: less_is_better(self.form, label) for label in self.labels},
            self.rounded,
            self.members,
            [place for place, name in enumerate(self.systems) if name in idle_systems(self.form)],
        )

    @cached_property
    def _places(self) -> list[Ints]:
        """Of every system where its queries stand in the file of scores; −1 where one has none.

        The file is in the order of ids, and of each the systems are in the report's order. As no pair stands there
        twice, it suffices to know how many rows there are to know that all systems have all queries.
        """
        ids, many = self.asked.select(QUERY), len(self.systems)
        held = read_rows(self.run, SCORES, ("system",))["system"]
        if len(held) == len(ids) * many and held.head(many).to_list() == self.systems:
            first = np.empty(len(ids), dtype=np.int64)
            first[ids[QUERY].arg_sort().to_numpy()] = np.arange(0, len(held), many)
            return [first + place for place in range(many)]
        frame = read_rows(self.run, SCORES, (QUERY, "system")).with_row_index("at")
        found = []
        for name in self.systems:
            own = ids.join(frame.filter(pl.col("system") == name), on=QUERY, how="left", maintain_order="left")
            if len(own) != len(ids):
                raise DamagedRun(self.run.path / SCORES, f"a query of {name} occurs twice")
            found.append(own["at"].cast(pl.Int64).fill_null(-1).to_numpy())
        return found

    def scores(self, label: str) -> Floats:
        """Of a measure, systems × queries; NaN is undefined."""
        held = read_rows(self.run, SCORES, (label,))[label].fill_null(np.nan).to_numpy()
        known = np.append(held, np.nan)
        return np.vstack([known[places] for places in self._places])

    def rounded(self, label: str) -> Floats:
        """The same as a page shows it."""
        return self._columns.get(label, lambda: few_digits(self.scores(label)))

    @cached_property
    def _members(self) -> dict[str, Ints]:
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
        held = {name: one.get("partial_matches") for name, one in self.form["systems"].items()}
        return keywords_of({name: one for name, one in held.items() if one})

    def query(self, id_: str) -> dict[str, Any] | None:
        """All that is known of one query; None where nobody asked it."""
        row = self.table.row_of(id_)
        if row is None:
            return None
        answers = self.run.answer(id_)
        ids = () if answers is None else [item for one in _listed(answers) for item in one.items]
        details = Details(
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
        frame = read_rows(self.run, SCORES, where=pl.col(QUERY) == id_)
        held = {row["system"]: row for row in frame.iter_rows(named=True)}
        return {
            name: {label: _one(held.get(name, {}).get(label)) for label in self.labels if label in system["measures"]}
            for name, system in self.form["systems"].items()
        }

    def examples(self) -> Details:
        """Enough for a page's examples: their answers alone, and the scores of the first measure."""
        shown = [label for label in headline_labels(self.form) if label in self.labels][:1]
        known: dict[str, dict[str, Floats]] = {name: {} for name in self.systems}
        for label in shown:
            for name, own in zip(self.systems, self.scores(label), strict=True):
                if label in self.form["systems"][name]["measures"]:
                    known[name][label] = own
        slices: dict[str, Sequence[int]] = dict.fromkeys(self.slices, ())
        ids, texts = cast("Sequence[str]", self.table.ids), cast("Sequence[str | None]", self.table.texts)
        bare = Details(ids, texts, known, slices)
        chosen = {
            case.id
            for label in shown
            for _, best, worst in cases_of(bare, label, lower=less_is_better(self.form, label))
            for case in (*best, *worst)
        }
        answers = answers_to(self.run, self.asked[QUERY], sorted(chosen))
        items = () if answers is None else {item for one in _listed(answers) for item in one.items}
        return Details(ids, texts, known, slices, self.run.names(items) if items else {}, answers)

    @property
    def lists_no_gold(self) -> bool:
        """Whether there are judged items, but too many to be listed."""
        return self.run.file(GOLDS) is not None and is_empty(self.run, GOLDS)


def _listed(answers: Answers) -> list[Any]:
    return [*answers.golds.values(), *answers.systems.values()]


def _one(value: float | None) -> Floats:
    return few_digits(np.array([np.nan if value is None else value]))
