"""Surfaces of targets: files, expressions, and gates over odd reports."""

from __future__ import annotations

import json
from functools import cache
from random import Random
from typing import Any

from karat.api import gate
from karat.formats.source import Source
from karat.targets import parse_target, parse_targets
from tests.fuzz import mutators
from tests.fuzz.harness import Case, Surface, register
from tests.fuzz.readers import report_forms

_TARGETS = (
    "ndcg@3 >= 0.85", "ap drop <= 0.005", "ndcg@3 gain > 1 %", "latency_p95_ms <= 50", "ndcg@3 rise ≥ 0", "ap<0.5",
    "latency_p95_ms rise <= 10%", "ndcg(gain=exp)@3 >= 85 %",
)  # fmt: skip
_FILE = b"""baseline = "x"
targets = ["ndcg@3 >= 0.85", "ap drop <= 2 %"]
slices = "queries.csv:type"
[[target]]
require = "ndcg@3 gain >= 1 %"
slice = "type=a"
system = "y"
name = "better"
"""


def _mutate_text(rng: Random, text: str) -> str:
    return mutators.mutate_text(rng, text.encode(), " @<>=%().").decode("utf-8", "replace")


def _mutate_expression(rng: Random, case: Case) -> Case:
    return case.with_options(text=_mutate_text(rng, case.options["text"]))


def _mutate_file(rng: Random, case: Case) -> Case:
    return case.with_file("targets.toml", mutators.mutate_toml(rng, case.files["targets.toml"]))


@cache
def _reports() -> list[dict[str, Any]]:
    return report_forms()


def _gates() -> list[Case]:
    """The first report has both measures; the others the first one, slices and figures."""
    first, *others = (json.dumps(form).encode() for form in _reports())
    wanted = ["ndcg@3 >= 0.1", "ap drop <= 0.005", "ap gain >= 5 %"]
    found = [Case({"report.json": first, "before.json": first}, {"targets": wanted, "baseline": None})]
    found.append(Case({"report.json": first, "before.json": first}, {"targets": wanted, "baseline": "before.json"}))
    wanted = ["ndcg@3 drop <= 5 %", "latency_p95_ms rise <= 10 %", "latency_p95_ms <= 50"]
    for other in others:
        found.append(Case({"report.json": other, "before.json": other}, {"targets": wanted, "baseline": None}))
        found.append(Case({"report.json": other, "before.json": other}, {"targets": wanted, "baseline": "before.json"}))
    return found


def _mutate_gate(rng: Random, case: Case) -> Case:
    kind = rng.random()
    if kind < 0.15:
        targets = list(case.options["targets"])
        targets[rng.randrange(len(targets))] = _mutate_text(rng, rng.choice(_TARGETS))
        return case.with_options(targets=targets)
    if kind < 0.2:
        return case.with_options(baseline=rng.choice(("x", "y", "z", "", "report.json", "before.json", ".", "no.json")))
    name = rng.choice(("report.json", "before.json"))
    form = json.loads(case.files[name])
    for _ in range(rng.choice((1, 1, 2, 3))):
        form = _change_number(rng, form) if rng.random() < 0.6 else mutators.mutate_tree(rng, form)
    return case.with_file(name, json.dumps(form).encode("utf-8", "surrogatepass"))


def _change_number(rng: Random, form: Any) -> Any:
    """Change one value of a report to another that the form allows: null, zero, a large one."""
    tree = form
    while isinstance(tree, dict | list) and tree:
        key: Any = rng.choice(list(tree)) if isinstance(tree, dict) else rng.randrange(len(tree))
        if not isinstance(tree[key], dict | list) or not tree[key]:
            tree[key] = rng.choice((None, 0, 0.0, -1.0, 1e308, 5e-324, 1, 2, [], {}, [0.0, 0.0], [1.0, 0.0], "x"))
            break
        tree = tree[key]
    return form


def _gate(case: Case) -> object:
    found = gate("report.json", *case.options["targets"], baseline=case.options["baseline"])
    return found.as_json(), found.notes, found._repr_html_()


def _expressions() -> list[Case]:
    return [Case(options={"text": text}) for text in _TARGETS]


def _read_file(case: Case) -> object:
    return parse_targets(Source.open("targets.toml").text(), "targets.toml")


register(Surface("target", _expressions, _mutate_expression, lambda case: parse_target(case.options["text"]).title))
register(Surface("targets-file", lambda: [Case({"targets.toml": _FILE})], _mutate_file, _read_file))
register(Surface("gate", _gates, _mutate_gate, _gate))
