"""What was found of indexes and vectors while a plan ran, and what it adds to the report."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from karat.common_sections import Fingerprints
from karat.drift import drift_between
from karat.examples import examples_of
from karat.hints import Hints, hints_of
from karat.indexed import Equivalence
from karat.lab.fingerprints import fingerprint, fingerprint_ids
from karat.lab.loss import loss_of, measure_of_loss
from karat.lab.measuring import Measured
from karat.rankers.threshold import shown_from
from karat.report import Report
from karat.report_warnings import as_warnings
from karat.sections import Section
from karat.similarity import norms_of
from karat.stability import Stability, stability_of
from karat.statistics.intervals import Resampling
from karat.types import Floats, Gold, Ranking, Vectors

if TYPE_CHECKING:
    from karat.plan.earlier import References
    from karat.plan.lab import LabWork

__all__ = ["Trials"]


@dataclass
class Trials:
    """By system."""

    lab: "LabWork"
    measured: dict[str, Measured] = field(default_factory=dict)
    same: dict[str, Equivalence] = field(default_factory=dict)
    stabilities: dict[str, Stability] = field(default_factory=dict)
    fingerprints: dict[str, dict[str, str]] = field(default_factory=dict)

    def keep_index(self, name: str, measured: Measured, same: Equivalence | None) -> None:
        self.measured[name] = measured
        if same is not None:
            self.same[name] = same

    def keep_vectors(self, name: str, corpus: Vectors, queries: Vectors, scores: Floats) -> None:
        norms = norms_of(corpus.values) if corpus.dimensions else np.empty(0)
        order = queries.ids.arg_sort().to_numpy()  # by id, whatever the order of the file
        self.stabilities[name] = stability_of(queries.ids.gather(order), scores[order], norms, k=self.lab.table.k)
        self.fingerprints[name] = {"items": fingerprint_ids(corpus.ids), "queries": fingerprint_ids(queries.ids)}
        if corpus.dimensions:
            self.fingerprints[name] |= {"vectors": fingerprint(corpus), "query_vectors": fingerprint(queries)}

    def added_to(self, report: Report, golds: Mapping[str, Gold], asked: Any, how: Resampling) -> Report:
        """The report with what was found of indexes; and drift and hints."""
        chosen = measure_of_loss(asked, self.lab.table.k)
        indexes = {}
        for name, one in self.measured.items():
            known = chosen is not None and one.indexed.recall.n > 0
            loss = (
                None
                if chosen is None or not known
                else loss_of(golds[name], _as_shown(one.exact, report, name), report.scores[name], chosen, how)
            )
            indexes[name] = replace(one.indexed, loss=loss, equivalence=self.same.get(name))
        report = report.with_recorded({name: one.figures() for name, one in indexes.items()})
        query_set = self.lab.query_set
        names = dict(zip(query_set.ids.to_list(), query_set.texts.to_list(), strict=True)) if query_set else {}
        shown = report.labels[0] if chosen is None else chosen.label
        if report.queries is not None:
            report = replace(
                report, queries=replace(report.queries, query_texts={**report.queries.query_texts, **names})
            )
        if query_set is not None:
            report = replace(report, provenance={**report.provenance, "query_set": query_set.to_json()})
        for name, stability in self.stabilities.items():
            found: list[Section] = [indexes[name]] if name in indexes else []
            found += [stability, Fingerprints(self.fingerprints[name])]
            if golds[name].lookup is None:
                texts = {} if report.queries is None else report.queries.query_texts
                found.append(
                    examples_of(
                        report.scores[name],
                        shown,
                        report.top_items[name],
                        golds[name],
                        texts=texts,
                        names=report.names,
                    )
                )
            report = report.with_sections(*found, system=name)
        report = self._with_drift(report, self.lab.references) if self.lab.references is not None else report
        hints = hints_of(report)
        return report.with_sections(Hints(tuple(hints))) if hints else report

    def _with_drift(self, report: Report, references: "References") -> Report:
        fresh = replace(report, source="this report")
        notes: list[str] = []
        for name in self.measured if references.is_by_index else self.stabilities:
            earlier = self.lab.earlier_of(name)
            notes += earlier.notes
            if earlier.report is not None:
                allowed = self.lab.table.allowed_drift
                drift = drift_between(fresh, earlier.report, system=name, allowed=allowed)
                report = report.with_sections(drift, system=name).with_recorded({name: drift.figures()})
        return replace(report, warnings=(*report.warnings, *as_warnings(dict.fromkeys(notes))))


def _as_shown(exact: Ranking, report: Report, system: str) -> Ranking:
    """What exact search would show under the system's threshold: what that takes away is no loss of the index."""
    threshold = report.fact(system, "threshold")
    return exact if threshold is None else shown_from(exact, float(threshold))
