"""What the journal knows of a sweep: points measured under the same conditions, and which were under others."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from karat.lab.comparison import PairedTimes, setting_key
from karat.lab.identity import changes
from karat.lab.journal import Entry, Journal, digest
from karat.lab.points import Point
from karat.wording import count

__all__ = ["Memory"]


class Memory:
    """Of one sweep, by the digest of a point's settings; without a journal it forgets."""

    def __init__(self, journal: Journal | None, name: str, about: dict[str, Any]) -> None:
        self.journal, self.name, self.about = journal, name, about
        self.id = digest(about)
        self.taken = 0
        self._before = {entry.setting: entry for entry in journal or () if entry.sweep == name}
        self._changed: list[Entry] = []

    def find(self, setting: str) -> Point | None:
        """As it was measured; None where it was not, or not under these conditions."""
        entry = self.journal.find(self._key(setting)) if self.journal is not None else None
        with suppress(KeyError, TypeError, ValueError):  # a line that was tampered with is measured anew
            if entry is not None:
                point = Point.from_json(entry.point)
                self.taken += point.status == "measured"
                return point
        if entry is None and setting in self._before:
            self._changed.append(self._before[setting])
        return None

    def keep(self, setting: str, point: Point) -> None:
        if self.journal is not None:
            self.journal.add(Entry(self._key(setting), self.name, setting, self.about, point.to_json()))

    def find_times(self, candidates: Sequence[Point]) -> PairedTimes | None:
        """Return the paired times of exactly these candidates; None where they were not compared before."""
        entry = self.journal.find(self._key(_together(candidates))) if self.journal is not None else None
        with suppress(KeyError, TypeError, ValueError):
            return None if entry is None else PairedTimes.from_json(entry.point["comparison"])
        return None

    def keep_times(self, candidates: Sequence[Point], times: PairedTimes) -> None:
        if self.journal is not None:
            setting = _together(candidates)
            form = {"comparison": times.to_json()}
            self.journal.add(Entry(self._key(setting), self.name, setting, self.about, form))

    def _key(self, setting: str) -> str:
        return digest([self.id, setting])

    def notes(self) -> list[str]:
        """What of the journal could not be used, and why."""
        if not self._changed:
            return []
        differing = dict.fromkeys(word for entry in self._changed for word in changes(entry.about, self.about))
        found = count(len(self._changed), "setting was", "settings were")
        return [f"{found} measured before under other conditions ({', '.join(differing)}): begun anew"]


def _together(candidates: Sequence[Point]) -> str:
    return digest(["comparison", *sorted(setting_key(point.build, point.search) for point in candidates)])
