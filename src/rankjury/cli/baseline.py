"""rankjury baseline: what later runs are compared with, set by a person: an archived run, or a file to commit."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankjury.cli.shared import options
from rankjury.cli.shared.archive import ArchiveOption, load_report, open_archive, resolve_plan_name
from rankjury.cli.shared.console import (
    check_standard_input,
    check_suffixes,
    ignore_broken_pipe,
    print_json,
    print_line,
    say,
    show_report,
    warn_of,
)
from rankjury.errors import DataError, RankjuryError, UnknownName, UsageError, shorten

if TYPE_CHECKING:
    from rankjury.evaluation.report import Report

GROUP = "History"
ORDER = 6
EPILOG = (
    "Examples:\n\n"
    "  rankjury baseline\n\n"
    "  rankjury baseline set latest\n\n"
    "  rankjury baseline unset movies\n\n"
    "  rankjury baseline write qrels.txt run.trec --targets targets.toml -o baseline.json\n\n"
    "  rankjury baseline write latest --system dense -o baseline.json\n\n"
    "diff compares archived runs with the baseline that is set, history marks it, and prune never deletes it.\n\n"
    "write makes a file to commit, with the scores of one system by query: gate --baseline baseline.json compares "
    "later runs with it. Where the file exists, the difference is printed before it is replaced."
)
_OMITTED = ("slices", "item_slices", "names", "texts", "on", "master", "memory", "temp")
_RESAMPLING = ("quiet", "level", "resamples", "seed", "interval")
_WRITE = "rankjury baseline write GOLD RUN -o baseline.json"


@partial(options.expand_options, omit=_OMITTED)
def baseline_command(
    scoring: options.ScoringOptions,
    action: Annotated[
        str,
        typer.Argument(
            metavar="[set|unset|write]",
            help="Set or unset a baseline, write a file, or show all.",
            autocompletion=lambda: ["set", "unset", "write"],
        ),
    ] = "show",
    which: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN | PLAN | GOLD RUN",
            help="Run to set or write, plan whose baseline to unset, or gold and run file to write.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.json", help="Baseline file to write.")
    ] = None,
    targets: Annotated[
        str | None, typer.Option(metavar="TARGETS.toml", help="Write the measures of these targets.")
    ] = None,
    measures: options.MeasuresOption = None,
    k: options.CutoffsOption = None,
    system: Annotated[str | None, typer.Option(metavar="NAME", help="System to write, if a run has several.")] = None,
    archive: ArchiveOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Show, set or write what later runs are compared with.

    Each plan has at most one baseline in the archive. A baseline file is for runs that are not archived, such as in CI.
    """
    if action == "write":
        if output is None:
            raise UsageError("the file to write is not named", expected=_WRITE)
        _write(which or [], output, scoring, [measures, k, targets], system, archive, as_json)
        return
    if action not in ("show", "set", "unset"):
        raise UnknownName("action", action, ["set", "unset", "write"])
    if any((output, targets, measures, k, system)) or scoring != options.ScoringOptions(quiet=scoring.quiet):
        found = f"found options that have no effect on rankjury baseline {'' if action == 'show' else action}"
        raise UsageError(found.rstrip(), hint=f"They are for {_WRITE}.")
    if len(which or ()) > 1:
        raise UsageError(f"found {len(which or ())} names", expected="one", hint=f"A file is written by {_WRITE}.")
    _set_or_show(action, which[0] if which else None, archive, as_json)


def _set_or_show(action: str, which: str | None, archive: Path | None, as_json: bool) -> None:
    kept = open_archive(archive)
    if action == "set":
        if which is None:
            expected = "rankjury baseline set RUN"
            raise UsageError("no run is named", expected=expected, hint="latest is the last one.")
        run = kept.find(which)
        kept.set_baseline(run)
        say(f"{run.name} is now the baseline of {run.plan}")
    elif action == "unset":
        known = kept.baselines
        if not known:
            raise DataError("no baseline is set", where=str(kept.path))
        if which in known or not kept.runs():
            plan = which or next(iter(known))
        else:
            plan = resolve_plan_name(kept.runs(), which)
        if plan not in known:
            raise DataError(f"{plan} has no baseline", where=str(kept.path), expected=f"one of {', '.join(known)}")
        kept.unset_baseline(plan)
        say(f"{plan} has no baseline any more")
    if as_json:
        print_json(kept.baselines)
    elif action == "show":
        for plan, name in kept.baselines.items():
            try:
                state = "" if kept.baseline(plan) is not None else " (not there any more)"
            except DataError as error:
                state = f" ({error.found})"
            print_line(f"{plan}: {name}{state}")
        if not kept.baselines:
            say("No baseline is set: rankjury baseline set RUN sets one")


