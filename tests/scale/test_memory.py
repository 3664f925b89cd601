"""Sizes as people write them, and how many rows fit."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rankjury.errors import UsageError
from rankjury.io.source import available_memory, in_units
from rankjury.scale.memory import MIN_MEMORY, Budget, parse_memory


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2GB", 2 * 10**9),
        (" 2 gb ", 2 * 10**9),
        ("2g", 2 * 10**9),
        ("1.5GiB", 3 * 2**29),
        ("600MB", 600 * 10**6),
        ("1024 MiB", 2**30),
        ("700000KB", 7 * 10**8),
        (".5Tb", 5 * 10**11),
        ("1TiB", 2**40),
        ("3000000000", 3 * 10**9),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize(
    "text", ["", "GB", "two GB", "-2GB", "2XB", "2iB", "1e9", "2GB2", "nan", "inf", "²GB", "9" * 400]
)
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(UsageError, match=r"expected a size such as 2GB, 512MB or 1\.5GiB"):
        parse_memory(text)


@pytest.mark.parametrize("text", ["0", "100MB", "511MB"])
def test_too_small_a_size(text: str) -> None:
    with pytest.raises(UsageError, match="too small; expected at least 512 MB"):
        parse_memory(text)


def test_sizes_are_shown_as_they_are_given() -> None:
    assert [in_units(size) for size in (0, 999, 2_500, 512e6, 2e9, 1.5e12)] == [
        *("0 B", "999 B", "2.5 kB", "512 MB", "2 GB", "1.5 TB")
    ]


def test_some_memory_is_there() -> None:
    assert 10**7 < available_memory() < 10**14


def test_more_memory_takes_more_rows_and_longer_ids_fewer() -> None:
    small, large = Budget(MIN_MEMORY), Budget(10**9)
    assert 100_000 < small.block_rows(24) < large.block_rows(24) < Budget(10**12).block_rows(24)
    assert large.block_rows(200) < large.block_rows(24)
    assert Budget(10**12).block_rows(24) == Budget(10**12).max_rows, "larger blocks gain nothing"
    assert large.batch_rows(24) * 4 == large.block_rows(24) // 4 * 4
    assert Budget(1).block_rows(10**6) > 0


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
