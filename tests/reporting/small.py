"""A small report of three systems with losses, slices and targets, under any names: friendly ones, or hostile."""

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

import rankjury
from rankjury.evaluation.gate import Gate
from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import Section
from rankjury.reporting.sections import SectionBlock
from rankjury.reporting.tables import TextTable
from rankjury.stats.estimates import Estimate
from rankjury.stats.resampling import Resampling

QUICK = Resampling(resamples=200)
MEASURES = ["ndcg@5", "unjudged@5", "num_rel_ret"]
TARGETS = ["ndcg@5 >= 0.99", "ndcg@5 >= 0", "ndcg@5 drop <= 20 %"]
HOSTILE = [
    "<script>alert('1')</script>",
    '"><img src=x onerror=alert(1)>',
    "a|b\nc\r\nd",
    "![x](http://example.org/p.png) [y](javascript:alert(1))",
    "@somebody #123 gh-7 org/repo#5",
    "`code` **bold** _emphasis_ ~~gone~~ $x^2$",
    "\u202eright to left\u202c\u200f",
    "null\x00byte \x1b[31m",
    "👩\u200d🚀 &amp; &lt;b&gt;",
    "long " * 2_000,
    "</details></table></div>",
    "--- | ---",
]


def small(
    systems: tuple[str, ...] = ("old", "new", "third"), kinds: tuple[str, ...] = ("a", "b"), prefix: str = ""
) -> Report:
    """24 queries; ``prefix`` is put before the names of queries and items."""
    chance = random.Random(5)
    queries = [f"{prefix}q{place:02}" for place in range(24)]
    items = [f"{prefix}d{place}" for place in range(9)]
    gold = {query: {items[0]: 2, **{item: chance.randrange(3) for item in items[1:6]}} for query in queries}
    runs = {name: {query: chance.sample(items, 7) for query in queries} for name in systems}
    table = pl.DataFrame({"query_id": queries, "type": [kinds[place % len(kinds)] for place in range(24)]})
    return rankjury.compare(gold, runs, MEASURES, resampling=QUICK, slices=table, by="type")


def gated(report: Report) -> tuple[Gate, dict[str, Any]]:
    """The gate of the targets, and the form that holds it."""
    gate = rankjury.gate(report, *TARGETS)
    return gate, report.to_json() | {"gate": gate.to_json()}


def with_verdicts(report: Report) -> Report:
    """The report with the gate of the targets."""
    return report.with_sections(rankjury.gate(report, *TARGETS))


def with_estimates(report: Report, system: str, estimates: Mapping[str, Estimate]) -> Report:
    """The report with other estimates of a system."""
    changed = replace(report.systems[system], estimates={**report.systems[system].estimates, **estimates})
    return replace(report, systems={**report.systems, system: changed})


def with_only(report: Report, kind: type[Section], found: Mapping[str, Section]) -> Report:
    """The report with these sections of a kind, by system, and no others of it."""
    systems = {}
    for name, result in report.systems.items():
        others = {key: one for key, one in result.sections.items() if key != kind.name}
        systems[name] = replace(result, sections=others | ({kind.name: found[name]} if name in found else {}))
    return replace(report, systems=systems)


def tables_of(block: SectionBlock | None, *header: str) -> list[TextTable]:
    """The tables of a block whose first columns have these names."""
    return [] if block is None else [one for one in block.tables if one.header[: len(header)] == list(header)]
