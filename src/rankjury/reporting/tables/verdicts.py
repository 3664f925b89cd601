"""Tables of a gate's verdicts: a row per target and system, failures first."""

from rankjury.evaluation.gate import Gate, Verdict
from rankjury.evaluation.targets import Target
from rankjury.reporting.tables import TableCell, TableColumn, TextTable, make_table

_ORDER = {"fail": 0, "unsure": 1, "pass": 2}


def verdicts_table(gate: Gate, *outcomes: str, full: bool = False) -> TextTable:
    """Return one row per verdict, failures first: of all outcomes, or of some.

    Args:
        gate: The verdicts.
        outcomes: Outcomes to show; none: all.
        full: Name the system also where there is one, and the slice of a target that has a name of its own.
    """
    several = full or len({verdict.system for verdict in gate.verdicts}) > 1
    shown = [verdict for verdict in gate.verdicts if not outcomes or verdict.outcome in outcomes]
    rows = [
        [
            TableCell(verdict.outcome.upper(), verdict.outcome),
            _title(verdict.target) if full else verdict.target.title,
            *([verdict.system] if several else ()),
            verdict.shown,
            _count(verdict),
            allowed(verdict),
        ]
        for verdict in sorted(shown, key=lambda verdict: _ORDER[verdict.outcome])
    ]
    words = [TableColumn(name, "text", wraps=True) for name in ("target", *(["system"] if several else ()))]
    wanted = TableColumn("allowed", "text", wraps=True)
    header = [TableColumn("verdict", "text"), *words, TableColumn("found"), TableColumn("n"), wanted]
    return make_table(header, rows, narrower=[_by_target(shown)] if several and not full else ())


def _by_target(verdicts: list[Verdict]) -> TextTable:
    """Return the verdicts under a line for each target, the systems below it: for narrow terminals."""
    shown = sorted(verdicts, key=lambda verdict: _ORDER[verdict.outcome])
    rows: list[list[str | TableCell]] = []
    titles = [f"{verdict.target.title} {verdict.target.wanted}" for verdict in shown]
    for title in dict.fromkeys(titles):
        rows.append(["", title, "", "", ""])
        for verdict in (verdict for verdict, of in zip(shown, titles, strict=True) if of == title):
            outcome, count = TableCell(verdict.outcome.upper(), verdict.outcome), _count(verdict)
            rows.append([outcome, f"  {verdict.system}", verdict.shown, count, verdict.decided_by])
    names = [TableColumn(name, "text", wraps=True) for name in ("target, system", "")]
    table = make_table(
        [TableColumn("verdict", "text"), names[0], TableColumn("found"), TableColumn("n"), names[1]], rows
    )
    return table.dropping()


def allowed(verdict: Verdict) -> str:
    """Return what was allowed, and for an unsure target how many queries would decide."""
    return "; ".join(filter(None, (verdict.target.wanted, verdict.decided_by)))


def _count(verdict: Verdict) -> str:
    return "" if verdict.n is None else f"{verdict.n:,}"


def _title(target: Target) -> str:
    inner = f" in {target.slice}" if target.slice and target.slice not in target.title else ""
    return f"{target.title}{inner}"


def verdict_counts(gate: Gate) -> str:
    """``1 fail · 3 pass``"""
    found = [verdict.outcome for verdict in gate.verdicts]
    return " · ".join(f"{found.count(outcome):,} {outcome}" for outcome in _ORDER if outcome in found)
