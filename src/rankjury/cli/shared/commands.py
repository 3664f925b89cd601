"""Help texts in panels, other spellings of options, and suggestions for unknown commands and options."""

from collections.abc import Iterable
from copy import copy
from difflib import get_close_matches
from textwrap import wrap
from typing import Any

from typer.core import TyperCommand, TyperGroup

from rankjury.errors import UsageError, shorten

PANELS = ("Evaluate", "Plans", "History", "Vectors", "Gold", "Look up")
"""The order in which the help lists the panels of commands (``GROUP`` of their modules); others come last."""
READING = "Reading"
CONVENTIONS = "Conventions"
RESAMPLING = "Resampling"
SPARK = "Spark and memory"

_SAME_COMMANDS = {"neighbors": "neighbours"}
"""Other spellings of commands, which work."""
OTHER_WORDS = {
    **dict.fromkeys(("metrics", "metric", "measures", "measure"), "list metrics"),
    **dict.fromkeys(("dialects", "dialect", "tools"), "list dialects"),
    **dict.fromkeys(("engines", "engine", "indexes"), "list engines"),
    **dict.fromkeys(("recommenders", "recommender", "models"), "list recommenders"),
    **dict.fromkeys(("formats", "format"), "list formats"),
    **dict.fromkeys(("vectors", "embeddings"), "list vectors"),
    "schema": "list schema",
    **dict.fromkeys(("score", "eval"), "evaluate"),
    **dict.fromkeys(("check", "targets"), "gate"),
    **dict.fromkeys(("serve", "ui", "web", "browse"), "view"),
    "report": "show -o report.html",
    "diff-runs": "diff",
    **dict.fromkeys(("fuse", "fusion", "rrf"), "tune"),
    **dict.fromkeys(("search", "knn", "nearest"), "neighbours"),
    **dict.fromkeys(("encode", "vectorize"), "embed"),
    **dict.fromkeys(("bench", "benchmark", "grid"), "sweep"),
    **dict.fromkeys(("new", "plan"), "init"),
    **dict.fromkeys(("runs", "ls", "archive"), "history"),
    **dict.fromkeys(("delete", "remove", "clean"), "prune"),
    **dict.fromkeys(("example", "examples"), "demo"),
    "help": "--help",
    "version": "--version",
}
"""Words that people type for a command of another name, and that command."""
_NOTES = {
    "fusion": "rankjury.fuse in Python and a system of the kind fusion in a plan fuse runs; tune finds the weights.",
    "report": "rankjury evaluate and compare write the report of runs: -o report.html.",
}
_NOTES |= dict.fromkeys(("fuse", "rrf"), _NOTES["fusion"])

_SAME_OPTIONS = {
    **dict.fromkeys(("--measures", "--metric", "--metrics"), "--measure"),
    **dict.fromkeys(("--k", "--k-values", "--cutoff", "--cutoffs"), "-k"),
    **dict.fromkeys(("--out",), "--output"),
    **dict.fromkeys(("--systems",), "--system"),
    **dict.fromkeys(("--slice",), "--slices"),
    **dict.fromkeys(("--normalize",), "--normalise"),
    **dict.fromkeys(("--no-normalize",), "--no-normalise"),
}
"""Other spellings of options, which work where a command has the option and none of the other spelling."""
_OTHER_OPTIONS = {
    **dict.fromkeys(("--metric", "--similarity", "--space"), "--distance"),
    **dict.fromkeys(("--top-k", "--top", "--topk", "--depth"), "-k"),
    **dict.fromkeys(("--folder", "--dir", "--out-dir", "--output-dir", "--file"), "--output"),
    **dict.fromkeys(("--conf", "--confidence", "--alpha"), "--level"),
    **dict.fromkeys(("--bootstrap", "--samples", "--iterations"), "--resamples"),
    **dict.fromkeys(("--threshold", "--relevance-level", "--min-rel"), "--rel"),
    **dict.fromkeys(("--tool",), "--dialect"),
    **dict.fromkeys(("--rating", "--ratings", "--stars"), "--value"),
    **dict.fromkeys(("--timestamp", "--timestamps"), "--time"),
    **dict.fromkeys(("--fail",), "--strict"),
    **dict.fromkeys(("--verbose",), "--debug"),
    **dict.fromkeys(("--silent",), "--quiet"),
}
"""Words that people type for an option of another name, and that option."""
_OPTIONS_ELSEWHERE = {
    "--baseline": "rankjury compare compares with a baseline.",
    **dict.fromkeys(("--target", "--targets", "--fail-under"), "rankjury gate checks targets."),
}
"""Options that people expect of a command, and the command that has them."""


