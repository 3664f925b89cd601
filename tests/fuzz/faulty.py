"""Surfaces with faults, which test the harness itself."""

import os
import time
from pathlib import Path
from random import Random

from rankjury.errors import DataError
from tests.fuzz.harness import Case, Surface, register

_KEPT: list[object] = []


def _number(rng: Random, case: Case) -> Case:
    return case.with_options(number=rng.randrange(1000))


def _raise(case: Case) -> object:
    if case.options["number"] % 2:
        raise DataError("odd", where="here")
    if case.options["number"]:
        raise ValueError(case.options["number"])
    return None


def _abort(case: Case) -> object:
    if case.options["number"] > 900:
        os.abort()
    return None


def _hang(case: Case) -> object:
    if case.options["number"] > 900:
        time.sleep(60)
    return None


def _fill(case: Case) -> object:
    return len(bytearray(case.options["number"] << 23)) if case.options["number"] > 300 else None


def _leave(case: Case) -> object:
    return Path("left.part").write_text("")


def _open(case: Case) -> object:
    _KEPT.append(Path(os.devnull).open())  # noqa: SIM115
    return None


_CALLS = {"raise": _raise, "abort": _abort, "hang": _hang, "fill": _fill, "leave": _leave, "open": _open}
for _name, _call in _CALLS.items():
    _limit = 0.1 if _name == "hang" else 10.0
    register(Surface(_name, lambda: [Case(options={"number": 0})], _number, _call, limit=_limit))
