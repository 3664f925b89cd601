"""Manifests of earlier versions, lifted to this one when they are read; what is on the disk stays as it is.

To change the form of a run: raise ``CURRENT``, and add to ``STEPS`` the function that makes of a manifest of the
version before one of the new version. It gets a copy of its own. An older run then opens for ever, step by step.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from karat.errors import DataError

__all__ = ["CURRENT", "SCHEMA", "STEPS", "LaterVersion", "lifted"]

CURRENT = 1
SCHEMA = f"karat.run/{CURRENT}"
Step = Callable[[dict[str, Any]], dict[str, Any]]
STEPS: dict[int, Step] = {}
"""By version, what lifts a manifest of it to the next."""


class LaterVersion(DataError):  # noqa: N818 - reads as what it says
    """A run that a later karat stored: not damaged, but not to be read here."""


def lifted(
    manifest: Any, where: str, *, steps: Mapping[int, Step] = STEPS, current: int = CURRENT
) -> dict[str, Any]:  # fmt: skip
    """A manifest of any version as one of the current; ``where`` is for errors."""
    version = _version_of(manifest)
    if version is None:
        raise DataError("this is no manifest of karat", where=where, expected=f"the schema {SCHEMA}")
    if version > current:
        raise LaterVersion(
            f"a later karat made this run (karat.run/{version})",
            where=where,
            expected=f"karat.run/{current} or earlier",
            hint="Update karat to open it: pip install --upgrade karat.",
        )
    found: dict[str, Any] = manifest
    for earlier in range(version, current):
        found = steps[earlier](dict(found)) | {"schema": f"karat.run/{earlier + 1}"}
    return found


def _version_of(manifest: Any) -> int | None:
    schema = manifest.get("schema") if isinstance(manifest, dict) else None
    numbered = re.fullmatch(r"karat\.run/([1-9]\d{0,5})", schema) if isinstance(schema, str) else None
    return int(numbered[1]) if numbered else None
