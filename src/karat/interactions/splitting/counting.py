"""How large the windows of a split are, and how many of their users and items are new."""

from typing import Any

import numpy as np

from karat.interactions.split import WINDOWS, Split
from karat.interactions.splitting.moments import written_moment
from karat.types import Bools

__all__ = ["counts"]


def counts(split: Split) -> dict[str, dict[str, Any]]:
    """Of each window: rows, their share, users, items, those of them that training does not have, and its times.

    Training itself has no cold ones. Times are None where there are none; as ISO also where they are plain numbers.
    """
    log = split.log
    found: dict[str, dict[str, Any]] = {}
    seen: tuple[Bools, Bools] | None = None
    for place, name in enumerate(WINDOWS):
        inside = split.part == place
        users, items = _marked(log.user[inside], len(log.users)), _marked(log.item[inside], len(log.items))
        seen = seen or (users, items)
        rows = int(np.count_nonzero(inside))
        found[name] = {
            "rows": rows,
            "share": rows / len(log) if len(log) else 0.0,
            "users": int(users.sum()),
            "items": int(items.sum()),
            "cold_users": int((users & ~seen[0]).sum()),
            "cold_items": int((items & ~seen[1]).sum()),
            **_times(split, inside),
        }
    return found


def _marked(codes: Any, size: int) -> Bools:
    found = np.zeros(size, dtype=bool)
    found[codes] = True
    return found


def _times(split: Split, inside: Bools) -> dict[str, Any]:
    """The earliest and the latest time, as they stand in the log and as ISO."""
    time = split.log.time
    if time is None or not inside.any():
        return dict.fromkeys(("first", "last", "from", "to"))
    limits = np.iinfo(np.int64)
    first = int(np.min(time, where=inside, initial=limits.max))
    last = int(np.max(time, where=inside, initial=limits.min))
    unit = split.log.unit
    return {"first": first, "last": last, "from": written_moment(first, unit), "to": written_moment(last, unit)}
