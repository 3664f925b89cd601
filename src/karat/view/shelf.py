"""The runs that can be looked at: those of the archive and those named from elsewhere. Nothing is written."""

from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import Any

from karat.archive import Archive, Run
from karat.archive.files import order_of
from karat.archive.storing import RUNS
from karat.errors import DataError, UnknownName
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

    def runs(self) -> list[Run]:
        """Oldest first."""
        own = self.archive.runs()
        if not self._beside:
            return own
        names = {run.name for run in own}
        beside = [run for run in self._beside.values() if run.name not in names]
        return sorted((*own, *beside), key=lambda run: order_of(run.time, run.name))

    def run(self, name: str) -> Run:
        """Look a run up by its whole name; a damaged one says what is wrong with it."""
        try:
            return self.archive.named(name)
        except UnknownName as error:
            if name not in self._beside:
                raise Refused(404, "there is no such run here; it may have been pruned") from error
        return self._beside[name]

    def open(self, name: str) -> Opened:
        """The last few stay open."""
        run = self.run(name)
        return self._opened.get(str(run.path), lambda: Opened(run))

    def baselines(self) -> dict[str, str]:
        """By plan, the name of its run; none where these cannot be read."""
        with suppress(DataError):
            return self.archive.baselines
        return {}

    def running(self) -> list[dict[str, Any]]:
        return self.archive.running()

    @property
    def state(self) -> Hashable:
        """What pages over all runs depend on: they stay the same while this does."""
        return self.archive.version, tuple(sorted(self.baselines().items()))

    def damaged(self) -> list[tuple[str, str]]:
        """By name, what cannot be read, with the reason in one line."""
        found = [(one.name, one.reason) for one in self.archive.damaged]
        try:
            self.archive.baselines  # noqa: B018
        except DataError as error:
            found.append(("baselines.json", error.found))
        return found
