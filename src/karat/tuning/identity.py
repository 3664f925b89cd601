"""Everything that decides what a trial finds, but the settings: two searches that agree in it share their trials.

What is held out for the test is no part of it: of the log only the windows count that a trial may see.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import numpy as np
import polars as pl

from karat._version import __version__
from karat.interactions.log import Log
from karat.interactions.task import Facts, Task
from karat.lab.fingerprints import fingerprint_ids

__all__ = ["identity_of"]


def identity_of(task: Task, about: Mapping[str, Any]) -> dict[str, Any]:
    """Of a task and of what a model is; small enough to be kept beside every trial."""
    return {
        **about,
        "users": fingerprint_ids(task.log.users),
        "items": fingerprint_ids(task.log.items),
        "training interactions": _of_log(task.train),
        f"{task.window} interactions": _of_log(task.split.window(task.window)),
        "catalogue": sha256(np.packbits(task.in_catalogue).tobytes()).hexdigest(),
        "candidates": None if task.sampled is None else [task.sampled.n, task.sampled.seed],
        "attributes": _of_facts(task.facts),
        "versions": {"karat": __version__, "numpy": np.__version__, "polars": pl.__version__},
    }


def _of_log(log: Log) -> str:
    """Row by row: a model that learns row by row hangs on their order."""
    digest = sha256(f"{log.unit} {log.rated}".encode())
    for column in (log.user, log.item, log.value, log.time):
        digest.update(b"none" if column is None else np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


def _of_facts(facts: Facts) -> str:
    digest = sha256("\0".join(facts.texts).encode())
    for side in (facts.items, facts.users):
        for name in sorted(side):
            matrix = np.ascontiguousarray(side[name])
            digest.update(f"{name} {matrix.dtype} {matrix.shape}".encode())
            digest.update(matrix.tobytes())
    return digest.hexdigest()
