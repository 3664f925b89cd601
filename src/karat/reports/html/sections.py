"""A report's form → what the sections of a page hold, as text; the template only lays it out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from karat.common_sections import Quantiles
from karat.errors import KaratError
from karat.interactions.summary import Interactions
from karat.measure import Measure
from karat.reports.charts.from_form.reading import labels_of, less_is_better, level_of
from karat.reports.html.figures import NOTHING, Cell, Form, bounds_of, cell_of
from karat.reports.quantiles import quantiles_note, quantiles_table
from karat.reports.sections.interactions import cutoff_times_line, split_line, windows_table
from karat.usual import beside, usual_name
from karat.wording import bounds_shown, count, decimals_of, difference_shown, figure_shown, percent

__all__ = [
    "Headline",
    "Row",
    "VerdictRow",
    "conventions_of",
    "figures_of",
    "headline_labels",
    "headline_of",
    "log_of",
    "lost_keywords",
    "p_legend",
    "provenance_of",
    "quantiles_of",
    "title_of",
    "verdict_of",
    "verdicts_of",
    "who_of",
]

_ORDER = {"fail": 0, "unsure": 1, "pass": 2}
_MOST_HEADLINE = 8


@dataclass(frozen=True)
class VerdictRow:
    outcome: str
    target: str
    system: str
    slice: str
    found: str
    n: str
    wanted: str
    note: str


def verdict_of(form: Form) -> str | None:
    """pass, fail or unsure; None where the plan has no targets."""
    gate = form.get("gate") or {}
    return gate.get("verdict")


def verdicts_of(form: Form) -> list[VerdictRow]:
    """Failures first."""
    targets = (form.get("gate") or {}).get("targets") or ()
    return [
        VerdictRow(
            one["verdict"],
            one["target"],
            one["system"],
            one.get("slice") or "",
            _found(one),
            "" if one.get("n") is None else f"{one['n']:,}",
            one.get("wanted") or "",
            one.get("note") or "",
        )
        for one in sorted(targets, key=lambda one: _ORDER.get(one["verdict"], 3))
    ]


def _found(one: Form) -> str:
    value, ci = one.get("value"), bounds_of(one)
    if value is None:
        return NOTHING
    if one.get("relative") and str(one.get("wanted") or "").endswith("%"):
        low_high = [percent(end, 1, signed=True).removesuffix(" %") for end in ci or ()]
        return percent(value, 1, signed=True) + (f" [{', '.join(low_high)}]" if ci else "")
    if one.get("relative"):
        return difference_shown(value, ci)
    return _rounded(value) if ci is None else f"{figure_shown(value, decimals_of(ci))} {bounds_shown(ci)}"


def headline_labels(form: Form) -> list[str]:
    """The measures to show first."""
    labels = labels_of(form)
    chosen = [label for label in form.get("headline") or () if label in labels]
    return (chosen or labels)[:_MOST_HEADLINE]


@dataclass(frozen=True)
class Row:
    """A system with its cells, one a measure."""

    system: str
    is_baseline: bool
    by_chance: bool
    gold: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Headline:
    """Systems × measures."""

    labels: tuple[str, ...]
    titles: tuple[str, ...]
    """With the usual name where a measure's own misleads."""
    rows: tuple[Row, ...]
    level: str


def headline_of(form: Form, labels: Sequence[str]) -> Headline:
    level = level_of(form)
    lower = {label for label in labels if less_is_better(form, label)}
    compared = {(one["system"], one["measure"]): one for one in form.get("comparisons") or ()}
    rows = tuple(
        Row(
            name,
            name == form.get("baseline"),
            bool(one.get("by_chance")),
            one.get("gold") or "",
            tuple(
                cell_of(one["measures"].get(label), compared.get((name, label)), lower=label in lower, level=level)
                for label in labels
            ),
        )
        for name, one in form["systems"].items()
    )
    return Headline(tuple(labels), tuple(title_of(form, label) for label in labels), rows, percent(level))


def title_of(form: Form, label: str) -> str:
    entries = (one["measures"].get(label) for one in form["systems"].values())
    return beside(label, next((entry.get("usual_name") for entry in entries if entry), None))


def who_of(form: Form) -> tuple[str, str]:
    """What queries are called."""
    return ("user", "users") if form.get("interactions") else ("query", "queries")


@dataclass(frozen=True)
class LogSection:
    """Where a report on interactions comes from: how the log was split, and what could be recommended."""

    split: str
    cutoffs: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def log_of(form: Form) -> LogSection | None:
    """Return the split, its cut-off times and windows, and the candidates; None for a report without a log."""
    about = form.get("interactions")
    if not about:
        return None
    about = Interactions.from_json(about)
    windows = windows_table(about)
    told = split_line(about)
    return LogSection(
        told[:1].upper() + told[1:], cutoff_times_line(about), tuple(windows.header), tuple(map(tuple, windows.texts))
    )


