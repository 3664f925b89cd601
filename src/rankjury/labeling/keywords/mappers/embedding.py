"""Embedding method: each n-gram means the keyword with the highest cosine, if that is above the threshold.

This is Algorithm 1 of the driving protocol: an argmax over the whole vocabulary for every n-gram. Every n-gram of all
texts is embedded once, and so is every spelling of every keyword. A cosine is summed in 64 bits in one fixed order, so
that it depends on the two vectors alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Ints, Matrix
from rankjury.errors import DataError
from rankjury.labeling.keywords.annotations import Vocabulary
from rankjury.labeling.keywords.mapping import MAPPERS, Candidate, MappingSettings, best_candidates
from rankjury.labeling.keywords.spellings import Spelling, Words, load_spellings
from rankjury.retrieval.embedding.corpus import Corpus
from rankjury.retrieval.embedding.embed import embed, find_model
from rankjury.retrieval.knn.search import Neighbours, nearest
from rankjury.retrieval.knn.select import MISSING

DIGITS = 6
"""Of a cosine: more than that, vectors of 32 bits do not tell."""
ANY = -2.0
"""A threshold below every cosine."""

Span = tuple[int, int]


@dataclass(frozen=True, eq=False)
class ParsedText:
    """A text: its words, its n-grams, and the spellings that stand in it literally."""

    words: Words
    spans: list[Span]
    literal: list[Candidate]


@dataclass(frozen=True, eq=False)
class NgramVectors:
    """The different n-grams of some texts that have a direction."""

    row_of: dict[str, int]
    vectors: Matrix


class EmbeddedVocabulary:
    """A vocabulary under a model."""

    def __init__(self, vocabulary: Vocabulary, settings: MappingSettings) -> None:
        self.spellings = load_spellings(vocabulary, settings)
        self.model = find_model(settings.model)
        self._ngrams = settings.ngrams

    @cached_property
    def known(self) -> tuple[list[Spelling], Matrix]:
        """The spellings that have a direction, and their vectors; names first, so that these win ties."""
        listed = self.spellings.listed
        vectors = self.vectors([spelling.shown for spelling in listed])
        directed = np.flatnonzero(vectors.any(axis=1))
        if not directed.size:
            raise DataError("the vectors of all keywords are zero", where=self.model.name, expected="directions")
        return [listed[place] for place in directed.tolist()], vectors[directed]

    @cached_property
    def numbers(self) -> Ints:
        """The keyword of each known spelling."""
        return np.array([spelling.number for spelling in self.known[0]], dtype=np.int64)

    def vectors(self, phrases: Sequence[str], progress: Progress = NO_PROGRESS) -> Matrix:
        """As the model gives them, looked at batch by batch."""
        series = pl.Series("text", phrases, dtype=pl.String)
        return embed(Corpus(series, series, ("n-gram",), source="n-grams"), self.model, progress=progress).values

    def read(self, text: str) -> ParsedText:
        words = self.spellings.read(text)
        closed = self.spellings.closed(words)
        spans = [span for span in words.spans(*self._ngrams, closed) if words.says_something(*span)]
        return ParsedText(words, spans, list(self.spellings.literal(words)))

    def ngrams(self, texts: Sequence[ParsedText], progress: Progress = NO_PROGRESS) -> NgramVectors:
        """All that have to be compared, in an order that does not hang on that of the texts."""
        phrases = sorted({text.words.phrase(*span) for text in texts for span in text.spans})
        if not phrases:
            return NgramVectors({}, np.empty((0, self.known[1].shape[1]), np.float32))
        vectors = self.vectors(phrases, progress)
        directed = np.flatnonzero(vectors.any(axis=1))
        return NgramVectors({phrases[place]: row for row, place in enumerate(directed.tolist())}, vectors[directed])

    def open_spans(self, text: ParsedText, ngrams: NgramVectors) -> list[Span]:
        """Return the n-grams of a text that have to be compared: those with a direction that are not literal."""
        literal = {(candidate.start, candidate.end) for candidate in text.literal}
        return [span for span in text.spans if span not in literal and text.words.phrase(*span) in ngrams.row_of]

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


_DEFAULT_THRESHOLD = 0.5
_LOOKED_AT = 8
"""Spellings nearest to an n-gram: the first is its keyword, the next of another keyword is the one that it beat."""


@MAPPERS.register("embedding")
class EmbeddingMapper:
    """Names and synonyms that occur literally have score 1, whatever their length; other n-grams are compared."""

    about = "n-grams and keywords as vectors of a model, by their cosine"

    def __init__(self, vocabulary: Vocabulary, settings: MappingSettings) -> None:
        self.threshold = _DEFAULT_THRESHOLD if settings.threshold is None else settings.threshold
        self._near = EmbeddedVocabulary(vocabulary, settings)
        self.notes = self._near.spellings.notes

    def candidates(self, texts: Sequence[str], progress: Progress = NO_PROGRESS) -> list[list[Candidate]]:
        read = [self._near.read(text) for text in texts]
        compared = self._compared(texts, read, self.threshold, progress)
        return [[*parsed.literal, *others] for parsed, others in zip(read, compared, strict=True)]

    def nearest(self, text: str, count: int) -> list[Candidate]:
        (found,) = self._compared([text], [self._near.read(text)], ANY, NO_PROGRESS)
        return best_candidates(found, count)

    def _compared(
        self, texts: Sequence[str], read: Sequence[ParsedText], threshold: float, progress: Progress
    ) -> list[list[Candidate]]:
        """Return, for each text, its n-grams that are not literal and score above the threshold."""
        ngrams = self._near.ngrams(read, progress)
        scored = nearest(ngrams.vectors, self._near.known[1], _LOOKED_AT)
        scored = Neighbours(scored.items, np.round(scored.scores, DIGITS))
        found: list[list[Candidate]] = [[] for _ in read]
        for parsed, candidates in zip(read, found, strict=True):
            for span in self._near.open_spans(parsed, ngrams):
                row = ngrams.row_of[parsed.words.phrase(*span)]
                if scored.scores[row, 0] > threshold:
                    near = scored.items[row] != MISSING
                    columns, scores = scored.items[row, near].tolist(), scored.scores[row, near].tolist()
                    candidates.append(self._near.candidate(parsed.words, span, columns, scores, threshold))
        return found
