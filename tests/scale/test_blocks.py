"""Whatever the order of rows, files and batches: every query is in one block, with all its rows in their order."""

import resource
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

from rankjury.core.progress import Progress
from rankjury.errors import DataError
from rankjury.scale.blocks import Block, Partition, read_blocks
from rankjury.scale.memory import Budget
from rankjury.scale.parquet import ParquetTable, open_table
from tests.paths import ROOT
from tests.stats.support import thorough

GIGABYTE = 10**9
KINDS = {"gold": "grade", "run": "score", "attributes": "length"}

small_ids = st.integers(-3, 12)
rows_of_files = st.lists(st.lists(small_ids, max_size=30), min_size=1, max_size=4).filter(any)


def put(folder: Path, kind: str, files: list[list[int]], *, text: bool) -> ParquetTable:
    """A table of these queries; the value of a row is its place in the table."""
    folder.mkdir()
    place = 0
    for number, queries in enumerate(files):
        ids = pl.Series(queries, dtype=pl.Int64)
        frame = pl.DataFrame({"query_id": ids, "item_id": ids + 100, KINDS[kind]: range(place, place + len(queries))})
        if text:
            frame = frame.with_columns(pl.col("query_id", "item_id").cast(pl.String))
        frame.drop("item_id" if kind == "attributes" else []).write_parquet(folder / f"part-{number}.parquet")
        place += len(queries)
    return open_table(folder, kind)


def check(tables: list[ParquetTable], blocks: list[Block]) -> None:
    """All rows are there once, no query is in two blocks, and its rows are next to each other in their order."""
    text = any(table.schema["query_id"] == pl.String for table in tables)
    of_block = Counter(query for block in blocks for query in set().union(*(set(frame["query_id"]) for frame in block)))
    assert set(of_block.values()) == {1}
    for number, table in enumerate(tables):
        frames = [block[number] for block in blocks]
        assert {frame.schema["query_id"] for frame in frames} == {pl.String if text else pl.Int64}
        assert all(frame.columns == table.schema.names() for frame in frames)
        for frame in frames:
            heads = frame["query_id"].rle_id().max()
            assert frame.is_empty() or heads == frame["query_id"].n_unique() - 1
        given = pl.concat(table.batches(1000)).with_columns(pl.col("query_id").cast(frames[0].schema["query_id"]))
        given = given.cast({name: frames[0].schema[name] for name in given.columns})
        found = pl.concat(frames)
        by_query = {"by": "query_id", "maintain_order": True}
        assert found.sort(**by_query).equals(given.sort(**by_query))


@thorough(40)
@given(
    gold=rows_of_files,
    run=rows_of_files,
    attributes=rows_of_files,
    text=st.tuples(st.booleans(), st.booleans()),
    in_order=st.booleans(),
    max_rows=st.integers(1, 60),
)
def test_all_rows_of_a_query_are_in_one_block(
    gold: list[list[int]],
    run: list[list[int]],
    attributes: list[list[int]],
    text: tuple[bool, bool],
    in_order: bool,
    max_rows: int,
) -> None:
    def ordered(files: list[list[int]]) -> list[list[int]]:
        if not in_order:
            return files
        rest = iter(sorted(query for file in files for query in file))
        return [[next(rest) for _ in file] for file in files]

    with TemporaryDirectory() as folder:
        tables = [
            put(Path(folder, "gold"), "gold", ordered(gold), text=text[0]),
            put(Path(folder, "run"), "run", ordered(run), text=text[1]),
            put(Path(folder, "attributes"), "attributes", ordered(attributes), text=text[0]),
        ]
        check(tables, list(read_blocks(tables, Budget(GIGABYTE, max_rows))))


def test_sorted_tables_need_no_disk(tmp_path: Path) -> None:
    """Queries 0 to 9 in each, over several files; only one of the tables has query 4, and it has many rows."""
    gold = put(tmp_path / "gold", "gold", [[0, 0, 1], [1, 2, 3], [], [5, 6, 7, 8, 9]], text=False)
    run = put(tmp_path / "run", "run", [[0, 1, 2, 3], [4] * 50, [4] * 50 + [5], [6, 7, 8, 9]], text=False)
    told: list[str] = []
    nowhere = tmp_path / "nowhere"
    blocks = list(
        read_blocks(
            [gold, run], Budget(GIGABYTE, 8), temp=nowhere, progress=Progress(lambda what, done, of: told.append(what))
        )
    )
    check([gold, run], blocks)
    assert len(blocks) > 4 and set(told) == {"Reading"}
    assert max(frame["query_id"].n_unique() for block in blocks for frame in block if frame.height > 8) == 1


def test_a_late_row_out_of_order_is_seen_before_any_block(tmp_path: Path) -> None:
    gold = put(tmp_path / "gold", "gold", [list(range(100))], text=False)
    run = put(tmp_path / "run", "run", [list(range(100)), [99, 98]], text=False)
    told: list[tuple[str, int, int]] = []
    blocks = list(read_blocks([gold, run], Budget(GIGABYTE, 50), progress=Progress(lambda *now: told.append(now))))
    check([gold, run], blocks)
    assert told[-1][0] == "Partitioning" and told[-1][2] == 202
    assert [done for what, done, _ in told if what == "Partitioning"] == sorted(
        done for what, done, _ in told if what == "Partitioning"
    )


def test_numbers_sorted_as_numbers_are_not_sorted_as_text(tmp_path: Path) -> None:
    gold = put(tmp_path / "gold", "gold", [[2, 9, 10, 11]], text=False)
    run = put(tmp_path / "run", "run", [[10, 11, 2, 9]], text=True)
    check([gold, run], list(read_blocks([gold, run], Budget(GIGABYTE, 2))))


def test_an_error_in_the_middle_frees_the_files(tmp_path: Path) -> None:
    run = put(tmp_path / "run", "run", [[3, 2, 1], [5, 4]], text=False)
    bad = run.files[1]
    bad.write_bytes(bad.read_bytes()[:40] + b"\xff" * 100 + bad.read_bytes()[140:])
    temp = tmp_path / "temp"
    temp.mkdir()
    with pytest.raises(DataError, match=r"part-1\.parquet: cannot be read as Parquet"):
        list(read_blocks([run], Budget(GIGABYTE, 2), temp=temp))
    assert list(temp.iterdir()) == []


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
    with Partition([SCHEMA, SCHEMA], 1_000, 10, temp=tmp_path) as partition:
        partition.add(0, rows_of([1] * 500 + [2] * 500))
        assert list(tmp_path.iterdir()) == [] and open_files() == before + 1
        blocks = partition.blocks()
        next(blocks)
        blocks.close()
    assert open_files() == before


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere: the temporary folder cannot be written: No such file.*--temp DIR"):
        Partition([SCHEMA], 10, 10, temp=tmp_path / "nowhere")


def test_too_little_space_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with (
        Partition([SCHEMA], 10, 10, temp=tmp_path) as partition,
        pytest.raises(DataError, match=r"too small: .* are free; expected .*1e\+06 TB\. .*--temp DIR"),
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
    found = r"disk: .*too small: No space left on device after \d+ kB; expected .*\d\.\d+ MB.*--temp DIR"
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
