"""Explanation of a value: the run under every dialect and convention, and which convention makes the difference."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankjury.core.convert import is_named_runs
from rankjury.core.text import align_columns, join_names, plural, visible
from rankjury.core.validation import check_arguments
from rankjury.errors import RankjuryError, UsageError
from rankjury.evaluation.evaluate import Evaluation
from rankjury.evaluation.judge import DuplicateRule
from rankjury.io.formats import load_gold, load_ranking
from rankjury.measures.dialects import DIALECTS, resolve
from rankjury.measures.measure import Measure, Value, common_name
from rankjury.stats.estimates import summarise

_MOST_NAMED = 4


@dataclass(frozen=True)
class ExplainedValue:
    """One way to compute the measure, and what came of it."""

    who: str
    kind: str
    """``rankjury``, ``given`` (the spelling as it is read without a dialect), ``dialect`` or ``convention``."""
    measure: str
    mean: float
    n: int
    difference: float
    """To rankjury's own value."""
    because: tuple[str, ...]
    """The conventions, each alone, that move rankjury's value; together where none does alone."""
    error: str | None = None
    differs: bool = False

    @property
    def common_name(self) -> str | None:
        """What the measure is usually called when computed so, where its own name misleads."""
        return common_name(self.measure)

    @property
    def cells(self) -> list[str]:
        """The value, its difference and the number of queries, for a table."""
        if self.error:
            return ["error", "", ""]
        if not self.differs or math.isnan(self.difference):
            difference = "≠" if self.differs else "="
        else:
            difference = f"{self.difference:+.4f}" if abs(self.difference) >= 0.00005 else f"{self.difference:+.1e}"
            difference = difference.replace("-", "−")
        return ["–" if math.isnan(self.mean) else f"{self.mean:.4f}", difference, f"{self.n:,}"]

    @property
    def cause(self) -> str:
        """The conventions that make the difference, or the error."""
        name = f"this is {self.common_name}" if self.common_name else ""
        return self.error or ": ".join(filter(None, (", ".join(self.because), name))) or "–"


@dataclass(frozen=True)
class Explanation:
    """A measure as each tool computes it, and with each convention changed alone; ``print`` shows the tools."""

    rows: tuple[ExplainedValue, ...]
    """rankjury's own value first; ``polars.DataFrame(explanation.rows)`` is a table of all."""

    @property
    def summary(self) -> str:
        """By how much tools differ from rankjury's own value, and which conventions explain it, as a sentence."""
        return summarize_explanation(self.rows)

    def __repr__(self) -> str:
        tools = [[row.who, *row.cells, row.cause] for row in self.rows if row.kind != "convention"]
        header = ["tool", self.rows[0].measure, "differs by", "n", "because of"]
        *table, causes = zip(header, *tools, strict=True)
        lines = align_columns(list(zip(*table, strict=True)))
        width = max(map(len, lines))
        shown = (
            f"{line.ljust(width)}  {visible(cause, one_line=True)}" for line, cause in zip(lines, causes, strict=True)
        )
        return "\n".join([self.summary, "", *shown])


class _Explainer:
    def __init__(self, evaluation: Evaluation, base: Measure) -> None:
        self.evaluation = evaluation
        self.base = base
        self._means: dict[Measure, tuple[float, int]] = {}
        self.own, self.n = self.mean(base)

    def mean(self, measure: Measure) -> tuple[float, int]:
        """Return the mean (of a count: the sum), and over how many queries."""
        if measure not in self._means:
            summary = summarise(self.evaluation.values(measure), measure.metric.aggregate)
            self._means[measure] = (summary.mean if summary.total is None else summary.total, summary.n)
        return self._means[measure]

    def row(self, who: str, kind: str, measure: Measure) -> ExplainedValue:
        try:
            mean, n = self.mean(measure)
        except RankjuryError as error:
            return ExplainedValue(who, kind, str(measure), math.nan, 0, math.nan, (), error.found)
        differs = not _same(mean, self.own)
        because = self._causes(measure) if differs and kind in ("dialect", "given") else ()
        return ExplainedValue(who, kind, str(measure), mean, n, mean - self.own, because, differs=differs)

    def dialect_row(self, name: str, spelling: str) -> ExplainedValue:
        try:
            measure = resolve(spelling, name).measure
        except RankjuryError as error:  # the tool gives this name to a measure that rankjury lacks
            return ExplainedValue(name, "dialect", spelling, math.nan, 0, math.nan, (), error.found)
        return self.row(name, "dialect", measure)

    def _causes(self, measure: Measure) -> tuple[str, ...]:
        if measure.name != self.base.name:
            return (f"another measure: {measure.name}",)
        names = [option.name for option in measure.metric.all_options]
        changed = {name: measure[name] for name in names if measure[name] != self.base[name]}
        alone = [
            f"{name}={_shown(value)}"
            for name, value in changed.items()
            if not _same(self.mean(self.base.with_options({name: value}))[0], self.own)
        ]
        if alone:
            return tuple(alone)
        # As few of the changes as still give the value, each needed.
        together, target = changed, self.mean(measure)[0]
        for name in changed:
            fewer = {other: value for other, value in together.items() if other != name}
            if _same(self.mean(self.base.with_options(fewer))[0], target):
                together = fewer
        return (" with ".join(f"{name}={_shown(value)}" for name, value in together.items()),)

    def variants(self) -> Iterator[tuple[str, Value]]:
        """Yield every other value of every convention, without errors; thresholds by the gold's own grades."""
        for option in self.base.metric.all_options:
            choices: Sequence[Value] = [choice for choice in option.choices if choice != "error"]
            if option.name == "rel":
                judged = self.evaluation.judged(self.base)
                runs = judged.counted
                grades = np.unique(judged.gold_grades if runs is None else runs.grades[runs.counts > 0])
                choices = [float(grade) for grade in grades if grade > 0][-5:]
            if option.name == "gold" and self.base.k is None:
                continue
            yield from ((option.name, choice) for choice in choices if choice != self.base[option.name])


