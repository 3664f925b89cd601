"""A report's form and its queries → the whole page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from markupsafe import Markup

from karat.report_warnings import warning_lines
from karat.reports import charts
from karat.reports.charts.from_form.reading import (
    cutoff_of,
    idle_systems,
    is_of_queries,
    labels_of,
    less_is_better,
    relevant_from,
)
from karat.reports.html import sections
from karat.reports.html.cases import Case, cases_of
from karat.reports.html.details import LONGEST_TEXT, Details
from karat.reports.html.figures import Form
from karat.reports.html.packing import Packed, pack
from karat.reports.html.rendering import embedded, rendered
from karat.reports.html.slices import SliceTable, slice_tables, slices_of
from karat.wording import ITEM_SLICES, count, named

__all__ = ["Drawn", "context_of", "page_of"]

_ROOM = 1_480_000
"""Bytes that a page may have in all; the rest of the megabyte and a half is for what grows beside queries."""
_FOR_SLICE_CHARTS = 30_000
"""Bytes after which no further chart of slices is drawn."""
_FOR_SLICE_TABLES = 80_000
"""Bytes for tables of slices, about."""
_ELSEWHERE = 'The JSON and the CSV report hold all of them: outputs = ["report.json"] in a plan.'
_MOST_NAMED = 3


@dataclass(frozen=True)
class Drawn:
    """A chart on the page."""

    svg: Markup
    name: str
    caption: str = ""


@dataclass(frozen=True)
class Sliced:
    """What the section on slices shows."""

    charts: tuple[Drawn, ...]
    tables: tuple[SliceTable, ...]
    """One per measure."""
    notes: tuple[str, ...]
    """How slices of items are scored; what there was no room for, and where it is."""
    legend: str
    """Of the marks in the tables."""


def page_of(
    form: Form, details: Details | None, *, manifest: Form | None = None, history: Sequence[charts.Chart] = ()
) -> str:
    """One HTML file; ``history`` are charts of earlier runs."""
    context = context_of(form, details, manifest=manifest, history=history)
    about = context["about"]
    if details is None:
        context |= {"unheld": True, "written_to": (form.get("provenance") or {}).get("per_query")}
    bare = rendered("report.html", context | {"about": embedded(about), "packed": None}, inline=True)
    if details is None or not about["labels"]:
        return bare
    labels = about["labels"]
    lower = [label for label, less in zip(labels, about["lower"], strict=True) if less]
    room = max(_ROOM - len(bare.encode()), 0)
    packed = pack(details, labels, form.get("baseline"), lower, room, idle_systems(form))
    told = about | _held(packed, about)
    return rendered("report.html", context | {"about": embedded(told), "packed": packed}, inline=True)


def _held(packed: Packed, about: Mapping[str, Any]) -> dict[str, Any]:
    """What the script is to know of how queries were packed."""
    return {
        "labels": list(packed.labels),
        "lower": about["lower"][: len(packed.labels)],
        "slices": list(packed.slices),
        "queries": packed.queries,
        "answers": bool(packed.blocks),
        "notes": list(_left_out(packed, about)),
    }


def _left_out(packed: Packed, about: Mapping[str, Any]) -> Iterator[str]:
    """What there was no room for."""
    many, fineness = about["many"], packed.fineness
    if packed.queries < about["queries"]:
        yield f"the {packed.queries:,} of {about['queries']:,} {many} that matter most"
    if len(packed.labels) < len(about["labels"]):
        yield f"{len(packed.labels)} of {len(about['labels'])} measures"
    if packed.longest < LONGEST_TEXT:
        yield f"{packed.longest} letters of a text"
    if len(packed.slices) < len(about["slices"]):
        yield f"{len(packed.slices):,} of {len(about['slices']):,} slices to filter by"
    if about["answers"] and not packed.blocks:
        yield "no rankings"
    if fineness is None:
        return
    less = [f"the first {fineness.depth} items"] if fineness.depth is not None else []
    less += ["no scores of items"] if not fineness.scores else []
    if less and packed.whole < packed.held:
        rest = "the others" if packed.held == packed.queries else f"the next {packed.held - packed.whole:,}"
        yield f"{packed.whole:,} {many} whole, of {rest} {' and '.join(less)}"
    if packed.held < packed.queries:
        yield f"rankings of {packed.held:,} {many}"
    if packed.named < 1:
        yield "names of the items that matter most"


def context_of(
    form: Form, details: Details | None, *, manifest: Form | None = None, history: Sequence[charts.Chart] = ()
) -> dict[str, Any]:
    """What the template lays out."""
    labels = sections.headline_labels(form)
    every = labels_of(form)
    one, many = sections.who_of(form)
    about = form.get("provenance") or {}
    number = len(details.ids) if details is not None else _queries(form)
    told = [count(number, one, many), count(len(form["systems"]), "system", "systems")]
    sliced = _sliced(form, labels)
    shown = [label for label in labels if is_of_queries(form, label)]
    cases = [] if details is None or not shown else _cases(form, details, shown[0])
    lost = sections.lost_keywords(form)
    drawn = list(_chart_sections(form, history))
    return {
        "title": about.get("name") or about.get("plan") or _title(form),
        "subtitle": " · ".join([*told, *([f"made {about['made']}"] if about.get("made") else [])]),
        "crumbs": [],
        "verdict": sections.verdict_of(form),
        "verdicts": sections.verdicts_of(form),
        "hints": form.get("hints") or [],
        "headline": sections.headline_of(form, labels),
        "headline_charts": list(_headline_charts(form, labels[:1])),
        "others": sections.headline_of(form, every) if len(every) > len(labels) else None,
        "figures": sections.figures_of(form),
        "quantiles": sections.quantiles_of(form),
        "p_legend": sections.p_legend(form),
        "log": sections.log_of(form),
        "slices": sliced,
        "examples": cases,
        "example_label": shown[0] if shown else "",
        "about_labels": shown,
        "lost": lost,
        "chart_sections": drawn,
        "conventions": sections.conventions_of(form),
        "provenance": sections.provenance_of(form, manifest),
        "warnings": warning_lines(form),
        "many": many,
        "sections": list(_contents(sliced, many, cases, lost, drawn, bool(form.get("interactions")))),
        "about": _about(form, details, shown, (one, many)),
        "packed": None,
        "unheld": False,
        "written_to": None,
    }


def _cases(form: Form, details: Details, label: str) -> list[tuple[str, list[Case], list[Case]]]:
    how = {"lower": less_is_better(form, label), "rel": relevant_from(form, label), "k": cutoff_of(form, label)}
    return cases_of(details, label, **how)  # type: ignore[arg-type]


def _title(form: Form) -> str:
    """Of a report that no plan made: who was held against what."""
    gold = (form.get("provenance") or {}).get("gold")
    names = named(
        (f"\u2068{name}\u2069" for name in form["systems"]), _MOST_NAMED
    )  # each by itself, whatever way it runs
    return f"{names} against {Path(gold).name}" if isinstance(gold, str) else names


def _queries(form: Form) -> int:
    entries = [entry for system in form["systems"].values() for entry in system["measures"].values()]
    return max((entry.get("n", 0) + entry.get("undefined", 0) for entry in entries), default=0)


def _contents(
    sliced: Sliced | None,
    many: str,
    cases: Sequence[Any],
    lost: Mapping[str, Any],
    drawn: Sequence[tuple[str, str, Any]],
    of_log: bool,
) -> Iterator[tuple[str, str]]:
    yield from (("verdicts", "Verdicts"), ("headline", "Measures"))
    if of_log:
        yield "log", "Log"
    if sliced is not None:
        yield "slices", "Slices"
    yield "queries", many.capitalize()
    if cases:
        yield "examples", "Examples"
    if lost:
        yield "keywords", "Keywords"
    yield from ((id_, name) for id_, name, _ in drawn)
    yield from (("provenance", "Provenance"), ("warnings", "Warnings"))


def _about(form: Form, details: Details | None, labels: Sequence[str], who: tuple[str, str]) -> dict[str, Any]:
    """What the script is to know."""
    systems = list(form["systems"])
    baseline = form.get("baseline")
    compared = {one["system"] for one in form.get("comparisons") or ()}
    answers = None if details is None else details.answers
    golds = [] if answers is None else list(answers.golds)
    return {
        "one": who[0],
        "many": who[1],
        "systems": systems,
        "labels": list(labels),
        "lower": [less_is_better(form, label) for label in labels],
        "baseline": systems.index(baseline) if baseline in systems else -1,
        "compared": [place for place, name in enumerate(systems) if name in compared],
        "idle": [place for place, name in enumerate(systems) if name in idle_systems(form)],
        "rel": relevant_from(form, labels[0]) if labels else None,
        "slices": [] if details is None else list(details.slices),
        "golds": golds,
        "ranking": [] if answers is None else list(answers.systems),
        "gold_of": [] if answers is None else [golds.index(answers.gold_of[name]) for name in answers.systems],
        "queries": 0 if details is None else len(details.ids),
        "answers": answers is not None,
        "notes": [],
        "large": answers is not None and not any(len(one.items) for one in answers.golds.values()),
    }


def _drawn(chart: charts.Chart, prefix: str, name: str = "", width: float = 720.0) -> Drawn:
    return Drawn(Markup(charts.to_svg(chart, prefix, width=width)), name or chart.title, chart.footnote)


def _headline_charts(form: Form, labels: Sequence[str]) -> Iterator[Drawn]:
    if len(form["systems"]) > 1:
        for number, label in enumerate(labels):
            yield _drawn(charts.headline_chart(form, label), f"headline-{number}")


def _sliced(form: Form, labels: Sequence[str]) -> Sliced | None:
    if not form.get("slices"):
        return None
    compared = dict.fromkeys(one["system"] for one in form.get("comparisons") or ())
    systems = [name for name in compared or form["systems"] if name not in idle_systems(form)]
    # One chart for each measure before there are several of one.
    drawn: list[Drawn] = []
    left = 0
    for system, label in product(systems, labels):
        chart = charts.slices_chart(form, label, system)
        if chart is None:
            continue
        if sum(len(one.svg) for one in drawn) > _FOR_SLICE_CHARTS:
            left += 1
            continue
        drawn.append(_drawn(chart, f"slices-{len(drawn)}", f"{system}, {label}"))
    tables, cut = slice_tables(form, labels, idle_systems(form), _FOR_SLICE_TABLES)
    shown = max((len(table.rows) for table in tables), default=0)
    every = max((len({row.slice for row in slices_of(form, table.label)}) for table in tables), default=0)
    notes = [f"{ITEM_SLICES}."] if any(part.get("of") == "items" for part in form["slices"]) else []
    if left:
        notes.append(f"{count(left, 'chart is', 'charts are')} not drawn, to keep the page small; see the tables.")
    if shown < every:
        notes.append(f"The tables have the {shown:,} worst of {every:,} slices of each measure. {_ELSEWHERE}")
    if cut:
        notes.append(f"{count(cut, 'measure has', 'measures have')} no table of slices here. {_ELSEWHERE}")
    marks = f"▲ better, ▼ worse than {form.get('baseline')} in the slice, beyond chance with all slices considered."
    legend = marks if form.get("baseline") and len(tables) > 1 else ""
    return Sliced(tuple(drawn), tuple(tables), tuple(notes), legend)


def _chart_sections(form: Form, history: Sequence[charts.Chart]) -> Iterator[tuple[str, str, list[Drawn]]]:
    """Those that the report has something for."""
    one = charts.frontier_chart(form), charts.drift_chart(form)
    for id_, name, found in (
        ("curves", "Curves", charts.curves_charts(form)),
        ("distributions", "Distributions", charts.score_charts(form)),
        ("frontier", "Recall and latency", [one[0]] if one[0] is not None else []),
        ("drift", "Drift", [one[1]] if one[1] is not None else []),
        ("history", "History", list(history)),
    ):
        if found:
            yield id_, name, [_drawn(chart, f"{id_}-{number}", width=520.0) for number, chart in enumerate(found)]
