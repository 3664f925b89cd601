"""The report page: a report and its queries as one self-contained HTML file, with the tables that only the page has."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import isnan
from pathlib import Path
from typing import Any

from markupsafe import Markup

from rankjury.core.text import join_names, plural
from rankjury.evaluation.gate import Gate
from rankjury.evaluation.report import Report
from rankjury.evaluation.report_json import SCHEMA
from rankjury.evaluation.slices.stats import Slice
from rankjury.evaluation.summary import main_system
from rankjury.reporting.charts.measures import curves_charts, slices_chart
from rankjury.reporting.charts.spec import Chart
from rankjury.reporting.charts.svg import to_svg
from rankjury.reporting.html import embed_json, render_template
from rankjury.reporting.html.headline import (
    MARKS,
    first_chart,
    headline_notes,
    headline_table,
    measure_cell,
    verdict_chips,
)
from rankjury.reporting.html.payload import PackedQueries, pack_queries
from rankjury.reporting.html.query_data import LONGEST_TEXT, QueryDetails, select_cases
from rankjury.reporting.sections import render_sections
from rankjury.reporting.sections.systems import quantiles_table
from rankjury.reporting.tables import (
    Convention,
    TableCell,
    TableColumn,
    TextTable,
    headline_labels,
    idle_systems,
    list_conventions,
    make_table,
    recorded_table,
)
from rankjury.reporting.tables.differences import ITEM_SLICES, comparison_table, verdict_style
from rankjury.reporting.tables.verdicts import verdicts_table
from rankjury.stats.comparison import Comparison
from rankjury.stats.formatting import format_estimate, format_percent, format_range

_FULL_CELL, _BRIEF_CELL = 330, 40
"""Bytes of a cell of a table of slices, about."""
_FEWEST_SLICES = 10
_INDEX_FACTS = ("engine", "metric", "build", "search", "items", "dimensions", "facts")
_LOG_FACTS = ("window", "fit_on", "split")
_RUN_FACTS = ("versions", "inputs", "packages", "machine", "git", "seconds", "same_inputs_as")
_ROOM = 1_480_000
"""Bytes that a page may have in all; the rest of the megabyte and a half is for what grows beside queries."""
_FOR_SLICE_CHARTS = 16_000
"""Bytes after which no further chart of slices is drawn."""
_FOR_SLICE_TABLES = 80_000
"""Bytes for tables of slices, about."""
_ELSEWHERE = 'The JSON and the CSV report hold all of them: outputs = ["report.json"] in a plan.'
_MOST_NAMED = 3
_MOST_FULL = 5
"""Columns of a table of slices that have room for differences with intervals."""
_MOST_ROWS = 500
"""Of the table of comparisons."""
_PHONE = 350.0
"""Width of a chart on a phone."""
_SMALL = 400.0
"""Width at which one drawing suits two columns and, a little smaller, a phone."""
_BEFORE_QUERIES = ("hints", "interactions")
"""Sections whose blocks are shown before slices and queries."""


@dataclass(frozen=True)
class PageChart:
    """A chart on the page."""

    svg: Markup
    name: str
    caption: str
    narrow: Markup | None = None
    """The same for a phone; None: it is small enough for one."""

    @classmethod
    def of(cls, chart: Chart, prefix: str, name: str = "", width: float = 720.0) -> "PageChart":
        """Draw a chart; ``prefix`` begins the ids in it, and is its own on a page."""
        wide = Markup(to_svg(chart, prefix, width=width))
        if width <= _SMALL:
            return cls(wide, name or chart.title, chart.footnote)
        narrow = Markup(to_svg(chart, f"{prefix}-narrow", width=_PHONE, tooltips=False))
        return cls(wide, name or chart.title, chart.footnote, narrow)


@dataclass(frozen=True)
class PageSlices:
    """What the section on slices shows."""

    charts: tuple[PageChart, ...]
    tables: Mapping[str, TextTable]
    """By measure; their titles say in which order the slices are."""
    notes: tuple[str, ...]
    """How slices of items are scored; what there was no room for, and where it is; marks in the tables."""


@dataclass(frozen=True)
class PageBlock:
    """A section of the page with lines, tables and charts."""

    id: str
    title: str
    lines: Sequence[str] = ()
    tables: Sequence[TextTable] = ()
    charts: Sequence[PageChart] = ()


def render_page(report: Report, *, manifest: Mapping[str, Any] | None = None, history: Sequence[Chart] = ()) -> str:
    """Return the page of a report, fresh or read back.

    Args:
        report: With verdicts where it has the section ``gate``, and with queries where it has their scores.
        manifest: Of an archived run: its inputs, packages and machine.
        history: Charts of earlier runs.
    """
    details = QueryDetails.of(report)
    context = page_context(report, details, manifest=manifest, history=history)
    about = context["about"]
    bare = render_template("report.html", context | {"about": embed_json(about)}, inline=True)
    if details is None or not about["labels"]:
        return bare
    labels = about["labels"]
    lower = [label for label, less in zip(labels, about["lower"], strict=True) if less]
    room = max(_ROOM - len(bare.encode()), 0)
    packed = pack_queries(details, labels, report.baseline, lower, room, idle_systems(report))
    about = about | {
        "labels": packed.labels,
        "lower": about["lower"][: len(packed.labels)],
        "slices": packed.slices,
        "queries": packed.queries,
        "answers": bool(packed.blocks),
        "notes": list(_omitted_notes(packed, about)),
    }
    return render_template("report.html", context | {"about": embed_json(about), "packed": packed}, inline=True)


def _omitted_notes(packed: PackedQueries, about: Mapping[str, Any]) -> Iterator[str]:
    """Yield what there was no room for."""
    many, level = about["many"], packed.level
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
    if level is None:
        return
    less = [f"the first {level.depth} items"] if level.depth is not None else []
    less += ["no scores of items"] if not level.scores else []
    if less and packed.whole < packed.held:
        rest = "the others" if packed.held == packed.queries else f"the next {packed.held - packed.whole:,}"
        yield f"{packed.whole:,} {many} whole, of {rest} {' and '.join(less)}"
    if packed.held < packed.queries:
        yield f"rankings of {packed.held:,} {many}"
    if packed.named < 1:
        yield "names of the items that matter most"


def page_context(
    report: Report,
    details: QueryDetails | None,
    *,
    manifest: Mapping[str, Any] | None = None,
    history: Sequence[Chart] = (),
) -> dict[str, Any]:
    """Return the template's variables; ``details`` are all queries of the report, or those of the examples."""
    labels, gate = headline_labels(report), report.section(Gate)
    one, many = report.unit
    about = report.provenance
    number = len(details.ids) if details is not None else report.n_queries
    subtitle = [plural(number, one, many), plural(len(report.systems), "system", "systems")]
    subtitle += [f"gold {Path(about['gold']).name}"] if isinstance(about.get("gold"), str) else []
    subtitle += [f"{str(about['made'])[:16].replace('T', ' ')} UTC"] if about.get("made") else []
    slices = _slices(report, labels)
    shown = [label for label in labels if not report.is_whole(label)]
    cases = []
    if details is not None and shown:
        label, measure = shown[0], report.measure(shown[0])
        k, rel = (None, None) if measure is None else (measure.k, measure.relevant_from)
        cases = select_cases(details, label, lower=report.lower_is_better(label), rel=rel, k=k)
        main = main_system(report, label)
        cases.sort(key=lambda case: case[0] != main)
    blocks = list(_blocks(report, history))
    first = [block for block in blocks if block.id in _BEFORE_QUERIES]
    last = [block for block in blocks if block not in first]
    contents = [("summary", "Summary"), ("headline", "Measures")]
    contents += [("verdicts", "Targets")] if gate is not None else []
    contents += [(block.id, block.title) for block in first]
    contents += [("slices", "Slices")] if slices is not None else []
    contents += [("queries", many.capitalize()), *([("examples", "Examples")] if cases else ())]
    contents += [(block.id, block.title) for block in last]
    chart = first_chart(report, shown or labels)
    chips, more_chips = verdict_chips(gate) if gate is not None else ([], 0)
    compared = comparison_table(report)
    return {
        "title": about.get("name") or about.get("plan") or _title(report),
        "subtitle": " · ".join(subtitle),
        "crumbs": [],
        "verdict": None if gate is None else gate.outcome,
        "verdicts": None if gate is None else replace(verdicts_table(gate, full=True), notes=tuple(gate.notes)),
        "summary": report.summary,
        "chips": chips,
        "more_chips": more_chips,
        "headline": headline_table(report, labels),
        "headline_notes": list(headline_notes(report, labels)),
        "headline_chart": None if chart is None else PageChart.of(chart, "headline"),
        "comparisons": compared.first(_MOST_ROWS),
        "comparisons_omitted": max(0, len(compared.rows) - _MOST_ROWS),
        "others": headline_table(report, report.labels, strong=False) if len(report.labels) > len(labels) else None,
        "quantiles": quantiles_table(report),
        "recorded": recorded_table(report),
        "first_blocks": first,
        "slices": slices,
        "examples": cases,
        "example_label": shown[0] if shown else "",
        "about_labels": shown,
        "last_blocks": last,
        "conventions": grouped_conventions(report),
        "provenance": provenance_table(report, manifest),
        "warnings": report.warning_lines,
        "many": many,
        "sections": [*contents, ("provenance", "Provenance"), ("warnings", "Warnings")],
        "about": _about(report, details, shown),
        "packed": None,
        "unheld": details is None,
        "written_to": about.get("per_query"),
    }


