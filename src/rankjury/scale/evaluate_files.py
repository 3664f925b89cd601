"""Evaluation of run files: the one function behind ``rankjury evaluate``, ``compare`` and ``gate``, and for scripts."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from os import fspath
from os.path import exists, isdir, isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UnknownName, UsageError

if TYPE_CHECKING:
    import polars as pl

    from rankjury.core.types import Gold
    from rankjury.evaluation.judge import DuplicateRule
    from rankjury.evaluation.report import Report
    from rankjury.measures.measure import Value
    from rankjury.scale.request import EvaluationRequest
    from rankjury.stats.resampling import Resampling

_Place = Literal["here", "spark"]
_MEMORY_OF_A_TASK = 10**9
_LARGE = 1 << 30
_FILE_SUFFIXES = (".json", ".jsonl", ".gz", ".zst", ".trec", ".run", ".txt", ".csv", ".tsv", ".parquet")
_SHARE_OF_MEMORY = 8
"""Parquet files of more than this part of the memory fill it when evaluated completely."""


@check_arguments
def evaluate_files(
    gold: str | Path,
    runs: str | Path | Sequence[str | Path] | Mapping[str, str | Path],
    measures: str | Sequence[str] | None = None,
    *,
    intervals: bool = True,
    resampling: "Resampling | None" = None,
    baseline: str | None = None,
    slices: Sequence[str] = (),
    item_slices: Sequence[str] = (),
    names: str | None = None,
    texts: str | None = None,
    recorded: Mapping[str, Mapping[str, float]] | None = None,
    quantiles: Sequence[float] = (),
    dialect: str | None = None,
    conventions: "Mapping[str, Value] | None" = None,
    duplicates: "DuplicateRule" = "error",
    format: str | None = None,
    gold_format: str | None = None,
    keep_top: int | None = None,
    memory: str | None = None,
    on: _Place = "here",
    master: str | None = None,
    temp: Path | None = None,
    per_query: str | Path | None = None,
    progress: Progress = NO_PROGRESS,
) -> "Report":
    """Score run files against a gold file, compare and slice them, and return the report.

    Args:
        gold: Path of the gold; ``-`` is standard input.
        runs: Path of a run, or paths of several; systems are named by the stem of their file, or by the keys of a
            mapping.
        measures: Spellings such as ``ndcg@10``, one or several; the default measures where None.
        intervals: Whether to compute intervals and tests; a comparison needs them.
        resampling: Settings of intervals and tests; None: 10,000 resamples at the level 0.95.
        baseline: Name or path of the run that the others are compared with; None: no comparison.
        slices: ``FILE`` or ``FILE:ATTRIBUTES`` of queries, such as ``queries.csv:type,length(quantiles=3)``.
        item_slices: The same for items.
        names: ``FILE:COLUMN`` with the names of items.
        texts: ``FILE:COLUMN`` with the texts of queries.
        recorded: Other values for the report, such as latencies, by system and name.
        quantiles: Shares of the queries at which scores are reported.
        dialect: Name of the tool whose conventions are used.
        conventions: Conventions of all measures, such as ``{"ties": "id"}``.
        duplicates: How to handle duplicate (query, item) pairs.
        format: Format of the files, if their content is ambiguous.
        gold_format: Format of the gold only.
        keep_top: Items of each query to keep for pages; None: none, 0: as many as the measures use.
        memory: Memory limit such as ``2GB``: Parquet files are then evaluated in blocks.
        on: Where to run: in this process, or on the workers of Spark.
        master: Spark's master, with ``on="spark"``.
        temp: Folder for blocks that do not fit into memory.
        per_query: File to write every query's scores to; in blocks it may be a folder.
        progress: Receives progress reports.

    Returns:
        The report; without per-query scores if it was computed in blocks.

    Raises:
        DataError: A file cannot be read.
        UsageError: A measure, a system or an option is unknown, or options exclude each other.

    Example:
        >>> report = rankjury.evaluate_files("qrels.trec", {"bm25": "run.trec", "dense": "dense.trec"}, ["rr"])
        >>> report.mean()["dense"]
        {'rr': 0.75}
    """
    from rankjury.evaluation.evaluate import DEFAULT_MEASURES, resolve_measures

    runs = [runs] if isinstance(runs, str | Path) else runs
    gold, paths = fspath(gold), [fspath(path) for path in (runs.values() if isinstance(runs, Mapping) else runs)]
    if not paths:
        raise UsageError("no run was given", expected="one run file or more")
    if on not in get_args(_Place):
        raise UnknownName("place", on, get_args(_Place))
    if not all(0 <= share <= 1 for share in quantiles):
        raise UsageError(f"found quantiles {list(quantiles)}", expected="shares from 0 to 1, such as 0.5")
    systems = dict(zip(list(runs) if isinstance(runs, Mapping) else name_systems(paths), paths, strict=True))
    if baseline is not None and baseline in paths:
        baseline = next(name for name, path in reversed(systems.items()) if path == baseline)
    elif baseline is not None and baseline not in systems:
        if looks_like_path(baseline) and not exists(baseline):
            raise DataError("no such file", where=baseline, expected=f"a run, or one of {', '.join(systems)}")
        raise UnknownName("system", baseline, systems, where="--baseline")
    unknown = next((name for name in recorded or () if name not in systems), None)
    if unknown is not None:
        raise UnknownName("system", unknown, systems)
    if intervals:
        from rankjury.stats.resampling import Resampling

        resampling = Resampling() if resampling is None else resampling
        if not isinstance(resampling, Resampling):
            raise UsageError(f"found resampling of type {type(resampling).__name__}", expected="a rankjury.Resampling")
    else:
        resampling = None

    resolve = partial(resolve_measures, measures or DEFAULT_MEASURES, dialect, dict(conventions or {}))
    provenance: dict[str, Any] = {"gold": gold, "runs": systems, "dialect": dialect}
    if _needs_blocks([gold, *paths], [*slices, *item_slices], on, master, memory):
        from rankjury.scale.request import EvaluationRequest

        if master is not None and on != "spark":
            raise UsageError("a Spark master is given, but on is not spark", expected='on="spark", or no master')
        if "-" in (gold, *paths):
            raise UsageError(
                "standard input cannot be read in blocks or on Spark",
                expected="the path of a Parquet file, or of a folder of them",
            )
        for what, name in {"format": format, "gold format": gold_format}.items():
            if name not in (None, "parquet"):
                raise UsageError(f"the {what} {name} in blocks", expected="Parquet", hint="Use rankjury convert.")
        wanted = tuple(resolve())
        request = EvaluationRequest(gold, systems, wanted, resampling, baseline, duplicates, quantiles=tuple(quantiles))
        report = _in_blocks(request, slices, item_slices, on, master, memory, per_query, temp, progress)
        if per_query is not None:
            provenance["per_query"] = str(per_query)
        return replace(report.with_recorded(recorded or {}), provenance=provenance)
    if temp is not None:
        raise UsageError(
            "a folder for blocks (temp) is given, but the evaluation is not block-wise",
            expected="memory, on = spark, or tables that are folders of Parquet",
        )
    scores_file = None if per_query is None else Path(per_query)
    if scores_file is not None:
        from rankjury.evaluation.scores import per_query_table
        from rankjury.io.atomic import make_folder
        from rankjury.io.formats import TABLE_FORMATS, form_to_write, write

        form_to_write(scores_file, None, TABLE_FORMATS)  # an unknown format is refused before anything is computed
    with ThreadPoolExecutor(max_workers=1) as reader:
        # The first run is read while the rest of the program still loads: a fifth of the time of a large run.
        first = reader.submit(_read, paths[0], format)
        from rankjury.core.convert import ranking_from_frame
        from rankjury.evaluation.compare import assess
        from rankjury.evaluation.slices.files import read_cuts

        resolved = resolve()
        cutoffs = [asked.measure.k for asked in resolved if asked.measure.k is not None]
        cuts = [read_cuts(text, "queries") for text in slices]
        item_cuts = [read_cuts(text, "items") for text in item_slices]
        progress.update(f"Reading {gold}", 0, 0)
        truth = _read_gold(gold, format, gold_format)
        progress.update(f"Scoring {', '.join(systems)}", 0, 0)
        frames = (first.result() if not number else _read(path, format) for number, path in enumerate(paths))
        rows = zip(systems, frames, strict=True)
        report = assess(
            truth,
            ((name, ranking_from_frame(frame, source=source)) for name, (frame, source) in rows),
            resolved,
            golds=dict.fromkeys(systems, truth),
            resampling=resampling,
            baseline=baseline,
            slices=cuts,
            item_slices=item_cuts,
            duplicates=duplicates,
            keep_top=max((k for k in cutoffs if k <= 20), default=10) if keep_top == 0 else keep_top or 0,
        )
    if quantiles:
        from rankjury.evaluation.sections import Quantiles
        from rankjury.stats.estimates import QuantileSketch

        for name, scores in report.scores.items():
            sketches = {label: QuantileSketch.of(scores[label], len(scores.queries)) for label in scores.labels}
            values = {label: sketch.values(quantiles) for label, sketch in sketches.items()}
            report = report.with_sections(Quantiles(values), system=name)
    if report.queries is not None and not (names is None and texts is None):
        from rankjury.io.attributes import read_column

        item_names = read_column(names, "item", "names") if names is not None else {}
        query_texts = read_column(texts, "query", "texts") if texts is not None else {}
        report = report.with_texts(item_names, query_texts)
    report = replace(report.with_recorded(recorded or {}), provenance=provenance)
    if scores_file is not None:
        make_folder(scores_file.parent)
        write(per_query_table(report.scores), scores_file, "table")
    return report


def _in_blocks(
    request: "EvaluationRequest",
    slices: Sequence[str],
    item_slices: Sequence[str],
    on: str,
    master: str | None,
    memory: str | None,
    per_query: str | Path | None,
    temp: Path | None,
    progress: Progress,
) -> "Report":
    """Evaluate Parquet files in blocks, in this process or on Spark."""
    from rankjury.evaluation.slices.files import split_attributes
    from rankjury.io.source import available_memory
    from rankjury.scale.memory import MIN_MEMORY, Budget, parse_memory
    from rankjury.scale.request import SliceFile

    of_queries = [SliceFile(*split_attributes(text)) for text in slices]
    of_items = [SliceFile(*split_attributes(text)) for text in item_slices]
    default = _MEMORY_OF_A_TASK if on == "spark" else max(available_memory() // 2, MIN_MEMORY)
    budget = Budget(default if memory is None else parse_memory(memory))
    if on != "spark":
        from rankjury.scale.local import evaluate_tables

        target = None if per_query is None else Path(per_query)
        return evaluate_tables(request, of_queries, of_items, budget, per_query=target, temp=temp, progress=progress)
    from rankjury.scale.spark.driver import evaluate_on_spark
    from rankjury.scale.spark.session import open_session

    progress.update("Starting Spark", 0, 0)
    folder = None if per_query is None else str(per_query)
    with open_session(master, temp=temp) as spark:
        return evaluate_on_spark(
            spark, request, of_queries, of_items, budget, per_query=folder, temp=temp, progress=progress
        )


def name_systems(paths: Sequence[str]) -> list[str]:
    """Return the stems of the files as names of systems; more of the path is used if two are equal."""
    from rankjury.io.source import Source

    paths = list(paths)
    names = [Source(path, None if path == "-" else Path(path)).system for path in paths]
    with_folder = [
        name if path == "-" else f"{Path(path).parent.name}/{name}" for path, name in zip(paths, names, strict=True)
    ]
    file_names = [Path(path).name for path in paths]
    for candidate in (names, with_folder, file_names, paths):
        is_rooted = candidate is with_folder and any(name.startswith("/") for name in candidate)
        if len(set(candidate)) == len(paths) and not is_rooted:
            return candidate
    twice = next(path for path in paths if paths.count(path) > 1)
    raise UsageError(f"the run {twice!r} was given twice", hint="Give each run once.")


def looks_like_path(text: str) -> bool:
    """Return whether a name that is not a system's looks like a path."""
    return "/" in text or Path(text).suffix.lower() in _FILE_SUFFIXES


