"""Searches in PostgreSQL: requests, results, and the planner's use of the index, checked with EXPLAIN.

EXPLAIN runs once for each kind of search, with a few of its queries, before the first results. If the planner by
default would not use the index, as for small tables, it is forced to; this, and if even that failed, is noted. An exact
scan that would use an index is an error.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from rankjury.core.params import Setting
from rankjury.core.types import Floats, Ints
from rankjury.errors import DataError, UsageError
from rankjury.retrieval.engines.base import Filter
from rankjury.retrieval.engines.pgvector.connection import DatabaseConnection
from rankjury.retrieval.engines.pgvector.table import VectorTable, search_statement
from rankjury.retrieval.knn.select import MISSING

_FREE = {"enable_seqscan": "on", "enable_bitmapscan": "on", "enable_sort": "on", "enable_indexscan": "on"}
_FORCED = _FREE | {"enable_seqscan": "off", "enable_bitmapscan": "off", "enable_sort": "off"}
_EXACT = _FREE | {"enable_indexscan": "off"}
METHOD_OF = {"ef_search": "hnsw", "max_scan_tuples": "hnsw", "probes": "ivfflat"}
"""The kind of index that a search parameter is for."""


def _server_settings(
    params: Mapping[str, Setting], methods: Collection[str], version: tuple[int, ...], *, filtered: bool
) -> dict[str, str]:
    """Return PostgreSQL's settings for a search."""
    settings: dict[str, str] = {}
    scan = str(params["iterative_scan"])
    for method in sorted(set(methods)):
        if scan == "strict_order" and method == "ivfflat":
            raise UsageError("ivfflat cannot scan on in strict order", expected="iterative_scan off or relaxed_order")
        if method == "hnsw":
            settings["hnsw.ef_search"] = str(params["ef_search"])
        else:
            settings["ivfflat.probes"] = str(params["probes"])
        if version >= (0, 8):
            order = "strict_order" if method == "hnsw" else "relaxed_order"
            settings[f"{method}.iterative_scan"] = scan if scan != "auto" else order if filtered else "off"
            settings |= {"hnsw.max_scan_tuples": str(params["max_scan_tuples"])} if method == "hnsw" else {}
        elif scan not in ("auto", "off"):
            found = f"iterative_scan needs pgvector 0.8, and the server has {'.'.join(map(str, version))}"
            raise UsageError(found, expected="off")
    return settings


@dataclass(eq=False)
class SearchRequest:
    """One kind of search, compared by identity."""

    table: VectorTable
    metric: str
    k: int
    params: Mapping[str, Setting]
    version: tuple[int, ...]
    filter: Filter | None
    exact: bool

    def __post_init__(self) -> None:
        table, attribute = self.table, None if self.filter is None else self.filter.attribute
        methods = () if self.exact else table.indexes.values()
        filtered = self.filter is not None or bool(table.where) or table.is_view  # an index may contain other rows
        self.settings = _server_settings(self.params, methods, self.version, filtered=filtered)
        self.statement = search_statement(table, self.metric, self.k, attribute).encode()
        self.value = None if self.filter is None else self.filter.value.encode()

    def send(self, connection: DatabaseConnection, vector: bytes, prefix: bytes = b"") -> Any:
        """Execute the statement for one encoded vector: in binary (1), the value of a filter as text (0)."""
        if self.value is None:
            return connection.ask(prefix + self.statement, (vector,), (1,))
        return connection.ask(prefix + self.statement, (vector, self.value), (1, 0))

    def search(self, connection: DatabaseConnection, vectors: list[bytes]) -> tuple[Ints, Floats]:
        """Return rows and scores of each query, best first; the results of all queries are decoded at once."""
        counts, names, distances = [], [], []
        for vector in vectors:
            result = self.send(connection, vector)
            count = int(result.ntuples)
            while count and result.get_value(count - 1, 1) is None:  # rows without a vector come last
                count -= 1
            counts.append(count)
            names += [result.get_value(line, 0) for line in range(count)]
            distances += [result.get_value(line, 1) for line in range(count)]
        values = np.frombuffer(b"".join(distances), dtype=">f8").astype(np.float64)
        if np.isnan(values).any():
            raise DataError("a distance is not a number", where="PostgreSQL", expected="vectors that are not zero")
        rows, scores = self._decode_rows(names), 1.0 - values if self.metric == "cosine" else 0.0 - values
        if len(rows) == self.k * len(counts):
            rows, scores = rows.reshape(-1, self.k), scores.reshape(-1, self.k)
        else:
            filled = np.arange(self.k) < np.array(counts)[:, None]
            flat, rows = (rows, scores), np.full(filled.shape, MISSING)
            scores = np.full(filled.shape, -np.inf)
            rows[filled], scores[filled] = flat
        if "relaxed_order" in self.settings.values():  # results may be a little out of order
            order = np.argsort(-scores, axis=1, kind="stable")
            rows, scores = np.take_along_axis(rows, order, axis=1), np.take_along_axis(scores, order, axis=1)
        return rows, scores

    def _decode_rows(self, names: list[bytes]) -> Ints:
        if self.table.rows is None:
            return np.frombuffer(b"".join(names), dtype=">i4").astype(np.int64)
        try:
            return np.array([self.table.rows[name] for name in names], dtype=np.int64)
        except KeyError as error:
            name = bytes(error.args[0]).decode(errors="replace")
            found = f"{self.table.name} has the id {name!r}, which is new"
            raise DataError(found, where="PostgreSQL") from None

    def explain(self, connection: DatabaseConnection, planner: Mapping[str, str], vector: bytes) -> "QueryPlan":
        """Return how the server would execute the search, under settings of its planner.

        The nodes of the plan are listed from the top down, those that read a table or an index with its name.
        """
        connection.configure({**self.settings, **planner})
        result = self.send(connection, vector, b"EXPLAIN (FORMAT JSON) ")
        explained = b"".join(result.get_value(line, 0) for line in range(result.ntuples))
        texts, used, nodes = [], set(), [json.loads(explained)[0]["Plan"]]
        while nodes:
            node = nodes.pop(0)
            name = node.get("Index Name")
            read = f" using {name}" if name else f" on {node['Relation Name']}" if "Relation Name" in node else ""
            texts.append(node["Node Type"] + read)
            used |= {name} & self.table.indexes.keys()
            nodes[:0] = node.get("Plans", [])
        return QueryPlan(" > ".join(texts), used)


