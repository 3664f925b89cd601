#!/usr/bin/env python3
"""Measures how long vectors take to get into pgvector, against a bare COPY BINARY of bytes that were ready.

  loading   100,000 x 384 into karat's own table, as the engine loads it, and the same bytes, made beforehand, sent by
            psycopg into a table of the same columns; they take turns on one embedded PostgreSQL

Both are one transaction: the table is made, filled and committed. Vectors are in memory when the clock starts. Exit
status: 0 if all went well, whatever the speed; 1 if the tables differ or a process failed; 2 for wrong options.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from harness import Results, measure_process, render_table, run_parts, verdict, worker_command
from options import add_shared_options, find_karat_python

ROWS, DIMENSIONS = 100_000, 384
MOST_OF_BARE = 1.3
SEED = 7
NAMES = {
    "bare": "bytes that were ready",
    "karat": "karat, from the vectors",
    "attributes": "karat, with two attributes",
}


def time_loading(rows: int, rounds: int, folder: str) -> Results:
    """Let the ways take turns, in a process that has karat; each leaves its table to be compared, and drops it."""
    import numpy as np
    import polars as pl

    from karat.engines.pgvector.links import Link, Target
    from karat.engines.pgvector.loading import blocks_of, load
    from karat.engines.pgvector.server import running
    from karat.engines.pgvector.sessions import Session
    from karat.engines.pgvector.statements import Table, copying, creation

    vectors = np.random.default_rng(SEED).standard_normal((rows, DIMENSIONS), dtype=np.float32)
    texts = pl.DataFrame(
        {"colour": ["red", "blue"] * (rows // 2), "brand": [f"brand {row % 997}" for row in range(rows)]}
    )
    plain, wide = (
        Table("public", "loaded", "vector", DIMENSIONS, rows, columns=names) for names in ({}, {"a": "a", "b": "b"})
    )
    ready = [bytes(block) for _, block in blocks_of(vectors, pl.DataFrame(), "vector")]

    def send_ready(cursor: Any) -> None:
        with cursor.copy(copying(plain)) as copy:
            copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
            for block in ready:
                copy.write(block)
            copy.write(b"\xff\xff")

    ways: dict[str, tuple[Table, Callable[[Any], None]]] = {
        "bare": (plain, send_ready),
        "karat": (plain, lambda cursor: load(cursor, copying(plain), vectors, pl.DataFrame(), "vector")),
        "attributes": (wide, lambda cursor: load(cursor, copying(wide), vectors, texts, "vector")),
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    sums = {}
    with running(folder) as server:
        session = Session(read_only=False)
        session.make_extension = True
        link = Link(Target(server=server), session.greet)
        for _ in range(rounds):
            for way, (table, fill) in ways.items():
                seconds[way].append(time_once(link.connection, creation(table), fill))
                sums[way] = link.connection.execute(
                    "SELECT count(*), sum(hashtext(karat_row || karat_vector::text)) FROM public.loaded WHERE karat_row % 50 = 0"
                ).fetchone()
                link.connection.execute("DROP TABLE public.loaded; CHECKPOINT")
        link.drop()
    return {"seconds": seconds, "same": len({tuple(map(str, found)) for found in sums.values()}) == 1}


def time_once(connection: Any, creation: str, fill: Callable[[Any], None]) -> float:
    start = time.perf_counter()
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(creation)
        fill(cursor)
    return time.perf_counter() - start


def run_loading(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    rows = ROWS // 5 if arguments.quick else ROWS
    options = ("worker", "--rows", str(rows), "--rounds", str(arguments.rounds), "--folder", arguments.folder)
    command = worker_command(find_karat_python(arguments), "pgvector_loading.py", *options)
    found = json.loads(measure_process(command).output)
    best = {way: min(seconds) for way, seconds in found["seconds"].items()}
    lines = [
        (NAMES[way], f"{best[way]:.3f}", f"{max(found['seconds'][way]):.3f}", f"{best[way] / best['bare']:.2f}")
        for way in NAMES
    ]
    print(f"\n{rows:,} x {DIMENSIONS}, best of {arguments.rounds}:\n")
    print(render_table(("loaded", "best, seconds", "worst", "/ bare"), lines), flush=True)
    ratio = best["karat"] / best["bare"]
    text = f"{rows:,} x {DIMENSIONS} into pgvector: at most {MOST_OF_BARE} x a bare COPY BINARY: {ratio:.2f} x"
    verdicts = [
        verdict(ratio <= MOST_OF_BARE, text),
        verdict(found["same"], "the tables hold the same rows"),
    ]
    return {"rows": rows, "dimensions": DIMENSIONS, **found}, verdicts, found["same"]


PARTS = {"loading": run_loading}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all", help="what to measure (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="a fifth of the vectors")
    parser.add_argument("--folder", default="", help="where PostgreSQL keeps its data (default: a temporary folder)")
    add_shared_options(parser, rounds=5)
    return run_parts("pgvector_loading", PARTS, parser.parse_args())


def work() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=("worker",))
    parser.add_argument("--rows", type=int)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--folder")
    arguments = parser.parse_args()
    print(json.dumps(time_loading(arguments.rows, arguments.rounds, arguments.folder)), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        work()
    else:
        sys.exit(main())
