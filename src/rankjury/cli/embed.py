"""rankjury embed: texts → vectors, and smaller variants of vectors."""

import gc
from enum import StrEnum
from functools import partial
from os.path import isdir
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankjury.cli.shared.commands import READING
from rankjury.cli.shared.console import check_folder, files_in_folder, print_json, say, show_progress, warn
from rankjury.cli.shared.options import IdOption, JsonOption, QuietOption
from rankjury.core.progress import Progress
from rankjury.core.text import plural
from rankjury.errors import RankjuryError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankjury.retrieval.embedding.chunking import Chunking
    from rankjury.retrieval.embedding.corpus import Corpus
    from rankjury.retrieval.embedding.vector_files import EmbeddedFile, VectorOptions

GROUP = "Vectors"
ORDER = 2
_VARIANTS = "Smaller vectors"
MULTIPLIES_MATRICES = True
EPILOG = (
    "Examples:\n\n"
    "  rankjury embed papers.parquet --text title,abstract --model wordllama -o papers.npz\n\n"
    "  rankjury embed papers.jsonl --text abstract --model models/all-MiniLM-L6-v2 -o minilm.npz\n\n"
    "  rankjury embed papers.csv --text title --model mymodels:encode -o mine.npz\n\n"
    "  rankjury embed queries.txt --model wordllama -o queries.npz\n\n"
    "  rankjury embed items.jsonl --chunking title+bullets/300+50 --model wordllama -o chunks.npz\n\n"
    "  rankjury embed --from papers.npz --truncate 128 --dtype int8 -o papers-128-int8.npz\n\n"
    "The model is wordllama, the folder of a sentence-transformers model, or module:function, which takes a list "
    "of texts and returns a row of numbers for each. Nothing is downloaded.\n\n"
    "Run the same command again to continue after an interruption. Existing files are never overwritten; write "
    "other settings to another file.\n\n"
    "The list of vector files and their settings: rankjury list vectors."
)

Dtype = StrEnum("Dtype", ["float64", "float32", "float16", "int8", "binary"])
Empty = StrEnum("Empty", ["error", "skip"])


