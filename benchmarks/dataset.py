"""Names the files of one synthetic benchmark collection.

Uses the standard library only: it is imported by the measuring process, which has to stay small (see
`harness`), as well as by the process that makes the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DEPTH = 1_000
FULL_QUERIES = 6_980
QUICK_QUERIES = 698

# Raise this when the generated content changes, so that data cached by an older version is not reused.
DATA_VERSION = 1


@dataclass(frozen=True)
class Dataset:
    """The four files of one collection: a run and its judgements, as TREC text and as Parquet."""

    folder: Path
    queries: int

    @property
    def rows(self) -> int:
        """How many lines the run has."""
        return self.queries * DEPTH

    @property
    def trec_run(self) -> Path:
        return self._file("run", "trec")

    @property
    def trec_gold(self) -> Path:
        return self._file("gold", "qrels")

    @property
    def parquet_run(self) -> Path:
        return self._file("run", "parquet")

    @property
    def parquet_gold(self) -> Path:
        return self._file("gold", "parquet")

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.trec_run, self.trec_gold, self.parquet_run, self.parquet_gold)

    def exists(self) -> bool:
        """Whether every file is there; files are renamed into place only once they are complete."""
        return all(file.is_file() for file in self.files)

    def _file(self, kind: str, extension: str) -> Path:
        return self.folder / f"{kind}-{self.queries}-v{DATA_VERSION}.{extension}"
