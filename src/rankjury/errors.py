"""Exception tree: the errors that users meet.

    RankjuryError                 exit 1   base class, never raised directly
    ├── UsageError             exit 2   invalid request: an option, a name, a combination
    │   ├── UnknownName        exit 2   a misspelt measure, dialect, format …; suggests the nearest
    │   ├── ImpossibleSetting  exit 2   parameters with which an engine cannot index or search this corpus
    │   └── MissingExtra       exit 2   an optional library is not installed; names the extra
    └── DataError              exit 3   invalid data: unreadable, malformed, inconsistent
        ├── DuplicatePair      exit 3   a duplicate (query, item) pair
        ├── DamagedRun         exit 3   an archived run whose manifest, report or table was changed or removed
        └── EngineLost         exit 3   the connection to a search engine was lost

Each message says what was found, where, what was expected and what to do, in that order. Long values and long lists
are truncated (``shorten``), so messages do not grow with the data.

Files of unknown origin are read by Polars, NumPy, json and others, and the exceptions that these raise for damaged data
cannot be listed: Polars panics with an exception that is not an ``Exception``, NumPy passes headers through Python's
tokenizer, json stops at the recursion limit. So this module is the only one that catches all exceptions.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path
from threading import Lock
from typing import IO, Any


class _NativeStderr:
    """Capture of file descriptor 2 (stderr) while a file is read: Rust prints a panic there before Polars raises it.

    Only a command enables this, because the descriptor belongs to the process. Python's own standard error gets another
    descriptor. Captured text is printed afterwards unless it is a panic, which is raised as an error.
    """

    def __init__(self) -> None:
        self.enabled = False
        self._lock = Lock()
        self._readers = 0
        self._descriptor = -1
        self._text: IO[bytes] | None = None

    @contextmanager
    def capture(self) -> Iterator[None]:
        """Capture what is printed within the block; several threads may be in one at once."""
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
        except OSError:  # no folder for temporary files: a panic is printed to stderr
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
"""Maximum characters per part of a message: more than any message of rankjury, ten lines of a terminal."""
_MAX_DETAILS = 50
_NEAR = 0.1
"""How much less like a misspelt name a suggestion may be than the first one."""
_SHORTEST = 3
"""Letters of a name that is taken for the beginning of a longer one."""
_MAX_KNOWN = 100
"""Maximum number of known names listed: enough for all measures or keys of a table, not for all columns of a file."""
_MAX_BITS = 133
"""Maximum bits of an integer that is printed in full, 40 digits; Python refuses more than 4,300 digits."""


def shorten(value: object, most: int = 80, *, quoted: bool = False) -> str:
    """Return a value as text for a message; the middle of long text is cut out.

    Args:
        value: A text, or any other value, shown by its ``repr``.
        most: The maximum number of characters.
        quoted: Show text by its ``repr`` as well.

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
    """Base class of all errors that rankjury raises."""

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
        plan_hint: str | None = None,
    ) -> None:
        self.found = f"{found} ({count_note})" if count_note else found
        self.count_note = count_note
        """The number of faults, shown in brackets, such as ``3 duplicate pairs``."""
        self.where = where
        self.expected = expected
        self.hint = hint
        self.plan_hint = plan_hint
        """The hint with the keys of a plan, if ``hint`` names options of commands."""
        self.details = tuple(details)
        """Single faults, one line each, when several are reported together."""
        super().__init__(found, where, expected, hint)

    def drop_count(self) -> None:
        """Drop the number of faults, which is not known where only a part of the data was read.

        Example:
            >>> error.drop_count()
        """
        if self.count_note:
            self.found, self.count_note = self.found.removesuffix(f" ({self.count_note})"), None

    def lines(self) -> list[str]:
        """Return the message and each of its details; long parts are cut.

        Example:
            >>> error.lines()[0]
            "unknown measure 'ndgc'. Did you mean ndcg?"
        """
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
    """Invalid request: an option, a name or a combination of options."""

    exit_code = 2


def _near_names(name: str, known: Collection[str]) -> list[str]:
    """Return names that begin with this one, else up to three like it, none much less like it than the first.

    A field that is named with its object, as in metadata.lang, is near to the field, lang.
    """
    _, dot, field = name.rpartition(".")
    if dot and field in known:
        return [field]
    longer = sorted((other for other in known if other.startswith(name)), key=len)
    if longer and len(name) >= _SHORTEST:
        return longer[:3]
    matches = get_close_matches(name, known, n=3, cutoff=0.5)
    likeness = [SequenceMatcher(None, match, name).ratio() for match in matches]
    return [match for match, ratio in zip(matches, likeness, strict=True) if ratio >= likeness[0] - _NEAR]


