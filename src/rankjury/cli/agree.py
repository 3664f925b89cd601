"""rankjury agree: top-k overlap and similarity agreement of candidates with a reference."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from os.path import exists
from pathlib import Path
from typing import Annotated, Any

import typer

from rankjury.cli.shared.commands import CONVENTIONS
from rankjury.cli.shared.completion import one_of
from rankjury.cli.shared.console import check_standard_input, ids_note
from rankjury.cli.shared.options import (
    DistanceOption,
    ExcludeSelfOption,
    FullOption,
    JsonOption,
    NamesOption,
    QuietOption,
    TextsOption,
    expand_options,
    read_cutoffs,
    split_name,
)
from rankjury.core.text import plural
from rankjury.errors import UnknownName, UsageError
from rankjury.scale.evaluate_files import name_systems

GROUP = "Vectors"
ORDER = 3
MULTIPLIES_MATRICES = True
EPILOG = (
    "Examples:\n\n"
    "  rankjury agree ada.npy base.npy tuned.npy --n-samples 500 -k 1,3,5,10 -o results\n\n"
    "  rankjury agree reference.npz candidate.npz --truncate 128 --truncate 64 --dtype int8 --dtype binary\n\n"
    "  rankjury agree exact.trec index.trec -k 10,100\n\n"
    "Files are vectors (.npy, .npz, .parquet, .json, .jsonl, .safetensors; FILE:KEY selects one of several arrays) "
    "or runs.\n\n"
    "Rows are matched by id. .npy files have no ids: --ids sets them, or a file ids.txt; without, rows are matched by "
    "number.\n\n"
    "Other candidates are compared with the first one, unless --baseline names another."
)
_DEFAULT_KS = "1,3,5,10"
_DEFAULT_PAIRS = 20_000
_WITHOUT_IDS = ".npy"
_SAMPLING = "Sampling"
_VARIANTS = "Variants of candidates"


class TieOption(StrEnum):
    id = "id"
    any = "any"


Over = StrEnum("Over", ["sampled", "top"])


@dataclass(frozen=True)
class AgreementOptions:
    """Options of the comparison, as in a plan's tables of gold, systems and agreement."""

    distance: DistanceOption = "cosine"
    ids: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="File of row ids for all .npy files; default: NAME.ids.txt, NAME_ids.txt or ids.txt beside each.",
        ),
    ] = None
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline", "-b", metavar="NAME|FILE", help="Candidate to compare the others with; default: the first."
        ),
    ] = None
    names: NamesOption = None
    texts: TextsOption = None
    n_samples: Annotated[
        int | None,
        typer.Option(metavar="N", help="Sample N queries at random; default: all queries.", rich_help_panel=_SAMPLING),
    ] = None
    queries: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Use these queries instead of a sample: a file of ids or row numbers.",
            rich_help_panel=_SAMPLING,
        ),
    ] = None
    pairs: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Approximate number of pairs for comparing similarities; 0: none.",
            rich_help_panel=_SAMPLING,
        ),
    ] = _DEFAULT_PAIRS
    over: Annotated[
        Over | None,
        typer.Option(
            help="Compare sampled pairs, or pairs in the top k of either side; default: sampled, for runs top.",
            rich_help_panel=_SAMPLING,
        ),
    ] = None
    seed: Annotated[
        int, typer.Option(min=0, help="Seed for sampling queries and pairs.", rich_help_panel=_SAMPLING)
    ] = 0
    truncate: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Also evaluate each candidate's first N dimensions; repeatable.",
            rich_help_panel=_VARIANTS,
        ),
    ] = None
    dtype: Annotated[
        list[str] | None,
        typer.Option(
            **one_of("float16|int8|binary"),
            help="Also evaluate each candidate in this number type; repeatable.",
            rich_help_panel=_VARIANTS,
        ),
    ] = None
    ties: Annotated[
        TieOption,
        typer.Option(
            help="Ties at the cut-off of the reference: decide by id, or accept any tied item.",
            rich_help_panel=CONVENTIONS,
        ),
    ] = TieOption.id
    exclude_self: ExcludeSelfOption = None


