"""What is logged of a report: names and values, tables, and files; for tools that keep experiments."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from json import dumps
from math import isfinite
from typing import Any

from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.evaluation.examples import Examples
from rankjury.evaluation.gate import Gate
from rankjury.evaluation.report import SCHEMA, Report
from rankjury.evaluation.sections import FusionFacts, SystemFacts
from rankjury.evaluation.slices.stats import Gap
from rankjury.reporting.html.page import render_page
from rankjury.reporting.writers.pull_request import to_comment
from rankjury.retrieval.bench.result import IndexResult
from rankjury.stats.comparison import Comparison
from rankjury.stats.estimates import Estimate
from rankjury.stats.resampling import Bounds
from rankjury.tracking.archive.run import PAGE, ArchivedRun

Values = tuple[list[str], list[list[Any]]]
"""Columns, and rows of JSON values; undefined is None."""
_FORBIDDEN = re.compile(r"[^\w.-]+")
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
"""Which some databases do not take."""
_PREFIX = re.compile(r"(\w[\w. -]*/)*(\w[\w. -]*)?")
_LONGEST_NAME = 100
"""Bytes of a system's or a measure's part of a name, which may be the name of a file."""
_LONGEST_PATH = 240
"""MLflow takes 250 characters."""
_LONGEST_VALUE = 500
"""Of a parameter or a tag: what older servers of MLflow take."""
_MOST_ROWS = 10_000
_MOST_QUERIES = 200
_OF_ESTIMATES = ["system", "measure", "mean", "ci_low", "ci_high", "n"]
_OF_COMPARISONS = ["difference", "difference_ci_low", "difference_ci_high", "p"]


def loggable_report(given: Any, gate: Gate | Mapping[str, Any] | None = None) -> Report:
    """Return a report, that of an archived run or that of a report's JSON, with its verdicts."""
    found = given if isinstance(given, Report | Mapping) else getattr(given, "report", None)
    if isinstance(found, Mapping):
        found = Report.from_json(found)
    if not isinstance(found, Report):
        expected = f"a report, its JSON ({SCHEMA}), or an archived run"
        raise DataError(f"found {type(given).__name__}", expected=expected)
    if gate is None:
        return found
    return found.with_sections(gate if isinstance(gate, Gate) else Gate.from_json(gate))


def report_artifacts(given: Any, report: Report) -> dict[str, str]:
    """Return files by name: the report as JSON, with every query's scores where they are known; a summary; a page.

    An archived run is logged with the page that it was stored with.
    """
    if isinstance(given, ArchivedRun) and given.file(PAGE) is not None:
        page = given.read(PAGE).decode("utf-8", "replace")
    else:
        page = render_page(report)
    return {
        "report.json": dumps(report.to_json(queries=True), indent=2, ensure_ascii=False, allow_nan=False) + "\n",
        "report.md": to_comment(report),
        "report.html": page,
    }


@dataclass(frozen=True)
class LoggedValues:
    """Numbers, how they came about, and what to look runs up by."""

    metrics: dict[str, float]
    params: dict[str, str]
    tags: dict[str, str]


