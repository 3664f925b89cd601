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

from rankjury.core.params import resolve_params
from rankjury.core.progress import NO_PROGRESS
from rankjury.retrieval.engines.pgvector import Pgvector
from rankjury.retrieval.engines.pgvector.connection import DatabaseAddress, DatabaseConnection, Session, quote_name
from rankjury.retrieval.engines.pgvector.server import acquire, release
from rankjury.retrieval.engines.pgvector.table import (
    VectorTable,
    create_statement,
    encode_rows,
    load_rows,
    name_columns,
)

SEED, SCHEMA, KIND = 7, "loading", "vector"
START, END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"
CHECKSUM = "SELECT count(*), sum(hashtext(rankjury_row || rankjury_vector::text)) FROM {} WHERE rankjury_row % 50 = 0"
DROP = f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE"
NOTHING = pl.DataFrame()

Fill = Callable[[Any], None]


def draw_texts(rows: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "colour": [("red", "blue")[row % 2] for row in range(rows)],
            "brand": [f"brand {row % 997}" for row in range(rows)],
        }
    )


def fill_alone(connection: Any, table: VectorTable, fill: Fill) -> None:
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(DROP)
        cursor.execute(f"CREATE SCHEMA {SCHEMA}")
        cursor.execute(create_statement(table))
        fill(cursor)


def make_ways(vectors: Any) -> dict[str, Callable[[Any], object]]:
    """The ways by name; each takes a connection."""
    rows, dimensions = vectors.shape
    texts = draw_texts(rows)
    plain = VectorTable(SCHEMA, "items", KIND, dimensions, rows)
    wide = VectorTable(SCHEMA, "items", KIND, dimensions, rows, columns=name_columns(texts.columns))
    ready = [bytes(block) for _, block in encode_rows(vectors, NOTHING, KIND)]

    def send_ready(cursor: Any) -> None:
        with cursor.copy(f"COPY {plain.quoted} FROM STDIN (FORMAT BINARY, FREEZE)") as copy:
            for block in (START, *ready, END):
                copy.write(block)

    def load_plain(cursor: Any) -> None:
        load_rows(cursor, plain, vectors, NOTHING)

    def load_wide(cursor: Any) -> None:
        load_rows(cursor, wide, vectors, texts)

    # The engine's build without its server and connection, so that all ways share those of this process.
    engine = Pgvector()
    engine._schema, (engine._items, engine._dimensions) = SCHEMA, vectors.shape
    engine._build_values = resolve_params(engine.build_params, {"index": "none"}, "build parameter")

    return {
        "bare": lambda connection: fill_alone(connection, plain, send_ready),
        "rankjury": lambda connection: fill_alone(connection, plain, load_plain),
        "attributes": lambda connection: fill_alone(connection, wide, load_wide),
        "build": lambda connection: engine._create(connection, vectors, NO_PROGRESS),
    }


def time_ways(rows: int, dimensions: int, rounds: int, folder: str) -> dict[str, Any]:
    vectors = np.random.default_rng(SEED).standard_normal((rows, dimensions), dtype=np.float32)
    ways = make_ways(vectors)
    found: dict[str, Any] = {way: [] for way in ways}
    sums = set()
    server = acquire(folder)
    try:
        session = Session(read_only=False)
        session.create_extension = True
        database = DatabaseConnection(DatabaseAddress(server=server), session)
        for _ in range(rounds):
            for way, fill in ways.items():
                database.connection.execute(DROP)
                database.connection.execute("CHECKPOINT")
                start = time.perf_counter()
                fill(database.connection)
                found[way].append(time.perf_counter() - start)
                sums.add(database.connection.execute(CHECKSUM.format(quote_name(SCHEMA, "items"))).fetchone())
        database.drop()
    finally:
        release(server)
    return {**found, "same": len(sums) == 1, "postgresql": session.postgresql, "pgvector": session.pgvector}


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
