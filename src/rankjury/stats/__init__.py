"""Intervals, paired tests, corrections, power: arithmetic on per-query scores. No file is opened here."""
