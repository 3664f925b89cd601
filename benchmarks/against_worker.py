"""Runs a benchmark script of another source tree with the processor's clock; `rankjury view` is served in this process.

against_worker.py TREE SCRIPT [ARGUMENT]...
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any


@contextmanager
def viewing_here(archive: Path) -> Iterator[Any]:
    """A server in a thread, so that its processor time is this process's."""
    from rankjury.tracking.archive.archive import Archive
    from rankjury.tracking.view.overview import RunCatalog
    from rankjury.tracking.view.pages import Router
    from rankjury.tracking.view.server import ViewServer

    with ViewServer(Router(RunCatalog(Archive(archive), [])), 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield import_module("view_asking").Asker(server.url)
        server.shutdown()


def main() -> None:
    tree, script, *arguments = sys.argv[1:]
    sys.path.append(f"{tree}/benchmarks")  # at the end: `statistics` is to be the standard library's
    time.perf_counter = time.process_time
    module: Any = import_module(Path(script).stem)
    if hasattr(module, "viewing"):
        module.viewing = viewing_here
    sys.argv = [script, *arguments]
    module.main()


if __name__ == "__main__":
    main()
