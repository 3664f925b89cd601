"""What charts ask of a report's form: figures that may be missing, measures, and how they are put to people."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import Any

from karat.errors import KaratError
from karat.measure import Measure
from karat.reports.charts.model import Dot, Row, Tone
from karat.statistics.intervals import Bounds
from karat.wording import NOTHING, bounds_shown, decimals_of, difference_shown, figure_shown, percent

__all__ = [
    "Form",
    "bars_told",
    "bounds_in",
    "cutoff_of",
    "difference_dot",
    "headline_of",
    "idle_systems",
    "interval_told",
    "is_of_queries",
    "labels_of",
    "less_is_better",
    "level_of",
    "mean_dot",
    "number_in",
    "places_of",
    "queries_named",
    "relevant_from",
    "systems_of",
    "tone_of",
]

Form = Mapping[str, Any]


def systems_of(form: Form) -> Mapping[str, Form]:
    return form.get("systems") or {}


def places_of(form: Form, systems: Sequence[str]) -> tuple[int, ...]:
    """Where systems stand in the report: each has one colour and marker in all its charts."""
    order = list(systems_of(form))
    return tuple(order.index(system) if system in order else len(order) for system in systems)


def labels_of(form: Form) -> list[str]:
    """All measures, in the order asked."""
    return list(dict.fromkeys(label for one in systems_of(form).values() for label in one.get("measures") or {}))


def headline_of(form: Form) -> list[str]:
    """The measures to show first; all where the form does not say."""
    known = labels_of(form)
    return [label for label in form.get("headline") or () if label in known] or known


def level_of(form: Form) -> float:
    return float((form.get("resampling") or {}).get("level") or 0.95)


def less_is_better(form: Form, label: str) -> bool:
    """As the measure's convention has it; of a measure that nobody knows any more, more is taken to be better."""
    measure = _measure_of(form, label)
    return measure is not None and measure.metric.lower_is_better


def relevant_from(form: Form, label: str) -> float | None:
    """The grade from which a measure counts an item as relevant; None: any above 0."""
    measure = _measure_of(form, label)
    found = None if measure is None else measure["rel"]
    return float(found) if isinstance(found, int | float) else None


def cutoff_of(form: Form, label: str) -> int | None:
    """How deep a measure looks; None: all the way."""
    measure = _measure_of(form, label)
    return None if measure is None else measure.k


def is_of_queries(form: Form, label: str) -> bool:
    """Whether every query has a figure of its own under a measure; coverage, for one, is a figure over all."""
    measure = _measure_of(form, label)
    return measure is None or not measure.metric.whole


def _measure_of(form: Form, label: str) -> Measure | None:
    """None where nobody knows it any more."""
    entries = ((one.get("measures") or {}).get(label) for one in systems_of(form).values())
    found: Form = next((entry for entry in entries if entry), {})
    return _parsed(found.get("convention") or label)


@lru_cache(maxsize=256)
def _parsed(spelling: str) -> Measure | None:
    try:
        return Measure.parse(spelling)
    except KaratError:
        return None


def idle_systems(form: Form) -> frozenset[str]:
    """Random orders, of which nobody asks where they fail; none, where there are no others."""
    found = {
        name
        for name, one in systems_of(form).items()
        if one.get("by_chance") or (one.get("facts") or {}).get("model") == "random"
    }
    return frozenset(found) if len(found) < len(systems_of(form)) else frozenset()


def number_in(value: Any) -> float | None:
    """A figure, bare or recorded with its interval; None for what is undefined."""
    if isinstance(value, Mapping):
        value = value.get("value")
    known = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return float(value) if known else None


def bounds_in(entry: Any) -> Bounds | None:
    ci = entry.get("ci") if isinstance(entry, Mapping) else None
    if not isinstance(ci, Sequence) or len(ci) != 2:
        return None
    low, high = number_in(ci[0]), number_in(ci[1])
    return None if low is None or high is None else (low, high)


def queries_named(form: Form) -> str:
    """What is scored: users where interactions were held out."""
    return "users" if form.get("interactions") else "queries"


def interval_told(form: Form) -> str:
    return f"{percent(level_of(form))} interval"


def bars_told(form: Form, rows: Sequence[Row]) -> str:
    """What the lines through dots are, where there are any."""
    known = any(dot.low is not None and dot.low != dot.high for row in rows for dot in row.dots)
    return f"Lines: {interval_told(form)}s." if known else ""


def mean_dot(entry: Form, name: str, *, series: int = 0, muted: bool = False) -> Dot:
    """A measure of a system, and all that is known of it in words."""
    mean, ci = number_in(entry.get("mean")), bounds_in(entry)
    shown = NOTHING if mean is None else figure_shown(mean, decimals_of(ci))
    shown += f" {bounds_shown(ci)}" if mean is not None and ci else ""
    low, high = ci or (None, None)
    return Dot(mean, low, high, series, muted, title=f"{name}: {shown}, n {entry.get('n') or 0:,}", shown=shown)


def difference_dot(entry: Form, name: str, *, series: int = 0, muted: bool = False, tone: Tone = "") -> Dot:
    """A comparison with the baseline, and all that is known of it in words."""
    apart, ci = number_in(entry.get("difference")), bounds_in(entry)
    shown = NOTHING if apart is None else difference_shown(apart, ci)
    tally = ", ".join(f"{entry[key]:,} {key}" for key in ("better", "equal", "worse") if entry.get(key) is not None)
    title = "; ".join(filter(None, (f"{name}: {shown}", _means_told(entry), tally, f"n {entry.get('n') or 0:,}")))
    low, high = ci or (None, None)
    return Dot(apart, low, high, series, muted, tone, title, shown)


def tone_of(difference: float | None, *, muted: bool, lower: bool) -> Tone:
    """By the sign of a difference, where it is to be relied on."""
    if muted or not difference:
        return "even"
    return "good" if (difference > 0) != lower else "bad"


def _means_told(entry: Form) -> str:
    ours, theirs = number_in(entry.get("mean")), number_in(entry.get("baseline_mean"))
    if ours is None or theirs is None:
        return ""
    decimals = decimals_of(bounds_in(entry))
    return f"{figure_shown(ours, decimals)} against {figure_shown(theirs, decimals)}"
