"""Recommenders on held-out interactions as tables: the windows of the log, every tier, and what is exposed."""

from collections.abc import Iterator, Mapping
from typing import Any

from karat.breakdown import Slice
from karat.report import Report
from karat.reports.comparison import comparison_table, verdict_of
from karat.reports.console import console, print_first_fitting, print_table
from karat.statistics.comparison import Comparison
from karat.statistics.estimates import Estimate
from karat.wording import estimate_shown, figure_shown, percent

__all__ = ["below_chance", "board", "exposure_table", "print_recommendations", "tiers_table", "windows_table"]

Table = tuple[list[str], list[list[str]]]
_DECIMALS = 3
_UNIT = "training interactions"
_SIGNS = {"better": " ▲", "worse": " ▼"}


def print_recommendations(report: Report) -> None:
    """On standard output: the log, every system, the first measure beside the baseline and in every tier, exposure."""
    screen = console()
    screen.print(_split_told(report.interactions))
    print_table(*windows_table(report), text=(0, 6))
    print()
    print_first_fitting(
        [board(report, ends=True), board(report, ends=False), *_down(report)], text=("system", "measure")
    )
    if report.how is not None:
        screen.print(f"[{percent(report.level)} interval over users]{_signs_told(report, '')}")
    _print_differences(report)
    if report.slices:
        measure = report.labels[0]
        screen.print(f"\n{report.both_names(measure)} by tier of training interactions")
        print_table(*tiers_table(report, measure), text=(0,), folding=(0,))
        for line in _ranges_told(report):
            screen.print(line)
        screen.print(
            f"item.…: only held-out items of the tier count; n: users who have such{_signs_told(report, ' there')}"
        )
    if report.exposures:
        screen.print("\nShare of recommendations that go to the most popular items of training")
        print_table(*exposure_table(report), text=(0,))


def _print_differences(report: Report) -> None:
    """The first measure beside the baseline."""
    first = report.only(report.labels[:1])
    if first.comparisons:
        print()
        header, rows = comparison_table(first)
        print_table(header[1:], [row[1:] for row in rows], text=(0,))
        console().print(f"{report.labels[0]} − {report.baseline}'s; p: sign-flip test, Holm's correction; +/=/−: users")


def _signs_told(report: Report, where: str) -> str:
    if report.baseline is None:
        return ""
    return f" · ▲ better, ▼ worse than {report.baseline}{where}, else chance alone would do"


def board(report: Report, *, ends: bool) -> Table:
    """Systems down, measures across; with the first one's interval, and what differs from the baseline marked."""
    shown = {(one.system, one.measure): one for one in report.comparisons}
    rows = []
    for system, estimates in report.estimates.items():
        cells = []
        for place, label in enumerate(report.labels):
            one = shown.get((system, label))
            sign = _SIGNS.get(verdict_of(one, report.level), "") if one is not None else ""
            text = estimate_shown(estimates[label]) if ends and place == 0 else _mean(estimates[label])
            cells.append(text + sign)
        rows.append([system, *cells])
    return ["system", *(report.both_names(label) for label in report.labels)], rows


def _mean(estimate: Estimate) -> str:
    return figure_shown(estimate.mean, _DECIMALS) if estimate.n else "–"


def _down(report: Report) -> list[Table]:
    """The same with measures down, for narrow screens."""
    header, rows = board(report, ends=False)
    turned = [[label, *(row[place] for row in rows)] for place, label in enumerate(header[1:], start=1)]
    return [(["measure", *(row[0] for row in rows)], turned)]


def _split_told(about: Mapping[str, Any]) -> str:
    how = dict(about["split"])
    kind = how.pop("kind", "given")
    learnt = "train and validation" if about["fit_on"] == "train+validation" else "train"
    catalogue = about["catalogue"]
    return (
        f"{kind} split, held against {about['window']}, fitted on {learnt}; candidates: "
        f"{catalogue['items']:,} items ({catalogue['kind']}) less what a user took in training"
    )


