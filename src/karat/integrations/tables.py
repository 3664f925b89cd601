"""A report as tables of values, all digits, for tools that draw and filter tables themselves."""

from collections.abc import Iterator, Mapping
from typing import Any

from karat.reports.charts.from_form.reading import less_is_better
from karat.reports.digest import names_in

__all__ = ["Values", "tables_of"]

Form = Mapping[str, Any]
Values = tuple[list[str], list[list[Any]]]
"""Columns, and rows of what may stand in JSON; undefined is None."""
_MOST_ROWS = 10_000
_MOST_QUERIES = 200
_OF_ESTIMATES = ["system", "measure", "mean", "ci_low", "ci_high", "n"]
_OF_COMPARISONS = ["difference", "difference_ci_low", "difference_ci_high", "p"]


def tables_of(form: Form) -> dict[str, Values]:
    """By name: every system under every measure; the same in slices; the queries that went worst."""
    compared = _by_name(form)
    headline = [
        [
            *_estimate(system, label, entry),
            *_comparison(compared.get((system, label))),
            entry.get("convention") or label,
        ]
        for system, label, entry in _entries(form)
    ]
    slices = [
        [part["slice"], part.get("of"), *_estimate(system, label, entry), *_comparison(beside.get((system, label)))]
        for part in form.get("slices") or ()
        for beside in [_by_name(part)]
        for system, label, entry in _entries(part)
    ]
    found: dict[str, Values] = {"headline": ([*_OF_ESTIMATES, *_OF_COMPARISONS, "convention"], headline)}
    if slices:
        found["slices"] = (["slice", "of", *_OF_ESTIMATES, *_OF_COMPARISONS], slices[:_MOST_ROWS])
    worst = sorted(_worst(form), key=lambda row: (row[-1], row[0], row[2]))
    if worst:
        columns = ["system", "measure", "query_id", "text", "baseline", "value", "difference"]
        found["worst_queries"] = (columns, [row[:-1] for row in worst[:_MOST_QUERIES]])
    return found


def _by_name(part: Form) -> dict[tuple[str, str], Form]:
    """What was compared, or the gaps to the other queries where nothing was."""
    found = part.get("comparisons") or part.get("gaps") or ()
    return {(one["system"], one["measure"]): one for one in found}


def _entries(part: Form) -> Iterator[tuple[str, str, Form]]:
    for system, one in part["systems"].items():
        for label, entry in one["measures"].items():
            yield system, label, entry


def _estimate(system: str, label: str, entry: Form) -> list[Any]:
    low, high = entry.get("ci") or (None, None)
    return [system, label, entry.get("mean"), low, high, entry.get("n")]


def _comparison(one: Form | None) -> list[Any]:
    if one is None:
        return [None] * len(_OF_COMPARISONS)
    low, high = one.get("ci") or (None, None)
    return [one.get("difference"), low, high, one.get("p_holm")]


def _worst(form: Form) -> Iterator[list[Any]]:
    """Losses against the baseline; without one, failures kept as examples. The last cell is for sorting."""
    texts = names_in(form).queries
    for one in form.get("changes") or ():
        sign = -1.0 if less_is_better(form, one["measure"]) else 1.0
        if sign * one["difference"] < 0:
            query = one["query_id"]
            figures = [one["baseline"], one["value"], one["difference"], sign * one["difference"]]
            yield [one["system"], one["measure"], query, texts.get(query), *figures]
    if form.get("changes"):
        return
    label = (form.get("headline") or [None])[0]
    for system, held in form["systems"].items():
        for one in held.get("examples") or ():
            if one["kind"] == "failure":
                yield [system, label, one["query"], one.get("text"), None, one["score"], None, one["score"]]