class QueryPlan(NamedTuple):
    """A plan of PostgreSQL in one line, and the vector indexes that it reads."""

    text: str
    indexes: set[str]


@dataclass
class PlanProof:
    """Evidence of how searches ran, for the report, and the planner's settings for each kind of search."""

    notes: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    """The vector indexes that searches read."""
    _settings: dict[SearchRequest, Mapping[str, str]] = field(default_factory=dict)
    _evidence: dict[str, dict[str, Any]] = field(default_factory=dict)

    def settings(
        self, request: SearchRequest, connection: DatabaseConnection, vectors: Sequence[bytes]
    ) -> Mapping[str, str]:
        """Return all settings for a kind of search, the planner's among them."""
        if request not in self._settings:
            sample = np.unique(np.linspace(0, len(vectors) - 1, 3).astype(int)).tolist()

            def explain(planner: Mapping[str, str]) -> list[QueryPlan]:
                return [request.explain(connection, planner, vectors[query]) for query in sample]

            if request.exact:
                planner = _EXACT
                for plan in explain(planner):
                    self._record("exact", plan, expected=not plan.indexes)
                    if plan.indexes:
                        raise DataError(f"the exact scan would use an index: {plan.text}", where="PostgreSQL")
            else:
                planner = self._check_index(explain)
            self._settings[request] = {**request.settings, **planner}
        return self._settings[request]

    def _check_index(self, explain: Callable[[Mapping[str, str]], list[QueryPlan]]) -> dict[str, str]:
        planner, plans = _FREE, explain(_FREE)
        unused = next((plan for plan in plans if not plan.indexes), None)
        if unused is not None:
            planner, plans = _FORCED, explain(_FORCED)
            self.note(
                f"by default the planner would not use the index ({unused.text}): "
                "enable_seqscan, enable_bitmapscan and enable_sort were turned off"
            )
        for plan in plans:
            self._record("index", plan, expected=bool(plan.indexes))
            self.used |= plan.indexes
            if not plan.indexes:
                self.note(f"warning: the index was not used: {plan.text}")
        self._evidence["index"]["held"] = self._evidence["index"].get("held", False) or unused is not None
        return planner

    def _record(self, kind: str, plan: QueryPlan, *, expected: bool) -> None:
        evidence = self._evidence.setdefault(kind, {"used": bool(plan.indexes), "plan": plan.text, "explained": 0})
        evidence["explained"] += 1
        if not expected:
            evidence["used"], evidence["plan"] = bool(plan.indexes), plan.text

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def to_json(self) -> dict[str, Any]:
        return {kind: dict(evidence) for kind, evidence in self._evidence.items()}
