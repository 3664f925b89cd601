"""Tables of differences: systems compared with the baseline, slices, and the queries that changed.

Each table is built once, from a ``Report``; console, Markdown, HTML, notebooks and pull requests render the same cells.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan, nan

from rankjury.core.text import plural
from rankjury.evaluation.examples import Examples
from rankjury.evaluation.paired import Change, Move
from rankjury.evaluation.report import Report
from rankjury.evaluation.slices.stats import Gap, Slice
from rankjury.measures.measure import LEGEND
from rankjury.reporting.tables import CellStyle, TableCell, TableColumn, TextTable, cut_name, idle_systems, make_table
from rankjury.stats.comparison import Comparison
from rankjury.stats.formatting import (
    NO_VALUE,
    format_difference,
    format_estimate,
    format_p,
    format_percent,
    format_value,
    interval_decimals,
)
from rankjury.stats.significance import POWER, is_significant

ITEM_SLICES = (
    "slices of items: measures that depend on positions (ndcg, ap, rr …) rank the items of the slice alone; "
    "the others (recall, precision …) look at the top k of the whole list"
)
"""The note of every report with slices of items."""
_MOVES_SHOWN = 3
_LOSSES_SHOWN = 5
_LONGEST_NAME = 24
_MARK = TableColumn("", "text")
"""The column that says in a word what a difference means needs no name."""
_MARKS = {"better": "▲ better", "worse": "▼ worse", "noise": "≈ noise", "": ""}


def summary_table(report: Report, labels: Sequence[str] | None = None) -> TextTable:
    """Return one row per measure and system: the mean, and beside it the difference to the baseline."""
    shown = report.labels if labels is None else labels
    compared = {
        (comparison.measure, comparison.system): comparison
        for comparison in report.comparisons
        if not isnan(comparison.difference)
    }
    with_differences = any(label in shown for label, _ in compared)
    rows: list[list[str | TableCell]] = []
    for label in shown:
        title = report.both_names(label)
        for name, system in report.systems.items():
            estimate = system.estimates.get(label)
            if estimate is None:
                continue
            mark = " (baseline)" if name == report.baseline else " (by chance)" if system.random else ""
            cells: list[str | TableCell] = [title, name + mark, format_estimate(estimate)]
            if with_differences:
                cells += _difference_cells(compared.get((label, name)), report.level)
            rows.append([*cells, f"{estimate.n:,}"])
            title = ""
    level = format_percent(report.level)
    between: list[str | TableColumn] = [f"difference [{level}]", _MARK, "p", "+/=/−"] if with_differences else []
    header = ["measure", "system", f"mean [{level}]", *between, "n"]
    return make_table(header, rows, text=(0, 1), wraps=(0, 1))


def _difference_cells(comparison: Comparison | None, level: float) -> list[str | TableCell]:
    if comparison is None:
        return ["", "", "", ""]
    return [
        TableCell(format_difference(comparison.difference, comparison.ci)),
        mark_cell(comparison, level),
        format_p(comparison.p_holm, at_floor=comparison.at_floor),
        "" if comparison.whole else f"{comparison.better}/{comparison.equal}/{comparison.worse}",
    ]


def measure_table(report: Report, label: str) -> TextTable:
    """Return the means of one measure, systems down."""
    return single_measure_table(summary_table(report, [label]), report.both_names(label))


def single_measure_table(found: TextTable, name: str) -> TextTable:
    """Return the rows of a single measure with its name above the systems, and with layouts for narrow terminals."""
    found = found.without("measure")
    columns = (TableColumn(name, "text", wraps=True), *found.columns[1:])
    return replace(found, columns=columns).dropping("n", "+/=/−", "p", "")


def verdict_style(comparison: Comparison | Gap, level: float) -> CellStyle:
    """Return ``better``, ``worse``, or ``noise`` where chance alone would do; empty where no test could be made."""
    if comparison.p_holm is None:
        return ""
    if not is_significant(comparison.p_holm, level) or comparison.gain == 0:
        return "noise"
    return "better" if comparison.gain > 0 else "worse"


def mark_cell(comparison: Comparison | Gap, level: float) -> TableCell:
    """Return a difference in a word: ``▲ better``, ``▼ worse``, ``≈ noise``; ``= same`` where no query differs."""
    verdict = verdict_style(comparison, level)
    return TableCell("= same" if verdict and _is_same(comparison) else _MARKS[verdict], verdict)


def _is_same(comparison: Comparison | Gap | None) -> bool:
    """Tell whether no query differs."""
    return isinstance(comparison, Comparison) and not comparison.whole and comparison.equal == comparison.n > 0


def p_legend(report: Report) -> str:
    """Return how p-values of comparisons were computed; empty where there are none."""
    if not report.comparisons:
        return ""
    whole = any(comparison.whole for comparison in report.comparisons)
    of_whole = " (of one value over all: the jackknife's t test)" if whole else ""
    return f"p: sign-flip test{of_whole}, Holm's correction"


def comparison_table(report: Report) -> TextTable:
    """Return the baseline under each measure, and after it every other system with its difference."""
    rows: list[list[str | TableCell]] = []
    for label in report.labels:
        compared = [row for row in report.comparisons if row.measure == label]
        for number, comparison in enumerate(compared):
            if number == 0:
                mean = format_mean(comparison.baseline_mean, comparison)
                rows.append([report.both_names(label), comparison.baseline, mean, "", "", "", ""])
            difference, mark, p, counts = _difference_cells(comparison, report.level)
            style = mark.style if isinstance(mark, TableCell) and mark.style != "noise" else ""
            change = TableCell(str(difference), style)
            mean, n = format_mean(comparison.mean, comparison), f"{comparison.n:,}"
            rows.append(["", comparison.system, mean, change, p, n, counts])
    header = ["measure", "system", "mean", f"difference [{format_percent(report.level)}]", "p", "n", "+/=/−"]
    notes = [f"{p_legend(report)} · +/=/−: {report.unit[1]} better, equal, worse"]
    notes += [LEGEND] if report.common_names else []
    stacked: list[Sequence[str | TableCell]] = []
    for measure, system, *values in rows:
        if measure:
            stacked.append([measure, *("" for _ in values)])
        stacked.append([f"  {system}", *values])
    narrow = make_table(["measure, system", *header[2:]], stacked, wraps=(0,), notes=notes)
    narrower = (narrow, narrow.without("n", "+/=/−"))
    return make_table(header, rows, text=(0, 1), wraps=(0, 1), notes=notes, narrower=narrower)


def before_after_table(comparisons: Sequence[Comparison], level: float, sides: Sequence[str]) -> TextTable:
    """Return systems compared with themselves in an earlier run: one row per measure and system.

    Args:
        comparisons: The later run compared with the earlier.
        level: Of the intervals.
        sides: What the earlier and the later run are called.
    """
    rows = []
    for comparison in comparisons:
        means = [format_mean(comparison.baseline_mean, comparison), format_mean(comparison.mean, comparison)]
        rows.append(
            [comparison.measure, comparison.system, *means, *_difference_cells(comparison, level), f"{comparison.n:,}"]
        )
    header = ["measure", "system", *sides, f"difference [{format_percent(level)}]", "", "p", "+/=/−", "n"]
    return make_table(header, rows, text=(0, 1, header.index("")), wraps=(0, 1))


def format_mean(mean: float, comparison: Comparison) -> str:
    """Return a mean of a comparison with as many decimals as its interval justifies."""
    return format_value(mean, interval_decimals(comparison.ci)) if comparison.n else NO_VALUE


def format_tally(comparison: Comparison) -> str:
    """``dense, ndcg@10: 26 better · 9 worse · 4 equal``"""
    tally = f"{comparison.better:,} better · {comparison.worse:,} worse · {comparison.equal:,} equal"
    return f"{comparison.system}, {comparison.measure}: {tally}"


def power_lines(report: Report) -> Iterator[str]:
    """Return what the first measure could have shown with so many queries, one line per system."""
    for comparison in report.comparisons:
        if comparison.measure != report.labels[0] or comparison.detectable is None:
            continue
        needed = comparison.needed_for(report.detect, report.level)
        yield (
            f"{comparison.system}: {plural(comparison.n, *report.unit)} can show {comparison.detectable:.2g} in "
            f"{comparison.measure} ({format_percent(POWER)} power); {report.detect:g} takes "
            f"{f'{needed:,}' if needed else 'too many'}"
        )


def largest_losses(
    report: Report, label: str, system: str | None = None, most: int = _LOSSES_SHOWN
) -> tuple[Change, ...]:
    """Return the queries that lost most under a measure, of one system or of all but random ones, worst first."""
    idle = idle_systems(report) if system is None else ()
    found = [
        change
        for change in report.changes
        if change.measure == label
        and change.gain < 0
        and (change.system not in idle if system is None else change.system == system)
    ]
    if system is None:
        found.sort(key=lambda change: (change.gain, change.query, change.system))
    return tuple(found[:most])


def changes_table(report: Report, changes: Sequence[Change], *, texts: bool = False) -> TextTable:
    """Return queries with their scores before and after, and the ranks of their relevant items.

    Args:
        report: Knows the names of queries and items.
        changes: The rows.
        texts: Call queries by their texts where these are known, instead of by id.
    """
    queries, items = _names_in_examples(report)
    queries, items = queries | dict(report.texts), items | dict(report.names)
    several = texts and len({change.system for change in changes}) > 1
    rows = [
        [
            queries.get(change.query, change.query) if texts else report.query_name(change.query),
            *([change.system] if several else ()),
            f"{change.before:.3f} → {change.after:.3f}",
            format_difference(change.difference, None, decimals=3),
            _format_moves(change.moves, items),
        ]
        for change in changes
    ]
    moves = TableColumn("relevant items (grade): rank before → after", "text", wraps=True)
    names = [TableColumn(report.unit[0], "text", wraps=True), *([TableColumn("system", "text")] if several else ())]
    return make_table([*names, TableColumn("before → after"), TableColumn("change"), moves], rows)


def _names_in_examples(report: Report) -> tuple[dict[str, str], dict[str, str]]:
    """Return the names of queries and of items that examples have."""
    queries: dict[str, str] = {}
    items: dict[str, str] = {}
    for found in report.sections_of(Examples).values():
        for example in found:
            queries |= {example.query: example.text} if example.text else {}
            items |= {item.id: item.name for item in (*example.found, *example.missed) if item.name}
    return queries, items


def _format_moves(moves: Sequence[Move], names: Mapping[str, str]) -> str:
    """Return the moves of relevant items, those with the highest ranks first."""
    moved = sorted(
        (move for move in moves if move.before != move.after),
        key=lambda move: (min(rank for rank in (move.before, move.after) if rank is not None), -move.grade),
    )
    shown = []
    for move in moved[:_MOVES_SHOWN]:
        ranks = " → ".join(NO_VALUE if rank is None else str(rank) for rank in (move.before, move.after))
        name = names.get(move.item, move.item)
        shown.append(f"{name if name == move.item else cut_name(name, _LONGEST_NAME)} ({move.grade:g}): {ranks}")
    more = len(moved) - _MOVES_SHOWN
    return ", ".join([*shown, *([f"{more} more"] if more > 0 else ())])


def slices_table(report: Report, label: str, *, changed: bool = False, losing: bool = False) -> TextTable:
    """Return one measure in every slice, those that lose most first; what was compared with nothing comes last.

    Args:
        report: Its slices are compared with the baseline in the slice, or with the rest of the queries.
        label: The measure.
        changed: Without slices in which no query differs from the baseline, and without random systems.
        losing: Only slices that do worse than what they are compared with, without random systems.
    """
    found = {
        (part.name, difference.system): difference
        for part in report.slices
        for difference in part.beside
        if difference.measure == label
    }
    compared = {system for _, system in found}
    omitted: Collection[str | None] = {report.baseline, *(idle_systems(report) if changed or losing else ())}
    systems = [name for name in report.systems if name not in omitted and (name in compared or not found)]
    lower = report.lower_is_better(label)

    def rank(part: Slice, system: str) -> tuple[object, ...]:
        """Losses that are shown come first, whatever their size; then by the difference, or by the mean."""
        difference = found.get((part.name, system))
        gain = difference.gain if difference is not None else nan
        if not found:
            mean = part.estimates[system][label].mean
            gain = -mean if lower else mean
        lost = difference is not None and verdict_style(difference, report.level) == "worse"
        return not lost, isnan(gain), 0.0 if isnan(gain) else gain, part.name, system

    def is_shown_here(part: Slice, system: str) -> bool:
        difference = found.get((part.name, system))
        if label not in part.estimates.get(system, {}) or ((changed or losing) and _is_same(difference)):
            return False
        return not losing or not found or (difference is not None and difference.gain < 0)

    pairs = [(part, system) for part in report.slices for system in systems if is_shown_here(part, system)]
    several = len(systems) > 1
    rows: list[list[str | TableCell]] = []
    for part, system in sorted(pairs, key=lambda pair: rank(*pair)):
        estimate, difference = part.estimates[system][label], found.get((part.name, system))
        n = difference.n if isinstance(difference, Comparison) else estimate.n
        names: list[str | TableCell] = [part.label, *([system] if several else ()), f"{n:,}"]
        if not found:
            rows.append([*names, format_estimate(estimate)])
        elif difference is None or not n:
            rows.append([*names, format_estimate(replace(estimate, ci=None)), NO_VALUE, "", NO_VALUE])
        else:
            mean = format_value(
                difference.mean if isinstance(difference, Comparison) else estimate.mean, interval_decimals(estimate.ci)
            )
            p = format_p(difference.p_holm, at_floor=difference.at_floor)
            rows.append(
                [
                    *names,
                    mean,
                    format_difference(difference.difference, difference.ci),
                    mark_cell(difference, report.level),
                    p,
                ]
            )
    level = f"[{format_percent(report.level)}]"
    against = f"difference {level}" if report.baseline else f"to the rest {level}"
    values: list[str | TableColumn] = [f"mean {level}" if report.resampling else "mean"]
    notes = []
    if found:
        values = ["mean", against, _MARK, "p"]
        tested = sum(
            difference.tested for part in report.slices for difference in part.beside if difference.measure == label
        )
        notes.append(f"p: Holm's correction for {plural(tested, 'test', 'tests')} · noise: chance alone would do")
    if any(part.of == "items" for part in report.slices):
        notes.append(ITEM_SLICES)
    text = (0, 1) if several else (0,)
    header: list[str | TableColumn] = ["slice", *(["system"] if several else ()), "n", *values]
    return make_table(header, rows, text=text, wraps=text, notes=notes)
