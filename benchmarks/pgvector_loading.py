"""Times how vectors get into pgvector: as rankjury's engine loads them, and a bare COPY BINARY of bytes that were
ready.

One process starts an embedded PostgreSQL, makes the vectors and the ready bytes, and then the ways take turns; each is
one transaction that makes the table, fills it and commits. It prints seconds as JSON, of every round, and whether the
tables held the same. `attributes` is rankjury's way with two texts a row, `build` the engine's whole build with no
index, statistics for the planner included.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.params import settled
from rankjury.retrieval.engines.pgvector import Session, create, dropping
from rankjury.retrieval.engines.pgvector.connection import Link, Target
from rankjury.retrieval.engines.pgvector.copy import blocks_of, load
from rankjury.retrieval.engines.pgvector.params import BUILDS
from rankjury.retrieval.engines.pgvector.server import running
from rankjury.retrieval.engines.pgvector.sql import Table, copying, creation, name_columns, quoted

SEED, SCHEMA, KIND = 7, "loading", "vector"
START, END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"
CHECKSUM = "SELECT count(*), sum(hashtext(rankjury_row || rankjury_vector::text)) FROM {} WHERE rankjury_row % 50 = 0"
NOTHING = pl.DataFrame()

Fill = Callable[[Any], None]


def draw_texts(rows: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "colour": [("red", "blue")[row % 2] for row in range(rows)],
            "brand": [f"brand {row % 997}" for row in range(rows)],
        }
    )


def fill_alone(connection: Any, table: Table, fill: Fill) -> None:
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(dropping(SCHEMA))
        cursor.execute(f"CREATE SCHEMA {quoted(SCHEMA)}")
        cursor.execute(creation(table))
        fill(cursor)


def make_ways(vectors: Any) -> dict[str, Callable[[Any], object]]:
    """The ways by name; each takes a connection."""
    rows, dimensions = vectors.shape
    texts, built = draw_texts(rows), settled(BUILDS, {"index": "none"}, "build parameter")
    plain = Table(SCHEMA, "items", KIND, dimensions, rows)
    wide = Table(SCHEMA, "items", KIND, dimensions, rows, columns=name_columns(texts.columns))
    ready = [bytes(block) for _, block in blocks_of(vectors, NOTHING, KIND)]

    def send_ready(cursor: Any) -> None:
        with cursor.copy(copying(plain)) as copy:
            for block in (START, *ready, END):
                copy.write(block)

    def load_plain(cursor: Any) -> None:
        load(cursor, copying(plain), vectors, NOTHING, KIND)

    def load_wide(cursor: Any) -> None:
        load(cursor, copying(wide), vectors, texts, KIND)

    return {
        "bare": lambda connection: fill_alone(connection, plain, send_ready),
        "rankjury": lambda connection: fill_alone(connection, plain, load_plain),
        "attributes": lambda connection: fill_alone(connection, wide, load_wide),
        "build": lambda connection: create(connection, SCHEMA, "cosine", built, vectors, None, None),
    }


def time_ways(rows: int, dimensions: int, rounds: int, folder: str) -> dict[str, Any]:
    vectors = np.random.default_rng(SEED).standard_normal((rows, dimensions), dtype=np.float32)
    ways = make_ways(vectors)
    found: dict[str, Any] = {way: [] for way in ways}
    sums = set()
    with running(folder) as server:
        session = Session(read_only=False)
        session.make_extension = True
        link = Link(Target(server=server), session.greet)
        for _ in range(rounds):
            for way, fill in ways.items():
                link.connection.execute(dropping(SCHEMA))
                link.connection.execute("CHECKPOINT")
                start = time.perf_counter()
                fill(link.connection)
                found[way].append(time.perf_counter() - start)
                sums.add(link.connection.execute(CHECKSUM.format(quoted(SCHEMA, "items"))).fetchone())
        link.drop()
    return {**found, "same": len(sums) == 1, "postgresql": session.postgresql, "pgvector": session.version}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int)
    parser.add_argument("dimensions", type=int)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", default="", help="where PostgreSQL keeps its data (default: a temporary folder)")
    arguments = parser.parse_args()
    found = time_ways(arguments.rows, arguments.dimensions, arguments.rounds, arguments.folder)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
