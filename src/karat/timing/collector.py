"""The time that Python's garbage collector takes, while something is measured."""

import gc
from time import perf_counter_ns
from typing import Any, Self

__all__ = ["Collections"]


class Collections:
    """Listens to the collector as long as it is entered."""

    def __init__(self) -> None:
        self._spans: list[tuple[int, int]] = []
        self._started: int | None = None

    def __enter__(self) -> Self:
        gc.callbacks.append(self._hear)
        return self

    def __exit__(self, *error: object) -> None:
        gc.callbacks.remove(self._hear)

    def _hear(self, phase: str, info: dict[str, Any]) -> None:
        now = perf_counter_ns()
        if phase == "start":
            self._started = now
        elif self._started is not None:
            self._spans.append((self._started, now))
            self._started = None

    def seconds(self, first: int, last: int) -> float:
        """What collections took that began between two moments of the clock."""
        return sum(end - start for start, end in self._spans if first <= start <= last) / 1e9
