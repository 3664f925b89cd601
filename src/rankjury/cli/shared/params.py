"""Parameters of a registry's entries on the command line: as options, as tables and as JSON."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer.core import TyperOption

from rankjury.cli.shared.commands import PanelCommand
from rankjury.cli.shared.console import print_json

if TYPE_CHECKING:
    from rankjury.core.params import Param
    from rankjury.core.registry import Registry
    from rankjury.recsys.models import Recommender
    from rankjury.retrieval.engines.base import Engine

Entry = TypeVar("Entry", "Engine", "Recommender")

NameArgument = Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show what can be set of this one.")]


class ParamCommand(PanelCommand):
    """A command with an option for each parameter of a registry's entries.

    The registry is read when the command runs or shows its own help, never for ``rankjury --help``. The command's
    function takes a ``typer.Context``, whose ``obj`` holds the options that were given, by the parameter's name.
    """

    after = ""
    """The option after which those of the parameters are listed."""

    @abstractmethod
    def entries(self) -> "Mapping[str, Mapping[str, Param]]":
        """Return the parameters of each entry."""

    def without_default(self) -> Collection[str]:
        """Return the parameters whose default does not apply to the command: its help does not name it."""
        return ()

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all options, those of the parameters included."""
        fixed = super().get_params(ctx)
        place = [option.name for option in fixed].index(self.after) + 1
        return [*fixed[:place], *_param_options(self.entries(), self.without_default()), *fixed[place:]]

    def invoke(self, ctx: Any) -> Any:
        """Run the command's function with the given parameters in ``ctx.obj``."""
        declared = {name for params in self.entries().values() for name in params}
        ctx.obj = {name: value for name in declared if (value := ctx.params.pop(name)) is not None}
        return super().invoke(ctx)


def _param_options(entries: "Mapping[str, Mapping[str, Param]]", without_default: Collection[str]) -> list[TyperOption]:
    """Return an option for each parameter name; its help text says which entries have it and what it means to them."""
    meanings: dict[str, dict[Param, list[str]]] = {}
    for entry, params in entries.items():
        for name, param in params.items():
            meanings.setdefault(name, {}).setdefault(param, []).append(entry)
    options = []
    for name, by_param in meanings.items():
        types = {type(param.default) for param in by_param}
        texts = [
            f"{', '.join(kinds)}: {param.help}" + ("" if name in without_default else f" (default {param.default})")
            for param, kinds in by_param.items()
        ]
        options.append(
            TyperOption(
                param_decls=[name, f"--{name.replace('_', '-')}"],
                type=types.pop() if len(types) == 1 else float,
                metavar="|".join(dict.fromkeys(choice for param in by_param for choice in param.choices)) or None,
                help="; ".join(texts) + ".",
            )
        )
    return options


def typed(params: "Mapping[str, Param]", given: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with whole numbers where the parameter counts: an option that two entries share may be a float."""
    return {
        name: int(value)
        if isinstance(value, float) and value.is_integer() and name in params and type(params[name].default) is int
        else value
        for name, value in given.items()
    }


def list_or_show(
    command: str,
    registry: "Registry[type[Entry]]",
    name: str | None,
    facts: "Callable[[type[Entry]], dict[str, Any]]",
    note: "Callable[[type[Entry]], str]",
    params: "Callable[[type[Entry]], Mapping[str, Mapping[str, Param]]]",
    *,
    as_json: bool,
) -> None:
    """Print a line for each class of a registry, or the parameters of the one that is named; as JSON, its ``facts``.

    ``note`` returns a line on an entry, ``params`` its parameters by the part of its life in which they count.
    """
    kinds = {key: registry.get(key) for key in ([name] if name is not None else registry.names())}
    if as_json:
        print_json({key: facts(kind) for key, kind in kinds.items()})
        return
    from rankjury.reporting.console import console, print_rows

    if name is None:
        extras = [f"rankjury[{kind.extra}]" if kind.extra else "core" for kind in kinds.values()]
        rows = [[key, kind.description, extra] for (key, kind), extra in zip(kinds.items(), extras, strict=True)]
        print_rows([command.removesuffix("s"), "what it is", "installed by"], rows, text=(0, 1, 2), wraps=(1,))
        print(f"\nNext: rankjury {command} NAME shows what can be set of one")
        return
    kind = kinds[name]
    console().print(f"{name}: {kind.description}\n{note(kind)}\n", markup=False, highlight=False)
    parts = params(kind)
    rows = []
    for part, known in parts.items():
        for key, param in known.items():
            choices = f" ({', '.join(param.choices)})" if param.choices else ""
            rows.append([part, key, str(param.default) or '""', f"{param.help}{choices}"])
    if not rows:
        print("There are no parameters to set.")
        return
    first = 0 if len(parts) > 1 else 1
    columns = ["in", "parameter", "default", "what it does"][first:]
    print_rows(columns, [row[first:] for row in rows], text=range(len(columns)))


def params_as_json(known: Mapping[str, "Param"], *more: str) -> dict[str, dict[str, Any]]:
    """Return the parameters with their default, help and bounds, and ``more`` of their fields."""
    names = ("default", "help", "min", "max", "choices", *more)
    return {key: {name: getattr(param, name) for name in names} for key, param in known.items()}
