"""Measures: spelling, conventions, dialects of other tools, and the metrics themselves."""