class UniqueNames:
    """Clean names, each given once; case does not tell two apart, as it does not in the files of some systems."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def give(self, wanted: str) -> str:
        """The name itself, or with a number behind it where it was given before; cut where it is too long."""
        whole = wanted if len(wanted) <= _LONGEST_PATH else f"{wanted[: _LONGEST_PATH - 9]}-{_digest(wanted)}"
        name, number = whole, 1
        while name.casefold() in self._taken:
            number += 1
            name = f"{whole}_{number}"
        self._taken.add(name.casefold())
        return name


def clean_name(text: str) -> str:
    """``ndcg(gain=exp)@10`` → ``ndcg_gain_exp_10``: letters, digits, ``_``, ``-`` and ``.`` stay as they are.

    What is too long is cut, and told apart by a digest of the whole.
    """
    name = _FORBIDDEN.sub("_", text).strip("_.") or "unnamed"
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    return f"{name.encode()[: _LONGEST_NAME - 9].decode(errors='ignore')}-{_digest(text)}"


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]


def flatten(report: Report, *, prefix: str = "", measures: Sequence[str] | None = None) -> LoggedValues:
    """Return a report's values as ``system/measure`` with their intervals, its conventions, its verdict.

    Args:
        report: The report.
        prefix: Text before every name.
        measures: The measures to keep; None: all of them.
    """
    if not _PREFIX.fullmatch(prefix) or len(prefix) > _LONGEST_NAME:
        raise UsageError(f"the prefix is {prefix!r}", expected="letters, digits, _ and -, such as nightly/")
    for label in measures or ():
        if label not in report.labels:
            raise UnknownName("measure of the report", label, report.labels)
    shown = report if measures is None else report.only(measures)
    names = UniqueNames()
    systems = {system: names.give(clean_name(system)) for system in report.systems}
    metrics, names = {}, UniqueNames()
    for system, label, value in _metrics(shown):
        if value is not None and isfinite(value):
            metrics[names.give(f"{prefix}{'targets' if system is None else systems[system]}/{label}")] = float(value)
    gate = report.section(Gate)
    tags = {
        "rankjury.version": report.version,
        "rankjury.schema": SCHEMA,
        "rankjury.verdict": None if gate is None else gate.outcome,
        "rankjury.made": report.provenance.get("made"),
        "rankjury.warnings": len(report.warnings),
    }
    return LoggedValues(metrics, _named(prefix, _params(report, systems)), _named(prefix, tags.items()))


def _metrics(report: Report) -> Iterator[tuple[str | None, str, float | None]]:
    """Yield system (None: verdicts), name and value; measures first, so that their names get no number."""
    for system, one in report.systems.items():
        for label, estimate in one.estimates.items():
            name = clean_name(label)
            yield system, name, estimate.mean
            yield from _ends(system, f"{name}_ci", estimate.ci)
            yield system, f"{name}_n", estimate.n
            yield system, f"{name}_sum", estimate.total
    for comparison in report.comparisons:
        name = clean_name(comparison.measure)
        yield comparison.system, f"{name}_difference", comparison.difference
        yield from _ends(comparison.system, f"{name}_difference_ci", comparison.ci)
        yield comparison.system, f"{name}_p", comparison.p_holm
    for system, one in report.systems.items():
        for label, recorded in one.recorded.items():
            yield system, clean_name(label), recorded.value
            yield from _ends(system, f"{clean_name(label)}_ci", recorded.ci)
    gate = report.section(Gate)
    if gate is not None and gate.verdicts:
        outcomes = [verdict.outcome for verdict in gate.verdicts]
        yield from ((None, outcome, outcomes.count(outcome)) for outcome in ("pass", "fail", "unsure"))


def _ends(system: str, name: str, ci: Bounds | None) -> Iterator[tuple[str, str, float | None]]:
    if ci is not None:
        yield from ((system, f"{name}_low", ci[0]), (system, f"{name}_high", ci[1]))


def _params(report: Report, systems: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield what stays the same when only the time differs."""
    provenance = report.provenance
    yield from ((key, provenance.get(key)) for key in ("plan", "name", "dialect"))
    if report.resampling is not None:
        resampling = asdict(report.resampling)
        yield from ((key, resampling[key]) for key in ("seed", "resamples", "level", "interval"))
    yield from (("baseline", report.baseline), ("systems", ", ".join(report.systems)))
    yield from _leaves("meta", provenance.get("meta") or {})
    yield from _leaves("query_set", provenance.get("query_set") or {})
    conventions = {label: one for system in report.systems.values() for label, one in system.conventions.items()}
    yield from ((f"convention.{clean_name(label)}", one) for label, one in conventions.items() if one != label)
    for system, name in systems.items():
        yield from _leaves(name, report.section(SystemFacts, system) or {})
        yield from _leaves(f"{name}.fusion", report.section(FusionFacts, system) or {})
        index = report.section(IndexResult, system)
        if index is not None:
            about = {"engine": index.engine, "metric": index.metric, "build": index.build, "search": index.search}
            yield from _leaves(name, about)


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Nested tables by their path."""
    if isinstance(value, Mapping):
        for key, held in value.items():
            yield from _leaves(f"{path}.{clean_name(str(key))}", held)
    elif isinstance(value, list | tuple):
        yield path, ", ".join(map(str, value))
    else:
        yield path, value


def _named(prefix: str, rows: Iterable[tuple[str, Any]]) -> dict[str, str]:
    """As texts, each name once; what is not known is left out, and what is too long is cut."""
    names = UniqueNames()
    found = {}
    for name, value in rows:
        if value is not None and value != "":
            text = _CONTROLS.sub(" ", str(value))
            kept = text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
            found[names.give(f"{prefix}{name}")] = kept
    return found


def report_tables(report: Report) -> dict[str, Values]:
    """Return tables with all digits, by name: every system under every measure; the same in slices; worst queries."""
    compared = {(one.system, one.measure): one for one in report.comparisons}
    headline = [
        [*_estimate(system, label, estimate), *_comparison(compared.get((system, label))), one.conventions[label]]
        for system, one in report.systems.items()
        for label, estimate in one.estimates.items()
    ]
    found: dict[str, Values] = {"headline": ([*_OF_ESTIMATES, *_OF_COMPARISONS, "convention"], headline)}
    slices: list[list[Any]] = []
    for part in report.slices:  # with the gaps to the other queries where nothing was compared
        beside = {(one.system, one.measure): one for one in part.beside}
        slices += [
            [part.name, part.of, *_estimate(system, label, one), *_comparison(beside.get((system, label)))]
            for system, estimates in part.estimates.items()
            for label, one in estimates.items()
        ]
    if slices:
        found["slices"] = (["slice", "of", *_OF_ESTIMATES, *_OF_COMPARISONS], slices[:_MOST_ROWS])
    worst = sorted(_worst(report), key=lambda row: (row[-1], row[0], row[2]))
    if worst:
        columns = ["system", "measure", "query_id", "text", "baseline", "value", "difference"]
        found["worst_queries"] = (columns, [row[:-1] for row in worst[:_MOST_QUERIES]])
    return found


def _estimate(system: str, label: str, one: Estimate) -> list[Any]:
    return [system, label, _known(one.mean), *(one.ci or (None, None)), one.n]


def _comparison(one: Comparison | Gap | None) -> list[Any]:
    if one is None:
        return [None] * len(_OF_COMPARISONS)
    return [_known(one.difference), *(one.ci or (None, None)), _known(one.p_holm)]


def _known(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None


def _worst(report: Report) -> Iterator[list[Any]]:
    """Yield losses against the baseline; without one, failures kept as examples. The last cell is for sorting."""
    examples = {system: list(found) for system, found in report.sections_of(Examples).items()}
    texts = {**{one.query: one.text for found in examples.values() for one in found if one.text}, **report.texts}
    for one in report.changes:
        if one.gain < 0:
            values = [one.before, one.after, one.difference, one.gain]
            yield [one.system, one.measure, one.query, texts.get(one.query), *values]
    if report.changes:
        return
    label = next(iter(report.headline), None)
    for system, found in examples.items():
        for example in found:
            if example.kind == "failure":
                text = texts.get(example.query)
                yield [system, label, example.query, text, None, example.score, None, example.score]
