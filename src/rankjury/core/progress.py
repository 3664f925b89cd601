"""Progress of long work: one type for the terminal, the archive and tests, and ``NO_PROGRESS`` for no output."""

from collections.abc import Callable


class Progress:
    """Receiver of progress reports.

    Args:
        show: Called with the task, the number of steps done, and their total (0: unknown).
        label: Replaces the task in all reports.

    Example:
        >>> progress = Progress(lambda what, done, total: print(f"{what}: {done} of {total}"))
        >>> progress.update("Searching", 3, 7)
        Searching: 3 of 7
        >>> progress.step("Ranking bm25").update("Searching", 3, 7)
        Ranking bm25: 3 of 7
        >>> progress.part(10, 20).update("Searching", 3, 7)
        Searching: 13 of 20
    """

    def __init__(self, show: Callable[[str, int, int], None] | None = None, label: str | None = None) -> None:
        self._show = show
        self._label = label

    @classmethod
    def of(cls, given: "Progress | Callable[[int, int], None] | None") -> "Progress":
        """Return a progress for a caller's argument: a function of (done, total) is wrapped."""
        if given is None or isinstance(given, Progress):
            return given or NO_PROGRESS
        return cls(lambda what, done, total: given(done, total))

    @property
    def is_visible(self) -> bool:
        """Whether anything receives the reports."""
        return self._show is not None

    def update(self, what: str, done: int, total: int) -> None:
        """Report that ``done`` steps of ``total`` are done."""
        if self._show is not None:
            self._show(self._label or what, done, total)

    def step(self, label: str) -> "Progress":
        """Return a progress that reports under this label instead of the task."""
        return Progress(self._show, label)

    def part(self, before: int, total: int) -> "Progress":
        """Return the progress of one part of the work: ``before`` of ``total`` steps are done before it."""
        if not self.is_visible:
            return self
        return Progress(lambda what, done, of: self.update(what, before + done, max(total, before + of)))


NO_PROGRESS = Progress()
