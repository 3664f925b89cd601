"""One way of searching: what is sent for it, and what comes back."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from karat.engines import Filter, Setting
from karat.engines.pgvector.links import Link
from karat.engines.pgvector.parameters import wording_of
from karat.engines.pgvector.proof import Plan, read_plan
from karat.engines.pgvector.statements import Table, searching
from karat.errors import DataError
from karat.types import Floats, Ints

__all__ = ["Request", "answer", "explain", "seconds_of"]

_TEXT, _BINARY = 0, 1
_ANALYZE = "ANALYZE, TIMING OFF, BUFFERS OFF, "


@dataclass(frozen=True)
class Request:
    """A way of searching."""

    table: Table
    metric: str
    statement: bytes
    value: bytes | None
    """What the filter's attribute must be."""
    settings: Mapping[str, str]
    exact: bool

    @classmethod
    def made(
        cls,
        table: Table,
        metric: str,
        k: int,
        chosen: Mapping[str, Setting],
        version: tuple[int, ...],
        *,
        only: Filter | None,
        exact: bool,
    ) -> Self:
        methods = () if exact else table.indexes.values()
        settings = wording_of(chosen, methods, version, filtered=only is not None)
        statement = searching(table, metric, k, None if only is None else only.attribute).encode()
        return cls(table, metric, statement, None if only is None else only.value.encode(), settings, exact)

    @property
    def way(self) -> tuple[Any, ...]:
        """What its plan hangs on."""
        return self.statement, self.value, self.exact, *self.settings.items()

    def send(self, link: Link, vector: bytes, before: str = "") -> Any:
        if self.value is None:
            return link.ask(before.encode() + self.statement, (vector,), (_BINARY,))
        return link.ask(before.encode() + self.statement, (vector, self.value), (_BINARY, _TEXT))


def answer(link: Link, request: Request, vector: bytes) -> tuple[Ints, Floats]:
    """The rows of one query and their scores, best first."""
    said = request.send(link, vector)
    names = [said.get_value(place, 0) for place in range(said.ntuples)]
    distances = np.frombuffer(b"".join([said.get_value(place, 1) for place in range(said.ntuples)]), dtype=">f8")
    rows = _rows(request.table, names)
    if np.isnan(distances).any():
        raise DataError("a distance is not a number", where="PostgreSQL", expected="vectors that are not zero")
    scores = 1.0 - distances if request.metric == "cosine" else 0.0 - distances
    order = np.argsort(-scores, kind="stable")  # a scan in relaxed order may be a little out of it
    return rows[order], scores[order]


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