class UnknownName(UsageError):  # noqa: N818 - the name describes the error
    """Unknown name; lists the known names and suggests the nearest. A suffix, such as ``@10``, follows each of them."""

    def __init__(
        self, kind: str, name: str, known: Iterable[str], *, where: str | None = None, suffix: str = ""
    ) -> None:
        names = sorted(set(known))
        folded = {candidate.lower(): candidate for candidate in names}
        near = [folded[match] + suffix for match in _near_names(shorten(name).lower(), folded)]
        more = f" and {len(names) - _MAX_KNOWN:,} more" if len(names) > _MAX_KNOWN else ""
        listed = ", ".join(shorten(f"{known_name}{suffix}") for known_name in names[:_MAX_KNOWN]) + more
        hint = f"Did you mean {' or '.join(near)}?" if near else f"Known: {listed}"
        shown = shorten(f"{name}{suffix}" if suffix else name, quoted=True)
        super().__init__(f"unknown {kind} {shown}", where=where, hint=hint)
        self.kind = kind
        self.name = name
        self.suggestions = near


class ImpossibleSetting(UsageError):  # noqa: N818
    """Parameters with which an engine can never index or search this corpus: a sweep skips them permanently."""


def install_command(extra: str) -> str:
    """Return the command that installs an optional dependency of rankjury."""
    return f"pip install 'rankjury[{extra}]'"


class MissingExtra(UsageError):  # noqa: N818
    """An optional dependency is not installed."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the library {library!r}, which is not installed",
            hint=f"Install it with: {install_command(extra)}",
        )


class DataError(RankjuryError):
    """Invalid data: unreadable, malformed or inconsistent."""

    exit_code = 3


class DuplicatePair(DataError):  # noqa: N818
    """Duplicate (query, item) pair."""

    def __init__(self, query: str, item: str, pairs: int, where: str) -> None:
        super().__init__(
            f"duplicate item {shorten(item)!r} for query {shorten(query)!r}",
            where=where,
            expected="each (query, item) pair once",
            hint='Keep one of them with --duplicates first, last or max; in Python duplicates="first".',
            count_note=f"{pairs:,} duplicate {'pair' if pairs == 1 else 'pairs'}",
            plan_hint='Keep one of them with duplicates = "first", "last" or "max" under [conventions].',
        )
        self.query = query
        self.item = item


class DamagedRun(DataError):  # noqa: N818
    """Archived run with a file that is missing, changed, or not written by rankjury."""

    def __init__(self, file: Path, fault: str, *, expected: str | None = None) -> None:
        super().__init__(f"the run is damaged: {fault}", where=str(file), expected=expected)
        self.run = file.parent.name
        self.file = file.name
        self.fault = fault

    @property
    def in_archive(self) -> str:
        """The error without the path of the archive."""
        return f"{self.run}/{self.file}: {self.found}" + (f"; expected {self.expected}" if self.expected else "")


class EngineLost(DataError):  # noqa: N818
    """An engine is not reachable any more, so further queries are useless."""


@contextmanager
def guard_reading(where: str, format: str | None = None, *, expected: str = "a whole file") -> Iterator[None]:
    """Turn any error raised while a file, or a frame of another library, is read into a DataError that names the file.

    Args:
        where: The file as the user named it, or a description of the frame.
        format: The format that is being read, such as ``Parquet`` or ``a table``; part of the message.
        expected: The expected content.

    Raises:
        DataError: For any error that is not a RankjuryError. Ctrl-C and exit requests pass unchanged.
    """
    try:
        with NATIVE_STDERR.capture():
            yield
    except (RankjuryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except FileNotFoundError as error:
        raise DataError("no such file", where=where) from error
    except MemoryError as error:
        raise DataError("not enough memory to read it", where=where) from error
    except RecursionError as error:
        raise DataError("nested too deeply", where=where, expected="a few levels") from error
    except UnicodeError as error:
        raise DataError("found text that is not UTF-8", where=where, expected="UTF-8") from error
    except BaseException as error:  # Polars' PanicException is not an Exception
        kind = f" as {format}" if format else ""
        raise DataError(f"cannot be read{kind}: {_reason(error)}", where=where, expected=expected) from error


def parse_toml(
    text: str, where: str, *, fault: type[RankjuryError] = DataError, expected: str | None = None
) -> dict[str, Any]:
    """Parse TOML.

    Args:
        text: The text of the file.
        where: The file as the user named it.
        fault: The class of the error: ``UsageError`` for files in which a user writes a request, such as a plan.
        expected: The expected content.

    Raises:
        RankjuryError: The text is not TOML; an instance of ``fault``.
    """
    import tomllib  # not at the top: every command imports this module, and few read TOML

    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise fault("nested too deeply", where=where, expected="a few levels") from error
    except ValueError as error:  # TOMLDecodeError, or Python's error for an integer of more than 4,300 digits
        raise fault(f"not TOML: {_reason(error)}", where=where, expected=expected) from error


def _reason(error: BaseException) -> str:
    """Return the first line of an error's message, truncated; the type of the error if it has no message.

    Messages of Polars panics describe its own code and are replaced.
    """
    if type(error).__name__ == "PanicException":
        return "its data is damaged"
    text = (getattr(error, "strerror", None) or str(error)).strip().partition("\n")[0].strip()
    if len(text) > 200:  # some messages quote the whole file
        text = f"{text[:200]}…"
    return text or type(error).__name__
