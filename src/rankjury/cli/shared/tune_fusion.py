"""rankjury tune of a fusion: the best weights, in sample and held out."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankjury.cli.shared.completion import names_of, one_of
from rankjury.cli.shared.console import (
    check_suffixes,
    files_in_folder,
    print_json,
    say,
    show_progress,
    split_measures,
    warn,
)
from rankjury.cli.shared.options import name_files
from rankjury.core.text import json_text, plural
from rankjury.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from rankjury.core.progress import Progress
    from rankjury.core.types import Gold, Ranking
    from rankjury.measures.dialects import NamedMeasure
    from rankjury.plan.parse import CheckedPlan
    from rankjury.retrieval.fusion.fusion import Fusion
    from rankjury.retrieval.fusion.tune import Tuning


@dataclass(frozen=True)
class FusionOptions:
    """Options of a fusion, where it is not as in the plan."""

    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Fusion method: rrf, combsum, combmnz …",
            autocompletion=names_of("rankjury.retrieval.fusion.fusion:METHODS"),
            rich_help_panel="Fusion",
        ),
    ] = None
    depth: Annotated[
        int | None, typer.Option(help="Number of items to use from each list; default: all.", rich_help_panel="Fusion")
    ] = None
    normalise: Annotated[
        str | None,
        typer.Option(
            **one_of("min-max|z-score|sum|rank|none"),
            help="Score normalisation for combsum and similar methods.",
            rich_help_panel="Fusion",
        ),
    ] = None
    c: Annotated[
        str | None,
        typer.Option(metavar="NUMBERS", help="Values to try for the RRF constant c: 10,60.", rich_help_panel="Fusion"),
    ] = None
    folds: Annotated[int, typer.Option(help="Number of folds for cross-validation.", rich_help_panel="Fusion")] = 5


def tune_fusion(
    files: list[str],
    checked: "CheckedPlan | None",
    system: str | None,
    measure: str | None,
    options: FusionOptions,
    statistics: dict[str, Any],
    output: Path | None,
    *,
    as_json: bool,
) -> None:
    """Tune the fusion of a plan, where it is ``checked``, or of a gold and runs."""
    from rankjury.retrieval.fusion.fusion import METHODS
    from rankjury.retrieval.fusion.tune import CONSTANTS, tune
    from rankjury.stats.resampling import Resampling

    output = files_in_folder("tuning.json")(output)
    check_suffixes([output] if output is not None else [], (".json",))
    Resampling(**statistics)  # refuses wrong values before anything is read
    try:
        constants = CONSTANTS if options.c is None else [float(part) for part in options.c.split(",") if part.strip()]
    except ValueError:
        raise UsageError(f"--c is {options.c!r}", expected="numbers split by commas, such as 10,60") from None
    as_in_plan = options.method is None and options.depth is None and options.normalise is None
    with show_progress() as progress:
        if checked is not None:
            task = _from_plan(checked, system, measure, progress)
        else:
            task = _from_files(files, system, measure)
        tuning = tune(
            task.gold,
            task.rankings,
            task.measure,
            method=options.method or task.default.method,
            depth=task.default.depth if options.depth is None else options.depth,
            normalise=options.normalise or (task.default.normalise if options.method is None else None),
            constants=constants,
            current=task.default if task.in_use and as_in_plan else None,
            whole=task.whole,
            folds=options.folds,
            resampling=Resampling(**(task.statistics | statistics)),
            progress=progress,
        )
    text = json_text(tuning.to_json())
    if output is not None:
        from rankjury.io.atomic import write_text

        write_text(output, text)
    if as_json:
        print_json(text)
    else:
        _show(tuning)
    if output is not None:
        say(f"Wrote {output}")
    if tuning.better and not as_json:
        weights = zip(tuning.systems, tuning.best.weights_of(len(tuning.systems)), strict=True)
        spelled = f"weights = {{ {', '.join(f'{name} = {weight!r}' for name, weight in weights)} }}"
        constant = f" and c = {tuning.best.c:g}" if METHODS.get(tuning.best.method).has_c else ""
        say(f"Next: put {spelled}{constant} into the plan")


def one_measure(measure: str) -> list[str]:
    """Return the measure that a text names, and refuse several."""
    measures = split_measures([measure])
    if len(measures) != 1:
        raise UsageError(f"found {len(measures)} measures", expected="one to tune for")
    return measures


@dataclass(frozen=True)
class _Task:
    """Gold and rankings to tune on, the measure, and the fusion that the options change."""

    gold: "Gold"
    rankings: "dict[str, Ranking]"
    measure: "NamedMeasure"
    default: "Fusion"
    in_use: bool
    """Whether the fusion is that of a plan, with its weights."""
    whole: bool = False
    """Whether items below the depth of every list are ranked too."""
    statistics: "dict[str, Any]" = field(default_factory=dict)
    """The plan's settings of intervals."""


