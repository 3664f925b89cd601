"""Evaluation: gold and ranking are judged, measured, compared, sliced and gated; the result is a Report."""
