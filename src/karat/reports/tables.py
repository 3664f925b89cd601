"""Builders of the tables that every report has: means, comparisons, slices, changed queries, conventions.

Each table is built once, from a ``Report``; console, Markdown, HTML, notebooks and pull requests render the same cells.
Verdicts are in ``karat.reports.gate``, tables of sections in their renderers (``karat.reports.sections``).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan

from karat.breakdown import Gap, Slice
from karat.changes import Change, Move
from karat.examples import Examples
from karat.measure import LEGEND, usual_name
from karat.report import Report
from karat.reports.cells import Cell, Column, Style, Table, table
from karat.results import Recorded
from karat.sections import Quantiles
from karat.statistics.comparison import Comparison
from karat.statistics.estimates import Estimate
from karat.statistics.tests import POWER, is_shown
from karat.wording import (
    ITEM_SLICES,
    NOTHING,
    bounds_shown,
    count,
    decimals_of,
    difference_shown,
    estimate_shown,
    figure_shown,
    p_shown,
    percent,
)

__all__ = [
    "Convention",
    "about_line",
    "changes_table",
    "comparison_table",
    "conventions_of",
    "first_labels",
    "headline_labels",
    "headline_table",
    "idle_systems",
    "interval_note",
    "largest_losses",
    "mark_cell",
    "measure_table",
    "p_legend",
    "power_lines",
    "quantiles_table",
    "recorded_table",
    "rounded",
    "slices_table",
    "summary_table",
    "tally",
    "verdict_of",
]

_MOST_SYSTEMS_ACROSS = 4
_MOST_HEADLINE = 8
_MOST_ROWS = 24
"""Rows of means that are shown at once."""
_MOVES_SHOWN = 3
_LOSSES_SHOWN = 5
_LONGEST_NAME = 24
_MARK = Column("", "text")
"""The column that says in a word what a difference means needs no name."""
_MARKS = {"better": "▲ better", "worse": "▼ worse", "noise": "≈ noise", "": ""}
_LOOKED_UP = ("end_to_end_", "open_loop_")
"""How the names of recorded values begin that are looked up, not read."""


def about_line(report: Report) -> str:
    """``50 queries · 5 systems · compared with bm25``"""
    parts = [count(report.n_queries, *report.unit), count(len(report.systems), "system", "systems")]
    return " · ".join([*parts, *([f"compared with {report.baseline}"] if report.baseline else ())])


def headline_labels(report: Report) -> list[str]:
    """Return the measures to show first."""
    chosen = [label for label in report.headline if label in report.labels]
    return (chosen or list(report.labels))[:_MOST_HEADLINE]


def first_labels(report: Report) -> tuple[list[str], list[str]]:
    """Return the measures to show at once, as many as a reader takes in, and the others."""
    compared = {one.measure for one in report.comparisons}
    headline = headline_labels(report)
    if not report.headline:
        headline = [label for label in headline if label in compared] or headline
    shown = headline[: max(1, _MOST_ROWS // max(1, len(report.systems)))]
    return shown, [label for label in report.labels if label not in shown]


def idle_systems(report: Report) -> frozenset[str]:
    """Return random orders, whose slices and losses say nothing; none where there are no other systems."""
    found = {name for name, one in report.systems.items() if one.random or report.fact(name, "model") == "random"}
    return frozenset(found) if len(found) < len(report.systems) else frozenset()


def interval_note(report: Report, *, with_count: bool = False) -> str:
    """Return what brackets after means are, and over how many queries; empty where there are none."""
    if not any(one.ci for system in report.systems.values() for one in system.estimates.values()):
        return ""
    many = report.unit[1]
    averaged = _queries_averaged(report)
    over = f"{averaged} {many}" if with_count and averaged else many
    return f"[{percent(report.level)} interval over {over}]"


def headline_table(report: Report) -> Table:
    """Return the means of all measures: measures down and systems across, or the other way round for many systems."""
    systems = report.systems
    by_measure = table(
        ["measure", *systems, "n"],
        [
            [report.both_names(label), *(estimate_shown(one) for one in of), _counts(of)]
            for label in report.labels
            for of in [[system.estimates[label] for system in systems.values()]]
        ],
    )
    by_system = table(
        ["system", *map(report.both_names, report.labels), "n"],
        [
            [name, *(estimate_shown(one) for one in of), _counts(of)]
            for name, system in systems.items()
            for of in [[system.estimates[label] for label in report.labels]]
        ],
    )
    one_by_one = table(
        ["system", "measure", "mean", "n"],
        [
            [name, report.both_names(label), estimate_shown(one), _counts([one])]
            for label in report.labels
            for name, system in systems.items()
            for one in [system.estimates[label]]
        ],
        text=(0, 1),
        wraps=(0, 1, 3),
    )
    by_gold: dict[str, list[str]] = {}
    for name, gold in report.golds.items():
        by_gold.setdefault(gold, []).append(name)
    golds = " · ".join(f"{gold}: {', '.join(names)}" for gold, names in by_gold.items())
    more = (LEGEND if report.usual_names else "", f"against {golds}" if golds else "")

    def noted(found: Table, *, with_count: bool = False) -> Table:
        return replace(found, notes=tuple(filter(None, (interval_note(report, with_count=with_count), *more))))

    layouts = [noted(by_measure), noted(by_system)]
    if len(systems) > _MOST_SYSTEMS_ACROSS:
        layouts.reverse()
    if _queries_averaged(report):
        layouts.append(noted(by_system.without("n"), with_count=True))
    return replace(layouts[0], narrower=(*layouts[1:], noted(one_by_one)))


def _queries_averaged(report: Report) -> str | None:
    """Return how many queries every estimate is over; None where they differ."""
    found = {_counts([one]) for system in report.systems.values() for one in system.estimates.values()}
    return found.pop() if len(found) == 1 else None


def _counts(estimates: Sequence[Estimate]) -> str:
    """Return how many queries were averaged, and how many omitted; once where they agree."""
    shown = [f"{e.n:,}" + (f" ({e.undefined:,} undefined)" if e.undefined else "") for e in estimates]
    return shown[0] if len(set(shown)) == 1 else " | ".join(shown)


def summary_table(report: Report, labels: Sequence[str] | None = None) -> Table:
    """Return one row per measure and system: the mean, and beside it the difference to the baseline."""
    shown = report.labels if labels is None else labels
    compared = {(one.measure, one.system): one for one in report.comparisons if not isnan(one.difference)}
    with_differences = any(label in shown for label, _ in compared)
    rows: list[list[str | Cell]] = []
    for label in shown:
        title = report.both_names(label)
        for name, system in report.systems.items():
            estimate = system.estimates.get(label)
            if estimate is None:
                continue
            mark = " (baseline)" if name == report.baseline else " (by chance)" if system.random else ""
            cells: list[str | Cell] = [title, name + mark, estimate_shown(estimate)]
            if with_differences:
                cells += _difference_cells(compared.get((label, name)), report.level)
            rows.append([*cells, f"{estimate.n:,}"])
            title = ""
    level = percent(report.level)
    between: list[str | Column] = [f"difference [{level}]", _MARK, "p", "+/=/−"] if with_differences else []
    header = ["measure", "system", f"mean [{level}]", *between, "n"]
    return table(header, rows, text=(0, 1), wraps=(0, 1))


def _difference_cells(one: Comparison | None, level: float) -> list[str | Cell]:
    if one is None:
        return ["", "", "", ""]
    return [
        Cell(difference_shown(one.difference, one.ci)),
        mark_cell(one, level),
        p_shown(one.p_holm, at_floor=one.at_floor),
        "" if one.whole else f"{one.better}/{one.equal}/{one.worse}",
    ]


def measure_table(report: Report, label: str) -> Table:
    """Return the means of one measure, systems down; narrow terminals omit what is asked for least."""
    found = summary_table(report, [label]).without("measure")
    columns = (Column(report.both_names(label), "text", wraps=True), *found.columns[1:])
    return replace(found, columns=columns).dropping("n", "+/=/−", "p", "")


def recorded_table(report: Report, *, everything: bool = True) -> Table:
    """Return recorded values, such as latencies: one row per value, systems across.

    Args:
        report: The report.
        everything: With values that are looked up rather than read, such as percentiles of an open loop.
    """
    held = {name: one.recorded for name, one in report.systems.items() if one.recorded}
    every = list(dict.fromkeys(name for of in held.values() for name in of))
    names = every if everything else [name for name in every if not name.startswith(_LOOKED_UP)] or every
    rows = [[name, *(_recorded_shown(of.get(name)) for of in held.values())] for name in names]
    more = len(every) - len(names)
    notes = [f"and {count(more, 'other value', 'other values')}: --json has them"] if more else []
    return table(["value", *held], rows, notes=notes, fixed=1, wraps=(0,))


def _recorded_shown(one: Recorded | None) -> str:
    if one is None:
        return NOTHING
    if one.ci is None or one.ci[0] == one.ci[1]:
        return rounded(one.value)
    return f"{figure_shown(one.value, decimals_of(one.ci))} {bounds_shown(one.ci)}"


def rounded(value: float) -> str:
    """Return four digits of a value without an interval; a whole number and thousands in full."""
    if abs(value) >= 1e15:
        return f"{value:.4g}"
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.4g}".replace("-", "−")


def quantiles_table(report: Report) -> Table:
    """Return scores at some shares of the queries: one row per measure and system; no rows where none were asked."""
    known = {name: one.measures for name, one in report.sections_of(Quantiles).items()}
    entries = [(label, name, of[label]) for label in report.labels for name, of in known.items() if label in of]
    shares = entries[0][2].at if entries else ()
    rows = [
        [
            report.both_names(label),
            name,
            *(NOTHING if isnan(value) else f"{value:.4f}" for value in one.at.values()),
        ]
        for label, name, one in entries
    ]
    error = max((one.relative_error for _, _, one in entries), default=0)
    rounded = f"; counted after rounding, off by {percent(error, 2)} at most" if error else ""
    header = ["measure", "system", *(percent(float(share)) for share in shares)]
    return table(header, rows, text=(0, 1), notes=[f"Scores at shares of the {report.unit[1]}{rounded}."])


def verdict_of(one: Comparison | Gap, level: float) -> Style:
    """Return ``better``, ``worse``, or ``noise`` where chance alone would do; empty where no test could be made."""
    if one.p_holm is None:
        return ""
    if not is_shown(one.p_holm, level) or one.gain == 0:
        return "noise"
    return "better" if one.gain > 0 else "worse"


def mark_cell(one: Comparison | Gap, level: float) -> Cell:
    """Return a difference in a word: ``▲ better``, ``▼ worse``, ``≈ noise``; ``= same`` where no query differs."""
    verdict = verdict_of(one, level)
    return Cell("= same" if verdict and _is_same(one) else _MARKS[verdict], verdict)


def _is_same(one: Comparison | Gap | None) -> bool:
    return isinstance(one, Comparison) and not one.whole and one.n > 0 and one.equal == one.n


def p_legend(report: Report) -> str:
    """Return how p-values of comparisons were computed; empty where there are none."""
    if not report.comparisons:
        return ""
    whole = any(one.whole for one in report.comparisons)
    of_whole = " (of one value over all: the jackknife's t test)" if whole else ""
    return f"p: sign-flip test{of_whole}, Holm's correction"


def comparison_table(report: Report) -> Table:
    """Return the baseline under each measure, and after it every other system with its difference."""
    rows: list[list[str | Cell]] = []
    for label in report.labels:
        compared = [one for one in report.comparisons if one.measure == label]
        for number, one in enumerate(compared):
            if number == 0:
                mean = _mean(one.baseline_mean, one)
                rows.append([report.both_names(label), one.baseline, mean, "", "", "", ""])
            difference, mark, p, counts = _difference_cells(one, report.level)
            style = mark.style if isinstance(mark, Cell) and mark.style != "noise" else ""
            rows.append(["", one.system, _mean(one.mean, one), Cell(str(difference), style), p, f"{one.n:,}", counts])
    header = ["measure", "system", "mean", f"difference [{percent(report.level)}]", "p", "n", "+/=/−"]
    notes = [f"{p_legend(report)} · +/=/−: {report.unit[1]} better, equal, worse"]
    notes += [LEGEND] if report.usual_names else []
    stacked: list[Sequence[str | Cell]] = []
    for measure, system, *values in rows:
        if measure:
            stacked.append([measure, *("" for _ in values)])
        stacked.append([f"  {system}", *values])
    narrow = table(["measure, system", *header[2:]], stacked, wraps=(0,), notes=notes)
    narrower = (narrow, narrow.without("n", "+/=/−"))
    return table(header, rows, text=(0, 1), wraps=(0, 1), notes=notes, narrower=narrower)


def _mean(mean: float, one: Comparison) -> str:
    return figure_shown(mean, decimals_of(one.ci)) if one.n else NOTHING


def tally(one: Comparison) -> str:
    """``dense, ndcg@10: 26 better · 9 worse · 4 equal``"""
    return f"{one.system}, {one.measure}: {one.better:,} better · {one.worse:,} worse · {one.equal:,} equal"


def power_lines(report: Report) -> Iterator[str]:
    """Return what the first measure could have shown with so many queries, one line per system."""
    for one in report.comparisons:
        if one.measure != report.labels[0] or one.detectable is None:
            continue
        needed = one.needed_for(report.detect, report.level)
        yield (
            f"{one.system}: {count(one.n, *report.unit)} can show {one.detectable:.2g} in {one.measure} "
            f"({percent(POWER)} power); {report.detect:g} takes {f'{needed:,}' if needed else 'too many'}"
        )


def largest_losses(
    report: Report, label: str, system: str | None = None, most: int = _LOSSES_SHOWN
) -> tuple[Change, ...]:
    """Return the queries that lost most under a measure, of one system or of all but random ones, worst first."""
    idle = idle_systems(report) if system is None else ()
    found = [
        one
        for one in report.changes
        if one.measure == label
        and one.gain < 0
        and (one.system not in idle if system is None else one.system == system)
    ]
    if system is None:
        found.sort(key=lambda one: (one.gain, one.query, one.system))
    return tuple(found[:most])


def changes_table(report: Report, changes: Sequence[Change], *, texts: bool = False) -> Table:
    """Return queries with their scores before and after, and the ranks of their relevant items.

    Args:
        report: Knows the names of queries and items.
        changes: The rows.
        texts: Call queries by their texts where these are known, instead of by id.
    """
    queries, items = _names_in_examples(report)
    queries, items = queries | dict(report.texts), items | dict(report.names)
    several = texts and len({one.system for one in changes}) > 1
    rows = [
        [
            queries.get(one.query, one.query) if texts else report.query_name(one.query),
            *([one.system] if several else ()),
            f"{one.before:.3f} → {one.after:.3f}",
            difference_shown(one.difference, None, decimals=3),
            _moves_shown(one.moves, items),
        ]
        for one in changes
    ]
    moves = Column("relevant items (grade): rank before → after", "text", wraps=True)
    names = [Column(report.unit[0], "text", wraps=True), *([Column("system", "text")] if several else ())]
    return table([*names, Column("before → after"), Column("change"), moves], rows)


def _names_in_examples(report: Report) -> tuple[dict[str, str], dict[str, str]]:
    """Return the names of queries and of items that examples have."""
    queries: dict[str, str] = {}
    items: dict[str, str] = {}
    for found in report.sections_of(Examples).values():
        for one in found:
            queries |= {one.query: one.text} if one.text else {}
            items |= {item.id: item.name for item in (*one.found, *one.missed) if item.name}
    return queries, items


def _moves_shown(moves: Sequence[Move], names: Mapping[str, str]) -> str:
    """Return the moves of relevant items, those with the highest ranks first."""
    moved = sorted(
        (move for move in moves if move.before != move.after),
        key=lambda move: (min(rank for rank in (move.before, move.after) if rank is not None), -move.grade),
    )
    shown = []
    for move in moved[:_MOVES_SHOWN]:
        ranks = " → ".join(NOTHING if rank is None else str(rank) for rank in (move.before, move.after))
        name = names.get(move.item, move.item)
        cut = len(name) > _LONGEST_NAME and name != move.item
        shown.append(f"{f'{name[: _LONGEST_NAME - 1].rstrip()}…' if cut else name} ({move.grade:g}): {ranks}")
    more = len(moved) - _MOVES_SHOWN
    return ", ".join([*shown, *([f"{more} more"] if more > 0 else ())])


def slices_table(report: Report, label: str, *, changed: bool = False, losing: bool = False) -> Table:
    """Return one measure in every slice, those that lose most first; what was compared with nothing comes last.

    Args:
        report: Its slices are compared with the baseline in the slice, or with the rest of the queries.
        label: The measure.
        changed: Without slices in which no query differs from the baseline, and without random systems.
        losing: Only slices that do worse than what they are compared with, without random systems.
    """
    found = {(part.name, one.system): one for part in report.slices for one in part.beside if one.measure == label}
    compared = {system for _, system in found}
    omitted: Collection[str | None] = {report.baseline, *(idle_systems(report) if changed or losing else ())}
    systems = [name for name in report.systems if name not in omitted and (name in compared or not found)]
    lower = report.lower_is_better(label)

    def rank(part: Slice, system: str) -> tuple[object, ...]:
        """Losses that are shown come first, whatever their size; then by the difference, or by the mean."""
        one = found.get((part.name, system))
        gain = one.gain if one is not None else nan
        if not found:
            mean = part.estimates[system][label].mean
            gain = -mean if lower else mean
        lost = one is not None and verdict_of(one, report.level) == "worse"
        return not lost, isnan(gain), 0.0 if isnan(gain) else gain, part.name, system

    def is_shown_here(part: Slice, system: str) -> bool:
        one = found.get((part.name, system))
        if label not in part.estimates.get(system, {}) or ((changed or losing) and _is_same(one)):
            return False
        return not losing or not found or (one is not None and one.gain < 0)

    pairs = [(part, system) for part in report.slices for system in systems if is_shown_here(part, system)]
    several = len(systems) > 1
    rows: list[list[str | Cell]] = []
    for part, system in sorted(pairs, key=lambda pair: rank(*pair)):
        estimate, one = part.estimates[system][label], found.get((part.name, system))
        n = one.n if isinstance(one, Comparison) else estimate.n
        names: list[str | Cell] = [part.label, *([system] if several else ()), f"{n:,}"]
        if not found:
            rows.append([*names, estimate_shown(estimate)])
        elif one is None or not n:
            rows.append([*names, estimate_shown(replace(estimate, ci=None)), NOTHING, "", NOTHING])
        else:
            mean = figure_shown(one.mean if isinstance(one, Comparison) else estimate.mean, decimals_of(estimate.ci))
            p = p_shown(one.p_holm, at_floor=one.at_floor)
            rows.append([*names, mean, difference_shown(one.difference, one.ci), mark_cell(one, report.level), p])
    level = f"[{percent(report.level)}]"
    against = f"difference {level}" if report.baseline else f"to the rest {level}"
    values: list[str | Column] = [f"mean {level}" if report.resampling else "mean"]
    notes = []
    if found:
        values = ["mean", against, _MARK, "p"]
        tested = sum(one.tested for part in report.slices for one in part.beside if one.measure == label)
        notes.append(f"p: Holm's correction for {count(tested, 'test', 'tests')} · noise: chance alone would do")
    if any(part.of == "items" for part in report.slices):
        notes.append(ITEM_SLICES)
    text = (0, 1) if several else (0,)
    header: list[str | Column] = ["slice", *(["system"] if several else ()), "n", *values]
    return table(header, rows, text=text, wraps=text, notes=notes)


@dataclass(frozen=True)
class Convention:
    """A measure with all its conventions, what it is and where it is from."""

    label: str
    spelled_out: str
    title: str = ""
    formula: str = ""
    source: str = ""
    usual: str = ""


def conventions_of(report: Report) -> list[Convention]:
    """Return every measure with its conventions; of one that is not installed here, its spelling alone."""
    found: dict[str, Convention] = {}
    for system in report.systems.values():
        for label, spelling in system.conventions.items():
            measure = system.measures[label]
            if label in found:
                continue
            if measure is None:
                found[label] = Convention(label, spelling)
                continue
            metric, usual = measure.metric, usual_name(measure) or ""
            found[label] = Convention(label, measure.spelled_out(), metric.title, metric.formula, metric.source, usual)
    return list(found.values())
