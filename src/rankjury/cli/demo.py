"""rankjury demo: bundled samples, evaluated without any configuration."""

from dataclasses import replace
from enum import StrEnum
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any

import typer

from rankjury.cli.shared.console import say, show_progress, show_report, warn, warn_of
from rankjury.cli.shared.options import (
    AnnotationOptions,
    FullOption,
    QuietOption,
    ScoringOptions,
    assess_files,
    expand_options,
)
from rankjury.errors import DataError, MissingExtra, UsageError

GROUP = "Look up"
ORDER = 2
MULTIPLIES_MATRICES = True
EPILOG = (
    "Examples:\n\n"
    "  rankjury demo\n\n"
    "  rankjury demo movies\n\n"
    "  rankjury demo papers -o results\n\n"
    "  rankjury demo fashion\n\n"
    "  rankjury demo driving\n\n"
    "  rankjury demo movielens\n\n"
    "  rankjury demo papers --data FOLDER\n\n"
    "  rankjury demo movielens --data ml-1m\n\n"
    "  rankjury demo driving --data clips.csv --select object_type\n\n"
    "  rankjury demo movies --keep rankjury-movies\n\n"
    "Samples:\n\n"
    "  helpdesk   two runs on 40 graded questions\n\n"
    "  movies     50 movies in three embedding spaces, fused\n\n"
    "  papers     1,000 abstracts: variants of a small model and a large one\n\n"
    "  fashion    300 items, 80 queries: exact search, FAISS HNSW, PostgreSQL\n\n"
    "  driving    80 texts and 400 clips as queries; all keywords must match\n\n"
    "  movielens  recommenders, tested on the later part of a synthetic log\n\n"
    "Without -o and --keep, the HTML page is written to rankjury-demo. The reports of driving and movielens are "
    "written to rankjury-driving and rankjury-movielens.\n\n"
    "PostgreSQL is included if rankjury[pgvector] is installed."
)
_PAGE_FOLDER = Path("rankjury-demo")
_PICTURE = "recommenders.png"
_LINES = 36
"""Lines of all reports of a demo that runs several plans, or says more around its report."""
_SYNTHETIC = """\
The log is synthetic: users, movies and ratings are drawn from a seed. The
numbers show what is reported, not which recommender is better.
"""
_MODELS: dict[str, dict[str, Any]] = {
    "popularity": {},
    "recent": {"model": "popularity", "params": {"days": 90.0}},
    "item-knn": {"optional": True},
    "ease": {"optional": True},
    "als": {"optional": True},
    "stars": {"model": "svd", "optional": True, "params": {"values": "ratings"}},
    "random": {},
}

Sample = StrEnum("Sample", ["helpdesk", "movies", "papers", "fashion", "driving", "movielens"])


@expand_options
def demo_command(
    annotations: AnnotationOptions,
    sample: Annotated[
        Sample, typer.Argument(metavar="[SAMPLE]", help="helpdesk, movies, papers, fashion, driving or movielens.")
    ] = Sample.helpdesk,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Write the results to this folder; not for helpdesk."),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Copy the files of the sample to this folder, to try commands on them."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Use your own data. papers: a folder of vector files, one of them named reference…; driving: a "
            "table of annotated clips; movielens: a MovieLens folder.",
        ),
    ] = None,
    vectors: Annotated[
        str | None, typer.Option(metavar="FILE", help="Vectors of the clips, for driving with --data.")
    ] = None,
    full: FullOption = False,
    quiet: QuietOption = False,
) -> None:
    """Try rankjury on bundled data.

    Runs a bundled sample without any configuration, and prints the results.
    """
    if data is not None:
        if sample not in (Sample.papers, Sample.driving, Sample.movielens) or keep is not None:
            raise UsageError("--data is for rankjury demo papers, driving and movielens, without --keep")
        if sample is Sample.driving:
            _user_clips(data, annotations, vectors, output)
        elif annotations.group or annotations.select or vectors:
            raise UsageError("--group, --select and --vectors are for rankjury demo driving")
        elif sample is Sample.movielens:
            _user_log(data, output)
        else:
            _user_papers(data, output)
        return
    if annotations.group or annotations.select or vectors:
        raise UsageError("--group, --select and --vectors are for rankjury demo driving --data clips.csv")
    with as_file(files("rankjury.plan") / "samples" / sample.value) as folder:
        if output is not None and sample is Sample.helpdesk:
            hint = "--keep DIR copies the files of the help desk."
            raise UsageError("-o is for movies, papers, fashion, driving and movielens", hint=hint)
        if keep is not None:
            _copy(folder, keep, sample)
        if sample is Sample.helpdesk:
            _helpdesk(folder, keep)
        elif sample in (Sample.driving, Sample.movielens):
            _run_plans(keep or folder, sample, output or keep or Path(f"rankjury-{sample}"))
        else:
            _run_plan(folder, sample, output, keep)


