"""Evaluation of data larger than memory, in blocks of queries, and of data larger than one machine, on Spark.

A block contains all rows of some queries. It is evaluated by the same functions as a complete run, and results of
blocks are added in any order without rounding: no digit depends on how the queries were partitioned.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankjury.scale.api import evaluate, judge

__all__ = ["evaluate", "judge"]


def __getattr__(name: str) -> Any:
    """Load modules, and Spark, on first use."""
    if name == "spark":
        return import_module("rankjury.scale.spark")
    if name not in __all__:
        raise AttributeError(f"module 'rankjury.scale' has no attribute {name!r}")
    return getattr(import_module("rankjury.scale.api"), name)
