"""Pure functions Judged → float64[queries]; one file a family. Importing this package registers them all."""

from rankjury.measures.metrics import average, cascade, counts, exposure, gain, novelty, sets, variety  # noqa: F401