class PanelCommand(TyperCommand):
    """A command whose help shows its options in panels, and that knows other spellings of options."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the usage line's parts; required arguments without braces."""
        return [piece[1:-1] if piece[:1] == "{" else piece for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, those of a panel (``rich_help_panel``) under its heading."""
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                default = "Arguments" if param.param_type_name == "argument" else "Options"
                panels.setdefault(getattr(param, "rich_help_panel", None) or default, []).append(record)
        for panel, records in panels.items():
            if records:
                with formatter.section(panel):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the text below the options: prose filled, indented lines one below the other, to be copied."""
        before = ""
        for paragraph in (self.epilog or "").split("\n\n"):
            if not (paragraph.startswith("  ") and before.startswith("  ")):
                formatter.write_paragraph()
            if paragraph.startswith("  "):
                lines = wrap(paragraph.strip(), formatter.width - 6, break_long_words=False, break_on_hyphens=False)
                formatter.write("    " + " \\\n      ".join(lines) + "\n")
            elif paragraph:
                with formatter.indentation():
                    formatter.write_text(paragraph)
            before = paragraph

    def make_parser(self, ctx: Any) -> Any:
        """Return the parser of the options and of their other spellings."""
        parser = super().make_parser(ctx)
        options = {name: param for param in self.get_params(ctx) for name in (*param.opts, *param.secondary_opts)}
        for word, name in _SAME_OPTIONS.items():
            if name in options and word not in options:
                twin = copy(options[name])
                on = name in twin.opts
                twin.opts, twin.secondary_opts = ([word], []) if on else ([], [word])
                twin.add_to_parser(parser, ctx)
        return parser


class CommandGroup(TyperGroup):
    """The commands with a panel of the help for each group, and suggestions for unknown ones."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the name and the first sentence of each command, panel by panel."""
        longest = max(map(len, self.commands))
        panels: dict[str, list[tuple[str, str]]] = {panel: [] for panel in PANELS}
        for name, command in self.commands.items():
            panel = getattr(command, "rich_help_panel", None) or "Other"
            text = command.get_short_help_str(formatter.width - 6 - longest)
            panels.setdefault(panel, []).append((name.ljust(longest), text))
        for panel, rows in panels.items():
            if rows:
                with formatter.section(panel):
                    formatter.write_dl(rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of the first argument; for an unknown one an error that names the right one."""
        word = args[0]
        name = word.lower().replace("_", "-")
        name = _SAME_COMMANDS.get(name, name)
        command = self.get_command(ctx, name)
        if command is not None:
            return name, command, args[1:]
        raise unknown_command(word, self.commands)


def unknown_command(word: str, known: Iterable[str]) -> UsageError:
    """Return the error for a word that is not a command, with the command that is meant."""
    name = word.lower().replace("_", "-")
    other = OTHER_WORDS.get(name) or OTHER_WORDS.get(name.replace("-", "_"))
    words = {candidate: candidate for candidate in known} | _SAME_COMMANDS
    near = [other] if other else list(dict.fromkeys(words[found] for found in get_close_matches(name, words, n=3)))
    if not near and (found := get_close_matches(name, OTHER_WORDS, n=1)):
        near = [OTHER_WORDS[found[0]]]
    suggested = f"Did you mean {' or '.join(f'rankjury {command}' for command in near)}?" if near else ""
    note = _NOTES.get(name, "" if near else "rankjury --help lists the commands.")
    return UsageError(f"unknown command {shorten(word, quoted=True)}", hint=" ".join(filter(None, (suggested, note))))


def parser_error(error: Any) -> UsageError:
    """Return the error for arguments that the parser refuses, with the option or the choice that is meant."""
    message = " ".join(error.format_message().split()).rstrip(".")
    context, chosen = getattr(error, "ctx", None), getattr(error, "param", None)
    if context is None:
        return UsageError(message[:1].lower() + message[1:])
    if type(error).__name__ == "NoSuchOption":
        return _unknown_option(error.option_name, context)
    hint = " ".join(context.get_usage().split())
    choices = getattr(getattr(chosen, "type", None), "choices", None)
    if choices and (near := get_close_matches(error.message.partition(" is not one of ")[0].strip("'"), choices, n=1)):
        hint = f"Did you mean {near[0]}?"
    return UsageError(message[:1].lower() + message[1:], hint=hint)


def _unknown_option(word: str, context: Any) -> UsageError:
    known = [name for param in context.command.get_params(context) for name in (*param.opts, *param.secondary_opts)]
    named = [_OTHER_OPTIONS[word]] if _OTHER_OPTIONS.get(word) in known else []
    near = named or get_close_matches(word, [name for name in known if name.startswith("--")], n=2, cutoff=0.7)
    hint = _OPTIONS_ELSEWHERE.get(word, f"{context.command_path} --help lists the options.")
    if near:
        hint = f"Did you mean {' or '.join(near)}?"
    return UsageError(f"unknown option {shorten(word)} of {context.command_path}", hint=hint)
