"""Whatever the order of rows, files and batches: every query is in one block, with all its rows in their order."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from rankjury.core.progress import Progress
from rankjury.errors import DataError
from rankjury.scale.blocks import Block, read_blocks
from rankjury.scale.memory import Budget
from rankjury.scale.parquet import ParquetTable, open_table

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


@settings(max_examples=40, deadline=None)
@given(
    gold=rows_of_files,
    run=rows_of_files,
    attributes=rows_of_files,
    text=st.tuples(st.booleans(), st.booleans()),
    in_order=st.booleans(),
    most_rows=st.integers(1, 60),
)
def test_all_rows_of_a_query_are_in_one_block(
    gold: list[list[int]],
    run: list[list[int]],
    attributes: list[list[int]],
    text: tuple[bool, bool],
    in_order: bool,
    most_rows: int,
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
        check(tables, list(read_blocks(tables, Budget(GIGABYTE, most_rows))))


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
