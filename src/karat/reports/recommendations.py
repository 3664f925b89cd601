"""Recommenders on held-out interactions as tables: the windows of the log, every tier, and what is exposed."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from karat.breakdown import Slice
from karat.exposures import Exposure
from karat.interactions.summary import Interactions
from karat.report import Report
from karat.reports.console import console, print_rows, print_table
from karat.reports.tables import comparison_table, p_legend, verdict_of
from karat.statistics.differences import Comparison
from karat.statistics.estimates import Estimate
from karat.wording import ITEM_SLICES, estimate_shown, figure_shown, percent

__all__ = [
    "below_chance",
    "board",
    "cutoffs_told",
    "empty_tiers_told",
    "exposure_table",
    "print_recommendations",
    "ranges_told",
    "split_told",
    "tiers_legend",
    "tiers_table",
    "windows_table",
]

Table = tuple[list[str], list[list[str]]]
_DECIMALS = 3
_UNIT = "training interactions"
_CATALOGUES = {"items": "of the items file", "seen": "that the log has seen", "train": "of training"}
_SHARES = (0.1, 0.2, 0.5)
_MORE, _LESS = " ↑", " ↓"
_SIGNS = {"better": " ▲", "worse": " ▼"}


def print_recommendations(report: Report) -> None:
    """On standard output: the log, every system, the first measure beside the baseline and in every tier, exposure."""
    screen = console()
    screen.print(split_told(report.needed_section(Interactions)))
    if cutoffs_told(report.needed_section(Interactions)):
        screen.print(f"cut-off times: {cutoffs_told(report.needed_section(Interactions))}")
    print_rows(*windows_table(report.needed_section(Interactions)), wraps=(0,), fixed=1)
    print()
    print_rows(*board(report, ends=True), wraps=(0,), fixed=1)
    if report.resampling is not None:
        screen.print(f"[{percent(report.level)} interval over users]{_signs_told(report, '', report.labels)}")
    _print_differences(report)
    if report.slices:
        measure = report.labels[0]
        screen.print(f"\n{report.both_names(measure)} by tier of training interactions")
        print_rows(*tiers_table(report, measure), wraps=(0,), fixed=2)
        for line in ranges_told(report):
            screen.print(line)
        for line in empty_tiers_told(report):
            screen.print(line)
        screen.print(tiers_legend(report, report.labels[:1]))
        if any(part.of == "items" for part in report.slices):
            screen.print(ITEM_SLICES)
    if report.sections_of(Exposure):
        k = next(iter(report.sections_of(Exposure).values())).k
        screen.print(f"\nWhich share of the first {k} recommendations is of the most popular items of training")
        print_rows(*exposure_table(report), text=(0,))


def _print_differences(report: Report) -> None:
    """The first measure beside the baseline."""
    first = report.only(report.labels[:1])
    if first.comparisons:
        print()
        found = comparison_table(first).without("measure")
        columns = (replace(found.columns[0], wraps=True), *found.columns[1:])
        print_table(replace(found, columns=columns, narrower=(), notes=(), fixed=1))
        console().print(f"{report.labels[0]} − {report.baseline}'s; {p_legend(first)}; +/=/−: users")


def _signs_told(report: Report, where: str, labels: Sequence[str]) -> str:
    if report.baseline is None:
        return ""
    beyond = ", ↑ ↓ more or less where more is not better by itself" if _beyond_accuracy(report) & {*labels} else ""
    return f" · ▲ better, ▼ worse than {report.baseline}{where}{beyond}, else chance alone would do"


def board(report: Report, *, ends: bool) -> Table:
    """Systems down, measures across; with the first one's interval, and what differs from the baseline marked."""
    shown = {(one.system, one.measure): one for one in report.comparisons}
    beyond = _beyond_accuracy(report)
    rows = []
    for system, estimates in report.estimates.items():
        cells = []
        for place, label in enumerate(report.labels):
            one = shown.get((system, label))
            sign = _sign(one, report, beyond=label in beyond)
            text = estimate_shown(estimates[label]) if ends and place == 0 else _mean(estimates[label])
            cells.append(text + sign)
        rows.append([system, *cells])
    return ["system", *(report.both_names(label) for label in report.labels)], rows


def _beyond_accuracy(report: Report) -> set[str]:
    """The measures that look at lists alone: more of them is not better by itself."""
    return {
        label for label in report.labels if (measure := report.measure(label)) is not None and measure.metric.of_lists
    }


def _sign(one: Comparison | None, report: Report, *, beyond: bool) -> str:
    """Better or worse where that is shown; of a measure beyond accuracy, more or less."""
    verdict = verdict_of(one, report.level) if one is not None else ""
    if one is None or verdict not in _SIGNS:
        return ""
    return (_MORE if one.difference > 0 else _LESS) if beyond else _SIGNS[verdict]


def _mean(estimate: Estimate) -> str:
    return figure_shown(estimate.mean, _DECIMALS) if estimate.n else "–"


def split_told(about: Interactions) -> str:
    """How the log was parted, what was learnt from, and who could be recommended."""
    learnt = "train and validation" if about.fit_on == "train+validation" else "train"
    catalogue = about.catalogue
    candidates = f"{catalogue.items:,} items {_CATALOGUES[catalogue.kind]}, less what a user took in training"
    if not isinstance(about.candidates, str):
        candidates = f"{about.candidates.sampled:,} of each user's, drawn, and what was held out; of {candidates}"
    kind = about.split.get("kind", "given")
    return f"{kind} split, held against {about.window}, fitted on {learnt}; candidates: {candidates}"


