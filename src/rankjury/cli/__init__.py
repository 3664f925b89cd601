"""The command line: each module of this package is a command.

A command's module has a function ``NAME_command``, an ``EPILOG`` with examples, the ``GROUP`` under which the help
lists it with its ``ORDER`` there, and ``MULTIPLIES_MATRICES`` where that is worth several threads. It is imported when
it is called or listed.
"""

import codecs
import errno
import gc
import io
import os
import re
import sys
from functools import cache
from importlib import import_module
from json import dumps
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from rankjury.cli.shared.commands import CommandGroup, PanelCommand, parser_error
from rankjury.cli.shared.completion import complete_at_once, is_completing
from rankjury.cli.shared.console import remove_empty_folders
from rankjury.core import signals
from rankjury.core.text import visible
from rankjury.core.version import __version__
from rankjury.errors import NATIVE_STDERR, DataError, RankjuryError, shorten

if TYPE_CHECKING:
    app: typer.Typer
    """The command line with all commands."""

_COMMANDS = tuple(module.name for module in iter_modules(__path__) if not module.ispkg)
# The parser's own base class of errors; which module it lives in differs between releases of typer.
_PARSER_ERROR: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")
_INTERRUPTED = 130
"""What the parser makes of KeyboardInterrupt, whichever signal raised it."""
_URL = re.compile(r"\b([A-Za-z][A-Za-z0-9+.-]+):/{1,2}([^\s'\"]*[^\s'\".,;:])")
"""An address, also where it was taken for a path, which has one slash for two."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_DATA = DataError.exit_code
_LONGEST_MESSAGE = 1_000
"""Characters shown of a message that is not rankjury's own."""
_LAST = 1_000
"""The place in its panel of the help of a command without ``ORDER``."""
_ESCAPE = "rankjury.escape"
_ASCII = {
    **{"−": "-", "–": "-", "×": "x", "…": "...", "·": "-", "→": ">", "±": "+-", "≥": ">=", "≤": "<=", "≈": "~"},
    **{"Σ": "S", "│": "|", "┤": "|", "─": "-", "━": "-", "●": "o", "▲": "^", "▼": "v", "✓": "+", "✗": "x", "’": "'"},
}
"""How rankjury's own signs are written where the encoding of a stream has none of them."""
_THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RANKJURY_THREADS")
_NUMBER = re.compile(r"\s*\d{1,8}\s*", re.ASCII)
_MOST_THREADS = 1024
"""Polars starts the configured number of threads: a million of them would never finish starting."""
_WAITING = "14"
"""For how many cycles, as a power of two, OpenBLAS's threads wait for more work on a core that others could use: by
default a fortieth of a second after every product, which is as long as it takes to look through one."""


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"rankjury {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Show the version."),
    debug: bool = typer.Option(
        False, "--debug", help="Show the traceback of an error (allowed anywhere in the command line)."
    ),
) -> None:
    pass


