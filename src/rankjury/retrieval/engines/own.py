"""Makes rankjury's own engines known. Their libraries are loaded when an engine is made, not here."""

from rankjury.retrieval.engines import endpoint, exact, faiss, pgvector, qdrant, sqlite_vec, usearch
from rankjury.retrieval.engines import hnswlib as hnsw_lib
from rankjury.retrieval.engines import lancedb as lance

__all__ = ["endpoint", "exact", "faiss", "hnsw_lib", "lance", "pgvector", "qdrant", "sqlite_vec", "usearch"]
