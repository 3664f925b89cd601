"""What the commands that score runs share: files → Report."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from karat.cli.common import check_standard_input, exists, looks_like_path, name_systems, show_progress
from karat.cli.options import Scoring
from karat.cli.output import check_form
from karat.cli.scaling import Wanted, assess_in_blocks, is_for_blocks
from karat.cli.slices import read_cuts
from karat.errors import DataError, UnknownName, UsageError

if TYPE_CHECKING:
    import polars as pl

    from karat.common_sections import Quantiles
    from karat.dialects import Asked
    from karat.report import Report
    from karat.statistics.intervals import Resampling
    from karat.types import Ranking

__all__ = ["assess_files", "baseline_among"]

_USUALLY_SHOWN, _MOST_SHOWN = 10, 20


def assess_files(
    gold: str,
    runs: list[str],
    measures: list[str] | None,
    how: "Resampling | None",
    scoring: Scoring,
    choose_baseline: Callable[[list[str]], str | None] = lambda _: None,
    outputs: Sequence[Path] | None = None,
    per_query: str | None = None,
    quantiles: Sequence[float] = (),
) -> "Report":
    """Read, score, compare, and collect into a Report. ``choose_baseline`` picks one of the systems' names.

    Where a page is among ``outputs``, what it shows of single queries is kept. In blocks, the scores of single queries
    are written to ``per_query`` on the way, as the report does not have them.
    """
    check_standard_input([gold, *runs, *(scoring.slices or ()), *(scoring.item_slices or ())])
    names = name_systems(runs)
    systems, baseline = dict(zip(names, runs, strict=True)), choose_baseline(names)
    wanted = Wanted(gold, systems, measures, how, baseline, outputs or (), per_query, quantiles)
    if is_for_blocks(gold, runs, scoring):
        report = assess_in_blocks(wanted, scoring)
    else:
        if scoring.temp is not None:
            raise UsageError(
                "--temp without --memory or --on spark", expected="one of them, or tables that are folders of Parquet"
            )
        if per_query is not None:
            check_form(Path(per_query))
        report = _assess_at_once(wanted, scoring)
    if quantiles and not any("quantiles" in one.sections for one in report.systems.values()):
        for name, found in _quantiles(report, quantiles).items():
            report = report.with_sections(found, system=name)
    provenance = {"gold": gold, "runs": systems, "dialect": scoring.dialect}
    if per_query is not None and report.queries is None:
        provenance["per_query"] = str(per_query)
    item_names, texts = _column(scoring.names, "item", "--names"), _column(scoring.texts, "query", "--texts")
    data = None if report.queries is None else replace(report.queries, names=item_names, query_texts=texts)
    return replace(report.with_recorded(_figures_of(scoring, names)), provenance=provenance, queries=data)


def _assess_at_once(wanted: Wanted, scoring: Scoring) -> "Report":
    """Everything in memory."""
    gold, runs = wanted.gold, wanted.runs
    with ThreadPoolExecutor(max_workers=1) as reader:
        # The first run is read while the rest of the program still loads: a fifth of the time of a large run.
        first_name = next(iter(runs))
        first = reader.submit(_read, runs[first_name], scoring.form)
        from karat.assessment import assess
        from karat.gold.labels import read_gold
        from karat.intake import ranking_from_frame

        asked = wanted.asked(scoring)
        slices, item_slices = read_cuts(scoring.slices, "queries"), read_cuts(scoring.item_slices, "items")
        with show_progress(f"Reading {gold}", quiet=scoring.quiet):
            truth = read_gold(gold, scoring.gold_form or scoring.form)

        def load(name: str) -> "Ranking":
            frame, source = first.result() if name == first_name else _read(runs[name], scoring.form)
            return ranking_from_frame(frame, source=source)

        with show_progress(f"Scoring {', '.join(runs)}", quiet=scoring.quiet):
            return assess(
                truth,
                ((name, load(name)) for name in runs),
                asked,
                golds=dict.fromkeys(runs, truth),
                how=wanted.how,
                baseline=wanted.baseline,
                slices=slices,
                item_slices=item_slices,
                duplicates=scoring.duplicates.value,
                keep_top=_shown_on(wanted.outputs, asked),
            )


def _quantiles(report: "Report", shares: Sequence[float]) -> "dict[str, Quantiles]":
    from karat.common_sections import Quantiles
    from karat.statistics.quantiles import Quantiles as Quantiled

    return {
        name: Quantiles({label: Quantiled.of(one[label], len(one.queries)).values(shares) for label in one.labels})
        for name, one in report.scores.items()
    }


def _shown_on(outputs: Iterable[Path], asked: "Sequence[Asked]") -> int:
    """How many items of a query a page shows: as many as the measures look at, within reason; 0 where none is asked."""
    if not any(path.suffix.lower() == ".html" for path in outputs):
        return 0
    cuts = [one.measure.k for one in asked if one.measure.k is not None and one.measure.k <= _MOST_SHOWN]
    return max(cuts, default=_USUALLY_SHOWN)


def _column(given: str | None, kind: str, what: str) -> dict[str, str]:
    if given is None:
        return {}
    from karat.formats.attributes import read_column

    return read_column(given, kind, what)


def _read(run: str, form: str | None) -> "tuple[pl.DataFrame, str]":
    from karat.formats import read
    from karat.formats.source import Source

    source = Source.open(run)
    return read(source, "run", form), source.name


def _figures_of(scoring: Scoring, systems: list[str]) -> Mapping[str, Mapping[str, float]]:
    """What was recorded, of every system or of the one named."""
    figures: dict[str, dict[str, float]] = {}
    for system, name, value in scoring.figures():
        if system is not None and system not in systems:
            raise UnknownName("system", system, systems, where=f"--record {system}:{name}")
        for one in systems if system is None else [system]:
            figures.setdefault(one, {})[name] = value
    return figures


def baseline_among(given: str | None, runs: list[str]) -> Callable[[list[str]], str]:
    """The system that --baseline names, by its name or its file; the first where it is not given."""

    def choose(names: list[str]) -> str:
        if given is None:
            return names[0]
        if given in runs:
            return names[runs.index(given)]
        if given not in names and looks_like_path(given) and not exists(given):
            raise DataError("no such file", where=given, expected=f"a run, or one of {', '.join(names)}")
        if given not in names:
            raise UnknownName("system", given, names, where="--baseline")
        return given

    return choose
