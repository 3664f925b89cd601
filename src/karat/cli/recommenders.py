"""karat recommenders: which models there are, and what can be set of each."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.cli.options import JsonOption

if TYPE_CHECKING:
    from karat.recommenders import Recommender
    from karat.settings import Param

__all__ = ["add_to"]

_EPILOG = (
    "Examples:\n\n"
    "  karat recommenders\n\n"
    "  karat recommenders als\n\n"
    'A plan names a model in a system of the kind recommender: model = "als", params = { factors = 64 }.'
)


def add_to(app: typer.Typer) -> None:
    app.command("recommenders", epilog=_EPILOG)(recommenders_command)


def recommenders_command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show what can be set of this one.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the recommenders that a plan can try, or the parameters of one."""
    from karat.recommenders import RECOMMENDERS

    chosen = [name] if name is not None else RECOMMENDERS.names()
    found = {one: RECOMMENDERS.get(one) for one in chosen}
    if as_json:
        from json import dumps

        print(dumps({one: _facts(kind) for one, kind in found.items()}, indent=2, ensure_ascii=False))
        return
    from karat.reports.console import console, print_table

    if name is None:
        rows = [[one, kind.about, f"karat[{kind.extra}]" if kind.extra else "core"] for one, kind in found.items()]
        print_table(["recommender", "what it is", "installed by"], rows, text=(0, 1, 2), folding=(1,))
        print("\nNext: karat recommenders NAME shows what can be set of one")
        return
    kind = found[name]
    console().print(f"{name}: {kind.about}\n{_installed(kind)}\n", markup=False, highlight=False)
    rows = [[one, str(param.usual) or '""', _about(param)] for one, param in kind.params.items()]
    if not rows:
        print("There are no parameters to set.")
        return
    print_table(["parameter", "usual", "what it does"], rows, text=(0, 1, 2), folding=(2,))


def _installed(kind: "type[Recommender]") -> str:
    if kind.extra is None:
        return "libraries: none beside karat's own"
    if not kind.is_installed():
        return f"not installed: pip install 'karat[{kind.extra}]'"
    return "libraries: " + ", ".join(f"{library} {version}" for library, version in kind.versions().items())


def _about(param: "Param") -> str:
    choices = f" ({', '.join(param.choices)})" if param.choices else ""
    return f"{param.about}{choices}"


def _facts(kind: "type[Recommender]") -> dict[str, Any]:
    return {
        "about": kind.about,
        "extra": kind.extra,
        "installed": kind.is_installed(),
        "libraries": kind.versions() if kind.is_installed() else dict.fromkeys(kind.libraries),
        "personal": kind.personal,
        "params": {
            name: {
                "usual": param.usual,
                "about": param.about,
                "least": param.least,
                "most": param.most,
                "choices": list(param.choices),
            }
            for name, param in kind.params.items()
        },
    }
