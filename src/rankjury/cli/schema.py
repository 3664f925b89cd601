"""rankjury schema: what a plan may say, for editors."""

from pathlib import Path
from typing import Annotated

import typer

from rankjury.cli.shared.console import check_folder, print_json, say
from rankjury.cli.shared.options import QuietOption
from rankjury.core.text import json_text

GROUP = "Look up"
EPILOG = (
    "Examples:\n\n"
    "  rankjury schema -o rankjury.schema.json\n\n"
    "A plan whose first line is #:schema rankjury.schema.json is then completed and checked by editors that know TOML "
    "schemas (Even Better TOML, taplo)."
)


def schema_command(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it here instead of printing it.")
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Print the JSON Schema of plan files."""
    if output is None:
        print_json(schema_text())
        return
    from rankjury.io.atomic import write_text

    check_folder(output)
    write_text(output, schema_text())
    say(f"Wrote {output}")


def schema_text() -> str:
    from rankjury.plan.schema import plan_schema

    return json_text(plan_schema())
