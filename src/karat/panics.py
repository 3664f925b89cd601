"""Rust panics in Polars: their text is kept off standard error, since Polars raises them as an exception as well."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import IO

__all__ = ["NATIVE_STDERR"]

_PANIC = b"panicked at "


class _NativeStderr:
    """Descriptor 2 while a file is read: Rust prints a panic there, before Polars raises it.

    Only a command enables this, and gives Python's own standard error another descriptor: the descriptor belongs to the
    process, and so not to a library. What was printed is passed on afterwards, unless it is a panic: that is raised.
    """

    def __init__(self) -> None:
        self.enabled = False
        self._lock = Lock()
        self._readers = 0
        self._descriptor = -1
        self._text: IO[bytes] | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold back what is printed within the block; several threads may be in one at once."""
        if not self.enabled:
            yield
            return
        with self._lock:
            self._readers += 1
            if self._readers == 1:
                self._begin()
        try:
            yield
        finally:
            with self._lock:
                self._readers -= 1
                if self._readers == 0:
                    self._end()

    def _begin(self) -> None:
        try:
            import tempfile  # takes as long to load as the rest of a short command

            self._text = tempfile.TemporaryFile()  # noqa: SIM115 - closed by _end
        except OSError:  # no folder for temporary files: a panic is printed then
            return
        self._descriptor = os.dup(2)
        os.dup2(self._text.fileno(), 2)

    def _end(self) -> None:
        if self._text is None:
            return
        os.dup2(self._descriptor, 2)
        with self._text as file:
            file.seek(0)
            text = file.read()
        if text and _PANIC not in text:
            os.write(self._descriptor, text)
        os.close(self._descriptor)
        self._text = None


NATIVE_STDERR = _NativeStderr()
