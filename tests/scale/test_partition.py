"""Rows parted on disk: nothing is lost, queries stay whole whatever the skew, and space is freed whatever happens."""

import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rankjury.errors import DataError
from rankjury.scale.blocks import Partition
from tests.paths import ROOT

SCHEMA = pl.Schema({"query_id": pl.Int64, "item_id": pl.String})


def rows_of(queries: list[int] | np.ndarray) -> pl.DataFrame:
    return pl.DataFrame({"query_id": queries}).select("query_id", item_id=pl.int_range(pl.len()).cast(pl.String))


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_each_query_is_in_one_block_in_the_order_of_its_rows() -> None:
    frame = rows_of(np.random.default_rng(1).integers(0, 500, 20_000))
    with Partition([SCHEMA, SCHEMA], 40_000, 1_000) as partition:
        for first in range(0, 20_000, 3_000):
            partition.add(0, frame.slice(first, 3_000))
            partition.add(1, frame.slice(first, 3_000))
        blocks = list(partition.blocks())
    assert all(one.equals(other) for one, other in blocks)
    assert max(one.height + other.height for one, other in blocks) <= 1_000
    assert len(blocks) < 80, "small buckets go together"
    found = pl.concat(one for one, _ in blocks)
    assert sum(one["query_id"].n_unique() for one, _ in blocks) == frame["query_id"].n_unique()
    assert found.sort("query_id", maintain_order=True).equals(frame.sort("query_id", maintain_order=True))


def test_a_query_with_half_of_all_rows_is_alone_and_whole() -> None:
    queries = np.arange(20_000) % 1_000
    queries[::2] = 7
    with Partition([SCHEMA], 20_000, 500) as partition:
        partition.add(0, rows_of(queries))
        blocks = [block for (block,) in partition.blocks()]
    large = [block for block in blocks if block.height > 500]
    assert len(large) == 1 and set(large[0]["query_id"]) == {7}
    assert large[0]["item_id"].cast(pl.Int64).is_sorted()
    assert sum(block.height for block in blocks) == 20_000
    assert sum(block["query_id"].n_unique() for block in blocks) == len(set(queries.tolist()))


def test_many_more_rows_than_expected_are_parted_again() -> None:
    with Partition([SCHEMA], 10, 100) as partition:
        partition.add(0, rows_of(np.arange(50_000) % 5_000))
        heights = [block.height for (block,) in partition.blocks()]
    assert sum(heights) == 50_000 and max(heights) <= 100


def test_a_table_without_rows_has_its_columns() -> None:
    other = pl.Schema({"query_id": pl.Int64, "length": pl.Int16})
    with Partition([SCHEMA, other], 3, 100) as partition:
        assert list(partition.blocks()) == []
        partition.add(0, rows_of([1, 2, 1]))
        ((rows, none),) = partition.blocks()
    assert rows.height == 3 and none.schema == other and none.is_empty()


def test_nothing_is_seen_in_the_folder_and_all_is_closed(tmp_path: Path) -> None:
    before = open_files()
    partition = Partition([SCHEMA, SCHEMA], 1_000, 10, temp=tmp_path)
    partition.add(0, rows_of([1] * 500 + [2] * 500))
    assert list(tmp_path.iterdir()) == [] and open_files() == before + 1
    blocks = partition.blocks()
    next(blocks)
    blocks.close()
    partition.close()
    assert open_files() == before


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere: the temporary folder cannot be written: No such file.*--temp DIR"):
        Partition([SCHEMA], 10, 10, temp=tmp_path / "nowhere")


def test_too_little_space_is_said_before_anything_is_written(tmp_path: Path) -> None:
    with (
        Partition([SCHEMA], 10, 10, temp=tmp_path) as partition,
        pytest.raises(DataError, match=r"too small: .* are free; expected room for about 1e\+06 TB\. .*--temp DIR"),
    ):
        partition.check_space(1e18)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own that is soon full; skipped where none can be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(folder)], capture_output=True)
    except OSError as error:
        pytest.skip(f"no disk can be mounted here: {error}")
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(temp: Path) -> None:
    with Partition([SCHEMA], 60_000, 1_000, temp=temp) as partition:
        for _ in range(60):
            partition.add(0, rows_of(np.arange(1_000)))


def test_a_full_disk(small_disk: Path) -> None:
    before = open_files()
    found = r"disk: .*too small: No space left on device after \d+ kB; expected room for about \d\.\d+ MB.*--temp DIR"
    with pytest.raises(DataError, match=found):
        fill(small_disk)
    assert open_files() == before and list(small_disk.iterdir()) == []


def test_a_file_that_may_not_become_larger(tmp_path: Path) -> None:
    """Python turns the signal that comes of it into an error."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(DataError, match="too small: File too large after"):
            fill(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


INTERRUPTED = """
import signal, sys
from pathlib import Path
import polars as pl
from rankjury.core.progress import Progress
from rankjury.scale.blocks import read_blocks
from rankjury.scale.memory import Budget
from rankjury.scale.parquet import open_table

signal.signal(signal.SIGINT, signal.default_int_handler)

def tell(what, done, of):
    if what == "Partitioning" and done > of / 2:
        print("half", flush=True)
        sys.stdin.read()

folder = Path(sys.argv[1])
run = open_table(folder / "run.parquet", "run")
list(read_blocks([run], Budget(10**9, 400), temp=folder / "temp", progress=Progress(tell)))
"""


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, kind: signal.Signals) -> None:
    rows = rows_of(np.arange(2_000)[::-1]).with_columns(score=1.0)
    rows.write_parquet(tmp_path / "run.parquet")
    temp = tmp_path / "temp"
    temp.mkdir()
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=-1, stdout=-1, stderr=-1, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "half\n"
        process.send_signal(kind)
        assert process.wait(timeout=20) == -kind
    assert list(temp.iterdir()) == []
