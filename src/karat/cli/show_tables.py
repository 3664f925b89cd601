"""An archived run in a terminal, made from its form and its manifest alone."""

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

from karat.archive.files import HASH_SHOWN, shown_time
from karat.archive.run import Run
from karat.cli.common import print_line
from karat.cli.fitting import print_fitting
from karat.cli.history_tables import commit_shown
from karat.report_warnings import warning_lines
from karat.reports.console import console, print_rows
from karat.reports.digest import about, headline_table, labels_first, slices_table, verdict_counts, verdicts_table
from karat.results import Recorded
from karat.wording import bounds_shown, count

__all__ = ["print_run", "size_shown"]

_SLICES_SHOWN = 8
_INPUTS_SHOWN = 20
_DETAILS = ("end_to_end_", "open_loop_")
"""Figures that are looked up, not read."""
_MARK = " "
"""The column that says in a word what to make of a difference needs no name."""
_STYLE_OF = {"▲ better": "better", "▼ worse": "worse"}


def print_run(run: Run, *, is_baseline: bool) -> None:
    """On standard output: what was found first, what it was made of last."""
    form = run.form
    print_line(f"{run.name}{' (baseline)' if is_baseline else ''}")
    _tell(" · ".join(_about(run)))
    if run.verdict is not None:
        _print_verdicts(form)
    labels, others = labels_first(form)
    for label in labels:
        _print_measure(form, label)
    if others:
        told = f"and {count(len(others), 'other measure', 'other measures')}: {', '.join(others)}"
        _tell(told)
    _print_figures(form)
    _print_slices(form, labels[0])
    for title, lines in (("Warnings", warning_lines(form)), ("Made of", list(_made_of(run)))):
        if lines:
            print(f"\n{title}")
            for line in lines:
                _tell(line, indent="  ")


def _about(run: Run) -> Iterator[str]:
    manifest = run.manifest
    yield f"{shown_time(run.time)} UTC"
    yield about(run.form)
    if manifest.get("seconds") is not None:
        yield f"{manifest['seconds']:.1f}\u00a0s"
    if commit_shown(run):
        yield f"commit {commit_shown(run)}"
    if manifest.get("same_inputs_as"):
        yield f"the same plan and inputs as {manifest['same_inputs_as']}"


def _tell(text: str, indent: str = "") -> None:
    screen = console()
    for line in wrap(text, screen.width, initial_indent=indent, subsequent_indent=f"{indent}  "):
        screen.print(line)


def _print_verdicts(form: Mapping[str, Any]) -> None:
    header, rows = verdicts_table(form, "fail", "unsure", "pass")
    print()
    styles = {(number, "verdict"): row[0].lower() for number, row in enumerate(rows)}
    words = ("target", "system", "wanted")
    print_fitting(header, rows, text=("verdict", *words), drop=("n",), folding=words, styles=styles)
    print(verdict_counts(form))


def _print_measure(form: Mapping[str, Any], label: str) -> None:
    """A table of one measure: systems down, the difference to the baseline beside the mean."""
    header, rows = headline_table(form, [label])
    header, rows = [label, *header[2:]], [row[1:] for row in rows]
    print()
    styles = {}
    if "p" in header:
        word = header.index("p") - 1
        header[word] = _MARK
        styles = {(number, _MARK): _STYLE_OF.get(row[word], "") for number, row in enumerate(rows)}
    print_fitting(header, rows, text=(label, _MARK), drop=("n", "+/=/−", "p", _MARK), folding=(label,), styles=styles)


def _print_figures(form: Mapping[str, Any]) -> None:
    """What else was recorded of systems, such as a latency."""
    held = {name: one.get("figures") or {} for name, one in form["systems"].items()}
    every = list(dict.fromkeys(figure for figures in held.values() for figure in figures))
    names = [name for name in every if not name.startswith(_DETAILS)] or every
    systems = [name for name, figures in held.items() if figures]
    if not names:
        return
    rows = [[name, *(_figure(held[system].get(name)) for system in systems)] for name in names]
    print()
    print_rows(["figure", *systems], rows, wraps=(0,), fixed=1)
    if len(names) < len(every):
        print(f"and {count(len(every) - len(names), 'other figure', 'other figures')}: --json has them")


def _figure(form: Any) -> str:
    if form is None:
        return ""
    one = Recorded.from_json(form)
    return f"{one.value:.4g}" + (f" {bounds_shown(one.ci)}" if one.ci and one.ci[0] < one.ci[1] else "")


def _print_slices(form: Mapping[str, Any], label: str) -> None:
    header, rows = slices_table(form, label, losing=True)
    if not rows:
        return
    print_line(f"\n{label} by slice, worst first")
    compared = "p" in header
    if compared:
        header[header.index("p") - 1] = _MARK
    styles = {}
    if compared:
        place = header.index(_MARK)
        styles = {(number, _MARK): _STYLE_OF.get(row[place], "") for number, row in enumerate(rows)}
    text = ("slice", "system", _MARK)
    shown = rows[:_SLICES_SHOWN]
    print_fitting(header, shown, text=text, drop=("p", "mean", _MARK), folding=("slice", "system"), styles=styles)
    if len(rows) > _SLICES_SHOWN:
        print(f"… {len(rows) - _SLICES_SHOWN:,} more: karat show -o report.html has them")


def _made_of(run: Run) -> Iterator[str]:
    """Plan, inputs, versions, packages, machine and files."""
    manifest = run.manifest
    plan = manifest.get("plan") or {}
    yield f"plan {plan.get('file') or run.plan}, digest {run.digest[:HASH_SHOWN]}, seed {manifest.get('seed')}"
    inputs = list((manifest.get("inputs") or {}).items())
    shown = [f"{name} {digest[:HASH_SHOWN] if digest else 'unknown'}" for name, digest in inputs[:_INPUTS_SHOWN]]
    if shown:
        more = f", {len(inputs) - _INPUTS_SHOWN:,} more" if len(inputs) > _INPUTS_SHOWN else ""
        yield f"inputs: {', '.join(shown)}{more}"
    declared = {
        name: held["declared"]
        for name, held in (manifest.get("versions") or {}).items()
        if isinstance(held, Mapping) and "declared" in held
    }
    if declared:
        yield f"declared: {', '.join(f'{name} {value}' for name, value in declared.items())}"
    yield f"packages: {', '.join(f'{name} {version}' for name, version in (manifest.get('packages') or {}).items())}"
    machine = manifest.get("machine") or {}
    about_it = [machine.get("platform"), machine.get("processor"), f"{machine.get('cores')} cores"]
    yield f"machine: {', '.join(str(one) for one in about_it if one)}, Python {machine.get('python')}"
    yield f"files in {run.path}: {', '.join(f'{name} {size_shown(size)}' for name, size in run.files.items())}"


def size_shown(octets: int) -> str:
    """``164 kB``, ``1.3 MB``."""
    size = float(octets)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
