"""Parameters of a registry's entries as options of a command."""

from abc import abstractmethod
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from typer.core import TyperOption

from rankjury.cli.shared.commands import PanelCommand

if TYPE_CHECKING:
    from rankjury.core.params import Param

_PANEL = "Parameters of the kind"


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
                rich_help_panel=_PANEL,
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
