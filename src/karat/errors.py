"""Errors that users meet.

    KaratError                 exit 1   anything below; never raised itself
    ├── UsageError             exit 2   the request is off: an option, a name, a combination
    │   ├── UnknownName        exit 2   a misspelt measure, dialect, format …; suggests the nearest
    │   ├── ImpossibleSetting  exit 2   parameters that an engine cannot be built or searched with, on this corpus
    │   └── MissingExtra       exit 2   an optional library is not installed; names the extra
    └── DataError              exit 3   the data is off: unreadable, malformed, inconsistent
        ├── DuplicatePair      exit 3   an item stands twice for a query
        └── EngineLost         exit 3   a search engine that answered before does so no more

Each says what was found, where, what was expected and what to do, in that order.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

__all__ = [
    "DataError", "DuplicatePair", "EngineLost", "ImpossibleSetting", "KaratError", "MissingExtra", "UnknownName",
    "UsageError",
]  # fmt: skip


class KaratError(Exception):
    """Base of every error that karat raises on purpose."""

    exit_code = 1

    def __init__(
        self,
        found: str,
        *,
        where: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
        details: Sequence[str] = (),
        such: str | None = None,
    ) -> None:
        self.found = f"{found} ({such})" if such else found
        self.such = such
        """How many there are of what was found: 3 such pairs."""
        self.where = where
        self.expected = expected
        self.hint = hint
        self.details = tuple(details)
        """Single faults, a line each, where several are reported together."""
        super().__init__(found, where, expected, hint)

    def forget_count(self) -> None:
        """Where only a part of the data was looked at, it is not known how many there are."""
        if self.such:
            self.found, self.such = self.found.removesuffix(f" ({self.such})"), None

    def __str__(self) -> str:
        text = f"{self.where}: {self.found}" if self.where else self.found
        if self.expected:
            text += f"; expected {self.expected}"
        if self.hint:
            text += f". {self.hint}"
        return "\n  ".join([text, *self.details])


class UsageError(KaratError):
    """What was asked for makes no sense as it stands."""

    exit_code = 2


class UnknownName(UsageError):  # noqa: N818 - reads as what it says
    """A name that is in no registry; lists the known ones and suggests the nearest."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, where: str | None = None) -> None:
        names = sorted(set(known))
        folded = {candidate.lower(): candidate for candidate in names}
        near = [folded[match] for match in get_close_matches(str(name).lower(), folded, n=3, cutoff=0.5)]
        hint = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(names)}"
        super().__init__(f"unknown {kind} {name!r}", where=where, hint=hint)
        self.kind = kind
        self.name = name
        self.suggestions = near


class ImpossibleSetting(UsageError):  # noqa: N818
    """Parameters that an engine can never be built or searched with on this corpus: a sweep skips them for good."""


class MissingExtra(UsageError):  # noqa: N818
    """An optional dependency is needed and absent."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the library {library!r}, which is not installed",
            hint=f"Install it with: pip install 'karat[{extra}]'",
        )


class DataError(KaratError):
    """The data cannot be used as it is."""

    exit_code = 3


class DuplicatePair(DataError):  # noqa: N818
    """An item stands more than once for a query."""

    def __init__(self, query: str, item: str, pairs: int, where: str) -> None:
        super().__init__(
            f"item {item!r} stands more than once for query {query!r}",
            where=where,
            expected="each (query, item) pair once",
            hint="Keep one of them with --duplicates first, last or max.",
            such=f"{pairs:,} such {'pair' if pairs == 1 else 'pairs'}",
        )
        self.query = query
        self.item = item


class EngineLost(DataError):  # noqa: N818
    """An engine cannot be reached any more: to ask it for the next query is of no use."""
