"""Logged form of a report: names and values, tables, and files; for experiment trackers."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from math import isfinite
from typing import Any

from rankjury.core.text import json_text
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.evaluation.examples import Examples
from rankjury.evaluation.gate import Gate
from rankjury.evaluation.report import Report
from rankjury.evaluation.report_json import SCHEMA
from rankjury.evaluation.sections import FusionFacts, SystemFacts
from rankjury.evaluation.slices.stats import Gap
from rankjury.reporting.html.page import render_page
from rankjury.reporting.writers.pull_request import to_comment
from rankjury.retrieval.bench.result import IndexResult
from rankjury.stats.comparison import Comparison
from rankjury.stats.estimates import Estimate
from rankjury.stats.resampling import Bounds
from rankjury.tracking.archive.run import PAGE, ArchivedRun

Table = tuple[list[str], list[list[Any]]]
"""Columns, and rows of JSON values; undefined is None."""
_FORBIDDEN = re.compile(r"[^\w.-]+")
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
"""Characters that some databases refuse."""
_PREFIX = re.compile(r"(\w[\w. -]*/)*(\w[\w. -]*)?")
_MAX_NAME_BYTES = 100
"""Bytes of a system's or a measure's part of a name, which may be the name of a file."""
_MAX_PATH = 240
"""MLflow takes 250 characters."""
_MAX_VALUE = 500
"""Characters of a parameter or a tag that older servers of MLflow take."""
_ESTIMATE_COLUMNS = ["system", "measure", "mean", "ci_low", "ci_high", "n"]
_COMPARISON_COLUMNS = ["difference", "difference_ci_low", "difference_ci_high", "p"]


def loggable_report(source: Any, gate: Gate | Mapping[str, Any] | None = None) -> Report:
    """Return a report, that of an archived run or that of a report's JSON, with its verdicts."""
    report = source if isinstance(source, Report | Mapping) else getattr(source, "report", None)
    if isinstance(report, Mapping):
        report = Report.from_json(report)
    if not isinstance(report, Report):
        expected = f"a report, its JSON ({SCHEMA}), or an archived run"
        raise DataError(f"found {type(source).__name__}", expected=expected)
    if gate is None:
        return report
    return report.with_sections(gate if isinstance(gate, Gate) else Gate.from_json(gate))


def report_artifacts(source: Any, report: Report) -> dict[str, str]:
    """Return files by name: the report as JSON, with every query's scores where they are known; a summary; a page.

    An archived run is logged with the page that it was stored with.
    """
    is_stored = isinstance(source, ArchivedRun) and PAGE in source.files
    page = source.read(PAGE).decode("utf-8", "replace") if is_stored else render_page(report)
    content = json_text(report.to_json(queries=True))
    return {"report.json": content, "report.md": to_comment(report), "report.html": page}


@dataclass(frozen=True)
class LoggedValues:
    """Values of a report for a tracker: numbers, settings, and tags to search by."""

    metrics: dict[str, float]
    params: dict[str, str]
    tags: dict[str, str]


