"""Summary of a report: the sentences that every output begins with.

May it ship, is it better than the baseline, how good is it, where is it weakest: one sentence each, the most important
first. The terminal, the page, Markdown, pull requests, notebooks and ``print(report)`` show the same ones. A section
adds its own by ``Section.summary``.
"""

from collections.abc import Iterator, Sequence
from math import isclose, isnan
from typing import TYPE_CHECKING, TypeGuard

from rankjury.core.text import join_names, plural
from rankjury.evaluation.sections import QUERIES
from rankjury.stats.comparison import Comparison
from rankjury.stats.formatting import (
    format_difference,
    format_estimate,
    format_interval,
    format_p,
    format_percent,
    format_value,
    interval_decimals,
)
from rankjury.stats.resampling import Bounds
from rankjury.stats.significance import is_significant

if TYPE_CHECKING:
    from rankjury.evaluation.report import Report
    from rankjury.evaluation.sections import Section
    from rankjury.evaluation.slices.stats import Gap, Slice

_FEWEST_IN_SLICE = 5
"""Queries that a slice has at least to be called the weakest."""
_MOST_NAMED = 3
_LONGEST_TEXT = 48


def summarize_report(report: "Report") -> tuple[str, ...]:
    """Return the sentences that a report begins with; none where no measure is defined."""
    sections: list[tuple[Section, str | None]] = [(section, None) for section in report.sections.values()]
    sections += [(section, name) for name, system in report.systems.items() for section in system.sections.values()]
    leading = sorted((pair for pair in sections if pair[0].leads), key=lambda pair: pair[0].leads)
    first = [text for section, name in leading for text in section.summary(report, name)]
    others = [text for section, name in sections if not section.leads for text in section.summary(report, name)]
    answered = bool(first) and any(section.replaces_means for section, _ in leading)
    means = _summarize_comparisons(report) or (() if answered else _summarize_means(report))
    return (*first, *means, *others, *_summarize_weakest(report))


def describe_comparison(comparison: Comparison, level: float, unit: tuple[str, str], tests: int = 1) -> str:
    """Return a comparison as a sentence: who is better, by how much, how sure that is, and for how many queries.

    Args:
        comparison: A system compared with the baseline.
        level: The level of the interval.
        unit: The words for a query and for queries.
        tests: How many tests the p-value was corrected for.
    """
    system, baseline, measure, many = comparison.system, comparison.baseline, comparison.measure, unit[1]
    if isnan(comparison.difference):
        return f"{system} cannot be compared with {baseline}: {measure} is undefined for every {unit[0]}."
    if comparison.p is not None and not comparison.tested and not comparison.whole:
        return f"{system} and {baseline} score the same on all {comparison.n:,} {many} under {measure}."
    if comparison.p is None and comparison.n > 1 and not comparison.whole:
        size = "more" if comparison.difference > 0 else "less" if comparison.difference < 0 else "no more"
        difference = format_difference(comparison.difference, comparison.ci)
        return f"{system} has {size} {measure} than {baseline}: {difference}; it describes a run and is not tested."
    shown = is_significant(comparison.p_holm, level) and comparison.gain != 0
    verdict = f"is {'better' if comparison.gain > 0 else 'worse'} than"
    if not shown:
        verdict = "is not shown to be better than" if comparison.gain >= 0 else "is not shown to differ from"
    difference = format_difference(comparison.difference, None, decimals=interval_decimals(comparison.ci))
    sentence = f"{system} {verdict} {baseline}: {measure} {difference}{_certainty(comparison, level, tests)}"
    if shown and not comparison.whole:
        counts = f"{comparison.better:,} {unit[0] if comparison.better == 1 else many} better"
        return f"{sentence}; {counts}, {comparison.worse:,} worse, {comparison.equal:,} equal."
    if not shown and comparison.detectable is not None:
        return f"{sentence}; {comparison.n:,} {many} can detect {comparison.detectable:.2g}."
    return f"{sentence}."


