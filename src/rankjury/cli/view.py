"""rankjury view: the archive in a browser."""

import gc
import sys
from contextlib import suppress
from os.path import isdir
from typing import Annotated
from urllib.parse import quote, urlencode

import typer

from rankjury.cli.shared.archive import ArchiveOption, open_archive
from rankjury.cli.shared.completion import complete_runs
from rankjury.cli.shared.console import say
from rankjury.cli.shared.options import QuietOption
from rankjury.errors import UsageError

GROUP = "History"
ORDER = 5
EPILOG = (
    "Examples:\n\n"
    "  rankjury view\n\n"
    "  rankjury view latest\n\n"
    "  rankjury view baseline latest\n\n"
    "The pages are read from the archive on request. Nothing is written and nothing leaves this machine: the "
    "server listens on 127.0.0.1 only. While a plan runs, the list shows its progress.\n\n"
    "Keys: j and k move, Enter opens, / filters, ? shows all keys.\n\n"
    "Ctrl-C stops the server."
)


def view_command(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN]...",
            autocompletion=complete_runs,
            help="Runs (see rankjury show). One opens its page, two are compared, more are listed.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Port of the server; 0 chooses a free one.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address and do not open a browser.")
    ] = False,
    archive: ArchiveOption = None,
    quiet: QuietOption = False,
) -> None:
    """Browse archived runs on a local web page.

    Shows runs, history, single queries, and two runs side by side.
    """
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
    url = server.url + _page(list(dict.fromkeys(run.name for run in found)))
    gc.enable()  # the command line collects nothing, as most commands end soon
    with server, suppress(KeyboardInterrupt):  # that is how it ends, and no failure
        print(url, flush=True)
        say("Ctrl-C ends it.")
        if not no_browser and sys.stderr.isatty():
            import webbrowser

            webbrowser.open(url)
        server.serve_forever()


def _page(names: list[str]) -> str:
    """Return the address of the page on these runs, without the slash before it."""
    if len(names) == 1:
        return f"run/{quote(names[0])}"
    if len(names) == 2:
        return f"compare?{urlencode({'a': names[0], 'b': names[1]})}"
    return f"?{urlencode([('run', name) for name in names])}" if names else ""