def _from_files(files: list[str], system: str | None, measure: str | None) -> _Task:
    from rankjury.evaluation.evaluate import resolve_measures
    from rankjury.io.formats import read_gold, read_run
    from rankjury.retrieval.fusion.fusion import Fusion

    gold, *runs = files
    if system is not None:
        raise UsageError("--system is for a plan", expected="rankjury tune PLAN --system NAME")
    if len(runs) < 2:
        raise UsageError("found one run", expected="two or more: rankjury tune GOLD RUN RUN…")
    (named,) = resolve_measures(one_measure(measure or "ndcg@10"))
    rankings = {name: read_run(run) for name, run in name_files(runs).items()}
    return _Task(read_gold(gold), rankings, named, Fusion(), in_use=False)


def _from_plan(checked: "CheckedPlan", system: str | None, measure: str | None, progress: "Progress") -> _Task:
    """Return the task of a plan, on its validation window where the gold is held out of a log."""
    from rankjury.evaluation.evaluate import resolve_measures
    from rankjury.plan.run import load_rankings
    from rankjury.plan.systems.fusion import FusionSystem
    from rankjury.plan.trials import with_validation_window

    fused = {name: table for name, table in checked.plan.systems.items() if isinstance(table, FusionSystem)}
    if system is None and len(fused) != 1:
        expected = "one, or --system NAME of one of them"
        raise UsageError(f"the plan has {len(fused)} fused systems", where=checked.where, expected=expected)
    if system is not None and system not in fused:
        raise UnknownName("fused system", system, fused, where=checked.where)
    name = system or next(iter(fused))
    named = next(named for named in checked.asked if named.label == checked.headline[0])
    if measure is not None:
        conventions = checked.plan.conventions
        (named,) = resolve_measures(one_measure(measure), conventions.dialect, conventions.overrides())
    chosen_on = with_validation_window(checked)
    if chosen_on.plan.gold != checked.plan.gold:
        warn(["weights are chosen on the validation window, not on the window of the plan"])
    gold, rankings, closed = load_rankings(chosen_on, name, progress)
    return _Task(gold, rankings, named, fused[name].fusion(), True, closed, checked.plan.statistics.model_dump())


def _show(tuning: "Tuning") -> None:
    from rankjury.reporting.console import console, print_rows
    from rankjury.retrieval.fusion.fusion import METHODS
    from rankjury.stats.formatting import format_estimate, format_percent

    out = console()
    out.print(f"{tuning.sentence}\n")
    n, has_c = len(tuning.systems), METHODS.get(tuning.best.method).has_c
    rows = [[f"{name} alone", "", "", format_estimate(estimate)] for name, estimate in tuning.alone.items()]
    for title, fusion, estimate in (
        ("equal weights", tuning.equal, tuning.with_equal),
        ("as in the plan", tuning.current, tuning.with_current),
        ("tuned, in sample", tuning.best, tuning.in_sample),
    ):
        if fusion is None or estimate is None:
            continue
        weights = " ".join(f"{weight:.3g}" for weight in fusion.weights_of(n))
        rows.append([title, weights, f"{fusion.c:g}" if has_c else "–", format_estimate(estimate)])
    by_fold = "by fold" if has_c else "–"
    rows.append([f"tuned, held out ({len(tuning.chosen)} folds)", "by fold", by_fold, format_estimate(tuning.held_out)])
    level = format_percent(tuning.resampling.level)
    print_rows(["fusion", "weights", "c", f"{tuning.measure} [{level}]"], rows, text=(0, 1))
    tried = f"{plural(tuning.tried, 'setting', 'settings')} of {tuning.best.method} tried"
    out.print(f"weights of {', '.join(tuning.systems)}; {tried}")
    if tuning.remark:
        out.print(f"Note: {tuning.remark}.")
