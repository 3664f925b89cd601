"""Versions of a report's JSON: an older one is lifted to the current one when it is read, here and nowhere else."""

from collections.abc import Callable, Mapping
from typing import Any

from karat.errors import DataError, shorten

__all__ = ["SCHEMA", "upgrade_report"]

SCHEMA = "karat.report/2"
_EXPECTED = f"a report of karat ({SCHEMA})"
_HINT = "karat evaluate GOLD RUN -o report.json makes one."


def upgrade_report(form: Any, where: str) -> dict[str, Any]:
    """Return a report's JSON as the current version has it.

    Raises:
        DataError: Where it is not a report, or a later karat made it.
    """
    schema = form.get("schema") if isinstance(form, dict) else None
    if schema == SCHEMA:
        return form  # type: ignore[no-any-return]
    if not isinstance(schema, str) or schema not in _STEPS:
        found = f"the schema is {shorten(schema, quoted=True)}" if schema else "the file has no schema"
        raise DataError(found, where=where, expected=_EXPECTED, hint=_HINT)
    try:
        return _STEPS[schema](form)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"not a report as karat wrote them ({schema})", where=where, expected=_EXPECTED) from error


def _from_version_1(form: Mapping[str, Any]) -> dict[str, Any]:
    """Warnings were sentences that begin with the system's name; quantiles were kept with each measure."""
    systems = {name: _system_from_1(one) for name, one in form["systems"].items()}
    comparisons = form.get("comparisons") or ()
    detect = {"detect": comparisons[0]["to_detect"]["difference"]} if comparisons else {}
    warnings = [_warning_from_1(one, systems) for one in form.get("warnings") or ()]
    return {**form, "schema": SCHEMA, "systems": systems, "warnings": warnings} | detect


def _system_from_1(system: Mapping[str, Any]) -> dict[str, Any]:
    measures = {label: dict(one) for label, one in system["measures"].items()}
    quantiles = {label: one.pop("quantiles") for label, one in measures.items() if one.get("quantiles")}
    return {**system, "measures": measures} | ({"quantiles": quantiles} if quantiles else {})


def _warning_from_1(text: str, systems: Mapping[str, Any]) -> dict[str, Any]:
    name, colon, rest = text.partition(": ")
    return {"text": rest, "system": name} if colon and name in systems else {"text": text}


_STEPS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {"karat.report/1": _from_version_1}
