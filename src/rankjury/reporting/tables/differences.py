"""Tables of differences: systems compared with the baseline, slices, and the queries that changed.

Each table is built once, from a ``Report``; console, Markdown, HTML, notebooks and pull requests render the same cells.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan, nan

from rankjury.core.text import plural
from rankjury.evaluation.examples import Examples
from rankjury.evaluation.paired import Change, Move
from rankjury.evaluation.report import Report
from rankjury.evaluation.slices.stats import Gap, Slice
from rankjury.evaluation.summary import contradicts_interval, main_system
from rankjury.measures.measure import common_names_note
from rankjury.reporting.tables import CellStyle, TableCell, TableColumn, TextTable, cut_name, idle_systems, make_table
from rankjury.stats.comparison import FEW_DIFFERENCES, Comparison
from rankjury.stats.estimates import Estimate
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
LOSSES_SHOWN = 5
_MOVES_SHOWN = 3
_MOST_SYSTEMS_ACROSS = 4
_LONGEST_NAME = 24
_MARK = TableColumn("", "text")
"""The column that says in a word what a difference means needs no name."""
_SIGNS = {"▲ better": "▲", "▼ worse": "▼", "= same": "=", "not shown": ""}
_MARKS = {"better": "▲ better", "worse": "▼ worse", "noise": "not shown", "": ""}


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
    """Return ``better``, ``worse``, or ``noise`` where neither is shown; empty where no test could be made."""
    if comparison.p_holm is None:
        return ""
    if not is_significant(comparison.p_holm, level) or comparison.gain == 0:
        return "noise"
    return "better" if comparison.gain > 0 else "worse"


def mark_cell(comparison: Comparison | Gap, level: float) -> TableCell:
    """Return a difference in a word: ``▲ better``, ``▼ worse``, ``not shown``; ``= same`` where no query differs."""
    verdict = verdict_style(comparison, level)
    return TableCell("= same" if verdict and _is_same(comparison) else _MARKS[verdict], verdict)


def _is_same(comparison: Comparison | Gap | None) -> bool:
    """Tell whether no query differs."""
    return isinstance(comparison, Comparison) and not comparison.whole and comparison.equal == comparison.n > 0


def correction_note(differences: Iterable[Comparison | Gap], level: float) -> str:
    """Return why an interval may exclude 0 where p is above its limit, or the reverse; empty where none does so."""
    found = list(differences)
    if not any(contradicts_interval(difference, level) for difference in found):
        return ""
    tests, limit = sum(difference.tested for difference in found), 1 - level
    if tests < 2:
        return f"interval and p are found in two ways, which differ here: p is close to {limit:.2g}"
    return (
        f"intervals are before correction for {tests:,} comparisons, p is after it: they may exclude 0 where p is "
        f"above {limit:.2g}"
    )


def p_legend(report: Report) -> str:
    """Return how p-values of comparisons were computed; empty where there are none."""
    if not report.comparisons:
        return ""
    whole = any(comparison.whole for comparison in report.comparisons)
    of_whole = " (measures of the run as a whole: jackknife t test)" if whole else ""
    return f"p: sign-flip test{of_whole}, Holm's correction"


def compared_labels(report: Report) -> list[str]:
    """Return the measures that are compared: those that only describe a run, such as judged@10, if all do."""
    compared = {comparison.measure for comparison in report.comparisons}
    labels = [label for label in report.labels if label in compared]
    return [label for label in labels if not report.describes(label)] or labels


def comparison_table(report: Report) -> TextTable:
    """Return the baseline under each measure, and after it every other system with its difference."""
    rows: list[list[str | TableCell]] = []
    for label in compared_labels(report):
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
    notes += filter(None, [correction_note(report.comparisons, report.level), common_names_note(report.common_names)])
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
    """Return how many queries would show the difference of interest in the first measure, in one line at most.

    Nothing is said where hardly any query differs: a few equal scores would make a small sample look sufficient.
    """
    label, detect = report.labels[0], f"{report.detect:g}"
    needed = [
        (comparison.system, comparison.needed_for(report.detect, report.level))
        for comparison in report.comparisons
        if comparison.measure == label and comparison.detectable is not None
        if comparison.whole or comparison.better + comparison.worse >= FEW_DIFFERENCES
    ]
    counts = [
        f"{'too many' if number is None else f'{number:,}'} {report.unit[1]}"
        + (f" ({system})" if len(needed) > 1 else "")
        for system, number in needed
    ]
    if counts:
        yield f"To show a difference of {detect} in {label} takes {', '.join(counts)} ({format_percent(POWER)} power)."


def largest_losses(
    report: Report, label: str, system: str | None = None, most: int = LOSSES_SHOWN
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


def slices_title(report: Report, label: str) -> str:
    """Return the heading of the table of slices, which says how it is sorted."""
    compared = list(_compared_slices(report, label))
    losses = any(comparison.gain < 0 for comparison in compared)
    order = "weakest first" if not compared else "largest loss first" if losses else "smallest gain first"
    systems = [name for part in report.slices for name, measures in part.estimates.items() if label in measures]
    several = order == "weakest first" and len(set(systems)) > 1
    return f"{report.both_names(label)} by slice, {order}{f' for {main_system(report, label)}' if several else ''}"


def _compared_slices(report: Report, label: str) -> Iterator[Comparison]:
    """Yield the comparisons with the baseline within the slices under a measure."""
    for part in report.slices:
        yield from (found for found in part.beside if isinstance(found, Comparison) and found.measure == label)


def slices_table(report: Report, label: str, *, changed: bool = False, losing: bool = False) -> TextTable:
    """Return one measure in every slice: with a baseline the largest loss first, else the weakest slice first.

    Args:
        report: Its slices are compared with the baseline in the slice, or with the rest of the queries.
        label: The measure.
        changed: Without slices in which no query differs from the baseline, and without random systems.
        losing: Only slices that do worse than what they are compared with, without random systems.
    """
    idle = idle_systems(report) if changed or losing else frozenset()
    if any(True for _ in _compared_slices(report, label)):
        found = _slice_differences(report, label, idle, changed=changed, losing=losing)
    else:
        found = _slice_means(report, label, idle, losing=losing)
    items = any(part.of == "items" for part in report.slices)
    return replace(found, notes=(*found.notes, ITEM_SLICES)) if items else found


def _slice_differences(report: Report, label: str, idle: Collection[str], *, changed: bool, losing: bool) -> TextTable:
    """Return one row per slice and system, with the baseline's mean and the system's, the largest loss first."""
    found = [
        (part, difference)
        for part in report.slices
        for difference in part.beside
        if isinstance(difference, Comparison) and difference.measure == label and difference.system not in idle
    ]
    family = [difference for _, difference in found]
    shown = [
        (part, difference)
        for part, difference in found
        if not ((changed or losing) and _is_same(difference)) and (not losing or difference.gain < 0)
    ]
    shown.sort(key=lambda row: (isnan(row[1].gain), 0.0 if isnan(row[1].gain) else row[1].gain, row[0].name))
    several = len({difference.system for difference in family}) > 1
    rows: list[list[str | TableCell]] = []
    for part, difference in shown:
        system, estimates = difference.system, part.estimates
        names: list[str | TableCell] = [part.label, *([system] if several else ()), f"{difference.n:,}"]
        if not difference.n:
            means = [_plain_mean(estimates.get(name, {}).get(label)) for name in (difference.baseline, system)]
            rows.append([*names, *means, NO_VALUE, "", NO_VALUE])
            continue
        decimals = interval_decimals(estimates[system][label].ci)
        means = [format_value(mean, decimals) for mean in (difference.baseline_mean, difference.mean)]
        change = format_difference(difference.difference, difference.ci)
        p = format_p(difference.p_holm, at_floor=difference.at_floor)
        rows.append([*names, *means, change, mark_cell(difference, report.level), p])
    level = f"difference [{format_percent(report.level)}]"
    systems = [report.baseline or "", "mean" if several or not family else family[0].system]
    header: list[str | TableColumn] = ["slice", *(["system"] if several else ()), "n", *systems, level, _MARK, "p"]
    text = (0, 1) if several else (0,)
    table = make_table(header, rows, text=text, wraps=text, notes=_slice_notes(family, report.level))
    return _with_narrower(table)


def _slice_means(report: Report, label: str, idle: Collection[str], *, losing: bool) -> TextTable:
    """Return every system's mean in every slice, the weakest first; of one system, its difference to the rest too."""
    systems = [
        name
        for name in report.systems
        if name not in idle and any(label in part.estimates.get(name, {}) for part in report.slices)
    ]
    main = main_system(report, label)
    if main not in systems:
        main = systems[0] if systems else None
    if main is None:
        return make_table(["slice", "n", "mean"], [])
    sign = -1.0 if report.lower_is_better(label) else 1.0
    gaps = {
        (part.name, gap.system): gap
        for part in report.slices
        for gap in part.beside
        if isinstance(gap, Gap) and gap.measure == label and gap.system in systems
    }

    def rank(part: Slice) -> tuple[object, ...]:
        estimate = part.estimates.get(main, {}).get(label)
        mean = nan if estimate is None else sign * estimate.mean
        return isnan(mean), 0.0 if isnan(mean) else mean, part.name

    def is_shown(part: Slice) -> bool:
        gap = gaps.get((part.name, main))
        known = any(label in part.estimates.get(name, {}) for name in systems)
        return known and (not losing or not gaps or (gap is not None and gap.gain < 0))

    parts = sorted(filter(is_shown, report.slices), key=rank)
    level = f"[{format_percent(report.level)}]"
    notes = _slice_notes(list(gaps.values()), report.level)
    estimates = {(part.name, name): part.estimates.get(name, {}).get(label) for part in parts for name in systems}
    rows: list[list[str | TableCell]] = []
    if len(systems) == 1 and gaps:
        for part in parts:
            estimate, gap = estimates[part.name, main], gaps.get((part.name, main))
            mean, n = _plain_mean(estimate), f"{estimate.n:,}" if estimate is not None else NO_VALUE
            change: list[str | TableCell] = [NO_VALUE, "", NO_VALUE]
            if gap is not None:
                change = [format_difference(gap.difference, gap.ci), mark_cell(gap, report.level), format_p(gap.p_holm)]
            rows.append([part.label, n, mean, *change])
        table = make_table(["slice", "n", "mean", f"to the rest {level}", _MARK, "p"], rows, wraps=(0,), notes=notes)
        return _with_narrower(table)
    if len(systems) == 1:
        title = f"mean {level}" if report.resampling else "mean"
        for part in parts:
            estimate = estimates[part.name, main]
            rows.append(
                [part.label, *(("", "") if estimate is None else (f"{estimate.n:,}", format_estimate(estimate)))]
            )
        return make_table(["slice", "n", title], rows, wraps=(0,))
    for part in parts:
        counts = {estimate.n for name in systems if (estimate := estimates[part.name, name]) is not None}
        row: list[str | TableCell] = [part.label, " | ".join(f"{n:,}" for n in sorted(counts, reverse=True))]
        for name in systems:
            gap = gaps.get((part.name, name))
            style = "" if gap is None else verdict_style(gap, report.level)
            mark = _MARKS[style][:1] if style in ("better", "worse") else ""
            text = f"{_plain_mean(estimates[part.name, name])} {mark}".rstrip()
            row.append(TableCell(text, style if mark else ""))
        rows.append(row)
    notes = [f"▲ better, ▼ worse than the other {report.unit[1]}, {notes[0]}", *notes[1:]] if gaps else []
    table = make_table(["slice", "n", *systems], rows, wraps=(0,), notes=notes, fixed=2)
    return replace(table, narrower=(table.without("n"),)) if len(systems) <= _MOST_SYSTEMS_ACROSS else table


def _with_narrower(table: TextTable) -> TextTable:
    """Return a table of slices with narrower layouts: without p, without n, and with signs instead of words."""
    without = table.without("p", "n")
    place = without.header.index("")
    short = tuple(
        (*row[:place], TableCell(_SIGNS.get(row[place].text, row[place].text), row[place].style), *row[place + 1 :])
        for row in without.rows
    )
    signs = replace(without, rows=short, notes=("▲ better, ▼ worse, = same, else not shown", *without.notes))
    return replace(table, narrower=(table.without("p"), without, signs))


def _plain_mean(estimate: Estimate | None) -> str:
    return NO_VALUE if estimate is None else format_estimate(replace(estimate, ci=None), interval_decimals(estimate.ci))


def _slice_notes(family: Sequence[Comparison | Gap], level: float) -> list[str]:
    """Return the notes under slices: how p-values were corrected, and what is not shown."""
    if not family:
        return []
    tested = sum(difference.tested for difference in family)
    notes = [f"p: Holm's correction for {plural(tested, 'test', 'tests')} · not shown: chance alone may explain it"]
    return [*notes, *filter(None, [correction_note(family, level)])]
