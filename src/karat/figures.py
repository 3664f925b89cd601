"""What a target is about: an estimate, a recorded figure, or a difference to the baseline, looked up in reports."""

from dataclasses import dataclass, replace
from math import hypot, isfinite

import polars as pl

from karat.errors import DataError, UsageError
from karat.measure import Measure
from karat.results import Recorded
from karat.saved import Column, Saved
from karat.statistics.comparison import Paired, compare_pairs
from karat.statistics.distributions import normal_quantile
from karat.statistics.estimates import FEW_QUERIES
from karat.statistics.intervals import Bounds
from karat.statistics.streams import keys_of
from karat.targets import Target

__all__ = ["Figure", "difference_of", "figure_of"]


@dataclass(frozen=True)
class Figure:
    """A value to be held against a limit."""

    value: float
    ci: Bounds | None
    n: int | None
    """None where it is not over queries."""
    note: str = ""


def figure_of(target: Target, system: str, report: Saved) -> Figure:
    """A measure's estimate (of a count: the sum), or the figure that was recorded."""
    recorded = report.figures(system).get(target.subject)
    if recorded is not None:
        return _recorded(target, recorded, report)
    column = report.column(target.subject, system, target.slice, _place(target, report))
    if column.mean is None:
        raise _undefined(target, system, report)
    note, total = _caution(column.n, column.ci), column.entry.get("sum")
    if total is None:
        return Figure(column.mean, column.ci, column.n, note)
    ci = None if column.ci is None else (column.ci[0] * column.n, column.ci[1] * column.n)
    return Figure(total, ci, column.n, note)


def difference_of(target: Target, system: str, report: Saved, baseline: str | None, other: Saved | None) -> Figure:
    """The difference to a system of this report, or of another; a share of its mean where the target is one."""
    if other is None and (baseline is None or baseline == system):
        what = f"{system!r} is the baseline itself" if baseline else "there is none"
        hint = "Name it with --baseline, a system of the report or another report."
        raise UsageError(f"the target {target.title!r} needs a baseline, and {what}", where=report.source, hint=hint)
    base = other or report
    name = baseline if other is None and baseline else _only_system(base, system)
    recorded = report.figures(system).get(target.subject)
    mean: float | None
    if recorded is not None:
        figure, mean = _between_recorded(target, recorded, report, base, name)
    else:
        ours = report.column(target.subject, system, target.slice, _place(target, report))
        _check_direction(target, ours)
        if other is None and baseline == report.baseline:
            figure, mean = _compared(target, ours)
        else:
            figure, mean = _across(target, ours, base.column(target.subject, name, target.slice, _place(target, base)))
    return _as_share(figure, mean, target, report) if target.share else figure


def _as_share(figure: Figure, mean: float | None, target: Target, report: Saved) -> Figure:
    """Of the baseline's mean, taken as it is: the interval is that of the difference."""
    if not mean or not isfinite(mean):
        found = f"the baseline's {target.subject} is {'missing' if mean is None else f'{mean:g}'}"
        raise DataError(f"{found}, so no share of it can be taken", where=report.source)
    ci = None if figure.ci is None else (figure.ci[0] / abs(mean), figure.ci[1] / abs(mean))
    return Figure(figure.value / abs(mean), ci, figure.n, figure.note)


def _between_recorded(target: Target, ours: Recorded, report: Saved, base: Saved, name: str) -> tuple[Figure, float]:
    theirs = base.figures(name).get(target.subject)
    if target.slice is not None or theirs is None:
        return _recorded(target, ours, report), 0.0
    return Figure(ours.value - theirs.value, None, None), theirs.value


def _check_direction(target: Target, column: Column) -> None:
    """A drop is a loss, and a gain none: not so where less is better."""
    if target.change != "rise" and Measure.parse(column.convention).metric.lower_is_better:
        raise UsageError(
            f"{column.label} is better when it is lower, so {target.change} may be read either way",
            where=_place(target, column.saved),
            expected=f"{target.subject} rise <= {abs(target.limit):g}",
        )


def _compared(target: Target, ours: Column) -> tuple[Figure, float | None]:
    """As the report has it."""
    rows = ours.saved.part(target.slice).get("comparisons") or ()
    row = next((row for row in rows if (row["system"], row["measure"]) == (ours.system, ours.label)), None)
    if row is None:
        raise DataError(f"{ours.label} of {ours.system} was not compared", where=ours.saved.source)
    if row.get("difference") is None:
        raise _undefined(target, f"{ours.system} or {ours.saved.baseline}", ours.saved)
    ci, n = row.get("ci"), row.get("n") or 0
    ci = (ci[0], ci[1]) if ci else None
    return Figure(row["difference"], ci, n, _caution(n, ci)), row.get("baseline_mean")


