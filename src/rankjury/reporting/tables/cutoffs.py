"""Estimates of a report by cut-off, for each system and measure."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rankjury.core.text import plural
from rankjury.errors import RankjuryError, UsageError
from rankjury.evaluation.report import Report
from rankjury.measures.measure import common_name, split_spelling, with_common_name
from rankjury.stats.estimates import Estimate

_FAMILIAR = {"recall": "Recall", "precision": "Precision", "ndcg": "NDCG", "rr": "MRR", "ap": "MAP", "rbo": "RBO"}


@dataclass(frozen=True)
class CutMeasure:
    """A measure without its cut-off."""

    name: str
    """``Recall``; where another measure differs only in conventions, the spelling."""
    spelling: str
    """``recall(over=k,gold=k)``"""
    lower_is_better: bool = False

    @property
    def common(self) -> str | None:
        """What it is usually called, where its own name misleads."""
        return common_name(self.spelling)

    @property
    def both_names(self) -> str:
        """``Recall = precision``"""
        return with_common_name(self.name, self.common)

    @property
    def name_at_k(self) -> str:
        """``Recall@k = precision@k``"""
        return with_common_name(f"{self.name}@k", None if self.common is None else f"{self.common}@k")

    @property
    def short(self) -> str:
        """The beginning of names of columns: ``recall``."""
        return self.name.lower()


@dataclass(frozen=True)
class CutoffGrid:
    """The estimates of a report under measures with a cut-off: systems × measures × ks."""

    systems: tuple[str, ...]
    measures: tuple[CutMeasure, ...]
    """In the order asked."""
    ks: tuple[int, ...]
    """Ascending."""
    estimates: Mapping[tuple[str, str, int], Estimate]
    """By system, spelling and k."""

    def at(self, system: str, measure: CutMeasure, k: int) -> Estimate | None:
        """Return an estimate; None where the report does not have it."""
        return self.estimates.get((system, measure.spelling, k))

    def ks_of(self, measure: CutMeasure) -> tuple[int, ...]:
        """Return the cut-offs at which any system has the measure."""
        return tuple(k for k in self.ks if any(self.at(system, measure, k) for system in self.systems))

    def row(self, system: str, measure: CutMeasure) -> tuple[Estimate | None, ...]:
        """Return a system's estimates at the measure's cut-offs; None also where no query is defined."""
        estimates = (self.at(system, measure, k) for k in self.ks_of(measure))
        return tuple(estimate if estimate and estimate.n else None for estimate in estimates)

    @property
    def over(self) -> str:
        """``500 queries``, ``480 to 500 queries``."""
        counts = {estimate.n for estimate in self.estimates.values()}
        most = plural(max(counts), "query", "queries")
        return most if len(counts) == 1 else f"{min(counts):,} to {most}"

    @property
    def conventions(self) -> tuple[str, ...]:
        """``Recall: recall(over=k,gold=k)``, for each measure whose name leaves its conventions out."""
        return tuple(
            f"{measure.both_names}: {measure.spelling}"
            for measure in self.measures
            if "(" in measure.spelling and measure.name != measure.spelling
        )


def cutoff_grid(report: Report) -> CutoffGrid:
    """Return the report's measures that have a cut-off."""
    estimates: dict[tuple[str, str, int], Estimate] = {}
    lower: dict[str, bool] = {}
    for system, label, spelling, k in cut_labels(report):
        estimates.setdefault((system, spelling, k), report.estimates[system][label])
        lower.setdefault(spelling, report.lower_is_better(label))
    if not estimates:
        raise UsageError(
            "no measure of the report has a cut-off",
            expected="measures at one k or several",
            hint="Ask for recall@1,recall@5,recall@10.",
        )
    metrics = {spelling: spelling.partition("(")[0] for spelling in lower}
    alike = Counter(metrics.values())
    names = {
        spelling: spelling if alike[metric] > 1 else _FAMILIAR.get(metric, metric)
        for spelling, metric in metrics.items()
    }
    measures = tuple(CutMeasure(names[spelling], spelling, less) for spelling, less in lower.items())
    ks = tuple(sorted({k for _, _, k in estimates}))
    return CutoffGrid(tuple(report.systems), measures, ks, estimates)


def display_names(report: Report) -> dict[str, str]:
    """By label: ``NDCG@10`` for a measure that has a cut-off, the label for one that has none; both names of some."""
    grid = cutoff_grid(report)
    names = {measure.spelling: measure.name for measure in grid.measures}
    found = {label: f"{names[spelling]}@{k}" for _, label, spelling, k in cut_labels(report)}
    common = report.common_names
    return {label: with_common_name(found.get(label, label), common.get(label)) for label in report.labels}


def cut_labels(report: Report) -> Iterator[tuple[str, str, str, int]]:
    """Yield system, label, spelling without the cut-off, and the cut-off; unknown conventions are omitted."""
    for system, result in report.systems.items():
        for label, convention in result.conventions.items():
            try:
                k = split_spelling(convention)[2]
            except RankjuryError:
                continue
            if k is not None:
                yield system, label, convention.rpartition("@")[0], k