def _certainty(comparison: Comparison, level: float, tests: int) -> str:
    """Return interval and p in brackets; where they seem to contradict each other, it is said why."""
    parts = []
    ci = comparison.ci
    if ci is not None:
        low, high = format_interval(ci, signed=True).strip("[]").split(", ")
        parts.append(f"{format_percent(level)} CI {low} to {high}")
    if comparison.p_holm is not None:
        p = f"p = {format_p(comparison.p_holm, at_floor=comparison.at_floor)}".replace("= <", "< ")
        if contradicts_interval(comparison, level):
            raw = format_p(comparison.p, at_floor=comparison.at_floor)
            differing = comparison.better + comparison.worse
            lowest = 2.0 ** (1 - differing)  # the differences have 2^n signs, of which two are as extreme
            if tests > 1:
                p += f" after correction for {tests:,} comparisons, {raw} before"
            elif comparison.exact and not is_significant(lowest, level) and isclose(comparison.p or 0, lowest):
                p += f", the lowest possible with {differing} differences"
            else:
                p += ", a borderline case"
        parts.append(p)
    return f" ({', '.join(parts)})" if parts else ""


def contradicts_interval(comparison: "Comparison | Gap", level: float) -> bool:
    """Return whether the interval excludes 0 and the corrected p-value does not show a difference, or the reverse."""
    if comparison.ci is None or comparison.p_holm is None:
        return False
    return _excludes_zero(comparison.ci) != is_significant(comparison.p_holm, level)


def _excludes_zero(ci: Bounds) -> bool:
    return ci[0] > 0 or ci[1] < 0


def _summarize_comparisons(report: "Report") -> Iterator[str] | Sequence[str]:
    """Return the best system compared with the baseline, and how the others compare with it."""
    label = _main_label(report, {comparison.measure for comparison in report.comparisons})
    found = [comparison for comparison in report.comparisons if comparison.measure == label]
    if not found:
        return ()
    found.sort(key=lambda comparison: (isnan(comparison.gain), -comparison.gain, comparison.system))
    tests = sum(comparison.tested for comparison in report.comparisons)
    best, *others = found
    lines = [describe_comparison(best, report.level, report.unit, tests)]
    groups: dict[str, list[str]] = {"Also better": [], "Not shown to differ": [], "Worse": []}
    for comparison in others:
        if comparison.p is None:  # of a measure that is not tested
            continue
        shown = is_significant(comparison.p_holm, report.level) and comparison.gain != 0
        name = "Not shown to differ" if not shown else "Also better" if comparison.gain > 0 else "Worse"
        groups[name].append(comparison.system)
    parts = [f"{name}: {join_names(names, _MOST_NAMED)}" for name, names in groups.items() if names]
    if parts:
        lines.append(f"{'. '.join(parts)}.")
    return lines


def _summarize_means(report: "Report") -> Iterator[str]:
    """Yield the highest mean of the main measure, and what limits trust in it."""
    label = _main_label(report, report.labels)
    ranked = [name for name, system in report.systems.items() if label in system.estimates and not system.random]
    if label is None or not ranked:
        return
    lower = report.lower_is_better(label)
    means = {name: report.systems[name].estimates[label] for name in ranked}
    defined = [name for name in ranked if not isnan(means[name].mean)]
    if not defined:
        yield f"{report.both_names(label)} is undefined for every {report.unit[0]}."
        return
    best, *others = sorted(defined, key=lambda name: means[name].mean if lower else -means[name].mean)
    estimate = means[best]
    over = f"over {estimate.n:,} {report.unit[estimate.n != 1]}"
    if len(report.systems) == 1:
        yield f"{best}: {report.both_names(label)} {format_estimate(estimate)} {over}{_trust(report, best)}."
        return
    then = f"; then {others[0]} {_plain(means[others[0]].mean, means[others[0]].ci)}" if others else ""
    yield (
        f"{best} has the {'lowest' if lower else 'highest'} {report.both_names(label)}: "
        f"{format_estimate(estimate)} {over}{then}{_trust(report, best)}."
    )


def _plain(mean: float, ci: Bounds | None) -> str:
    return format_value(mean, interval_decimals(ci))


def _trust(report: "Report", system: str) -> str:
    """Return what limits trust in a system's means, with the numbers, from its warnings."""
    found = {warning.code: warning for warning in report.warnings if warning.system in (None, system)}
    limits = []
    unjudged, ties, missing = (found.get(code) for code in ("unjudged", "ties", "missing-queries"))
    if unjudged is not None and unjudged.share is not None and unjudged.count is not None:
        limits.append(f"{format_percent(unjudged.share, 1)} of its top {unjudged.count:,} results are unjudged")
    if ties is not None and ties.count:
        limits.append(f"{plural(ties.count, *report.unit)} with tied scores at a cut-off")
    if missing is not None and missing.count:
        limits.append(f"{plural(missing.count, *report.unit)} without results")
    return f"; {join_names(limits, len(limits))}" if limits else ""


