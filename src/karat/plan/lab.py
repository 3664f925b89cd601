"""The ``lab`` table of a plan: how indexes are tried; and what its files hold, read once."""

from collections.abc import Mapping
from functools import cached_property
from math import ceil
from typing import Annotated

import numpy as np
import polars as pl
from pydantic import Field

from karat.engines import Filter
from karat.errors import DataError, UnknownName, UsageError
from karat.formats.attributes import read_attributes
from karat.formats.vectors.checks import listed
from karat.lab.bench import WARM_UP, Embed
from karat.lab.measuring import Clock
from karat.plan.earlier import Reference, References
from karat.plan.tables import Folder, Table
from karat.text.models import Embedder, find_model
from karat.text.queryset import QuerySet, check_pins, read_query_set
from karat.types import Vectors

__all__ = ["LabTable", "LabWork"]

_ENOUGH_TIMED = 1_000
"""Queries that P99 can be read from."""


class LabTable(Table):
    """How indexes are tried."""

    k: Annotated[int, Field(ge=1)] = Field(10, description="How many neighbours recall and latency are about.")
    queries: str | None = Field(
        None, description="The query set: a table with id, text, type and version. Its version and hash are recorded."
    )
    items: str | None = Field(None, description="The catalogue: a table of the items' attributes, for filters.")
    model: str | None = Field(
        None, description="Turns the queries' texts into vectors while end to end is timed, such as wordllama."
    )
    rounds: Annotated[int, Field(ge=0)] | None = Field(
        None, description="How often each query is timed; unset: until there are 1,000 times; 0: not at all."
    )
    warm_up: Annotated[int, Field(ge=0)] = Field(WARM_UP, description="Queries before the clock counts.")
    concurrency: list[Annotated[int, Field(ge=1, le=256)]] = Field(
        [1, 2, 4], description="Numbers of callers that each wait for their answer before they ask again."
    )
    rate: Annotated[float, Field(gt=0)] | None = Field(
        None, description="Queries a second that come whether or not the last was answered (open loop); unset: none."
    )
    earlier: str | None = Field(
        None,
        description="An earlier report, to evaluate drift against; {index} stands for the index, * for anything. Of "
        "the files that a name with * matches, the latest that holds the index and did not fail its drift targets is "
        "taken; a name without * is taken as it is.",
    )
    allowed_drift: Annotated[float, Field(gt=0)] = Field(0.05, description="How far similarities and norms may move.")
    verify: bool = Field(True, description="Check that cosine and inner product rank alike on normalised vectors.")


class LabWork:
    """A lab at work: what its files hold, each read once."""

    def __init__(self, table: LabTable, folder: Folder, *, alone: bool = False, plan: str | None = None) -> None:
        """``plan``: the name of the plan, to report that an earlier report is of another one."""
        self.table = table
        self.folder = folder
        self.alone = alone
        """There is one system, whatever it is called."""
        self.references = None if table.earlier is None else References(table.earlier, folder.path, plan)

    def clock(self, queries: int) -> Clock | None:
        table = self.table
        rounds = max(1, ceil(_ENOUGH_TIMED / max(1, queries))) if table.rounds is None else table.rounds
        return Clock(rounds, table.warm_up, tuple(table.concurrency), table.rate, self.embed) if rounds else None

    @cached_property
    def model(self) -> Embedder | None:
        if self.table.model is None:
            return None
        if self.table.queries is None:
            raise UsageError("lab.model has no texts to embed", expected="lab.queries = a table with id and text")
        return find_model(self.table.model)

    @property
    def embed(self) -> Embed | None:
        return None if self.model is None else self.model.embed

    @cached_property
    def query_set(self) -> QuerySet | None:
        """The pinned queries; changed ones under an unchanged version are an error."""
        if self.table.queries is None:
            return None
        found = read_query_set(self.folder.path(self.table.queries))
        check_pins(found)
        return found

    def earlier_of(self, system: str) -> Reference:
        """Choose the earlier report that a system is compared with."""
        return Reference(None) if self.references is None else self.references.of(system, any_name=self.alone)

    def texts_of(self, queries: pl.Series) -> list[str] | None:
        """Of these queries, in their order; None where there is no query set."""
        if self.query_set is None:
            return None
        known = dict(zip(self.query_set.ids.to_list(), self.query_set.texts.to_list(), strict=True))
        lacking = queries.filter(~queries.is_in(list(known)))
        if len(lacking):
            raise DataError(
                f"queries without a text: {listed(lacking)}",
                where=str(self.table.queries),
                expected="all queries of the plan in the query set",
            )
        return [known[query] for query in queries.to_list()]

    def ids_alone(self, wanted: pl.Series | None) -> tuple[Vectors, Vectors]:
        """Items and queries of which no vectors are known."""
        items, id_column = self._items
        if self.query_set is None:
            raise UsageError("the queries' texts are not known", expected="lab.queries = a table with id and text")
        ids = self.query_set.ids if wanted is None else wanted
        known = items[id_column].cast(pl.String)
        corpus, asked = (Vectors(one, np.empty((len(one), 0), np.float32)) for one in (known, ids))
        return corpus, asked

    @cached_property
    def _items(self) -> tuple[pl.DataFrame, str]:
        if self.table.items is None:
            raise UsageError("what items there are is not known", expected="lab.items = a table with an id")
        return read_attributes(self.folder.path(self.table.items), "item")

    @cached_property
    def _queries(self) -> tuple[pl.DataFrame, str]:
        if self.table.queries is None:
            raise UsageError("a filter needs the queries' attributes", expected="lab.queries = a table with an id")
        return read_attributes(self.folder.path(self.table.queries), "query")

    def attributes_of(self, items: pl.Series, attribute: str) -> pl.DataFrame:
        """The attribute of these items, in their order; null where an item has none."""
        values = _column(self._items, attribute, str(self.table.items))
        return pl.DataFrame({attribute: [values.get(item) for item in items.to_list()]}, schema={attribute: pl.String})

    def filters_of(self, queries: pl.Series, attribute: str) -> list[Filter | None]:
        """What each query asks for under an attribute; a query that does not say is not filtered."""
        values = _column(self._queries, attribute, str(self.table.queries))
        asked = [values.get(query) for query in queries.to_list()]
        if not any(asked):
            raise DataError(f"no query has a value of {attribute!r}", where=str(self.table.queries))
        return [Filter(attribute, value) if value else None for value in asked]


def _column(table: tuple[pl.DataFrame, str], name: str, where: str) -> Mapping[str, str | None]:
    frame, id_column = table
    if name not in frame.columns:
        raise UnknownName("attribute", name, [one for one in frame.columns if one != id_column], where=where)
    ids, values = frame[id_column].cast(pl.String), frame[name].cast(pl.String)
    return dict(zip(ids.to_list(), values.to_list(), strict=True))
