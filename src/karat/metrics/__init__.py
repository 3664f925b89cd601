"""Pure functions Judged → float64[queries]; one file a family. Importing this package registers them all."""

from karat.metrics import average, cascade, counts, gain, overlap, preference, reciprocal, sets

__all__ = ["average", "cascade", "counts", "gain", "overlap", "preference", "reciprocal", "sets"]
