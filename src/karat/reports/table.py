"""The headline table as cells, for the console and for Markdown."""

from karat.results import Report, Summary

__all__ = ["by_measure", "by_system", "one_by_one"]

Table = tuple[list[str], list[list[str]]]


def by_measure(report: Report) -> Table:
    """Measures down, systems across, and how many queries were averaged."""
    rows = []
    for label in _labels(report):
        summaries = [scores.summary(label) for scores in report.systems.values()]
        rows.append([label, *(summary.shown() for summary in summaries), _counts(summaries)])
    return ["measure", *report.systems, "n"], rows


def by_system(report: Report) -> Table:
    """Systems down, measures across, and how many queries were averaged."""
    labels = _labels(report)
    rows = []
    for name, scores in report.systems.items():
        summaries = [scores.summary(label) for label in labels]
        rows.append([name, *(summary.shown() for summary in summaries), _counts(summaries)])
    return ["system", *labels, "n"], rows


def one_by_one(report: Report) -> Table:
    """A row for each system and measure: as narrow as it gets."""
    rows = []
    for label in _labels(report):
        for name, scores in report.systems.items():
            summary = scores.summary(label)
            rows.append([name, label, summary.shown(), _counts([summary])])
    return ["system", "measure", "mean", "n"], rows


def _labels(report: Report) -> list[str]:
    return list(dict.fromkeys(label for scores in report.systems.values() for label in scores.labels))


def _counts(summaries: list[Summary]) -> str:
    """How many queries were averaged, and how many left out; once where they agree."""
    shown = [f"{s.n:,}" + (f" ({s.undefined:,} undefined)" if s.undefined else "") for s in summaries]
    return shown[0] if len(set(shown)) == 1 else " | ".join(shown)
