"""An archived run, or two that are compared, in a terminal."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from textwrap import wrap

from rankjury.cli.shared.console import print_line
from rankjury.core.text import plural
from rankjury.evaluation.gate import Gate
from rankjury.evaluation.scores import QueryData
from rankjury.reporting.console import console, print_block, print_table
from rankjury.reporting.sections import render_sections
from rankjury.reporting.tables import about_line, first_labels, recorded_table
from rankjury.reporting.tables.differences import (
    before_after_table,
    changes_table,
    format_tally,
    measure_table,
    single_measure_table,
    slices_table,
)
from rankjury.reporting.writers.gate import verdict_counts, verdicts_table
from rankjury.tracking.archive.compare import RunComparison
from rankjury.tracking.archive.files import HASH_SHOWN, display_time
from rankjury.tracking.archive.run import ArchivedRun

_SLICES_SHOWN = 8
_INPUTS_SHOWN = 20
_CAUSES_SHOWN = 25


def print_run(run: ArchivedRun, *, is_baseline: bool) -> None:
    """Print a run: what was found first, what it was made of last."""
    report = run.report
    print_line(f"{run.name}{' (baseline)' if is_baseline else ''}")
    _print_text(" · ".join(_about(run)))
    gate = report.section(Gate)
    if gate is not None:
        print()
        print_table(verdicts_table(gate))
        print(verdict_counts(gate))
    labels, others = first_labels(report)
    for label in labels:
        print()
        print_table(measure_table(report, label))
    if others:
        _print_text(f"and {plural(len(others), 'other measure', 'other measures')}: {', '.join(others)}")
    recorded = recorded_table(report, everything=False)
    if recorded:
        print()
        print_table(recorded)
    slices = slices_table(report, labels[0], losing=report.baseline is not None)
    if slices:
        print_line(f"\n{labels[0]} by slice, worst first")
        print_table(slices.first(_SLICES_SHOWN).dropping("p", ""))
        if len(slices.rows) > _SLICES_SHOWN:
            print(f"… {len(slices.rows) - _SLICES_SHOWN:,} more: rankjury show -o report.html has them")
    for _, block in render_sections(report, "console"):
        if block.own_tables or (block.lines and not block.core_tables):
            print()
            print_block(replace(block, tables=block.own_tables))
    for title, lines in (("Warnings", report.warning_lines), ("Made of", list(_made_of(run)))):
        if lines:
            print(f"\n{title}")
            for line in lines:
                _print_text(line, indent="  ")


def _about(run: ArchivedRun) -> Iterator[str]:
    manifest = run.manifest
    yield f"{display_time(run.time)} UTC"
    yield about_line(run.report)
    if manifest.get("seconds") is not None:
        yield f"{manifest['seconds']:.1f}\u00a0s"
    if run.commit:
        yield f"commit {run.commit}"
    if manifest.get("same_inputs_as"):
        yield f"the same plan and inputs as {manifest['same_inputs_as']}"


def _print_text(text: str, indent: str = "") -> None:
    screen = console()
    for line in wrap(text, screen.width, initial_indent=indent, subsequent_indent=f"{indent}  "):
        screen.print(line)


def _made_of(run: ArchivedRun) -> Iterator[str]:
    """Return plan, inputs, versions, packages, machine and files, one line each."""
    manifest = run.manifest
    plan = manifest.get("plan") or {}
    yield f"plan {plan.get('file') or run.plan}, digest {run.digest[:HASH_SHOWN]}, seed {manifest.get('seed')}"
    inputs = list((manifest.get("inputs") or {}).items())
    shown = [f"{name} {digest[:HASH_SHOWN] if digest else 'unknown'}" for name, digest in inputs[:_INPUTS_SHOWN]]
    if shown:
        more = f", {len(inputs) - _INPUTS_SHOWN:,} more" if len(inputs) > _INPUTS_SHOWN else ""
        yield f"inputs: {', '.join(shown)}{more}"
    declared = {
        name: known["declared"]
        for name, known in (manifest.get("versions") or {}).items()
        if isinstance(known, Mapping) and "declared" in known
    }
    if declared:
        yield f"declared: {', '.join(f'{name} {value}' for name, value in declared.items())}"
    yield f"packages: {', '.join(f'{name} {version}' for name, version in (manifest.get('packages') or {}).items())}"
    machine = manifest.get("machine") or {}
    about_it = [machine.get("platform"), machine.get("processor"), f"{machine.get('cores')} cores"]
    yield f"machine: {', '.join(str(one) for one in about_it if one)}, Python {machine.get('python')}"
    yield f"files in {run.path}: {', '.join(f'{name} {format_size(size)}' for name, size in run.files.items())}"


def format_size(octets: int) -> str:
    """``164 kB``, ``1.3 MB``."""
    size = float(octets)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def print_compared(compared: RunComparison, baselines: Mapping[str, str]) -> None:
    """Print two runs: what changed, every system beside itself, the queries that lost most, verdicts."""
    for word, run in (("before", compared.before), ("after", compared.after)):
        mark = " (baseline)" if baselines.get(run.plan) == run.name else ""
        console().print(f"{word:<6}  {display_time(run.time)}  {run.name}{mark}")
    print("\nWhat changed")
    causes = [str(one) for one in compared.changed]
    more = [f"… {len(causes) - _CAUSES_SHOWN} more: --json has them"] if len(causes) > _CAUSES_SHOWN else []
    for line in [*causes[:_CAUSES_SHOWN], *more] or ["nothing that is known of"]:
        _print_text(line, indent="  ")
    _print_comparisons(compared)
    _print_losses(compared)
    if compared.verdicts:
        print("\nVerdicts")
        for one in compared.verdicts:
            was, now = (str(one[side] or "none") for side in ("before", "after"))
            part = f", {one['slice']}" if one["slice"] else ""
            _print_text(f"{was} → {now}: {one['target']} {one['wanted']} ({one['system']}{part})", indent="  ")


def _print_comparisons(compared: RunComparison) -> None:
    for label, found in groupby(compared.comparisons, key=lambda one: one.measure):
        print()
        print_table(
            single_measure_table(before_after_table(list(found), compared.resampling.level, ("before", "after")), label)
        )
    asked = compared.asked
    only = [f"{asked[side]:,} only {side}" for side in ("before", "after") if asked[side]]
    over = f"{plural(asked['common'], 'query', 'queries')} that both asked" + (f" ({', '.join(only)})" if only else "")
    if compared.comparisons:
        _print_text(f"paired over {over} · p: sign-flip test, Holm's correction")
    for line in compared.not_compared:
        _print_text(line, indent="  ")


def _print_losses(compared: RunComparison) -> None:
    first = next((one.measure for one in compared.comparisons), None)
    for one in compared.comparisons:
        losses = [loss for loss in compared.losses if loss.system == one.system]
        if one.measure != first or one.whole or not (one.better or one.worse):
            continue
        console().print(f"\n{format_tally(one)}" + ("; largest losses:" if losses else ""))
        if losses:
            run = compared.after
            texts = run.texts(loss.query for loss in losses)
            names = run.names(move.item for loss in losses for move in loss.moves)  # no others are read
            report = replace(run.report, queries=QueryData({}, query_texts=texts, names=names))
            print_table(changes_table(report, losses, texts=True))