def _title(report: Report) -> str:
    """Return the title of a report that no plan made: what is compared with what."""
    others = [name for name in report.systems if name != report.baseline]
    against = f" compared with {report.baseline}" if report.baseline and others else ""
    return join_names(others or report.systems, _MOST_NAMED) + against


def _about(report: Report, details: QueryDetails | None, labels: Sequence[str]) -> dict[str, Any]:
    """Return what the page's script needs to know."""
    systems, idle = list(report.systems), idle_systems(report)
    compared = {comparison.system for comparison in report.comparisons}
    answers = None if details is None else details.answers
    golds = [] if answers is None else list(answers.golds)
    return {
        "one": report.unit[0],
        "many": report.unit[1],
        "systems": systems,
        "labels": list(labels),
        "lower": [report.lower_is_better(label) for label in labels],
        "baseline": systems.index(report.baseline) if report.baseline in systems else -1,
        "compared": [place for place, name in enumerate(systems) if name in compared],
        "idle": [place for place, name in enumerate(systems) if name in idle],
        "rel": first.relevant_from if labels and (first := report.measure(labels[0])) is not None else None,
        "slices": [] if details is None else list(details.slices),
        "golds": golds,
        "ranking": [] if answers is None else list(answers.systems),
        "gold_of": [] if answers is None else [golds.index(answers.gold_of[name]) for name in answers.systems],
        "queries": 0 if details is None else len(details.ids),
        "answers": answers is not None,
        "notes": [],
        "large": answers is not None and not any(len(gold.items) for gold in answers.golds.values()),
    }


