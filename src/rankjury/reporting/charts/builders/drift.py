"""What moved since an earlier report, with what is allowed."""

from math import isfinite

from rankjury.evaluation.drift import Drift
from rankjury.evaluation.report import Report
from rankjury.reporting.charts.builders.measures import style_places
from rankjury.reporting.charts.spec import Dot, DotPlot, DotRow
from rankjury.stats.formatting import NO_VALUE, format_percent


def drift_chart(report: Report) -> DotPlot | None:
    """Return every value of the rule as a share of what it was; the band is what it may move. None without drift.

    Means of similarities have intervals where the same queries were asked before and after.
    """
    drifts = report.sections_of(Drift)
    if not drifts:
        return None
    names = dict.fromkeys(one.figure for drift in drifts.values() for one in drift.moved)
    rows = []
    for name in names:
        dots = [_dot(drift, name, system, series) for series, (system, drift) in enumerate(drifts.items())]
        rows.append(DotRow(name, tuple(dot for dot in dots if dot is not None)))
    allowed = max(drift.allowed for drift in drifts.values())
    verdicts = ", ".join(f"{name} {drift.outcome}" for name, drift in drifts.items())
    sources = sorted({drift.old_source for drift in drifts.values() if drift.old_source})
    since = f" since {', '.join(sources)}" if sources else ""
    starred = any(dot.shown.endswith("*") for row in rows for dot in row.dots)
    return DotPlot(
        title=f"Drift{since}",
        description=f"How far mean and spread of similarities and lengths moved{since}, as shares of what they were; "
        f"allowed is ±{format_percent(allowed)}. Verdict: {verdicts}.",
        x_label="change, as a share of the earlier figure",
        rows=tuple(rows),
        series=tuple(drifts),
        places=style_places(report, list(drifts)),
        reference=0.0,
        reference_label=f"allowed ±{format_percent(allowed)}",
        band=(-allowed, allowed) if allowed else None,
        percent=True,
        footnote="* as a share of the mean: a spread next to 0 doubles by rounding alone." if starred else "",
    )


def _dot(drift: Drift, name: str, system: str, series: int) -> Dot | None:
    one = next((one for one in drift.moved if one.figure == name), None)
    if one is None:
        return None
    change = one.change if isfinite(one.change) else None
    shown = NO_VALUE if change is None else format_percent(change, 2, signed=True) if change else "0 %"
    shown += "*" if change is not None and one.relative_to == "mean" else ""
    old, new = (f"{value:.4g}".replace("-", "−") if isfinite(value) else NO_VALUE for value in (one.old, one.new))
    within = {True: "within", False: "beyond", None: "cannot be judged"}[one.within]
    title = f"{system}, {name}: {shown} ({old} → {new}), {within}"
    # Where other queries were asked before, the paired value is another one, and its interval is not the dot's.
    measure = "top1" if name == "top1 mean" else name
    ends = next((test.comparison.relative_ci for test in drift.tested if test.comparison.measure == measure), None)
    low, high = ends if ends and change is not None and ends[0] <= change <= ends[1] else (None, None)
    return Dot(change, low, high, series, title=title, shown=shown)
