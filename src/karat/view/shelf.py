"""The runs that can be looked at: those of the archive and those named from elsewhere. Nothing is written."""

from collections.abc import Sequence
from threading import Lock
from typing import Any

from karat.archive import Archive, Run
from karat.archive.naming import order_of
from karat.archive.storing import RUNS
from karat.view.opened import Opened
from karat.view.recent import Recent
from karat.view.requests import Refused

__all__ = ["Shelf"]

_KEPT_OPEN = 4


class Shelf:
    """Looked up by whole names among those that are there: no path is ever made of what somebody asks for."""

    def __init__(self, archive: Archive, beside: Sequence[Run] = ()) -> None:
        self.archive = archive
        home = (archive.path / RUNS).resolve()
        self._beside = {run.name: run for run in beside if run.path.resolve().parent != home}
        self._opened: Recent[str, Opened] = Recent(_KEPT_OPEN)
        self._lock = Lock()

    def runs(self) -> list[Run]:
        """Oldest first."""
        with self._lock:
            own = self.archive.runs()
        names = {run.name for run in own}
        beside = [run for run in self._beside.values() if run.name not in names]
        return sorted((*own, *beside), key=lambda run: order_of(run.time, run.name)) if beside else own

    def run(self, name: str) -> Run:
        found = next((run for run in self.runs() if run.name == name), None)
        if found is None:
            raise Refused(404, "there is no such run here; it may have been pruned")
        return found

    def open(self, name: str) -> Opened:
        """The last few stay open."""
        run = self.run(name)
        return self._opened.get(str(run.path), lambda: Opened(run))

    def baselines(self) -> dict[str, str]:
        """By plan, the name of its run."""
        return self.archive.baselines

    def running(self) -> list[dict[str, Any]]:
        return self.archive.running()

    @property
    def troubles(self) -> list[str]:
        with self._lock:
            return self.archive.troubles
