"""What the commands that score runs share: files → Report."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from karat.cli.common import check_standard_input, exists, looks_like_path, name_systems, progress
from karat.cli.options import Scoring
from karat.errors import DataError, UnknownName, UsageError

if TYPE_CHECKING:
    import polars as pl

    from karat.dialects import Asked
    from karat.report import Report
    from karat.slices import Cuts
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
    outputs: Iterable[Path] | None = None,
) -> "Report":
    """Read, score, compare, and collect into a Report. ``choose_baseline`` picks one of the systems' names.

    Where a page is among ``outputs``, what it shows of single queries is kept.
    """
    check_standard_input([gold, *runs, *(scoring.slices or ()), *(scoring.item_slices or ())])
    names = name_systems(runs)
    baseline = choose_baseline(names)
    with ThreadPoolExecutor(max_workers=1) as reader:
        # The first run is read while the rest of the program still loads: a fifth of the time of a large run.
        first = reader.submit(_read, runs[0], scoring.form)
        from karat.assessment import assess
        from karat.evaluation import DEFAULT_MEASURES, resolve_all
        from karat.gold.labels import read_gold
        from karat.intake import ranking_from_frame

        asked = resolve_all(measures or DEFAULT_MEASURES, scoring.dialect, scoring.conventions())
        slices, item_slices = _read_cuts(scoring.slices, "queries"), _read_cuts(scoring.item_slices, "items")
        with progress(f"Reading {gold}", quiet=scoring.quiet):
            truth = read_gold(gold, scoring.gold_form or scoring.form)

        def load(run: str) -> "Ranking":
            frame, source = first.result() if run is runs[0] else _read(run, scoring.form)
            return ranking_from_frame(frame, source=source)

        with progress(f"Scoring {', '.join(names)}", quiet=scoring.quiet):
            report = assess(
                truth,
                {name: partial(load, run) for name, run in zip(names, runs, strict=True)},
                asked,
                how=how,
                baseline=baseline,
                slices=slices,
                item_slices=item_slices,
                duplicates=scoring.duplicates.value,
                keep_top=_shown_on(outputs or (), asked),
            )
    provenance = {"gold": gold, "runs": dict(zip(names, runs, strict=True)), "dialect": scoring.dialect}
    return replace(
        report,
        provenance=provenance,
        figures=_figures_of(scoring, names),
        names=_column(scoring.names, "item", "--names"),
        query_names=_column(scoring.texts, "query", "--texts"),
    )


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


def _read_cuts(given: Iterable[str] | None, of: str) -> "list[Cuts]":
    """``queries.csv:type,length``: the file, and what to group by."""
    if not given:
        return []
    from karat.formats.attributes import read_attributes
    from karat.slices import Cuts, parse_attributes

    found = []
    for text in given:
        path, attributes = (text, "") if text and exists(text) else _split_off_attributes(text)
        asked = parse_attributes(attributes) if attributes else None
        table, id_column = read_attributes(path, "query" if of == "queries" else "item")
        found.append(Cuts(table, id_column, of, asked, path))
    return found


def _split_off_attributes(text: str) -> tuple[str, str]:
    path, colon, attributes = text.rpartition(":")
    if not (path if colon else text):
        raise UsageError(f"no file in {text!r}", expected="something like queries.csv:type,length")
    return (path, attributes) if colon else (text, "")


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