def windows_table(report: Report) -> Table:
    """Rows, users, items and cold ones of each window of the log."""
    rows = []
    for name, one in report.interactions["windows"].items():
        cells = [f"{one[key]:,}" if one.get(key) is not None else "–" for key in ("rows", "users", "items")]
        cold = ["–", "–"] if name == "train" else [f"{one[key]:,}" for key in ("cold_users", "cold_items")]
        rows.append([name, *cells, *cold, _span(one)])
    return ["window", "rows", "users", "items", "cold users", "cold items", "from – to"], rows


def _span(one: Mapping[str, Any]) -> str:
    ends = [str(one.get(key) or "")[:10] for key in ("from", "to")]
    return " – ".join(ends) if all(ends) else ""


def tiers_table(report: Report, measure: str) -> Table:
    """One measure in every slice, a column a system, in the order of the tiers."""
    systems = list(report.systems)
    rows = []
    for part in report.slices:
        if all(measure in part.estimates[name] for name in systems):
            n = max(part.estimates[name][measure].n for name in systems)
            rows.append([part.name, f"{n:,}", *(_cell(part, name, measure, report) for name in systems)])
    return ["slice", "n", *systems], rows


def _ranges_told(report: Report) -> Iterator[str]:
    """``activity: low at most 15, medium 16 to 30 …``, in training interactions."""
    ranges: dict[str, list[str]] = {}
    for part in report.slices:
        attribute, _, value = part.name.partition("=")
        if part.note.endswith(_UNIT) or _UNIT in part.note:
            ranges.setdefault(attribute, []).append(f"{value} {' '.join(part.note.replace(_UNIT, '').split())}")
    for attribute, told in ranges.items():
        yield f"{attribute}: {', '.join(told)}"


def _cell(part: Slice, system: str, measure: str, report: Report) -> str:
    estimate = part.estimates[system][measure]
    found = [one for one in part.beside if one.system == system and one.measure == measure]
    sign = _SIGNS.get(verdict_of(found[0], report.level), "") if found and isinstance(found[0], Comparison) else ""
    return _mean(estimate) + sign


def exposure_table(report: Report) -> Table:
    """How much of the recommendations goes to the most popular tenth, fifth and half of the catalogue."""
    rows = []
    first = next(iter(report.exposures.values()))
    places = [place for place, edge in enumerate(first.edges) if round(edge, 2) in (0.1, 0.2, 0.5)]
    for name, one in report.exposures.items():
        shares = [f"{sum(one.recommended[: place + 1]):.0%}" for place in places]
        rows.append([name, *shares, f"{one.distinct:,}"])
    taken = [f"{sum(first.taken[: place + 1]):.0%}" for place in places]
    rows.append(["(training)", *taken, f"of {first.catalogue:,}"])
    header = [f"in the top {first.edges[place]:.0%}" for place in places]
    return [f"first {first.k} of", *header, "different items"], rows


def below_chance(report: Report, label: str) -> Iterator[str]:
    """Systems that do no better than an order by chance, and those that popularity keeps up with."""
    means = {name: of[label].mean for name, of in report.estimates.items() if label in of}
    random = [name for name in report.systems if name in report.by_chance or _model(report, name) == "random"]
    floor = max((means[name] for name in random if name in means), default=None)
    for name, mean in means.items():
        if floor is not None and name not in random and mean <= floor:
            yield f"{name} ranks no better than chance: {label} {mean:.4f}, a random order has {floor:.4f}"
    if report.baseline is not None and _model(report, report.baseline) == "popularity":
        even = [
            one.system
            for one in report.comparisons
            if one.measure == label and one.system not in random and not (one.is_shown(report.level) and one.gain > 0)
        ]
        if even:
            yield f"not shown to be better than {report.baseline} on {label}: {', '.join(even)}"


def _model(report: Report, system: str) -> str | None:
    model = report.facts.get(system, {}).get("model")
    return model if isinstance(model, str) else None
