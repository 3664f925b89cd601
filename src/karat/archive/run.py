"""One archived run: its manifest, and its files read when they are asked for."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import file_digest
from os import SEEK_END
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from karat.archive.naming import to_moment
from karat.archive.upgrading import lifted
from karat.errors import DataError

if TYPE_CHECKING:
    import polars as pl

    from karat.answers import Answers
    from karat.saved import Saved

__all__ = ["MANIFEST", "PAGE", "Run"]

MANIFEST, PAGE = "manifest.json", "report.html"
_PARQUET = b"PAR1"
"""What a Parquet file ends with."""


@dataclass(frozen=True, eq=False)
class Run:
    """A folder of the archive, whole: it is never written to again."""

    path: Path
    manifest: Mapping[str, Any]
    """As the current version has it, whichever wrote it."""

    @classmethod
    def open(cls, path: Path) -> "Run":
        """Read the manifest alone."""
        where = path / MANIFEST
        try:
            manifest = from_json(where.read_bytes())
        except OSError as error:
            raise DataError(f"cannot read the run: {error.strerror}", where=str(where)) from error
        except ValueError as error:
            raise DataError(f"not JSON: {error}", where=str(where)) from error
        found = lifted(manifest, str(where))
        _check_manifest(found, str(where))
        return cls(path, found)

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def plan(self) -> str:
        """What its plan is called."""
        return str(self.manifest["name"])

    @property
    def time(self) -> str:
        """When it ended, in UTC: ``2026-11-17T05:09:35.123Z``."""
        return str(self.manifest["time"])

    @property
    def digest(self) -> str:
        """Of its plan and inputs."""
        return str(self.manifest.get("digest") or "")

    @property
    def verdict(self) -> str | None:
        return self.manifest.get("verdict")

    @property
    def systems(self) -> list[str]:
        return list(self.manifest["summary"])

    @property
    def headline(self) -> list[str]:
        """The measures to show first."""
        return list(self.manifest.get("headline") or dict.fromkeys(self._labels()))

    def _labels(self) -> Iterator[str]:
        for measures in self.manifest["summary"].values():
            yield from measures

    @cached_property
    def form(self) -> dict[str, Any]:
        """The report's versioned form, with the verdicts where there are any."""
        path = self.path / "report.json"
        try:
            form = from_json(path.read_bytes())
        except OSError as error:
            raise DataError(f"cannot read the report: {error.strerror}", where=str(path)) from error
        except ValueError as error:
            raise DataError(f"not JSON: {error}", where=str(path)) from error
        if not isinstance(form, dict) or not isinstance(form.get("systems"), dict):
            raise DataError("this is no report of karat: it has no systems", where=str(path))
        return form

    def file(self, name: str) -> Path | None:
        """One of the files that the run was stored with; None where it has none of that name."""
        return self.path / name if name in self.manifest["files"] else None

    @property
    def files(self) -> dict[str, int]:
        """The names of its files, and how many bytes each has."""
        return {name: about["bytes"] for name, about in self.manifest["files"].items()}

    @property
    def bytes(self) -> int:
        return sum(self.files.values())

    def faults(self) -> list[str]:
        """What is not as it was stored: files that are gone or were changed."""
        found = []
        for name, about in self.manifest["files"].items():
            try:
                with (self.path / name).open("rb") as file:
                    changed = file_digest(file, "sha256").hexdigest() != about["sha256"]
            except OSError as error:
                found.append(f"{name}: {error.strerror}")
            else:
                found += [f"{name}: its content has changed"] if changed else []
        return found

    def scores(self) -> "pl.LazyFrame":
        """query_id, system and a column a measure; undefined is null."""
        return self.table("scores.parquet")

    def queries(self) -> "pl.LazyFrame":
        """query_id, text (null where none is known) and slices (a list of names); in the order of the scores."""
        return self.table("queries.parquet")

    def answers(self) -> "Answers | None":
        """Golds and rankings of all queries; None where they were not kept."""
        from karat.archive.reading import answers_of

        return answers_of(self, None)

    def answer(self, query: str) -> "Answers | None":
        """Golds and rankings of one query: only the part of the files that holds it is decoded."""
        from karat.archive.reading import answers_of

        return answers_of(self, query)

    def names(self, ids: Iterable[str] | None = None) -> dict[str, str]:
        """What items are called, where that is known; of some, or of all."""
        from karat.archive.reading import names_of

        return names_of(self, ids)

    def texts(self, ids: Iterable[str]) -> dict[str, str]:
        """What some queries say, where that is known."""
        from karat.archive.reading import texts_of

        return texts_of(self, ids)

    def saved(self) -> "Saved":
        """The report with every query's scores, as a gate and a drift want it."""
        from karat.archive.reading import saved_of

        return saved_of(self)

    def table(self, name: str) -> "pl.LazyFrame":
        """One of its Parquet files."""
        import polars as pl

        path = self.file(name)
        if path is None or not path.is_file():
            raise DataError(f"the run has no {name}", where=str(self.path))
        try:
            with path.open("rb") as file:
                file.seek(-len(_PARQUET), SEEK_END)
                whole = file.read() == _PARQUET
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", where=str(path)) from error
        if not whole:
            raise DataError("the file is not whole", where=str(path), expected="the end of a Parquet file")
        return pl.scan_parquet(path, glob=False)

    def __repr__(self) -> str:
        return f"Run({self.name!r})"


def _check_manifest(found: Mapping[str, Any], where: str) -> None:
    """What others rely on: one damaged run must not bring down a look at all of them."""
    lacking = [key for key in ("name", "time", "summary", "files") if key not in found]
    if lacking:
        raise DataError(f"the manifest has no {lacking[0]}", where=where)
    odd = [key for key in ("summary", "files", "measures") if not _is_table_of_tables(found.get(key, {}))]
    if odd:
        raise DataError(f"{odd[0]} is not as karat writes it", where=where, expected="a table of tables")
    try:
        zoned = to_moment(str(found["time"])).tzinfo is not None
    except ValueError:
        zoned = False
    if not zoned:
        raise DataError(f"the time is {found['time']!r}", where=where, expected="such as 2026-11-17T05:09:35.123Z")


def _is_table_of_tables(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(one, Mapping) for one in value.values())