def _slices(report: Report, labels: Sequence[str]) -> PageSlices | None:
    if not report.slices:
        return None
    compared = dict.fromkeys(comparison.system for comparison in report.comparisons)
    systems = [name for name in compared or report.systems if name not in idle_systems(report)]
    main = main_system(report, labels[0])
    systems.sort(key=lambda name: name != main)
    drawn: list[PageChart] = []
    left = 0
    for system, label in product(systems, labels):
        if (chart := slices_chart(report, label, system)) is None:
            continue
        if sum(len(other.svg) + len(other.narrow or "") for other in drawn) > _FOR_SLICE_CHARTS:
            left += 1
        else:
            drawn.append(PageChart.of(chart, f"slices-{len(drawn)}", f"{system}, {label}"))
    tables, cut, omitted = slice_tables(report, labels, _FOR_SLICE_TABLES)
    shown = max((len(table.rows) for table in tables.values()), default=0)
    notes = [f"{ITEM_SLICES[0].upper()}{ITEM_SLICES[1:]}."] if any(part.of == "items" for part in report.slices) else []
    if left:
        notes.append(f"{plural(left, 'more chart is', 'more charts are')} not drawn; the tables have all slices.")
    if omitted:
        notes.append(f"The tables have the first {shown:,} of {shown + omitted:,} slices of each measure. {_ELSEWHERE}")
    if cut:
        notes.append(f"{plural(cut, 'measure has', 'measures have')} no table of slices here. {_ELSEWHERE}")
    if any(_compared(part, label) for part in report.slices for label in tables):
        below = (
            f" Below the means of {report.both_names(next(iter(tables)))}: the difference from {report.baseline}, p, "
            f"and how many {report.unit[1]} are better/equal/worse."
        )
        notes.append(
            f"In the tables: ▲ better, ▼ worse than {report.baseline}; no mark: not shown to differ, with all slices "
            f"considered.{below if len(systems) < _MOST_FULL else ''}"
        )
    return PageSlices(tuple(drawn), {report.both_names(label): table for label, table in tables.items()}, tuple(notes))


