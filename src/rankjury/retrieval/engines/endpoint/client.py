"""How somebody's own search is asked, by HTTP or as a function, and how its answers are read."""

from collections.abc import Mapping
from threading import Lock
from typing import Any, Protocol, Self

_LONGEST_SHOWN = 200


class Asker(Protocol):
    """Asks for one query; used by one thread at a time."""

    shown: str
    """What is asked, without secrets."""
    takes_texts: bool
    sends_filter: bool
    """Whether the filter goes with the query."""

    def ask(self, query: Any, k: int, filter: Mapping[str, str] | None) -> Any:
        """The answer as it came; ``filter``: attributes of the items that may be found, and their values."""
        ...

    def clean(self, text: str) -> str:
        """What may be shown of an answer: cut, and without secrets."""
        ...

    def for_thread(self) -> Self:
        """For another thread."""
        ...

    def close(self) -> None: ...


class Counts:
    """What happened, how often; for several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: dict[str, int] = {}

    def add(self, what: str, n: int = 1) -> None:
        if n:
            with self._lock:
                self._counts[what] = self._counts.get(what, 0) + n

    def __getitem__(self, what: str) -> int:
        return self._counts.get(what, 0)


def shortened(text: str) -> str:
    """In one line, and no more of it than a message can bear; what is no text (half of a surrogate) is escaped."""
    line = " ".join(text[: 8 * _LONGEST_SHOWN].encode("utf-8", "backslashreplace").decode().split())
    return f"{line[:_LONGEST_SHOWN]}…" if len(line) > _LONGEST_SHOWN else line
