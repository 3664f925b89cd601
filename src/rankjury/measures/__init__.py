"""Measures: their spelling, conventions, the dialects of other tools, and the metric functions."""
