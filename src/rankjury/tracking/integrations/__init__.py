"""rankjury inside other libraries, one file a library; here what needs none: texts and pairs compared with a reference.

Reports go to ``mlflow`` and ``wandb``, which share ``loggable``: names and values, tables and files.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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

_RANKED = dict(zip(MEASURES, reference_measures(), strict=False))
_COMPARED = {f"{name}_cosine": function for name, function in AGREEMENTS.items()}
LESS_IS_BETTER = frozenset(f"{name}_cosine" for name in LOWER_IS_BETTER)


@dataclass(frozen=True, eq=False)
class TextPairs:
    """Pairs of texts, and how alike the reference finds them."""

    first: list[str]
    second: list[str]
    targets: Floats


class ReferenceComparison:
    """What stays the same from one look at a model to the next: the reference's neighbours and the pairs.

    Without ``pairs``, ``n_pairs`` are drawn. ``n_samples`` of the texts are asked; None: all.
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
        asked = sample_ids(reference.ids, n_samples, seed, where="n_samples")
        deepest = self.cuts[-1]

        def rank(wanted: pl.Series, k: int) -> Ranking:
            return rank_vectors(reference, wanted=wanted, k=k, scored=False).ranking

        neighbours = reference_gold(rank, asked, deepest, needed=deepest, source=reference.source)
        for note in neighbours.notes(tuple(self.cuts)):
            logger.warning("%s", note)
        self.gold = neighbours.gold
        if pairs is None:
            drawn = sample_pairs(asked, reference.ids, positive_integer(n_pairs, "n_pairs"), seed)
            text_of = dict(zip(ids, texts, strict=True))
            first, second = ([text_of[name] for name in side] for side in (drawn.queries, drawn.items))
            pairs = TextPairs(first, second, VectorSimilarities(reference).of(drawn.queries, drawn.items))
        self._targets = pairs.targets
        self.sentences = list(dict.fromkeys([*texts, *pairs.first, *pairs.second]))
        """Each once: the texts, and those of the pairs."""
        place_of = {sentence: place for place, sentence in enumerate(self.sentences)}
        self._texts, self._first, self._second = (
            np.array([place_of[text] for text in some], dtype=np.int64) for some in (texts, pairs.first, pairs.second)
        )

    @cached_property
    def _asked(self) -> list[NamedMeasure]:
        return [
            NamedMeasure(f"{name}@{k}", resolve(f"{spelling}@{k}").measure)
            for name, spelling in _RANKED.items()
            for k in self.cuts
        ]

    @property
    def labels(self) -> list[str]:
        """The names of the figures."""
        return [*_COMPARED, *(one.label for one in self._asked)]

    def figures(self, vectors: Matrix) -> dict[str, float]:
        """Of a model, by its vectors of the sentences; all NaN where one of these has no direction."""
        lengths = norms_of(vectors)
        useless = np.flatnonzero(~((lengths > 0) & np.isfinite(lengths)))
        if useless.size:
            some = listed([repr(self.sentences[row]) for row in useless.tolist()])
            logger.warning("all figures are NaN, for the model's vectors are zero or not finite: %s", some)
            return dict.fromkeys(self.labels, nan)
        found = score_listed(vectors, vectors, self._first, self._second)
        compared = {name: function(self._targets, found) for name, function in _COMPARED.items()}
        corpus = Vectors(self.ids, vectors[self._texts], "the model", self._numbered)
        ranking = rank_vectors(corpus, wanted=self.gold.queries, k=self.cuts[-1], scored=False).ranking
        return compared | evaluate(self.gold, ranking, self._asked).mean()


def positive_integer(number: Any, what: str) -> int:
    """A whole number from 1 on, or an error."""
    if not isinstance(number, Integral) or number < 1:
        raise UsageError(f"{what} is {number!r}", expected="a whole number, 1 or more")
    return int(number)


def list_of_strings(given: Any, where: str) -> list[str]:
    """A list of strings, at least one, or an error."""
    held = [] if isinstance(given, str) else list(given)
    odd = next((row for row, one in enumerate(held) if not isinstance(one, str)), None)
    if odd is not None:
        raise DataError(f"row {odd + 1:,} is {held[odd]!r}", where=where, expected="strings")
    if not held:
        found = "one string" if isinstance(given, str) else "nothing"
        raise DataError(f"found {found}", where=where, expected="a list of strings")
    return held


def check_pairs(pairs: Any) -> TextPairs:
    """From sentences1, sentences2 and scores, or an error."""
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
    """The ids of n texts, and the reference's vectors of the same ids; or an error.

    A matrix without ids of its own has the texts' rows in their order.
    """
    names = _named(ids, "ids") if ids is not None else pl.int_range(n, eager=True).cast(pl.String)
    if len(names) != n:
        raise DataError(f"found {n:,} texts and {len(names):,} ids", where="ids", expected="an id a text")
    texts = replace(check_vectors(names, np.zeros((n, 1)), "texts"), numbered=ids is None)
    if isinstance(reference, Vectors) and reference.numbered:
        reference = reference.values
    if not isinstance(reference, Vectors):
        try:
            array = np.asarray(reference).view()  # vectors are made read-only, and the caller's array is the caller's
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
        raise UsageError(f"{reference.source} has ids of its own", where="reference_ids", hint="Leave them away.")
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
