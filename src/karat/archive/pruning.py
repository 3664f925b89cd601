"""Which runs may go."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

from karat.archive.naming import to_moment
from karat.archive.run import Run

__all__ = ["to_prune"]


def to_prune(
    runs: Sequence[Run],
    baselines: Collection[str],
    *,
    keep: int | None = None,
    older_than: timedelta | None = None,
    plan: str | None = None,
    now: datetime | None = None,
) -> list[Run]:
    """Of runs, oldest first: those beyond the last ``keep`` of their plan, of these those that are old enough.

    Where neither is given, none. Never a baseline, and never the last run of a plan.
    """
    if keep is None and older_than is None:
        return []
    limit = None if older_than is None else (now or datetime.now(UTC)) - older_than
    by_plan: dict[str, list[Run]] = {}
    for run in runs:
        by_plan.setdefault(run.plan, []).append(run)
    chosen = []
    for name, held in by_plan.items():
        if plan is None or name == plan:
            beyond = held[: len(held) - max(1, keep or 1)]
            chosen += [run for run in beyond if limit is None or to_moment(run.time) < limit]
    return sorted((run for run in chosen if run.name not in baselines), key=runs.index)
