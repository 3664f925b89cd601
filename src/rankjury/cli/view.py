"""rankjury view: the archive in a browser."""

import sys
from contextlib import suppress
from os.path import isdir
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

import typer

from rankjury.cli.shared.archive import ArchiveOption, open_archive
from rankjury.cli.shared.console import say
from rankjury.cli.shared.options import QuietOption
from rankjury.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankjury.tracking.archive.run import ArchivedRun
    from rankjury.tracking.view.server import ViewServer

GROUP = "Archive"
EPILOG = (
    "Examples:\n\n"
    "  rankjury view\n\n"
    "  rankjury view latest\n\n"
    "  rankjury view baseline latest\n\n"
    "The pages are read from the archive when they are asked for; nothing is written, and nothing leaves this machine: "
    "the server listens on 127.0.0.1 alone. While a plan runs, the list shows how far it is. In the browser j and k "
    "move, Enter opens, / filters, ? shows all keys. Ctrl-C here ends it."
)


def view_command(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN]...",
            help="As rankjury show names them. One: its page. Two: both compared. More: a list of these.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="The port; 0 takes one that is free.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    archive: ArchiveOption = None,
    quiet: QuietOption = False,
) -> None:
    """Look through the archive in a browser: runs, history, single queries, two runs side by side."""
    kept = open_archive(archive)
    found = [kept.find(name) for name in dict.fromkeys(runs or ())]
    if not isdir(kept.path):
        say(f"there is no archive at {kept.path} yet: rankjury run makes one")
    from rankjury.tracking.view.overview import RunCatalog
    from rankjury.tracking.view.pages import Router
    from rankjury.tracking.view.server import ViewServer

    try:
        server = ViewServer(Router(RunCatalog(kept, found)), port)
    except OSError as error:
        raise UsageError(
            f"cannot listen on port {port}: {error.strerror}", hint="--port 0 takes a free one."
        ) from error
    serve(server, server.url + _beginning(found), browser=not no_browser and sys.stderr.isatty())


def serve(server: "ViewServer", url: str, *, browser: bool) -> None:
    """Until Ctrl-C, which is how it ends and no failure."""
    import gc

    gc.enable()  # the command line collects nothing, as most commands end soon
    with server, suppress(KeyboardInterrupt):
        print(url, flush=True)
        say("Ctrl-C ends it.")
        if browser:
            import webbrowser

            webbrowser.open(url)
        server.serve_forever()


def _beginning(runs: "Sequence[ArchivedRun]") -> str:
    """The page that is meant by the runs that were named, without the slash before it."""
    from urllib.parse import quote

    names = list(dict.fromkeys(run.name for run in runs))
    if not names:
        return ""
    if len(names) == 1:
        return f"run/{quote(names[0])}"
    if len(names) == 2:
        return f"compare?{urlencode({'a': names[0], 'b': names[1]})}"
    return f"?{urlencode([('run', name) for name in names])}"