def embed_command(
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The .npz file to write, or a folder.",
            callback=files_in_folder("vectors.npz"),
        ),
    ],
    corpus: Annotated[
        str | None,
        typer.Argument(
            metavar="[CORPUS]", help="Texts: .jsonl, .json, .csv, .tsv, .parquet, or .txt (one query per line)."
        ),
    ] = None,
    text: Annotated[str | None, typer.Option(metavar="COLUMNS", help="Text columns, comma-separated.")] = None,
    chunking: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Split texts into chunks: FIELDS/TOKENS+OVERLAP instead of --text, such as title+bullets/300+50. "
            "Ids become ITEM#0 …",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Model: wordllama, a model folder, or module:function.")
    ] = None,
    joint: Annotated[
        str,
        typer.Option(
            "--join",
            metavar="TEXT",
            show_default="newline",
            help="Separator between several columns.",
            rich_help_panel=READING,
        ),
    ] = "\n",
    id_column: IdOption = None,
    empty: Annotated[
        Empty, typer.Option(help="Rows without text: stop with an error, or skip them.", rich_help_panel=READING)
    ] = Empty.error,
    batch_size: Annotated[
        int, typer.Option(min=1, help="Number of texts per call of the model.", rich_help_panel=READING)
    ] = 64,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="VECTORS",
            help="Make a variant of these vectors instead of embedding texts: FILE or FILE:KEY.",
            rich_help_panel=_VARIANTS,
        ),
    ] = None,
    ids: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="File of row ids for --from, if it has none.", rich_help_panel=_VARIANTS),
    ] = None,
    normalise: Annotated[
        bool,
        typer.Option("--normalise/--no-normalise", help="Scale each vector to length 1.", rich_help_panel=_VARIANTS),
    ] = False,
    truncate: Annotated[
        int | None, typer.Option(min=1, help="Keep only the first N dimensions.", rich_help_panel=_VARIANTS)
    ] = None,
    dtype: Annotated[
        Dtype | None, typer.Option(help="Number type; default: float32, or that of --from.", rich_help_panel=_VARIANTS)
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Turn texts into vectors, or vectors into smaller ones.

    The output file records how the vectors were made.
    """
    if text is not None and chunking is not None:
        raise UsageError("--text and --chunking were given", expected="one of them")
    from rankjury.io.source import plain_suffix
    from rankjury.io.vectors import read_vectors, split_off_key
    from rankjury.io.vectors.arrays import check_output
    from rankjury.io.vectors.scan import read_metadata
    from rankjury.retrieval.embedding.vector_files import VectorOptions, vary_to_file

    if corpus is not None and text is None and chunking is None and plain_suffix(corpus) == ".txt":
        text = "text"  # the name of what is on each line
    named = "--text" if chunking is None else "--chunking"
    _check_combination(corpus, source, {named: text or chunking, "--model": model, "--id": id_column}, ids)
    check_folder(output)
    check_output(output)
    choices = VectorOptions(normalise, truncate, None if dtype is None else dtype.value)
    if source is not None:
        with show_progress(f"Reading {source}"):
            vectors = read_vectors(source, ids=ids)
            made = vary_to_file(output, vectors, choices, source=read_metadata(split_off_key(source)[0]))
    else:
        from rankjury.retrieval.embedding.chunking import parse_chunking
        from rankjury.retrieval.embedding.corpus import read_corpus

        chunks = None if chunking is None else parse_chunking(chunking)
        columns = chunks.fields if chunks else [name.strip() for name in (text or "").split(",") if name.strip()]
        read = partial(read_corpus, corpus or "", columns, joint=joint, id_column=id_column, empty=empty.value)
        made = _embedded(read, chunks, model or "", output, choices, batch_size)
    facts = made.metadata
    if as_json:
        print_json({"schema": "rankjury.embed/1", "file": str(made.path), "anew": made.anew, "vectors": facts})
    if made.zeros:
        from rankjury.core.types import listed

        warn([f"the vectors of {listed(list(made.zeros))} are zero, and have no direction"])
    size = f"{plural(facts['count'], 'vector', 'vectors')} of {facts['dimensions']:,} dimensions, {facts['dtype']}"
    if made.anew:
        say(f"Wrote {made.path}: {size}. Next: rankjury neighbours {made.path} · rankjury list vectors")
    else:
        say(f"{made.path} is there already, made of the same with the same settings: {size}")


_EXAMPLES = {
    "--text": "the columns of text, such as --text title,body",
    "--chunking": "fields and tokens, such as --chunking title+body/300+50",
    "--model": "a model, such as --model wordllama",
}


def _check_combination(
    corpus: str | None, source: str | None, of_corpus: dict[str, str | None], ids: str | None
) -> None:
    """Refuse options that do not belong together; ``of_corpus``: those of a corpus, with their values."""
    if (corpus is None) == (source is None):
        raise UsageError(
            "neither a corpus nor --from was given" if corpus is None else "a corpus and --from were given",
            expected="one of them",
            hint="rankjury embed papers.csv --text title --model wordllama -o papers.npz",
        )
    for name, value in of_corpus.items():
        if source is not None and value is not None:
            raise UsageError(f"{name} with --from, which makes vectors from vectors", hint=f"Drop {name}.")
        if corpus is not None and value is None and name != "--id":
            raise UsageError(f"{name} is missing", expected=_EXAMPLES[name])
    if ids is not None and source is None:
        raise UsageError("--ids without --from", hint="The column of ids of a corpus is --id.")


def _embedded(
    read: "Callable[[], Corpus]",
    chunks: "Chunking | None",
    model: str,
    output: Path,
    choices: "VectorOptions",
    batch_size: int,
) -> "EmbeddedFile":
    from rankjury.retrieval.embedding.chunking import chunk_corpus, find_tokenizer
    from rankjury.retrieval.embedding.embed import find_model
    from rankjury.retrieval.embedding.vector_files import cache_folder, embed_to_file

    found = find_model(model)
    with show_progress("Reading the corpus"):
        corpus = read() if chunks is None else chunk_corpus(read(), chunks, find_tokenizer(found))
    if corpus.skipped:
        warn([f"{plural(len(corpus.skipped), 'row without text was', 'rows without text were')} left out"])
    gc.enable()  # a command has it off, for its short life; this one may be long, and runs the code of others
    finished: int | None = None
    journal = cache_folder(output)
    interrupted = isdir(journal)

    def report(what: str, done: int, of: int) -> None:
        nonlocal finished
        if finished is None and done:
            say(f"Going on from {done:,} of {of:,} texts")
        elif finished is None and interrupted:
            why = "another model, another version of its code, another corpus, or less than a batch"
            say(f"Starting anew: the vectors kept in {journal} are of {why}")
        finished = done
        progress.update(what, done, of)

    try:
        with show_progress() as progress:
            return embed_to_file(output, corpus, found, choices, batch_size=batch_size, progress=Progress(report))
    except (KeyboardInterrupt, RankjuryError):
        if finished:
            say(f"{finished:,} of {len(corpus):,} texts are kept: the same command goes on from there")
        raise
