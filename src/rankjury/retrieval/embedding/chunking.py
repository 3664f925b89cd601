"""Chunking: the fields of an item that are embedded, and their windows: ``title``, ``title+bullets/300+50``.

The fields are before the slash, joined by a newline; after it are the number of tokens of a window and of its overlap
with the next. A token is a word (separated by white space), unless the model has a method ``token_spans``.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from rankjury.core.types import Ints, freeze, listed
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.retrieval.embedding.corpus import Corpus

Spans = Sequence[tuple[int, int]]
"""Start and end of each token in a text."""
_SPELLING = re.compile(r"(?P<fields>[^/]*)(?:/(?P<window>\d+)(?:\+(?P<overlap>\d+))?)?")
_EXAMPLE = "something like title, title+bullets/300 or title+bullets/300+50"
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Chunking:
    """Fields and windows of a chunking; without a window, texts are not split."""

    fields: tuple[str, ...]
    window: int | None = None
    overlap: int = 0

    def __post_init__(self) -> None:
        names = self.fields
        if not names or not all(name.strip() == name and name and not set(name) & set("+/") for name in names):
            raise UsageError(f"found the fields {'+'.join(names)!r}", where="chunking", expected=_EXAMPLE)
        if len(set(names)) < len(names):
            raise UsageError(f"duplicate field in {'+'.join(names)}", where="chunking", expected="each once")
        if self.window is not None and self.window < 1:
            raise UsageError(f"a window of {self.window} tokens", where="chunking", expected="1 or more")
        if not 0 <= self.overlap < (self.window or 1):
            found = f"an overlap of {self.overlap} tokens"
            raise UsageError(found, where="chunking", expected=f"less than the window of {self.window or 'none'}")

    def __str__(self) -> str:
        windows = "" if self.window is None else f"/{self.window}"
        return "+".join(self.fields) + windows + (f"+{self.overlap}" if self.overlap else "")

    def windows(self, tokens: int) -> Iterator[tuple[int, int]]:
        """Yield the first and the last + 1 token of each window of a text; no window is contained in another."""
        size = self.window or max(tokens, 1)
        for start in range(0, max(tokens, 1), size - self.overlap):
            yield start, min(start + size, tokens)
            if start + size >= tokens:
                return


def parse_chunking(text: str) -> Chunking:
    """Parse a chunking such as ``title+bullets/300+50``."""
    match = _SPELLING.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"found {text!r}", where="chunking", expected=_EXAMPLE)
    fields = tuple(name.strip() for name in match["fields"].split("+"))
    return Chunking(fields, int(match["window"]) if match["window"] else None, int(match["overlap"] or 0))


@dataclass(frozen=True)
class Tokenizer:
    """A tokenizer: its name and the spans of the tokens of a text."""

    name: str
    spans: Callable[[str], Spans]


WORDS = Tokenizer("words", lambda text: [match.span() for match in _WORD.finditer(text)])


def find_tokenizer(model: object) -> Tokenizer:
    """Return the model's tokenizer if it has ``token_spans`` (text → spans of its tokens); else words."""
    spans = getattr(model, "token_spans", None)
    return WORDS if spans is None else Tokenizer(f"tokens of {getattr(model, 'name', 'the model')}", spans)


@dataclass(frozen=True, eq=False)
class Chunks:
    """Chunks of texts, grouped by item: ``ITEM#0``, ``ITEM#1`` …"""

    ids: pl.Series
    texts: pl.Series
    owners: Ints
    """Row of the item of each chunk."""
    starts: Ints
    """The first token of the window within the item's text."""
    ends: Ints
    """The last token of the window + 1."""
    items: pl.Series
    """Ids of the items with text, in their order."""
    chunking: Chunking
    tokens: int
    """Number of tokens of all texts."""
    tokens_are: str = WORDS.name
    skipped: list[str] = field(default_factory=list)
    """Ids of items without text."""

    def __post_init__(self) -> None:
        freeze(self)

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
    """Split the items' texts into chunks; ``empty``: ``error`` or ``skip`` for items without text."""
    for name in chunking.fields:
        if name not in texts_by_field:
            raise UnknownName("field", name, texts_by_field, where=source)
    ids = ids.cast(pl.String)
    rows = zip(*(texts_by_field[name] for name in chunking.fields), strict=True)
    whole = ["\n".join(text for cell in cells if (text := (cell or "").strip())) for cells in rows]
    filled = [row for row, text in enumerate(whole) if text]
    skipped = [ids[row] for row, text in enumerate(whole) if not text]
    if skipped and (empty == "error" or not filled):
        found = f"no text in {', '.join(chunking.fields)} for {listed(skipped)}"
        raise DataError(found, where=source, expected="a text per item")
    rows_of_chunks, all_tokens = [], 0
    for owner, row in enumerate(filled):
        spans = tokens.spans(whole[row])
        all_tokens += len(spans)
        for number, piece in enumerate(_pieces(whole[row], spans, chunking)):
            rows_of_chunks.append((f"{ids[row]}#{number}", owner, *piece))
    schema = {"id": pl.String, "owner": pl.Int64, "start": pl.Int64, "end": pl.Int64, "text": pl.String}
    chunks = pl.DataFrame(rows_of_chunks, schema=schema, orient="row")
    owners, starts, ends = (chunks[name].to_numpy() for name in ("owner", "start", "end"))
    items = ids.gather(filled)
    return Chunks(chunks["id"], chunks["text"], owners, starts, ends, items, chunking, all_tokens, tokens.name, skipped)


def chunk_corpus(corpus: Corpus, chunking: Chunking, tokens: Tokenizer = WORDS) -> Corpus:
    """Return the corpus in chunks; its columns are the chunking."""
    found = chunk_texts(corpus.ids, {"text": corpus.texts}, replace(chunking, fields=("text",)), tokens=tokens)
    return replace(corpus, ids=found.ids, texts=found.texts, columns=(str(chunking),))


def _pieces(text: str, spans: Spans, chunking: Chunking) -> Iterator[tuple[int, int, str]]:
    """Yield each window with its text, up to the next token, so that no character between windows is lost."""
    for start, end in chunking.windows(len(spans)):
        first = spans[start][0] if start else 0
        piece = text[first : spans[end][0] if end < len(spans) else len(text)].strip()
        if piece:  # a token may be only a part of a character
            yield start, end, piece
