"""How a table is fitted to a terminal: narrower layouts, parts, wrapped columns, and lines of names and values."""

import pytest

from rankjury.reporting.console import print_table
from rankjury.reporting.tables import TextTable, make_table


def printed(
    found: TextTable, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    print_table(found)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert max(map(len, lines)) <= width
    return lines


WIDE = make_table(
    ["name", "first", "second", "empty"], [["a", "1" * 12, "2" * 12, ""], ["b", "3", "4", ""]], notes=["end"]
)


def test_columns_are_dropped_in_order_and_empty_ones_at_once() -> None:
    found = WIDE.dropping("second", "first")
    assert found.header == ["name", "first", "second"]
    assert [one.header for one in found.narrower] == [["name", "first"], ["name"]]


@pytest.mark.parametrize(("width", "header"), [(40, "name first second"), (24, "name first"), (20, "name first")])
def test_the_first_layout_that_fits(
    width: int, header: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(WIDE.dropping("second", "first"), width, monkeypatch, capsys)
    assert lines[0].split() == header.split() and lines[-1] == "end"


def test_a_table_with_fixed_columns_is_parted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = make_table(["name", "first", "second"], [["a", "1" * 12, "2" * 12]], fixed=1)
    lines = printed(found, 24, monkeypatch, capsys)
    assert [line.split() for line in lines if "name" in line] == [["name", "first"], ["name", "second"]]
    assert [line.split() for line in lines if line.startswith("a")] == [["a", "1" * 12], ["a", "2" * 12]]


def test_texts_wrap_before_rows_become_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = make_table(["name", "first"], [["x" * 20, "1" * 12]], wraps=(0,))
    lines = printed(found, 24, monkeypatch, capsys)
    assert sum("x" in line for line in lines) == 2 and any("1" * 12 in line for line in lines)
    lines = printed(make_table(["name", "first"], [["x" * 12, "1" * 12]]), 20, monkeypatch, capsys)
    assert lines[:2] == ["name:", "x" * 12] and lines[2].startswith("  first:")


def test_a_terminal_shows_some_rows_and_counts_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = make_table(["name"], [[str(n)] for n in range(5)], shown=2, title="all")
    lines = printed(found, 40, monkeypatch, capsys)
    assert lines[0] == "all" and lines[-3:] == ["0", "1", "… 3 more in the report"]
