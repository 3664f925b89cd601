"""What moved since an earlier report, beside what is allowed."""

from karat.reports.charts.from_form.reading import Form, number_in, places_of, systems_of
from karat.reports.charts.model import Dot, DotPlot, Row
from karat.wording import NOTHING, percent

__all__ = ["drift_chart"]


def drift_chart(form: Form) -> DotPlot | None:
    """Every figure of the rule as a share of what it was, the band is what it may move; None without drift.

    The statistics beside the rule have intervals where the report holds them: mean similarities of the same queries.
    """
    drifts = {name: one["drift"] for name, one in systems_of(form).items() if one.get("drift")}
    if not drifts:
        return None
    systems = list(drifts)
    figures = dict.fromkeys(entry["figure"] for drift in drifts.values() for entry in drift.get("figures") or ())
    rows = []
    for figure in figures:
        dots = [dot for series, name in enumerate(systems) if (dot := _dot(drifts[name], figure, name, series))]
        rows.append(Row(figure, tuple(dots)))
    allowed = max(number_in(drift.get("allowed")) or 0.0 for drift in drifts.values())
    verdicts = ", ".join(f"{name} {drift.get('verdict')}" for name, drift in drifts.items())
    sources = sorted({str(drift.get("old_report")) for drift in drifts.values() if drift.get("old_report")})
    since = f" since {', '.join(sources)}" if sources else ""
    return DotPlot(
        title=f"Drift{since}",
        description=f"How far mean and spread of similarities and lengths moved{since}, as shares of what they were; "
        f"allowed is ±{percent(allowed)}. Verdict: {verdicts}.",
        x_label="change, as a share of the earlier figure",
        rows=tuple(rows),
        series=tuple(systems),
        places=places_of(form, systems),
        reference=0.0,
        reference_label=f"allowed ±{percent(allowed)}",
        band=(-allowed, allowed) if allowed else None,
        percent=True,
        footnote=_footnote(rows),
    )


def _dot(drift: Form, figure: str, system: str, series: int) -> Dot | None:
    entry = next((one for one in drift.get("figures") or () if one["figure"] == figure), None)
    if entry is None:
        return None
    change = number_in(entry.get("change"))
    of_mean = entry.get("relative_to") == "mean"
    shown = NOTHING if change is None else _share(change) + ("*" if of_mean else "")
    low, high = _interval(drift, figure, change)
    old, new = (_figure(entry.get(side)) for side in ("old", "new"))
    within = {True: "within", False: "beyond"}.get(entry.get("within"), "cannot be judged")
    title = f"{system}, {figure}: {shown} ({old} → {new}), {within}"
    return Dot(change, low, high, series, title=title, shown=shown)


def _interval(drift: Form, figure: str, change: float | None) -> tuple[float | None, float | None]:
    """Of a mean, as a share of what it was, where the same queries were asked before and after.

    Where they are not the same, the paired figure is another one; then its interval is none of the dot's.
    """
    name = {"top1 mean": "top1"}.get(figure, figure)
    for one in drift.get("paired") or ():
        ends = [number_in(end) for end in one.get("relative_ci") or ()]
        low, high = ends if len(ends) == 2 else (None, None)
        if one.get("measure") == name and change is not None and low is not None and high is not None:
            return (low, high) if low <= change <= high else (None, None)
    return None, None


def _share(change: float) -> str:
    return percent(change, 2, signed=True) if change else "0 %"


def _figure(value: object) -> str:
    number = number_in(value)
    return NOTHING if number is None else f"{number:.4g}".replace("-", "−")


def _footnote(rows: list[Row]) -> str:
    starred = any(dot.shown.endswith("*") for row in rows for dot in row.dots)
    return "* as a share of the mean: a spread next to 0 doubles by rounding alone." if starred else ""
