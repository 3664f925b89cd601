"""One file a form of output; each reads only a Report."""

from collections.abc import Callable
from pathlib import Path

from karat.errors import UsageError
from karat.formats.atomic import write_files
from karat.registry import Registry
from karat.report import Report

__all__ = ["FORMS", "form_of", "write"]

Form = Callable[[Report], str | bytes]
FORMS: Registry[Form] = Registry("report form", home="karat.reports.forms", group="karat.reports")


def form_of(path: Path) -> Form:
    """The form that the suffix names."""
    form = FORMS.find(path.suffix.lower().removeprefix("."))
    if form is None:
        known = ", ".join(f".{name}" for name in sorted(FORMS.names()))
        raise UsageError(f"cannot tell the form of the report from {path.name!r}", expected=f"a suffix among {known}")
    return form


def write(report: Report, path: Path) -> None:
    """Write the report whole, in the form that the suffix names."""
    write_files({path: form_of(path)(report)})
