"""Retrieval: exact search, vector engines, index benchmarks, fusion, embedding, agreement of embeddings."""
