"""rankjury tune of a fusion: which weights fuse best, and do they hold?"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankjury.cli.shared.console import check_folder, print_json, say, show_progress, split_measures, warn
from rankjury.errors import UnknownName, UsageError
from rankjury.scale.evaluate_files import name_systems

if TYPE_CHECKING:
    from rankjury.core.progress import Progress
    from rankjury.core.types import Gold, Ranking
    from rankjury.measures.dialects import NamedMeasure
    from rankjury.plan.parse import CheckedPlan
    from rankjury.retrieval.fusion.fusion import Fusion
    from rankjury.retrieval.fusion.tune import Tuning


@dataclass(frozen=True)
class FusionOptions:
    """How to fuse, where it is not as in the plan."""

    method: str | None
    depth: int | None
    normalise: str | None
    constants: str | None
    folds: int


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
    quiet: bool,
) -> None:
    """Of a plan, where it is ``checked``, or of a gold and runs."""
    from rankjury.retrieval.fusion.tune import CONSTANTS, tune
    from rankjury.stats.resampling import Resampling

    if output is not None:
        if output.suffix != ".json":
            raise UsageError(f"cannot write {output.name}", expected="a name that ends in .json")
        check_folder(output)
    resampling = Resampling(**statistics)
    tried = CONSTANTS if options.constants is None else _numbers(options.constants)
    own = options.method is None and options.depth is None and options.normalise is None
    with show_progress(quiet=quiet) as progress:
        if checked is not None:
            task = _from_plan(checked, system, measure, progress, quiet=quiet)
        else:
            task = _from_files(files, system, measure)
        resampling = Resampling(**(task.statistics | statistics))
        found = tune(
            task.gold,
            task.rankings,
            task.asked,
            method=options.method or task.default.method,
            depth=task.default.depth if options.depth is None else options.depth,
            normalise=options.normalise or (task.default.normalise if options.method is None else None),
            constants=tried,
            current=task.default if task.in_use and own else None,
            whole=task.whole,
            folds=options.folds,
            resampling=resampling,
            progress=progress,
        )
    _tell(found, output, as_json=as_json, quiet=quiet)


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise UsageError(f"--c is {text!r}", expected="numbers split by commas, such as 10,60") from None


def one_measure(measure: str) -> list[str]:
    """The one that is named."""
    measures = split_measures([measure])
    if len(measures) != 1:
        raise UsageError(f"found {len(measures)} measures", expected="one to tune for")
    return measures


@dataclass(frozen=True)
class _Task:
    """What to tune, and how it is fused unless asked otherwise."""

    gold: "Gold"
    rankings: "dict[str, Ranking]"
    asked: "NamedMeasure"
    default: "Fusion"
    in_use: bool
    """Whether it is a plan's, with its weights."""
    whole: bool = False
    """Whether those below the depth of every list are ranked too."""
    statistics: "dict[str, Any]" = field(default_factory=dict)
    """How the plan makes intervals."""


def _from_files(files: list[str], system: str | None, measure: str | None) -> _Task:
    from rankjury.evaluation.evaluate import resolve_measures
    from rankjury.io.formats import read_gold, read_run
    from rankjury.retrieval.fusion.fusion import Fusion

    gold, *runs = files
    if system is not None:
        raise UsageError("--system is for a plan", expected="rankjury tune PLAN --system NAME")
    if len(runs) < 2:
        raise UsageError("found one run", expected="two or more: rankjury tune GOLD RUN RUN…")
    (asked,) = resolve_measures(one_measure(measure or "ndcg@10"))
    rankings = {name: read_run(run) for name, run in zip(name_systems(runs), runs, strict=True)}
    return _Task(read_gold(gold), rankings, asked, Fusion(), in_use=False)


