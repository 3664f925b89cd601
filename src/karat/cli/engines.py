"""karat engines: which vector indexes there are, and what can be set of each."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.cli.options import JsonOption

if TYPE_CHECKING:
    from karat.engines import Engine, Param

__all__ = ["add_to"]

_EPILOG = (
    "Examples:\n\n"
    "  karat engines\n\n"
    "  karat engines pgvector\n\n"
    'A plan names an engine in a system of the kind index: engine = "faiss-hnsw", search = { ef_search = 64 }.'
)


def add_to(app: typer.Typer) -> None:
    app.command("engines", epilog=_EPILOG)(engines_command)


def engines_command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show what can be set of this one.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the vector indexes that a plan can try, or the parameters of one."""
    from karat.engines import ENGINES

    chosen = [name] if name is not None else ENGINES.names()
    found = {one: ENGINES.get(one) for one in chosen}
    if as_json:
        from json import dumps

        print(dumps({one: _facts(kind) for one, kind in found.items()}, indent=2, ensure_ascii=False))
        return
    from karat.reports.console import console, print_table

    if name is None:
        rows = [[one, kind.about, f"karat[{kind.extra}]" if kind.extra else "core"] for one, kind in found.items()]
        print_table(["engine", "what it is", "installed by"], rows, text=(0, 1, 2), folding=(1,))
        print("\nNext: karat engines NAME shows what can be set of one")
        return
    kind = found[name]
    console().print(f"{name}: {kind.about}\nsimilarities: {', '.join(kind.metrics)}\n")
    rows = [[part, one, str(param.usual), _about(param)] for part, one, param in _params(kind)]
    if not rows:
        print("There are no parameters to set.")
        return
    print_table(["in", "parameter", "usual", "what it does"], rows, text=(0, 1, 2, 3), folding=(3,))


def _params(kind: "type[Engine]") -> list[tuple[str, str, "Param"]]:
    parts = (("open", kind.opens), ("build", kind.builds), ("search", kind.searches))
    return [(part, name, param) for part, known in parts for name, param in known.items()]


def _about(param: "Param") -> str:
    choices = f" ({', '.join(param.choices)})" if param.choices else ""
    return f"{param.about}{choices}"


def _facts(kind: "type[Engine]") -> dict[str, Any]:
    facts: dict[str, Any] = {
        "about": kind.about,
        "extra": kind.extra,
        "metrics": list(kind.metrics),
        "approximate": kind.approximate,
        "exact_mode": kind.exact_mode,
        "native_filter": kind.native_filter,
    }
    for part, known in (("open", kind.opens), ("build", kind.builds), ("search", kind.searches)):
        facts[part] = {
            name: {
                "usual": param.usual,
                "about": param.about,
                "least": param.least,
                "most": param.most,
                "choices": list(param.choices),
                "more_finds_more": param.more_finds_more,
            }
            for name, param in known.items()
        }
    return facts
