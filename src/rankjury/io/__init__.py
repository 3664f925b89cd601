"""File formats: TREC, JSON, JSON Lines, CSV, Parquet, vectors; one table reader."""
