"""Parquet: golds and runs, and files that declare what cannot be, which are refused before Polars reads them."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rankjury.errors import DataError
from rankjury.io.formats import read, read_gold, read_run
from rankjury.io.parquet import _Thrift, check_parquet, read_schema, read_whole
from tests.io.support import exact, read_rows


def _put(folder: Path, columns: dict[str, Any], name: str = "table.parquet") -> Path:
    pl.DataFrame(columns).write_parquet(folder / name)
    return folder / name


@pytest.mark.parametrize("name", ["run.parquet", "run.pq", "run.bin", "run.csv"])
def test_content_tells_parquet_whatever_the_suffix(tmp_path: Path, name: str) -> None:
    path = _put(tmp_path, {"query_id": ["q"], "item_id": ["d"], "score": [0.1]}, name)
    assert read_rows(path, "run") == exact([("q", "d", 0.1)])


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt16, pl.Int32, pl.Int64, pl.UInt64, pl.Categorical, pl.String])
def test_ids_of_any_whole_type(tmp_path: Path, dtype: Any) -> None:
    ids = (
        pl.Series(["7", "42"]).cast(dtype) if dtype in (pl.Categorical, pl.String) else pl.Series([7, 42], dtype=dtype)
    )
    path = _put(tmp_path, {"qid": ids, "docid": ids, "rel": [1, 2]})
    gold = read_gold(path)
    assert gold.queries.to_list() == ["7", "42"]
    assert gold.items.cast(pl.String).to_list() == ["7", "42"]


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64, pl.Int32, pl.UInt8])
def test_numbers_of_any_width(tmp_path: Path, dtype: Any) -> None:
    path = _put(tmp_path, {"query_id": ["q"], "item_id": ["d"], "score": pl.Series([3], dtype=dtype)})
    assert read_rows(path, "run") == exact([("q", "d", 3.0)])


def test_a_rank_alone_makes_a_run(tmp_path: Path) -> None:
    run = read_run(_put(tmp_path, {"query_id": ["q", "q"], "item_id": ["a", "b"], "rank": [2, 1]}))
    assert run.scores is not None
    assert run.scores.tolist() == [-2.0, -1.0]


_no_text, _no_numbers = pl.Series([], dtype=pl.String), pl.Series([], dtype=pl.Float64)


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"query_id": ["q", None], "item_id": ["a", "b"], "score": [1.0, 2.0]}, "row 2 has no query_id"),
        ({"query_id": ["q", "q"], "item_id": ["a", "b"], "score": [None, 2.0]}, "row 1 has no score"),
        ({"query_id": ["q"], "item_id": ["a"], "score": ["1"]}, "score is of type String"),
        ({"query_id": ["q"], "item_id": ["a"], "score": [float("nan")]}, "the score of item 'a' for query 'q' is NaN"),
        ({"query_id": ["q"], "item_id": ["a"], "score": [float("-inf")]}, "is -inf"),
        ({"query_id": [1.5], "item_id": ["a"], "score": [1.0]}, "floating-point"),
        ({"a": [1], "b": [2]}, "found the columns a, b"),
        ({"query_id": ["q"], "item_id": ["a"], "grade": [1]}, "no column for score or rank"),
        (dict(zip(["query_id", "item_id", "score"], [_no_text, _no_text, _no_numbers], strict=True)), "no rows"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, columns: dict[str, Any], found: str) -> None:
    with pytest.raises(DataError) as caught:
        read_run(_put(tmp_path, columns))
    assert found in str(caught.value)


@pytest.mark.parametrize("ids", [[["q"]], [b"\xff"], [{"a": 1}]])
def test_ids_that_are_neither_text_nor_whole_are_refused(tmp_path: Path, ids: list[Any]) -> None:
    with pytest.raises(DataError):
        read_run(_put(tmp_path, {"query_id": ids, "item_id": ["a"], "score": [1.0]}))


def test_a_run_with_ranks_is_no_gold(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="are those of a run"):
        read(_put(tmp_path, {"query_id": ["q"], "item_id": ["a"], "score": [1.5], "rank": [1]}), "gold")


def test_fractional_scores_are_no_grades(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        read(_put(tmp_path, {"query_id": ["q"], "item_id": ["a"], "score": [1.5]}), "gold")


def _whole_file() -> bytes:
    buffer = io.BytesIO()
    ids = [f"d{number}" for number in range(500)]
    pl.DataFrame({"query_id": ids, "item_id": ids, "score": [0.5] * 500}).write_parquet(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[:-200],
        lambda data: data[:4],
        lambda data: data[:12],
        lambda data: data[:40] + b"\xff" * 60 + data[100:],
        lambda data: b"JUNK" + data[4:],
    ],
)
def test_a_damaged_file_is_an_error_of_the_data(tmp_path: Path, damage: Any) -> None:
    path = tmp_path / "run.parquet"
    path.write_bytes(damage(_whole_file()))
    with pytest.raises(DataError) as caught:
        read(path, "run")
    assert str(path) in str(caught.value.where)
    assert "Parquet" in caught.value.found


ROWS = pl.DataFrame({"query_id": [f"q{n // 9}" for n in range(90)], "item_id": [f"d{n}" for n in range(90)],
                     "score": [float(n) for n in range(90)]})  # fmt: skip
ODD = (-1, 2**31 - 1, 2**33, 2**45, 2**62)


def written(frame: pl.DataFrame = ROWS, **options: Any) -> bytes:
    held = io.BytesIO()
    frame.write_parquet(held, **options)
    return held.getvalue()


def footer_of(content: bytes) -> bytes:
    length = int.from_bytes(content[-8:-4], "little")
    return content[-8 - length : -8]


def with_footer(content: bytes, footer: bytes) -> bytes:
    start = len(content) - 8 - len(footer_of(content))
    return content[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


class _Numbers(_Thrift):
    """Remembers where each whole number of the footer stands."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.found: list[tuple[int, int]] = []

    def _zigzag(self) -> int:
        start = self.place
        value = super()._zigzag()
        self.found.append((start, self.place))
        return value


