"""How karat run keeps what it found: live while it works, and whole in the archive when it is done."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from karat.cli.common import say, warn
from karat.errors import DataError

if TYPE_CHECKING:
    from karat.archive import Archive, Run
    from karat.gates import Gate
    from karat.plan.archiving import Begun
    from karat.plan.reading import Checked
    from karat.progress import Progress
    from karat.report import Report

__all__ = ["Keeping", "shown_live"]

_HISTORY = 50
"""How many earlier runs of a plan its page shows."""


@dataclass(frozen=True)
class Keeping:
    """A run that has begun, and the archive that will hold it."""

    archive: "Archive"
    begun: "Begun"

    @classmethod
    def begin(cls, archive: "Archive", checked: "Checked") -> "Keeping":
        from karat.plan.archiving import begin

        return cls(archive, begin(checked))

    def store(self, report: "Report", gate: "Gate | None") -> "Run | DataError":
        """Store the run, or return why it could not be: a full disk takes nothing from the user who waited for it."""
        try:
            return self.begun.keep(self.archive, report, gate, self._page)
        except DataError as error:
            return error

    def tell(self, run: "Run | DataError", *, quiet: bool) -> int:
        """Say what became of storing the run, and return the exit code.

        An archive that may not be written to is the user's choice, and no failure.
        """
        from karat.archive import is_forbidden

        if isinstance(run, DataError):
            if is_forbidden(run):
                warn([f"the run was not kept: {run}"], quiet=quiet)
                return 0
            say(f"error: {run}")
            return run.exit_code
        say(f"Kept as {run.name} in {self.archive.path}", quiet=quiet)
        self._tell_of_the_same(run, quiet=quiet)
        return 0

    def _page(self, report: "Report", run: "Run") -> str:
        """The page that people open, with where the run comes from and the runs of the plan before it."""
        from karat.reports.html import page_of
        from karat.view.trends import charts_of

        runs = [*self.archive.recent(run.plan, _HISTORY), run]
        history = charts_of(runs, run.headline[0])
        return page_of(report, manifest=run.manifest, history=history)

    def _tell_of_the_same(self, run: "Run", *, quiet: bool) -> None:
        """Say whether a repetition came to the same."""
        earlier = run.manifest["same_inputs_as"]
        if earlier is None:
            return
        before = self.archive.find(earlier).manifest
        same = all(before.get(key) == run.manifest[key] for key in ("results", "summary"))
        found = "every figure is equal to the last digit" if same else "but not all figures are equal"
        say(f"The same plan and inputs as {earlier}: {found}", quiet=quiet)


@contextmanager
def shown_live(keeping: Keeping | None, shown: "Progress") -> "Iterator[Progress]":
    """Tell whoever looks at the archive what is being done, besides the person who waits."""
    if keeping is None:
        yield shown
        return
    from karat.archive import telling
    from karat.plan.archiving import plan_name

    checked = keeping.begun.checked
    with telling(keeping.archive.path, plan_name(checked), Path(checked.where).name, shown) as tell:
        yield tell
