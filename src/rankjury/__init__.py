"""rankjury: how pure is your ranking? Offline evaluation of anything that ranks, against any gold."""

from rankjury.core.version import __version__

# Nothing else is loaded here: a command that is interrupted before it can handle signals shows a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rankjury.core.convert import as_gold, as_ranking, ordered_gold
    from rankjury.core.types import Gold, Ranking, Vectors
    from rankjury.errors import DataError, MissingExtra, RankjuryError, UnknownName, UsageError
    from rankjury.evaluation.api import compare, evaluate, gate
    from rankjury.evaluation.coded import evaluate_arrays
    from rankjury.evaluation.drift import drift_between
    from rankjury.evaluation.judge import judge
    from rankjury.evaluation.report import Report
    from rankjury.evaluation.scores import Scores
    from rankjury.evaluation.targets import Target
    from rankjury.io.formats import read_gold, read_run
    from rankjury.io.ordered_lists import read_ordered
    from rankjury.io.vectors import read_vectors
    from rankjury.labeling.keywords.gold import keyword_gold
    from rankjury.labeling.keywords.mapping import map_texts
    from rankjury.labeling.keywords.read_annotations import read_annotations
    from rankjury.labeling.keywords.vocabulary import Annotations
    from rankjury.labeling.products.catalog import read_catalogue
    from rankjury.labeling.products.labels import label
    from rankjury.measures.judged import Judged
    from rankjury.measures.measure import Measure, Metric, Option, metric
    from rankjury.plan.run import run_plan
    from rankjury.recsys.api import held_out, recommend
    from rankjury.recsys.audit import audit
    from rankjury.recsys.data.log import Log
    from rankjury.recsys.data.read import read_log
    from rankjury.recsys.models import RECOMMENDERS, Recommender
    from rankjury.recsys.splitting import split_log
    from rankjury.recsys.splitting.split import Split
    from rankjury.recsys.task import Task
    from rankjury.retrieval.agreement.api import agree
    from rankjury.retrieval.bench.api import try_index
    from rankjury.retrieval.engines import ENGINES, Engine
    from rankjury.retrieval.fusion.align import fuse
    from rankjury.retrieval.fusion.fusion import Fusion
    from rankjury.retrieval.rank import rank_vectors
    from rankjury.scale.evaluate_files import evaluate_files
    from rankjury.stats.comparison import Comparison
    from rankjury.stats.estimates import Estimate
    from rankjury.stats.resampling import Resampling

_HOMES = {
    **dict.fromkeys(("compare", "evaluate", "gate"), "rankjury.evaluation.api"),
    **dict.fromkeys(("DataError", "RankjuryError", "MissingExtra", "UnknownName", "UsageError"), "rankjury.errors"),
    "Annotations": "rankjury.labeling.keywords.vocabulary",
    "agree": "rankjury.retrieval.agreement.api",
    "drift_between": "rankjury.evaluation.drift",
    "evaluate_arrays": "rankjury.evaluation.coded",
    "evaluate_files": "rankjury.scale.evaluate_files",
    **dict.fromkeys(("ENGINES", "Engine"), "rankjury.retrieval.engines"),
    "label": "rankjury.labeling.products.labels",
    "read_catalogue": "rankjury.labeling.products.catalog",
    "try_index": "rankjury.retrieval.bench.api",
    "keyword_gold": "rankjury.labeling.keywords.gold",
    "map_texts": "rankjury.labeling.keywords.mapping",
    "read_annotations": "rankjury.labeling.keywords.read_annotations",
    "read_gold": "rankjury.io.formats",
    "read_ordered": "rankjury.io.ordered_lists",
    "read_vectors": "rankjury.io.vectors",
    **dict.fromkeys(("as_gold", "as_ranking", "ordered_gold"), "rankjury.core.convert"),
    "Log": "rankjury.recsys.data.log",
    "Split": "rankjury.recsys.splitting.split",
    "Task": "rankjury.recsys.task",
    "audit": "rankjury.recsys.audit",
    "read_log": "rankjury.recsys.data.read",
    "split_log": "rankjury.recsys.splitting",
    **dict.fromkeys(("RECOMMENDERS", "Recommender"), "rankjury.recsys.models"),
    **dict.fromkeys(("held_out", "recommend"), "rankjury.recsys.api"),
    "judge": "rankjury.evaluation.judge",
    **dict.fromkeys(("Measure", "Metric", "Option", "metric"), "rankjury.measures.measure"),
    "read_run": "rankjury.io.formats",
    "rank_vectors": "rankjury.retrieval.rank",
    "run_plan": "rankjury.plan.run",
    **dict.fromkeys(("Fusion", "fuse"), "rankjury.retrieval.fusion"),
    "Report": "rankjury.evaluation.report",
    "Scores": "rankjury.evaluation.scores",
    "Comparison": "rankjury.stats.comparison",
    "Estimate": "rankjury.stats.estimates",
    "Resampling": "rankjury.stats.resampling",
    "Target": "rankjury.evaluation.targets",
    **dict.fromkeys(("Gold", "Ranking", "Vectors"), "rankjury.core.types"),
    "Judged": "rankjury.measures.judged",
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
    "Log",
    "Measure",
    "Metric",
    "MissingExtra",
    "Option",
    "Ranking",
    "RankjuryError",
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
    """Public names load their module on first use, so that ``import rankjury`` costs next to nothing."""
    from importlib import import_module

    if name == "scale":
        return import_module("rankjury.scale")
    if name not in _HOMES:
        raise AttributeError(f"module 'rankjury' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
