"""Doors: own entries load on use, plug-ins only on a miss, unknown names are answered with the nearest."""

import subprocess
import sys
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

import rankjury.core.registry
from rankjury.core.registry import Registry
from rankjury.errors import UnknownName, UsageError


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry[int]:
    """A registry whose home registers ``one`` when it is imported, and whose plug-in registers ``two``."""
    made: Registry[int] = Registry("number", home="home_of_numbers", group="rankjury.numbers")

    class Home(ModuleType):
        def __init__(self) -> None:
            super().__init__("home_of_numbers")

    def import_module(name: str) -> ModuleType:
        assert name == "home_of_numbers"
        made.add("one", 1)
        return Home()

    plugin = ModuleType("plugin_of_numbers")
    monkeypatch.setitem(sys.modules, "plugin_of_numbers", plugin)
    plugin.__getattr__ = lambda name: made.add("two", 2)  # type: ignore[method-assign]
    asked: list[str] = []

    def entry_points(group: str) -> list[EntryPoint]:
        asked.append(group)
        return [EntryPoint("two", "plugin_of_numbers:two", group)]

    monkeypatch.setattr(rankjury.core.registry, "import_module", import_module)
    monkeypatch.setattr(rankjury.core.registry, "entry_points", entry_points)
    made.asked = asked  # type: ignore[attr-defined]
    return made


def test_own_entries_need_no_plug_ins(registry: Registry[int]) -> None:
    assert registry.get("one") == 1
    assert registry.asked == []  # type: ignore[attr-defined]


def test_plug_ins_are_loaded_once_on_a_miss(registry: Registry[int]) -> None:
    assert registry.get("two") == 2
    assert registry.find("three") is None
    assert registry.asked == ["rankjury.numbers"]  # type: ignore[attr-defined]
    assert registry.names() == ["one", "two"]
    assert list(registry) == [1, 2]


def test_an_unknown_name_suggests_the_nearest(registry: Registry[int]) -> None:
    with pytest.raises(UnknownName, match=r"unknown number 'tow'\. Did you mean two") as caught:
        registry.get("tow")
    assert caught.value.suggestions[0] == "two"


def test_a_name_is_given_once(registry: Registry[int]) -> None:
    registry.add("mine", 5)
    with pytest.raises(UsageError, match="registered twice"):
        registry.register("mine")(6)


def test_engines_are_listed_by_module_whichever_was_imported_first() -> None:
    """Their registry is a subclass in one of their own modules, which is not the one that registers."""
    program = "import sys; from importlib import import_module; import_module(sys.argv[1]); " + (
        "from rankjury.retrieval.engines.base import ENGINES; print(*ENGINES.names())"
    )
    listed = {
        subprocess.run(
            [sys.executable, "-c", program, f"rankjury.retrieval.engines.{first}"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for first in ("base", "usearch")
    }
    assert len(listed) == 1, listed