@cache
def _app_of(*commands: str) -> typer.Typer:
    """Return the command line with some of the commands: importing all of them takes longer than most take to run."""
    found = typer.Typer(
        name="rankjury",
        cls=CommandGroup,
        help="The verdict on your ranking: how good it is, whether it is better, where it fails, whether it may ship."
        "\n\nStart with one of these:\n\n\b\n  rankjury demo\n  rankjury init, then rankjury run\n"
        "  rankjury evaluate QRELS RUN\n  rankjury compare QRELS OLD NEW",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    complete_at_once()
    modules = {name: import_module(f"rankjury.cli.{name}") for name in commands}
    for name, module in sorted(modules.items(), key=lambda entry: getattr(entry[1], "ORDER", _LAST)):
        command = found.command(
            name.replace("_", "-"),
            cls=getattr(module, "Command", PanelCommand),
            epilog=getattr(module, "EPILOG", None),
            rich_help_panel=getattr(module, "GROUP", None),
        )
        command(getattr(module, f"{name}_command"))
    found.callback()(_root)
    return found


def __getattr__(name: str) -> Any:
    """Return ``app``, the command line with all commands."""
    if name == "app":
        return _app_of(*_COMMANDS)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def main() -> None:
    """Run the command line; errors become one line and an exit code."""
    debug = "--debug" in sys.argv[1:]
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    stdout = sys.stdout
    # A short life: collecting cycles among the modules being loaded, and threads of a BLAS that is not called, would
    # cost more than they give.
    gc.disable()
    try:
        with signals.Working():
            name = arguments[0].replace("-", "_") if arguments else ""
            called = (name,) if name in _COMMANDS else _COMMANDS
            if len(called) == 1 and getattr(import_module(f"rankjury.cli.{called[0]}"), "MULTIPLIES_MATRICES", False):
                os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", _WAITING)
            else:
                os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
            app = globals().get("app") or _app_of(*called)
            ended = app(arguments, prog_name="rankjury", standalone_mode=False)
    except RankjuryError as error:
        _fail(_format(error), error.exit_code, debug)
    except _PARSER_ERROR as error:
        if not error.format_message().startswith("Usage: "):  # the help, where a command was given no argument
            refused = parser_error(error)
            _fail(_format(refused), refused.exit_code, debug)
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        ended = _INTERRUPTED
    except BrokenPipeError:
        ended = _reader_left()
    except SystemExit as exit_:
        # The parser replaces standard output when its reader has left, as in `rankjury list metrics | head -1`.
        ended = _reader_left() if sys.stdout is not stdout else exit_.code
    except OSError as error:
        if not error.filename and _current_folder_is_gone():
            _fail(
                "error: the current folder does not exist any more. Change to another folder.",
                DataError.exit_code,
                debug,
            )
        where = error.filename or ("standard output" if error.errno in _FULL else "")
        what = f"error: {error.strerror or error}" + (f": {where}" if where else "")
        _fail(visible(shorten(_mask_urls(what), _LONGEST_MESSAGE), one_line=True), _DATA, debug)
    except MemoryError:
        _fail("error: out of memory", 1, debug)
    except BaseException as error:  # Polars' PanicException is not an Exception
        if signals.is_ending():  # an import that was interrupted fails in its own way
            _fail("interrupted", signals.exit_code(), debug)
        what = visible(shorten(f"{type(error).__name__}: {error}", _LONGEST_MESSAGE), one_line=True)
        _fail(f"internal error: {what}. This is a bug; --debug shows where.", 1, debug)
    finally:
        gc.enable()
        remove_empty_folders()
    if ended == _INTERRUPTED:
        _fail("interrupted", signals.exit_code(), debug)
    sys.exit(ended)


def run() -> NoReturn:
    """Run the command line as a process of its own.

    It ends without taking the interpreter apart: giving back the arrays of a large run one by one would cost a tenth of
    a second, and the system takes them at once.
    """
    try:
        prepare_process()
        NATIVE_STDERR.enabled = "--debug" not in sys.argv[1:]
        main()
        code: Any = 0
    except SystemExit as exit_:
        code = exit_.code or 0
    except KeyboardInterrupt:  # while the last words were said
        code = signals.exit_code()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = code or _reader_left()
    except OSError as error:
        if not code:
            print(f"error: cannot write standard output: {error.strerror}", file=sys.stderr)
        code = code or DataError.exit_code
    except KeyboardInterrupt:
        code = code or signals.exit_code()
    os._exit(code if isinstance(code, int) else 1)


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
    characters = error.object[error.start : error.end]
    return "".join(_ASCII.get(character) or dumps(character)[1:-1] for character in characters), error.end


def _drop_unusable_threads() -> None:
    """Ignore numbers of threads that are not numbers from 1 on, and say so: Polars panics at some of them."""
    for name in _THREADS:
        given = os.environ.get(name)
        numbers = [] if given is None else given.split(",")  # OpenMP takes a number per level
        if given is None or all(_NUMBER.fullmatch(text) and 0 < int(text) <= _MOST_THREADS for text in numbers):
            continue
        del os.environ[name]
        shown = ascii(given[:40])
        print(f"warning: {name} is {shown} and ignored; expected a number from 1 to {_MOST_THREADS}", file=sys.stderr)


def _format(error: RankjuryError) -> str:
    lines = [visible(_mask_urls(line), one_line=True) for line in error.lines()]
    return "\n  ".join([f"error: {lines[0]}", *lines[1:]])


def _mask_urls(message: str) -> str:
    """Return a message without the secrets of addresses in it, such as ``s3://key:secret@bucket`` given as a path."""
    from rankjury.core.secrets import mask_url  # only a failed command needs it

    return _URL.sub(lambda match: mask_url(f"{match[1]}://{match[2]}"), message)


def _current_folder_is_gone() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 - Path.cwd() is the same
    except FileNotFoundError:
        return True
    return False


def _reader_left() -> int:
    """Nobody reads any more: no error, and nothing more to say."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
    return 0


def _fail(message: str, code: int, debug: bool) -> NoReturn:
    if debug:
        import traceback

        traceback.print_exc()
    if not is_completing():
        print(message, file=sys.stderr)
    sys.exit(code)
