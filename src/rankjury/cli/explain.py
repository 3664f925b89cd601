"""rankjury explain: one measure under each dialect and convention, to see why two tools differ."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankjury.cli.shared import options
from rankjury.cli.shared.completion import complete_measures
from rankjury.cli.shared.console import check_standard_input, print_json, say, show_progress, split_measures
from rankjury.errors import UsageError

if TYPE_CHECKING:
    from rankjury.evaluation.explain import ExplainedValue, Explanation

GROUP = "Evaluate"
ORDER = 4
EPILOG = "Examples:\n\n  rankjury explain qrels.txt bm25.trec -m ndcg@10"


def explain_command(
    gold: options.GoldArgument,
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run file, or NAME=FILE.")],
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            metavar="MEASURE",
            help="Measure to explain; default: ndcg@10.",
            autocompletion=complete_measures,
        ),
    ] = None,
    as_json: options.JsonOption = False,
    duplicates: options.DuplicatesOption = options.DuplicatesChoice.error,
    form: options.FormatOption = None,
    quiet: options.QuietOption = False,
) -> None:
    """Show why other tools compute another value.

    Computes a measure as each supported tool does, and with each convention changed alone, one row each. Shows which
    conventions cause the differences.
    """
    ((system, run),) = options.name_files([run]).items()
    check_standard_input([gold, run])
    asked = split_measures(measures or ["ndcg@10"])
    if len(asked) > 1:
        raise UsageError(f"found {len(asked)} measures: {', '.join(asked)}", expected="one to explain at a time")
    measure = asked[0]
    from rankjury.evaluation.explain import explain
    from rankjury.io.formats import read_gold, read_run

    with show_progress(f"Explaining {system}"):
        explanation = explain(read_gold(gold, form), read_run(run, form), measure, duplicates=duplicates.value)
    if as_json:
        rows = [_as_json(row) for row in explanation.rows]
        print_json({"schema": "rankjury.explain/1", "measure": measure, "rows": rows})
    else:
        _print(explanation, measure)


def _print(explanation: "Explanation", measure: str) -> None:
    from rankjury.reporting.console import console, print_rows

    console().print(f"{explanation.summary}\n")
    rows = explanation.rows
    tools = [[row.who, *row.cells, row.cause] for row in rows if row.kind != "convention"]
    measure = rows[0].measure if any(row.kind == "given" for row in rows) else measure
    print_rows(["tool", measure, "differs by", "n", "because of"], tools, text=(0, 4))
    conventions = [row for row in rows if row.kind == "convention"]
    moving = [
        [f"{row.who}: {row.common_name}" if row.common_name else row.who, *row.cells]
        for row in conventions
        if row.differs
    ]
    if moving:
        print()
        print_rows(["convention alone", measure, "differs by", "n"], moving)
    idle = ", ".join(row.who for row in conventions if not row.differs)
    if idle:
        console().print(f"\nNo difference here: {idle}")
    metric = rows[0].measure.partition("@")[0].partition("(")[0]
    say(f"Next: what the options mean: rankjury list metrics {metric}")


def _as_json(row: "ExplainedValue") -> dict[str, Any]:
    names = ("who", "kind", "measure", "mean", "n", "difference", "because", "error", "common_name")
    values = {name: getattr(row, name) for name in names}
    return {name: None if value != value else value for name, value in values.items()}  # NaN differs from itself
