"""Fusion of other systems' rankings."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Literal

import polars as pl
from pydantic import Field

from rankjury.core.columns import ITEM, QUERY, SCORE
from rankjury.core.convert import ranking_from_frame
from rankjury.core.types import ROW_NUMBER, Ranking
from rankjury.errors import UnknownName, UsageError
from rankjury.evaluation.sections import FusionFacts
from rankjury.plan import SYSTEM_KINDS
from rankjury.plan.context import Loaded, SystemContext, SystemTable
from rankjury.retrieval.fusion.align import fuse
from rankjury.retrieval.fusion.fusion import METHODS as FUSIONS, NORMALIZATIONS, Fusion


@SYSTEM_KINDS.register("fusion")
class FusionSystem(SystemTable):
    """Fused ranking of other systems."""

    kind: Literal["fusion"]
    of: Annotated[list[str], Field(min_length=1)] = Field(description="The systems to fuse.")
    method: str = Field("rrf", description="rrf, combsum, combmnz, combmax, isr, borda or condorcet.")
    weights: dict[str, float] | None = Field(None, description="Weights by system; default: equal.")
    c: float = Field(60.0, description="The constant of rrf: weight / (c + rank).")
    depth: Annotated[int, Field(ge=1)] | None = Field(None, description="Use only the top items of each list.")
    normalise: str | None = Field(None, description="none, min-max, z-score, sum or rank.")

    def load(self, context: SystemContext) -> Loaded:
        fusion = self.fusion()
        about = {
            "of": list(self.of),
            "method": self.method,
            "weights": dict(zip(self.of, fusion.weights_of(len(self.of)), strict=True)),
            "c": fusion.c if FUSIONS.get(self.method).has_c else None,
            "depth": self.depth,
            "normalise": fusion.normalise,
        }
        rankings = [context.rankings[name] for name in self.of]
        fused = fuse(rankings, fusion, source=" + ".join(self.of))
        if context.loaded_gold.closed and self.method == "rrf" and self.depth:
            fused = _with_the_rest(fused, rankings)
        return Loaded(fused, (FusionFacts(about),))

    def fusion(self) -> Fusion:
        weights = None
        if self.weights is not None:
            strange = [name for name in self.weights if name not in self.of]
            lacking = [name for name in self.of if name not in self.weights]
            if strange or lacking:
                found = f"no weight for {lacking[0]}" if lacking else f"a weight for {strange[0]}, which is not in of"
                raise UsageError(found, expected=f"a weight for each of {', '.join(self.of)}")
            weights = tuple(self.weights[name] for name in self.of)
        return Fusion(self.method, weights, self.c, self.depth, self.normalise)

    def needs(self) -> tuple[str, ...]:
        return tuple(self.of)

    def faults(self) -> Iterator[tuple[str, str]]:
        if FUSIONS.find(self.method) is None:
            yield "method", str(UnknownName(FUSIONS.kind, self.method, FUSIONS.names()))
        elif self.normalise not in (None, *NORMALIZATIONS):
            yield "normalise", str(UnknownName("normalisation", str(self.normalise), NORMALIZATIONS))
        else:
            try:
                self.fusion()
            except UsageError as error:
                yield "weights" if "weight" in str(error) else "c", str(error)


def _with_the_rest(fused: Ranking, rankings: Sequence[Ranking]) -> Ranking:
    """Return the ranking with all items of a closed set: items below the depth of every list score 0."""
    dtype = fused.items.dtype if fused.items.dtype == ROW_NUMBER else pl.String
    rows = fused.frame().with_columns(pl.col(ITEM).cast(pl.String))
    pairs = pl.concat([ranking.frame().select(QUERY, pl.col(ITEM).cast(pl.String)) for ranking in rankings]).unique()
    rest = pairs.join(rows, on=[QUERY, ITEM], how="anti").with_columns(pl.lit(0.0).alias(SCORE))
    whole = ranking_from_frame(pl.concat([rows, rest]), source=fused.source)
    return replace(whole, items=whole.items.cast(dtype))
