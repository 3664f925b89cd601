"""The command line: thin. Parse, call, print; one file a command group."""

import errno
import gc
import os
import re
import sys
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from rankjury.cli.shared.environment import prepare_process
from rankjury.core import signals
from rankjury.core.text import visible
from rankjury.core.version import __version__
from rankjury.errors import NATIVE_STDERR, DataError, RankjuryError, shorten

if TYPE_CHECKING:
    app: typer.Typer
    """The command line with all commands."""

_COMMANDS = tuple(module.name for module in iter_modules(__path__) if not module.ispkg)
"""Each module of this package is a command, imported when it is called or listed."""


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
_MULTIPLY = frozenset(("run", "neighbours", "demo", "tune", "agree", "embed", "sweep", "keywords"))
"""Commands that multiply matrices."""
_WAITING = "14"
"""For how many cycles, as a power of two, OpenBLAS's threads wait for more work on a core that others could use: by
default a fortieth of a second after every product, which is as long as it takes to look through one."""


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"rankjury {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Show the version."),
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error (works anywhere in the line)."),
) -> None:
    pass


@cache
def _app_of(*commands: str) -> typer.Typer:
    """Return the command line with some of the commands: importing all of them takes longer than most take to run."""
    found = typer.Typer(
        name="rankjury",
        help="The verdict on your ranking: how good it is, whether it is better, where it fails, whether it may ship."
        "\n\nStart with: rankjury demo · rankjury init, then rankjury run · rankjury evaluate QRELS RUN · "
        "rankjury compare QRELS OLD NEW",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name in commands:
        module = import_module(f"rankjury.cli.{name}")
        command = found.command(name, cls=getattr(module, "Command", None), epilog=module.EPILOG)
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
    if _MULTIPLY.intersection(arguments[:2]):
        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", _WAITING)
    else:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        with signals.Working():
            called = arguments[:1] if set(arguments[:1]) & set(_COMMANDS) else _COMMANDS
            app = globals().get("app") or _app_of(*called)
            ended = app(arguments, prog_name="rankjury", standalone_mode=False)
    except RankjuryError as error:
        lines = [visible(_mask_urls(line), one_line=True) for line in error.lines()]
        _fail("\n  ".join([f"error: {lines[0]}", *lines[1:]]), error.exit_code, debug)
    except _PARSER_ERROR as error:
        message = visible(shorten(error.format_message(), _LONGEST_MESSAGE), one_line=True)
        error.format_message = lambda: message  # show() prints it below the usage line
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        ended = _INTERRUPTED
    except BrokenPipeError:
        ended = _reader_left()
    except SystemExit as exit_:
        # The parser replaces standard output when its reader has left, as in `rankjury metrics | head -1`.
        ended = _reader_left() if sys.stdout is not stdout else exit_.code
    except OSError as error:
        if not error.filename and _current_folder_is_gone():
            _fail("error: the current folder does not exist any more. Change to another folder.", _DATA, debug)
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
    print(message, file=sys.stderr)
    sys.exit(code)
