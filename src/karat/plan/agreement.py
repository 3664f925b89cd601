"""The similarities of a plan's systems held against its reference's."""

import numpy as np

from karat.agreement import Agreement, Pairs, agreement_of
from karat.errors import DataError, UsageError
from karat.pairing import Listed, compared, sampled_pairs, top_pairs
from karat.plan.model import AgreementTable
from karat.plan.reading import Checked
from karat.plan.tables import Loaded
from karat.similarities import Similarities
from karat.statistics.intervals import Resampling
from karat.statistics.streams import keys_of
from karat.types import Gold, Ranking, Vectors

__all__ = ["PairsOfSystems"]

_USUAL_K = 10


class PairsOfSystems:
    """Takes systems in as they are loaded, and keeps only the numbers of the pairs."""

    def __init__(self, checked: Checked, loaded: Loaded) -> None:
        self.table = checked.plan.agreement
        self.where = f"{checked.where}, agreement"
        self.reference = loaded.reference
        self.gold = next(iter(loaded.golds.values()))
        self.k = (self.table and self.table.k) or max(checked.cuts, default=_USUAL_K)
        self._pairs: dict[str, Pairs] = {}

    def add(self, name: str, similarities: Similarities, ranking: Ranking) -> None:
        if self.table is None or self.reference is None:
            return
        listed = self._listed(name, self.table, self.reference.vectors if similarities.everything else None, ranking)
        pairs = compared(listed, self.reference.similarities, similarities)
        if not pairs.row.size:
            raise DataError(
                f"no pair has a similarity by both the reference and {name}",
                where=self.where,
                expected="runs with scores",
                hint="Leave the agreement of similarities away.",
            )
        self._pairs[name] = pairs

    def _listed(self, name: str, table: AgreementTable, vectors: Vectors | None, ranking: Ranking) -> Listed:
        """``vectors`` are the reference's, None unless both sides are known by vectors."""
        if table.over == "top" or (table.over is None and vectors is None):
            return top_pairs(self.gold, ranking, self.k)
        if vectors is None:
            raise UsageError(
                f"sampled pairs need vectors, and {name} or the reference is a run",
                where=self.where,
                expected='over = "top"',
            )
        return sampled_pairs(self.gold.queries, vectors.ids, table.pairs, table.seed)

    def agreements(self, gold: Gold, how: Resampling, baseline: str | None) -> dict[str, Agreement]:
        """By system, with the differences to the baseline where both are over the same pairs."""
        keys = keys_of(gold.queries.sort(), how.seed)
        found = {name: agreement_of(pairs, keys, how) for name, pairs in self._pairs.items()}
        if baseline not in found:
            return found
        return {
            name: one.beside(found[baseline], how.level) if name != baseline and self._same(name, baseline) else one
            for name, one in found.items()
        }

    def _same(self, name: str, other: str) -> bool:
        ours, theirs = self._pairs[name], self._pairs[other]
        return np.array_equal(ours.row, theirs.row) and np.array_equal(ours.reference, theirs.reference)
