"""Rankings saved as run files."""

from pathlib import Path

from karat.arguments import check_arguments
from karat.formats import read
from karat.formats.source import Source
from karat.guard import guard_reading
from karat.intake import ranking_from_frame
from karat.types import Ranking

__all__ = ["read_run"]


@check_arguments
def read_run(given: str | Path, form: str | None = None) -> Ranking:
    """Read a run from a path, or from standard input where it is ``-``."""
    source = Source.open(given)
    with guard_reading(source.name):
        return ranking_from_frame(read(source, "run", form), source=source.name)
