"""Comparisons, changed queries and slices as cells, for the console and for Markdown."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isnan, nan

from karat.breakdown import Gap, Slice
from karat.changes import Change, Move
from karat.common_sections import Interactions
from karat.report import Report
from karat.reports.table import Table
from karat.statistics.corrections import is_shown
from karat.statistics.differences import Comparison
from karat.statistics.power import POWER
from karat.wording import count, decimals_of, difference_shown, estimate_shown, figure_shown, p_shown, percent

__all__ = [
    "changes_table",
    "comparison_table",
    "losses_of",
    "power_lines",
    "slices_table",
    "stacked_comparison_table",
    "tally",
    "verdict_of",
]

_MOVES_SHOWN = 3
_LOSSES_SHOWN = 5


def comparison_table(report: Report) -> Table:
    """Each measure of the baseline, and under it every other system with its difference."""
    rows = []
    for label in report.labels:
        compared = [one for one in report.comparisons if one.measure == label]
        for number, one in enumerate(compared):
            if number == 0:
                rows.append([report.both_names(label), one.baseline, _mean(one.baseline_mean, one), "", "", "", ""])
            rows.append(
                [
                    "",
                    one.system,
                    _mean(one.mean, one),
                    difference_shown(one.difference, one.ci),
                    p_shown(one.p_holm, at_floor=one.at_floor),
                    f"{one.n:,}",
                    "" if report.is_whole(label) else f"{one.better}/{one.equal}/{one.worse}",
                ]
            )
    header = ["measure", "system", "mean", f"difference [{percent(report.level)}]", "p", "n", "+/=/−"]
    return header, rows


def stacked_comparison_table(report: Report, *, counts: bool = True) -> Table:
    """The same for narrow screens: systems under their measure, in one column."""
    header, rows = comparison_table(report)
    stacked = []
    for measure, system, *figures in rows:
        if measure:
            stacked.append([measure, *("" for _ in figures)])
        stacked.append([f"  {system}", *figures])
    header = ["measure, system", *header[2:]]
    return (header, stacked) if counts else (header[:-2], [row[:-2] for row in stacked])


def _mean(mean: float, one: Comparison) -> str:
    return figure_shown(mean, decimals_of(one.ci)) if one.n else "–"


def p_told(report: Report) -> str:
    """How p-values came to be."""
    whole = any(one.whole for one in report.comparisons)
    return "p: sign-flip test" + (" (of one figure over all: the jackknife's t test)" if whole else "")


def tally(one: Comparison) -> str:
    """``dense, ndcg@10: 26 better · 9 worse · 4 equal``"""
    return f"{one.system}, {one.measure}: {one.better:,} better · {one.worse:,} worse · {one.equal:,} equal"


def power_lines(report: Report) -> Iterator[str]:
    """What the first measure could have shown with so many queries."""
    who = ("user", "users") if report.section(Interactions) else ("query", "queries")
    for one in report.comparisons:
        if one.measure != report.labels[0] or one.detectable is None:
            continue
        needed = one.needed_for(report.detect, report.level)
        yield (
            f"{one.system}: {count(one.n, *who)} can show {one.detectable:.2g} in {one.measure} "
            f"({percent(POWER)} power); {report.detect:g} takes {f'{needed:,}' if needed else 'too many'}"
        )


def losses_of(report: Report, system: str) -> list[Change]:
    """The largest losses of a system under the first measure, as many as are shown."""
    measure = report.labels[0]
    losses = [one for one in report.changes if (one.system, one.measure) == (system, measure) and one.gain < 0]
    return losses[:_LOSSES_SHOWN]


def changes_table(changes: Sequence[Change], report: Report) -> Table:
    """Queries with their scores before and after, and where their relevant items went."""
    rows = [
        [
            report.query_name(change.query),
            f"{change.before:.3f} → {change.after:.3f}",
            difference_shown(change.difference, None, decimals=3),
            _moves_shown(change.moves, report),
        ]
        for change in changes
    ]
    return [
        "user" if report.section(Interactions) else "query",
        "before → after",
        "change",
        "relevant items (grade): rank before → after",
    ], rows


def _moves_shown(moves: Sequence[Move], report: Report) -> str:
    moved = sorted((move for move in moves if move.before != move.after), key=_prominence)
    shown = [
        f"{report.name_of(m.item)} ({m.grade:g}): {_rank(m.before)} → {_rank(m.after)}" for m in moved[:_MOVES_SHOWN]
    ]
    more = len(moved) - _MOVES_SHOWN
    return ", ".join(shown) + (f", {more} more" if more > 0 else "")


def _prominence(move: Move) -> tuple[float, float]:
    """Those that stood, or stand, highest come first."""
    return min(rank for rank in (move.before, move.after) if rank is not None), -move.grade


def _rank(rank: int | None) -> str:
    return "–" if rank is None else str(rank)


def slices_table(report: Report, measure: str, *, changed: bool = False) -> Table:
    """Every slice under one measure, those that lose most first; what was compared with nothing comes last.

    ``changed``: without those in which no query differs from the baseline.
    """
    found = {(part.name, one.system): one for part in report.slices for one in part.beside if one.measure == measure}
    compared = {system for _, system in found}
    systems = [name for name in report.systems if name != report.baseline and (name in compared or not found)]
    pairs = [(part, one) for part in report.slices for one in systems if measure in part.estimates.get(one, {})]
    if changed:
        pairs = [pair for pair in pairs if not _is_same(found.get(_names(*pair)))]
    pairs.sort(key=lambda pair: _rank_of(found.get(_names(*pair)), _names(*pair), report.level))
    several = len(systems) > 1
    rows = []
    for part, system in pairs:
        estimate, one = part.estimates[system][measure], found.get(_names(part, system))
        n = one.n if isinstance(one, Comparison) else estimate.n
        names = [part.label, *([system] if several else ()), f"{n:,}"]
        if not found:
            rows.append([*names, estimate_shown(estimate)])
        elif one is None or not n:
            rows.append([*names, estimate_shown(replace(estimate, ci=None)), "–", "–", ""])
        else:
            mean = one.mean if isinstance(one, Comparison) else estimate.mean
            difference = difference_shown(one.difference, one.ci)
            rows.append(
                [
                    *names,
                    figure_shown(mean, decimals_of(estimate.ci)),
                    difference,
                    p_shown(one.p_holm, at_floor=one.at_floor),
                    verdict_of(one, report.level),
                ]
            )
    level = f"[{percent(report.level)}]"
    against = f"to {'baseline' if report.baseline else 'the rest'} {level}"
    figures = ["mean", against, "p", ""] if found else [f"mean {level}" if report.resampling else "mean"]
    return ["slice", *(["system"] if several else ()), "n", *figures], rows


def _is_same(one: Comparison | Gap | None) -> bool:
    return isinstance(one, Comparison) and one.n > 0 and one.equal == one.n


def _names(part: Slice, system: str) -> tuple[str, str]:
    return part.name, system


def _rank_of(one: Comparison | Gap | None, names: tuple[str, str], level: float) -> tuple[object, ...]:
    """Losses that are shown first, whatever their size; then by the difference."""
    gain = nan if one is None else one.gain
    lost = one is not None and verdict_of(one, level) == "worse"
    return not lost, isnan(gain), 0.0 if isnan(gain) else gain, names


def verdict_of(one: Comparison | Gap, level: float) -> str:
    """``better``, ``worse``, or that chance alone would do; nothing where no test could be made."""
    if one.p_holm is None:
        return ""
    if not is_shown(one.p_holm, level) or one.gain == 0:
        return "noise"
    return "better" if one.gain > 0 else "worse"
