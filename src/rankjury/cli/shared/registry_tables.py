"""Tables of a registry's entries and their parameters, for rankjury engines and rankjury recommenders."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rankjury.core.params import Param

NameArgument = Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show what can be set of this one.")]


def print_entries(command: str, kinds: Mapping[str, tuple[str, str | None]]) -> None:
    """Print a line for each registered class: its name, its description and the extra that installs its library."""
    from rankjury.reporting.console import print_rows

    rows = [[name, text, f"rankjury[{extra}]" if extra else "core"] for name, (text, extra) in kinds.items()]
    print_rows([command.removesuffix("s"), "what it is", "installed by"], rows, text=(0, 1, 2), wraps=(1,))
    print(f"\nNext: rankjury {command} NAME shows what can be set of one")


def print_params(name: str, about: str, told: str, parts: Mapping[str, Mapping[str, "Param"]]) -> None:
    """What can be set of one, by the part of its life in which it counts; one part needs no name."""
    from rankjury.reporting.console import console, print_rows

    console().print(f"{name}: {about}\n{told}\n", markup=False, highlight=False)
    rows = [
        [part, one, str(param.default) or '""', _about(param)]
        for part, known in parts.items()
        for one, param in known.items()
    ]
    if not rows:
        print("There are no parameters to set.")
        return
    columns: Sequence[str] = ["in", "parameter", "default", "what it does"]
    first = 0 if len(parts) > 1 else 1
    width = len(columns) - first
    print_rows(columns[first:], [row[first:] for row in rows], text=range(width), wraps=(width - 1,))


def _about(param: "Param") -> str:
    choices = f" ({', '.join(param.choices)})" if param.choices else ""
    return f"{param.help}{choices}"


def params_as_json(known: Mapping[str, "Param"]) -> dict[str, dict[str, Any]]:
    return {
        name: {
            "default": param.default,
            "help": param.help,
            "min": param.min,
            "max": param.max,
            "choices": list(param.choices),
        }
        for name, param in known.items()
    }