def _across(target: Target, ours: Column, theirs: Column) -> tuple[Figure, float]:
    """Query by query where both reports hold the queries' scores, else by their standard errors."""
    if ours.convention != theirs.convention:
        raise DataError(
            f"{ours.label} is {ours.convention} here and {theirs.convention} in {theirs.saved.source}",
            where=ours.saved.source,
            expected="the same conventions in both reports",
        )
    scores = ours.per_query(), replace(theirs, part=None).per_query()
    note = "not paired: the reports do not hold these queries' scores, so the interval is wide"
    if scores[0] is not None and scores[1] is not None:
        if not Measure.parse(ours.convention).metric.whole or _same_queries(scores[0], scores[1]):
            return _paired(target, ours, theirs, scores[0], scores[1])
        note = "not paired: a figure over all, and the reports are not over the same"
    if ours.mean is None or theirs.mean is None:
        raise _undefined(target, ours.system if ours.mean is None else theirs.system, ours.saved)
    difference, n = ours.mean - theirs.mean, min(ours.n, theirs.n)
    errors = ours.entry.get("se"), theirs.entry.get("se")
    if errors[0] is None or errors[1] is None:
        return Figure(difference, None, n, _caution(n, None)), theirs.mean
    half = normal_quantile((1 + ours.saved.how.level) / 2) * hypot(errors[0], errors[1])
    return Figure(difference, (difference - half, difference + half), n, note), theirs.mean


def _paired(
    target: Target, ours: Column, theirs: Column, scores: pl.DataFrame, base_scores: pl.DataFrame
) -> tuple[Figure, float]:
    frame = scores.join(base_scores, on="id", how="inner", suffix="_base").sort("id")
    if frame.is_empty():
        where = f"{ours.saved.source} × {theirs.saved.source}"
        raise DataError("no query in common", where=where, expected="the same queries")
    metric = Measure.parse(ours.convention).metric
    values, base_values = frame["value"].to_numpy(), frame["value_base"].to_numpy()
    pair = Paired(
        ours.system, theirs.system, ours.label, values, base_values, metric.aggregate, metric.lower_is_better,
        metric.whole,
    )  # fmt: skip
    how = ours.saved.how
    (found,) = compare_pairs([pair], keys_of(frame["id"], how.seed), how)
    if not found.n:
        raise _undefined(target, f"{ours.system} or {theirs.system}", ours.saved)
    whole = scores.height if target.slice is not None else max(scores.height, base_scores.height)
    shared = f"compared on the {frame.height:,} queries that both reports have" if whole > frame.height else ""
    note = "; ".join(filter(None, (shared, _caution(found.n, found.ci))))
    return Figure(found.difference, found.ci, found.n, note), found.baseline_mean


def _same_queries(scores: pl.DataFrame, others: pl.DataFrame) -> bool:
    """Whether both are defined for the same ones."""
    sides = [
        one.filter(pl.col("value").is_not_null() & pl.col("value").is_not_nan())["id"].sort()
        for one in (scores, others)
    ]
    return sides[0].equals(sides[1])


def _only_system(saved: Saved, wanted: str) -> str:
    """The system of the same name in a baseline's report, or the only one."""
    if wanted in saved.systems or len(saved.systems) == 1:
        return wanted if wanted in saved.systems else next(iter(saved.systems))
    raise UsageError(
        f"the baseline has several systems: {', '.join(saved.systems)}",
        where=saved.source,
        expected=f"one, or one called {wanted}",
    )


def _recorded(target: Target, found: Recorded, report: Saved) -> Figure:
    if target.slice is not None or target.relative:
        raise UsageError(
            f"{target.subject} is a recorded figure: {'it has no slices' if target.slice else 'the baseline has none'}",
            where=_place(target, report),
            expected=f"a limit on its value, such as {target.subject} <= {found.value:g}",
        )
    return Figure(found.value, found.ci, found.n)


def _caution(n: int, ci: Bounds | None) -> str:
    if n < 2:
        return "one query: no interval"
    if ci is None:
        return "no interval in the report: decided on the mean alone"
    return f"few queries: the interval is rough under {FEW_QUERIES}" if n < FEW_QUERIES else ""


def _undefined(target: Target, system: str, report: Saved) -> DataError:
    return DataError(
        f"{target.subject} of {system} is undefined for every query",
        where=_place(target, report),
        expected="at least one query where it is defined",
    )


def _place(target: Target, report: Saved) -> str:
    return f"{report.source}, target {target.title!r}"
