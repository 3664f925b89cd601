"""Names fit their room, are valid XML, and turn nothing around."""

import string
import unicodedata
from math import inf
from xml.etree import ElementTree

import pytest
from hypothesis import given, strategies as st

from rankjury.reporting.charts.layout import Box, clean_text, fit_text, place_labels, text_width
from rankjury.reporting.charts.matplotlib import font_width, shorten, wrap_text

ANY = st.text(st.characters(), max_size=80) | st.text(st.characters(categories=["Cc", "Cf", "Mn", "Cs"]), max_size=30)


class TestWrap:
    @given(ANY)
    def test_lines_fit_and_lose_no_short_word(self, text: str) -> None:
        lines = wrap_text(text, 120.0, 8.0)
        assert all(font_width(line, 8.0) <= 120.0 for line in lines)
        assert " ".join(lines).split() == [shorten(word, 120.0, 8.0) for word in shorten(text, inf, 8.0).split()]


class TestClean:
    @pytest.mark.parametrize(
        ("given", "shown"),
        [
            ("a\x00b", "a□b"),
            (" a\n\tb\u2028c ", "a b c"),
            ("user\u202egpj.exe", "user□gpj.exe"),
            ("\u2067x\u2069", "□x□"),
            ("\ud800", "□"),
            ("e\u0301\u0300\u0301\u0300\u0301z", "e\u0301\u0300z"),
            ("👩\u200d💻", "👩\u200d💻"),
            ("naïve Straße 東京 שלום", "naïve Straße 東京 שלום"),
        ],
    )
    def test_by_hand(self, given: str, shown: str) -> None:
        assert clean_text(given) == shown

    @given(ANY)
    def test_any_text_is_valid_and_idle(self, text: str) -> None:
        shown = clean_text(text)
        ElementTree.fromstring(f"<a>{shown.replace('&', '').replace('<', '')}</a>")
        assert clean_text(shown) == shown
        assert not any(unicodedata.bidirectional(one) in ("RLO", "LRO", "RLE", "LRE", "RLI", "LRI") for one in shown)

    def test_of_a_long_one_both_ends(self) -> None:
        shown = clean_text("first " + "word " * 2_000 + "last", 50)
        assert len(shown) <= 50 and shown.startswith("first word") and shown.endswith("word last")
        assert shown.count("…") == 1


class TestWidth:
    @pytest.mark.parametrize("letter", string.printable[:95])
    def test_no_letter_is_wider_than_thought(self, letter: str) -> None:
        assert text_width(letter, 100.0) >= font_width(letter * 10, 100.0) / 10 - 1.0

    @pytest.mark.parametrize("text", ["cluster=science-fiction", "+0.043 [+0.019, +0.068]", "Größe=übergroß"])
    def test_nor_much_narrower(self, text: str) -> None:
        assert font_width(text, 12.0) <= text_width(text, 12.0) <= 1.2 * font_width(text, 12.0)


class TestFit:
    @given(ANY | st.text(string.ascii_letters, min_size=50, max_size=10_000), st.floats(8, 400))
    def test_always_within_its_room(self, text: str, room: float) -> None:
        shown = fit_text(text, room, 12.0)
        assert text_width(shown, 12.0) <= room or shown == "…"

    def test_both_ends_stay(self) -> None:
        shown = fit_text("item.category=" + "x" * 500 + "=boots", 150.0, 12.0)
        assert shown.startswith("item.c") and shown.endswith("boots") and shown.count("…") == 1

    def test_what_fits_is_left_alone(self) -> None:
        assert fit_text("cluster=war", 100.0, 12.0) == "cluster=war"

    @given(ANY, st.floats(20, 300))
    def test_letters_of_pictures_fit_by_the_font_itself(self, text: str, room: float) -> None:
        shown = shorten(text, room, 8.0)
        assert font_width(shown, 8.0) <= room or shown == "…"


class TestLabelling:
    def test_near_its_point_where_there_is_room(self) -> None:
        (place,) = place_labels([(50, 50)], [(10, 6)], (0, 0, 100, 100), gap=4)
        assert place is not None
        assert abs(place[0] - 50) <= 4 + 5 and abs(place[1] - 50) <= 4 + 3

    def test_away_from_what_is_taken(self) -> None:
        taken: Box = (45, 0, 100, 100)
        (place,) = place_labels([(50, 50)], [(10, 6)], (0, 0, 100, 100), [taken])
        assert place is not None and place[0] + 5 <= 45

    def test_none_where_there_is_no_room(self) -> None:
        assert place_labels([(50, 50)], [(10, 6)], (0, 0, 100, 100), [(0, 0, 100, 100)]) == [None]

    def test_a_line_is_covered_only_where_there_is_no_other_place(self) -> None:
        everywhere, right = (0.0, 0.0, 100.0, 100.0), (50.0, 0.0, 100.0, 100.0)
        (beside,) = place_labels([(50, 50)], [(10, 6)], everywhere, avoided=[right])
        assert beside is not None and beside[0] + 5 <= 50
        assert place_labels([(50, 50)], [(10, 6)], everywhere, avoided=[everywhere]) != [None]

    def test_the_first_choose_first(self) -> None:
        alone = place_labels([(50, 50)], [(10, 6)], (0, 0, 100, 100))
        first, second = place_labels([(50, 50), (51, 50)], [(10, 6), (10, 6)], (0, 0, 100, 100))
        assert [first] == alone
        assert second is not None and second != first
