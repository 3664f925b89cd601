"""What the page of two runs shows: what changed, verdicts that are others now, and every system beside itself."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import Markup

from karat.archive import Run
from karat.archive.files import shown_time
from karat.reports import charts
from karat.reports.charts.from_form.reading import relevant_from
from karat.reports.html.figures import NOTHING, cell_of
from karat.reports.html.page import Drawn
from karat.reports.html.rendering import embedded
from karat.reports.html.sections import who_of
from karat.statistics.differences import Comparison
from karat.view.comparing import Beside
from karat.view.listing import commit_of
from karat.wording import count, decimals_of, figure_shown, percent

__all__ = ["comparison_context"]

_KINDS = {
    "input": "Inputs",
    "plan": "Plan",
    "version": "Versions",
    "convention": "Conventions",
    "package": "Packages",
    "git": "Commit",
    "machine": "Machine",
}


@dataclass(frozen=True)
class Side:
    """One of the two."""

    letter: str
    name: str
    plan: str
    time: str
    verdict: str | None
    commit: str


@dataclass(frozen=True)
class Row:
    """A system beside itself under one measure."""

    measure: str
    system: str
    before: str
    after: str
    cell: Any
    n: str


def comparison_context(beside: Beside) -> dict[str, Any]:
    """For ``view_compare.html``."""
    compared = beside.compared
    runs = compared.before, compared.after
    one, many = who_of(beside.after.form)
    plans = list(dict.fromkeys(run.plan for run in runs))
    asked = compared.asked
    return {
        "title": " and ".join(plans),
        "subtitle": _asked_told(asked, one, many),
        "crumbs": [("Runs", "/"), *((plan, f"/?{urlencode({'plan': plan})}") for plan in plans)],
        "verdict": None,
        "sides": [_side(letter, run) for letter, run in zip("ab", runs, strict=True)],
        "swapped": f"/compare?{urlencode({'a': runs[1].name, 'b': runs[0].name})}",
        "changed": list(_changed(compared.changed)),
        "verdicts": compared.verdicts,
        "rows": [_row(one, compared.how.level) for one in compared.comparisons if one.system in beside.names],
        "a": runs[0].name,
        "b": runs[1].name,
        "which": beside.which,
        "known": beside.pair.systems,
        "unchanged": [name for name in beside.pair.systems if name not in beside.pair.changed],
        "level": percent(compared.how.level),
        "number": count(len(compared.comparisons), "comparison", "comparisons"),
        "chart": _chart(beside),
        "not_compared": compared.not_compared,
        "many": many,
        "sections": [("changed", "What changed"), ("measures", "Measures"), ("queries", many.capitalize())],
        "about": embedded(_about(beside, one, many)),
        "about_labels": beside.labels,
        "unheld": False,
        "packed": None,
    }


def _asked_told(asked: Any, one: str, many: str) -> str:
    told = [f"{count(asked['common'], one, many)} that both asked"]
    told += [f"{asked['before']:,} only in a"] if asked["before"] else []
    told += [f"{asked['after']:,} only in b"] if asked["after"] else []
    return " · ".join(told)


def _side(letter: str, run: Run) -> Side:
    return Side(letter, run.name, run.plan, shown_time(run.time), run.verdict, commit_of(run))


def _changed(found: Any) -> Iterator[tuple[str, list[str]]]:
    for kind, held in groupby(found, key=lambda one: one.kind):
        yield _KINDS.get(kind, kind), [str(one).removeprefix(f"{kind} ") for one in held]


def _row(one: Comparison, level: float) -> Row:
    decimals = decimals_of(one.ci)
    before, after = (
        figure_shown(mean, decimals) if mean == mean else NOTHING for mean in (one.baseline_mean, one.mean)
    )
    form = one.to_json()
    cell = cell_of({"mean": form["mean"], "n": one.n}, form, lower=one.lower_is_better, level=level)
    return Row(one.measure, one.system, before, after, cell, f"{one.n:,}")


def _chart(beside: Beside) -> Drawn | None:
    comparisons = [one.to_json() for one in beside.compared.comparisons if one.system in beside.names]
    form = beside.after.form | {"comparisons": comparisons, "baseline": "run a"}
    chart = charts.differences_chart(form)
    if chart is None:
        return None
    named = replace(chart, reference_label="as in run a")
    return Drawn(Markup(charts.to_svg(named, "differences")), chart.title, chart.footnote)


def _about(beside: Beside, one: str, many: str) -> dict[str, Any]:
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
        "rel": relevant_from(beside.after.form, beside.labels[0]) if beside.labels else None,
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
