"""karat: how pure is your ranking? Offline evaluation of anything that ranks, against any gold."""

from karat._version import __version__

# Nothing else is loaded here: a command that is interrupted before it can handle signals shows a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from karat.against import agree
    from karat.api import compare, evaluate, gate
    from karat.coded import evaluate_arrays
    from karat.drift import drift_between
    from karat.engines import ENGINES, Engine
    from karat.errors import DataError, KaratError, MissingExtra, UnknownName, UsageError
    from karat.files import evaluate_files
    from karat.formats import read_gold, read_run
    from karat.formats.vectors import read_vectors
    from karat.gold.annotations import read_annotations
    from karat.gold.keywords import keyword_gold
    from karat.gold.ordered import read_ordered
    from karat.intake import as_gold, as_ranking, ordered_gold
    from karat.interactions.audit import audit
    from karat.interactions.log import Log
    from karat.interactions.reading import read_log
    from karat.interactions.split import Split
    from karat.interactions.splitting import split_log
    from karat.interactions.task import Task
    from karat.judged import Judged
    from karat.judging import judge
    from karat.measure import Measure, Metric, Option, metric
    from karat.plan.run import run_plan
    from karat.rankers.fusion import Fusion, fuse
    from karat.rankers.vectors import rank_vectors
    from karat.recommenders import RECOMMENDERS, Recommender
    from karat.recommending import held_out, recommend
    from karat.report import Report
    from karat.results import Scores
    from karat.statistics.comparison import Comparison
    from karat.statistics.estimates import Estimate
    from karat.statistics.resampling import Resampling
    from karat.targets import Target
    from karat.text.keywords import map_texts
    from karat.text.labels import label
    from karat.text.products import read_catalogue
    from karat.trying import try_index
    from karat.types import Gold, Ranking, Vectors
    from karat.vocabulary import Annotations

_HOMES = {
    **dict.fromkeys(("compare", "evaluate", "gate"), "karat.api"),
    **dict.fromkeys(("DataError", "KaratError", "MissingExtra", "UnknownName", "UsageError"), "karat.errors"),
    "Annotations": "karat.vocabulary",
    "agree": "karat.against",
    "drift_between": "karat.drift",
    "evaluate_arrays": "karat.coded",
    "evaluate_files": "karat.files",
    **dict.fromkeys(("ENGINES", "Engine"), "karat.engines"),
    "label": "karat.text.labels",
    "read_catalogue": "karat.text.products",
    "try_index": "karat.trying",
    "keyword_gold": "karat.gold.keywords",
    "map_texts": "karat.text.keywords",
    "read_annotations": "karat.gold.annotations",
    "read_gold": "karat.formats",
    "read_ordered": "karat.gold.ordered",
    "read_vectors": "karat.formats.vectors",
    **dict.fromkeys(("as_gold", "as_ranking", "ordered_gold"), "karat.intake"),
    "Log": "karat.interactions.log",
    "Split": "karat.interactions.split",
    "Task": "karat.interactions.task",
    "audit": "karat.interactions.audit",
    "read_log": "karat.interactions.reading",
    "split_log": "karat.interactions.splitting",
    **dict.fromkeys(("RECOMMENDERS", "Recommender"), "karat.recommenders"),
    **dict.fromkeys(("held_out", "recommend"), "karat.recommending"),
    "judge": "karat.judging",
    **dict.fromkeys(("Measure", "Metric", "Option", "metric"), "karat.measure"),
    "read_run": "karat.formats",
    "rank_vectors": "karat.rankers.vectors",
    "run_plan": "karat.plan.run",
    **dict.fromkeys(("Fusion", "fuse"), "karat.rankers.fusion"),
    "Report": "karat.report",
    "Scores": "karat.results",
    "Comparison": "karat.statistics.comparison",
    "Estimate": "karat.statistics.estimates",
    "Resampling": "karat.statistics.resampling",
    "Target": "karat.targets",
    **dict.fromkeys(("Gold", "Ranking", "Vectors"), "karat.types"),
    "Judged": "karat.judged",
}

__all__ = [
    "ENGINES",
    "RECOMMENDERS",
    "Annotations",
    "Comparison",
    "DataError",
    "Engine",
    "Estimate",
    "Fusion",
    "Gold",
    "Judged",
    "KaratError",
    "Log",
    "Measure",
    "Metric",
    "MissingExtra",
    "Option",
    "Ranking",
    "Recommender",
    "Report",
    "Resampling",
    "Scores",
    "Split",
    "Target",
    "Task",
    "UnknownName",
    "UsageError",
    "Vectors",
    "__version__",
    "agree",
    "as_gold",
    "as_ranking",
    "audit",
    "compare",
    "drift_between",
    "evaluate",
    "evaluate_arrays",
    "evaluate_files",
    "fuse",
    "gate",
    "held_out",
    "judge",
    "keyword_gold",
    "label",
    "map_texts",
    "metric",
    "ordered_gold",
    "rank_vectors",
    "read_annotations",
    "read_catalogue",
    "read_gold",
    "read_log",
    "read_ordered",
    "read_run",
    "read_vectors",
    "recommend",
    "run_plan",
    "split_log",
    "try_index",
]


def __getattr__(name: str) -> "Any":
    """Public names load their module on first use, so that ``import karat`` costs next to nothing."""
    from importlib import import_module

    if name == "scale":
        return import_module("karat.scale")
    if name not in _HOMES:
        raise AttributeError(f"module 'karat' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
