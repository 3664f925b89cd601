"""Texts to vectors: chunking, embedding models, vector files."""