class UniqueNames:
    """Registry of names that are unique also without case, as names of files are on some systems."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def add(self, name: str) -> str:
        """Return the name, cut where it is too long, with a number where it is taken."""
        base = name if len(name) <= _MAX_PATH else f"{name[: _MAX_PATH - 9]}-{_digest(name)}"
        unique, number = base, 1
        while unique.casefold() in self._taken:
            number += 1
            unique = f"{base}_{number}"
        self._taken.add(unique.casefold())
        return unique


def clean_name(text: str) -> str:
    """Return a name of letters, digits, ``_``, ``-`` and ``.``: ``ndcg(gain=exp)@10`` → ``ndcg_gain_exp_10``.

    A name that is too long is cut, and ends with a digest of the whole.
    """
    name = _FORBIDDEN.sub("_", text).strip("_.") or "unnamed"
    if len(name.encode()) <= _MAX_NAME_BYTES:
        return name
    return f"{name.encode()[: _MAX_NAME_BYTES - 9].decode(errors='ignore')}-{_digest(text)}"


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]


def flatten(report: Report, *, prefix: str = "", measures: Sequence[str] | None = None) -> LoggedValues:
    """Return a report's values as ``system/measure`` with their intervals, its conventions and its verdict.

    Args:
        report: The report.
        prefix: Text before every name.
        measures: The measures to keep; None: all of them.
    """
    if not _PREFIX.fullmatch(prefix) or len(prefix) > _MAX_NAME_BYTES:
        raise UsageError(f"the prefix is {prefix!r}", expected="letters, digits, _ and -, such as nightly/")
    for label in measures or ():
        if label not in report.labels:
            raise UnknownName("measure of the report", label, report.labels)
    shown = report if measures is None else report.only(measures)
    names = UniqueNames()
    systems = {system: names.add(clean_name(system)) for system in report.systems}
    metrics, names = {}, UniqueNames()
    for system, label, value in _metrics(shown):
        if value is not None and isfinite(value):
            metrics[names.add(f"{prefix}{'targets' if system is None else systems[system]}/{label}")] = float(value)
    gate = report.section(Gate)
    tags = {
        "rankjury.version": report.version,
        "rankjury.schema": SCHEMA,
        "rankjury.verdict": None if gate is None else gate.outcome,
        "rankjury.made": report.provenance.get("made"),
        "rankjury.warnings": len(report.warnings),
    }
    return LoggedValues(metrics, _as_texts(prefix, _params(report, systems)), _as_texts(prefix, tags.items()))


def _metrics(report: Report) -> Iterator[tuple[str | None, str, float | None]]:
    """Yield system (None: verdicts), name and value; measures first, so that their names get no number."""
    for system, result in report.systems.items():
        for label, estimate in result.estimates.items():
            name = clean_name(label)
            yield system, name, estimate.mean
            yield from _bounds(system, f"{name}_ci", estimate.ci)
            yield system, f"{name}_n", estimate.n
            yield system, f"{name}_sum", estimate.total
    for comparison in report.comparisons:
        name = clean_name(comparison.measure)
        yield comparison.system, f"{name}_difference", comparison.difference
        yield from _bounds(comparison.system, f"{name}_difference_ci", comparison.ci)
        yield comparison.system, f"{name}_p", comparison.p_holm
    for system, result in report.systems.items():
        for label, recorded in result.recorded.items():
            yield system, clean_name(label), recorded.value
            yield from _bounds(system, f"{clean_name(label)}_ci", recorded.ci)
    gate = report.section(Gate)
    if gate is not None and gate.verdicts:
        outcomes = [verdict.outcome for verdict in gate.verdicts]
        yield from ((None, outcome, outcomes.count(outcome)) for outcome in ("pass", "fail", "unsure"))


def _bounds(system: str, name: str, ci: Bounds | None) -> Iterator[tuple[str, str, float | None]]:
    if ci is not None:
        yield from ((system, f"{name}_low", ci[0]), (system, f"{name}_high", ci[1]))


def _params(report: Report, systems: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield the settings of a report."""
    provenance = report.provenance
    yield from ((key, provenance.get(key)) for key in ("plan", "name", "dialect"))
    if report.resampling is not None:
        resampling = asdict(report.resampling)
        yield from ((key, resampling[key]) for key in ("seed", "resamples", "level", "interval"))
    yield from (("baseline", report.baseline), ("systems", ", ".join(report.systems)))
    yield from _leaves("meta", provenance.get("meta") or {})
    yield from _leaves("query_set", provenance.get("query_set") or {})
    conventions = {label: text for system in report.systems.values() for label, text in system.conventions.items()}
    yield from ((f"convention.{clean_name(label)}", text) for label, text in conventions.items() if text != label)
    for system, name in systems.items():
        yield from _leaves(name, report.section(SystemFacts, system) or {})
        yield from _leaves(f"{name}.fusion", report.section(FusionFacts, system) or {})
        index = report.section(IndexResult, system)
        if index is not None:
            yield from _leaves(name, {key: getattr(index, key) for key in ("engine", "metric", "build", "search")})


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values of nested tables with their paths."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(f"{path}.{clean_name(str(key))}", inner)
    elif isinstance(value, list | tuple):
        yield path, ", ".join(map(str, value))
    else:
        yield path, value


