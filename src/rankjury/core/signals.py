"""Signals that end a command, Ctrl-C, SIGTERM and SIGHUP: one line, an exit code and no traceback, at any moment.

While a command works, a signal raises KeyboardInterrupt, so that what is open is closed and what is temporary removed.
Before, while modules are loaded, and after, there is nothing to clean up, and the process ends at once: an exception in
the middle of an import comes out as whatever the module makes of it.
"""

import os
import signal

TYPE_CHECKING = False  # this is loaded before signals can be handled, and so loads little itself
if TYPE_CHECKING:
    from types import FrameType

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_received: int | None = None
_works = False


def install() -> None:
    """Handle the signals of this process; those that it ignores, as under nohup, stay ignored."""
    for name in _NAMES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _handle)


class Working:
    """The time in which a command works: a signal raises KeyboardInterrupt, instead of ending the process."""

    def __enter__(self) -> None:
        global _works
        _works = True

    def __exit__(self, *error: object) -> None:
        global _works
        _works = False


def is_ending() -> bool:
    """Return whether a signal was received: an error after it is one of the interruption."""
    return _received is not None


def exit_code() -> int:
    """Return the exit code of an interrupted command: 128 and the number of the signal."""
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
