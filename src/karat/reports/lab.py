"""What was found of indexes, in a terminal: recall, loss, latency, filters, stability, examples, hints."""

from collections.abc import Iterator
from typing import Any

from karat.drift import Drift
from karat.examples import Example, ExampleItem, Examples
from karat.hints import Hints
from karat.indexed import Indexed
from karat.report import Report
from karat.reports.console import console, print_first_fitting, print_rows
from karat.reports.drift import print_drift_in_brief
from karat.reports.indexes import filters_table, index_lines, index_table, latency_table, stability_table, without

__all__ = ["example_lines", "print_lab"]

_EXAMPLES_SHOWN = 5
_ITEMS_SHOWN = 3
_LONGEST_NAME = 40


def print_lab(report: Report) -> None:
    """The indexes table by table, then what to make of them."""
    screen = console()
    if report.sections_of(Indexed):
        table = index_table(report)
        narrower = [without(table, 4), without(table, 1, 4), without(table, 1, 4, 5)]
        print_first_fitting([table, *narrower], ("index", "engine"))
        for line in index_lines(report):
            screen.print(line)
        if any(one.latency for one in report.sections_of(Indexed).values()):
            screen.print()
            print_first_fitting([latency_table(report), latency_table(report, intervals=False)], ("index", "asked"))
            screen.print(_clock_told(report))
        if any(one.filters for one in report.sections_of(Indexed).values()):
            screen.print()
            print_rows(*filters_table(report), text=(0, 1), wraps=(0, 1))
        screen.print()
    print_rows(*stability_table(report), text=(0,), wraps=(0,))
    for drift in report.sections_of(Drift).values():
        screen.print()
        print_drift_in_brief(drift)
    if report.sections_of(Drift):
        screen.print("All of it: karat drift NEW OLD")
    for line in example_lines(report):
        screen.print(line)
    for line in _hints(report):
        screen.print(line)


def _hints(report: Report) -> Iterator[str]:
    """One a pattern: what shows in several systems is told of the last, which is the one under trial."""
    by_pattern: dict[str, list[Any]] = {}
    for hint in report.section(Hints) or ():
        by_pattern.setdefault(hint.figure, []).append(hint)
    for found in by_pattern.values():
        others = ", ".join(dict.fromkeys(one.system for one in found[:-1]))
        yield f"Hint: {found[-1]}" + (f" (so with {others})" if others else "")


def _clock_told(report: Report) -> str:
    timed = [one.latency for one in report.sections_of(Indexed).values() if one.latency is not None]
    loops = [loop for one in timed for loop in (one.index_only or one.end_to_end, one.end_to_end, *one.closed)]
    overhead = max(loop.overhead_us for loop in loops)
    collected = sum(loop.gc_ms for loop in loops)
    whole = " or ".join(dict.fromkeys(" + ".join(one.includes) for one in timed))
    return (
        f"each query alone, {loops[0].n:,} times in all; end to end: {whole}; "
        f"the clock itself {overhead:.1f} µs a query; garbage collection {collected:.1f} ms in all"
    )


def example_lines(report: Report) -> Iterator[str]:
    """The best and worst queries of the last system, with the first items of each."""
    if not report.sections_of(Examples):
        return
    system, found = list(report.sections_of(Examples).items())[-1]
    for kind, title in (("success", "Best"), ("failure", "Worst")):
        chosen = [one for one in found if one.kind == kind][:_EXAMPLES_SHOWN]
        if chosen:
            yield f"\n{title} queries of {system}:"
            yield from (f"  {_told(one)}" for one in chosen)


def _told(one: Example) -> str:
    text = one.text
    name = f"{one.query} “{text}”" if text else one.query
    items = ", ".join(f"{_item(item)} ({item.grade:g})" for item in one.found[:_ITEMS_SHOWN])
    lacking = one.missed[:1] if one.kind == "failure" else ()
    missed = "".join(f"; missed {_item(item)} ({item.grade:g})" for item in lacking)
    return f"{one.score:.3f}  {name}: {items}{missed}"


def _item(item: ExampleItem) -> str:
    name = item.name or item.id
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1].rstrip()}…"