def summarize_explanation(rows: Sequence[ExplainedValue]) -> str:
    """Return by how much tools differ from rankjury's own value, and which conventions explain it, as a sentence."""
    own, tools = rows[0], [row for row in rows if row.kind == "dialect"]
    differing = [row for row in tools if row.differs and not row.error]
    value = f"{own.measure} is {'undefined' if math.isnan(own.mean) else f'{own.mean:.4f}'}"
    refused = [row.who for row in tools if row.error]
    error = f"; {join_names(refused)} cannot compute it" if refused else ""
    if not differing:
        same = f"all {len(tools) - len(refused)} tools agree" if len(tools) > len(refused) else "no tool computes it"
        return f"{value}, and {same}: no convention makes a difference{error}."
    sizes = [abs(row.difference) for row in differing if not math.isnan(row.difference)]
    most = max(sizes, default=0.0)
    by = f" by up to {most:.4f}" if most >= 0.00005 else f" by up to {most:.1e}" if most else ""
    causes = list(dict.fromkeys(cause for row in differing for cause in row.because))
    more = f" and {len(causes) - _MOST_NAMED} more" if len(causes) > _MOST_NAMED else ""
    why = f": {join_names(causes[:_MOST_NAMED])}{more}" if causes else ""
    return f"{value}; {len(differing)} of {len(tools)} tools differ{by}{why}{error}."


@check_arguments
def explain(
    gold: Any, ranking: Any, measure: str | Measure = "ndcg@10", *, duplicates: DuplicateRule = "error"
) -> Explanation:
    """Show why other tools compute another value.

    Args:
        gold: The relevant items, in any form that ``rankjury.evaluate`` takes.
        ranking: The retrieved items of one system, in any form that ``rankjury.evaluate`` takes.
        measure: The measure, such as ``"ndcg@10"``. A spelling that is read with another tool's conventions is a row
            of its own, after the first.
        duplicates: How to handle duplicate (query, item) pairs: ``error``, or keep the ``first``, ``last`` or ``max``.

    Returns:
        An Explanation: its ``rows`` are the value by rankjury's own conventions, by every dialect, and with every
        convention changed alone. ``print`` shows the tools.

    Raises:
        DataError: The data is wrong: duplicates, missing ids, NaN, no common queries …
        UsageError: The measure is not known.

    Example:
        >>> explanation = rankjury.explain({"q": {"a": 1, "b": 1}}, {"q": ["a"]}, "recall@1")
        >>> {row.who: row.because for row in explanation.rows if row.differs}["lenskit"]
        ('over=min',)
    """
    if isinstance(ranking, Mapping) and is_named_runs(ranking):
        raise UsageError(f"found {plural(len(ranking), 'ranking', 'rankings')} by name", expected="one ranking")
    named = resolve(measure)
    base, spelling = named.own, str(measure)
    evaluation = Evaluation.match(load_gold(gold), load_ranking(ranking), duplicates=duplicates)
    explainer = _Explainer(evaluation, base)
    rows = [explainer.row("rankjury", "rankjury", base)]
    if named.measure != base:
        rows.append(explainer.row(f"as given: {named.label}", "given", named.measure))
    rows += [explainer.dialect_row(dialect.name, spelling) for dialect in DIALECTS]
    rows += [
        explainer.row(f"{name}={_shown(value)}", "convention", base.with_options({name: value}))
        for name, value in explainer.variants()
    ]
    return Explanation(tuple(rows))


def _same(one: float, other: float) -> bool:
    """Return whether values are equal but for rounding; undefined equals undefined only."""
    return math.isnan(one) and math.isnan(other) if math.isnan(one - other) else abs(one - other) <= 1e-12


def _shown(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
