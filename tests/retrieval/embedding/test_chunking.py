"""Chunking: its spelling, its windows, and the pieces of texts."""

import re
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.retrieval.embedding.chunking import Chunking, Tokenizer, chunk_texts, find_tokenizer, parse_chunking
from rankjury.retrieval.embedding.models.wordllama import WordLlamaModel

FIELD = st.text(st.characters(exclude_characters="+/", exclude_categories=("Zs", "Cc", "Cs", "Zl", "Zp")), min_size=1)
QUICKLY = settings(max_examples=60, deadline=None, derandomize=True)
WINDOW = st.integers(1, 40)
CHUNKINGS = st.one_of(
    st.builds(Chunking, st.lists(FIELD, min_size=1, max_size=4, unique=True).map(tuple)),
    st.tuples(st.lists(FIELD, min_size=1, max_size=4, unique=True), WINDOW, st.integers(0, 39))
    .filter(lambda drawn: drawn[2] < drawn[1])
    .map(lambda drawn: Chunking(tuple(drawn[0]), drawn[1], drawn[2])),
)
TEXTS = st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=60), min_size=1, max_size=5)


class TestSpelling:
    @QUICKLY
    @given(CHUNKINGS)
    def test_it_prints_as_it_is_spelled_and_parses_back(self, chunking: Chunking) -> None:
        assert parse_chunking(str(chunking)) == chunking
        assert str(parse_chunking(str(chunking))) == str(chunking)

    @pytest.mark.parametrize(
        ("text", "wanted"),
        [
            ("title", Chunking(("title",))),
            ("title+bullets", Chunking(("title", "bullets"))),
            (" title + bullets/300 ", Chunking(("title", "bullets"), 300)),
            ("title+bullets+description/300+50", Chunking(("title", "bullets", "description"), 300, 50)),
            ("title/1", Chunking(("title",), 1)),
            ("title/8+0", Chunking(("title",), 8)),
        ],
    )
    def test_examples(self, text: str, wanted: Chunking) -> None:
        assert parse_chunking(text) == wanted

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("", "found the fields ''"),
            ("title+", "found the fields 'title+'"),
            ("/300", "found the fields ''"),
            ("title/", "found 'title/'"),
            ("title/many", "found 'title/many'"),
            ("title/300+", "found 'title/300+'"),
            ("title/300-50", "found 'title/300-50'"),
            ("title/300/50", "found 'title/300/50'"),
            ("title+title", "duplicate field in title+title; expected each once"),
            ("title/0", "a window of 0 tokens; expected 1 or more"),
            ("title/50+50", "an overlap of 50 tokens; expected less than the window of 50"),
        ],
    )
    def test_what_is_refused(self, text: str, told: str) -> None:
        with pytest.raises(UsageError) as error:
            parse_chunking(text)
        assert str(error.value).startswith(f"chunking: {told}")

    def test_an_overlap_needs_a_window(self) -> None:
        with pytest.raises(UsageError, match="less than the window of none"):
            Chunking(("title",), None, 3)


class TestWindows:
    @QUICKLY
    @given(st.integers(0, 200), WINDOW, st.integers(0, 39))
    def test_they_cover_everything_with_the_overlap_asked_for(self, tokens: int, window: int, overlap: int) -> None:
        overlap %= window
        found = list(Chunking(("t",), window, overlap).windows(tokens))
        assert found[0][0] == 0 and found[-1][1] == tokens
        for (start, end), (next_start, next_end) in pairwise(found):
            assert end - start == window
            assert next_start == end - overlap
            assert next_end > end  # none lies within another
        assert found[-1][1] - found[-1][0] <= window

    @pytest.mark.parametrize(
        ("tokens", "window", "overlap", "wanted"),
        [
            (10, 4, 0, [(0, 4), (4, 8), (8, 10)]),
            (8, 4, 0, [(0, 4), (4, 8)]),
            (10, 4, 2, [(0, 4), (2, 6), (4, 8), (6, 10)]),
            (9, 4, 3, [(0, 4), (1, 5), (2, 6), (3, 7), (4, 8), (5, 9)]),
            (4, 4, 3, [(0, 4)]),
            (3, 4, 1, [(0, 3)]),
            (0, 4, 0, [(0, 0)]),
        ],
    )
    def test_by_hand(self, tokens: int, window: int, overlap: int, wanted: list[tuple[int, int]]) -> None:
        assert list(Chunking(("t",), window, overlap).windows(tokens)) == wanted

    def test_without_a_window_there_is_one(self) -> None:
        assert list(Chunking(("t",)).windows(1000)) == [(0, 1000)]


def cut(texts: list[str], spelling: str, **more: object) -> "list[tuple[str, str]]":
    found = chunk_texts(pl.Series([f"i{n}" for n in range(len(texts))]), {"t": texts}, parse_chunking(spelling), **more)  # type: ignore[arg-type]
    return list(zip(found.ids, found.texts, strict=True))


