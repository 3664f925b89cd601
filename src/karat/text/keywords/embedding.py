"""By embeddings: each n-gram means the keyword that it comes nearest to, if that is near enough."""

from collections.abc import Sequence

import numpy as np

from karat.neighbours import NOBODY, Neighbours, nearest
from karat.text.keywords import MAPPERS, Candidate, Progress, Settings
from karat.text.keywords.near import ANY, DIGITS, Near, Ngrams, Read, no_progress
from karat.text.keywords.settling import best_first
from karat.vocabulary import Vocabulary

__all__ = ["Embedding"]

_USUAL_THRESHOLD = 0.5
_LOOKED_AT = 8
"""Spellings nearest to an n-gram: the first is its keyword, the next of another keyword is who was beaten."""


@MAPPERS.register("embedding")
class Embedding:
    """What stands in a text literally has score 1, whatever its length; other n-grams are compared."""

    about = "n-grams and keywords as vectors of a model, by their cosine"

    def __init__(self, vocabulary: Vocabulary, settings: Settings) -> None:
        self.threshold = _USUAL_THRESHOLD if settings.threshold is None else settings.threshold
        self._near = Near(vocabulary, settings)
        self.notes = self._near.spellings.notes

    def candidates(self, texts: Sequence[str], progress: Progress = no_progress) -> list[list[Candidate]]:
        read = [self._near.read(text) for text in texts]
        ngrams = self._near.ngrams(read, progress)
        found = self._nearest(ngrams)
        return [[*one.literal, *self._compared(one, ngrams, found, self.threshold)] for one in read]

    def _nearest(self, ngrams: Ngrams) -> Neighbours:
        found = nearest(ngrams.vectors, self._near.known[1], _LOOKED_AT)
        return Neighbours(found.items, np.round(found.scores, DIGITS))

    def _compared(self, one: Read, ngrams: Ngrams, found: Neighbours, threshold: float) -> list[Candidate]:
        literal = {(candidate.start, candidate.end) for candidate in one.literal}
        compared = []
        for span in one.spans:
            row = ngrams.row_of.get(one.words.phrase(*span))
            if row is None or span in literal or found.scores[row, 0] <= threshold:
                continue
            near = found.items[row] != NOBODY
            columns, scores = found.items[row, near].tolist(), found.scores[row, near].tolist()
            compared.append(self._near.candidate(one.words, span, columns, scores, threshold))
        return compared

    def nearest(self, text: str, count: int) -> list[Candidate]:
        one = self._near.read(text)
        ngrams = self._near.ngrams([one])
        return best_first(self._compared(one, ngrams, self._nearest(ngrams), ANY), count)
