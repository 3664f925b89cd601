"""rankjury tune: which weights fuse best, which settings of a recommender do, and does it hold?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankjury.cli.shared.console import QuietOption
from rankjury.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from rankjury.plan.parse import CheckedPlan

GROUP = "Plans"
MULTIPLIES_MATRICES = True
EPILOG = (
    "Examples:\n\n"
    "  rankjury tune qrels.txt bm25.trec dense.trec -m ndcg@10\n\n"
    "  rankjury tune rankjury.toml --system combined\n\n"
    "  rankjury tune qrels.txt a.trec b.trec c.trec --c 60 --folds 10 --json\n\n"
    "  rankjury tune movies.toml -o trials.json\n\n"
    "  rankjury tune movies.toml --extend\n\n"
    "  rankjury tune movies.toml --system popular --search random --trials 3\n\n"
    "  rankjury tune movies.toml --final --refit train+validation -o results\n\n"
    "Fusions: each query is scored with the weights that are best on the other folds' queries: that mean is the "
    "held-out estimate, to be trusted; the in-sample one flatters. Its interval takes the chosen weights as given.\n\n"
    "Recommenders: [tune.NAME] of the plan says what to try: params = { factors = [16, 64] }. Every setting is fitted "
    "on train and scored on validation, whatever window the plan says; the test window stays shut until --final, which "
    "opens it once, for all systems of the plan with the settings that were chosen. Trials are kept as they end: after "
    "Ctrl-C the same command goes on. Where the best number is the smallest or largest of its grid this is said, and "
    "--extend tries the next one, up to five times: a geometric step where the grid is geometric. Exit code: 1 where "
    "all trials of a system failed; 4 a target failed (--final)."
)
_FOLDS = 5
_OF_FUSIONS = ("method", "depth", "normalise", "c", "folds")
_OF_MODELS = ("search", "trials", "fresh", "extend", "final", "refit", "window")


def tune_command(
    files: Annotated[
        list[str],
        typer.Argument(metavar="PLAN | GOLD RUN RUN…", help="A plan, or a gold and runs.", show_default=False),
    ],
    measure: Annotated[str | None, typer.Option("--measure", "-m", help="The measure to tune for.")] = None,
    system: Annotated[
        str | None,
        typer.Option("--system", help="The system of the plan; its tuned recommenders, or its only fusion, if unset."),
    ] = None,
    method: Annotated[str | None, typer.Option("--method", help="Fusion: rrf, combsum, combmnz …")] = None,
    depth: Annotated[int | None, typer.Option("--depth", help="Fusion: only so many of each list count.")] = None,
    normalise: Annotated[
        str | None, typer.Option("--normalise", help="min-max, z-score, sum, rank or none, for combsum and the like.")
    ] = None,
    constants: Annotated[
        str | None, typer.Option("--c", metavar="NUMBERS", help="Values of rrf's c to try, split by commas.")
    ] = None,
    folds: Annotated[int, typer.Option("--folds", help="Fusion: parts for cross-validation.")] = _FOLDS,
    search: Annotated[
        str | None, typer.Option("--search", help="Recommenders: grid or random; as the plan says if unset.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option("--trials", help="Recommenders: how many a random search draws.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Recommenders: try everything anew.")] = False,
    extend: Annotated[
        bool, typer.Option("--extend", help="Recommenders: widen the grid while the best number lies on its edge.")
    ] = False,
    final: Annotated[
        bool, typer.Option("--final", help="Then open the test window, once, with the chosen settings.")
    ] = False,
    refit: Annotated[
        str | None,
        typer.Option("--refit", metavar="WINDOWS", help="With --final, learn from: train or train+validation."),
    ] = None,
    window: Annotated[str | None, typer.Option("--window", help="The window to choose on: validation.")] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Seed of folds, random search and resampling; 0, or the plan's.")
    ] = None,
    level: Annotated[float | None, typer.Option("--level", help="Level of the intervals; 0.95, or the plan's.")] = None,
    resamples: Annotated[
        int | None, typer.Option("--resamples", help="Resamples for intervals and tests; 10000, or the plan's.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the result as JSON; with --final, a folder."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON instead of a table.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Tune the weights of a fusion by cross-validation, or the settings of recommenders on the validation window."""
    from rankjury.cli.shared.tune_fusion import FusionOptions, tune_fusion

    _check_window(window, final=final)
    resampling = {"resamples": resamples, "level": level, "seed": seed}
    statistics: dict[str, Any] = {name: value for name, value in resampling.items() if value is not None}
    checked = _read(files)
    for_fusions = dict(zip(_OF_FUSIONS, (method, depth, normalise, constants, folds != _FOLDS or None), strict=True))
    given = (search, trials, fresh or None, extend or None, final or None, refit, window)
    for_models = dict(zip(_OF_MODELS, given, strict=True))
    if checked is not None and _is_of_models(checked, system):
        from rankjury.cli.shared.tune_models import ModelOptions, tune_models

        _refuse(for_fusions, "fusions")
        options = ModelOptions(search, trials, measure, seed, fresh=fresh, final=final, refit=refit, extend=extend)
        tune_models(checked, system, options, statistics, output, as_json=as_json, quiet=quiet)
        return
    _refuse(for_models, "recommenders of a plan")
    how = FusionOptions(method, depth, normalise, constants, folds)
    tune_fusion(files, checked, system, measure, how, statistics, output, as_json=as_json, quiet=quiet)


def _check_window(window: str | None, *, final: bool) -> None:
    if window == "test" and not final:
        raise UsageError(
            "settings are not chosen on the test window: it could then no longer tell how good the choice is",
            expected="validation",
            hint="--final evaluates the settings that validation chose on test, once.",
        )
    if window not in (None, "validation", "test"):
        raise UnknownName("window", window, ["validation"])


def _read(files: list[str]) -> "CheckedPlan | None":
    """The plan; None where a gold and runs are given."""
    if len(files) > 1:
        return None
    if not files[0].endswith(".toml"):
        raise UsageError(f"found {files[0]} alone", expected="a plan (.toml), or a gold and two runs or more")
    from rankjury.plan.parse import read_plan

    return read_plan(files[0])


def _is_of_models(checked: "CheckedPlan", system: str | None) -> bool:
    """Whether recommenders are to be tuned: the system is one, or the plan says what to try, or has no fusion."""
    from rankjury.plan.systems.fusion import FusionSystem

    models = checked.plan.recommenders
    fused = [name for name, one in checked.plan.systems.items() if isinstance(one, FusionSystem)]
    if system is None:
        return bool(checked.plan.tune) or (bool(models) and not fused)
    if models and system not in models and system not in fused:
        raise UnknownName("recommender or fused system", system, [*models, *fused], where=checked.where)
    return system in models


def _refuse(given: dict[str, Any], what: str) -> None:
    """Options that would be passed over in silence."""
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"--{name} is for {what}", expected="to do without it")
