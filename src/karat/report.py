"""Report: all that was found, in one versioned form. Every writer, and the gate, reads only this."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isnan
from typing import Any, Protocol

import polars as pl

from karat._version import __version__
from karat.agreement import Agreement
from karat.answers import Answers
from karat.arguments import check_arguments
from karat.breakdown import Slice, worst_slices
from karat.changes import Change
from karat.examples import Example
from karat.exposures import Exposure
from karat.hygiene import Hygiene
from karat.indexed import Indexed
from karat.markup import snippet_of
from karat.partial import Partial
from karat.results import Recorded, Scores
from karat.stability import Stability
from karat.statistics.differences import Comparison
from karat.statistics.estimates import Estimate
from karat.statistics.intervals import Resampling
from karat.types import Floats
from karat.usual import beside
from karat.wording import aligned, count, difference_shown, estimate_shown, p_shown

__all__ = ["SCHEMA", "Report"]

SCHEMA = "karat.report/1"
_MOST_QUERIES_KEPT = 50_000
_LONGEST_NAME = 24


class Kept(Protocol):
    """What is made from a report, and kept with it."""

    @check_arguments
    def as_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True, repr=False)
class Report:
    """The systems' scores, how far to trust and what to make of them, and how it all came about."""

    systems: dict[str, Scores]
    estimates: dict[str, dict[str, Estimate]]
    """By system and measure."""
    how: Resampling | None = None
    """How intervals were made; None where there are none."""
    baseline: str | None = None
    comparisons: tuple[Comparison, ...] = ()
    changes: tuple[Change, ...] = ()
    slices: tuple[Slice, ...] = ()
    figures: Mapping[str, Mapping[str, float | Recorded]] = field(default_factory=dict)
    """What else was recorded of a system, such as a latency."""
    golds: dict[str, str] = field(default_factory=dict)
    """By system, which gold it was held against, where there are several."""
    spaces: dict[str, Hygiene] = field(default_factory=dict)
    """By system, what is to be known of its vectors."""
    agreements: dict[str, Agreement] = field(default_factory=dict)
    """By system, how far its similarities agree with the reference's."""
    fusions: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By system, how it was fused from others."""
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By system, what else it is made of: a model, a chunking."""
    indexes: dict[str, Indexed] = field(default_factory=dict)
    """By system, what was found of its index."""
    stabilities: dict[str, Stability] = field(default_factory=dict)
    """By system, how alike its first items are, and how long its vectors."""
    fingerprints: dict[str, dict[str, str]] = field(default_factory=dict)
    """By system, what tells its items, vectors and queries from others."""
    drifts: Mapping[str, Kept] = field(default_factory=dict)
    """By system, what moved since an earlier report."""
    hints: tuple[Kept, ...] = ()
    """What a pattern among the figures suggests to do."""
    by_chance: frozenset[str] = frozenset()
    """Systems whose scores are expectations of a random order."""
    partials: Mapping[str, Partial] = field(default_factory=dict)
    """By system, which of the queries' keywords its results have and lack, where the gold is made of keywords."""
    asked: Mapping[str, Any] = field(default_factory=dict)
    """What queries ask for by keywords: groups, match, how texts were mapped and how well."""
    interactions: Mapping[str, Any] = field(default_factory=dict)
    """Of what log the gold was held out: its split, windows, catalogue and tiers."""
    exposures: Mapping[str, Exposure] = field(default_factory=dict)
    """By system, how popular what it recommends was in training."""
    answers: Answers | None = None
    """The gold's and every system's first items of every query, where they were kept."""
    examples: dict[str, tuple[Example, ...]] = field(default_factory=dict)
    """By system, the queries that went best and worst."""
    query_names: dict[str, str] = field(default_factory=dict)
    """The queries' texts."""
    names: dict[str, str] = field(default_factory=dict)
    """What items are called, for people."""
    queries_are_items: bool = False
    """Queries are items of the corpus, so that names of items are theirs too; equal ids alone do not say so."""
    quantiles: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    """By system and measure: the scores at some shares of the queries, and how far they may be off."""
    headline: tuple[str, ...] = ()
    """The measures to show first; where there are none, all of them."""
    detect: float = 0.01
    """A difference of interest: how many queries would show it is said."""
    warnings: tuple[str, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def top(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        """By system, the first items of every query, where they were kept."""
        answers = self.answers
        return {} if answers is None else {name: one.tuples(answers.depth) for name, one in answers.systems.items()}

    @property
    def labels(self) -> tuple[str, ...]:
        """The measures, in the order asked."""
        return tuple(dict.fromkeys(label for scores in self.systems.values() for label in scores.labels))

    @property
    def usual_names(self) -> dict[str, str]:
        """By label, the usual name of a measure whose own name misleads."""
        return {label: usual for scores in self.systems.values() for label, usual in scores.usual_names.items()}

    def is_whole(self, label: str) -> bool:
        """Whether a measure is one figure over all queries, to which each contributes."""
        return any(label in scores.whole for scores in self.systems.values())

    @check_arguments
    def both_names(self, label: str) -> str:
        """``Recall@5 = precision@5`` where the measure is usually called something else."""
        return beside(label, self.usual_names.get(label))

    @check_arguments
    def only(self, labels: Sequence[str]) -> "Report":
        """Some of the measures, for showing."""

        def kept(estimates: dict[str, dict[str, Estimate]]) -> dict[str, dict[str, Estimate]]:
            return {name: {label: of[label] for label in labels if label in of} for name, of in estimates.items()}

        return replace(
            self,
            systems={name: scores.only(labels) for name, scores in self.systems.items()},
            estimates=kept(self.estimates),
            comparisons=tuple(one for one in self.comparisons if one.measure in labels),
            changes=tuple(one for one in self.changes if one.measure in labels),
            slices=tuple(
                replace(
                    part,
                    estimates=kept(part.estimates),
                    beside=tuple(one for one in part.beside if one.measure in labels),
                )
                for part in self.slices
            ),
        )

    @property
    def keeps_queries(self) -> bool:
        """Whether the versioned form can hold every query's scores."""
        return self.holds_queries and len(self._queries) <= _MOST_QUERIES_KEPT

    @property
    def holds_queries(self) -> bool:
        """Whether every query's scores are here; in blocks they are written on the way, if at all."""
        return not any(one.elsewhere for one in self.systems.values())

    @property
    def level(self) -> float:
        return (self.how or Resampling()).level

    def __repr__(self) -> str:
        against = f", compared with {self.baseline}" if self.baseline else ""
        rows = [("measure", "system", "mean", *(("difference", "p") if self.baseline else ()))]
        compared = {(one.measure, one.system): one for one in self.comparisons}
        for label in self.labels:
            for name, estimates in self.estimates.items():
                one = compared.get((label, name))
                beside = ("", "")
                if one is not None:
                    beside = (difference_shown(one.difference, one.ci), p_shown(one.p_holm, at_floor=one.at_floor))
                rows.append(
                    (self.both_names(label), name, estimate_shown(estimates[label]), *(beside if self.baseline else ()))
                )
        title = f"Report on {count(len(self.systems), 'system', 'systems')}{against}"
        return "\n".join([title, *aligned(rows, left=2), *(f"warning: {warning}" for warning in self.warnings)])

    def _repr_html_(self) -> str:
        return snippet_of("report", self)

    def query_name(self, id_: str) -> str:
        """What people call a query in a table: the item's name where queries are items, else the id."""
        return self.name_of(id_) if self.queries_are_items else id_

    @property
    def texts(self) -> dict[str, str]:
        """By query, its text; where queries are items and have none, the item's name."""
        return {**(self.names if self.queries_are_items else {}), **self.query_names}

    @check_arguments
    def name_of(self, id_: str) -> str:
        """What people call an item, cut short where a table could not hold it."""
        name = self.names.get(id_, id_)
        return name if len(name) <= _LONGEST_NAME or name == id_ else f"{name[: _LONGEST_NAME - 1].rstrip()}…"

    @check_arguments
    def as_json(self, *, queries: bool = False) -> dict[str, Any]:
        """The versioned form; what is undefined is null. With ``queries``, every query's scores as well."""
        form: dict[str, Any] = {
            "schema": SCHEMA,
            "karat": __version__,
            "systems": {name: self._system(name, scores) for name, scores in self.systems.items()},
        }
        if self.headline:
            form["headline"] = list(self.headline)
        if self.how is not None:
            form["resampling"] = self.how.as_json()
        if self.baseline is not None:
            form["baseline"] = self.baseline
            form["comparisons"] = [self._comparison(comparison) for comparison in self.comparisons]
            form["changes"] = [change.as_json() for change in self.changes]
        others = {name: space.as_json() for name, space in self.spaces.items() if name not in self.systems}
        if others:
            form["spaces"] = others
        if self.slices:
            form["slices"] = [part.as_json() for part in self.slices]
            form["worst_slices"] = [lost.as_json() for lost in worst_slices(self.slices, self.level)]
        if self.asked:
            form["keywords"] = dict(self.asked)
        if self.interactions:
            form["interactions"] = dict(self.interactions)
        if self.hints:
            form["hints"] = [hint.as_json() for hint in self.hints]
        if queries and self.keeps_queries:
            form["queries"] = self._per_query()
        return form | {"warnings": list(self.warnings), "provenance": self.provenance}

    def _system(self, name: str, scores: Scores) -> dict[str, Any]:
        measures = {}
        usual = scores.usual_names
        for label, convention in zip(scores.labels, scores.conventions, strict=True):
            measures[label] = {**self.estimates[name][label].as_json(), "convention": convention}
            measures[label] |= {"usual_name": usual[label]} if label in usual else {}
            known = self.quantiles.get(name, {}).get(label)
            measures[label] |= {"quantiles": dict(known)} if known else {}
        beside = {
            "gold": self.golds.get(name),
            "by_chance": name in self.by_chance,
            "fusion": self.fusions.get(name),
            "first_scores": self._histogram(name),
            "space": self.spaces[name].as_json() if name in self.spaces else None,
            "agreement": self.agreements[name].as_json() if name in self.agreements else None,
            "facts": self.facts.get(name),
            "partial_matches": self.partials[name].as_json() if name in self.partials else None,
            "exposure": self.exposures[name].as_json() if name in self.exposures else None,
            "index": self.indexes[name].as_json() if name in self.indexes else None,
            "stability": self.stabilities[name].as_json() if name in self.stabilities else None,
            "fingerprints": self.fingerprints.get(name),
            "examples": [one.as_json(self.query_names, self.names) for one in self.examples.get(name, ())],
            "drift": self.drifts[name].as_json() if name in self.drifts else None,
            "figures": {label: _figure(one) for label, one in self.figures.get(name, {}).items()},
        }
        return {"measures": measures} | {key: value for key, value in beside.items() if value}

    def _histogram(self, name: str) -> dict[str, Any] | None:
        """Of the scores of its first items."""
        listed = None if self.answers is None else self.answers.systems.get(name)
        return None if listed is None else listed.histogram()

    def _comparison(self, one: Comparison) -> dict[str, Any]:
        detect = {"difference": self.detect, "queries": one.needed_for(self.detect, self.level)}
        return one.as_json() | {"to_detect": detect}

    @property
    def _queries(self) -> pl.Series:
        return next(iter(self.systems.values())).queries

    def _per_query(self) -> dict[str, Any]:
        """Enough for another report to be compared with this one query by query."""
        scores = {name: {label: _without_nan(one[label]) for label in one.labels} for name, one in self.systems.items()}
        slices = {part.name: list(part.rows) for part in self.slices if part.of == "queries"}
        tops = {"top": {name: [list(items) for items in top] for name, top in self.top.items()}} if self.top else {}
        return {"ids": [str(query) for query in self._queries], "scores": scores, "slices": slices} | tops


def _figure(one: float | Recorded) -> float | dict[str, Any]:
    return one.as_json() if isinstance(one, Recorded) else one


def _without_nan(values: Floats) -> list[float | None]:
    return [None if isnan(value) else value for value in values.tolist()]