def _blocks(report: Report, history: Sequence[Chart]) -> Iterator[PageBlock]:
    """Yield curves, the blocks of sections, and the history."""

    def drawn(id_: str, charts: Sequence[Chart]) -> list[PageChart]:
        return [PageChart.of(chart, f"{id_}-{number}", width=_SMALL) for number, chart in enumerate(charts)]

    if curves := drawn("curves", curves_charts(report)):
        yield PageBlock("curves", "Curves", charts=curves)
    for name, block in render_sections(report, "html"):
        charts = drawn(name, block.charts())
        if block.own_tables or charts or (block.lines and not block.core_tables):
            yield PageBlock(name, block.title, block.lines, block.own_tables, charts)
    if history:
        yield PageBlock("history", "History", charts=drawn("history", history))


def slice_tables(report: Report, labels: Sequence[str], room: int) -> tuple[dict[str, TextTable], int, int]:
    """Return tables of slices by measure, and how many measures and slices there was no room for.

    Slices are in the order of their largest loss, or of the worst mean under a measure that is not compared.

    Measures of ``labels`` come first, and the first of all has intervals and p-values. Where not all slices fit into
    about ``room`` bytes, each table has the worst of them; ten at least.
    """
    idle = idle_systems(report)
    systems = [name for name in report.systems if name not in idle]
    ordered = {label: _worst_first(report, label, systems) for label in dict.fromkeys((*labels, *report.labels))}
    known = {label: parts for label, parts in ordered.items() if parts}
    row_bytes = len(systems) * (_FULL_CELL + _BRIEF_CELL * (len(known) - 1))
    most = max(_FEWEST_SLICES, room // max(1, row_bytes))
    tables: dict[str, TextTable] = {}
    used = 0
    for label, parts in known.items():
        used += min(most, len(parts)) * len(systems) * (_BRIEF_CELL if tables else _FULL_CELL)
        if tables and used > 2 * room:
            break
        rows = [_slice_row(report, part, label, systems, brief=bool(tables)) for part in parts[:most]]
        columns = (TableColumn(name, strong=not tables) for name in systems)
        title = f"{report.both_names(label)} by slice, {_slice_order(report, parts, label, systems)}"
        tables[label] = make_table([TableColumn("slice", "text"), TableColumn("n"), *columns], rows, title=title)
    omitted = max((len(parts) - most for label, parts in known.items() if label in tables), default=0)
    return tables, len(known) - len(tables), max(omitted, 0)


def _worst_first(report: Report, label: str, systems: Sequence[str]) -> list[Slice]:
    """Return slices by their largest loss, or by the worst mean of any system where nothing is compared."""
    compared = any(_compared(part, label) for part in report.slices)
    sign = -1 if report.lower_is_better(label) else 1
    ranked = []
    for part in report.slices:
        if compared:
            gains = [comparison.gain for name, comparison in _compared(part, label).items() if name in systems]
        else:
            estimates = (part.estimates.get(name, {}).get(label) for name in systems)
            gains = [sign * estimate.mean for estimate in estimates if estimate is not None]
        if defined := [gain for gain in gains if not isnan(gain)]:
            ranked.append((min(defined), part.name, part))
    return [part for _, _, part in sorted(ranked, key=lambda entry: entry[:2])]


def _slice_order(report: Report, parts: Sequence[Slice], label: str, systems: Sequence[str]) -> str:
    """Return the order of ``_worst_first`` in words."""
    gains = [
        comparison.gain
        for part in parts
        for name, comparison in _compared(part, label).items()
        if name in systems and not isnan(comparison.gain)
    ]
    if gains:
        return "largest loss first" if min(gains) < 0 else "smallest gain first"
    return f"{'highest' if report.lower_is_better(label) else 'lowest'} mean first"


def _compared(part: Slice, label: str) -> dict[str, Comparison]:
    """Return the comparisons with the baseline in a slice under a measure, by system."""
    return {
        comparison.system: comparison
        for comparison in part.beside
        if isinstance(comparison, Comparison) and comparison.measure == label
    }


def _slice_row(
    report: Report, part: Slice, label: str, systems: Sequence[str], *, brief: bool
) -> list[str | TableCell]:
    """Return slice, number of queries that the measure is over (a range where systems differ), and cells."""
    compared = _compared(part, label)
    estimates = {name: part.estimates.get(name, {}).get(label) for name in systems}
    numbers = {estimate.n for estimate in estimates.values() if estimate is not None} or {0}
    row: list[str | TableCell] = [part.name, format_range(numbers)]
    for name, estimate in estimates.items():
        comparison = compared.get(name)
        if not brief or estimate is None or isnan(estimate.mean):
            full = len(systems) <= _MOST_FULL
            row.append(measure_cell(estimate, comparison, report.level, full=full, with_p=full))
            continue
        style = "" if comparison is None else verdict_style(comparison, report.level)
        mean = format_estimate(estimate).partition(" [")[0]
        row.append(TableCell(f"{mean} {MARKS[style]}", style) if style in MARKS else TableCell(mean))
    return row


def grouped_conventions(report: Report) -> list[Convention]:
    """Return the conventions of measures; those that differ in their cut-off alone are one, ``ndcg@1, @5, @10``."""
    groups: dict[tuple[str, str, str], list[Convention]] = {}
    for convention in list_conventions(report):
        texts = convention.label, convention.spelled_out, convention.common
        label, spelled_out, common = (text.partition("@")[0] for text in texts)
        groups.setdefault((label, spelled_out, common), []).append(convention)
    grouped = []
    for (label, spelled_out, common), members in groups.items():
        if len(members) == 1:
            grouped += members
            continue
        cutoffs = ", ".join(f"@{member.label.partition('@')[2]}" for member in members)
        common = f"{common}@k" if common else ""
        grouped.append(replace(members[0], label=f"{label}{cutoffs}", spelled_out=f"{spelled_out}@k", common=common))
    return grouped


def provenance_table(report: Report, manifest: Mapping[str, Any] | None = None) -> TextTable:
    """Return what came from where, as names and values; of an archived run with its inputs, packages and machine."""
    about, resampling = dict(report.provenance), report.resampling
    rows: list[tuple[str, Any]] = [("rankjury", report.version), ("schema", SCHEMA)]
    rows += [(key, about.pop(key)) for key in ("name", "plan", "made", "dialect") if about.get(key)]
    if resampling is not None:
        resamples = plural(resampling.resamples, "resample", "resamples")
        rows.append(("intervals", f"{resamples}, {format_percent(resampling.level)}, {resampling.interval}"))
        rows.append(("seed", resampling.seed))
    rows += [("baseline", report.baseline), *_flat("", about)]
    for name, system in report.systems.items():
        sections = {key: section.to_json() for key, section in system.sections.items()}
        for key in ("facts", "fusion", "fingerprints"):
            rows += _flat(f"{name}, {key}", sections.get(key) or {})
        rows += _flat(f"{name}, index", _chosen(sections.get("index"), _INDEX_FACTS))
    log = report.sections.get("interactions")
    rows += _flat("log", _chosen(None if log is None else log.to_json(), _LOG_FACTS))
    rows += _flat("", _chosen(manifest, _RUN_FACTS))
    known = [(key, str(value)) for key, value in rows if value not in (None, "", {}, [])]
    return make_table(["name", "value"], known, text=(0, 1))


def _chosen(value: Mapping[str, Any] | None, keys: Sequence[str]) -> dict[str, Any]:
    return {key: value[key] for key in keys if value.get(key) is not None} if value else {}


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield nested tables by their path."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{prefix} · {key}" if prefix else str(key), inner)
    elif isinstance(value, list | tuple):
        yield prefix, ", ".join(map(str, value))
    else:
        yield prefix, value