def _summarize_weakest(report: "Report") -> Iterator[str]:
    """Yield the slice with the lowest mean of the best system, and the query that lost most."""
    compared = {comparison.measure for comparison in report.comparisons}
    label = _main_label(report, compared or report.labels)
    if label is None:
        return
    parts = []
    system = main_system(report, label)
    if system is not None:
        loss = _hidden_loss(report, label, system)
        weakest = _weakest_slice(report, label, system)
        if loss is not None:
            part, comparison = loss
            difference = format_difference(comparison.difference, comparison.ci)
            parts.append(f"But {system} is worse than {report.baseline} in {part.name}: {difference} (n {part.n:,}).")
        elif weakest is not None:
            estimate = weakest.estimates[system][label]
            whole = report.systems[system].estimates[label]
            parts.append(
                f"Weakest slice of {system}: {weakest.name} {_plain(estimate.mean, estimate.ci)} (n {estimate.n:,}; "
                f"all {report.unit[1]}: {_plain(whole.mean, whole.ci)})."
            )
        losses = [
            change
            for change in report.changes
            if change.measure == label and change.system == system and change.gain < 0
        ]
        if losses:
            change = min(losses, key=lambda change: (change.gain, change.query))
            name, text = report.query_name(change.query), report.texts.get(change.query, "")
            if text and name == change.query:
                name += f' "{text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1].rstrip() + "…"}"'
            if name == change.query and report.unit != QUERIES:
                name = f"{report.unit[0]} {name}"
            parts.append(f"Largest loss: {name}, {change.before:.3f} → {change.after:.3f}.")
    if parts:
        yield " ".join(parts)


def _hidden_loss(report: "Report", label: str, system: str) -> "tuple[Slice, Comparison] | None":
    """Return the slice with the largest shown loss against the baseline; None where all queries show one as well."""

    def is_loss(found: object) -> TypeGuard[Comparison]:
        return (
            isinstance(found, Comparison)
            and (found.measure, found.system, found.baseline) == (label, system, report.baseline)
            and found.gain < 0
            and is_significant(found.p_holm, report.level)
        )

    if any(map(is_loss, report.comparisons)):
        return None
    slices = (part for part in report.slices if part.of == "queries")
    losses = [(part, found) for part in slices for found in part.beside if is_loss(found)]
    return min(losses, default=None, key=lambda loss: (loss[1].gain, loss[0].name))


def _weakest_slice(report: "Report", label: str, system: str) -> "Slice | None":
    """Return the slice of enough queries where the measure is lowest; None where none is below the mean."""
    sign = -1.0 if report.lower_is_better(label) else 1.0
    found = []
    for part in report.slices:
        estimate = part.estimates.get(system, {}).get(label)
        if part.of == "queries" and estimate is not None and estimate.n >= _FEWEST_IN_SLICE:
            found.append((sign * estimate.mean, part.name, part))
    whole = sign * report.systems[system].estimates[label].mean
    lowest = min(found, default=None, key=lambda entry: entry[:2])
    return lowest[2] if lowest is not None and lowest[0] < whole else None


def _main_label(report: "Report", among: "Sequence[str] | set[str]") -> str | None:
    """Return the first headline measure among some, else the first measure: one that says how good a run is, if any."""
    found = [label for label in (*report.headline, *report.labels) if label in among]
    return next((label for label in found if not report.describes(label)), found[0] if found else None)


def main_system(report: "Report", label: str) -> str | None:
    """Return the system whose weakest slices are shown: the best one that is not the baseline."""
    lower = report.lower_is_better(label)
    ranked = [
        name
        for name, system in report.systems.items()
        if label in system.estimates and not system.random and not isnan(system.estimates[label].mean)
    ]
    compared = [name for name in ranked if name != report.baseline] or ranked
    return min(
        compared,
        default=None,
        key=lambda name: (1 if lower else -1) * report.systems[name].estimates[label].mean,
    )
