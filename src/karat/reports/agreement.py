"""How far candidates agree with a reference: their similarities as cells, and what one gains over another as words."""

from collections.abc import Iterator, Sequence
from math import isnan

from karat.agreement import Agreed, Agreement
from karat.report import Report
from karat.reports.console import console, print_rows
from karat.reports.cutoffs import display_names
from karat.reports.per_cutoff import print_cutoffs
from karat.reports.table import Table
from karat.statistics.differences import Comparison
from karat.wording import NOTHING, bounds_shown, count, decimals_of, figure_shown, p_shown

__all__ = [
    "agreement_lines",
    "agreement_table",
    "improvement_table",
    "improvements",
    "print_agreement",
    "print_similarities",
]

_TITLES = {"spearman": "Spearman ρ", "kendall": "Kendall τ", "pearson": "Pearson r", "mae": "MAE", "rmse": "RMSE"}
_SAYS_MOST = "ndcg"
_INDENT = "  "
_DECIMALS = 4


def print_agreement(report: Report, headline: Sequence[str] = ()) -> None:
    """By cut-off, then by similarity, then what each system gains over the baseline under the headline's measures."""
    print_cutoffs(report)
    screen = console()
    if report.sections_of(Agreement):
        screen.print()
        print_similarities(report)
    told = list(improvements(report, headline))
    if told:
        screen.print()
        print_rows(*improvement_table(report, headline), text=(0, 1), wraps=(0,))
        screen.print()
    for line in told:
        screen.print(line)


def print_similarities(report: Report) -> None:
    """How far similarities agree, and over which pairs."""
    print_rows(*agreement_table(report), wraps=(0,))
    for line in agreement_lines(report):
        console().print(line)


def agreement_table(report: Report) -> Table:
    """For each figure a row a system, with the difference to the baseline where there is one."""
    beside = any(
        one.difference is not None for of in report.sections_of(Agreement).values() for one in of.figures.values()
    )
    header = ["similarities", "agreement", *(["difference"] if beside else [])]
    rows = []
    for name in next(iter(report.sections_of(Agreement).values())).figures:
        rows.append([_TITLES[name], *[""] * (len(header) - 1)])
        for system, agreement in report.sections_of(Agreement).items():
            one = agreement.figures[name]
            rows.append([f"{_INDENT}{system}", _shown(one), *([_difference(one)] if beside else [])])
    return header, rows


def _shown(one: Agreed) -> str:
    if isnan(one.value):
        return NOTHING
    text = figure_shown(one.value, decimals_of(one.ci))
    return f"{text} {bounds_shown(one.ci)}" if one.ci else text


def _difference(one: Agreed) -> str:
    if one.difference is None:
        return ""
    ends = "" if one.difference_ci is None else ", ".join(_signed(end, _DECIMALS) for end in one.difference_ci)
    return f"{_signed(one.difference, _DECIMALS)} [{ends}]" if ends else _signed(one.difference, _DECIMALS)


def agreement_lines(report: Report) -> Iterator[str]:
    """Over which pairs, system by system where these differ."""
    told: dict[str, list[str]] = {}
    for system, one in report.sections_of(Agreement).items():
        left_out = f", {one.left_out:,} more unknown to one side" if one.left_out else ""
        line = f"over {count(one.pairs, 'pair', 'pairs')} {one.about} ({count(one.queries, 'query', 'queries')})"
        told.setdefault(line + left_out, []).append(system)
    for line, systems in told.items():
        yield line if len(told) == 1 else f"{', '.join(systems)}: {line}"


def improvement_table(report: Report, headline: Sequence[str] = ()) -> Table:
    """What each system gains over the baseline, as a share of what that has."""
    names = display_names(report)
    rows = [
        [
            one.system if one.system != before else "",
            names[one.measure],
            _share(one),
            f"{figure_shown(one.baseline_mean, 3)} → {figure_shown(one.mean, 3)}",
            p_shown(one.p_holm, at_floor=one.at_floor),
        ]
        for one, before in _relative(report, headline)
    ]
    return [f"over {report.baseline}", "measure", "change", "means", "p"], rows


def improvements(report: Report, headline: Sequence[str] = ()) -> Iterator[str]:
    """``tuned over base: NDCG@10 +51.2 % [+48.0, +54.3]``, a sentence a system, of the measure that says most."""
    names = display_names(report)
    chosen: dict[str, Comparison] = {}
    for one, _ in _relative(report, headline):
        if one.system not in chosen or one.measure.startswith(_SAYS_MOST):
            chosen[one.system] = one
    for one in chosen.values():
        verdict = "shown" if one.is_shown(report.level) else "not shown: chance alone may do that"
        yield f"{one.system} over {one.baseline}: {names[one.measure]} {_share(one)}, {verdict}"


def _relative(report: Report, headline: Sequence[str]) -> Iterator[tuple[Comparison, str | None]]:
    """The comparisons that have a share, each with the system of the one before."""
    before = None
    for one in report.comparisons:
        if one.relative is not None and (not headline or one.measure in headline):
            yield one, before
            before = one.system


def _share(one: Comparison) -> str:
    """``−9.0 % [−11.4, −6.6]``"""
    if one.relative is None:
        return NOTHING
    bounds = "" if one.relative_ci is None else f" [{', '.join(_signed(100 * end, 1) for end in one.relative_ci)}]"
    return f"{_signed(100 * one.relative, 1)} %{bounds}"


def _signed(value: float, decimals: int) -> str:
    rounded = round(value, decimals)
    return f"{rounded:+.{decimals}f}".replace("-", "−") if rounded else f"{0:.{decimals}f}"
