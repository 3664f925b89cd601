"""Frames of scores between the rounds: in memory while they fit, then on disk."""

from collections.abc import Iterator
from pathlib import Path
from typing import Self

import polars as pl

from karat.scale.scratch import Piece, Scratch

__all__ = ["Kept"]


class Kept:
    """Frames that can be gone through several times."""

    def __init__(self, memory: int, temp: Path | None = None) -> None:
        self._memory, self._temp = memory, temp
        self._frames: list[pl.DataFrame] = []
        self._held = 0
        self._scratch: Scratch | None = None
        self._pieces: list[Piece] = []

    def add(self, frame: pl.DataFrame) -> None:
        size = int(frame.estimated_size())
        if self._scratch is None and self._held + size <= self._memory:
            self._frames.append(frame)
            self._held += size
            return
        if self._scratch is None:
            self._scratch = Scratch(self._temp)
        try:
            self._pieces.append(self._scratch.append(frame))
        except OSError as error:
            raise self._scratch.fault(error) from error

    def __len__(self) -> int:
        return len(self._frames) + len(self._pieces)

    def __iter__(self) -> Iterator[pl.DataFrame]:
        yield from self._frames
        if self._scratch is not None:
            yield from map(self._scratch.read, self._pieces)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._scratch is not None:
            self._scratch.close()
