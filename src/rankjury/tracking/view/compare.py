"""Comparison page of two runs: what changed, every system in both runs, and their queries in one table."""

from collections.abc import Collection
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from threading import Thread
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np
import polars as pl

from rankjury.core.columns import QUERY
from rankjury.core.text import plural
from rankjury.core.types import Floats, Ints, places_in
from rankjury.errors import UnknownName
from rankjury.reporting.charts.measures import differences_chart
from rankjury.reporting.html import embed_json
from rankjury.reporting.html.page import PageChart
from rankjury.reporting.html.query_data import none_for_nan
from rankjury.reporting.html.rounding import round_for_display
from rankjury.reporting.tables.differences import before_after_table
from rankjury.stats.formatting import format_percent
from rankjury.tracking.archive.compare import RunComparison, compare_runs
from rankjury.tracking.archive.files import display_time, shows_seconds
from rankjury.tracking.view.open_run import CACHED_COLUMNS, LruCache, OpenRun, QueryTable

SIDES = ("a", "b")
"""Names of the earlier and the later run on the page."""
CHANGED, ALL = "changed", "all"
"""Which systems are shown, where none is named."""


class RunPair:
    """An earlier and a later run, compared in a thread, as many queries take seconds."""

    def __init__(self, before: OpenRun, after: OpenRun) -> None:
        self.before = before
        self.after = after
        self._result: Future[RunComparison] = Future()
        Thread(target=self._compare, daemon=True, name="rankjury-compare").start()

    def _compare(self) -> None:
        try:
            self._result.set_result(compare_runs(self.before.run, self.after.run))
        except BaseException as error:
            self._result.set_exception(error)

    def is_ready(self, seconds: float) -> bool:
        """Wait for the comparison, and return whether it is done."""
        return bool(wait((self._result,), seconds).done)

    @property
    def compared(self) -> RunComparison:
        return self._result.result()

    @cached_property
    def systems(self) -> list[str]:
        """Systems of both runs."""
        return list(dict.fromkeys(comparison.system for comparison in self.compared.comparisons))

    @cached_property
    def changed(self) -> list[str]:
        """Systems of which any value differs."""
        pairs = self.compared.comparisons
        return list(dict.fromkeys(pair.system for pair in pairs if pair.difference or pair.better or pair.worse))

    def select(self, which: str) -> list[str]:
        """Return the systems that ``changed`` (all, where none did), ``all``, or the ``system NAME``."""
        word, _, name = which.partition(" ")
        if word == "system" and name in self.systems:
            return [name]
        if which not in (CHANGED, ALL):
            raise UnknownName("system in both runs:", name or which, self.systems)
        return self.changed or self.systems if which == CHANGED else self.systems


