"""What PySpark says of its own accord and nobody here needs to hear."""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


@contextmanager
def silence_pyspark() -> Iterator[None]:
    """Without its account, a page long, of an error that is raised anyway, and without its doubts of pandas.

    It asks for pandas wherever it hands over Arrow, and uses none of it.
    """
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    _disable(loggers, [True] * len(loggers))
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            yield
    finally:
        _disable(loggers, before)


def _disable(loggers: Sequence[logging.Logger], disabled: Sequence[bool]) -> None:
    for logger, one in zip(loggers, disabled, strict=True):
        logger.disabled = one
