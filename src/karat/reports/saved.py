"""Reports that were saved, read back."""

from json import JSONDecodeError, loads
from pathlib import Path

from karat.errors import DataError
from karat.formats.source import Source
from karat.gates import Saved
from karat.report import SCHEMA

__all__ = ["looks_like_report", "read_report"]

_START = 4096


def looks_like_report(path: str) -> bool:
    """Whether a file is one of karat's reports, told from its beginning."""
    file = Path(path)
    if path == "-" or not file.is_file():
        return False
    with file.open("rb") as opened:
        return b'"karat.report/' in opened.read(_START)


def read_report(path: str) -> Saved:
    """A report that ``-o report.json`` or ``--json`` wrote."""
    source = Source.open(path)
    try:
        form = loads(source.text())
    except JSONDecodeError as error:
        raise DataError(
            f"not JSON: {error}", where=path, expected="a report of karat, as -o report.json writes it"
        ) from error
    schema = form.get("schema") if isinstance(form, dict) else None
    if schema != SCHEMA or not isinstance(form.get("systems"), dict) or not form["systems"]:
        found = f"the schema is {schema!r}" if schema else "the file has no schema"
        raise DataError(found, where=path, expected=f"a report of karat ({SCHEMA})")
    return Saved(form, path)
