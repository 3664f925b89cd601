"""Makes rankjury's own engines known. Their libraries are loaded when an engine is made, not here."""

from rankjury.engines import endpoint, exact, faiss, hnsw_lib, lance, pgvector, qdrant, sqlite_vec, usearch

__all__ = ["endpoint", "exact", "faiss", "hnsw_lib", "lance", "pgvector", "qdrant", "sqlite_vec", "usearch"]
