"""Renderer of agreement with a reference model: measures by cut-off, similarities, and gains over the baseline."""

from collections.abc import Iterator, Mapping
from math import isnan

from rankjury.core.text import plural
from rankjury.evaluation.report import Report
from rankjury.measures.measure import LEGEND
from rankjury.reporting.sections import SectionBlock, renderer
from rankjury.reporting.tables import TextTable, make_table
from rankjury.reporting.tables.cutoffs import cutoff_grid, display_names
from rankjury.retrieval.agreement.stats import Agreement, AgreementValue
from rankjury.stats.comparison import Comparison
from rankjury.stats.estimates import Estimate
from rankjury.stats.formatting import NO_VALUE, format_interval, format_p, format_value, interval_decimals

_TITLES = {"spearman": "Spearman ρ", "kendall": "Kendall τ", "pearson": "Pearson r", "mae": "MAE", "rmse": "RMSE"}
_SAYS_MOST = "ndcg"
_INDENT = "  "
_DECIMALS = 4


@renderer("reference")
def render_reference(report: Report, brief: bool) -> SectionBlock | None:
    """Return each system by cut-off, and what it gains over the baseline under the headline's measures."""
    if not any(
        measure is not None and measure.k for system in report.systems.values() for measure in system.measures.values()
    ):
        return None
    gains = list(_relative(report))
    tables = [*_cutoff_tables(report), *([_improvement_table(report)] if gains else ())]
    return SectionBlock(
        "By cut-off", tables, tuple(_improvements(report)), order=0, replaces=frozenset({"headline", "comparison"})
    )


def _cutoff_tables(report: Report) -> list[TextTable]:
    """Return one table per system: cut-offs down, measures across, cells like ``0.156±0.363``.

    The spread is the sample standard deviation over queries (divisor n − 1), as everywhere in rankjury; numpy's
    default, with divisor n, is smaller by the factor √((n − 1) / n).
    """
    grid = cutoff_grid(report)
    header = ["k", *(measure.both_names for measure in grid.measures)]
    notes = [f"mean±standard deviation over {grid.over}", *grid.conventions, *([LEGEND] if report.common_names else ())]
    found = []
    for number, system in enumerate(grid.systems, 1):
        rows = [[str(k), *(_format_spread(grid.at(system, measure, k)) for measure in grid.measures)] for k in grid.ks]
        last = number == len(grid.systems)
        found.append(make_table(header, rows, title=f"{system}:", notes=notes if last else (), fixed=1))
    return found


def _format_spread(estimate: Estimate | None) -> str:
    if estimate is None or not estimate.n:
        return NO_VALUE
    mean = format_value(estimate.mean, 3)
    return mean if isnan(estimate.std) else f"{mean}±{estimate.std:.3f}"


@renderer("agreement")
def render_agreement(report: Report, brief: bool) -> SectionBlock | None:
    """Return how far similarities agree: for each value a row per system, with the difference to the baseline."""
    found = report.sections_of(Agreement)
    if not found:
        return None
    compared = any(one.difference is not None for of in found.values() for one in of.figures.values())
    header = ["similarities", "agreement", *(["difference"] if compared else [])]
    rows = []
    for name in next(iter(found.values())).figures:
        rows.append([_TITLES[name], *[""] * (len(header) - 1)])
        for system, agreement in found.items():
            one = agreement.figures[name]
            rows.append(
                [f"{_INDENT}{system}", _format_agreement(one), *([_format_difference(one)] if compared else [])]
            )
    return SectionBlock(
        "Similarities", [make_table(header, rows, wraps=(0,), notes=list(_pairs_lines(found)))], order=10
    )


def _format_agreement(one: AgreementValue) -> str:
    if isnan(one.value):
        return NO_VALUE
    text = format_value(one.value, interval_decimals(one.ci))
    return f"{text} {format_interval(one.ci)}" if one.ci else text


def _format_difference(one: AgreementValue) -> str:
    if one.difference is None:
        return ""
    ends = "" if one.difference_ci is None else ", ".join(_format_signed(end, _DECIMALS) for end in one.difference_ci)
    return (
        f"{_format_signed(one.difference, _DECIMALS)} [{ends}]" if ends else _format_signed(one.difference, _DECIMALS)
    )


def _pairs_lines(found: Mapping[str, Agreement]) -> Iterator[str]:
    """Return over which pairs, system by system where these differ."""
    told: dict[str, list[str]] = {}
    for system, one in found.items():
        left_out = f", {one.left_out:,} more unknown to one side" if one.left_out else ""
        line = f"over {plural(one.pairs, 'pair', 'pairs')} {one.about} ({plural(one.queries, 'query', 'queries')})"
        told.setdefault(line + left_out, []).append(system)
    for line, systems in told.items():
        yield line if len(told) == 1 else f"{', '.join(systems)}: {line}"


def _improvement_table(report: Report) -> TextTable:
    """What each system gains over the baseline, as a share of what that has."""
    names = display_names(report)
    rows = [
        [
            comparison.system if comparison.system != before else "",
            names[comparison.measure],
            _format_share(comparison),
            f"{format_value(comparison.baseline_mean, 3)} → {format_value(comparison.mean, 3)}",
            format_p(comparison.p_holm, at_floor=comparison.at_floor),
        ]
        for comparison, before in _relative(report)
    ]
    return make_table([f"over {report.baseline}", "measure", "change", "means", "p"], rows, text=(0, 1), wraps=(0,))


def _improvements(report: Report) -> Iterator[str]:
    """``tuned over base: NDCG@10 +51.2 % [+48.0, +54.3]``, a sentence a system, of the measure that says most."""
    names = display_names(report)
    chosen: dict[str, Comparison] = {}
    for comparison, _ in _relative(report):
        if comparison.system not in chosen or comparison.measure.startswith(_SAYS_MOST):
            chosen[comparison.system] = comparison
    for comparison in chosen.values():
        verdict = "shown" if comparison.is_significant(report.level) else "not shown: chance alone may do that"
        change = f"{names[comparison.measure]} {_format_share(comparison)}"
        yield f"{comparison.system} over {comparison.baseline}: {change}, {verdict}"


def _relative(report: Report) -> Iterator[tuple[Comparison, str | None]]:
    """The comparisons that have a share, each with the system of the one before."""
    before = None
    for comparison in report.comparisons:
        if comparison.relative is not None and (not report.headline or comparison.measure in report.headline):
            yield comparison, before
            before = comparison.system


def _format_share(comparison: Comparison) -> str:
    """``−9.0 % [−11.4, −6.6]``"""
    if comparison.relative is None:
        return NO_VALUE
    ci = comparison.relative_ci
    bounds = "" if ci is None else f" [{', '.join(_format_signed(100 * end, 1) for end in ci)}]"
    return f"{_format_signed(100 * comparison.relative, 1)} %{bounds}"


def _format_signed(value: float, decimals: int) -> str:
    rounded = round(value, decimals)
    return f"{rounded:+.{decimals}f}".replace("-", "−") if rounded else f"{0:.{decimals}f}"
