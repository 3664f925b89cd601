"""N-grams and spellings as vectors of one model.

Every n-gram of all texts is embedded once, and so is every spelling of every keyword. A cosine is summed in 64 bits in
one fixed order, so that it hangs on the two vectors alone and not on what else is looked at.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Ints, Matrix
from rankjury.errors import DataError
from rankjury.labeling.keywords.mapping import Candidate, Settings
from rankjury.labeling.keywords.ngrams import Words
from rankjury.labeling.keywords.spellings import Spelling, spellings_of
from rankjury.labeling.keywords.vocabulary import Vocabulary
from rankjury.retrieval.embedding.corpus import Corpus
from rankjury.retrieval.embedding.embed import embed
from rankjury.retrieval.embedding.models import find_model

DIGITS = 6
"""Of a cosine: more than that, vectors of 32 bits do not tell."""
ANY = -2.0
"""A threshold below every cosine."""

Span = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Read:
    """A text: its words, its n-grams, and the spellings that stand in it literally."""

    words: Words
    spans: list[Span]
    literal: list[Candidate]


@dataclass(frozen=True, eq=False)
class Ngrams:
    """The different n-grams of some texts that have a direction."""

    row_of: dict[str, int]
    vectors: Matrix


class Near:
    """A vocabulary under a model."""

    def __init__(self, vocabulary: Vocabulary, settings: Settings) -> None:
        self.spellings = spellings_of(vocabulary, settings)
        self.model = find_model(settings.model)
        self._ngrams = settings.ngrams

    @cached_property
    def known(self) -> tuple[list[Spelling], Matrix]:
        """The spellings that have a direction, and their vectors; names first, so that these win ties."""
        listed = self.spellings.listed
        vectors = self.vectors([one.shown for one in listed])
        directed = np.flatnonzero(vectors.any(axis=1))
        if not directed.size:
            raise DataError("the vectors of all keywords are zero", where=self.model.name, expected="directions")
        return [listed[place] for place in directed.tolist()], vectors[directed]

    @cached_property
    def numbers(self) -> Ints:
        """The keyword of each known spelling."""
        return np.array([one.number for one in self.known[0]], dtype=np.int64)

    def vectors(self, phrases: Sequence[str], progress: Progress = NO_PROGRESS) -> Matrix:
        """As the model gives them, looked at batch by batch."""
        series = pl.Series("text", phrases, dtype=pl.String)
        return embed(Corpus(series, series, ("n-gram",), source="n-grams"), self.model, progress=progress).values

    def read(self, text: str) -> Read:
        words = self.spellings.read(text)
        closed = self.spellings.closed(words)
        spans = [span for span in words.spans(*self._ngrams, closed) if words.says_something(*span)]
        return Read(words, spans, list(self.spellings.literal(words)))

    def ngrams(self, texts: Sequence[Read], progress: Progress = NO_PROGRESS) -> Ngrams:
        """All that have to be compared, in an order that does not hang on that of the texts."""
        phrases = sorted({one.words.phrase(*span) for one in texts for span in one.spans})
        if not phrases:
            return Ngrams({}, np.empty((0, self.known[1].shape[1]), np.float32))
        vectors = self.vectors(phrases, progress)
        directed = np.flatnonzero(vectors.any(axis=1))
        return Ngrams({phrases[place]: row for row, place in enumerate(directed.tolist())}, vectors[directed])

    def open_spans(self, one: Read, ngrams: Ngrams) -> list[Span]:
        """Return the n-grams of a text that have to be compared: those with a direction that are not literal."""
        literal = {(candidate.start, candidate.end) for candidate in one.literal}
        return [span for span in one.spans if span not in literal and one.words.phrase(*span) in ngrams.row_of]

    def candidate(
        self, words: Words, span: Span, columns: Sequence[int], scores: Sequence[float], threshold: float
    ) -> Candidate:
        """Of an n-gram, from the spellings that it was compared with, best first."""
        known, shown, sharing = self.known[0], words.phrase(*span), self.spellings.sharing(words, *span)
        first = known[columns[0]]
        beaten: tuple[Candidate, ...] = ()
        for column, score in zip(columns, scores, strict=True):
            one = known[column]
            if one.number != first.number:
                if score > threshold:
                    beaten = (Candidate(*span, one.number, score, shown, one.shown, (), sharing),)
                break
        return Candidate(*span, first.number, scores[0], shown, first.shown, beaten, sharing)
