"""What PySpark says of its own accord and nobody here needs to hear."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["quiet"]


@contextmanager
def quiet() -> Iterator[None]:
    """Without its account, a page long, of an error that is raised anyway, and without its doubts of pandas.

    It asks for pandas wherever it hands over Arrow, and uses none of it.
    """
    logger = logging.getLogger("DataFrameQueryContextLogger")
    before, logger.disabled = logger.disabled, True
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            yield
    finally:
        logger.disabled = before
