"""Guard at the boundary of reading: whatever a library raises about a damaged file becomes a DataError.

Readers hand bytes of unknown origin to Polars, NumPy, json and others, and what these raise about damage cannot be
listed: Polars panics with an exception that is not an ``Exception``, NumPy passes headers through Python's tokenizer,
json stops at the recursion limit. So this is the one place that catches broadly.
"""

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from karat.errors import DataError, KaratError
from karat.panics import NATIVE_STDERR

__all__ = ["guard_reading", "parse_toml"]

_LONGEST_REASON = 200
"""Characters of a library's message that are shown; some quote the whole file."""


@contextmanager
def guard_reading(
    where: str, format: str | None = None, *, line: int | None = None, expected: str | None = None
) -> Iterator[None]:
    """Turn any error raised while a file, or a frame of another library, is read into a DataError with its place.

    Args:
        where: The file as the user named it, or what the frame holds.
        format: What the file is read as, such as ``Parquet`` or ``a table``; named in the message.
        line: The line being read, where it is known.
        expected: What is expected; unset: a whole file.

    Raises:
        DataError: In place of any error that is not karat's own. Ctrl-C and exit requests pass unchanged.
    """
    place = where if line is None else f"{where}:{line}"
    try:
        with NATIVE_STDERR.held():
            yield
    except (KaratError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except FileNotFoundError as error:
        raise DataError("no such file", where=place) from error
    except MemoryError as error:
        raise DataError("reading it needs more memory than there is", where=place) from error
    except RecursionError as error:
        raise DataError("nested too deeply", where=place, expected="a few levels") from error
    except UnicodeError as error:
        raise DataError("found text that is not UTF-8", where=place, expected="UTF-8") from error
    except BaseException as error:  # Polars' PanicException is not an Exception
        kind = f" as {format}" if format else ""
        expected = expected or "a whole file"
        raise DataError(f"cannot be read{kind}: {_reason(error)}", where=place, expected=expected) from error


def parse_toml(text: str, where: str, *, fault: type[KaratError] = DataError) -> dict[str, Any]:
    """Parse a TOML text.

    Args:
        text: The content of the file.
        where: The file as the user named it.
        fault: The error that is raised: ``UsageError`` for what a user writes as a request, such as a plan.

    Raises:
        KaratError: The text is not TOML; of the class ``fault``.
    """
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
    if len(text) > _LONGEST_REASON:
        text = f"{text[:_LONGEST_REASON]}…"
    return text or type(error).__name__
