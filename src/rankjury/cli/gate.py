"""rankjury gate: may it ship?"""

import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields, replace
from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankjury.cli.shared import options
from rankjury.cli.shared.archive import find_run, load_report
from rankjury.cli.shared.console import (
    check_distinct_outputs,
    check_folder,
    check_standard_input,
    files_in_folder,
    ignore_broken_pipe,
    is_full,
    print_json,
    say,
    warn,
)
from rankjury.errors import DataError, UsageError, shorten
from rankjury.scale.evaluate_files import looks_like_path

if TYPE_CHECKING:
    from rankjury.evaluation.gate import Gate
    from rankjury.evaluation.targets import Targets

GROUP = "Evaluate"
ORDER = 3
EPILOG = (
    "Examples:\n\n"
    "  rankjury gate targets.toml report.json\n\n"
    "  rankjury gate targets.toml qrels.txt new.trec --baseline old.trec --strict\n\n"
    "  rankjury gate targets.toml new.json --baseline last-week.json\n\n"
    "  rankjury gate targets.toml latest --baseline baseline\n\n"
    "  rankjury gate targets.toml qrels.txt new.trec --baseline baseline.json\n\n"
    "baseline.json may be a report or a file of rankjury baseline write.\n\n"
    "targets.toml:\n\n"
    '  targets = ["ndcg@10 >= 0.85", "ap drop <= 0.005", "latency_ms <= 50"]\n\n'
    "  [[target]]\n\n"
    '  require = "ndcg@10 >= 0.75"\n\n'
    '  slice = "lang=fr"\n\n'
    "PASS: the whole interval meets the target. FAIL: the value misses it; with --lenient only if the whole "
    "interval does. UNSURE: neither; more queries are needed.\n\n"
    "Exit code: 0 if no target failed, 4 if one failed; with --strict 5 if one is unsure."
)


@options.expand_options
def gate_command(
    targets: Annotated[str, typer.Argument(metavar="TARGETS.toml", help="The targets (TOML).", show_default=False)],
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="REPORT | GOLD RUN…", help="A report, an archived run, or a gold and runs.", show_default=False
        ),
    ],
    scoring: options.ScoringOptions,
    baseline: options.BaselineOption = None,
    strict: options.StrictOption = False,
    lenient: options.LenientOption = False,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the verdicts: .xml (JUnit), .md, .json, or a folder; repeatable.",
            callback=files_in_folder("gate.xml", "gate.md", "gate.json"),
        ),
    ] = None,
    as_json: options.JsonOption = False,
    full: options.FullOption = False,
) -> None:
    """Check targets: exit code 4 if one fails, for CI.

    Checks a report, an archived run, or runs with a gold. Each target passes, fails or is unsure.
    """
    from rankjury.evaluation.baseline_file import looks_like_baseline
    from rankjury.evaluation.report import looks_like_report
    from rankjury.evaluation.targets import parse_targets
    from rankjury.io.source import Source
    from rankjury.reporting.console import print_gate
    from rankjury.reporting.writers.gate import check_gate_suffix, gate_to_json, gate_to_markdown, write_gates

    targets, files = _in_order(targets, files)
    check_distinct_outputs(output or ())
    for path in output or ():
        check_gate_suffix(path)
        check_folder(path)
    check_standard_input([targets, *files, baseline or "", *(scoring.slices or ()), *(scoring.item_slices or ())])
    if any(sign in targets for sign in "<>") and not exists(targets):
        hint = f'Write targets = ["{shorten(targets)}"] into a file targets.toml.'
        raise UsageError(f"found the target {shorten(targets)!r}", expected="a file of targets", hint=hint)
    try:
        asked = parse_targets(Source.open(targets).text(), targets)
    except DataError as error:
        if not exists(targets) and targets.endswith(".toml") and "Did you mean" not in (error.hint or ""):
            error.hint = 'Write the file, for example: targets = ["ndcg@10 >= 0.6"]'
        raise
    chosen = baseline or (asked.baseline and _beside(targets, asked.baseline))
    warnings: Sequence[str] = ()
    if len(files) == 1:
        gate = _check_report(asked, files[0], chosen, scoring)
    else:
        scoring = replace(
            scoring,
            slices=[*(_beside(targets, text) for text in asked.slices), *(scoring.slices or ())],
            item_slices=[*(_beside(targets, text) for text in asked.item_slices), *(scoring.item_slices or ())],
        )
        gate, warnings = _check_files(asked, targets, files, chosen, scoring)
    gate = gate.judged(strict=strict, lenient=lenient)
    write_gates(gate, output or [])
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        try:
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(gate_to_markdown(gate) + "\n")
        except OSError as error:
            warnings = [*warnings, f"cannot write to GITHUB_STEP_SUMMARY: {error.strerror}"]
    with ignore_broken_pipe():
        if as_json:
            print_json(gate_to_json(gate))
        else:
            print_gate(gate)
    warn([*warnings, *gate.notes])
    if output:
        say(f"Wrote {', '.join(map(str, output))}")
    is_run = len(files) > 1 and chosen is not None and exists(chosen)
    is_run = is_run and not looks_like_report(str(chosen)) and not looks_like_baseline(str(chosen))
    if gate.exit_code and is_run and not as_json:
        others = [file for file in files[1:] if file != chosen]
        slices = [f"-s {text}" for text in scoring.slices or ()]
        command = ["rankjury compare", files[0], str(chosen), *others, *slices, "-o diff.html"]
        say(f"Next: which queries got worse? {' '.join(command)}")
    if gate.exit_code:
        raise typer.Exit(gate.exit_code)


