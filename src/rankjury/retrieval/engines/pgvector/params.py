"""What can be chosen, and what PostgreSQL calls it."""

from collections.abc import Iterable, Mapping

from rankjury.core.params import Param, Setting
from rankjury.errors import UsageError

OPENS = {
    "dsn": Param("", "a PostgreSQL that runs, as URL or host=…; empty: one is embedded"),
    "folder": Param("", "where an embedded one keeps its data while it runs; empty: among temporary files"),
    "buffers": Param(512, "MB that an embedded one may hold of tables and indexes in memory", min=16),
    "table": Param("", "an existing table or view, read and searched as it is, instead of a table that is made"),
    "id_column": Param("id", "the existing table's column of ids"),
    "vector_column": Param("embedding", "the existing table's column of vectors"),
    "where": Param("", "an SQL condition on the existing table's rows, such as model = 'minilm'; empty: all rows"),
}
BUILDS = {
    "index": Param("hnsw", "kind of index; none: every search reads the table", choices=("hnsw", "ivfflat", "none")),
    "type": Param("vector", "numbers of 32 bits (vector) or 16 (halfvec)", choices=("vector", "halfvec")),
    "m": Param(16, "hnsw: neighbours of an item in the graph", min=2, max=100),
    "ef_construction": Param(64, "hnsw: candidates while it is built", min=4, max=1000),
    "lists": Param(100, "ivfflat: lists", min=1, max=32768),
    "workers": Param(2, "processes beside the first that build the index", min=0, max=64),
    "memory": Param(1024, "MB at most for building the index (maintenance_work_mem)", min=64),
}
SEARCHES = {
    "ef_search": Param(40, "hnsw: candidates of a search", min=1, max=1000, monotonic_recall=True),
    "probes": Param(1, "ivfflat: lists that are looked into", min=1, max=32768, monotonic_recall=True),
    "iterative_scan": Param(
        "auto",
        "go on until enough pass a filter; auto: only with a filter, where or a view, in strict order if the index can",
        choices=("auto", "off", "strict_order", "relaxed_order"),
    ),
    "max_scan_tuples": Param(20000, "hnsw: items at which such a scan ends", min=1, monotonic_recall=True),
}
_OF = {"ef_search": "hnsw", "max_scan_tuples": "hnsw", "probes": "ivfflat"}
_ITERATES_FROM = (0, 8)
"""The version of pgvector that can go on scanning."""


def without_effect(given: Iterable[str], methods: Iterable[str]) -> list[str]:
    """Those of the search parameters that no index at hand heeds."""
    return [name for name in given if name in _OF and _OF[name] not in set(methods)]


def wording_of(
    chosen: Mapping[str, Setting], methods: Iterable[str], version: tuple[int, ...], *, filtered: bool
) -> dict[str, str]:
    """PostgreSQL's settings for a search."""
    found: dict[str, str] = {}
    for method in sorted(set(methods)):
        scan = _scan_of(str(chosen["iterative_scan"]), method, filtered)
        found |= {"hnsw.ef_search": str(chosen["ef_search"])} if method == "hnsw" else {}
        found |= {"ivfflat.probes": str(chosen["probes"])} if method == "ivfflat" else {}
        if version >= _ITERATES_FROM:
            found[f"{method}.iterative_scan"] = scan
            found |= {"hnsw.max_scan_tuples": str(chosen["max_scan_tuples"])} if method == "hnsw" else {}
        elif chosen["iterative_scan"] not in ("auto", "off"):
            said = ".".join(map(str, version))
            raise UsageError(f"iterative_scan needs pgvector 0.8, and the server has {said}", expected="off")
    return found


def _scan_of(chosen: str, method: str, filtered: bool) -> str:
    if chosen == "auto":
        return "off" if not filtered else "strict_order" if method == "hnsw" else "relaxed_order"
    if chosen == "strict_order" and method == "ivfflat":
        raise UsageError("ivfflat cannot scan on in strict order", expected="iterative_scan off or relaxed_order")
    return chosen
