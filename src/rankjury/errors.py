"""Exception tree: the errors that users meet.

    RankjuryError                 exit 1   anything below; never raised itself
    ├── UsageError             exit 2   the request is wrong: an option, a name, a combination
    │   ├── UnknownName        exit 2   a misspelt measure, dialect, format …; suggests the nearest
    │   ├── ImpossibleSetting  exit 2   parameters that an engine cannot be built or searched with, on this corpus
    │   └── MissingExtra       exit 2   an optional library is not installed; names the extra
    └── DataError              exit 3   the data is wrong: unreadable, malformed, inconsistent
        ├── DuplicatePair      exit 3   a duplicate (query, item) pair
        ├── DamagedRun         exit 3   an archived run whose manifest, report or table is not as it was stored
        └── EngineLost         exit 3   a search engine that answered before cannot be reached

Each says what was found, where, what was expected and what to do, in that order. No message grows with the data: long
values and long lists are cut (``shorten``).

Readers hand bytes of unknown origin to Polars, NumPy, json and others, and what these raise about damage cannot be
listed: Polars panics with an exception that is not an ``Exception``, NumPy passes headers through Python's tokenizer,
json stops at the recursion limit. So this is the one place that catches broadly.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from threading import Lock
from typing import IO, Any


class _NativeStderr:
    """Capture of descriptor 2 while a file is read: Rust prints a panic there, before Polars raises it.

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
    def capture(self) -> Iterator[None]:
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
        if text and b"panicked at " not in text:
            os.write(self._descriptor, text)
        os.close(self._descriptor)
        self._text = None


NATIVE_STDERR = _NativeStderr()

_MAX_PART = 1_000
"""Characters of a part of a message: more than any that rankjury words itself, ten lines of a terminal."""
_MAX_DETAILS = 50
_MAX_KNOWN = 100
"""Known names listed for one that is unknown: all measures or keys of a table, but not all columns of a file."""
_MAX_BITS = 133
"""Bits of an integer that is written out, 40 digits; Python refuses to write more than 4,300 digits."""


def shorten(value: object, most: int = 80, *, quoted: bool = False) -> str:
    """Return a value as text for a message, with its middle cut out where it is long.

    Args:
        value: A text, or any other value, of which the ``repr`` is shown.
        most: The number of characters from which on it is cut.
        quoted: Show a text by its ``repr``, too.

    Example:
        >>> shorten("a" * 1000, 20)
        'aaaaaaaaaaaaaa…aaaaaa (1,000 characters)'
    """
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return f"an integer of {value.bit_length():,} bits"
    text = value if isinstance(value, str) else repr(value)
    end = most // 3
    cut = text if len(text) <= most else f"{text[: most - end]}…{text[len(text) - end :]}"
    shown = repr(cut) if quoted and isinstance(value, str) else cut
    return shown if len(text) <= most else f"{shown} ({len(text):,} characters)"


class RankjuryError(Exception):
    """Base of every error that rankjury raises on purpose."""

    exit_code = 1

    def __init__(
        self,
        found: str,
        *,
        where: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
        details: Sequence[str] = (),
        count_note: str | None = None,
    ) -> None:
        self.found = f"{found} ({count_note})" if count_note else found
        self.count_note = count_note
        """The number of such faults, shown in brackets: 3 duplicate pairs."""
        self.where = where
        self.expected = expected
        self.hint = hint
        self.details = tuple(details)
        """Single faults, one line each, where several are reported together."""
        super().__init__(found, where, expected, hint)

    def drop_count(self) -> None:
        """Drop the number of faults, which is not known where only a part of the data was read."""
        if self.count_note:
            self.found, self.count_note = self.found.removesuffix(f" ({self.count_note})"), None

    def lines(self) -> list[str]:
        """Return the message and each of its details; long parts are cut."""
        found = shorten(self.found, _MAX_PART)
        text = f"{shorten(self.where, _MAX_PART)}: {found}" if self.where else found
        if self.expected:
            text += f"; expected {shorten(self.expected, _MAX_PART)}"
        if self.hint:
            text += f". {shorten(self.hint, _MAX_PART)}"
        details = [shorten(detail, _MAX_PART) for detail in self.details[:_MAX_DETAILS]]
        others = len(self.details) - _MAX_DETAILS
        return [text, *details, *([f"and {others:,} more"] if others > 0 else [])]

    def __str__(self) -> str:
        return "\n  ".join(self.lines())


class UsageError(RankjuryError):
    """The request is wrong: an option, a name, a combination."""

    exit_code = 2


