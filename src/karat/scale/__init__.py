"""The same evaluation past one machine's memory, in blocks of queries, and past one machine, on Spark.

A block is all rows of some queries. It is judged and measured by the kernels that judge everything at once, and what is
gathered of it can be joined in any order without rounding: no digit depends on how the queries were parted.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from karat.scale.api import evaluate, judge

__all__ = ["evaluate", "judge"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'karat.scale' has no attribute {name!r}")
    from karat.scale import api

    return getattr(api, name)
