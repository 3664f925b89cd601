"""Renderer of recommenders on held-out interactions: the log, all systems, every tier, and what is exposed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rankjury.evaluation.report import Report
from rankjury.evaluation.slices.stats import Slice
from rankjury.recsys.sections import Exposure, Interactions
from rankjury.reporting.sections import SectionBlock, renderer
from rankjury.reporting.tables import TextTable, make_table
from rankjury.reporting.tables.differences import ITEM_SLICES, comparison_table, p_legend, verdict_style
from rankjury.stats.comparison import Comparison
from rankjury.stats.estimates import Estimate
from rankjury.stats.formatting import format_estimate, format_percent, format_value

_DECIMALS = 3
_UNIT = "training interactions"
_CATALOGUES = {"items": "of the items file", "seen": "that the log has seen", "train": "of training"}
_SHARES = (0.1, 0.2, 0.5)
_MORE, _LESS = " ↑", " ↓"
_SIGNS = {"better": " ▲", "worse": " ▼"}


@renderer("interactions")
def render_interactions(report: Report, brief: bool) -> SectionBlock | None:
    """Return the log and measures in every tier; in brief also every system, and the first measure's comparison."""
    log = report.section(Interactions)
    if log is None:
        return None
    report = report.only(report.headline) if brief and report.headline else report
    times = {name: log.cutoff_times.get(name) or f"time {cutoff:,}" for name, cutoff in log.cutoffs.items()}
    cutoffs = ", ".join(f"{name} from {time}" for name, time in times.items())
    title = f"{split_line(log)}\ncut-off times: {cutoffs}" if cutoffs else split_line(log)
    tables = [replace(windows_table(log), title=title), *([_board(report)] if brief else ())]
    first = report.only(report.labels[:1])
    if brief and first.comparisons:
        found = comparison_table(first).without("measure")
        columns = (replace(found.columns[0], wraps=True), *found.columns[1:])
        note = f"{report.labels[0]} − {report.baseline}'s; {p_legend(first)}; +/=/−: users"
        tables.append(replace(found, columns=columns, narrower=(), notes=(note,), fixed=1))
    compared = dict.fromkeys(comparison.measure for comparison in report.comparisons)
    labels = report.labels[:1] if brief else list(dict.fromkeys((*compared, *report.labels)))
    tiers = [found for label in labels if (found := _tiers_table(report, label, ends=not brief))]
    if tiers:
        of_items = any(part.of == "items" for part in report.slices)
        legend = "item…: only held-out items of the tier count; n: users who have such" if of_items else "n: users"
        notes = list(_tier_ranges(report))
        notes += [
            f"no {side} of {log.window}: {', '.join(empty)}" for side, empty in log.empty_tiers().items() if empty
        ]
        notes.append(f"{legend}{_signs_legend(report, ' there', labels)}")
        notes += [ITEM_SLICES] if of_items else []
        tables += [*tiers[:-1], replace(tiers[-1], notes=tuple(notes))]
    return SectionBlock(
        "Recommenders",
        tables,
        order=0,
        replaces=frozenset({"headline", "comparison", "slices"}),
        core_tables=len(tables) - 1,
    )


@renderer("exposure")
def render_exposure(report: Report, brief: bool) -> SectionBlock | None:
    """Return how much of the recommendations goes to the most popular tenth, fifth and half of the catalogue."""
    found = report.sections_of(Exposure)
    return SectionBlock("Exposure", [_exposure_table(found)], order=1) if found else None


def _signs_legend(report: Report, where: str, labels: Sequence[str]) -> str:
    if report.baseline is None:
        return ""
    beyond = ", ↑ ↓ more or less where more is not better by itself" if _beyond_accuracy(report) & {*labels} else ""
    return f" · ▲ better, ▼ worse than {report.baseline}{where}{beyond}; no mark: no difference is shown"


def _board(report: Report) -> TextTable:
    """Systems down, measures across; with the first one's interval, and what differs from the baseline marked."""
    shown = {(comparison.system, comparison.measure): comparison for comparison in report.comparisons}
    beyond = _beyond_accuracy(report)
    rows = []
    for system, estimates in report.estimates.items():
        cells = []
        for place, label in enumerate(report.labels):
            comparison = shown.get((system, label))
            sign = _sign(comparison, report, beyond=label in beyond)
            text = format_estimate(estimates[label]) if place == 0 else _format_mean(estimates[label])
            cells.append(text + sign)
        rows.append([system, *cells])
    notes = []
    if report.resampling is not None:
        notes = [f"[{format_percent(report.level)} interval over users]{_signs_legend(report, '', report.labels)}"]
    header = ["system", *(report.both_names(label) for label in report.labels)]
    return make_table(header, rows, fixed=1, notes=notes)


