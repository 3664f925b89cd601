"""Plain text: plurals, names, columns, and escaping for terminals, Markdown and spreadsheets."""

import re
from html import unescape

import pytest
from hypothesis import example, given, settings, strategies as st
from markdown_it import MarkdownIt

from rankjury.core.text import (
    align_columns,
    escape_markdown,
    escape_spreadsheet,
    join_names,
    plural,
    timestamp,
    visible,
)
from rankjury.errors import UsageError

READER = MarkdownIt("gfm-like", {"linkify": False}).disable("linkify")
PLACES = ["{}", "### {}", "- {}", "> {}", "**x** {} y", "| a | b |\n|:--|:--|\n| {} | y |", "<b>{}</b>"]
ZERO_WIDTH_SPACE = "\u200b"
# What GitHub looks for in the rendered text, after Markdown.
REFERENCES = re.compile(
    r"""(?<![A-Za-z0-9_])@[A-Za-z0-9] | [\w.+-]+@[\w-]+\.\w   # people, mail addresses
      | \#\w | \bgh-\d | https?:// | ftp:// | \bwww\.       # issues, addresses
      | :(?:[a-z0-9_+-]*[a-z+-][a-z0-9_+-]*|100|1234):      # emoji
      | (?<!\w)(?=\d*[a-f])[0-9a-f]{7,40}(?!\w)             # commits
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
NAMES = [
    "plain",
    "a_b_c",
    "_a_ __b__ *c* **d** ~~e~~ ~f~ ***",
    "`code` ``more`` ```fence",
    "```",
    "~~~",
    "[a](http://example.org) ![b](x.png) [c][d] [e]: http://example.org",
    "[e]: http://example.org",
    "[^1]: note",
    "[ ] task",
    "[x] task",
    "<script>alert(1)</script><!-- gone --><https://example.org>",
    "&lt;b&gt; &amp; &#64; &copy",
    "@user @org/team x@user.example é@user",
    "#12 GH-12 gh-7 owner/repo#1 a#b",
    "https://example.org www.example.org FTP://x http:/x",
    "deadbeef 1234567a fabc1234 0123456789abcdef0123456789abcdef01234567 owner/repo@abc1234f",
    ":smile: :+1: :100: a:b:c 10:30:00",
    "a|b||c\\|d\\",
    "\\*x\\* \\",
    "# heading",
    "x ##",
    "> quotation",
    "- item",
    "+ item",
    "* item",
    "1. one",
    "12) twelve",
    "---",
    "- - -",
    "***",
    "===",
    "--- | ---",
    "$x^2$ $$y$$",
    "two\nlines\r\nand\u2028three",
    "    indented",
    "\tindented",
    "</details></table></div>",
    "\"quoted\" 'text' (bracket) {brace} 50 % ^ / ! ? ; , . 1.5 -0.5 [0.1, 0.2]",
]


def words(text: str) -> str:
    """As a page shows it: lines joined, blanks merged, nothing of no width."""
    return " ".join(" ".join(text.replace(ZERO_WIDTH_SPACE, "").splitlines()).split())


def check(name: str) -> None:
    escaped = escape_markdown(name)
    assert "\n" not in escaped
    for place in PLACES:
        plain, page = READER.render(place.format("NAME")), READER.render(place.format(escaped))
        assert re.findall("<[^>]*>", page) == re.findall("<[^>]*>", plain), (place, page)
        (shown,) = re.fullmatch(re.escape(plain).replace("NAME", "(.*)"), page, re.DOTALL).groups()  # type: ignore[union-attr]
        assert words(unescape(shown)) == words(visible(name)), place
        assert not REFERENCES.search(unescape(shown)), (place, shown)


class TestMarkdown:
    @pytest.mark.parametrize("name", NAMES)
    def test_a_name_is_shown_as_it_is(self, name: str) -> None:
        check(name)

    @settings(max_examples=150)
    @given(st.lists(st.sampled_from([*"[]()<>!#@:/\\|*_~`$&;.-+=1a \nw\x1b", "http", "www", "ab12345"]), max_size=12))
    def test_any_heap_of_marks(self, pieces: list[str]) -> None:
        name = "".join(pieces)
        if words(visible(name)):
            check(name)

    def test_ordinary_names_and_figures_stay_readable(self) -> None:
        for text in ("nDCG@10", "a_b-c.trec", "0.612 [0.566, 0.657]", "+0.043", "+/=/−", "10:30:00", "1,234", "a: b"):
            assert escape_markdown(text) == text


class TestVisible:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("\x1b[31mred\x1b]0;x\x07", "␛[31mred␛]0;x␇"),
            ("\x9b31m\x7f", "␡31m␡"),
            ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
            ("\udcff", "\\udcff"),
            ("ok\rbad", "ok␍bad"),
            ("a\tb\r\nc\n", "a\tb\r\nc\n"),
            ("é👩\u200d🚀\u200f", "é👩\u200d🚀\u200f"),
        ],
    )
    def test_what_steers_a_terminal_is_shown(self, text: str, shown: str) -> None:
        assert visible(text) == shown

    @given(st.text(st.characters()))
    @example("\ud800")
    def test_any_text_can_be_written(self, text: str) -> None:
        visible(text).encode()


class TestSpreadsheet:
    @pytest.mark.parametrize("start", [*"=+-@\t\r\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
    def test_a_formula_becomes_text(self, start: str) -> None:
        assert escape_spreadsheet(f"{start}1+1") == f"'{start}1+1"

    @pytest.mark.parametrize("text", ["", "a=1", "'=1", "−0.5", " =1", "é"])
    def test_other_texts_stay(self, text: str) -> None:
        assert escape_spreadsheet(text) == text


@pytest.mark.parametrize(
    ("n", "expected"), [(0, "0 queries"), (1, "1 query"), (2, "2 queries"), (12345, "12,345 queries")]
)
def test_counts(n: int, expected: str) -> None:
    assert plural(n, "query", "queries") == expected


def test_lines_of_a_table() -> None:
    rows = [("measure", "mean"), ("ap", "0.5"), ("ndcg@10", "")]
    assert align_columns(rows) == ["measure  mean", "ap        0.5", "ndcg@10"]
    assert align_columns([("a", "b", "c"), ("aa", "bb", "cc")], left=2) == ["a   b    c", "aa  bb  cc"]


@pytest.mark.parametrize(
    ("most", "expected"),
    [(3, "a, b, c"), (2, "a, b …"), (0, " …"), (9, "a, b, c")],
    ids=["all", "some", "none", "more"],
)
def test_some_of_many_are_named(most: int, expected: str) -> None:
    assert join_names(iter("abc"), most) == expected


def test_the_time_may_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert timestamp() == "1970-01-02T00:00:00Z"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(UsageError, match="SOURCE_DATE_EPOCH is 'yesterday'"):
        timestamp()