def _in_order(targets: str, files: list[str]) -> tuple[str, list[str]]:
    """Return the targets and the other files, also where the targets do not come first."""
    tables = [file for file in files if file.endswith(".toml")]
    if targets.endswith(".toml") or len(tables) != 1:
        return targets, files
    return tables[0], [targets, *(file for file in files if file != tables[0])]


def _beside(targets: str, text: str) -> str:
    """Return the path of a file named in the targets, relative to them; what is not a file there stays as it is."""
    place = Path(targets).parent
    name = text if exists(place / text) else text.rpartition(":")[0]
    return str(place / text) if name and exists(place / name) else text


def _check_report(asked: "Targets", path: str, baseline: str | None, scoring: options.ScoringOptions) -> "Gate":
    from rankjury.evaluation.baseline_file import looks_like_baseline, match_baseline, read_baseline
    from rankjury.evaluation.gate import check_targets
    from rankjury.evaluation.report import looks_like_report, read_report
    from rankjury.io.source import Source

    for option in fields(options.ScoringOptions):
        if option.name != "quiet" and getattr(scoring, option.name) != option.default:
            raise UsageError(
                f"--{option.name.replace('_', '-')} is for runs, and has no effect on a saved report",
                hint="Give it to rankjury evaluate or rankjury compare when the report is made.",
            )
    report = load_report(path)
    if baseline and baseline not in report.systems and looks_like_baseline(baseline):
        chosen = ["--system", next(iter(report.systems))] if len(report.systems) > 1 else []
        renew = _renewal("REPORT_OF_MAIN", *chosen, "-o", baseline)
        other = match_baseline(read_baseline(baseline), report, asked.targets, renew)
        return check_targets(asked.targets, report, other)
    if baseline and looks_like_report(baseline):
        return check_targets(asked.targets, report, read_report(baseline))
    if baseline is None or baseline in report.systems:
        return check_targets(asked.targets, report, baseline)
    run = None
    with suppress(UsageError):  # what is not the name of an archived run may be a file or a system
        run = find_run(baseline)
    if run is not None:
        return check_targets(asked.targets, report, run.report)
    system = Source(baseline, Path(baseline)).system
    if system not in report.systems and looks_like_path(baseline):
        raise DataError("no such report", where=baseline, expected="a report, or a system of the report")
    return check_targets(asked.targets, report, system if system in report.systems else baseline)


def _check_files(
    asked: "Targets", targets: str, files: list[str], baseline: str | None, scoring: options.ScoringOptions
) -> "tuple[Gate, Sequence[str]]":
    from rankjury.evaluation.baseline_file import ACCEPTED, looks_like_baseline, match_baseline, read_baseline
    from rankjury.evaluation.gate import check_targets, target_measures
    from rankjury.evaluation.report import looks_like_report, read_report

    gold, *runs = files
    if looks_like_report(gold):
        raise UsageError(f"{gold} is a report", expected="one report alone, or a gold and runs")
    if baseline is None and asked.relative:
        spelling = next(target.spelling for target in asked.targets if target.relative)
        raise UsageError(f"the target {spelling!r} needs a baseline", hint="Name a run, or a report, with --baseline.")
    renew = _renewal(gold, "RUN_OF_MAIN", "--targets", targets, *scoring.arguments(), "-o", baseline or "")
    if baseline and baseline.endswith(".json") and not exists(baseline):
        hint = f"Make it {ACCEPTED}: {renew}"
        raise DataError("no such file", where=baseline, expected="a baseline, a report or a run", hint=hint)
    stored = read_baseline(baseline) if baseline and looks_like_baseline(baseline) else None
    other = stored or (read_report(baseline) if baseline and looks_like_report(baseline) else None)
    named = baseline if other is None else None
    measures = target_measures(asked.targets, [name for _, name, _ in scoring.figures()], targets) or None
    report = options.assess_files(gold, runs, measures, scoring.resampling(), scoring, named)
    report = replace(report, source=", ".join(runs))
    warnings = report.warning_lines if is_full() else report.warning_groups
    if stored is not None:
        other = match_baseline(stored, report, asked.targets, renew)
    return check_targets(asked.targets, report, other), warnings


def _renewal(*arguments: str) -> str:
    """Return the command that writes a baseline file; the run of the main branch is a placeholder."""
    return shlex.join(["rankjury", "baseline", "write", *arguments])
