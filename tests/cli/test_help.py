"""Help texts at 80 columns, other spellings of commands and options, and suggestions for unknown ones."""

import re
from importlib import import_module
from pkgutil import iter_modules
from typing import get_args

import pytest

import rankjury.cli
from rankjury.cli.shared.commands import PANELS, unknown_command
from rankjury.io.formats import FORMATS
from rankjury.measures.measure import COMMON_OPTIONS
from rankjury.retrieval.knn.similarity import METRICS
from rankjury.stats.resampling import IntervalMethod
from tests.cli.conftest import Rankjury
from tests.cli.support import GOLD, RUN, check_failure, put

MODULES = [module.name for module in iter_modules(rankjury.cli.__path__) if not module.ispkg]
NAMES = [name.replace("_", "-") for name in MODULES]
COMMON = {
    "Evaluate": ["evaluate", "compare", "gate", "explain"],
    "Plans": ["init", "run", "sweep", "tune"],
    "History": ["history", "show", "diff", "drift", "view", "baseline", "prune", "log"],
    "Vectors": ["neighbours", "embed", "agree"],
    "Gold": ["label", "keywords", "audit", "split", "pin"],
    "Look up": ["list", "demo", "convert"],
}


def panels_of(text: str) -> dict[str, list[str]]:
    """The first words of the lines of each panel of a help text."""
    panels: dict[str, list[str]] = {}
    for line in text.splitlines():
        heading = re.fullmatch(r"(\S.*):", line)
        if heading is not None:
            lines = panels.setdefault(heading[1], [])
        elif panels and re.match(r"  \S", line):
            lines.append(line.split()[0])
    return panels


def test_commands_are_in_panels_with_the_common_ones_first(rankjury: Rankjury) -> None:
    panels = panels_of(rankjury("--help").out)
    assert [name for name in panels if name != "Options"] == list(PANELS)
    assert {name: panels[name] for name in PANELS} == COMMON
    assert sorted(name for panel in PANELS for name in panels[panel]) == sorted(NAMES)


def test_no_description_is_cut(rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = rankjury("--help").out
    assert not re.search(r"[a-z,:](\.\.\.|…)", text)
    for module in MODULES:
        function = getattr(import_module(f"rankjury.cli.{module}"), f"{module}_command")
        first = str(function.__doc__).partition("\n")[0]
        assert first in text, module
        assert len(first) <= 60, first


@pytest.mark.parametrize("name", ["", *NAMES])
def test_no_line_is_wider_than_the_terminal(name: str, rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = rankjury(*([name] if name else []), "--help")
    assert shown.code == 0
    assert max(map(len, shown.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("metrics", "rankjury list metrics"),
        ("measures", "rankjury list metrics"),
        ("dialects", "rankjury list dialects"),
        ("engines", "rankjury list engines"),
        ("recommenders", "rankjury list recommenders"),
        ("models", "rankjury list recommenders"),
        ("formats", "rankjury list formats"),
        ("schema", "rankjury list schema"),
        ("vectors", "rankjury list vectors"),
        ("score", "evaluate"),
        ("eval", "evaluate"),
        ("serve", "view"),
        ("ui", "view"),
        ("report", "show"),
        ("report", "evaluate"),
        ("fuse", "tune"),
        ("fuse", "rankjury.fuse"),
        ("check", "gate"),
        ("diff-runs", "diff"),
        ("diff_runs", "diff"),
        ("evalute", "evaluate"),
        ("comapre", "compare"),
        ("gates", "gate"),
        ("neighborss", "neighbours"),
        ("dialekts", "list dialects"),
    ],
)
def test_an_unknown_command_names_the_right_one(word: str, meant: str, rankjury: Rankjury) -> None:
    check_failure(rankjury(word, "x"), 2, repr(word), meant)


def test_a_word_without_any_likeness_names_the_help() -> None:
    assert "rankjury --help" in str(unknown_command("xyzzy", NAMES))


def test_the_american_spelling_works(rankjury: Rankjury) -> None:
    assert rankjury("neighbors", "--help").out == rankjury("neighbours", "--help").out.replace(
        "Usage: rankjury neighbours", "Usage: rankjury neighbours"
    )


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("gate", "--treshold", "1"), "--help"),
        (("evaluate", "--dialekt", "x"), "--dialect"),
        (("evaluate", "--min-rel", "2"), "--rel"),
        (("compare", "--confidence", "0.9"), "--level"),
        (("run", "--output-dir", "x"), "--output"),
    ],
)
def test_an_unknown_option_names_the_right_one(arguments: tuple[str, ...], meant: str, rankjury: Rankjury) -> None:
    check_failure(rankjury(*arguments), 2, arguments[1], arguments[0], meant)


def choices_of(option: str, text: str) -> list[str]:
    """The choices that a help text shows for an option."""
    shown = re.search(rf"{option} ?<?([\w|+-]+)>?", text)
    assert shown is not None, option
    return shown[1].split("|")


def test_choices_are_those_of_the_code(rankjury: Rankjury) -> None:
    options = {option.name: option.choices for option in COMMON_OPTIONS}
    text = rankjury("evaluate", "--help").out
    for name in ("ties", "missing", "empty"):
        assert choices_of(f"--{name}", text) == list(options[name])
    assert choices_of("--interval", text) == list(get_args(IntervalMethod))
    assert choices_of("--format", text) == choices_of("--gold-format", text) == list(FORMATS)
    assert choices_of("--distance", rankjury("neighbours", "--help").out) == list(METRICS)


@pytest.mark.parametrize(
    ("option", "given", "meant"),
    [
        ("--ties", "id_desc", "id-desc"),
        ("--missing", "zeros", "zero"),
        ("--empty", "skp", "skip"),
        ("--interval", "bac", "bca"),
        ("--format", "jsn", "json"),
        ("--dialect", "trec_evl", "trec_eval"),
    ],
)
def test_a_wrong_choice_names_the_right_one(option: str, given: str, meant: str, rankjury: Rankjury) -> None:
    put("g.qrels", GOLD)
    put("run.trec", RUN)
    check_failure(rankjury("evaluate", "g.qrels", "run.trec", option, given), 2, repr(given), meant)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_offered(shell: str, rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda *_: (shell, f"/bin/{shell}"))
    shown = rankjury("--show-completion")
    assert shown.code == 0 and f"complete_{shell}" in shown.out