def varint(number: int) -> bytes:
    value, octets = (number << 1 ^ number >> 63) & (2**64 - 1), bytearray()
    while value > 127:
        octets.append(value & 127 | 128)
        value >>= 7
    return bytes([*octets, value])


def with_odd_numbers() -> Iterator[tuple[int, int, bytes]]:
    content = written()
    footer = footer_of(content)
    numbers = _Numbers(footer)
    numbers.struct()
    for place, (start, end) in enumerate(numbers.found):
        for odd in ODD:
            yield place, odd, with_footer(content, footer[:start] + varint(odd) + footer[end:])


@pytest.mark.parametrize(
    "options", [{}, {"compression": "uncompressed"}, {"row_group_size": 20}, {"data_page_size": 64}]
)
@pytest.mark.parametrize("frame", [ROWS, ROWS.clear(), ROWS.select(v=pl.concat_list("score", "score"), n=pl.lit(None))])
def test_whole_files_pass(frame: pl.DataFrame, options: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(written(frame, **options))
    assert read_whole(tmp_path / "a.parquet", "a").equals(frame)
    assert read_schema(written(frame, **options), "a") == frame.schema


@pytest.mark.parametrize("rows", [0, 90])
@pytest.mark.parametrize(
    "options",
    [{}, {"data_page_version": "2.0"}, {"use_dictionary": False}, {"data_page_size": 50, "row_group_size": 30}],
)
def test_files_of_another_writer_pass(rows: int, options: dict[str, Any], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(ROWS.head(rows).to_arrow(), tmp_path / "a.parquet", **options)
    assert read_whole(tmp_path / "a.parquet", "a").equals(ROWS.head(rows))


def test_huge_numbers_in_the_footer_never_abort_or_panic() -> None:
    """Where one is not refused, it is one that Polars does not use or refuses by itself."""
    refused = 0
    for place, odd, content in with_odd_numbers():
        try:
            read_whole(content, "odd.parquet")
        except DataError as error:
            refused += 1
            assert "odd.parquet: " in str(error), (place, odd)
            assert "panic" not in str(error).lower(), (place, odd)
    assert refused > 100


@pytest.mark.parametrize(
    "content",
    [
        b"PAR1", b"PAR1PAR1", b"PAR1" + b"\xff\xff\xff\x7fPAR1", b"PAR1\0\0\0\0PAR1", b"PARE" + bytes(20) + b"PARE",
        written()[:-1], written()[: len(written()) // 2], b"PAR1" + written()[40:], written()[:-12] + written()[-8:],
        with_footer(written(), b"\x19\xfc\xff\xff\xff\xff\x0f"), with_footer(written(), b"\x1c" * 400),
        with_footer(written(), b"\x16" + b"\xff" * 20),
    ],
)  # fmt: skip
def test_what_is_cut_or_damaged_is_refused(content: bytes) -> None:
    with pytest.raises(DataError, match=r"cut\.parquet"):
        check_parquet(content, "cut.parquet")


def test_pages_that_are_said_to_be_longer_than_their_column_are_refused() -> None:
    content = written(compression="uncompressed")
    head = _Numbers(content[4:400])
    head.struct()
    start, end = head.found[2]  # the compressed size of the first page
    assert end - start == 2 or end - start == 1
    damaged = content[: 4 + start] + (b"\xff\x7f" if end - start == 2 else b"\x7f") + content[4 + end :]
    with pytest.raises(DataError, match=r"a\.parquet"):
        check_parquet(damaged, "a.parquet")


def test_flipped_bytes_are_errors_of_the_data(tmp_path: Path) -> None:
    content = written(compression="uncompressed")
    path = tmp_path / "run.parquet"
    for place in range(4, len(content), 23):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x81]) + content[place + 1 :])
        try:
            read(path, "run")
        except DataError as error:
            assert str(path) in str(error)


@pytest.mark.parametrize(("kind", "bits"), [(4, 16), (5, 32), (6, 64)])
def test_the_least_whole_number_of_a_type_is_one(kind: int, bits: int) -> None:
    """A checksum may be any 32 bits."""
    least, rest = b"", (1 << bits) - 1  # the zigzag encoding of the least number
    while rest > 127:
        least, rest = least + bytes([rest & 127 | 128]), rest >> 7
    assert _Thrift(bytes([16 | kind]) + least + bytes([rest, 0])).struct() == {1: -1 << bits - 1}
