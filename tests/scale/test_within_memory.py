"""Memory is set by --memory, not by the data."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

QUERIES = 50_000
MEASURED = """
import re, sys
from pathlib import Path
from rankjury.cli import main

try:
    main()
finally:
    print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1], file=sys.stderr)
"""
"""The peak of rusage is that of the parent's, where this was larger."""


def rows(each: int, value: str) -> pl.DataFrame:
    """Ids that are text, in no order."""
    chance = np.random.default_rng(each)
    items = (chance.integers(0, 1000, QUERIES)[:, None] * 7 + 13 * np.arange(each)) % 5000
    found = pl.DataFrame({"query_id": np.repeat(np.arange(QUERIES), each), "item_id": items.ravel()})
    found = found.select(
        pl.format("user-{}", "query_id").alias("query_id"), pl.format("i-{}", "item_id").alias("item_id")
    )
    return found.with_columns(pl.Series(value, chance.random(found.height))).sample(fraction=1.0, shuffle=True, seed=1)


def measured(folder: Path, *more: str) -> tuple[str, int]:
    """What is printed, and the most memory that the process took."""
    given = ["evaluate", "gold.parquet", "run.parquet", "-m", "ndcg@10,ap", "--resamples", "100", "-q", *more]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *given],
        cwd=folder,
        env=os.environ | {"POLARS_MAX_THREADS": "2", "RANKJURY_THREADS": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, int(done.stderr.split()[-1]) * 1024


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak of a process alone")
def test_4_million_rows_in_600_megabytes(tmp_path: Path) -> None:
    rows(10, "grade").write_parquet(tmp_path / "gold.parquet", row_group_size=100_000)
    rows(80, "score").write_parquet(tmp_path / "run.parquet", row_group_size=100_000)
    expected, at_once = measured(tmp_path)
    found, in_blocks = measured(tmp_path, "--memory", "600MB")
    assert found == expected
    assert in_blocks < 600e6 < at_once
