"""rankjury engines: which vector indexes there are, and what can be set of each."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankjury.cli.shared.options import JsonOption
from rankjury.cli.shared.params import NameArgument, list_or_show, params_as_json

if TYPE_CHECKING:
    from rankjury.core.params import Param
    from rankjury.retrieval.engines.base import Engine

GROUP = "Look up"
EPILOG = (
    "Examples:\n\n"
    "  rankjury engines\n\n"
    "  rankjury engines pgvector\n\n"
    'A plan names an engine in a system of the kind index: engine = "faiss-hnsw", search = { ef_search = 64 }.'
)


def engines_command(name: NameArgument = None, as_json: JsonOption = False) -> None:
    """List the vector indexes that a plan can try, or the parameters of one."""
    from rankjury.retrieval.engines.base import ENGINES

    def note(kind: "type[Engine]") -> str:
        return f"similarities: {', '.join(kind.metrics)}"

    list_or_show("engines", ENGINES, name, _facts, note, _params, as_json=as_json)


def _params(kind: "type[Engine]") -> dict[str, Mapping[str, "Param"]]:
    return {"open": kind.open_params, "build": kind.build_params, "search": kind.search_params}


def _facts(kind: "type[Engine]") -> dict[str, Any]:
    return {
        "about": kind.description,
        "extra": kind.extra,
        "metrics": list(kind.metrics),
        "approximate": kind.approximate,
        "exact_mode": kind.exact_mode,
        "native_filter": kind.native_filter,
        **{part: params_as_json(known, "monotonic_recall") for part, known in _params(kind).items()},
    }
