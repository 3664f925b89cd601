"""Set-up of a process for its environment: standard streams, their encoding, and numbers of threads."""

import codecs
import io
import os
import sys

_ESCAPE = "rankjury.escape"
_ASCII = {
    **{"−": "-", "–": "-", "×": "x", "…": "...", "·": "-", "→": ">", "±": "+-", "≥": ">=", "≤": "<=", "≈": "~"},
    **{"Σ": "S", "│": "|", "┤": "|", "─": "-", "━": "-", "●": "o", "▲": "^", "▼": "v", "✓": "+", "✗": "x", "’": "'"},
}
"""How rankjury's own signs are written where the encoding of a stream has none of them."""
_THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RANKJURY_THREADS")
_MOST_THREADS = 1024
"""Polars starts as many as it is told to: a million of them never end starting."""


def prepare_process() -> None:
    """Make sure that standard streams exist and take any text, and that libraries understand the numbers of threads."""
    _open_closed_streams()
    codecs.register_error(_ESCAPE, _escape_characters)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=_ESCAPE)
    if isinstance(sys.stderr, io.TextIOWrapper):
        # A descriptor of its own: what libraries print to 2 is held back while they read a file.
        raw = _ErrorStream(os.dup(sys.stderr.fileno()), "w", closefd=False)
        encoding = sys.stderr.encoding
        sys.stderr = io.TextIOWrapper(io.BufferedWriter(raw), encoding=encoding, errors=_ESCAPE, line_buffering=True)
    _drop_unusable_threads()


class _ErrorStream(io.FileIO):
    """Standard error that loses messages when it cannot be written: that alone must not end the work."""

    def write(self, octets: io.BytesIO, /) -> int:  # type: ignore[override]
        try:
            return super().write(octets)  # type: ignore[arg-type]
        except OSError:
            return len(octets)  # type: ignore[arg-type]


def _open_closed_streams() -> None:
    """Open the null device in place of closed streams, lest a file that is opened later becomes one of them."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            try:
                os.fstat(number)
            except OSError:
                null = os.open(os.devnull, os.O_RDWR)
                if null != number:
                    os.dup2(null, number)
                    os.close(null)
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - open while rankjury runs


def _escape_characters(error: UnicodeError) -> tuple[str, int]:
    """Write rankjury's own signs in ASCII and any other character as JSON escapes it."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    shown = "".join(_ASCII.get(character) or _as_json(character) for character in error.object[error.start : error.end])
    return shown, error.end


def _as_json(character: str) -> str:
    octets = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{octets[place : place + 2].hex()}" for place in range(0, len(octets), 2))


def _drop_unusable_threads() -> None:
    """Ignore numbers of threads that are not numbers from 1 on, and say so: Polars panics at some of them."""
    for name in _THREADS:
        given = os.environ.get(name)
        if given is None or all(map(_is_usable, given.split(","))):  # OpenMP takes a number per level
            continue
        del os.environ[name]
        shown = ascii(given[:40])
        print(f"warning: {name} is {shown} and ignored; expected a number from 1 to {_MOST_THREADS}", file=sys.stderr)


def _is_usable(given: str) -> bool:
    text = given.strip()
    return text.isascii() and text.isdecimal() and len(text) < 9 and 0 < int(text) <= _MOST_THREADS