class SideBySide:
    """Some systems of two runs, side by side."""

    def __init__(self, pair: RunPair, which: str = CHANGED) -> None:
        self.pair, self.which = pair, which
        self.before, self.after, self.compared = pair.before, pair.after, pair.compared
        self.names = pair.select(which)
        self._columns: LruCache[str, Floats] = LruCache(CACHED_COLUMNS)

    @cached_property
    def labels(self) -> list[str]:
        """Compared measures of single queries."""
        comparisons = self.compared.comparisons
        return list(dict.fromkeys(comparison.measure for comparison in comparisons if not comparison.whole))

    @cached_property
    def systems(self) -> list[str]:
        """Labels of the systems: each in the earlier run, then in the later one."""
        return [_label(name, side) for name in self.names for side in SIDES]

    @property
    def bases(self) -> list[int]:
        """By system, the place of its earlier self; −1 for the earlier ones."""
        return [base for place in range(0, len(self.systems), 2) for base in (-1, place)]

    @cached_property
    def table(self) -> QueryTable:
        """All queries of the later run, then those of the earlier run alone."""
        queries = pl.concat(side.queries.select(QUERY, "text") for side in (self.after, self.before))
        queries = queries.unique(QUERY, keep="first", maintain_order=True)
        lower = {label: self.after.report.lower_is_better(label) for label in self.labels}
        columns = queries[QUERY], queries["text"]
        return QueryTable(*columns, self.systems, self.bases, lower, self.rounded, self.after.members)

    @cached_property
    def _places(self) -> tuple[Ints, Ints]:
        """Rows of the queries in the earlier and in the later run; −1 where a query has none."""
        ids = self.table.ids
        return places_in(self.before.queries[QUERY], ids), places_in(self.after.queries[QUERY], ids)

    def rounded(self, label: str) -> Floats:
        """Return scores of a measure, systems × queries, as a page shows them."""
        return self._columns.get(label, lambda: round_for_display(self._scores(label), self.bases))

    def _scores(self, label: str) -> Floats:
        both = np.empty((len(self.names), 2, len(self.table.ids)))
        for number, (side, places) in enumerate(zip((self.before, self.after), self._places, strict=True)):
            scores = np.column_stack((side.scores(label), np.full(len(side.systems), np.nan)))  # NaN at −1
            both[:, number] = scores[[side.systems.index(name) for name in self.names]][:, places]
        return both.reshape(-1, len(self.table.ids))

    def query(self, id_: str) -> dict[str, Any] | None:
        """Return what either run knows of a query, with both rankings of every system."""
        row = self.table.row_of(id_)
        if row is None:
            return None
        with ThreadPoolExecutor(len(SIDES)) as threads:
            queries = threads.map(lambda run: run.query(id_), (self.before, self.after))
            known: dict[str, dict[str, Any]] = {
                side: query for side, query in zip(SIDES, queries, strict=True) if query is not None
            }
        golds: list[dict[str, Any]] = []
        systems: dict[str, dict[str, Any]] = {}
        for side, query in known.items():
            for system in query["systems"]:
                if system["name"] in self.names:
                    gold = _add_gold(query["golds"][system["gold"]], side, golds)
                    name = _label(system["name"], side)
                    systems[name] = system | {"gold": gold, "name": name}
        return list(known.values())[-1] | {
            "row": row,
            "scores": self._query_scores(id_, list(known)),
            "golds": golds,
            "systems": [systems[name] for name in self.systems if name in systems],
            "held": any(query["held"] for query in known.values()),
        }

    def _query_scores(self, id_: str, sides: Collection[str]) -> dict[str, dict[str, float | None]]:
        """Return the scores of one query in the runs that have it, with the digits of the table."""
        exact = np.full((len(self.systems), len(self.labels)), np.nan)
        for number, (side, run) in enumerate(zip(SIDES, (self.before, self.after), strict=True)):
            if side in sides:
                scores, columns = run.exact_scores(id_), [run.labels.index(label) for label in self.labels]
                exact[number::2] = scores[[run.systems.index(name) for name in self.names]][:, columns]
        rounded = round_for_display(exact, self.bases).tolist()
        return {
            name: {label: none_for_nan(value) for label, value in zip(self.labels, values, strict=True)}
            for name, values in zip(self.systems, rounded, strict=True)
            if name.partition(":")[0] in sides
        }


def _label(name: str, side: str) -> str:
    """Return a label such as ``a: dense``: the end of a long name may be cut."""
    return f"{side}: {name}" if name else side


def _add_gold(gold: dict[str, Any], side: str, golds: list[dict[str, Any]]) -> int:
    """Return the place of a gold among those of both runs, to which it is added unless an equal one is there."""
    place = next((place for place, other in enumerate(golds) if _judged(other) == _judged(gold)), len(golds))
    if place == len(golds):
        taken = gold["name"] in (other["name"] for other in golds)
        golds.append(gold | {"called": gold["name"]} | ({"name": _label(gold["name"], side)} if taken else {}))
    return place


def _judged(gold: dict[str, Any]) -> tuple[str, int, list[tuple[str, Any]]]:
    return gold.get("called", gold["name"]), gold["total"], [(item["id"], item["grade"]) for item in gold["items"]]


