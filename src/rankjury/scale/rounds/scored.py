"""The scores of some queries as a frame, which is what rounds work on.

It has one row a query: its id, its key for resampling, a column for each column of the layout; for each group of items
the same columns once more and whether the query takes part; and its attributes.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from rankjury.core.convert import QUERY
from rankjury.core.types import Bools, Floats
from rankjury.scale.request import EvaluationRequest
from rankjury.stats.resampling import Keys

_KEY = "key"


@dataclass(frozen=True, eq=False)
class BlockScores:
    """The scores of some queries."""

    frame: pl.DataFrame
    columns: int
    """How many the layout has."""

    @classmethod
    def of(
        cls,
        queries: pl.Series,
        keys: Keys,
        tables: list[tuple[Floats, Bools]],
        attributes: list[pl.DataFrame],
    ) -> "BlockScores":
        """``tables`` are those of the whole gold, and then of each group of items, with who takes part."""
        columns: dict[str, object] = {QUERY: queries.cast(pl.String), _KEY: keys}
        for number, (scores, takes_part) in enumerate(tables):
            columns |= {_column(number, place): column for place, column in enumerate(scores.T)}
            if number:
                columns[_part(number)] = takes_part
        for number, table in enumerate(attributes):
            columns |= {_attribute(number, name): table[name] for name in table.columns}
        return cls(pl.DataFrame(columns), tables[0][0].shape[1])

    @property
    def keys(self) -> Keys:
        return self.frame[_KEY].to_numpy()

    def table(self, number: int) -> Floats:
        """Of the whole gold (0), or of a group of items; queries × columns."""
        names = [_column(number, place) for place in range(self.columns)]
        return np.column_stack([self.frame[name].to_numpy() for name in names])

    def participates(self, number: int) -> Bools:
        """Which queries have something of a group of items in their gold."""
        return self.frame[_part(number)].to_numpy()

    def attributes(self, number: int) -> pl.DataFrame:
        start = _attribute(number, "")
        return self.frame.select(
            pl.col(name).alias(name.removeprefix(start)) for name in self.frame.columns if name.startswith(start)
        )

    def per_query(self, request: EvaluationRequest) -> pl.DataFrame:
        """As people read it: system, query_id, and the measures; undefined is null."""
        frames = []
        for number, name in enumerate(request.systems):
            own = [
                pl.col(_column(0, number * len(request.asked) + place)).fill_nan(None).alias(one.label)
                for place, one in enumerate(request.asked)
            ]
            frames.append(self.frame.select(pl.lit(name).alias("system"), pl.col(QUERY), *own))
        return pl.concat(frames)


def _column(table: int, place: int) -> str:
    return f"{table}.{place}"


def _part(table: int) -> str:
    return f"{table}.part"


def _attribute(number: int, name: str) -> str:
    return f"a{number}.{name}"
