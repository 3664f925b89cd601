"""rankjury inside other libraries, one module per library; and the comparison with a reference model, which needs none.

Reports go to ``mlflow`` and ``wandb``, which share ``loggable``: names and values, tables and files.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan
from numbers import Integral
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.types import Floats, Matrix, Ranking, Vectors, as_floats, listed, names_of
from rankjury.errors import DataError, UsageError
from rankjury.evaluation.evaluate import evaluate
from rankjury.io.vectors.arrays import check_vectors
from rankjury.measures.dialects import NamedMeasure, resolve
from rankjury.retrieval.agreement.pairs import VectorSimilarities, sample_ids, sample_pairs
from rankjury.retrieval.agreement.reference import MEASURES, reference_gold, reference_measures
from rankjury.retrieval.agreement.stats import AGREEMENTS, LOWER_IS_BETTER
from rankjury.retrieval.knn.search import score_listed
from rankjury.retrieval.knn.similarity import norms_of
from rankjury.retrieval.rank import check_same_items, rank_vectors

logger = logging.getLogger(__name__)

_COMPARED = {f"{name}_cosine": function for name, function in AGREEMENTS.items()}
LESS_IS_BETTER = frozenset(f"{name}_cosine" for name in LOWER_IS_BETTER)


@dataclass(frozen=True, eq=False)
class TextPairs:
    """Pairs of texts, and their similarities by the reference."""

    first: list[str]
    second: list[str]
    targets: Floats


class ReferenceComparison:
    """Comparison of a model with a reference, whose neighbors and pairs are prepared once for all evaluations.

    Without ``pairs``, ``n_pairs`` are sampled. ``n_samples`` of the texts are queries; None: all.
    """

    def __init__(
        self,
        texts: list[str],
        ids: pl.Series,
        reference: Vectors,
        *,
        k_values: Sequence[int],
        pairs: TextPairs | None,
        n_pairs: int,
        n_samples: int | None,
        seed: int,
    ) -> None:
        self.ids, self._numbered = ids, reference.numbered
        self.cuts = sorted({positive_integer(k, "a cut-off of k_values") for k in k_values})
        if not self.cuts:
            raise UsageError("found none", where="k_values", expected="at least one cut-off")
        queries = sample_ids(reference.ids, n_samples, seed, where="n_samples")
        deepest = self.cuts[-1]

        def rank(wanted: pl.Series, k: int) -> Ranking:
            return rank_vectors(reference, wanted=wanted, k=k, scored=False).ranking

        neighbors = reference_gold(rank, queries, deepest, needed=deepest, source=reference.source)
        for note in neighbors.notes(tuple(self.cuts)):
            logger.warning("%s", note)
        self.gold = neighbors.gold
        if pairs is None:
            sampled = sample_pairs(queries, reference.ids, positive_integer(n_pairs, "n_pairs"), seed)
            text_of = dict(zip(ids, texts, strict=True))
            first, second = ([text_of[name] for name in side] for side in (sampled.queries, sampled.items))
            pairs = TextPairs(first, second, VectorSimilarities(reference).of(sampled.queries, sampled.items))
        self._targets = pairs.targets
        self.sentences = list(dict.fromkeys([*texts, *pairs.first, *pairs.second]))
        """Distinct texts, also of the pairs."""
        row_of = {sentence: row for row, sentence in enumerate(self.sentences)}
        self._texts, self._first, self._second = (
            np.array([row_of[text] for text in column], dtype=np.int64) for column in (texts, pairs.first, pairs.second)
        )
        self._measures = [
            NamedMeasure(f"{name}@{k}", resolve(f"{spelling}@{k}").measure)
            for name, spelling in zip(MEASURES, reference_measures(), strict=False)
            for k in self.cuts
        ]
        self.labels = [*_COMPARED, *(measure.label for measure in self._measures)]

    def figures(self, vectors: Matrix) -> dict[str, float]:
        """Return a model's values from its vectors of the sentences; all NaN where one of these has no direction."""
        lengths = norms_of(vectors)
        useless = np.flatnonzero(~((lengths > 0) & np.isfinite(lengths)))
        if useless.size:
            some = listed([repr(self.sentences[row]) for row in useless.tolist()])
            logger.warning("all figures are NaN, for the model's vectors are zero or not finite: %s", some)
            return dict.fromkeys(self.labels, nan)
        similarities = score_listed(vectors, vectors, self._first, self._second)
        compared = {name: function(self._targets, similarities) for name, function in _COMPARED.items()}
        corpus = Vectors(self.ids, vectors[self._texts], "the model", self._numbered)
        ranking = rank_vectors(corpus, wanted=self.gold.queries, k=self.cuts[-1], scored=False).ranking
        return compared | evaluate(self.gold, ranking, self._measures).mean()


