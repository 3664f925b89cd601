"""Evaluation of data larger than memory, in blocks of queries, and of data larger than a machine, on Spark.

A block is all rows of some queries. It is judged and measured by the functions that judge everything at once, and its
results can be added in any order without rounding: no digit depends on how the queries were partitioned.
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
