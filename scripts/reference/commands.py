"""Page of commands: usage, arguments, options and examples of each, as ``rankjury COMMAND --help`` shows them."""

import re
from collections.abc import Iterator
from typing import Any

import typer
import typer.main

from rankjury.cli import app
from rankjury.cli.shared.commands import PANELS
from reference.markdown import anchor, code, fence, joined, page, sentence, table, text

_HELP_NAMES = ["-h", "--help"]
_OWN_PANELS = ("Arguments", "Options")


def commands_page() -> str:
    """Return the page."""
    root = typer.main.get_command(app)
    groups: dict[str, list[Any]] = {panel: [] for panel in PANELS}
    for command in commands_of(app):
        groups.setdefault(getattr(command, "rich_help_panel", None) or "Other", []).append(command)
    groups = {panel: commands for panel, commands in groups.items() if commands}
    rows = [
        [panel, _link(command.name), _summary(command)] for panel, commands in groups.items() for command in commands
    ]
    blocks = [_group(panel, commands) for panel, commands in groups.items()]
    return page(
        "Commands",
        "All commands with their arguments, options and examples, in the order of `rankjury --help`.",
        [
            "`rankjury COMMAND --help` prints the same. [Exit codes](exit-codes.md) are alike for all commands, "
            "[formats](formats.md) lists the files that they read and write, and [completion](completion.md) completes "
            "names in a shell.",
        ],
        table(["group", "command", "what it does"], rows),
        ["## Options of rankjury itself", "", *_options_table(_records(root)["Options"])],
        *blocks,
    )


def commands_of(application: Any) -> list[Any]:
    """Return the commands that the help lists."""
    commands = typer.main.get_command(application).commands  # type: ignore[attr-defined]
    return [command for command in commands.values() if not command.hidden]


def _link(name: str) -> str:
    return f"[`{name}`](#{anchor(_title(name))})"


def _title(name: str) -> str:
    return f"rankjury {name}"


def _summary(command: Any) -> str:
    return sentence((command.help or "").partition("\n")[0])


def _group(panel: str, commands: list[Any]) -> list[str]:
    return joined([[f"## {panel}"], *map(_command, commands)])


def _command(command: Any) -> list[str]:
    about, _, description = (command.help or "").partition("\n\n")
    blocks = [[f"### {_title(command.name)}"], [sentence(about)]]
    blocks += [[text(" ".join(paragraph.split()))] for paragraph in description.split("\n\n") if paragraph.strip()]
    blocks.append(fence("text", [_usage(command)]))
    for panel, records in _records(command).items():
        if panel == "Arguments":
            rows = [[code(name), *_described(about)] for name, about in records]
            blocks.append(table(["argument", "default", "what it is"], rows))
        else:
            blocks += [[f"**{panel}**"], _options_table(records)]
    return joined([*blocks, *_epilog(command.epilog or "")])


def _context(command: Any) -> Any:
    name = "rankjury" if command.name == "rankjury" else _title(command.name)
    return typer.Context(command, info_name=name, help_option_names=_HELP_NAMES)


def _usage(command: Any) -> str:
    context = _context(command)
    return " ".join([context.command_path, *command.collect_usage_pieces(context)])


def _records(command: Any) -> dict[str, list[tuple[str, str]]]:
    """Return the arguments and options with their help, panel by panel, those without a panel first."""
    context = _context(command)
    panels: dict[str, list[tuple[str, str]]] = {panel: [] for panel in _OWN_PANELS}
    for param in command.get_params(context):
        record = param.get_help_record(context)
        if record is not None and "--help" not in param.opts:
            own = "Arguments" if param.param_type_name == "argument" else "Options"
            panels.setdefault(getattr(param, "rich_help_panel", None) or own, []).append(record)
    return {panel: records for panel, records in panels.items() if records}


def _options_table(records: list[tuple[str, str]]) -> list[str]:
    rows = []
    for names, about in records:
        # "-o, --output FILE": names, then what follows them.
        spelled = re.match(r"(?:--?[\w-]+(?:, | / )?)+", names)
        flags, value = (spelled[0].strip(), names[spelled.end() :].strip()) if spelled else (names, "")
        rows.append([f"{code(flags)} {code(value)}".strip(), *_described(about)])
    return table(["option", "default", "what it does"], rows)


def _described(about: str) -> tuple[str, str]:
    """Return the default and the description of a help text, whose end may be ``[default: 0.95]``."""
    found = re.search(r"\s*\[(required|default: (?P<default>.*?)|.*)\]$", about, re.DOTALL)
    if found is None:
        return "", sentence(about)
    shown = about[: found.start()]
    if found["default"] is not None:
        return code(found["default"]), sentence(shown)
    return found[1], sentence(shown)


def _epilog(epilog: str) -> Iterator[list[str]]:
    """Yield the blocks of the text below the options: prose, and indented lines as code."""
    lines: list[str] = []
    for paragraph in [*epilog.split("\n\n"), ""]:
        if paragraph.startswith("  "):
            lines.append(paragraph[2:])
            continue
        if lines:
            is_shell = all("rankjury " in line for line in lines)
            yield fence("sh" if is_shell else "text", lines)
            lines = []
        if paragraph:
            yield [text(" ".join(paragraph.split()))]