def _helpdesk(folder: Path, keep: Path | None) -> None:
    scoring = ScoringOptions(
        slices=[f"{folder / 'queries.jsonl'}:type"],
        names=f"{folder / 'documents.jsonl'}:title",
        texts=f"{folder / 'queries.jsonl'}:text",
    )
    runs = [str(folder / "bm25.trec"), str(folder / "dense.trec")]
    gold = str(folder / "qrels.trec")
    report = assess_files(gold, runs, None, scoring.resampling(), scoring, runs[0], [Path("report.html")])
    report = replace(report, provenance={"name": "40 questions to a help desk"})
    print("40 questions to a help desk of 90 articles, graded 0 to 3:\n")
    shown = replace(report, queries=replace(report.queries, names={})) if report.queries else report
    show_report(shown, omit=("headline",))
    warn_of(report)
    if keep is None:
        from rankjury.reporting.writers.html import to_html

        _write_page(to_html(report), Sample.helpdesk)
    place = keep or Path("rankjury-demo")
    again = "" if keep else "rankjury demo --keep rankjury-demo, then "
    say(f"Next: {again}rankjury compare {place}/qrels.trec {place}/bm25.trec {place}/dense.trec")


def _run_plan(folder: Path, sample: Sample, output: Path | None, keep: Path | None) -> None:
    """Run the sample's plan; without a folder for the results, only the page is written."""
    from rankjury.cli.run import run_and_print
    from rankjury.core.temp_files import TemporaryFolder

    plan = str((keep or folder) / "rankjury.toml")
    command, report = {
        Sample.movies: ("tune", "rankjury.json"),
        Sample.papers: ("run", "report.json"),
        Sample.fashion: ("sweep", "reports/eval_*_hnsw.json"),
    }[sample]
    next_step = f"Next: rankjury {command} {plan}" if keep else f"Next: rankjury gate targets.toml {output}/{report}"
    with TemporaryFolder("demo") as scratch:
        target = output or keep
        try:
            if target is not None:
                run_and_print(plan, target, next_step=next_step)
            else:
                run_and_print(plan, Path(scratch), next_step=None, list_files=False)
        except typer.Exit as ended:
            if ended.exit_code not in (4, 5):  # a demo that shows a failed target has not failed
                raise
        if target is None:
            _write_page((Path(scratch) / "report.html").read_text(encoding="utf-8"), sample)
            say(f"Next: rankjury demo {sample} --keep rankjury-{sample}, then change its rankjury.toml")


def _write_page(page: str, sample: Sample) -> None:
    """Write the page of a demo; a folder that cannot be written to is only a warning."""
    from rankjury.io.atomic import make_folder, write_text

    path = _PAGE_FOLDER / f"{sample}.html"
    try:
        make_folder(_PAGE_FOLDER)
        write_text(path, page)
    except DataError as error:
        warn([f"the page was not written: {error}"])
    else:
        say(f"Wrote {path} (offline, {len(page.encode()) / 1000:.0f} KB): open it in a browser")


def _user_papers(folder: Path, output: Path | None) -> None:
    """Compare the matrices of a folder: one whose name begins with reference, and the others."""
    from rankjury.cli.agree import AgreementOptions, agreement_plan
    from rankjury.cli.run import run_and_print
    from rankjury.io.vectors import read_vectors
    from rankjury.plan.folder_scan import scan_folder

    if not folder.is_dir():
        raise DataError("no such folder", where=str(folder))
    found = scan_folder(folder)
    reference = found.reference
    if reference is None or len(found.vectors) < 2:
        expected = "a file named reference… and at least one other"
        raise DataError(f"found vectors: {', '.join(found.vectors) or 'none'}", where=str(folder), expected=expected)
    names = [reference, *(name for name in found.vectors if name != reference)]
    paths = [str(folder / name) for name in names]
    spaces = [read_vectors(path) for path in paths]
    cuts = [k for k in (1, 3, 5, 10, 20, 50) if k < len(spaces[0])] or [1]
    truncate = [128] if all(space.dimensions > 128 for space in spaces[1:]) else []
    options = AgreementOptions(truncate=truncate, dtype=["int8"])
    content = agreement_plan(paths, cuts, options, write=output is not None)
    run_and_print(content, output, next_step="" if output else "Next: keep tables, plot and report with -o results")


def _copy(folder: Path, target: Path, sample: Sample) -> None:
    from rankjury.io.atomic import make_folder, write_files

    make_folder(target)
    contents: dict[Path, str | bytes] = {
        target / file.name: file.read_bytes()
        for file in folder.iterdir()
        if file.name != "README.md" and file.is_file()
    }
    for path, content in contents.items():
        if path.is_file() and path.read_bytes() != content:
            raise UsageError(f"another {path} is there already", hint="Name another folder with --keep.")
    if sample is not Sample.helpdesk:
        from rankjury.plan.draft import SCHEMA_FILE
        from rankjury.plan.schema import schema_text

        contents[target / SCHEMA_FILE] = schema_text()
    write_files(contents)


