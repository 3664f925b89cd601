"""rankjury tune: weights of a fusion by cross-validation, or settings of recommenders on the validation window."""

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankjury.cli.shared.commands import RESAMPLING
from rankjury.cli.shared.completion import complete_measures
from rankjury.cli.shared.options import FullOption, JsonOption, QuietOption, expand_options
from rankjury.cli.shared.tune_fusion import FusionOptions, tune_fusion
from rankjury.cli.shared.tune_models import ModelOptions, tune_models
from rankjury.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from rankjury.plan.parse import CheckedPlan

GROUP = "Plans"
ORDER = 4
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
    "Fusions: each query is scored with the weights that are best on the other folds. The mean is the held-out "
    "estimate; the in-sample estimate is optimistic. The interval does not include the uncertainty of the "
    "weights.\n\n"
    "Recommenders: the table [tune.NAME] of the plan contains the values to try: params = { factors = [16, 64] }. "
    "Each setting is trained on train and evaluated on validation. The test window is not used before --final, "
    "which evaluates all systems of the plan on it, with the chosen settings.\n\n"
    "Each trial is saved to a journal: run the same command again to continue after an interruption. The command "
    "warns if the best value is the smallest or largest of its grid. With --extend it then tries the next value, "
    "up to five times.\n\n"
    "Exit code: 1 if all trials of a system failed; 4 if a target failed (--final)."
)


@expand_options
def tune_command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="PLAN | GOLD RUN RUN…",
            help="A plan, or a gold and at least two runs; NAME=FILE sets a name.",
            show_default=False,
        ),
    ],
    fusion: FusionOptions,
    models: ModelOptions,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure", "-m", metavar="MEASURE", help="Measure to optimize.", autocompletion=complete_measures
        ),
    ] = None,
    system: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="System of the plan; default: its tuned recommenders, or its only fusion."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Random seed for folds, random search and resampling; default: that of the plan, or 0.",
            rich_help_panel=RESAMPLING,
        ),
    ] = None,
    level: Annotated[
        float | None,
        typer.Option(
            help="Confidence level of the intervals; default: that of the plan, or 0.95.", rich_help_panel=RESAMPLING
        ),
    ] = None,
    resamples: Annotated[
        int | None,
        typer.Option(
            help="Number of resamples for intervals and tests; default: that of the plan, or 10000.",
            rich_help_panel=RESAMPLING,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the result: a .json file, or a folder."),
    ] = None,
    as_json: JsonOption = False,
    full: FullOption = False,
    quiet: QuietOption = False,
) -> None:
    """Tune fusion weights or recommender settings.

    Fusion weights are chosen by cross-validation, recommender settings on the validation window.
    """
    if models.window == "test" and not models.final:
        raise UsageError(
            "settings are not chosen on the test window: it could then no longer tell how good the choice is",
            expected="validation",
            hint="--final evaluates the settings that validation chose on test, once.",
        )
    if models.window not in (None, "validation", "test"):
        raise UnknownName("window", models.window, ["validation"])
    resampling = {"resamples": resamples, "level": level, "seed": seed}
    statistics: dict[str, Any] = {name: value for name, value in resampling.items() if value is not None}
    checked = None
    if len(files) == 1:
        if not files[0].endswith(".toml"):
            raise UsageError(f"found {files[0]} alone", expected="a plan (.toml), or a gold and two runs or more")
        from rankjury.plan.parse import read_plan

        checked = read_plan(files[0])
    if checked is not None and _tunes_models(checked, system):
        _refuse(fusion, "fusions")
        tune_models(checked, system, measure, models, statistics, output, as_json=as_json)
    else:
        _refuse(models, "recommenders of a plan")
        tune_fusion(files, checked, system, measure, fusion, statistics, output, as_json=as_json)


def _tunes_models(checked: "CheckedPlan", system: str | None) -> bool:
    """Return whether to tune recommenders: the system is one, or the plan says what to try, or has no fusion."""
    from rankjury.plan.systems.fusion import FusionSystem

    models = checked.plan.recommenders
    fused = [name for name, table in checked.plan.systems.items() if isinstance(table, FusionSystem)]
    if system is None:
        return bool(checked.plan.tune) or (bool(models) and not fused)
    if models and system not in models and system not in fused:
        raise UnknownName("recommender or fused system", system, [*models, *fused], where=checked.where)
    return system in models


def _refuse(options: FusionOptions | ModelOptions, purpose: str) -> None:
    """Refuse options that would have no effect."""
    for option in fields(options):
        if getattr(options, option.name) != option.default:
            raise UsageError(f"--{option.name.replace('_', '-')} is for {purpose}", hint="Omit it.")
