"""Ctrl-C while Spark is being asked: its answer is waited for, after its jobs were told to end.

An exception in the middle of a question would leave the line to Java with an answer on it that nobody waits for; what
PySpark does then is to close all of its lines, with a page of errors.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import current_thread, main_thread
from types import FrameType

__all__ = ["Interrupt", "held_back"]

_ASKING = ("py4j", "pyspark")


@dataclass
class Interrupt:
    """Whether Ctrl-C was pressed, and is still to be heard."""

    pressed: bool = False

    def raise_it(self) -> None:
        if self.pressed:
            raise KeyboardInterrupt from None


@contextmanager
def held_back() -> Iterator[Interrupt]:
    """Note the first Ctrl-C that comes while Spark is asked; any other is raised where it comes."""
    interrupt = Interrupt()
    before = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(before):
        yield interrupt
        return

    def note(number: int, frame: FrameType | None) -> None:
        if interrupt.pressed or not _asks_spark(frame):
            before(number, frame)
        else:
            interrupt.pressed = True

    signal.signal(signal.SIGINT, note)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)


def _asks_spark(frame: FrameType | None) -> bool:
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] in _ASKING:
            return True
        frame = frame.f_back
    return False
