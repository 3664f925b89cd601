"""Chunking: the fields of an item that are embedded, and their windows: ``title``, ``title+bullets/300+50``.

Before the slash are the fields, joined by a newline; after it the number of tokens of a window and of its overlap with
the next. A token is a word (separated by white space), unless the model has a method ``token_spans``.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from rankjury.core.types import Ints, listed
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.retrieval.embedding.corpus import Corpus

Spans = Sequence[tuple[int, int]]
"""Where each token of a text begins, and where it ends."""
_SPELLING = re.compile(r"(?P<fields>[^/]*)(?:/(?P<window>\d+)(?:\+(?P<overlap>\d+))?)?")
_EXAMPLE = "something like title, title+bullets/300 or title+bullets/300+50"
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Chunking:
    """Fields, and the windows that their text is cut into; without a window it stays whole."""

    fields: tuple[str, ...]
    window: int | None = None
    overlap: int = 0

    def __post_init__(self) -> None:
        names = self.fields
        if not names or not all(name.strip() == name and name and not set(name) & set("+/") for name in names):
            raise UsageError(f"found the fields {'+'.join(names)!r}", where="chunking", expected=_EXAMPLE)
        if len(set(names)) < len(names):
            raise UsageError(f"a field stands twice in {'+'.join(names)}", where="chunking", expected="each once")
        if self.window is not None and self.window < 1:
            raise UsageError(f"a window of {self.window} tokens", where="chunking", expected="1 or more")
        if not 0 <= self.overlap < (self.window or 1):
            found = f"an overlap of {self.overlap} tokens"
            raise UsageError(found, where="chunking", expected=f"less than the window of {self.window or 'none'}")

    def __str__(self) -> str:
        windows = "" if self.window is None else f"/{self.window}"
        return "+".join(self.fields) + windows + (f"+{self.overlap}" if self.overlap else "")

    def windows(self, tokens: int) -> Iterator[tuple[int, int]]:
        """The first token of each window and the one past its last, for a text of so many; none lies within another."""
        size = self.window or max(tokens, 1)
        for start in range(0, max(tokens, 1), size - self.overlap):
            yield start, min(start + size, tokens)
            if start + size >= tokens:
                return


def parse_chunking(text: str) -> Chunking:
    """From its spelling."""
    match = _SPELLING.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"found {text!r}", where="chunking", expected=_EXAMPLE)
    fields = tuple(name.strip() for name in match["fields"].split("+"))
    return Chunking(fields, int(match["window"]) if match["window"] else None, int(match["overlap"] or 0))


@dataclass(frozen=True)
class Tokenizer:
    """A way to tell the tokens of a text, and what they are called."""

    name: str
    spans: Callable[[str], Spans]


def _words(text: str) -> Spans:
    return [match.span() for match in _WORD.finditer(text)]


WORDS = Tokenizer("words", _words)


def find_tokenizer(model: object) -> Tokenizer:
    """The model's own, where it has ``token_spans`` (a text → where each token begins and ends); else words."""
    spans = getattr(model, "token_spans", None)
    return WORDS if spans is None else Tokenizer(f"tokens of {getattr(model, 'name', 'the model')}", spans)


@dataclass(frozen=True, eq=False)
class Chunks:
    """Pieces of texts, those of an item together: ``ITEM#0``, ``ITEM#1`` …"""

    ids: pl.Series
    texts: pl.Series
    owners: Ints
    """The row of the item that a chunk is of."""
    starts: Ints
    """The first token of the window within the item's text."""
    ends: Ints
    """The one past its last."""
    items: pl.Series
    """Ids of the items, in their order; those without text are not among them."""
    chunking: Chunking
    tokens: int
    """Of all items' texts, each counted once."""
    tokens_are: str = WORDS.name
    skipped: list[str] = field(default_factory=list)
    """Ids of items without text."""

    def __post_init__(self) -> None:
        for array in (self.owners, self.starts, self.ends):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.ids)


def chunk_texts(
    ids: pl.Series,
    texts_by_field: Mapping[str, Sequence[str | None] | pl.Series],
    chunking: Chunking,
    *,
    tokens: Tokenizer = WORDS,
    empty: str = "error",
    source: str = "items",
) -> Chunks:
    """Cut the items' texts; ``empty`` says what becomes of items without text: ``error``, or ``skip``."""
    for name in chunking.fields:
        if name not in texts_by_field:
            raise UnknownName("field", name, texts_by_field, where=source)
    ids = ids.cast(pl.String)
    rows = zip(*(texts_by_field[name] for name in chunking.fields), strict=True)
    whole = ["\n".join(text for cell in cells if (text := (cell or "").strip())) for cells in rows]
    kept = [row for row, text in enumerate(whole) if text]
    skipped = [ids[row] for row, text in enumerate(whole) if not text]
    if skipped and (empty == "error" or not kept):
        raise DataError(
            f"no text in {', '.join(chunking.fields)} for {listed(skipped)}", where=source, expected="a text an item"
        )
    names, texts, places, all_tokens = [], [], [], 0
    for owner, row in enumerate(kept):
        spans = tokens.spans(whole[row])
        all_tokens += len(spans)
        for number, (start, end, text) in enumerate(_pieces(whole[row], spans, chunking)):
            names.append(f"{ids[row]}#{number}")
            texts.append(text)
            places.append((owner, start, end))
    columns = np.array(places, dtype=np.int64).reshape(-1, 3).T
    owners, starts, ends = (np.ascontiguousarray(column) for column in columns)
    return Chunks(
        pl.Series("id", names, dtype=pl.String), pl.Series("text", texts, dtype=pl.String), owners, starts, ends,
        ids.gather(kept), chunking, all_tokens, tokens.name, skipped,
    )  # fmt: skip


def chunk_corpus(corpus: Corpus, chunking: Chunking, tokens: Tokenizer = WORDS) -> Corpus:
    """A corpus of the chunking's fields in its windows; it says how it was cut where its columns are named."""
    found = chunk_texts(corpus.ids, {"text": corpus.texts}, replace(chunking, fields=("text",)), tokens=tokens)
    return replace(corpus, ids=found.ids, texts=found.texts, columns=(str(chunking),))


def _pieces(text: str, spans: Spans, chunking: Chunking) -> Iterator[tuple[int, int, str]]:
    """Each window with its text, which goes on to the next token, so that nothing falls between two windows."""
    for start, end in chunking.windows(len(spans)):
        first = spans[start][0] if start else 0
        piece = text[first : spans[end][0] if end < len(spans) else len(text)].strip()
        if piece:  # a token may be but a part of a character
            yield start, end, piece
