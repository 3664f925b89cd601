"""Sizes as people write them, and how many rows fit."""

import pytest

from rankjury.errors import UsageError
from rankjury.io.source import available_memory, in_units
from rankjury.scale.memory import LEAST_MEMORY, Budget, parse_memory


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
    small, large = Budget(LEAST_MEMORY), Budget(10**9)
    assert 100_000 < small.block_rows(24) < large.block_rows(24) < Budget(10**12).block_rows(24)
    assert large.block_rows(200) < large.block_rows(24)
    assert Budget(10**12).block_rows(24) == Budget(10**12).most_rows, "larger blocks gain nothing"
    assert large.batch_rows(24) * 4 == large.block_rows(24) // 4 * 4
    assert Budget(1).block_rows(10**6) > 0
