"""Where keys stand in a TOML text: every construct by hand, and texts whose lines the writer knows."""

import random
import re
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from rankjury.plan.toml import KeyPath, find_line, key_lines

CRLF = pytest.param(
    "\r\n",
)
TABLES = """\
top = 1
[a]
x = 1

[a.b]      # a table below it
y = 2
[ c . "d.e" ]
z = 3
"""
LISTS = """\
[[target]]
require = "x"
[[target]]
[target.more]
deep = 1
[[target.each]]
n = 1
[[target.each]]
n = 2
[target.each.below]
m = 3
"""
VALUES = '''\
dotted.key.here = 1
dotted."quoted key" = 2
'literal.key' = 3
inline = { one = 1, two.three = [4, { five = 5 }] }
list = [
  "first",   # with ] and " and = and [
  # "not an element",

  { of = "list" }, [1,
    2],
]
text = """
[not.a.table]
no = "key"
"""
literal = \'\'\'
# no comment, key = 1
[[nor.this]]\'\'\'
tricky = "a # b = [c] \\"d\\" {e}"   # [x] = "y" 'z
empty = ["", \'\', [], {}]
date = 1979-05-27 07:32:00
after = 1
'''


def found(text: str) -> dict[KeyPath, int]:
    tomllib.loads(text)
    return key_lines(text)


class TestByHand:
    def test_tables(self) -> None:
        expected = {("top",): 1, ("a",): 2, ("a", "x"): 3, ("a", "b"): 5, ("a", "b", "y"): 6}
        expected |= {("c", "d.e"): 7, ("c", "d.e", "z"): 8}
        assert expected.items() <= found(TABLES).items()

    def test_lists_of_tables(self) -> None:
        assert found(LISTS) == {
            ("target",): 1,
            ("target", 0): 1,
            ("target", 0, "require"): 2,
            ("target", 1): 3,
            ("target", 1, "more"): 4,
            ("target", 1, "more", "deep"): 5,
            ("target", 1, "each"): 6,
            ("target", 1, "each", 0): 6,
            ("target", 1, "each", 0, "n"): 7,
            ("target", 1, "each", 1): 8,
            ("target", 1, "each", 1, "n"): 9,
            ("target", 1, "each", 1, "below"): 10,
            ("target", 1, "each", 1, "below", "m"): 11,
        }

    @pytest.mark.parametrize("end", ["\n", CRLF])
    def test_keys_and_values(self, end: str) -> None:
        three: KeyPath = ("inline", "two", "three")
        by_line: dict[int, list[KeyPath]] = {
            1: [("dotted",), ("dotted", "key"), ("dotted", "key", "here")],
            2: [("dotted", "quoted key")],
            3: [("literal.key",)],
            4: [("inline",), ("inline", "one"), three[:2], three, (*three, 0), (*three, 1), (*three, 1, "five")],
            5: [("list",)],
            6: [("list", 0)],
            9: [("list", 1), ("list", 1, "of"), ("list", 2), ("list", 2, 0)],
            10: [("list", 2, 1)],
            12: [("text",)],
            16: [("literal",)],
            19: [("tricky",)],
            20: [("empty",), ("empty", 0), ("empty", 1), ("empty", 2), ("empty", 3)],
            21: [("date",)],
            22: [("after",)],
        }
        expected = {path: line for line, paths in by_line.items() for path in paths}
        assert found(VALUES.replace("\n", end)) == expected

    @pytest.mark.parametrize("text", ["", "\n\n", "# only = 1", "  # [a]\n\t\n"])
    def test_nothing(self, text: str) -> None:
        assert found(text) == {}

    def test_no_end_of_line_at_the_end(self) -> None:
        assert found("# x\n  a = 1") == {("a",): 2}

    def test_a_table_that_is_only_named_in_the_header_of_another(self) -> None:
        assert found("x = 1\n[a.b.c]\ny = 2\n[[d.e]]\n") == {
            ("x",): 1,
            ("a",): 2,
            ("a", "b"): 2,
            ("a", "b", "c"): 2,
            ("a", "b", "c", "y"): 3,
            ("d",): 4,
            ("d", "e"): 4,
            ("d", "e", 0): 4,
        }

    @pytest.mark.parametrize("key", [r'"caf\u00e9"', r'"say \"x\""', r'"tab\there"', r'"back\\slash"'])
    def test_escapes_in_keys(self, key: str) -> None:
        (name,) = tomllib.loads(f"{key} = 1")
        assert found(f"a = 1\n{key} = 1") == {("a",): 1, (name,): 2}

    @pytest.mark.parametrize("quote", ['"', "'"])
    def test_a_quote_before_the_closing_ones(self, quote: str) -> None:
        """TOML lets a multi-line text end in up to two quotes of its own."""
        three = quote * 3
        text = f"x = [{three}a{three}{quote}, {three}b\nc{three}]\ny = 1\nz = {three}d{three}\n"
        assert found(text) == {("x",): 1, ("x", 0): 1, ("x", 1): 1, ("y",): 3, ("z",): 4}


