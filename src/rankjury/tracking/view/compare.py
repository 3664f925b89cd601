"""Two runs on one page: what changed, every system beside its earlier self, their queries in one table."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from threading import Thread
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np
import polars as pl

from rankjury.core.convert import QUERY
from rankjury.core.text import plural
from rankjury.core.types import Floats, Ints
from rankjury.errors import UnknownName
from rankjury.reporting.charts.measures import differences_chart
from rankjury.reporting.html import embed_json
from rankjury.reporting.html.page import PageChart
from rankjury.reporting.html.query_data import round_significant
from rankjury.reporting.tables.differences import before_after_table
from rankjury.stats.formatting import format_percent
from rankjury.tracking.archive.compare import RunComparison, compare_runs
from rankjury.tracking.archive.files import display_time
from rankjury.tracking.view.open_run import LruCache, OpenRun, QueryTable

SIDES = ("a", "b")
"""What the earlier and the later run are called on the page."""
CHANGED, ALL = "changed", "all"
"""Which systems are shown, where none is named."""
_COLUMNS_KEPT = 12


class RunPair:
    """An earlier and a later run. To compare many queries takes seconds: it is begun at once, and waited for."""

    def __init__(self, before: OpenRun, after: OpenRun) -> None:
        self.before = before
        self.after = after
        self._found: Future[RunComparison] = Future()
        Thread(target=self._compare, daemon=True, name="rankjury-compare").start()

    def _compare(self) -> None:
        try:
            self._found.set_result(compare_runs(self.before.run, self.after.run))
        except BaseException as error:
            self._found.set_exception(error)

    def is_ready(self, seconds: float) -> bool:
        """Whether it is done within so many seconds."""
        return bool(wait((self._found,), seconds).done)

    @property
    def compared(self) -> RunComparison:
        return self._found.result()

    @cached_property
    def systems(self) -> list[str]:
        """Those that both have."""
        return list(dict.fromkeys(one.system for one in self.compared.comparisons))

    @cached_property
    def changed(self) -> list[str]:
        """Those of them whose figures are not all the same."""
        found = {one.system for one in self.compared.comparisons if one.difference or one.better or one.worse}
        return [name for name in self.systems if name in found]

    def meant(self, which: str) -> list[str]:
        """The systems that ``changed`` (all, where none did), ``all``, or the ``system NAME``."""
        word, _, name = which.partition(" ")
        if word == "system" and name in self.systems:
            return [name]
        if which not in (CHANGED, ALL):
            raise UnknownName("system in both runs:", name or which, self.systems)
        return self.changed or self.systems if which == CHANGED else self.systems


class SideBySide:
    """Some of their systems, side by side."""

    def __init__(self, pair: RunPair, which: str = CHANGED) -> None:
        self.which = which
        self.before, self.after, self.compared = pair.before, pair.after, pair.compared
        self.names = pair.meant(which)
        self.pair = pair
        self._columns: LruCache[str, Floats] = LruCache(_COLUMNS_KEPT)

    @cached_property
    def labels(self) -> list[str]:
        """The measures that are compared and of single queries."""
        return list(dict.fromkeys(one.measure for one in self.compared.comparisons if not one.whole))

    @cached_property
    def systems(self) -> list[str]:
        """Each twice: as it was, and as it is."""
        return [side_label(name, side) for name in self.names for side in SIDES]

    @property
    def bases(self) -> list[int]:
        """Of the later ones the place of the earlier."""
        return [-1 if place % 2 == 0 else place - 1 for place in range(len(self.systems))]

    @cached_property
    def table(self) -> QueryTable:
        """All queries of the later run, then those that only the earlier asked."""
        ours, theirs = self.after.asked, self.before.asked
        only = theirs.join(ours.select(QUERY), on=QUERY, how="anti", maintain_order="left")
        both = pl.concat([ours.select(QUERY, "text"), only.select(QUERY, "text")])
        lower = {label: self.after.report.lower_is_better(label) for label in self.labels}
        return QueryTable(both[QUERY], both["text"], self.systems, self.bases, lower, self.rounded, self.after.members)

    @cached_property
    def _places(self) -> tuple[Ints, Ints]:
        """Of every query its row in the earlier and in the later run; −1 where it has none."""
        ids = self.table.ids.to_frame(QUERY)
        found = []
        for side in (self.before, self.after):
            rows = side.asked.select(QUERY).with_row_index("row")
            joined = ids.join(rows, on=QUERY, how="left", maintain_order="left")["row"]
            found.append(joined.cast(pl.Int64).fill_null(-1).to_numpy())
        return found[0], found[1]

    def rounded(self, label: str) -> Floats:
        """Systems × queries, as a page shows them."""
        return self._columns.get(label, lambda: round_significant(np.vstack(list(self._rows(label)))))

    def _rows(self, label: str) -> Iterator[Floats]:
        sides = [
            (np.column_stack((side.scores(label), np.full(len(side.systems), np.nan))), side.systems, places)
            for side, places in zip((self.before, self.after), self._places, strict=True)
        ]
        for name in self.names:
            for scores, systems, places in sides:
                yield scores[systems.index(name)][places]

    def query(self, id_: str) -> dict[str, Any] | None:
        """What either run knows of it, with both rankings of every system."""
        row = self.table.row_of(id_)
        if row is None:
            return None
        with ThreadPoolExecutor(len(SIDES)) as threads:
            found: list[dict[str, Any] | None] = list(
                threads.map(lambda side: side.query(id_), (self.before, self.after))
            )
        known = [one for one in found if one is not None]
        golds: list[dict[str, Any]] = []
        listed: dict[str, dict[str, Any]] = {}
        scores: dict[str, Any] = {}
        for side, one in zip(SIDES, found, strict=True):
            if one is not None:
                scores |= {side_label(name, side): own for name, own in one["scores"].items() if name in self.names}
                shared = [own for own in one["systems"] if own["name"] in self.names]
                listed |= {side_label(own["name"], side): _placed(own, one["golds"], side, golds) for own in shared}
        return known[-1] | {
            "row": row,
            "text": known[-1]["text"],
            "scores": scores,
            "golds": golds,
            "systems": [listed[name] | {"name": name} for name in self.systems if name in listed],
            "held": any(one["held"] for one in known),
        }


def side_label(name: str, side: str) -> str:
    """``a: dense``: of a long name the end may not be seen."""
    return f"{side}: {name}" if name else side


def _placed(
    system: dict[str, Any], own: Sequence[dict[str, Any]], side: str, golds: list[dict[str, Any]]
) -> dict[str, Any]:
    """A system with the place of its gold among those of both runs; what both judge alike stands there once."""
    gold = own[system["gold"]]
    place = next((place for place, other in enumerate(golds) if _judged(other) == _judged(gold)), len(golds))
    if place == len(golds):
        taken = gold["name"] in (other["name"] for other in golds)
        golds.append(gold | {"called": gold["name"]} | ({"name": side_label(gold["name"], side)} if taken else {}))
    return system | {"gold": place}


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
    """For ``view_compare.html``."""
    compared = beside.compared
    runs = compared.before, compared.after
    one, many = beside.after.report.unit
    plans = list(dict.fromkeys(run.plan for run in runs))
    asked = [f"{plural(compared.asked['common'], one, many)} that both asked"]
    for side, letter in (("before", "a"), ("after", "b")):
        asked += [f"{compared.asked[side]:,} only in {letter}"] if compared.asked[side] else []
    changed = [
        (_KINDS.get(kind, kind), [str(one).removeprefix(f"{kind} ") for one in held])
        for kind, held in groupby(compared.changed, key=lambda one: one.kind)
    ]
    comparisons = tuple(one for one in compared.comparisons if one.system in beside.names)
    chart = differences_chart(replace(beside.after.report, comparisons=comparisons, baseline="run a"))
    return {
        "title": " and ".join(plans),
        "subtitle": " · ".join(asked),
        "crumbs": [("Runs", "/"), *((plan, f"/?{urlencode({'plan': plan})}") for plan in plans)],
        "verdict": None,
        "sides": [
            {
                "letter": letter,
                "name": run.name,
                "plan": run.plan,
                "time": display_time(run.time),
                "verdict": run.verdict,
                "commit": run.commit,
            }
            for letter, run in zip(SIDES, runs, strict=True)
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
        "chart": None if chart is None else PageChart.of(replace(chart, reference_label="as in run a"), "differences"),
        "not_compared": compared.not_compared,
        "many": many,
        "sections": [("changed", "What changed"), ("measures", "Measures"), ("queries", many.capitalize())],
        "about": embed_json(_about(beside, one, many)),
        "about_labels": beside.labels,
        "unheld": False,
        "packed": None,
    }


def _about(beside: SideBySide, one: str, many: str) -> dict[str, Any]:
    """What the script is to know, as of a report."""
    names = [quote(side.run.name) for side in (beside.before, beside.after)]
    lower = beside.table.lower
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
        "rel": beside.after.report.relevant_from(beside.labels[0]) if beside.labels else None,
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
