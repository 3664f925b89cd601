"""Trials: a setting fitted and scored, or why it could not be; kept in a journal, so that a kill loses at most one."""

from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from zlib import (
    compress,
    decompress,
    error as ZlibError,  # noqa: N812
)

import numpy as np

from rankjury.core.journal import Entry, Journal, digest
from rankjury.core.params import Setting
from rankjury.core.text import plural
from rankjury.core.types import Floats, freeze
from rankjury.retrieval.bench.identity import changes


@dataclass(frozen=True, eq=False)
class Trial:
    """One setting of a model."""

    params: Mapping[str, Setting]
    values: Floats | None
    """The measure for every user; None where the trial failed …"""
    error: str | None = None
    """… and why."""
    fit_seconds: float | None = None
    recommend_seconds: float | None = None
    notes: tuple[str, ...] = ()
    number: int = 0
    """In the order of the search, from 0 on: the settings in use."""
    resumed: bool = False
    """Whether an earlier call made it."""

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def failed(self) -> bool:
        return self.values is None

    def as_entry(self) -> dict[str, Any]:
        """For the journal: every user's value to the last bit."""
        values = None
        if self.values is not None:
            values = b64encode(compress(np.ascontiguousarray(self.values, dtype="<f8").tobytes())).decode()
        return {
            "params": dict(self.params),
            "values": values,
            "error": self.error,
            "fit_seconds": self.fit_seconds,
            "recommend_seconds": self.recommend_seconds,
            "notes": list(self.notes),
        }

    @classmethod
    def from_entry(cls, form: Mapping[str, Any]) -> "Trial":
        values = form["values"]
        if values is not None:
            values = np.frombuffer(decompress(b64decode(values)), dtype="<f8").astype(np.float64)
        return cls(
            dict(form["params"]), values, form["error"], form["fit_seconds"], form["recommend_seconds"],
            tuple(form["notes"]), resumed=True,
        )  # fmt: skip


class Memory:
    """What a journal knows of one search, by the key of a setting; without a journal it forgets."""

    def __init__(
        self, journal: Journal | None, search: str, about: dict[str, Any], users: int, *, fresh: bool = False
    ) -> None:
        """``fresh``: find nothing, whatever is there; what is kept takes its place."""
        self.journal, self.search, self.about, self.users, self.fresh = journal, search, about, users, fresh
        self.id = digest(about)
        self._before = {entry.setting: entry for entry in journal or () if entry.sweep == search}
        self._changed: list[Entry] = []

    def find(self, setting: str) -> Trial | None:
        """As it was made; None where it was not, not under these conditions, or failed."""
        if self.journal is None or self.fresh:
            return None
        entry = self.journal.find(self._key(setting))
        if entry is None and setting in self._before:
            self._changed.append(self._before[setting])
        # a line that was tampered with is tried anew
        with suppress(KeyError, TypeError, ValueError, BadBase64, ZlibError):
            trial = None if entry is None else Trial.from_entry(entry.point)
            if trial is not None and trial.values is not None and trial.values.size == self.users:
                return trial
        return None

    def keep(self, setting: str, trial: Trial) -> None:
        if self.journal is not None:
            form = replace(trial, resumed=False).as_entry()
            self.journal.add(Entry(self._key(setting), self.search, setting, self.about, form))

    def _key(self, setting: str) -> str:
        return digest([self.search, self.id, setting])

    def notes(self) -> list[str]:
        """What of the journal could not be used, and why."""
        if not self._changed:
            return []
        differing = dict.fromkeys(word for entry in self._changed for word in changes(entry.about, self.about))
        found = plural(len(self._changed), "setting was", "settings were")
        return [f"{found} tried before under other conditions ({', '.join(differing)}): tried anew"]