def _write(
    given: list[str],
    output: Path,
    scoring: options.ScoringOptions,
    asked: Sequence[Any],
    system: str | None,
    archive: Path | None,
    as_json: bool,
) -> None:
    """Write a baseline file; ``asked`` are the options ``-m``, ``-k`` and ``--targets``."""
    from rankjury.evaluation.baseline_file import baseline_text, chosen_system, looks_like_baseline
    from rankjury.io.atomic import write_text

    check_suffixes([output], (".json",))
    if exists(output) and not looks_like_baseline(str(output)):
        expected = "a new file, or a baseline file to replace"
        raise DataError("the file exists and is not a baseline file", where=str(output), expected=expected)
    if len(given) > 2:
        found = f"found {len(given) - 1} runs: {', '.join(map(shorten, given[1:]))}"
        raise UsageError(found, expected="one run, as a baseline file is of one system")
    if not given:
        raise UsageError("no run is named", expected=_WRITE)
    check_standard_input(given)
    report = _evaluated(given, scoring, asked) if len(given) == 2 else _loaded(given[0], scoring, asked, archive)
    name = chosen_system(report, system)
    content = baseline_text(report, name)
    is_new = not exists(output)
    notes, changes = _changes(output, content, report, name, scoring)
    with ignore_broken_pipe():
        if as_json:
            comparisons = changes.to_json()["comparisons"] if changes else []
            print_json({"file": str(output), "system": name, "notes": notes, "comparisons": comparisons})
        else:
            from rankjury.reporting.console import console

            for note in notes:
                console().print(note)
            if changes is not None:
                show_report(changes)
    write_text(output, content)
    if len(given) == 2:
        warn_of(report)
    say(f"Wrote {output}")
    if is_new and not as_json:
        say(f"Next: commit it, and compare with it: rankjury gate targets.toml GOLD RUN --baseline {output}")


def _evaluated(given: Sequence[str], scoring: options.ScoringOptions, asked: Sequence[Any]) -> "Report":
    """Return the report of a run, on the measures of the options or of a file of targets."""
    gold, run = given
    measures, k, targets = asked
    labels = options.asked_measures(measures, k)
    if targets is not None:
        if labels is not None:
            raise UsageError("found -m or -k, and --targets", expected="one of them")
        labels = _target_labels(targets, [name for _, name, _ in scoring.figures()])
    return replace(options.assess_files(gold, [run], labels, scoring.resampling(), scoring), source=run)


def _target_labels(path: str, recorded: list[str]) -> list[str]:
    """Return the measures that targets are about; recorded values of which no difference is limited may be missing."""
    from rankjury.evaluation.gate import target_measures
    from rankjury.evaluation.targets import parse_targets
    from rankjury.io.source import Source

    labels: list[str] = []
    for target in parse_targets(Source.open(path).text(), path).targets:
        try:
            labels += target_measures([target], recorded, path)
        except UsageError:
            if target.relative:
                raise
    if not labels:
        raise UsageError("no target is about a measure", where=path, expected='such as "ndcg@10 drop <= 0.01"')
    return list(dict.fromkeys(labels))


def _loaded(path: str, scoring: options.ScoringOptions, asked: Sequence[Any], archive: Path | None) -> "Report":
    """Return a saved report, or that of an archived run, which were made with their own measures and conventions."""
    given = {name: getattr(scoring, name) for name in _RESAMPLING}
    if any(asked) or scoring != options.ScoringOptions(**given):
        found = "found -m, --targets or an option for reading and scoring, which have no effect on a saved report"
        raise UsageError(found, hint=f"Give the files: {_WRITE}.")
    return load_report(path, archive)


def _changes(
    output: Path, content: str, report: "Report", system: str, scoring: options.ScoringOptions
) -> "tuple[list[str], Report | None]":
    """Return how the new baseline differs from that of the file, as sentences and as a report of both."""
    from rankjury.evaluation.baseline_file import compare_baselines, read_baseline
    from rankjury.io.source import Source
    from rankjury.stats.formatting import format_estimate

    if not exists(output):
        means = (f"{label} {format_estimate(found)}" for label, found in report.systems[system].estimates.items())
        return [f"{system}, {report.n_queries:,} {report.unit[report.n_queries != 1]}: {', '.join(means)}."], None
    try:
        old = read_baseline(str(output))
    except RankjuryError as error:
        return [f"The old baseline cannot be read, and is replaced: {error.found}."], None
    if Source.open(output).text() == content:
        return ["The baseline is unchanged."], None
    name = next(iter(old.systems))
    renamed = [f"The system was {name} and is {system} now."] if name != system else []
    changes, notes = compare_baselines(old, report, system, scoring.resampling())
    return [*renamed, *notes], changes
