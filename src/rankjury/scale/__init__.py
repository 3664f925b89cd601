"""The same evaluation past one machine's memory, in blocks of queries, and past one machine, on Spark.

A block is all rows of some queries. It is judged and measured by the kernels that judge everything at once, and what is
gathered of it can be joined in any order without rounding: no digit depends on how the queries were parted.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankjury.scale.api import evaluate, judge

__all__ = ["evaluate", "judge"]


def __getattr__(name: str) -> Any:
    """Modules load on first use, and Spark's only then."""
    if name == "spark":
        return import_module("rankjury.scale.spark")
    if name not in __all__:
        raise AttributeError(f"module 'rankjury.scale' has no attribute {name!r}")
    return getattr(import_module("rankjury.scale.api"), name)