class UnknownName(UsageError):  # noqa: N818 - reads as what it says
    """A name that is in no registry; lists the known ones and suggests the nearest."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, where: str | None = None) -> None:
        names = sorted(set(known))
        folded = {candidate.lower(): candidate for candidate in names}
        near = [folded[match] for match in get_close_matches(shorten(name).lower(), folded, n=3, cutoff=0.5)]
        more = f" and {len(names) - _MAX_KNOWN:,} more" if len(names) > _MAX_KNOWN else ""
        listed = ", ".join(map(shorten, names[:_MAX_KNOWN])) + more
        hint = f"Did you mean {' or '.join(near)}?" if near else f"Known: {listed}"
        super().__init__(f"unknown {kind} {shorten(name, quoted=True)}", where=where, hint=hint)
        self.kind = kind
        self.name = name
        self.suggestions = near


class ImpossibleSetting(UsageError):  # noqa: N818
    """Parameters that an engine can never be built or searched with on this corpus: a sweep skips them for good."""


def install_command(extra: str) -> str:
    """Return the command that installs an extra of rankjury."""
    return f"pip install 'rankjury[{extra}]'"


class MissingExtra(UsageError):  # noqa: N818
    """An optional dependency is needed and absent."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the library {library!r}, which is not installed",
            hint=f"Install it with: {install_command(extra)}",
        )


class DataError(RankjuryError):
    """The data cannot be used as it is."""

    exit_code = 3


class DuplicatePair(DataError):  # noqa: N818
    """A duplicate (query, item) pair."""

    def __init__(self, query: str, item: str, pairs: int, where: str) -> None:
        super().__init__(
            f"duplicate item {shorten(item)!r} for query {shorten(query)!r}",
            where=where,
            expected="each (query, item) pair once",
            hint="Keep one of them with --duplicates first, last or max.",
            count_note=f"{pairs:,} duplicate {'pair' if pairs == 1 else 'pairs'}",
        )
        self.query = query
        self.item = item


class DamagedRun(DataError):  # noqa: N818
    """A file of an archived run is gone, was changed, or is not as rankjury writes it."""

    def __init__(self, file: Path, fault: str, *, expected: str | None = None) -> None:
        super().__init__(f"the run is damaged: {fault}", where=str(file), expected=expected)
        self.run = file.parent.name
        self.file = file.name
        self.fault = fault

    @property
    def in_archive(self) -> str:
        """The error without the folder of the archive."""
        return f"{self.run}/{self.file}: {self.found}" + (f"; expected {self.expected}" if self.expected else "")


class EngineLost(DataError):  # noqa: N818
    """An engine cannot be reached any more: sending it the next query is useless."""


@contextmanager
def guard_reading(where: str, format: str | None = None, *, expected: str = "a whole file") -> Iterator[None]:
    """Turn any error raised while a file, or a frame of another library, is read into a DataError with its place.

    Args:
        where: The file as the user named it, or what the frame holds.
        format: What the file is read as, such as ``Parquet`` or ``a table``; named in the message.
        expected: What is expected.

    Raises:
        DataError: In place of any error that is not rankjury's own. Ctrl-C and exit requests pass unchanged.
    """
    try:
        with NATIVE_STDERR.capture():
            yield
    except (RankjuryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except FileNotFoundError as error:
        raise DataError("no such file", where=where) from error
    except MemoryError as error:
        raise DataError("reading it needs more memory than there is", where=where) from error
    except RecursionError as error:
        raise DataError("nested too deeply", where=where, expected="a few levels") from error
    except UnicodeError as error:
        raise DataError("found text that is not UTF-8", where=where, expected="UTF-8") from error
    except BaseException as error:  # Polars' PanicException is not an Exception
        kind = f" as {format}" if format else ""
        raise DataError(f"cannot be read{kind}: {_reason(error)}", where=where, expected=expected) from error


def parse_toml(text: str, where: str, *, fault: type[RankjuryError] = DataError) -> dict[str, Any]:
    """Parse a TOML text.

    Args:
        text: The content of the file.
        where: The file as the user named it.
        fault: The error that is raised: ``UsageError`` for what a user writes as a request, such as a plan.

    Raises:
        RankjuryError: The text is not TOML; of the class ``fault``.
    """
    import tomllib  # not at the top: every command imports this module, and few read TOML

    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise fault("nested too deeply", where=where, expected="a few levels") from error
    except ValueError as error:  # TOMLDecodeError, and what Python says of an integer of more than 4,300 digits
        raise fault(f"not TOML: {_reason(error)}", where=where) from error


def _reason(error: BaseException) -> str:
    """Return the first line of an error's message, cut where it is long; its type where it has none.

    What Polars says of a panic is about its own code.
    """
    if type(error).__name__ == "PanicException":
        return "its data is damaged"
    text = (getattr(error, "strerror", None) or str(error)).strip().partition("\n")[0].strip()
    if len(text) > 200:  # some quote the whole file
        text = f"{text[:200]}…"
    return text or type(error).__name__
