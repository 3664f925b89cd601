"""Verdicts as JUnit XML, Markdown, JSON and on the console, with names that would break them."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings, strategies as st

from rankjury.errors import UsageError
from rankjury.evaluation.gate import Gate, Verdict
from rankjury.evaluation.targets import Target, parse_target
from rankjury.reporting.console import print_gate
from rankjury.reporting.tables.verdicts import verdicts_table
from rankjury.reporting.writers.gate import (
    check_gate_suffix,
    gate_to_json,
    gate_to_junit,
    gate_to_markdown,
    write_gates,
)

NASTY = "a \"b\" <c> & 'd' | \\ \x01\x1b\x00 é"


def verdict(outcome: Any, text: str = "ap >= 0.5", system: str = "new", note: str = "", **chosen: str) -> Verdict:
    target = parse_target(text, chosen)
    return Verdict(target, system, outcome, 0.512, (0.41, 0.63), 1234, note)


GATE = Gate(
    (
        verdict("pass"),
        verdict("fail", "ap drop <= 0.005", name=NASTY, note="few queries"),
        verdict("unsure", "rr > 10 %", slice="lang=fr", note="few queries"),
        verdict("fail", system="x<y>&"),
    ),
    "r<1>.json",
    "old",
)


def cells(line: str) -> list[str]:
    """The cells of a row of Markdown; bars in names are escaped as character references."""
    return [cell.strip() for cell in line.split("|")][1:-1]


class TestJUnit:
    def test_counts_and_cases(self) -> None:
        root = ElementTree.fromstring(gate_to_junit(GATE))
        assert root.tag == "testsuites" and root.attrib["name"] == "rankjury gate"
        (suite,) = root
        for element in (root, suite):
            counts = {key: element.attrib[key] for key in ("tests", "failures", "errors", "skipped")}
            assert counts == {"tests": "4", "failures": "2", "errors": "0", "skipped": "1"}
        assert suite.attrib["name"] == "r<1>.json"
        assert [[child.tag for child in case] for case in suite] == [[], ["failure"], ["skipped"], ["failure"]]
        assert [case.attrib["classname"] for case in suite] == ["new", "new", "new", "x<y>&"]

    def test_names_and_messages(self) -> None:
        (suite,) = ElementTree.fromstring(gate_to_junit(GATE))
        assert suite[1].attrib["name"] == "a \"b\" <c> & 'd' | \\  é: drop at most 0.005"
        assert suite[1][0].attrib["message"] == (
            "found +0.512 [+0.410, +0.630], wanted drop at most 0.005. few queries"
        )
        assert suite[2].attrib["name"] == "rr, lang=fr: more than 0.1"
        assert suite[3][0].attrib["message"] == "found 0.512 [0.410, 0.630], wanted at least 0.5"

    @given(name=st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
    @settings(max_examples=200, deadline=None, derandomize=True)
    def test_any_name_can_be_read_back(self, name: str) -> None:
        gate = Gate((verdict("fail", system=name, name=name, note=name),), name, name)
        root = ElementTree.fromstring(gate_to_junit(gate).encode())
        kept = "".join(one for one in name if (one >= " " or one in "\t\n") and one not in "\ufffe\uffff")
        assert root[0].attrib["name"] == root[0][0].attrib["classname"] == kept

    @pytest.mark.parametrize("odd", ["\ufffe", "\uffff"])
    def test_what_xml_does_not_allow_is_left_out(self, odd: str) -> None:
        root = ElementTree.fromstring(gate_to_junit(Gate((verdict("pass", system=f"a{odd}b"),), "r", None)).encode())
        assert root[0][0].attrib["classname"] == "ab"


class TestMarkdown:
    def test_whole(self) -> None:
        lines = gate_to_markdown(GATE).splitlines()
        assert lines[:4] == ["### rankjury gate: FAIL", "", GATE.sentence, ""]
        assert cells(lines[4]) == ["verdict", "target", "system", "found", "n", "allowed"]
        assert lines[5] == "|:--|:--|:--|--:|--:|:--|"
        assert [cells(line)[0] for line in lines[6:10]] == ["FAIL", "FAIL", "UNSURE", "PASS"], "failures first"
        *shown, allowed = cells(lines[8])
        assert shown == ["UNSURE", "rr, lang=fr", "new", "0.512 [0.410, 0.630]", "1,234"]
        assert "more than 0.1" in allowed
        assert lines[11] == "r&lt;1>.json, baseline old"
        assert lines[13].endswith(": few queries") and lines[14] == "- rr, lang=fr: few queries"
        assert "exit code 4" in lines[15]

    def test_bars_brackets_and_backslashes_are_escaped(self) -> None:
        line = next(line for line in gate_to_markdown(GATE).splitlines() if "&lt;c>" in line)
        assert len(cells(line)) == 6 and "&#124;" in line and "&#92;" in line and "<" not in line

    @pytest.mark.parametrize("name", ["two\nlines", "two\r\nlines"])
    def test_a_name_of_two_lines_stays_in_its_cell(self, name: str) -> None:
        lines = gate_to_markdown(Gate((verdict("fail", name=name),), "r", None)).splitlines()
        (row,) = (line for line in lines if line.startswith("| FAIL"))
        assert len(cells(row)) == 5

    def test_one_system_needs_no_column(self) -> None:
        found = verdicts_table(Gate((verdict("pass"), verdict("fail")), "r", None))
        assert found.header == ["verdict", "target", "found", "n", "allowed"]
        assert [row[0] for row in found.texts] == ["FAIL", "PASS"]


class TestFigures:
    @pytest.mark.parametrize(
        ("text", "value", "ci", "shown"),
        [
            ("ap >= 0.5", 0.8712, (0.852, 0.889), "0.871 [0.852, 0.889]"),
            ("ap drop <= 0.005", -0.0141, (-0.0221, -0.0061), "−0.0141 [−0.0221, −0.0061]"),
            ("ap drop <= 1 %", -0.0141, (-0.022, 0.006), "−1.4 % [−2.2, +0.6]"),
            ("ap drop <= 1 %", 0.02, None, "+2.0 %"),
            ("latency <= 50", 43.25, None, "43.25"),
            ("ap >= 0.5", 0.5, None, "0.5"),
        ],
    )
    def test_shown(self, text: str, value: float, ci: Any, shown: str) -> None:
        assert Verdict(parse_target(text), "s", "pass", value, ci, 9).shown == shown


def test_json_is_the_versioned_form() -> None:
    text = gate_to_json(GATE)
    assert json.loads(text) == GATE.to_json() and text.endswith("}\n") and "é" in text


def test_on_the_console(capsys: pytest.CaptureFixture[str]) -> None:
    print_gate(Gate((verdict("pass"), verdict("fail"), verdict("unsure"), verdict("fail")), "r.json", "old"))
    printed = capsys.readouterr().out
    assert printed.startswith("May not ship") and "baseline old" in printed and "exit code 4" in printed
    assert [word for word in printed.split() if word.isupper()] == ["FAIL", "FAIL", "UNSURE", "PASS"]
    print_gate(Gate((verdict("pass"),), "r.json", None))
    assert capsys.readouterr().out.startswith("PASS: ap 0.512")


@pytest.mark.parametrize(
    ("outcome", "escape"), [("fail", "\x1b[1;31mFAIL"), ("pass", "\x1b[32mPASS"), ("unsure", "\x1b[33mUNSURE")]
)
def test_colours_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, outcome: str, escape: str
) -> None:
    """Red, green and yellow, next to the word; none where they are not wanted."""
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    print_gate(Gate((verdict(outcome),), "r.json", None))
    assert capsys.readouterr().out.count(escape) == 2
    monkeypatch.setenv("NO_COLOR", "1")
    print_gate(Gate((verdict(outcome),), "r.json", None))
    assert "\x1b[3" not in capsys.readouterr().out


class TestFiles:
    @pytest.mark.parametrize(
        ("name", "form"),
        [("g.xml", gate_to_junit), ("g.md", gate_to_markdown), ("g.json", gate_to_json), ("G.XML", gate_to_junit)],
    )
    def test_the_suffix_names_the_form(self, tmp_path: Path, name: str, form: Any) -> None:
        check_gate_suffix(tmp_path / name)
        write_gates(GATE, [tmp_path / name])
        assert (tmp_path / name).read_text(encoding="utf-8") == form(GATE)

    @pytest.mark.parametrize("name", ["gate", "gate.csv", "gate.txt"])
    def test_a_suffix_that_names_none(self, name: str) -> None:
        with pytest.raises(
            UsageError, match=rf"cannot tell the form from '{name}'; expected a suffix among \.xml, \.md"
        ):
            check_gate_suffix(Path(name))

    def test_a_page_is_written_by_another_command(self) -> None:
        with pytest.raises(UsageError) as found:
            check_gate_suffix(Path("out/g.html"))
        assert found.value.hint is not None and "rankjury compare -o out/g.html" in found.value.hint
        with pytest.raises(UsageError) as found:
            check_gate_suffix(Path("g.csv"))
        assert found.value.hint is None


def test_a_figure_has_no_count() -> None:
    (row,) = verdicts_table(Gate((Verdict(Target("ms", "<=", 50.0), "s", "pass", 43.0, None, None),), "r", None)).texts
    assert row == ["PASS", "ms", "43", "", "at most 50"]