def _from_plan(
    checked: "CheckedPlan", system: str | None, measure: str | None, progress: "Progress", *, quiet: bool
) -> _Task:
    """On validation, where the gold is held out of a log: the test window is not there to choose on."""
    from rankjury.evaluation.evaluate import resolve_measures
    from rankjury.plan.run import load_rankings
    from rankjury.plan.systems.fusion import FusionSystem
    from rankjury.plan.trials import with_validation_window

    fused = {name: one for name, one in checked.plan.systems.items() if isinstance(one, FusionSystem)}
    if system is None and len(fused) != 1:
        raise UsageError(
            f"the plan has {len(fused)} fused systems",
            where=checked.where,
            expected="one, or --system NAME of one of them",
        )
    if system is not None and system not in fused:
        raise UnknownName("fused system", system, fused, where=checked.where)
    name = system or next(iter(fused))
    asked = next(one for one in checked.asked if one.label == checked.headline[0])
    if measure is not None:
        conventions = checked.plan.conventions
        (asked,) = resolve_measures(one_measure(measure), conventions.dialect, conventions.overrides())
    chosen_on = with_validation_window(checked)
    if chosen_on.plan.gold != checked.plan.gold:
        warn(["weights are chosen on the validation window, not on the window of the plan"], quiet=quiet)
    gold, rankings, closed = load_rankings(chosen_on, name, progress)
    return _Task(gold, rankings, asked, fused[name].fusion(), True, closed, checked.plan.statistics.model_dump())


def _tell(found: "Tuning", output: Path | None, *, as_json: bool, quiet: bool) -> None:
    from json import dumps

    text = dumps(found.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if output is not None:
        from rankjury.io.atomic import write_text

        write_text(output, text)
    if as_json:
        print_json(text)
    else:
        _show(found)
    if output is not None:
        say(f"Wrote {output}", quiet=quiet)
    if found.better and not as_json:
        say(f"Next: put {_spelled(found)} into the plan", quiet=quiet)


def _spelled(found: "Tuning") -> str:
    """The best setting, as a plan spells it."""
    from rankjury.retrieval.fusion.fusion import METHODS

    weights = zip(found.systems, found.best.weights_of(len(found.systems)), strict=True)
    spelled = f"weights = {{ {', '.join(f'{name} = {weight!r}' for name, weight in weights)} }}"
    return spelled + (f" and c = {found.best.c:g}" if METHODS.get(found.best.method).has_c else "")


def _show(found: "Tuning") -> None:
    from rankjury.core.text import plural
    from rankjury.reporting.console import console, print_rows
    from rankjury.retrieval.fusion.fusion import METHODS
    from rankjury.stats.formatting import format_difference, format_estimate, format_p, format_percent

    n, has_c = len(found.systems), METHODS.get(found.best.method).has_c
    rows = [[f"{name} alone", "", "", format_estimate(one)] for name, one in found.alone.items()]
    for title, fusion, estimate in (
        ("equal weights", found.equal, found.with_equal),
        ("as in the plan", found.current, found.with_current),
        ("tuned, in sample", found.best, found.in_sample),
    ):
        if fusion is None or estimate is None:
            continue
        weights = " ".join(f"{weight:.3g}" for weight in fusion.weights_of(n))
        rows.append([title, weights, f"{fusion.c:g}" if has_c else "–", format_estimate(estimate)])
    by_fold = "by fold" if has_c else "–"
    rows.append([f"tuned, held out ({len(found.chosen)} folds)", "by fold", by_fold, format_estimate(found.held_out)])
    level = format_percent(found.resampling.level)
    print_rows(["fusion", "weights", "c", f"{found.measure} [{level}]"], rows, text=(0, 1))
    one = found.comparison
    out = console()
    tried = f"{plural(found.tried, 'setting', 'settings')} of {found.best.method} tried"
    out.print(f"weights of {', '.join(found.systems)}; {tried}")
    p_value = format_p(one.p, at_floor=one.at_floor)
    out.print(f"held out − equal: {format_difference(one.difference, one.ci)}, p {p_value}")
    out.print(f"{found.verdict[0].upper()}{found.verdict[1:]}.")
    if found.remark:
        out.print(f"Note: {found.remark}.")
