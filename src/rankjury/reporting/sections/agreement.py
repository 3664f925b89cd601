"""Renderer of agreement with a reference model: measures by cut-off, similarities, and gains over the baseline."""

from collections.abc import Iterator, Mapping
from math import isnan

from rankjury.core.text import plural
from rankjury.evaluation.report import Report
from rankjury.measures.measure import common_names_note
from rankjury.reporting.sections import SectionBlock, renderer
from rankjury.reporting.tables import TextTable, make_table
from rankjury.reporting.tables.cutoffs import cutoff_grid, display_names
from rankjury.retrieval.agreement.stats import Agreement
from rankjury.stats.comparison import Comparison
from rankjury.stats.estimates import Estimate
from rankjury.stats.formatting import NO_VALUE, format_difference, format_p, format_value, format_with_interval
from rankjury.stats.resampling import Bounds

_TITLES = {"spearman": "Spearman ρ", "kendall": "Kendall τ", "pearson": "Pearson r", "mae": "MAE", "rmse": "RMSE"}
_DECIMALS = 4


@renderer("reference")
def render_reference(report: Report, brief: bool) -> SectionBlock | None:
    """Return each system by cut-off, and what it gains over the baseline under the headline's measures."""
    if not any(
        measure is not None and measure.k for system in report.systems.values() for measure in system.measures.values()
    ):
        return None
    tables = _cutoff_tables(report)
    names = display_names(report)
    rows: list[list[str]] = []
    before = ""
    for comparison in _relative(report):
        rows.append(
            [
                comparison.system if comparison.system != before else "",
                names[comparison.measure],
                _format_share(comparison),
                f"{format_value(comparison.baseline_mean, 3)} → {format_value(comparison.mean, 3)}",
                format_p(comparison.p_holm, at_floor=comparison.at_floor),
            ]
        )
        before = comparison.system
    if rows:
        header = [f"vs {report.baseline}", "measure", "change", "means", "p"]
        tables.append(make_table(header, rows, text=(0, 1), wraps=(0,)).dropping("means"))
    lines = tuple(_improvement_lines(report, names))
    return SectionBlock("By cut-off", tables, lines, order=0, replaces=frozenset({"headline", "comparison"}))


def _cutoff_tables(report: Report) -> list[TextTable]:
    """Return one table per system: cut-offs down, measures across, cells like ``0.156±0.363``.

    The spread is the sample standard deviation over queries (divisor n − 1), as everywhere in rankjury; numpy's
    default, with divisor n, is smaller by the factor √((n − 1) / n).
    """
    grid = cutoff_grid(report)
    header = ["k", *(measure.both_names for measure in grid.measures)]
    names = common_names_note(report.common_names)
    notes = [f"mean±standard deviation over {grid.over}", *grid.conventions, *filter(None, [names])]
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
    compared = any(correlation.difference is not None for of in found.values() for correlation in of.figures.values())
    header = ["similarities", "agreement", *(["difference"] if compared else [])]
    rows = []
    for name in next(iter(found.values())).figures:
        rows.append([_TITLES[name], *[""] * (len(header) - 1)])
        for system, agreement in found.items():
            correlation = agreement.figures[name]
            value = NO_VALUE if isnan(correlation.value) else format_with_interval(correlation.value, correlation.ci)
            difference = (
                ""
                if correlation.difference is None
                else _format_signed(correlation.difference, correlation.difference_ci, _DECIMALS)
            )
            rows.append([f"  {system}", value, *([difference] if compared else [])])
    table = make_table(header, rows, wraps=(0,), notes=list(_pairs_lines(found)))
    return SectionBlock("Similarities", [table], order=10)


def _pairs_lines(found: Mapping[str, Agreement]) -> Iterator[str]:
    """Yield over which pairs, system by system where these differ."""
    lines: dict[str, list[str]] = {}
    for system, agreement in found.items():
        left_out = f", {agreement.left_out:,} more unknown to one side" if agreement.left_out else ""
        pairs, queries = plural(agreement.pairs, "pair", "pairs"), plural(agreement.queries, "query", "queries")
        line = f"over {pairs} {agreement.about} ({queries})"
        lines.setdefault(line + left_out, []).append(system)
    for line, systems in lines.items():
        yield line if len(lines) == 1 else f"{', '.join(systems)}: {line}"


def _improvement_lines(report: Report, names: Mapping[str, str]) -> Iterator[str]:
    """``tuned vs base: NDCG@10 +51.2 % [+48.0, +54.3]``, a line per system, of NDCG where there is one."""
    chosen: dict[str, Comparison] = {}
    for comparison in _relative(report):
        if comparison.system not in chosen or comparison.measure.startswith("ndcg"):
            chosen[comparison.system] = comparison
    for comparison in chosen.values():
        verdict = "" if comparison.is_significant(report.level) else ", not shown: chance alone may explain it"
        change = f"{names[comparison.measure]} {_format_share(comparison)}"
        yield f"{comparison.system} vs {comparison.baseline}: {change}{verdict}"


def _relative(report: Report) -> list[Comparison]:
    """Return the comparisons, of the headline's measures, that have a share."""
    return [
        comparison
        for comparison in report.comparisons
        if comparison.relative is not None and (not report.headline or comparison.measure in report.headline)
    ]


def _format_share(comparison: Comparison) -> str:
    """``−9.0 % [−11.4, −6.6]``"""
    if comparison.relative is None:
        return NO_VALUE
    ci = comparison.relative_ci
    return _format_signed(100 * comparison.relative, ci and (100 * ci[0], 100 * ci[1]), 1, " %")


def _format_signed(value: float, ci: Bounds | None, decimals: int, unit: str = "") -> str:
    """Return a value and its interval with their signs: ``−9.0 % [−11.4, −6.6]``."""
    text, *ends = (format_difference(number, None, decimals=decimals) for number in (value, *(ci or ())))
    return f"{text}{unit}" + (f" [{', '.join(ends)}]" if ends else "")
