"""Paths that tests read: the repository, the bundled samples, and real data beside the checkout."""

from pathlib import Path

import rankjury

ROOT = Path(__file__).parents[1]
"""The checkout."""
SAMPLES = Path(rankjury.__file__).parent / "plan" / "samples"
SHARED = ROOT.parent / "shared" / "data"
"""Real data; tests that use it skip where it is absent."""