def _run_plans(folder: Path, sample: Sample, output: Path) -> None:
    """Run the plans of driving (text → clip, then clip → clip) or of movielens; each writes its report."""
    from rankjury.cli.run import run_and_print

    place = output if folder == output else sample.value
    again = "" if folder == output else f"rankjury demo {sample} --keep {sample}, then "
    if sample is Sample.movielens:
        print(_SYNTHETIC, flush=True)
        plans: dict[str, str | None] = {
            "rankjury.toml": f"Next: open {output / _PICTURE}; {again}rankjury tune {place}/rankjury.toml"
        }
    else:
        command = f'rankjury keywords "guy on a bike" --vocabulary {place}/clips.csv --synonyms {place}/synonyms.toml'
        plans = {"rankjury.toml": None, "clips.toml": f"Next: {again}{command}"}
    for plan, next_step in plans.items():
        run_and_print(str(folder / plan), output, next_step=next_step, lines=_LINES // len(plans))


def _user_clips(path: Path, annotations: AnnotationOptions, vectors: str | None, output: Path | None) -> None:
    """Evaluate clip → clip on a table of annotations; without vectors, the annotations are embedded."""
    from rankjury.cli.run import run_and_print
    from rankjury.core.temp_files import TemporaryFolder

    gold = {
        "kind": "keywords",
        "path": str(path),
        "id": annotations.id_column,
        "groups": annotations.groups(),
        "select": list(annotations.select or ()),
        "separator": annotations.separator,
    }
    with TemporaryFolder("demo") as scratch:
        if vectors is None:
            vectors = str(Path(scratch) / "vectors.npz")
            try:
                _embed_clips(path, annotations, Path(vectors))
            except MissingExtra as error:
                error.hint = f"{error.hint}, or give the clips' vectors with --vectors FILE."
                raise
            rendering = "no vectors were given: clips are embedded by a text rendering of their own annotations"
            warn([f"{rendering}, so that the figures show the protocol at work, and not how good any video model is"])
        content = {
            "name": path.stem,
            "gold": gold,
            "systems": {"embedding": {"kind": "vectors", "path": vectors}, "random": {"kind": "random"}},
            "measures": ["Recall", "Precision", "NDCG", "MAP"],
            "cutoffs": [1, 3, 5],
            "headline": ["Recall@1", "Recall@3", "Recall@5", "Precision@5", "NDCG@5", "MAP@5"],
            "conventions": {"dialect": "alfa"},
            "outputs": ["report.html", "report.json", "report.md"] if output is not None else [],
        }
        next_step = "" if output else "Next: keep the report with -o results; your own vectors with --vectors FILE"
        run_and_print(content, output, next_step=next_step)


def _embed_clips(table: Path, options: AnnotationOptions, output: Path) -> None:
    from rankjury.io.vectors.arrays import write_vectors
    from rankjury.labeling.keywords.annotations import annotations_corpus
    from rankjury.retrieval.embedding.embed import embed, find_model

    model = find_model("wordllama")
    corpus = annotations_corpus(options.read(table))
    with show_progress() as progress:
        vectors = embed(corpus, model, progress=progress.step("Embedding the annotations"))
    write_vectors(output, vectors, {"model": model.name}, dtype="float32")


def _user_log(folder: Path, output: Path | None) -> None:
    """Evaluate recommenders on a MovieLens release in a folder; nothing is downloaded."""
    from rankjury.cli.run import run_and_print
    from rankjury.recsys.data.movielens import find_companions

    if not folder.exists():
        expected = "a MovieLens release: ratings.dat, ratings.csv or u.data"
        raise DataError("no such folder", where=str(folder), expected=expected)
    items, users = find_companions(folder)
    companions = {name: str(file) for name, file in (("items", items), ("users", users)) if file}
    beyond = ["coverage@10", "novelty@10", *(["diversity@10"] if items else [])]
    content: dict[str, Any] = {
        "name": folder.resolve().name,
        "baseline": "popularity",
        "measures": ["ndcg", "precision(rel=4)", "recall(rel=4)", *beyond],
        "cutoffs": [5, 10, 20],
        "headline": ["ndcg@10", "precision(rel=4)@10", "recall(rel=4)@10", *beyond],
        "gold": {"kind": "interactions", "path": str(folder)} | companions,
        "systems": {name: {"kind": "recommender", "model": name, **more} for name, more in _MODELS.items()},
        "outputs": ["report.html", "report.json", "report.md"],
        "output": [{"file": _PICTURE, "form": "recommenders"}],
    }
    place = output or Path("rankjury-movielens")
    run_and_print(content, place, next_step=f"Next: open {place / _PICTURE}; rankjury audit {folder}")