def _beyond_accuracy(report: Report) -> set[str]:
    """The measures that look at lists alone: more of them is not better by itself."""
    return {
        label for label in report.labels if (measure := report.measure(label)) is not None and measure.metric.of_lists
    }


def _sign(comparison: Comparison | None, report: Report, *, beyond: bool) -> str:
    """Better or worse where that is shown; of a measure beyond accuracy, more or less."""
    verdict = verdict_style(comparison, report.level) if comparison is not None else ""
    if comparison is None or verdict not in _SIGNS:
        return ""
    return (_MORE if comparison.difference > 0 else _LESS) if beyond else _SIGNS[verdict]


def _format_mean(estimate: Estimate) -> str:
    return format_value(estimate.mean, _DECIMALS) if estimate.n else "–"


def split_line(about: Interactions) -> str:
    """How the log was split, what was learnt from, and who could be recommended."""
    learnt = "train and validation" if about.fit_on == "train+validation" else "train"
    catalogue = about.catalogue
    candidates = f"{catalogue.items:,} items {_CATALOGUES[catalogue.kind]}, less what a user took in training"
    if not isinstance(about.candidates, str):
        candidates = f"{about.candidates.sampled:,} of each user's, drawn, and what was held out; of {candidates}"
    kind = about.split.get("kind", "given")
    return f"{kind} split, evaluated on {about.window}, fitted on {learnt}; candidates: {candidates}"


def windows_table(about: Interactions) -> TextTable:
    """Return rows, users and items of each window of the log, and those of whom training has nothing."""
    rows = []
    for name, window in about.windows.items():
        cold = (None, None) if name == "train" else (window.cold_users, window.cold_items)
        numbers = (window.rows, window.users, window.items, *cold)
        cells = ["–" if number is None else f"{number:,}" for number in numbers]
        span = f"{window.begin[:10]} – {window.end[:10]}" if window.begin and window.end else ""
        rows.append([name, *cells, span])
    header = ["window", "rows", "users", "items", "new users", "new items", "from – to"]
    return make_table(header, rows, text=(0, 6), fixed=1, notes=["new: without training interactions."])


def _tiers_table(report: Report, label: str, *, ends: bool) -> TextTable:
    """Return one measure in every slice, a column per system; ``ends``: with its intervals."""
    systems, beyond = list(report.systems), label in _beyond_accuracy(report)
    parts = [part for part in report.slices if all(label in part.estimates.get(name, {}) for name in systems)]
    rows = []
    for part in parts:
        numbers = {part.estimates[name][label].n for name in systems}
        n = "–".join(f"{number:,}" for number in sorted({min(numbers), max(numbers)}))
        cells = (_cell(part, name, label, report, ends=ends, beyond=beyond) for name in systems)
        rows.append([part.name, n, *cells])
    title = f"{report.both_names(label)} by tier of training interactions"
    return make_table(["slice", "n", *systems], rows, title=title, fixed=2)


def _tier_ranges(report: Report) -> Iterator[str]:
    """``activity: low at most 15, medium 16 to 30 …``, in training interactions."""
    ranges: dict[str, list[str]] = {}
    for part in report.slices:
        attribute, _, value = part.name.partition("=")
        if _UNIT in part.note and "*" not in part.name:
            ranges.setdefault(attribute, []).append(f"{value} {' '.join(part.note.replace(_UNIT, '').split())}")
    for attribute, told in ranges.items():
        yield f"{attribute}: {', '.join(told)}"


def _cell(part: Slice, system: str, measure: str, report: Report, *, ends: bool, beyond: bool) -> str:
    estimate = part.estimates[system][measure]
    found = [comparison for comparison in part.beside if comparison.system == system and comparison.measure == measure]
    sign = _sign(found[0], report, beyond=beyond) if found and isinstance(found[0], Comparison) else ""
    return (format_estimate(estimate) if ends else _format_mean(estimate)) + sign


def _exposure_table(found: Mapping[str, Exposure]) -> TextTable:
    rows = []
    first = next(iter(found.values()))
    nearest = (min(range(len(first.edges)), key=lambda place: abs(first.edges[place] - share)) for share in _SHARES)
    places = list(dict.fromkeys(nearest))
    for name, exposure in found.items():
        shares = [format_percent(sum(exposure.recommended[: place + 1]), 0) for place in places]
        rows.append([name, *shares, f"{exposure.distinct:,}"])
    taken = [format_percent(sum(first.taken[: place + 1]), 0) for place in places]
    rows.append(["(training)", *taken, f"of {first.catalogue:,}"])
    header = ["system", *(f"top {format_percent(first.edges[place], 0)}" for place in places), "different items"]
    title = f"Which share of the first {first.k} recommendations is of the most popular items of training"
    return make_table(header, rows, title=title)
