"""Versions of a report's JSON: an older one is lifted to the current one when it is read, here and nowhere else."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from karat.errors import DataError, KaratError, shorten
from karat.measure import Measure

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
    """Return a form of version 1 as version 2 has it.

    Warnings were sentences that begin with the system's name, and rows of comparisons did not say whether less of
    their measure is better. Parts of some sections had other places and names (``_SECTIONS``).
    """
    level = (form.get("resampling") or {}).get("level", 0.95)
    systems = {name: _system_from_1(one, level) for name, one in form["systems"].items()}
    lower = _lower_is_better(systems)
    comparisons = form.get("comparisons") or ()
    detect = {"detect": comparisons[0]["to_detect"]["difference"]} if comparisons else {}
    lifted = {
        "schema": SCHEMA,
        "systems": systems,
        "comparisons": _directed(comparisons, lower),
        "changes": _directed(form.get("changes") or (), lower),
        "slices": [
            {**part, **{key: _directed(part.get(key) or (), lower) for key in ("comparisons", "gaps")}}
            for part in form.get("slices") or ()
        ],
        "gate": _gate_from_1(form["gate"]) if form.get("gate") else None,
        "warnings": [_warning_from_1(one, systems) for one in form.get("warnings") or ()],
    }
    # What is empty was not written.
    return {key: one for key, one in ({**form, **lifted} | detect).items() if one or key in ("systems", "warnings")}


def _lower_is_better(systems: Mapping[str, Any]) -> set[str]:
    """Return the measures of which less is better."""
    found = set()
    for one in systems.values():
        for label, entry in one["measures"].items():
            try:
                measure = Measure.parse(entry.get("convention") or label)
            except KaratError:  # a metric that is not installed here
                continue
            if measure.metric.lower_is_better:
                found.add(label)
    return found


def _directed(rows: Iterable[Mapping[str, Any]], lower: Collection[str]) -> list[dict[str, Any]]:
    return [{**row, "lower_is_better": True} if row["measure"] in lower else dict(row) for row in rows]


def _system_from_1(system: Mapping[str, Any], level: float) -> dict[str, Any]:
    measures = {label: dict(one) for label, one in system["measures"].items()}
    quantiles = {label: one.pop("quantiles") for label, one in measures.items() if one.get("quantiles")}
    lifted = {key: lift(system[key], level) for key, lift in _SECTIONS.items() if system.get(key)}
    return {**system, "measures": measures, **lifted} | ({"quantiles": quantiles} if quantiles else {})


def _warning_from_1(text: str, systems: Mapping[str, Any]) -> dict[str, Any]:
    name, colon, rest = text.partition(": ")
    return {"text": rest, "system": name} if colon and name in systems else {"text": text}


def _agreement_from_1(one: dict[str, Any], level: float) -> dict[str, Any]:
    known = ("about", "pairs", "queries", "left_out", "resamples")
    return {key: one.get(key) for key in known} | {
        "figures": {key: held for key, held in one.items() if key not in known}
    }


def _index_from_1(one: dict[str, Any], level: float) -> dict[str, Any]:
    recall = dict(one["recall"])
    lifted = {**one, "own_exact": recall.pop("own_exact", None), "recall": recall}
    if one.get("latency"):
        whole = dict(one["latency"]["end_to_end"])
        lifted["latency"] = {**one["latency"], "includes": whole.pop("includes"), "end_to_end": whole}
    return lifted


def _stability_from_1(one: dict[str, Any], level: float) -> dict[str, Any]:
    return {"topk": one[f"top{one['k']}"]} | one


def _partial_from_1(one: dict[str, Any], level: float) -> dict[str, Any]:
    groups = [row["name"] for row in one["groups"]]
    return {**one, "keywords": [{**row, "group": _group_of(row["name"], groups)} for row in one["keywords"]]}


def _group_of(keyword: str, groups: Iterable[str]) -> str:
    return next((group for group in groups if keyword.startswith(f"{group}=")), keyword.partition("=")[0])


def _drift_from_1(one: dict[str, Any], level: float) -> dict[str, Any]:
    """Figures did not say how much was allowed and what they are shares of, and tests not at which level they are."""
    old = {row["figure"]: row["old"] for row in one["figures"]}
    figures = []
    for row in one["figures"]:
        scale = old[row["figure"].replace(" std", " mean")] if row["relative_to"] == "mean" else row["old"]
        figures.append({**row, "scale": scale, "allowed": one["allowed"]})
    tested = {key: [{**row, "level": level} for row in one[key]] for key in ("paired", "quality")}
    return {**one, "figures": figures, **tested}


def _gate_from_1(gate: Mapping[str, Any]) -> dict[str, Any]:
    """A verdict had its target only in words."""
    return {**gate, "targets": [{**one, "requirement": _target_of(one)} for one in gate["targets"]]}


def _target_of(verdict: Mapping[str, Any]) -> dict[str, Any]:
    found = _WANTED.fullmatch(verdict["wanted"])
    if found is None:
        raise ValueError(verdict["wanted"])
    limit = float(found["limit"].replace("−", "-"))
    subject, slice_ = verdict["measure"], verdict.get("slice")
    named = verdict["target"] != (f"{subject}, {slice_}" if slice_ else subject)
    return {
        "subject": subject,
        "sign": _SIGNS[found["words"]],
        "limit": limit / 100 if found["share"] else limit,
        "change": found["change"],
        "share": found["share"] is not None,
        "slice": slice_,
        "name": verdict["target"] if named else None,
    }


_SIGNS = {"at least": ">=", "at most": "<=", "more than": ">", "less than": "<"}
_WANTED = re.compile(
    rf"(?:(?P<change>drop|gain|rise) )?(?P<words>{'|'.join(_SIGNS)}) (?P<limit>[−0-9.e+-]+)(?P<share> %)?"
)
_SECTIONS: Mapping[str, Callable[[dict[str, Any], float], dict[str, Any]]] = {
    "agreement": _agreement_from_1,
    "drift": _drift_from_1,
    "index": _index_from_1,
    "partial_matches": _partial_from_1,
    "stability": _stability_from_1,
}
"""By section of a system: its JSON of version 1 and the level of intervals → that of version 2."""
_STEPS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {"karat.report/1": _from_version_1}
