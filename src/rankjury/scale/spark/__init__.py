"""rankjury on Spark: sessions, and work that is done where the data is."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankjury.scale.spark.driver import evaluate

__all__ = ["evaluate"]


def __getattr__(name: str) -> Any:
    if name != "evaluate":
        raise AttributeError(f"module 'rankjury.scale.spark' has no attribute {name!r}")
    from rankjury.scale.spark.driver import evaluate

    return evaluate
