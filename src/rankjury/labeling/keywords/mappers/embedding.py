"""Embedding method: each n-gram means the keyword with the highest cosine, if that is above the threshold.

This is Algorithm 1 of the driving protocol: an argmax over the whole vocabulary for every n-gram.
"""

from collections.abc import Sequence

import numpy as np

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.labeling.keywords.mapping import MAPPERS, Candidate, Settings
from rankjury.labeling.keywords.nearest import ANY, DIGITS, Near, Read
from rankjury.labeling.keywords.resolve import best_first
from rankjury.labeling.keywords.vocabulary import Vocabulary
from rankjury.retrieval.knn.search import Neighbours, nearest
from rankjury.retrieval.knn.select import MISSING

_DEFAULT_THRESHOLD = 0.5
_LOOKED_AT = 8
"""Spellings nearest to an n-gram: the first is its keyword, the next of another keyword is the one that it beat."""


@MAPPERS.register("embedding")
class Embedding:
    """Names and synonyms that occur literally have score 1, whatever their length; other n-grams are compared."""

    about = "n-grams and keywords as vectors of a model, by their cosine"

    def __init__(self, vocabulary: Vocabulary, settings: Settings) -> None:
        self.threshold = _DEFAULT_THRESHOLD if settings.threshold is None else settings.threshold
        self._near = Near(vocabulary, settings)
        self.notes = self._near.spellings.notes

    def candidates(self, texts: Sequence[str], progress: Progress = NO_PROGRESS) -> list[list[Candidate]]:
        read = [self._near.read(text) for text in texts]
        compared = self._compared(texts, read, self.threshold, progress)
        return [[*one.literal, *others] for one, others in zip(read, compared, strict=True)]

    def nearest(self, text: str, count: int) -> list[Candidate]:
        (found,) = self._compared([text], [self._near.read(text)], ANY, NO_PROGRESS)
        return best_first(found, count)

    def _compared(
        self, texts: Sequence[str], read: Sequence[Read], threshold: float, progress: Progress
    ) -> list[list[Candidate]]:
        """Return, for each text, its n-grams that are not literal and score above the threshold."""
        ngrams = self._near.ngrams(read, progress)
        scored = nearest(ngrams.vectors, self._near.known[1], _LOOKED_AT)
        scored = Neighbours(scored.items, np.round(scored.scores, DIGITS))
        found: list[list[Candidate]] = [[] for _ in read]
        for one, candidates in zip(read, found, strict=True):
            for span in self._near.open_spans(one, ngrams):
                row = ngrams.row_of[one.words.phrase(*span)]
                if scored.scores[row, 0] > threshold:
                    near = scored.items[row] != MISSING
                    columns, scores = scored.items[row, near].tolist(), scored.scores[row, near].tolist()
                    candidates.append(self._near.candidate(one.words, span, columns, scores, threshold))
        return found
