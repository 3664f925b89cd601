"""rankjury drift: comparison of a report with an earlier one, against allowed changes."""

from typing import TYPE_CHECKING, Annotated

import typer

from rankjury.cli.shared.archive import load_report
from rankjury.cli.shared.console import check_standard_input, ignore_broken_pipe, print_json, warn
from rankjury.cli.shared.options import JsonOption, QuietOption, StrictOption
from rankjury.errors import UsageError

if TYPE_CHECKING:
    from rankjury.evaluation.drift import Drift
    from rankjury.evaluation.report import Report

GROUP = "History"
ORDER = 4
EPILOG = (
    "Examples:\n\n"
    "  rankjury drift last-week.json new.json\n\n"
    "  rankjury drift last-week.json new.json --system hnsw --allowed 2% --strict\n\n"
    "  rankjury drift baseline latest\n\n"
    "The rule: mean and standard deviation of the similarities of the first items, and of the vector norms, change "
    "by at most --allowed.\n\n"
    "A paired test over the common queries shows whether a change is more than noise. Rule and test can "
    "disagree.\n\n"
    "Exit code: 0 within the limit, 4 beyond it; with --strict 5 if only an interval reaches beyond it."
)


def drift_command(
    old: Annotated[
        str, typer.Argument(metavar="OLD", help="Saved report or archived run to compare with.", show_default=False)
    ],
    new: Annotated[
        str, typer.Argument(metavar="NEW", help="Saved report or archived run to check.", show_default=False)
    ],
    system: Annotated[
        str | None, typer.Option(metavar="NAME", help="System to check; default: all systems in both reports.")
    ] = None,
    old_system: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the system in OLD, if it differs.")
    ] = None,
    allowed: Annotated[str, typer.Option(metavar="SHARE", help="Largest allowed relative change.")] = "5%",
    strict: StrictOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Check that a new report stays close to an old one.

    Compares similarities, vector norms, quality and first items, and shows what else changed.
    """
    from rankjury.evaluation.drift import drift_between, systems_in_both
    from rankjury.reporting.sections.drift import drifts_to_json

    share = _share_of(allowed)
    check_standard_input([old, new])
    report, earlier = load_report(new), load_report(old)
    names = systems_in_both(report, earlier) if system is None and old_system is None else []
    drifts = [drift_between(earlier, report, system=name, old_system=name, allowed=share) for name in names]
    if not drifts:
        drifts = [drift_between(earlier, report, system=system, old_system=old_system, allowed=share)]
    with ignore_broken_pipe():
        if as_json:
            print_json(drifts_to_json(drifts, strict=strict))
        else:
            _print_drifts(report, drifts)
        warn(dict.fromkeys(note for drift in drifts for note in drift.notes))
    codes = {drift.exit_code(strict=strict) for drift in drifts}
    code = next((code for code in (4, 5) if code in codes), 0)
    if code:
        raise typer.Exit(code)


def _share_of(text: str) -> float:
    """``5%``, ``5 %`` or ``0.05``."""
    number, percent, rest = text.partition("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = -1.0
    if rest.strip() or not 0 <= share < 1:
        raise UsageError(f"--allowed is {text!r}", expected="a share of less than all, such as 5% or 0.05")
    return share


def _print_drifts(report: "Report", drifts: "list[Drift]") -> None:
    from rankjury.reporting.console import console, print_block
    from rankjury.reporting.sections.drift import drift_block, verdict_line
    from rankjury.retrieval.hints import find_hints

    for drift in drifts:
        console().print(verdict_line(drift))
    for drift in drifts:
        print()
        hints = find_hints(report, drift) if drift.outcome == "fail" else ()
        block = drift_block(drift, [hint for hint in hints if (hint.system, hint.figure) == (drift.system, "drift")])
        console().print(f"{block.title}\n")
        print_block(block)
