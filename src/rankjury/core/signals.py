"""Signals that end a command: Ctrl-C, SIGTERM and SIGHUP give one line, an exit code and no traceback, at any time.

While a command runs, a signal raises KeyboardInterrupt, so that open files are closed and temporary ones removed. While
modules are loaded, and at the end, there is nothing to clean up, and the process exits immediately: an exception during
an import might be caught by the imported module.
"""

import os
import signal

TYPE_CHECKING = False  # imported before signals can be handled, so it imports little
if TYPE_CHECKING:
    from types import FrameType

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_received: int | None = None
_works = False


def install() -> None:
    """Install the signal handlers; ignored signals, as under nohup, stay ignored."""
    for name in _NAMES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _handle)


class Working:
    """Context of a running command: a signal raises KeyboardInterrupt instead of ending the process."""

    def __enter__(self) -> None:
        global _works
        _works = True

    def __exit__(self, *error: object) -> None:
        global _works
        _works = False


def is_ending() -> bool:
    """Return whether a signal was received, so that later errors are due to the interruption."""
    return _received is not None


def exit_code() -> int:
    """Return the exit code of an interrupted command: 128 plus the signal number."""
    return 128 + (_received or signal.SIGINT)


def _handle(number: int, frame: "FrameType | None") -> None:
    global _received
    _received = number
    if _works:
        raise KeyboardInterrupt
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(exit_code())
