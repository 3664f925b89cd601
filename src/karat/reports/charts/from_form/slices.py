"""Where it fails: slices under each other, the worst first."""

from collections.abc import Sequence

from karat.reports.charts.from_form.reading import (
    Form,
    bars_told,
    bounds_in,
    difference_dot,
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
from karat.reports.charts.model import Dot, DotPlot, Row
from karat.statistics.corrections import is_shown
from karat.wording import count, decimals_of, figure_shown

__all__ = ["slices_chart"]

_MOST_ROWS, _FEWEST_ROWS, _MOST_DOTS = 30, 8, 60


def slices_chart(form: Form, measure: str, system: str | None = None) -> DotPlot | None:
    """Differences to the baseline within each slice, or means where nothing is compared; None without slices.

    Of one system, or of all that there is something to say of. At most the 30 worst slices; those in which nothing
    differs are left out, and where that is so in all of them, means are shown after all.
    """
    parts = form.get("slices") or ()
    compared = _systems_in(form, [one for part in parts for one in part.get("comparisons") or ()], measure, system)
    if compared and (chart := _of_differences(form, measure, compared)).rows:
        return chart
    scored = [
        name
        for name, one in systems_of(form).items()
        if (system is None and not one.get("by_chance")) or name == system
        if any(measure in _measures_of(part, name) for part in parts)
    ]
    return _of_means(form, measure, scored) if scored else None


def _systems_in(form: Form, found: Sequence[Form], measure: str, system: str | None) -> list[str]:
    names = {one["system"] for one in found if one["measure"] == measure and system in (None, one["system"])}
    return [name for name in systems_of(form) if name in names]


def _measures_of(part: Form, system: str) -> Form:
    return ((part.get("systems") or {}).get(system) or {}).get("measures") or {}


def _of_differences(form: Form, measure: str, systems: list[str]) -> DotPlot:
    lower, level = less_is_better(form, measure), level_of(form)
    rows = []
    for part in form["slices"]:
        found = {one["system"]: one for one in part.get("comparisons") or () if one["measure"] == measure}
        dots = []
        for series, name in enumerate(systems):
            if (one := found.get(name)) is not None:
                muted = not is_shown(one.get("p_holm"), level)
                tone = tone_of(number_in(one.get("difference")), muted=muted, lower=lower) if len(systems) == 1 else ""
                dots.append(difference_dot(one, _told(part, name), series=series, muted=muted, tone=tone))
        if dots:
            rows.append(_row(part, dots))
    apart = [row for row in rows if not all(dot.value == dot.low == dot.high == 0 for dot in row.dots)]
    shown, more = _worst_first(apart, len(systems), lower=lower)
    baseline = form.get("baseline") or "the baseline"
    better = "left" if lower else "right"
    return DotPlot(
        title=f"{measure} by slice: difference to {baseline}",
        description=f"Difference in {measure} between {_named(systems)} and {baseline} in each slice of "
        f"{queries_named(form)}, with {interval_told(form)}s, the worst slice first.{_worst_told(shown)}",
        x_label=f"difference in {measure}{_of(systems)} to {baseline} ({better} is better)",
        rows=shown,
        series=tuple(systems),
        places=places_of(form, systems),
        reference=0.0,
        reference_label="as the baseline",
        footnote=_footnote(
            form,
            shown,
            more,
            "differences that chance makes often enough, all slices considered",
            len(rows) - len(apart),
        ),
    )


def _of_means(form: Form, measure: str, systems: list[str]) -> DotPlot:
    """Of one system, its mean over all is where the line stands."""
    lower, level = less_is_better(form, measure), level_of(form)
    rows = []
    for part in form["slices"]:
        gaps = {one["system"]: one for one in part.get("gaps") or () if one["measure"] == measure}
        dots = []
        for series, name in enumerate(systems):
            if (entry := _measures_of(part, name).get(measure)) is not None:
                alike = name in gaps and not is_shown(gaps[name].get("p_holm"), level)
                dots.append(mean_dot(entry, _told(part, name), series=series, muted=alike))
        if dots:
            rows.append(_row(part, dots))
    shown, more = _worst_first(rows, len(systems), lower=lower)
    overall = systems_of(form)[systems[0]]["measures"][measure] if len(systems) == 1 else {}
    mean = number_in(overall.get("mean"))
    return DotPlot(
        title=f"{measure} by slice",
        description=f"Mean {measure} of {_named(systems)} in each slice of {queries_named(form)}, with "
        f"{interval_told(form)}s, the worst slice first.{_worst_told(shown)}",
        x_label=f"mean {measure}{_of(systems)}" + (" (less is better)" if lower else ""),
        rows=shown,
        series=tuple(systems),
        places=places_of(form, systems),
        reference=mean,
        reference_label="" if mean is None else f"overall {figure_shown(mean, decimals_of(bounds_in(overall)))}",
        footnote=_footnote(form, shown, more, f"as far from the other {queries_named(form)} as chance takes it"),
    )


def _row(part: Form, dots: list[Dot]) -> Row:
    return Row(str(part["slice"]), tuple(dots), f"n {part.get('n') or 0:,}")


def _told(part: Form, system: str) -> str:
    note = f" ({part['note']})" if part.get("note") else ""
    return f"{part['slice']}{note}, {system}"


def _worst_first(rows: Sequence[Row], systems: int, *, lower: bool) -> tuple[tuple[Row, ...], int]:
    """By the worst dot of each; slices in which nothing is defined are left out. How many more there are."""

    def worst(row: Row) -> float:
        return min((-dot.value if lower else dot.value) for dot in row.dots if dot.value is not None)

    defined = [row for row in rows if any(dot.value is not None for dot in row.dots)]
    most = min(_MOST_ROWS, max(_FEWEST_ROWS, _MOST_DOTS // systems))
    ordered = sorted(defined, key=lambda row: (worst(row), row.label))
    return tuple(ordered[:most]), len(ordered) - len(ordered[:most])


def _footnote(form: Form, rows: Sequence[Row], more: int, hollow: str, same: int = 0) -> str:
    told = [bars_told(form, rows)]
    if any(dot.muted for row in rows for dot in row.dots):
        told.append(f"Hollow: {hollow}.")
    if more:
        told.append(f"The {len(rows)} worst; {count(more, 'more slice is', 'more slices are')} not shown.")
    if same:
        told.append(f"{count(same, 'slice', 'slices')} without any difference left out.")
    return " ".join(filter(None, told))


def _worst_told(rows: Sequence[Row]) -> str:
    """For who cannot see it."""
    dots = [dot for dot in rows[0].dots if dot.value is not None] if rows else []
    return f" Worst: {rows[0].label}, {', '.join(dot.shown for dot in dots)}." if dots else ""


def _of(systems: Sequence[str]) -> str:
    """Where there is no legend that says it."""
    return f" of {systems[0]}" if len(systems) == 1 else ""


def _named(systems: Sequence[str]) -> str:
    return systems[0] if len(systems) == 1 else f"{len(systems)} systems"
