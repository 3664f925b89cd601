"""The tables of docs/why-different.md are those of the dialects."""

import re
from importlib.util import module_from_spec, spec_from_file_location

import pytest

from rankjury.measures.dialects import DIALECTS, Dialect, resolve
from rankjury.measures.measure import Measure
from tests.paths import ROOT

_SPEC = spec_from_file_location("make_why_different", ROOT / "scripts" / "make_why_different.py")
assert _SPEC is not None and _SPEC.loader is not None
page = module_from_spec(_SPEC)
_SPEC.loader.exec_module(page)
TEXT = page.PAGE.read_text(encoding="utf-8")
REGIONS = list(page._REGION.finditer(TEXT))


def title(region: re.Match[str]) -> str:
    return f"{region['option']} {region['measure'] or 'of all'}"


def tools_of(lines: list[str]) -> dict[str, list[str]]:
    """Return the measures in brackets by tool, of a table of values; an empty list stands for all measures."""
    found: dict[str, list[str]] = {}
    for line in lines[2:]:
        for tool, _, some in re.findall(r"([\w-]+)( \(([^)]*)\))?(?:, |$)", line.split("|")[2].strip()):
            found.setdefault(tool, []).extend(some.split(", ") if some else [])
    return found


def test_the_page_is_current() -> None:
    assert page.filled(TEXT) == TEXT, "run python scripts/make_why_different.py"


def test_a_changed_table_is_noticed() -> None:
    assert page.filled(TEXT.replace("| `ranx` | linear |", "| `ranx` | exp |")) == TEXT


def test_every_convention_of_the_overview_has_a_table() -> None:
    shown = {(region["option"], region["measure"]) for region in REGIONS}
    for _, measures, option in page.OVERVIEW:
        assert (option, measures[0] if len(measures) == 1 else None) in shown
    assert (None, None) in shown


def test_every_dialect_has_a_row_in_the_overview() -> None:
    names = [line.split("|")[1].strip() for line in page.overview()[2:]]
    assert names == ["`rankjury`", *(f"`{name}`" for name in DIALECTS.names())]


@pytest.mark.parametrize("region", [region for region in REGIONS if region["option"]], ids=title)
def test_every_tool_has_a_value_of_each_measure_once(region: re.Match[str]) -> None:
    option, measure = region["option"], region["measure"]
    found = tools_of(page.by_value(option, measure))
    for tool in page.tools():
        has = page.measures_of(tool, page.MEASURES if measure is None else [measure])
        assert (tool in found) == bool(has)
        if found.get(tool):
            assert sorted(found[tool]) == sorted(spelling.partition("@")[0] for spelling in has)


@pytest.mark.parametrize("region", [region for region in REGIONS if region["measure"]], ids=title)
def test_spelled_values_are_measures(region: re.Match[str]) -> None:
    table = "\n".join(page.by_value(*region.group("option", "measure")))
    spelled = re.findall(r"^\| `([^`]*@\d+)` \| (.*) \|$", table, re.MULTILINE)
    assert spelled
    for spelling, tools in spelled:
        value = Measure.parse(spelling)[region["option"]]
        for tool in set(tools.split(", ")) & set(DIALECTS.names()):
            assert resolve(region["measure"], tool).measure[region["option"]] == value


def test_a_new_dialect_is_in_every_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dialects are data: nothing but the registry names them."""
    new = Dialect("new", "a tool that divides recall by k", {"ties": "order"}, {"recall": {"over": "k"}})
    monkeypatch.setitem(DIALECTS._entries, "new", new)
    assert "| `new` | linear | k | relevant | **k** | k | **order** |" in "\n".join(page.overview())
    assert "alfa, new" in page.by_value("over", "recall@10")[3]