def _read_gold(path: str, format: str | None, gold_format: str | None) -> "Gold":
    """Read the gold; where the format of all files does not suit it, name the option of the gold's own."""
    from rankjury.io.formats import format_of, read_gold
    from rankjury.io.source import Source

    try:
        return read_gold(path, gold_format or format)
    except DataError as error:
        if format is not None and gold_format is None and path != "-":
            with suppress(DataError):
                detected = format_of(Source.open(path))
                if detected != format:
                    options = f"--gold-format {detected} (in Python gold_format={detected!r})"
                    error.hint = f"The format {format} also applies to the gold. Set the gold's own with {options}."
        raise


def _read(run: str, format: str | None) -> "tuple[pl.DataFrame, str]":
    from rankjury.io.formats import read
    from rankjury.io.source import Source

    source = Source.open(run)
    return read(source, "run", format), source.name


def _needs_blocks(files: Sequence[str], slices: Sequence[str], on: str, master: str | None, memory: str | None) -> bool:
    """Return whether blocks were requested, or are needed: folders of Parquet, or files too large for the memory."""
    if on != "here" or master is not None or memory is not None:
        return True
    paths = [Path(path) for path in files if path != "-" and exists(path)]
    tables = []
    if slices:
        from rankjury.evaluation.slices.files import split_attributes

        tables = [Path(split_attributes(text)[0]) for text in slices]
    folders = [path for path in (*paths, *tables) if isdir(path)]
    size = sum(path.stat().st_size for path in paths if isfile(path))
    if not folders and size <= _LARGE:
        return False
    from rankjury.io.source import available_memory
    from rankjury.scale.parquet import is_parquet

    fills = size > _LARGE and size > available_memory() / _SHARE_OF_MEMORY and all(map(is_parquet, paths))
    return fills or any(map(is_parquet, folders))
