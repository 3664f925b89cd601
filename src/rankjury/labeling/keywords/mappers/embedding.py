"""Embedding method: maps each n-gram to the keyword with the highest cosine, if that exceeds the threshold.

This is Algorithm 1 of the driving protocol: an argmax over the whole vocabulary for every n-gram. Every distinct n-gram
and every spelling of every keyword is embedded once. A cosine is summed in 64 bits in a fixed order, so that it depends
on the two vectors only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
import polars as pl

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Matrix
from rankjury.errors import DataError
from rankjury.labeling.keywords.annotations import Vocabulary
from rankjury.labeling.keywords.mapping import MAPPERS, Candidate, MappingSettings, best_candidates
from rankjury.labeling.keywords.spellings import Spelling, Words, load_spellings
from rankjury.retrieval.embedding.corpus import Corpus
from rankjury.retrieval.embedding.embed import embed, find_model
from rankjury.retrieval.knn.search import nearest
from rankjury.retrieval.knn.select import MISSING

DIGITS = 6
"""Decimals of a cosine; 32-bit vectors do not determine more."""
ANY = -2.0
"""A threshold below every cosine."""
_NEAREST = 8
"""Number of nearest spellings per n-gram: the first is its keyword, the next of another keyword is the runner-up."""

Span = tuple[int, int]


@dataclass(frozen=True, eq=False)
class ParsedText:
    """A text: its words, its n-grams, and the spellings that occur literally."""

    words: Words
    spans: list[Span]
    literal: list[Candidate]


@dataclass(frozen=True, eq=False)
class NgramVectors:
    """Distinct n-grams of some texts, with nonzero vectors."""

    row_of: dict[str, int]
    vectors: Matrix


@MAPPERS.register("embedding")
class EmbeddingMapper:
    """Literal names and synonyms have score 1, whatever their length; other n-grams are compared by cosine."""

    about = "cosine of n-grams and keywords, as vectors of a model"

    def __init__(self, vocabulary: Vocabulary, settings: MappingSettings) -> None:
        self.threshold = 0.5 if settings.threshold is None else settings.threshold
        self.spellings = load_spellings(vocabulary, settings)
        self.notes = self.spellings.notes
        self.model = find_model(settings.model)
        self._ngrams = settings.ngrams

    @cached_property
    def known(self) -> tuple[list[Spelling], Matrix]:
        """Spellings with nonzero vectors, and these vectors; names first, so that they win ties."""
        listed = self.spellings.listed
        vectors = self.vectors([spelling.shown for spelling in listed])
        directed = np.flatnonzero(vectors.any(axis=1))
        if not directed.size:
            raise DataError("the vectors of all keywords are zero", where=self.model.name, expected="directions")
        return [listed[place] for place in directed.tolist()], vectors[directed]

    def vectors(self, phrases: Sequence[str], progress: Progress = NO_PROGRESS) -> Matrix:
        """Return the model's vectors, checked batch by batch."""
        series = pl.Series("text", phrases, dtype=pl.String)
        return embed(Corpus(series, series, ("n-gram",), source="n-grams"), self.model, progress=progress).values

    def candidates(self, texts: Sequence[str], progress: Progress = NO_PROGRESS) -> list[list[Candidate]]:
        parsed = [self._parse(text) for text in texts]
        compared = self._compare(texts, parsed, self.threshold, progress)
        return [[*text.literal, *others] for text, others in zip(parsed, compared, strict=True)]

    def nearest(self, text: str, count: int) -> list[Candidate]:
        (found,) = self._compare([text], [self._parse(text)], ANY, NO_PROGRESS)
        return best_candidates(found, count)

    def _parse(self, text: str) -> ParsedText:
        words = self.spellings.read(text)
        closed = self.spellings.closed(words)
        spans = [span for span in words.spans(*self._ngrams, closed) if words.says_something(*span)]
        return ParsedText(words, spans, list(self.spellings.literal(words)))

    def _compare(
        self, texts: Sequence[str], parsed: Sequence[ParsedText], threshold: float, progress: Progress
    ) -> list[list[Candidate]]:
        """Return, for each text, its n-grams that are not literal and score above the threshold."""
        ngrams = self.ngrams(parsed, progress)
        scored = nearest(ngrams.vectors, self.known[1], _NEAREST)
        rounded = np.round(scored.scores, DIGITS)
        found: list[list[Candidate]] = [[] for _ in parsed]
        for text, candidates in zip(parsed, found, strict=True):
            for span in self.open_spans(text, ngrams):
                row = ngrams.row_of[text.words.phrase(*span)]
                if rounded[row, 0] > threshold:
                    near = scored.items[row] != MISSING
                    columns, scores = scored.items[row, near].tolist(), rounded[row, near].tolist()
                    candidates.append(self.candidate(text.words, span, columns, scores, threshold))
        return found

    def ngrams(self, texts: Sequence[ParsedText], progress: Progress) -> NgramVectors:
        """Return all n-grams to compare, in an order independent of that of the texts."""
        phrases = sorted({text.words.phrase(*span) for text in texts for span in text.spans})
        if not phrases:
            return NgramVectors({}, np.empty((0, self.known[1].shape[1]), np.float32))
        vectors = self.vectors(phrases, progress)
        directed = np.flatnonzero(vectors.any(axis=1))
        return NgramVectors({phrases[place]: row for row, place in enumerate(directed.tolist())}, vectors[directed])

    def open_spans(self, text: ParsedText, ngrams: NgramVectors) -> list[Span]:
        """Return the n-grams of a text to compare: those with nonzero vectors that are not literal."""
        literal = {(candidate.start, candidate.end) for candidate in text.literal}
        return [span for span in text.spans if span not in literal and text.words.phrase(*span) in ngrams.row_of]

    def candidate(
        self, words: Words, span: Span, columns: Sequence[int], scores: Sequence[float], threshold: float
    ) -> Candidate:
        """Return the candidate of an n-gram, from the spellings that it was compared with, best first."""
        near = [self.known[0][column] for column in columns]
        first, shown, sharing = near[0], words.phrase(*span), self.spellings.sharing(words, *span)
        others = (pair for pair in zip(near, scores, strict=True) if pair[0].number != first.number)
        beaten = tuple(
            Candidate(*span, other.number, score, shown, other.shown, (), sharing)
            for other, score in islice(others, 1)
            if score > threshold
        )
        return Candidate(*span, first.number, scores[0], shown, first.shown, beaten, sharing)