def figures_of(form: Form) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Figures beside the measures, such as latencies: systems, and rows of name and values."""
    held = {name: one.get("figures") or {} for name, one in form["systems"].items()}
    systems = [name for name, figures in held.items() if figures]
    names = list(dict.fromkeys(figure for name in systems for figure in held[name]))
    return systems, [(name, [_figure(held[system].get(name)) for system in systems]) for name in names]


def _figure(one: Any) -> str:
    if one is None:
        return NOTHING
    if not isinstance(one, Mapping):
        return _rounded(one)
    ci = bounds_of(one)
    return _rounded(one["value"]) if ci is None else f"{figure_shown(one['value'], decimals_of(ci))} {bounds_shown(ci)}"


def _rounded(value: float) -> str:
    """Four digits of a value without an interval; a whole number and thousands in full."""
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.4g}".replace("-", "−")


def quantiles_of(form: Form) -> tuple[list[str], list[list[str]], str] | None:
    """Scores at some shares of the queries: columns, rows, and a note; None where nobody asked."""
    known = {name: Quantiles.from_json(one.get("quantiles") or {}) for name, one in form["systems"].items()}
    if not any(one.measures for one in known.values()):
        return None
    header, rows = quantiles_table(known, labels_of(form), lambda label: title_of(form, label))
    return header, rows, quantiles_note(known)


@dataclass(frozen=True)
class Convention:
    label: str
    spelled_out: str
    title: str
    formula: str
    source: str
    usual: str


def conventions_of(form: Form) -> list[Convention]:
    """Every measure with all its conventions, what it is and where it is from."""
    found: dict[str, str] = {}
    for one in form["systems"].values():
        for label, entry in one["measures"].items():
            found.setdefault(label, entry.get("convention") or label)
    return [_convention(label, spelling) for label, spelling in found.items()]


def _convention(label: str, spelling: str) -> Convention:
    try:
        measure = Measure.parse(spelling)
    except KaratError:
        return Convention(label, spelling, "", "", "", "")
    metric = measure.metric
    return Convention(
        label, measure.spelled_out(), metric.title, metric.formula, metric.source, usual_name(measure) or ""
    )


def lost_keywords(form: Form) -> dict[str, list[tuple[str, str, str]]]:
    """By system the keywords that results lack most: name, how many of how many lack it, what stands instead."""
    found = {}
    for name, one in form["systems"].items():
        rows = [row for row in (one.get("partial_matches") or {}).get("keywords") or () if row["results"]]
        rows.sort(key=lambda row: (-row["lacking"] / row["results"], row["name"]))
        found[name] = [
            (
                row["name"],
                f"{row['lacking']:,} of {row['results']:,}",
                ", ".join(f"{other['keyword']} ({other['results']})" for other in row.get("instead") or ()),
            )
            for row in rows[:10]
            if row["lacking"]
        ]
    return {name: rows for name, rows in found.items() if rows}


def provenance_of(form: Form, manifest: Form | None = None) -> list[tuple[str, str]]:
    """What came from where, as names and values; of an archived run with its inputs, packages and machine."""
    about = dict(form.get("provenance") or {})
    how = form.get("resampling")
    rows: list[tuple[str, Any]] = [("karat", form.get("karat")), ("schema", form.get("schema"))]
    rows += [(key, about.pop(key)) for key in ("name", "plan", "made", "dialect") if about.get(key)]
    if how:
        told = f"{count(how['resamples'], 'resample', 'resamples')}, {percent(how['level'])}, {how['interval']}"
        rows += [("intervals", told), ("seed", how["seed"])]
    if form.get("baseline"):
        rows.append(("baseline", form["baseline"]))
    rows += list(_flat("", about))
    rows += [row for name, one in form["systems"].items() for row in _of_system(name, one)]
    if form.get("interactions"):
        rows += list(_flat("log", {key: form["interactions"].get(key) for key in ("window", "fit_on", "split")}))
    rows += list(_flat("", _of_manifest(manifest or {})))
    return [(key, str(value)) for key, value in rows if value not in (None, "", {}, [])]


def _of_system(name: str, one: Form) -> Iterator[tuple[str, Any]]:
    for key in ("facts", "fusion", "fingerprints"):
        yield from _flat(f"{name}, {key}", one.get(key) or {})
    index = one.get("index") or {}
    kept = ("engine", "metric", "build", "search", "items", "dimensions", "facts")
    yield from _flat(f"{name}, index", {key: index[key] for key in kept if key in index})


def _of_manifest(manifest: Form) -> dict[str, Any]:
    kept = ("versions", "inputs", "packages", "machine", "git", "seconds", "same_inputs_as")
    return {key: manifest[key] for key in kept if manifest.get(key) is not None}


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Nested tables by their path."""
    if isinstance(value, Mapping):
        for key, held in value.items():
            yield from _flat(f"{prefix} · {key}" if prefix else str(key), held)
    elif isinstance(value, list | tuple):
        yield prefix, ", ".join(map(str, value))
    else:
        yield prefix, value


def p_legend(form: Form) -> str:
    """How p-values came to be."""
    if not form.get("comparisons"):
        return ""
    whole = any(one.get("p_method") == "jackknife" for one in form["comparisons"])
    of_whole = " (of one figure over all: the jackknife's t test)" if whole else ""
    return f"p: sign-flip test{of_whole}, corrected for all {len(form['comparisons']):,} comparisons after Holm"
