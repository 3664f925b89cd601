"""Comparisons, changed queries and slices as cells, for the console and for Markdown."""

from collections.abc import Iterator, Sequence

from karat.breakdown import Gap, Slice
from karat.changes import Change, Move
from karat.report import Report
from karat.reports.table import Table
from karat.statistics.comparison import Comparison
from karat.statistics.corrections import is_shown
from karat.statistics.power import POWER
from karat.wording import count, decimals_of, difference_shown, p_shown, percent

__all__ = ["changes_table", "comparison_table", "power_lines", "slices_table", "tally", "verdict_of"]

_MOVES_SHOWN = 3


def comparison_table(report: Report) -> Table:
    """Each measure of the baseline, and under it every other system with its difference."""
    rows = []
    for label in report.labels:
        compared = [one for one in report.comparisons if one.measure == label]
        for number, one in enumerate(compared):
            if number == 0:
                rows.append([label, one.baseline, _mean(one.baseline_mean, one), "", "", ""])
            rows.append(
                [
                    "",
                    one.system,
                    _mean(one.mean, one),
                    difference_shown(one.difference, one.ci),
                    p_shown(one.p_holm),
                    f"{one.better}/{one.equal}/{one.worse}",
                ]
            )
    header = ["measure", "system", "mean", f"difference [{percent(report.level)}]", "p", "+/=/−"]
    return header, rows


def _mean(mean: float, one: Comparison) -> str:
    return f"{mean:.{decimals_of(one.ci)}f}" if one.n else "–"


def tally(one: Comparison) -> str:
    """``dense, ndcg@10: 26 better · 9 worse · 4 equal``"""
    return f"{one.system}, {one.measure}: {one.better:,} better · {one.worse:,} worse · {one.equal:,} equal"


def power_lines(report: Report) -> Iterator[str]:
    """What the first measure could have shown with so many queries."""
    for one in report.comparisons:
        if one.measure != report.labels[0] or one.detectable is None:
            continue
        needed = one.needed_for(report.detect, report.level)
        yield (
            f"{one.system}: {count(one.n, 'query', 'queries')} can show {one.detectable:.2g} in {one.measure} "
            f"({percent(POWER)} power); {report.detect:g} takes {f'{needed:,}' if needed else 'too many'}"
        )


def changes_table(changes: Sequence[Change], baseline: str) -> Table:
    """Queries with their scores before and after, and where their relevant items went."""
    rows = [
        [
            change.query,
            f"{change.before:.3f} → {change.after:.3f}",
            difference_shown(round(change.difference, 3), None)[:-1],
            _moves_shown(change.moves),
        ]
        for change in changes
    ]
    system = changes[0].system if changes else ""
    return ["query", f"{baseline} → {system}", "change", "relevant items (grade): rank before → after"], rows


def _moves_shown(moves: Sequence[Move]) -> str:
    moved = sorted((move for move in moves if move.before != move.after), key=_prominence)
    shown = [f"{m.item} ({m.grade:g}): {_rank(m.before)} → {_rank(m.after)}" for m in moved[:_MOVES_SHOWN]]
    more = len(moved) - _MOVES_SHOWN
    return ", ".join(shown) + (f", {more} more" if more > 0 else "")


def _prominence(move: Move) -> tuple[float, float]:
    """Those that stood, or stand, highest come first."""
    return min(rank for rank in (move.before, move.after) if rank is not None), -move.grade


def _rank(rank: int | None) -> str:
    return "–" if rank is None else str(rank)


def slices_table(report: Report, measure: str) -> Table:
    """Every slice under one measure, those that lose most first."""
    beside = [(part, one) for part in report.slices for one in part.beside if one.measure == measure]
    beside.sort(key=lambda pair: (pair[1].gain, pair[0].name, pair[1].system))
    several = len({one.system for _, one in beside}) > 1
    rows = [_slice_row(part, one, report.level, several=several) for part, one in beside]
    against = f"to {report.baseline}" if report.baseline else "to the rest"
    system = ["system"] if several else []
    return ["slice", *system, "n", "mean", f"{against} [{percent(report.level)}]", "p", ""], rows


def _slice_row(part: Slice, one: Comparison | Gap, level: float, *, several: bool) -> list[str]:
    estimate = part.estimates[one.system][one.measure]
    mean = f"{estimate.mean:.{decimals_of(estimate.ci)}f}" if estimate.n else "–"
    difference = difference_shown(one.difference, one.ci)
    system = [one.system] if several else []
    return [part.label, *system, f"{estimate.n:,}", mean, difference, p_shown(one.p_holm), verdict_of(one, level)]


def verdict_of(one: Comparison | Gap, level: float) -> str:
    """``better``, ``worse``, or that chance alone would do."""
    if not is_shown(one.p_holm, level) or one.gain == 0:
        return "noise"
    return "better" if one.gain > 0 else "worse"
