"""KeyBERT method (rankjury[keybert]): Algorithm 1 of the driving protocol, with KeyBERT's maximal marginal relevance
(MMR) as an option.

Algorithm 1 uses, for each n-gram, ``KeyBERT.extract(n-gram, V)``: the cosine of the n-gram with every keyword of the
vocabulary V, by KeyBERT's embedder. ``extract_keywords(candidates=V)`` does not compute that: it drops every keyword
that does not occur literally, so *cyclist entering ego lane* has none. The cosines over the whole vocabulary are those
of the method ``embedding``, which this one extends.

With ``diversity``, MMR first chooses keywords for the whole text, and n-grams are compared only with these. Literal
matches always count: MMR uses the text as a whole, and misses keywords that are one of many in it.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankjury.core.importing import missing_library
from rankjury.core.progress import Progress
from rankjury.labeling.keywords.annotations import Vocabulary
from rankjury.labeling.keywords.mappers.embedding import DIGITS, EmbeddingMapper, ParsedText
from rankjury.labeling.keywords.mapping import MAPPERS, Candidate, MappingSettings
from rankjury.retrieval.knn.similarity import similarity_of

if TYPE_CHECKING:
    from keybert import KeyBERT


@MAPPERS.register("keybert")
class KeyBertMapper(EmbeddingMapper):
    """The keyword nearest to each n-gram: of the whole vocabulary, or of those that MMR chooses for the text."""

    about = "cosine of n-grams and keywords by KeyBERT's embedder; with a diversity, only keywords chosen by MMR"

    def __init__(self, vocabulary: Vocabulary, settings: MappingSettings) -> None:
        super().__init__(vocabulary, settings)
        self._bert, self._mmr = _load(self)
        self._diversity, self._count = settings.diversity, settings.chosen

    def _compare(
        self, texts: Sequence[str], parsed: Sequence[ParsedText], threshold: float, progress: Progress
    ) -> list[list[Candidate]]:
        if self._diversity is None or not texts:
            return super()._compare(texts, parsed, threshold, progress)
        ngrams = self.ngrams(parsed, progress)
        spellings, vectors = self.known
        numbers, places = np.array([spelling.number for spelling in spellings]), list(range(len(spellings)))
        similarity = similarity_of("cosine", ngrams.vectors, vectors)
        documents = np.asarray(self._bert.model.embed(list(texts)), np.float64)
        keywords = vectors.astype(np.float64)
        found = []
        for number, text in enumerate(parsed):
            # MMR gets positions instead of words; all spellings of the chosen keywords count.
            document = documents[number : number + 1]
            ranked = self._mmr(document, keywords, places, top_n=self._count, diversity=self._diversity)
            chosen = np.flatnonzero(np.isin(numbers, numbers[[place for place, _ in ranked]]))
            spans = self.open_spans(text, ngrams)
            rows = np.array([ngrams.row_of[text.words.phrase(*span)] for span in spans], dtype=np.int64)
            scores = np.round(similarity.scores(rows, np.tile(chosen, (len(rows), 1))), DIGITS)
            order = np.argsort(-scores, axis=1, kind="stable")
            candidates = []
            for span, own, by_score in zip(spans, scores, order, strict=True):
                if own[by_score[0]] > threshold:
                    columns, ordered = chosen[by_score].tolist(), own[by_score].tolist()
                    candidates.append(self.candidate(text.words, span, columns, ordered, threshold))
            found.append(candidates)
            progress.update("Mapping texts", number + 1, len(parsed))
        return found


def _load(mapper: EmbeddingMapper) -> "tuple[KeyBERT, Callable[..., list[tuple[int, float]]]]":
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
            return mapper.vectors(documents)

    return KeyBERT(model=Backend()), mmr