class TestChunks:
    def test_by_hand(self) -> None:
        found = chunk_texts(
            pl.Series(["a", "b#1"]),
            {
                "title": pl.Series(["Red  dress", "Boots"]),
                "bullets": [" of silk,\nfor summer evenings ", None],
                "brand": ["x", "y"],
            },
            parse_chunking("title+bullets/3+1"),
        )
        assert found.ids.to_list() == ["a#0", "a#1", "a#2", "b#1#0"]
        assert found.texts.to_list() == ["Red  dress\nof", "of silk,\nfor", "for summer evenings", "Boots"]
        assert found.owners.tolist() == [0, 0, 0, 1]
        assert found.starts.tolist() == [0, 2, 4, 0]
        assert found.ends.tolist() == [3, 5, 7, 1]
        assert found.items.to_list() == ["a", "b#1"]
        assert (found.tokens, found.tokens_are, len(found)) == (8, "words", 4)
        assert str(found.chunking) == "title+bullets/3+1"

    def test_whole_texts_are_left_as_they_are(self) -> None:
        assert cut(["  one   two\nthree "], "t") == [("i0#0", "one   two\nthree")]

    @QUICKLY
    @given(TEXTS, WINDOW, st.integers(0, 39))
    def test_no_word_is_lost_and_none_comes_twice_but_by_the_overlap(
        self, texts: list[str], window: int, overlap: int
    ) -> None:
        overlap %= window
        texts = [f"{text} end" for text in texts]
        chunking = Chunking(("t",), window, overlap)
        found = chunk_texts(pl.Series([f"i{n}" for n in range(len(texts))]), {"t": texts}, chunking)
        for row, text in enumerate(texts):
            mine = found.owners == row
            words: list[str] = []
            for start, end, piece in zip(
                found.starts[mine], found.ends[mine], found.texts.filter(pl.Series(mine)), strict=True
            ):
                assert piece.split() == text.split()[start:end]
                assert piece in text
                words[start:] = piece.split()
            assert words == text.split()
        assert found.tokens == sum(len(text.split()) for text in texts)
        assert found.ids.n_unique() == len(found)

    def test_items_without_text(self) -> None:
        ids, texts = pl.Series(["a", "b", "c"]), {"t": ["x", " \n", None], "u": ["", "", "z"]}
        with pytest.raises(DataError, match="items: no text in t for b, c"):
            chunk_texts(ids, texts, parse_chunking("t"))
        found = chunk_texts(ids, texts, parse_chunking("t+u"), empty="skip")
        assert (found.items.to_list(), found.skipped) == (["a", "c"], ["b"])
        assert (found.ids.to_list(), found.owners.tolist()) == (["a#0", "c#0"], [0, 1])
        with pytest.raises(DataError, match="no text in v"):
            chunk_texts(ids, {"v": ["", "", ""]}, parse_chunking("v"), empty="skip")

    def test_a_field_that_is_not_there(self) -> None:
        with pytest.raises(UnknownName, match=r"cat\.csv: unknown field 'titel'\. Did you mean title\?"):
            chunk_texts(pl.Series(["a"]), {"title": ["x"]}, parse_chunking("titel"), source="cat.csv")


class LettersModel:
    name = "letters"

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\w", text)]


class TestTokens:
    def test_words_unless_the_model_tells(self) -> None:
        assert find_tokenizer(WordLlamaModel()).name == "words"
        found = chunk_texts(
            pl.Series(["a"]), {"t": ["(ab) c, d!"]}, parse_chunking("t/2"), tokens=find_tokenizer(LettersModel())
        )
        assert found.texts.to_list() == ["(ab)", "c, d!"]
        assert (found.tokens, found.tokens_are) == (4, "tokens of letters")

    def test_nothing_falls_between_windows(self) -> None:
        """Signs that are no token stay with the one before; what has no token at all is one piece."""
        assert [piece for _, piece in cut(["?! a - b"], "t/1", tokens=find_tokenizer(LettersModel()))] == [
            "?! a -",
            "b",
        ]
        assert cut(["?!"], "t/1", tokens=find_tokenizer(LettersModel())) == [("i0#0", "?!")]

    def test_tokens_that_are_parts_of_a_character(self) -> None:
        """As byte tokens are: the dress is four of them."""
        spans = [(0, 1), (2, 3), (2, 3), (2, 3), (2, 3), (4, 5)]
        found = cut(["a 👗 b"], "t/2", tokens=Tokenizer("bytes", lambda text: spans))
        assert [piece for _, piece in found] == ["a", "👗 b"]
        assert [name for name, _ in found] == ["i0#0", "i0#1"]
