"""What drifted, in a terminal: the rule, the statistics beside it, rank churn, and what changed between the reports."""

from collections.abc import Iterator, Sequence
from json import dumps
from math import isfinite, isnan
from typing import Any

from karat.drift import Churn, Drift, Moved, Tested
from karat.hints import Hint
from karat.reports.cells import Cell, Style
from karat.reports.console import console, print_rows
from karat.reports.table import Table
from karat.wording import NOTHING, count, figure_shown, p_shown, percent

__all__ = [
    "DRIFTS_SCHEMA",
    "changes_told",
    "churn_table",
    "drifts_to_json",
    "moves_table",
    "print_drift",
    "print_drift_in_brief",
    "tested_table",
    "verdicts",
]

DRIFTS_SCHEMA = "karat.drifts/1"
_DECIMALS = 4
_WITHIN = {True: "within", False: "beyond", None: NOTHING}
_STYLES: dict[str, Style] = {"within": "pass", "beyond": "fail"}
_STANDINGS = {
    "same": "no difference",
    "noise": "within noise: the interval holds 0",
    "real": "real: the interval excludes 0",
    "unsure": "unsure: the test cannot show it",
}


def print_drift_in_brief(drift: Drift) -> None:
    """What changed and what came of it, without the tables."""
    screen = console()
    screen.print(f"Drift of {drift.system} since {drift.old_source}")
    churn = [] if drift.churn is None else [_churn_told(drift.churn)]
    for line in (*churn, *changes_told(drift), *verdicts(drift)):
        screen.print(f"  {line.strip()}")


def print_drift(drift: Drift, hints: Sequence[Hint] = ()) -> None:
    """All of it on standard output."""
    screen = console()
    screen.print(f"{drift.system} of {drift.source} beside {drift.old_system} of {drift.old_source}\n")
    header, rows = moves_table(drift)
    print_rows(header, [[*row[:4], Cell(row[4], _STYLES.get(row[4], ""))] for row in rows], text=(0, 4), wraps=(0,))
    if any(one.relative_to == "mean" for one in drift.moved):
        screen.print("* as a share of the mean: a spread next to 0 doubles by rounding alone")
    screen.print(f"\nThe same queries ({drift.tested[0].comparison.n:,}), before and after")
    print_rows(*tested_table([*drift.tested, *drift.quality]), text=(0, 4), wraps=(0, 4))
    if drift.churn is not None:
        screen.print(f"\n{_churn_told(drift.churn)}")
        if drift.churn.most:
            print_rows(*churn_table(drift.churn), text=(0, 3, 4), wraps=(0, 3, 4))
    screen.print()
    for line in (*changes_told(drift), *verdicts(drift), *(f"Hint: {hint.text}" for hint in hints)):
        screen.print(line)


def moves_table(drift: Drift) -> Table:
    """The figures of the rule."""
    rows = [[one.figure, _figure(one.old), _figure(one.new), _change(one), _WITHIN[one.within]] for one in drift.moved]
    return ["figure", "old", "new", "change", f"±{percent(drift.allowed)}"], rows


def _figure(value: float) -> str:
    return NOTHING if isnan(value) else figure_shown(value, _DECIMALS)


def _change(one: Moved) -> str:
    if isnan(one.change):
        return NOTHING
    text = _share(one.change) if isfinite(one.change) else "from 0"
    return f"{text}*" if one.relative_to == "mean" else text


def tested_table(tested: Sequence[Tested]) -> Table:
    """Means over the queries in common, the difference as a share, and how sure it is."""
    rows = []
    for one in tested:
        found, short = one.comparison, _STANDINGS[one.standing].partition(":")[0]
        rows.append([found.measure, f"{_figure(found.baseline_mean)} → {_figure(found.mean)}", _relative(one),
                     p_shown(found.p_holm, at_floor=found.at_floor), short])  # fmt: skip
    return ["mean of", "old → new", "change", "p", "the difference is"], rows


def _relative(one: Tested) -> str:
    """``+0.8 % [+0.5, +1.1]``"""
    found = one.comparison
    if found.relative is None:
        return NOTHING
    ends = found.relative_ci
    return _share(found.relative) + (f" [{', '.join(_signed(100 * end) for end in ends)}]" if ends else "")


def _churn_told(churn: Churn) -> str:
    changed = f"{count(round(churn.changed * churn.n), 'query', 'queries')} of {churn.n:,} changed"
    return (
        f"First {churn.k} items: overlap {figure_shown(churn.overlap, 3)}, RBO {figure_shown(churn.rbo, 3)}; {changed}"
        + (", most of all" if churn.most else "")
    )


def churn_table(churn: Churn) -> Table:
    """The queries whose first items changed most."""
    rows = [
        [one.query, figure_shown(one.overlap, 2), figure_shown(one.rbo, 2), " ".join(one.gone) or NOTHING,
         " ".join(one.new) or NOTHING]
        for one in churn.most
    ]  # fmt: skip
    return ["query", "overlap", "RBO", "gone", "new"], rows


def changes_told(drift: Drift) -> Iterator[str]:
    found = drift.circumstances
    if found.changed:
        yield f"Changed: {' · '.join(map(str, found.changed))}"
    elif not found.undeclared and not found.unknown:
        yield "Changed: nothing, by what is declared and what can be told"
    for sentence in found.undeclared:
        yield f"Undeclared: {sentence}"
    if found.unknown:
        yield f"Not known: whether {', '.join(found.unknown)} changed (declare versions under [meta] in the plan)"


def verdicts(drift: Drift) -> Iterator[str]:
    """The rule and the statistics, each in its own right."""
    moved = {one.figure: one for one in drift.moved}
    allowed = f"±{percent(drift.allowed)}"
    for one in drift.tested:
        label = one.comparison.measure.removesuffix(" mean")
        within = moved[f"{label} mean"].within
        joint = "and" if within is (one.standing in ("same", "noise")) else "but"
        rule = f"{_WITHIN[within]} {allowed}" if within is not None else f"not judged by {allowed}"
        yield f"{label}: {_relative(one)}, {rule}, {joint} {_STANDINGS[one.standing]}"
    worst = drift.worst
    if worst is None or not worst.change:
        moved_most = ": no figure moved"
    else:
        moved_most = f": {worst.figure} moved most, {_change(worst).rstrip('*')}"
    unsure = f"; an interval reaches past {allowed}" if drift.outcome == "unsure" else ""
    yield f"{drift.outcome.upper()}{moved_most}{unsure}"


def drifts_to_json(drifts: Sequence[Drift], *, strict: bool) -> str:
    """The verdict over all systems, and each."""
    outcomes = [one.outcome for one in drifts]
    verdict = next((one for one in ("fail", "unsure") if one in outcomes), "pass")
    form: dict[str, Any] = {"schema": DRIFTS_SCHEMA, "verdict": verdict, "strict": strict}
    return dumps(form | {"drifts": [one.to_json() for one in drifts]}, indent=2, ensure_ascii=False) + "\n"


def _share(share: float) -> str:
    return f"{_signed(100 * share)} %"


def _signed(value: float) -> str:
    rounded = round(value, 1)
    return f"{rounded:+.1f}".replace("-", "−") if rounded else "0.0"