def positive_integer(number: Any, what: str) -> int:
    """Return a whole number of at least 1, and refuse anything else."""
    if not isinstance(number, Integral) or number < 1:
        raise UsageError(f"{what} is {number!r}", expected="a whole number, 1 or more")
    return int(number)


def list_of_strings(given: Any, where: str) -> list[str]:
    """Return a list of at least one string, and refuse anything else."""
    strings = [] if isinstance(given, str) else list(given)
    for row, text in enumerate(strings):
        if not isinstance(text, str):
            raise DataError(f"row {row + 1:,} is {text!r}", where=where, expected="strings")
    if not strings:
        found = "one string" if isinstance(given, str) else "nothing"
        raise DataError(f"found {found}", where=where, expected="a list of strings")
    return strings


def check_pairs(pairs: Any) -> TextPairs:
    """Return pairs from sentences1, sentences2 and scores, and refuse anything else."""
    try:
        first, second, scores = pairs
        targets = np.array(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        expected = "three lists: sentences1, sentences2 and scores"
        raise DataError(f"cannot be read: {error}", where="pairs", expected=expected) from error
    left, right = list_of_strings(first, "pairs, sentences1"), list_of_strings(second, "pairs, sentences2")
    if targets.shape != (len(left),) or len(left) != len(right):
        sizes = f"{len(left):,} and {len(right):,} sentences and {targets.size:,} scores"
        raise DataError(f"found {sizes}", where="pairs", expected="as many of each")
    if not np.isfinite(targets).all():
        row = int(np.argmin(np.isfinite(targets)))
        raise DataError(f"the score of row {row + 1:,} is {targets[row]}", where="pairs", expected="finite numbers")
    return TextPairs(left, right, targets)


def match_reference(n: int, ids: Any, reference: Any, reference_ids: Any) -> tuple[pl.Series, Vectors]:
    """Return the ids of n texts, and the reference's vectors, which must have the same ids.

    The rows of a matrix without ids are those of the texts, in their order.
    """
    names = _named(ids, "ids") if ids is not None else pl.int_range(n, eager=True).cast(pl.String)
    if len(names) != n:
        raise DataError(f"found {n:,} texts and {len(names):,} ids", where="ids", expected="one id per text")
    texts = replace(check_vectors(names, np.zeros((n, 1)), "texts"), numbered=ids is None)
    if isinstance(reference, Vectors) and reference.numbered:
        reference = reference.values
    if not isinstance(reference, Vectors):
        try:
            array = np.asarray(reference).view()  # the caller's array must not become read-only
        except (TypeError, ValueError, RuntimeError) as error:
            raise DataError(f"cannot be read: {error}", where="reference", expected="a matrix of numbers") from error
        values = as_floats(array, "reference")
        own = None if reference_ids is None else _named(reference_ids, "reference_ids")
        if own is None and len(values) != n:
            raise DataError(
                f"found {n:,} texts and {len(values):,} rows",
                where="reference",
                expected="a row for each text, in the same order",
                hint="To match rows by id, give ids and reference_ids.",
            )
        reference = replace(
            check_vectors(texts.ids if own is None else own, values, "reference"), numbered=own is None and ids is None
        )
    elif reference_ids is not None:
        raise UsageError(f"{reference.source} already contains ids", where="reference_ids", hint="Omit reference_ids.")
    else:
        reference = check_vectors(reference.ids, reference.values, reference.source)
    if not reference.numbered:
        check_same_items(reference, texts)
    return texts.ids, reference


def _named(ids: Any, where: str) -> pl.Series:
    try:
        return names_of(pl.Series("id", list(ids)), where)
    except TypeError as error:
        raise DataError(f"cannot be read: {error}", where=where, expected="strings or whole numbers") from error