@expand_options
def agree_command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="REFERENCE CANDIDATE...",
            help="Vectors or runs: first the reference, then candidates; NAME=FILE sets a name.",
        ),
    ],
    options: AgreementOptions,
    k_values: Annotated[
        list[str] | None,
        typer.Option("-k", metavar="K", help="Cut-offs, separated by commas or spaces.", show_default=_DEFAULT_KS),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR|FILE",
            help="Write report, plot and tables to a folder, or one file, such as report.html.",
        ),
    ] = None,
    as_json: JsonOption = False,
    full: FullOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare embeddings with a reference embedding.

    Measures the overlap of the top k and the agreement of similarities, for example after distillation, tuning or
    quantization. Also compares runs, such as those of an approximate index and of exact search.
    """
    from rankjury.cli.run import run_and_print
    from rankjury.io.vectors.quantize import DTYPES
    from rankjury.retrieval.knn.similarity import METRICS

    files, cuts = _split_cutoffs(files, [_DEFAULT_KS] if k_values is None else k_values)
    names, paths = zip(*map(split_name, files), strict=True)
    check_standard_input(paths)
    if options.n_samples is not None and options.n_samples < 1:
        raise UsageError(f"--n-samples is {options.n_samples}", expected="1 or more")
    if options.queries is not None and options.n_samples is not None:
        raise UsageError("found both --queries and --n-samples", expected="one of both")
    if options.ids is not None and not any(path.endswith(_WITHOUT_IDS) for path in paths):
        hint = "Other files have ids of their own."
        raise UsageError(f"--ids is {options.ids}, but no file is a {_WITHOUT_IDS}", hint=hint)
    # Names are refused by the option, once: the plan would name each system.
    if options.distance not in METRICS:
        raise UnknownName("distance", options.distance, METRICS, where="--distance")
    for name in options.dtype or ():
        if name not in DTYPES:
            raise UnknownName("dtype", name, DTYPES, where="--dtype")
    content = agreement_plan(paths, cuts, options, names, write=output is not None)
    hint = "Next: keep tables, plot and report with -o results; rankjury init writes a plan of it"
    ids = ids_note(paths[0]) if options.ids is None and paths[0].endswith(_WITHOUT_IDS) and not as_json else ""
    last = ids if output else "\n".join(filter(None, (ids, hint)))
    run_and_print(content, output, as_json=as_json, next_step=last, keep_self="--keep-self")


def agreement_plan(
    files: Sequence[str],
    cuts: list[int],
    options: AgreementOptions,
    names: Sequence[str | None] = (),
    *,
    write: bool,
) -> dict[str, Any]:
    """Return the content of a plan: the first file is the reference, the others are candidates; ``names``: of each."""
    from rankjury.retrieval.agreement.reference import MEASURES, reference_measures

    reference = _file_table(files[0], options)
    names = names or [None] * len(files)
    systems = _candidate_tables(files[1:], names[1:], options)
    exclude_self = options.exclude_self
    if exclude_self is None and len({table.get("kind", "run") for table in (reference, *systems.values())}) > 1:
        exclude_self = True  # the vectors say that the queries are the items, also of the runs beside them
    measures = reference_measures(options.ties.value)
    sampling = {"exclude_self": exclude_self, "sample": options.n_samples, "sample_ids": options.queries}
    gold = reference | {"kind": "reference", "seed": options.seed, "ties": options.ties.value}
    content: dict[str, Any] = {
        "name": f"agreement with {names[0] or _name(files[0])}",
        "gold": gold | {key: value for key, value in sampling.items() if value is not None},
        "systems": systems,
        "measures": measures,
        "cutoffs": cuts,
        "headline": [f"{measure}@{max(cuts)}" for measure in measures[: len(MEASURES)]],
    }
    if options.baseline is not None or len(systems) > 1:
        content["baseline"] = _baseline_of(options.baseline, systems)
    if options.pairs or options.over is not None:
        over = {"over": options.over.value} if options.over else {}
        content["agreement"] = {"pairs": options.pairs or _DEFAULT_PAIRS, "seed": options.seed} | over
    content |= {key: value for key in ("names", "texts") if (value := getattr(options, key)) is not None}
    if write:
        content["outputs"] = ["report.html", "report.json", "metrics_vs_k.png"]
        content["output"] = [
            {"file": "queries.parquet", "form": "queries"},
            {"file": "{system}_results.csv", "form": "cutoffs"},
        ]
    return content


def _baseline_of(given: str | None, systems: dict[str, dict[str, Any]]) -> str:
    """Return the name of the baseline, which is given by its name or its file; the first candidate by default."""
    if given is None or given in systems:
        return given or next(iter(systems))
    name, file = split_name(given)
    paths = {key: table["path"] for key, table in systems.items() if not {"truncate", "dtype"} & table.keys()}
    return next((key for key, path in paths.items() if path == file and name in (None, key)), given)


def _split_cutoffs(given: list[str], k_values: list[str]) -> tuple[list[str], list[int]]:
    """Return files and cut-offs: after -k 1 the parser takes the 3, 5 and 10 that follow for files."""
    numbers = [text for text in given if text.isdecimal() and not exists(text)]
    files = [text for text in given if text not in numbers]
    cutoffs = read_cutoffs([*k_values, *numbers])
    if len(files) < 2:
        found = plural(len(files), "file", "files")
        raise UsageError(f"found {found}", expected="a reference and at least one candidate")
    return files, cutoffs


def _name(file: str) -> str:
    from rankjury.io.vectors import split_off_key

    path, key = split_off_key(file)
    return key or name_systems([path])[0]


def _file_table(file: str, options: AgreementOptions) -> dict[str, Any]:
    """Return the plan table of a file of vectors or, without a kind, of a run."""
    from rankjury.io.source import Source
    from rankjury.io.vectors import split_off_key
    from rankjury.io.vectors.scan import holds_vectors

    if file == "-":
        return {"path": file}
    path, key = split_off_key(file)
    Source.open(path)
    if key is None and not holds_vectors(path):
        return {"path": file}
    ids = {"ids": options.ids} if options.ids is not None and path.endswith(_WITHOUT_IDS) else {}
    return {"kind": "vectors", "path": file, "metric": options.distance} | ids


def _candidate_tables(
    files: Sequence[str], given: Sequence[str | None], options: AgreementOptions
) -> dict[str, dict[str, Any]]:
    """Return the plan tables of candidates by name, each followed by its variants."""
    names = [name or _name(file) for name, file in zip(given, files, strict=True)]
    if len(set(names)) < len(names):
        names = [name or stem for name, stem in zip(given, name_systems(files), strict=True)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"two candidates are called {twice}", expected="NAME=FILE with a name for each")
    systems = {}
    for name, file in zip(names, files, strict=True):
        table = systems[name] = _file_table(file, options)
        variants = {f"{name}-{size}": table | {"truncate": size} for size in options.truncate or ()}
        variants |= {f"{name}-{dtype}": table | {"dtype": dtype} for dtype in options.dtype or ()}
        if "kind" not in table and variants:
            raise UsageError(f"{file} is a run", expected="vectors, of which variants can be made")
        for taken in variants.keys() & {*names, *systems}:
            found = f"a variant of {file} and another candidate are both called {taken}"
            raise UsageError(found, hint="Rename a file.")
        systems |= variants
    return systems
