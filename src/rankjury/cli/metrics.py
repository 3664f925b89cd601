"""rankjury metrics: what can be measured, from the code itself."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankjury.cli.shared.console import print_json
from rankjury.cli.shared.options import JsonOption

if TYPE_CHECKING:
    from rankjury.measures.measure import Measure

GROUP = "Look up"
EPILOG = "Examples: rankjury metrics · rankjury metrics ndcg · rankjury metrics ndcg_cut_10"


def metrics_command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A metric, or any tool's name for one.")] = None,
    dialects: Annotated[bool, typer.Option("--dialects", help="List the dialects instead.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what exists: formula, options and aliases of every metric."""
    from rankjury.measures.dialects import (
        DIALECTS,
        HITS_NOTE,
        dialect_facts,
        dialects_table,
        metric_facts,
        metrics_table,
        resolve,
    )
    from rankjury.measures.measure import METRICS

    if as_json:
        chosen = [resolve(name).measure.metric] if name else list(METRICS)
        facts = [dialect_facts(d) for d in DIALECTS] if dialects else [metric_facts(metric) for metric in chosen]
        print_json(facts)
        return
    from rankjury.reporting.console import print_rows

    if dialects:
        print_rows(["dialect", "reproduces"], dialects_table(), text=(0, 1))
    elif name is None:
        print_rows(["metric", "also called", "what it is"], metrics_table(), text=(0, 1, 2))
        print(f"\n{HITS_NOTE}")
        print("One in full: rankjury metrics ndcg · dialects: rankjury metrics --dialects")
    else:
        _print_metric(resolve(name).measure, name)


def _print_metric(measure: "Measure", asked: str) -> None:
    from rankjury.measures.dialects import metric_facts
    from rankjury.reporting.console import console

    metric = measure.metric
    facts: dict[str, Any] = metric_facts(metric)
    out = console()
    out.print(f"{metric.name}: {metric.title}")
    out.print(f"\nFormula: {metric.formula}\n\nSource: {metric.source}\n")
    out.print("Options:")
    for option in facts["options"]:
        values = " | ".join(option["choices"]) if option["choices"] else "a number"
        default = "" if option["default"] is None else f" (default {option['default']})"
        out.print(f"  {option['name']}={values}{default}\n      {option['about']}")
    over = "One figure over all queries" if metric.whole else f"Over queries: {metric.aggregate}"
    out.print(f"\nCut-off: {metric.cut}. {over}.")
    for tool, names in facts["elsewhere"].items():
        out.print(f"In {tool}: {', '.join(names)}")
    for spelling, usual in facts["common_names"].items():
        out.print(f"{spelling} is what is usually called {usual}")
    if asked != metric.name:
        out.print(f"\n{asked} is read as {measure}")
