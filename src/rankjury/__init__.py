"""The verdict on your ranking: how good it is, whether it is better, where it fails, whether it may ship."""

from rankjury.core.version import __version__ as __version__

# The names that users need, each listed once; what authors of extensions need is in the packages that
# docs/contributing/extending.md names. They are imported when they are first used (``__getattr__``), so that ``import
# rankjury`` loads nothing else: a command that is interrupted before it handles signals shows a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rankjury import scale as scale
    from rankjury.core.convert import as_gold as as_gold, as_ranking as as_ranking, ordered_gold as ordered_gold
    from rankjury.core.types import Gold as Gold, Ranking as Ranking, Vectors as Vectors
    from rankjury.errors import DataError as DataError, RankjuryError as RankjuryError, UsageError as UsageError
    from rankjury.evaluation.api import compare as compare, evaluate as evaluate, gate as gate
    from rankjury.evaluation.baseline_file import write_baseline as write_baseline
    from rankjury.evaluation.coded import evaluate_arrays as evaluate_arrays
    from rankjury.evaluation.drift import drift_between as drift_between
    from rankjury.evaluation.explain import explain as explain
    from rankjury.evaluation.report import Report as Report
    from rankjury.evaluation.scores import Scores as Scores
    from rankjury.io.formats import read_gold as read_gold, read_run as read_run
    from rankjury.io.vectors import read_vectors as read_vectors
    from rankjury.labeling.keywords.annotations import read_annotations as read_annotations
    from rankjury.labeling.keywords.gold import keyword_gold as keyword_gold
    from rankjury.labeling.keywords.mapping import map_texts as map_texts
    from rankjury.labeling.products.catalog import read_catalogue as read_catalogue
    from rankjury.labeling.products.labels import label as label
    from rankjury.measures.measure import Measure as Measure
    from rankjury.plan.run import run_plan as run_plan
    from rankjury.recsys.api import held_out as held_out, recommend as recommend
    from rankjury.recsys.audit import audit as audit
    from rankjury.recsys.data.read import read_log as read_log
    from rankjury.recsys.splitting import split_log as split_log
    from rankjury.retrieval.agreement.reference import agree as agree
    from rankjury.retrieval.bench.measure import try_index as try_index
    from rankjury.retrieval.fusion.align import fuse as fuse
    from rankjury.retrieval.fusion.fusion import Fusion as Fusion
    from rankjury.retrieval.rank import rank_vectors as rank_vectors
    from rankjury.scale.evaluate_files import evaluate_files as evaluate_files
    from rankjury.stats.resampling import Resampling as Resampling
    from rankjury.tracking.assert_ranking import assert_ranking as assert_ranking


def _public_names() -> dict[str, str]:
    """Read the imports above: the module of each public name."""
    import re

    # Not get_source, which loaders such as that of pytest's assertion rewriting do not have.
    source = __spec__.loader.get_data(__spec__.origin).decode()  # type: ignore[union-attr]
    found: dict[str, str] = {}
    for module, names in re.findall(r"^    from (rankjury[\w.]*) import (\([^)]*\)|.*)", source, re.MULTILINE):
        found |= dict.fromkeys(re.findall(r" as (\w+)", names), module)
    return found


def _suggestion(name: str, names: "dict[str, str]") -> str:
    """Return the public name or the measure that is meant by an unknown name; empty if there is none."""
    if name.startswith("_"):  # programs ask for such names, people do not
        return ""
    from difflib import get_close_matches
    from importlib import import_module

    near = get_close_matches(name, names, n=1)
    if near:
        return f". Did you mean rankjury.{near[0]}?"
    try:
        import_module("rankjury.measures.dialects").resolve(name)
    except import_module("rankjury.errors").RankjuryError:
        return ""
    return f'. It is a measure: rankjury.evaluate(gold, ranking, "{name}")'


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    names = _public_names()
    if name == "__all__":
        return sorted([*names, "__version__"])
    if name not in names:
        raise AttributeError(f"module 'rankjury' has no attribute {name!r}{_suggestion(name, names)}")
    if name == "scale":
        return import_module("rankjury.scale")
    globals()[name] = getattr(import_module(names[name]), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted([*_public_names(), "__version__"])