class TestLineOf:
    LINES: dict[KeyPath, int] = {("a",): 2, ("a", "b"): 3, ("a", 0): 5}

    @pytest.mark.parametrize(
        ("path", "line"),
        [(("a", "b"), 3), (("a", "b", "missing"), 3), (("a", "other", "x"), 2), (("a", 0, "x"), 5), (("b",), None)],
    )
    def test_of_a_key_or_of_what_it_would_stand_in(self, path: KeyPath, line: int | None) -> None:
        assert find_line(path, self.LINES) == line

    def test_of_everything(self) -> None:
        assert find_line((), self.LINES) is None


KEYS = ["a", "b-c", "d_1", "7", "key with space", "dot.ted", "#hash", "[x]", "= y", "it, is", "{z}", "é"]
TEXTS = [
    "",
    "plain",
    "# no comment",
    'a "quoted" = [x]',
    "it's",
    "two\nlines",
    "[a]\nb = 1\n# c",
    "}],{[",
    "back\\slash",
]


class Writer:
    """Writes data as TOML in ways chosen at random, and knows the line of everything it writes."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.text = ""
        self.places: dict[KeyPath, int] = {}
        self.inline = 0

    def note(self, path: KeyPath) -> None:
        self.places.setdefault(path, self.text.count("\n") + 1)

    def end_line(self) -> None:
        self.text += self.chance.choice(["\n", "\n", "  \n", '   # [c] = "d\n', "\n\n# e = 'f\n"])

    def key(self, name: str) -> str:
        quoted = [f'"{name}"', f"'{name}'"]
        return self.chance.choice([name, *quoted] if re.fullmatch("[A-Za-z0-9_-]+", name) else quoted)

    def table(self, path: KeyPath, names: tuple[str, ...], data: dict[str, Any]) -> None:
        """Pairs first, then the tables that have a header of their own."""
        below = {}
        for name, value in data.items():
            tables = isinstance(value, dict) or (isinstance(value, list) and value and all(map(is_table, value)))
            if tables and self.chance.random() < 0.6:
                below[name] = value
            else:
                self.pair(path, name, value)
                self.end_line()
        for name, value in below.items():
            self.headed((*path, name), (*names, name), value)

    def headed(self, path: KeyPath, names: tuple[str, ...], value: Any) -> None:
        spelled = self.chance.choice([".", " . "]).join(map(self.key, names))
        if isinstance(value, dict):
            self.note(path)
            self.text += f"[{spelled}]"
            self.end_line()
            self.table(path, names, value)
            return
        for number, each in enumerate(value):
            self.note(path)
            self.note((*path, number))
            self.text += f"[[{spelled}]]"
            self.end_line()
            self.table((*path, number), names, each)

    def pair(self, path: KeyPath, name: str, value: Any) -> None:
        """``name = value``, or ``name.below = value`` for each value below."""
        if isinstance(value, dict) and value and self.chance.random() < 0.4:
            for number, (below, each) in enumerate(value.items()):
                self.text += (", " if self.inline else "\n") if number else ""
                self.note((*path, name))
                self.note((*path, name, below))
                self.text += f"{self.key(name)}.{self.key(below)} = "
                self.value((*path, name, below), each)
        else:
            self.note((*path, name))
            self.text += f"{self.key(name)}{self.chance.choice([' = ', '=', '  =   '])}"
            self.value((*path, name), value)

    def value(self, path: KeyPath, value: Any) -> None:
        if isinstance(value, dict):
            self.inline += 1
            self.text += "{ "
            for number, (name, each) in enumerate(value.items()):
                self.text += ", " if number else ""
                self.pair(path, name, each)
            self.text += " }"
            self.inline -= 1
        elif isinstance(value, list):
            self.text += "["
            for number, each in enumerate(value):
                self.text += self.chance.choice(["", " ", "\n  ", ' # ] , "\n', "\n\n# 'x\n"])
                self.note((*path, number))
                self.value((*path, number), each)
                self.text += "," if number < len(value) - 1 or self.chance.random() < 0.3 else ""
            self.text += self.chance.choice(["]", "\n]", " ]"])
        else:
            self.text += self.scalar(value)

    def scalar(self, value: Any) -> str:
        if not isinstance(value, str):
            return str(value).lower()
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        ways = ['"' + escaped.replace("\n", "\\n") + '"', f'"""\n{escaped}"""']
        if "'" not in value:
            ways += [f"'''{value}'''"] + ([f"'{value}'"] if "\n" not in value else [])
        return self.chance.choice(ways)


def is_table(value: Any) -> bool:
    return isinstance(value, dict)


names = st.sampled_from(KEYS)
scalars = st.integers(-99, 99) | st.booleans() | st.just(1.5) | st.sampled_from(TEXTS)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=12
)


@given(data=st.dictionaries(names, values, max_size=5), seed=st.integers(0, 2**32), end=st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_whatever_is_written(data: dict[str, Any], seed: int, end: str) -> None:
    writer = Writer(seed)
    writer.table((), (), data)
    assert tomllib.loads(writer.text) == data
    places = key_lines(writer.text.replace("\n", end))
    assert writer.places.items() <= places.items()
    passed_through = {path[:size] for path in writer.places for size in range(1, len(path))}
    assert places.keys() - writer.places.keys() <= passed_through
