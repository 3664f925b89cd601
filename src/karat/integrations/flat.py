"""A report as names and values, for tools that keep nothing else and allow fewer characters in a name than we do."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite
from typing import Any

from karat.errors import UnknownName, UsageError

__all__ = ["Flat", "flatten"]

Form = Mapping[str, Any]
_FORBIDDEN = re.compile(r"[^\w.-]+")
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
"""Which some databases do not take."""
_PREFIX = re.compile(r"(\w[\w. -]*/)*(\w[\w. -]*)?")
_LONGEST_NAME = 100
"""Bytes of a system's or a measure's part of a name, which may be the name of a file."""
_LONGEST_PATH = 240
"""MLflow takes 250 characters."""
_LONGEST_VALUE = 500
"""Of a parameter or a tag: what older servers of MLflow take."""


@dataclass(frozen=True)
class Flat:
    """Numbers, how they came about, and what to look runs up by."""

    metrics: dict[str, float]
    params: dict[str, str]
    tags: dict[str, str]


class Names:
    """Clean names, each given once; case does not tell two apart, as it does not in the files of some systems."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def give(self, wanted: str) -> str:
        """The name itself, or with a number behind it where it was given before; cut where it is too long."""
        whole = wanted if len(wanted) <= _LONGEST_PATH else f"{wanted[: _LONGEST_PATH - 9]}-{_digest(wanted)}"
        name, number = whole, 1
        while name.casefold() in self._taken:
            number += 1
            name = f"{whole}_{number}"
        self._taken.add(name.casefold())
        return name


def clean(text: str) -> str:
    """``ndcg(gain=exp)@10`` → ``ndcg_gain_exp_10``: letters, digits, ``_``, ``-`` and ``.`` stay as they are.

    What is too long is cut, and told apart by a digest of the whole.
    """
    name = _FORBIDDEN.sub("_", text).strip("_.") or "unnamed"
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    return f"{name.encode()[: _LONGEST_NAME - 9].decode(errors='ignore')}-{_digest(text)}"


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]


def flatten(form: Form, *, prefix: str = "", measures: Sequence[str] | None = None) -> Flat:
    """A report's form: its figures as ``system/measure`` with their intervals, its conventions, its verdict.

    ``prefix`` stands before every name; ``measures`` are those to keep, None: all of them.
    """
    if not _PREFIX.fullmatch(prefix) or len(prefix) > _LONGEST_NAME:
        raise UsageError(f"the prefix is {prefix!r}", expected="letters, digits, _ and -, such as nightly/")
    known = {label: None for one in form["systems"].values() for label in one["measures"]}
    for label in measures or ():
        if label not in known:
            raise UnknownName("measure of the report", label, known)
    names = Names()
    systems = {system: names.give(clean(system)) for system in form["systems"]}
    metrics, names = {}, Names()
    for system, label, suffix, value in _figures(form, set(known) if measures is None else set(measures)):
        if value is not None and isfinite(value):
            inner = f"{clean(label)}{suffix}"
            metrics[names.give(f"{prefix}{systems[system] if system else 'targets'}/{inner}")] = float(value)
    return Flat(metrics, _named(prefix, _params(form, systems)), _named(prefix, _tags(form)))


def _figures(form: Form, wanted: set[str]) -> Iterator[tuple[str, str, str, float | None]]:
    """System, measure, what of it, and its value; measures first, for theirs are the names to be kept short."""
    for system, one in form["systems"].items():
        for label, entry in one["measures"].items():
            if label in wanted:
                yield from ((system, label, suffix, value) for suffix, value in _estimate(entry))
    for one in form.get("comparisons") or ():
        if one["measure"] in wanted:
            yield from ((one["system"], one["measure"], suffix, value) for suffix, value in _comparison(one))
    for system, one in form["systems"].items():
        for label, entry in (one.get("figures") or {}).items():
            whole = entry if isinstance(entry, Mapping) else {"value": entry}
            yield system, label, "", whole.get("value")
            yield from ((system, label, suffix, value) for suffix, value in _ends(whole, "_ci"))
    verdicts = [one["verdict"] for one in (form.get("gate") or {}).get("targets") or ()]
    if verdicts:
        yield from (("", outcome, "", verdicts.count(outcome)) for outcome in ("pass", "fail", "unsure"))


def _estimate(entry: Form) -> Iterator[tuple[str, float | None]]:
    yield "", entry.get("mean")
    yield from _ends(entry, "_ci")
    yield "_n", entry.get("n")
    yield "_sum", entry.get("sum")


def _comparison(one: Form) -> Iterator[tuple[str, float | None]]:
    yield "_difference", one.get("difference")
    yield from _ends(one, "_difference_ci")
    yield "_p", one.get("p_holm")


def _ends(entry: Form, name: str) -> Iterator[tuple[str, float | None]]:
    if entry.get("ci"):
        low, high = entry["ci"]
        yield from ((f"{name}_low", low), (f"{name}_high", high))


def _params(form: Form, systems: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """What stays the same when nothing but the time is another."""
    given = form.get("provenance") or {}
    yield from ((key, given.get(key)) for key in ("plan", "name", "dialect"))
    yield from ((key, (form.get("resampling") or {}).get(key)) for key in ("seed", "resamples", "level", "interval"))
    yield from (("baseline", form.get("baseline")), ("systems", ", ".join(form["systems"])))
    yield from _leaves("meta", given.get("meta") or {})
    yield from _leaves("query_set", given.get("query_set") or {})
    conventions: dict[str, str] = {}
    for one in form["systems"].values():
        conventions |= {label: entry.get("convention") or label for label, entry in one["measures"].items()}
    yield from ((f"convention.{clean(label)}", one) for label, one in conventions.items() if one != label)
    for system, name in systems.items():
        one = form["systems"][system]
        index = {key: (one.get("index") or {}).get(key) for key in ("engine", "metric", "build", "search")}
        for about in (one.get("facts") or {}, {"fusion": one.get("fusion") or {}}, index):
            yield from _leaves(name, about)


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Nested tables by their path."""
    if isinstance(value, Mapping):
        for key, held in value.items():
            yield from _leaves(f"{path}.{clean(str(key))}", held)
    elif isinstance(value, list | tuple):
        yield path, ", ".join(map(str, value))
    else:
        yield path, value


def _tags(form: Form) -> Iterator[tuple[str, Any]]:
    """What to look a run up by."""
    yield from (("karat.version", form.get("karat")), ("karat.schema", form.get("schema")))
    yield "karat.verdict", (form.get("gate") or {}).get("verdict")
    yield "karat.made", (form.get("provenance") or {}).get("made")
    yield "karat.warnings", len(form.get("warnings") or ())


def _named(prefix: str, rows: Iterator[tuple[str, Any]]) -> dict[str, str]:
    """As texts, each name once; what is not known is left out, and what is too long is cut."""
    names = Names()
    found = {}
    for name, value in rows:
        if value is not None and value != "":
            text = _CONTROLS.sub(" ", str(value))
            kept = text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
            found[names.give(f"{prefix}{name}")] = kept
    return found
