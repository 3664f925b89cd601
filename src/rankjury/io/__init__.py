"""File formats: TREC, JSON, JSON Lines, CSV, Parquet and vectors, with one table reader."""
