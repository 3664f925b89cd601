"""KeyBERT (karat[keybert]): its embedder, and its choice of keywords that are near a text but not near each other.

KeyBERT chooses among the whole vocabulary. Its own ``candidates=`` would keep only phrases that stand literally in the
text, so that *cyclist entering ego lane* had none. The keywords that it chose then have to come near an n-gram of the
text, by which they are shown.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from karat.errors import MissingExtra
from karat.similarity import Similarity, similarity_of
from karat.text.keywords import MAPPERS, Candidate, Progress, Settings
from karat.text.keywords.near import ANY, DIGITS, Near, Ngrams, Read, no_progress
from karat.text.keywords.settling import best_first
from karat.types import Ints, Matrix
from karat.vocabulary import Vocabulary

if TYPE_CHECKING:
    from keybert import KeyBERT

__all__ = ["ByKeyBert"]

_USUAL_THRESHOLD = 0.5


@MAPPERS.register("keybert")
class ByKeyBert:
    """Maximal marginal relevance chooses keywords for a text; an n-gram means the one of them that it is nearest to."""

    about = "KeyBERT's choice among the whole vocabulary, then the n-grams nearest to it"

    def __init__(self, vocabulary: Vocabulary, settings: Settings) -> None:
        self.threshold = _USUAL_THRESHOLD if settings.threshold is None else settings.threshold
        self._near = Near(vocabulary, settings)
        self._bert, self._mmr = _loaded(self._near)
        self._diversity, self._count = settings.diversity, settings.chosen
        self.notes = self._near.spellings.notes

    def candidates(self, texts: Sequence[str], progress: Progress = no_progress) -> list[list[Candidate]]:
        return self._found(texts, self.threshold, progress)

    def nearest(self, text: str, count: int) -> list[Candidate]:
        (found,) = self._found([text], ANY, no_progress)
        return best_first(found, count)

    def _found(self, texts: Sequence[str], threshold: float, progress: Progress) -> list[list[Candidate]]:
        if not texts:
            return []
        read = [self._near.read(text) for text in texts]
        ngrams = self._near.ngrams(read, progress)
        similarity = similarity_of("cosine", ngrams.vectors, self._near.known[1])
        documents = np.asarray(self._bert.model.embed(list(texts)), np.float64)
        words = self._near.known[1].astype(np.float64)
        found = []
        for place, one in enumerate(read):
            chosen = self._chosen(documents[place : place + 1], words)
            found.append(self._compared(one, ngrams, similarity, chosen, threshold))
            progress(place + 1, len(read))
        return found

    def _chosen(self, document: Matrix, words: Matrix) -> Ints:
        """The spellings of the keywords that KeyBERT chooses; asked by their places, for it gives back words."""
        places = list(range(len(words)))
        told = self._mmr(document, words, places, top_n=self._count, diversity=self._diversity)
        numbers = self._near.numbers
        return np.flatnonzero(np.isin(numbers, numbers[[place for place, _ in told]]))

    def _compared(
        self, one: Read, ngrams: Ngrams, similarity: Similarity, chosen: Ints, threshold: float
    ) -> list[Candidate]:
        allowed = set(self._near.numbers[chosen].tolist())
        found = [candidate for candidate in one.literal if candidate.number in allowed]
        literal = {(candidate.start, candidate.end) for candidate in found}
        spans = [span for span in one.spans if span not in literal and one.words.phrase(*span) in ngrams.row_of]
        if not spans:
            return found
        rows = np.array([ngrams.row_of[one.words.phrase(*span)] for span in spans])
        scores = np.round(similarity.scores(rows, np.tile(chosen, (len(rows), 1))), DIGITS)
        order = np.argsort(-scores, axis=1, kind="stable")
        for span, own, by_score in zip(spans, scores, order, strict=True):
            if own[by_score[0]] > threshold:
                columns, ordered = chosen[by_score].tolist(), own[by_score].tolist()
                found.append(self._near.candidate(one.words, span, columns, ordered, threshold))
        return found


def _loaded(near: Near) -> "tuple[KeyBERT, Callable[..., list[tuple[int, float]]]]":
    """KeyBERT over karat's embedder, and its maximal marginal relevance."""
    with warnings.catch_warnings():  # the library silences everybody's
        try:
            from keybert import KeyBERT
            from keybert._mmr import mmr
            from keybert.backend import BaseEmbedder
        except ImportError as error:
            raise MissingExtra("keybert", "keybert", "the method keybert") from error

    class Backend(BaseEmbedder):  # type: ignore[misc, unused-ignore]
        """An embedder of karat's as KeyBERT calls it."""

        def embed(self, documents: list[str], verbose: bool = False) -> Any:
            return near.vectors(documents)

    return KeyBERT(model=Backend()), mmr