def windows_table(about: Interactions) -> Table:
    """Return rows, users and items of each window of the log, and those of whom training has nothing."""
    rows = []
    for name, one in about.windows.items():
        cold = (None, None) if name == "train" else (one.cold_users, one.cold_items)
        numbers = (one.rows, one.users, one.items, *cold)
        cells = ["–" if number is None else f"{number:,}" for number in numbers]
        span = f"{one.begin[:10]} – {one.end[:10]}" if one.begin and one.end else ""
        rows.append([name, *cells, span])
    return ["window", "rows", "users", "items", "new users", "new items", "from – to"], rows


def cutoffs_told(about: Interactions) -> str:
    """``validation from 2023-03-17T16:10:03Z, test from …``; empty where the log is not split by time."""
    at = {name: about.cutoff_times.get(name) or f"time {cutoff:,}" for name, cutoff in about.cutoffs.items()}
    return ", ".join(f"{name} from {time}" for name, time in at.items())


def tiers_table(report: Report, measure: str, *, ends: bool = False) -> Table:
    """One measure in every slice, a column a system, in the order of the tiers; ``ends``: with its intervals."""
    systems, beyond = list(report.systems), measure in _beyond_accuracy(report)
    rows = []
    for part in report.slices:
        if all(measure in part.estimates.get(name, {}) for name in systems):
            numbers = {part.estimates[name][measure].n for name in systems}
            n = "–".join(f"{one:,}" for one in sorted({min(numbers), max(numbers)}))
            cells = (_cell(part, name, measure, report, ends=ends, beyond=beyond) for name in systems)
            rows.append([part.name, n, *cells])
    return ["slice", "n", *systems], rows


def ranges_told(report: Report) -> Iterator[str]:
    """``activity: low at most 15, medium 16 to 30 …``, in training interactions."""
    ranges: dict[str, list[str]] = {}
    for part in report.slices:
        attribute, _, value = part.name.partition("=")
        if _UNIT in part.note and "*" not in part.name:
            ranges.setdefault(attribute, []).append(f"{value} {' '.join(part.note.replace(_UNIT, '').split())}")
    for attribute, told in ranges.items():
        yield f"{attribute}: {', '.join(told)}"


def tiers_legend(report: Report, labels: Sequence[str]) -> str:
    """What is to be known of the tables of these measures by tier."""
    items = any(part.of == "items" for part in report.slices)
    told = "item…: only held-out items of the tier count; n: users who have such" if items else "n: users"
    return f"{told}{_signs_told(report, ' there', labels)}"


def empty_tiers_told(report: Report) -> Iterator[str]:
    """Tiers that nobody, or nothing, of the window is in, and which therefore are not in the table."""
    about = report.needed_section(Interactions)
    for side, empty in about.empty_tiers().items():
        if empty:
            yield f"no {side} of {about.window}: {', '.join(empty)}"


def _cell(part: Slice, system: str, measure: str, report: Report, *, ends: bool, beyond: bool) -> str:
    estimate = part.estimates[system][measure]
    found = [one for one in part.beside if one.system == system and one.measure == measure]
    sign = _sign(found[0], report, beyond=beyond) if found and isinstance(found[0], Comparison) else ""
    return (estimate_shown(estimate) if ends else _mean(estimate)) + sign


def exposure_table(report: Report) -> Table:
    """How much of the recommendations goes to the most popular tenth, fifth and half of the catalogue."""
    rows = []
    first = next(iter(report.sections_of(Exposure).values()))
    nearest = (min(range(len(first.edges)), key=lambda place: abs(first.edges[place] - share)) for share in _SHARES)
    places = list(dict.fromkeys(nearest))
    for name, one in report.sections_of(Exposure).items():
        shares = [percent(sum(one.recommended[: place + 1]), 0) for place in places]
        rows.append([name, *shares, f"{one.distinct:,}"])
    taken = [percent(sum(first.taken[: place + 1]), 0) for place in places]
    rows.append(["(training)", *taken, f"of {first.catalogue:,}"])
    header = [f"top {percent(first.edges[place], 0)}" for place in places]
    return ["system", *header, "different items"], rows


def below_chance(report: Report, label: str) -> Iterator[str]:
    """Systems that do no better than an order by chance, and those that popularity keeps up with.

    Of a measure beyond accuracy nothing is said: a random order covers most.
    """
    if label in _beyond_accuracy(report):
        return
    means = {name: of[label].mean for name, of in report.estimates.items() if label in of}
    random = [name for name in report.systems if name in report.random_systems or _model(report, name) == "random"]
    floor = max((means[name] for name in random if name in means), default=None)
    for name, mean in means.items():
        if floor is not None and name not in random and mean <= floor:
            yield f"{name} ranks no better than chance: {label} {mean:.4f}, a random order has {floor:.4f}"
    if report.baseline is not None and _model(report, report.baseline) == "popularity":
        models = [one for one in report.comparisons if one.measure == label and one.system not in random]
        verdicts = {one.system: verdict_of(one, report.level) for one in models}
        worse = [name for name, verdict in verdicts.items() if verdict == "worse"]
        even = [name for name, verdict in verdicts.items() if verdict not in ("better", "worse")]
        if worse:
            yield f"worse than {report.baseline} on {label}: {', '.join(worse)}"
        if even:
            yield f"not shown to be better than {report.baseline} on {label}: {', '.join(even)}"


def _model(report: Report, system: str) -> str | None:
    model = report.fact(system, "model")
    return model if isinstance(model, str) else None
