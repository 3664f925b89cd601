"""KeyBERT method (rankjury[keybert]): Algorithm 1 of the driving protocol, with KeyBERT's maximal marginal relevance
(MMR) as an option.

Algorithm 1 asks, for each n-gram, ``KeyBERT.extract(n-gram, V)``: the cosine of the n-gram with every keyword of the
vocabulary V, by KeyBERT's embedder. ``extract_keywords(candidates=V)`` does not give it: it drops every keyword that
does not occur literally, so *cyclist entering ego lane* has none. The cosines over the whole vocabulary are those of
the method ``embedding``, which this one extends.

With ``diversity``, MMR first chooses keywords for the whole text, and n-grams are compared with these alone. Literal
matches count in any case: MMR looks at the text as a whole, and misses keywords that are one of many in it.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankjury.core.importing import missing_library
from rankjury.core.progress import Progress
from rankjury.core.types import Ints, Matrix
from rankjury.labeling.keywords.annotations import Vocabulary
from rankjury.labeling.keywords.mappers.embedding import DIGITS, EmbeddedVocabulary, EmbeddingMapper, ParsedText
from rankjury.labeling.keywords.mapping import MAPPERS, Candidate, MappingSettings
from rankjury.retrieval.knn.similarity import similarity_of

if TYPE_CHECKING:
    from keybert import KeyBERT


@MAPPERS.register("keybert")
class KeyBertMapper(EmbeddingMapper):
    """The keyword nearest to each n-gram: of the whole vocabulary, or of those that MMR chooses for the text."""

    about = (
        "n-grams and keywords by KeyBERT's embedder, by their cosine; with a diversity, among the keywords of its MMR"
    )

    def __init__(self, vocabulary: Vocabulary, settings: MappingSettings) -> None:
        super().__init__(vocabulary, settings)
        self._bert, self._mmr = _loaded(self._near)
        self._diversity, self._count = settings.diversity, settings.chosen

    def _compared(
        self, texts: Sequence[str], read: Sequence[ParsedText], threshold: float, progress: Progress
    ) -> list[list[Candidate]]:
        if self._diversity is None or not texts:
            return super()._compared(texts, read, threshold, progress)
        ngrams = self._near.ngrams(read, progress)
        similarity = similarity_of("cosine", ngrams.vectors, self._near.known[1])
        documents = np.asarray(self._bert.model.embed(list(texts)), np.float64)
        words = self._near.known[1].astype(np.float64)
        found = []
        for place, parsed in enumerate(read):
            chosen = self._chosen(documents[place : place + 1], words, self._diversity)
            spans = self._near.open_spans(parsed, ngrams)
            rows = np.array([ngrams.row_of[parsed.words.phrase(*span)] for span in spans], dtype=np.int64)
            scores = np.round(similarity.scores(rows, np.tile(chosen, (len(rows), 1))), DIGITS)
            order = np.argsort(-scores, axis=1, kind="stable")
            found.append(
                [
                    self._near.candidate(
                        parsed.words, span, chosen[by_score].tolist(), own[by_score].tolist(), threshold
                    )
                    for span, own, by_score in zip(spans, scores, order, strict=True)
                    if own[by_score[0]] > threshold
                ]
            )
            progress.update("Mapping texts", place + 1, len(read))
        return found

    def _chosen(self, document: Matrix, words: Matrix, diversity: float) -> Ints:
        """Return the spellings of the keywords that MMR chooses; it is given places, because it returns words."""
        places = list(range(len(words)))
        ranked = self._mmr(document, words, places, top_n=self._count, diversity=diversity)
        numbers = self._near.numbers
        return np.flatnonzero(np.isin(numbers, numbers[[place for place, _ in ranked]]))


def _loaded(near: EmbeddedVocabulary) -> "tuple[KeyBERT, Callable[..., list[tuple[int, float]]]]":
    """Return KeyBERT over rankjury's embedder, and its maximal marginal relevance."""
    with warnings.catch_warnings():  # the library silences the warnings of the whole process
        try:
            from keybert import KeyBERT
            from keybert._mmr import mmr
            from keybert.backend import BaseEmbedder
        except ImportError as error:
            raise missing_library("keybert", "the method keybert") from error

    class Backend(BaseEmbedder):  # type: ignore[misc, unused-ignore]
        """rankjury's embedder with the interface that KeyBERT calls."""

        def embed(self, documents: list[str], verbose: bool = False) -> Any:
            return near.vectors(documents)

    return KeyBERT(model=Backend()), mmr
