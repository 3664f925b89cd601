"""rankjury neighbours: exact nearest neighbours, and diagnostics of the embedding space."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankjury.cli.shared import options
from rankjury.cli.shared.console import (
    check_folder,
    files_in_folder,
    ids_note,
    print_json,
    say,
    say_own_item,
    show_progress,
    warn,
)
from rankjury.core.text import plural
from rankjury.errors import UsageError

if TYPE_CHECKING:
    from rankjury.core.types import Ranking
    from rankjury.retrieval.rank import Space

GROUP = "Vectors"
ORDER = 1
MULTIPLIES_MATRICES = True
EPILOG = (
    "Examples:\n\n"
    "  rankjury neighbours vectors.npz:anchor -k 5\n\n"
    "  rankjury neighbours corpus.npy --ids ids.txt --queries queries.npy -k 100\n\n"
    "  rankjury neighbours items.parquet --candidates in-stock.txt -o run.trec\n\n"
    "Reads .npy, .npz, .parquet, .json, .jsonl and .safetensors; FILE:KEY selects one of several arrays or "
    "columns.\n\n"
    "Ties are ordered by id. On Spark, the result is identical.\n\n"
    "If the queries are the items, the item itself is excluded from its neighbours. For other queries, an item "
    "with the id of the query is kept."
)
_SHOWN = 5


def neighbours_command(
    vectors: Annotated[
        str, typer.Argument(metavar="VECTORS", help="Vectors of the items: FILE, FILE:KEY or NAME=FILE.")
    ],
    ids: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="File of row ids, if they have none; default: NAME.ids.txt, NAME_ids.txt or ids.txt beside them.",
        ),
    ] = None,
    queries: Annotated[
        str | None, typer.Option(metavar="VECTORS", help="Vectors to search with; default: the items.")
    ] = None,
    queries_ids: Annotated[
        str | None, typer.Option(metavar="FILE", help="File of row ids for --queries, if it has none.")
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Neighbours per query; 0 for all.")] = 10,
    distance: options.DistanceOption = "cosine",
    candidates: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Search only these items: a list of ids, or a table of query_id and item_id."
        ),
    ] = None,
    exclude_self: options.ExcludeSelfOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the run: .parquet, .trec, .csv, .jsonl, .json, .gz, or a folder.",
            callback=files_in_folder("run.parquet"),
        ),
    ] = None,
    as_json: options.JsonOption = False,
    on: options.OnOption = options.Backend.here,
    master: options.MasterOption = None,
    quiet: options.QuietOption = False,
) -> None:
    """Find exact nearest neighbours of vectors.

    Also prints diagnostics of the embedding space: norms, duplicates, hubs, ties.
    """
    vectors = options.split_name(vectors)[1]
    queries = None if queries is None else options.split_name(queries)[1]
    if k < 0:
        raise UsageError(f"-k is {k}", expected="1 or more, or 0 for all")
    if queries_ids is not None and queries is None:
        raise UsageError("--queries-ids without --queries", hint="Ids of the items are --ids.")
    if master is not None and on is not options.Backend.spark:
        raise UsageError("--master without --on spark", expected="both, or neither")
    if output is not None:
        from rankjury.io.formats import FORMATS, form_to_write

        check_folder(output)
        form_to_write(output, None, FORMATS)
    from rankjury.io.vectors import ids_file_of, read_candidates, read_vectors, same_file
    from rankjury.retrieval.rank import rank_listed, rank_vectors

    with show_progress(f"Reading {vectors}"):
        corpus = read_vectors(vectors, ids=ids)
        same = queries is not None and same_file(queries, vectors) and queries_ids in (None, ids)
        asked = None
        if queries is not None and not same:
            asked = read_vectors(queries, ids=queries_ids, taken=ids or ids_file_of(vectors))
        pool = None if candidates is None else read_candidates(candidates)
    import polars as pl

    if isinstance(pool, pl.DataFrame) and on is options.Backend.spark:
        raise UsageError(
            "--on spark with each query's own candidates", where=candidates, expected="a list of ids, or all items"
        )
    with ExitStack() as stack:
        search = None
        if on is options.Backend.spark:
            from rankjury.scale.spark.neighbors import nearest_on_spark
            from rankjury.scale.spark.session import open_session

            with show_progress("Starting Spark"):
                spark = stack.enter_context(open_session(master))
            search = partial(nearest_on_spark, spark)
        progress = stack.enter_context(show_progress())
        if isinstance(pool, pl.DataFrame):
            space = None
            ranking = rank_listed(corpus, asked, pool, k=k or None, metric=distance, exclude_self=exclude_self)
        else:
            space = rank_vectors(
                corpus,
                asked,
                k=k or None,
                metric=distance,
                candidates=pool,
                exclude_self=exclude_self,
                cuts=[k] if k else [],
                progress=progress,
                search=search,
            )
            ranking = space.ranking
    if output is not None:
        from rankjury.core.columns import ITEM
        from rankjury.io.formats import FORMATS, form_to_write, write

        frame = ranking.frame()
        if form_to_write(output, None, FORMATS)[0] == "trec":
            frame = frame.with_columns(ranking.items.alias(ITEM))  # its ranks settle ties of row numbers by number
        with show_progress(f"Writing {output}"):
            write(frame, output, "run")
    if as_json:
        form = {"schema": "rankjury.neighbours/1", "queries": len(ranking), "rows": len(ranking.items)}
        print_json(form | ({"space": space.hygiene.to_json()} if space else {}))
    else:
        _print(space, ranking)
    if ids is None and not as_json and vectors.endswith(".npy"):
        say(ids_note(vectors))
    if asked is not None and asked.numbered and not as_json:
        say("Ids of the queries: numbers from 0; --queries-ids FILE names them.")
    if asked is None:
        say_own_item(exclude_self is not False)
    warn(ranking.notes)
    if space is not None:
        warn(space.hygiene.notes())
    if output is not None:
        say(f"Wrote {output}: {len(ranking.items):,} rows. Next: rankjury evaluate GOLD {output}")
    elif not as_json:
        say("Next: keep the run with -o run.parquet")


def _print(space: "Space | None", ranking: "Ranking") -> None:
    """Print how much was found and what is a risk, the diagnostics, and the neighbours of the first queries."""
    from rankjury.reporting.console import console, print_rows, print_table
    from rankjury.reporting.sections.space import diagnostics_table

    lists = plural(len(ranking), "query", "queries")
    about = f" in {space.hygiene.sentence}" if space is not None else "."
    console().print(f"{plural(len(ranking.items), 'neighbour', 'neighbours')} of {lists}{about}\n")
    if space is not None:
        print_table(diagnostics_table(space.hygiene))
    print()
    frame = ranking.frame()
    rows = []
    for number in range(min(_SHOWN, len(ranking))):
        part = frame.slice(int(ranking.starts[number]), int(ranking.starts[number + 1] - ranking.starts[number]))
        nearest = part.head(_SHOWN).select("item_id", "score").iter_rows()
        shown = ", ".join(f"{item} ({score:.4f})" for item, score in nearest)
        rows.append([ranking.queries[number], shown + (" …" if part.height > _SHOWN else "")])
    print_rows(["query", "nearest (score)"], rows, text=(0, 1))
