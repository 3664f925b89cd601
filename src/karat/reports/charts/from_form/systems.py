"""Systems beside each other: means with their intervals, and differences to the baseline."""

from collections.abc import Sequence

from karat.reports.charts.from_form.reading import (
    Form,
    bars_told,
    difference_dot,
    headline_of,
    interval_told,
    less_is_better,
    level_of,
    mean_dot,
    number_in,
    places_of,
    queries_named,
    systems_of,
    tone_of,
)
from karat.reports.charts.model import DotPlot, Row
from karat.statistics.corrections import is_shown

__all__ = ["differences_chart", "headline_chart"]

_MOST_DOTS = 60


def headline_chart(form: Form, measure: str) -> DotPlot:
    """Every system's mean, in the report's order; a line at the baseline's."""
    rows: list[Row] = []
    for name, one in systems_of(form).items():
        entry = (one.get("measures") or {}).get(measure)
        if entry is not None:
            dot = mean_dot(entry, name, series=len(rows))
            rows.append(Row(name, (dot,), f"n {entry.get('n') or 0:,}"))
    names = tuple(row.label for row in rows)
    baseline = form.get("baseline")
    mean = next((row.dots[0].value for row in rows if row.label == baseline), None)
    told = "; ".join(f"{row.label} {row.dots[0].shown}" for row in rows[:8])
    return DotPlot(
        title=f"{measure} of all systems",
        description=f"Mean {measure} over {queries_named(form)} of each system, with {interval_told(form)}s. {told}.",
        x_label=f"mean {measure}" + (" (less is better)" if less_is_better(form, measure) else ""),
        rows=tuple(rows),
        series=names,
        keyed=False,
        places=places_of(form, names),
        reference=mean,
        reference_label="" if mean is None else f"{baseline}",
        footnote=bars_told(form, rows),
    )


def differences_chart(form: Form) -> DotPlot | None:
    """Under each headline measure every system's difference to the baseline; None where nothing is compared.

    One axis holds them all, so measures that are no shares between 0 and 1 are left to charts of their own.
    """
    compared = [one for one in form.get("comparisons") or () if number_in(one.get("difference")) is not None]
    measures = [label for label in headline_of(form) if any(one["measure"] == label for one in compared)]
    if not measures:
        return None
    shares = [label for label in measures if all(_is_share(one) for one in compared if one["measure"] == label)]
    shown = shares or measures[:1]
    systems = [name for name in systems_of(form) if any(one["system"] == name for one in compared)]
    shown = shown[: max(1, _MOST_DOTS // len(systems))]
    baseline = form.get("baseline") or "the baseline"
    rows = tuple(_row(form, measure, compared, systems) for measure in shown)
    left_out = len(measures) - len(shown)
    return DotPlot(
        title=f"Differences to {baseline}",
        description=f"Difference of each system to {baseline} under {_joined(shown)}, with {interval_told(form)}s.",
        x_label=f"difference to {baseline}" + _better_told(form, shown),
        rows=rows,
        series=tuple(systems),
        places=places_of(form, systems),
        reference=0.0,
        reference_label="as the baseline",
        footnote=_footnote(form, rows, left_out),
    )


def _row(form: Form, measure: str, compared: Sequence[Form], systems: Sequence[str]) -> Row:
    found = {one["system"]: one for one in compared if one["measure"] == measure}
    lower, level = less_is_better(form, measure), level_of(form)
    dots = []
    for series, name in enumerate(systems):
        if (one := found.get(name)) is not None:
            muted = not is_shown(one.get("p_holm"), level)
            tone = tone_of(number_in(one["difference"]), muted=muted, lower=lower) if len(systems) == 1 else ""
            dots.append(difference_dot(one, f"{name}, {measure}", series=series, muted=muted, tone=tone))
    return Row(measure, tuple(dots), "less is better" if lower else "")


def _is_share(one: Form) -> bool:
    means = [number_in(one.get("mean")), number_in(one.get("baseline_mean"))]
    return all(mean is not None and 0.0 <= mean <= 1.0 for mean in means)


def _better_told(form: Form, measures: Sequence[str]) -> str:
    """Rows of which less is better say so themselves."""
    return "" if all(less_is_better(form, one) for one in measures) else " (right is better)"


def _footnote(form: Form, rows: Sequence[Row], left_out: int) -> str:
    told = [bars_told(form, rows)]
    if any(dot.muted for row in rows for dot in row.dots):
        told.append("Hollow: differences that chance makes often enough, all systems considered.")
    if left_out:
        told.append(f"{left_out} more under other measures: see the table.")
    return " ".join(filter(None, told))


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
