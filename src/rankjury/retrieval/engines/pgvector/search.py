"""One way of searching: what is sent for it, and what comes back."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rankjury.core.params import Setting
from rankjury.core.types import Floats, Ints
from rankjury.errors import DataError
from rankjury.retrieval.engines.base import Filter
from rankjury.retrieval.engines.pgvector.connection import Link
from rankjury.retrieval.engines.pgvector.explain import Plan, read_plan
from rankjury.retrieval.engines.pgvector.params import wording_of
from rankjury.retrieval.engines.pgvector.sql import Table, searching
from rankjury.retrieval.knn.search import Neighbours
from rankjury.retrieval.knn.select import MISSING

_TEXT, _BINARY = 0, 1
_ANALYZE = "ANALYZE, TIMING OFF, BUFFERS OFF, "


@dataclass(frozen=True, eq=False)
class Request:
    """A way of searching, itself and no other."""

    table: Table
    metric: str
    k: int
    statement: bytes
    value: bytes | None
    """What the filter's attribute must be."""
    settings: Mapping[str, str]
    exact: bool
    relaxed: bool
    """Answers may be a little out of order."""

    @classmethod
    def made(
        cls,
        table: Table,
        metric: str,
        k: int,
        chosen: Mapping[str, Setting],
        version: tuple[int, ...],
        *,
        filter: Filter | None,
        exact: bool,
    ) -> Self:
        methods = () if exact else table.indexes.values()
        settings = wording_of(chosen, methods, version, filtered=filter is not None or table.is_filtered)
        statement = searching(table, metric, k, None if filter is None else filter.attribute).encode()
        value, relaxed = None if filter is None else filter.value.encode(), "relaxed_order" in settings.values()
        return cls(table, metric, k, statement, value, settings, exact, relaxed)

    def send(self, link: Link, vector: bytes, before: str = "") -> Any:
        statement = before.encode() + self.statement if before else self.statement
        if self.value is None:
            return link.ask(statement, (vector,), (_BINARY,))
        return link.ask(statement, (vector, self.value), (_BINARY, _TEXT))


def answers(link: Link, request: Request, vectors: list[bytes]) -> Neighbours:
    """What each query finds, best first; what came back is read for all of them at once."""
    counts, names, distances = [], [], []
    for vector in vectors:
        said = request.send(link, vector)
        found = range(_with_distance(said))
        counts.append(len(found))
        names += [said.get_value(place, 0) for place in found]
        distances += [said.get_value(place, 1) for place in found]
    far = np.frombuffer(b"".join(distances), dtype=">f8").astype(np.float64)
    if np.isnan(far).any():
        raise DataError("a distance is not a number", where="PostgreSQL", expected="vectors that are not zero")
    scores = 1.0 - far if request.metric == "cosine" else 0.0 - far
    items, values = _aligned(_rows(request.table, names), scores, counts, request.k)
    if request.relaxed:
        order = np.argsort(-values, axis=1, kind="stable")
        items, values = np.take_along_axis(items, order, axis=1), np.take_along_axis(values, order, axis=1)
    return Neighbours(items, values)


def _with_distance(said: Any) -> int:
    """How many of the rows have a distance: those of a user's table without a vector come last, and are not found."""
    rows = int(said.ntuples)
    while rows and said.get_value(rows - 1, 1) is None:
        rows -= 1
    return rows


def _aligned(rows: Ints, scores: Floats, counts: list[int], k: int) -> tuple[Ints, Floats]:
    """A line a query."""
    if len(rows) == k * len(counts):
        return rows.reshape(-1, k), scores.reshape(-1, k)
    items, values = np.full((len(counts), k), MISSING), np.full((len(counts), k), -np.inf)
    held = np.arange(k) < np.array(counts)[:, None]
    items[held], values[held] = rows, scores
    return items, values


def _rows(table: Table, names: list[bytes]) -> Ints:
    if table.rows is None:
        return np.frombuffer(b"".join(names), dtype=">i4").astype(np.int64)
    try:
        return np.array([table.rows[name] for name in names], dtype=np.int64)
    except KeyError as error:
        name = bytes(error.args[0]).decode(errors="replace")
        raise DataError(f"{table.name} has the id {name!r}, which it had not before", where="PostgreSQL") from None


def explain(link: Link, request: Request, planner: Mapping[str, str], vector: bytes) -> Plan:
    """How the server would answer, under settings of its planner."""
    link.tell({**request.settings, **planner})
    return read_plan(_explained(link, request, vector, ""), request.table.indexes)


def seconds_of(link: Link, request: Request, vector: bytes) -> float:
    """How long the server itself takes over one query, planning included."""
    said = json.loads(_explained(link, request, vector, _ANALYZE))[0]
    return (float(said["Planning Time"]) + float(said["Execution Time"])) / 1e3


def _explained(link: Link, request: Request, vector: bytes, options: str) -> bytes:
    said = request.send(link, vector, f"EXPLAIN ({options}FORMAT JSON) ")
    return b"".join(said.get_value(place, 0) for place in range(said.ntuples))
