"""An embedded PostgreSQL with the table, in place of a database of your own: only the recipe needs it."""

import os
from pathlib import Path

import numpy as np
import psycopg

from rankjury.retrieval.engines.pgvector.server import EmbeddedServer, acquire, release


def start() -> EmbeddedServer:
    """Start a server, fill the table, and set ARTICLES_DSN."""
    server = acquire(buffers=16)
    os.environ["ARTICLES_DSN"] = " ".join(f"{name}={value}" for name, value in server.parameters.items())
    ids, vectors = Path("corpus.ids.txt").read_text().split(), np.load("corpus.npy").tolist()
    rows = [(name, "", str(vector)) for name, vector in zip(ids, vectors, strict=True)]
    with connect() as connection:
        connection.execute(Path("schema.sql").read_text())
        connection.cursor().executemany("INSERT INTO articles VALUES (%s, %s, %s)", rows)
    return server


def connect() -> psycopg.Connection:
    """Return a connection to the database of ARTICLES_DSN."""
    return psycopg.connect(os.environ["ARTICLES_DSN"])


def stop(server: EmbeddedServer) -> None:
    """Stop the server, and remove its data."""
    release(server)
    del os.environ["ARTICLES_DSN"]