_KINDS = {
    "input": "Inputs",
    "plan": "Plan",
    "version": "Versions",
    "convention": "Conventions",
    "package": "Packages",
    "git": "Commit",
    "machine": "Machine",
}


def comparison_context(beside: SideBySide) -> dict[str, Any]:
    """Return the data of ``view_compare.html``."""
    compared = beside.compared
    runs = compared.before, compared.after
    one, many = beside.after.report.unit
    plans = list(dict.fromkeys(run.plan for run in runs))
    seconds = shows_seconds(run.time for run in runs)
    counts = [f"{plural(compared.queries['common'], one, many)} in both runs"]
    for side, letter in (("before", "a"), ("after", "b")):
        counts += [f"{compared.queries[side]:,} only in {letter}"] if compared.queries[side] else []
    changed = [
        (_KINDS.get(kind, kind), [str(difference).removeprefix(f"{kind} ") for difference in differences])
        for kind, differences in groupby(compared.changed, key=lambda difference: difference.kind)
    ]
    comparisons = tuple(comparison for comparison in compared.comparisons if comparison.system in beside.names)
    chart = differences_chart(replace(beside.after.report, comparisons=comparisons, baseline="run a"))
    return {
        "title": " and ".join(plans),
        "subtitle": " · ".join(counts),
        "crumbs": [("Runs", "/"), *((plan, f"/?{urlencode({'plan': plan})}") for plan in plans)],
        "verdict": None,
        "sides": [
            {"letter": letter, "role": role, "time": display_time(run.time, seconds=seconds)}
            | {name: getattr(run, name) for name in ("name", "plan", "verdict", "commit")}
            for letter, role, run in zip(SIDES, ("before", "now"), runs, strict=True)
        ],
        "swapped": f"/compare?{urlencode({'a': runs[1].name, 'b': runs[0].name})}",
        "changed": changed,
        "verdicts": compared.verdicts,
        "measures": before_after_table(comparisons, compared.resampling.level, SIDES),
        "a": runs[0].name,
        "b": runs[1].name,
        "which": beside.which,
        "known": beside.pair.systems,
        "unchanged": [name for name in beside.pair.systems if name not in beside.pair.changed],
        "level": format_percent(compared.resampling.level),
        "number": plural(len(compared.comparisons), "comparison", "comparisons"),
        "chart": None if chart is None else PageChart.of(chart, "differences"),
        "not_compared": compared.not_compared,
        "many": many,
        "summary": compared.summary[:-1],  # the last names what changed, which has a section
        "sections": [
            ("summary", "Summary"),
            ("changed", "What changed"),
            ("measures", "Measures"),
            ("queries", many.capitalize()),
        ],
        "about": embed_json(_about(beside, one, many)),
        "about_labels": beside.labels,
        "unheld": False,
        "packed": None,
    }


def _about(beside: SideBySide, one: str, many: str) -> dict[str, Any]:
    """Return the data of the script, as for a report."""
    names = [quote(side.run.name) for side in (beside.before, beside.after)]
    lower = beside.table.lower
    first = beside.after.report.measure(beside.labels[0]) if beside.labels else None
    return {
        "one": one,
        "many": many,
        "systems": beside.systems,
        "labels": beside.labels,
        "lower": [lower[label] for label in beside.labels],
        "baseline": -1,
        "bases": beside.bases,
        "against": "run a",
        "compared": beside.table.compared,
        "idle": [],
        "rel": None if first is None else first.relevant_from,
        "slices": beside.after.slices,
        "golds": [],
        "ranking": [],
        "gold_of": [],
        "queries": len(beside.table.ids),
        "answers": any(side.run.manifest.get("answers") for side in (beside.before, beside.after)),
        "notes": [],
        "large": beside.after.lists_no_gold,
        "api": f"/api/compare/{'/'.join(names)}/{quote(beside.which, safe='')}",
    }