def _as_texts(prefix: str, rows: Iterable[tuple[str, Any]]) -> dict[str, str]:
    """Return values as texts by unique names; unknown ones are omitted, and long ones cut."""
    names = UniqueNames()
    texts = {}
    for name, value in rows:
        if value is not None and value != "":
            text = _CONTROLS.sub(" ", str(value))
            texts[names.add(f"{prefix}{name}")] = text if len(text) <= _MAX_VALUE else f"{text[: _MAX_VALUE - 1]}…"
    return texts


def report_tables(report: Report, measures: Sequence[str] | None = None) -> dict[str, Table]:
    """Return tables with all digits, by name: every system under every measure; the same in slices; worst queries.

    Args:
        report: The report.
        measures: The measures to keep; None: all of them.
    """
    report = report if measures is None else report.only(measures)
    compared = {(comparison.system, comparison.measure): comparison for comparison in report.comparisons}
    headline = [
        [*_estimate_row(system, label, estimate, compared.get((system, label))), result.conventions[label]]
        for system, result in report.systems.items()
        for label, estimate in result.estimates.items()
    ]
    tables: dict[str, Table] = {"headline": ([*_ESTIMATE_COLUMNS, *_COMPARISON_COLUMNS, "convention"], headline)}
    slices: list[list[Any]] = []
    for part in report.slices:  # with the gaps to the other queries where nothing was compared
        differences = {(difference.system, difference.measure): difference for difference in part.beside}
        slices += [
            [part.name, part.of, *_estimate_row(system, label, estimate, differences.get((system, label)))]
            for system, estimates in part.estimates.items()
            for label, estimate in estimates.items()
        ]
    if slices:
        tables["slices"] = (["slice", "of", *_ESTIMATE_COLUMNS, *_COMPARISON_COLUMNS], slices[:10_000])
    worst = sorted(_worst_queries(report), key=lambda row: (row[-1], row[0], row[2]))
    if worst:
        columns = ["system", "measure", "query_id", "text", "baseline", "value", "difference"]
        tables["worst_queries"] = (columns, [row[:-1] for row in worst[:200]])
    return tables


def _estimate_row(system: str, label: str, estimate: Estimate, difference: Comparison | Gap | None) -> list[Any]:
    def finite(value: float | None) -> float | None:
        return value if value is not None and isfinite(value) else None

    row = [system, label, finite(estimate.mean), *(estimate.ci or (None, None)), estimate.n]
    if difference is None:
        return row + [None] * len(_COMPARISON_COLUMNS)
    return [*row, finite(difference.difference), *(difference.ci or (None, None)), finite(difference.p_holm)]


def _worst_queries(report: Report) -> Iterator[list[Any]]:
    """Yield losses against the baseline; without one, failures among the examples. The last cell is for sorting."""
    examples = [(system, example) for system, section in report.sections_of(Examples).items() for example in section]
    texts = {**{example.query: example.text for _, example in examples if example.text}, **report.texts}
    for change in report.changes:
        if change.gain < 0:
            values = [change.before, change.after, change.difference, change.gain]
            yield [change.system, change.measure, change.query, texts.get(change.query), *values]
    label = next(iter(report.headline), None)
    if report.changes or label not in (None, *report.labels):
        return
    for system, example in examples:
        if example.kind == "failure":
            text = texts.get(example.query)
            yield [system, label, example.query, text, None, example.score, None, example.score]
