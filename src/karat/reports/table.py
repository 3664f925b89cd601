"""The headline table as cells, for the console and for Markdown."""

from karat.results import Report, Summary

__all__ = ["headline"]

_MOST_SYSTEMS_AS_COLUMNS = 4


def headline(report: Report) -> tuple[list[str], list[list[str]]]:
    """Header and rows: measures down and systems across, or the other way round where there are many systems."""
    systems = list(report.systems.items())
    labels = list(dict.fromkeys(label for _, scores in systems for label in scores.labels))
    cells = {name: {label: scores.summary(label) for label in scores.labels} for name, scores in systems}
    if len(systems) > _MOST_SYSTEMS_AS_COLUMNS:
        return ["system", *labels], [[name, *(cells[name][label].shown() for label in labels)] for name, _ in systems]
    rows = []
    for label in labels:
        summaries = [cells[name][label] for name, _ in systems]
        rows.append([label, *(summary.shown() for summary in summaries), _counts(summaries)])
    return ["measure", *(name for name, _ in systems), "n"], rows


def _counts(summaries: list[Summary]) -> str:
    """How many queries were averaged, and how many left out; once where all systems agree."""
    shown = [f"{s.n:,}" + (f" ({s.undefined:,} undefined)" if s.undefined else "") for s in summaries]
    return shown[0] if len(set(shown)) == 1 else " | ".join(shown)
