"""Confidence intervals, paired tests, corrections and power for per-query scores. This package opens no files."""
