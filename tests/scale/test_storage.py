"""Frames between the rounds: some in memory, the rest on disk, all of them again and again in their order."""

import resource
from pathlib import Path

import polars as pl
import pytest

from rankjury.errors import DataError
from rankjury.scale.local import ScoreStore

FRAMES = [pl.DataFrame({"query_id": [f"q{number}"] * 50, "0.0": [number / 3] * 50}) for number in range(20)]
SIZE = int(FRAMES[0].estimated_size())


@pytest.mark.parametrize("held", [0, 7, 100])
def test_they_come_back_as_often_as_they_are_asked_for(tmp_path: Path, held: int) -> None:
    with ScoreStore(held * SIZE + 20, tmp_path) as kept:
        for frame in FRAMES:
            kept.add(frame)
        assert len(kept) == len(FRAMES)
        for _ in range(2):
            assert all(one.equals(other) for one, other in zip(kept, FRAMES, strict=True))
        assert list(tmp_path.iterdir()) == []


def test_what_fits_needs_no_folder(tmp_path: Path) -> None:
    with ScoreStore(10**6, tmp_path / "nowhere") as kept:
        kept.add(FRAMES[0])
        assert len(kept) == 1


def test_a_full_disk(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, limits[1]))
    try:
        with (
            pytest.raises(DataError, match=r"too small: File too large .*room for the scores of all queries.*--temp"),
            ScoreStore(0, tmp_path) as kept,
        ):
            for frame in FRAMES:
                kept.add(frame)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
