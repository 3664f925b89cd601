"""Surfaces of targets and what is decided from reports: target files, gates, drift; and of every small expression."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from rankjury.errors import RankjuryError
from rankjury.evaluation.api import gate
from rankjury.evaluation.drift import drift_between
from rankjury.evaluation.report import read_report
from rankjury.evaluation.slices.groups import parse_attributes
from rankjury.evaluation.targets import parse_target, parse_targets
from rankjury.io.source import Source
from rankjury.labeling.keywords.gold import KeywordMatch
from rankjury.measures.dialects import resolve
from rankjury.recsys.data.times import parse_time
from rankjury.recsys.split import read_fractions
from rankjury.reporting.sections.drift import drift_block, drifts_to_json
from rankjury.retrieval.embedding.chunking import parse_chunking
from rankjury.retrieval.hints import find_hints
from rankjury.scale.memory import parse_memory
from tests.evaluation.drifting import QUERIES, form_of
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
    return found.to_json(), found.notes, found._repr_html_()


def _mutate_drift(rng: Random, case: Case) -> Case:
    name = rng.choice(("new.json", "old.json"))
    if rng.random() < 0.2:
        return case.with_file(name, mutators.mutate_json(rng, case.files[name]))
    form = json.loads(case.files[name])
    for _ in range(rng.choice((1, 1, 2, 3))):
        form = _change_number(rng, form) if rng.random() < 0.6 else mutators.mutate_tree(rng, form)
    return case.with_file(name, json.dumps(form).encode("utf-8", "surrogatepass"))


def _drifting() -> list[Case]:
    tops = [["a", "b", "c"]] * QUERIES
    new, old = (form_of(tops=tops) for _ in range(2))
    return [Case({"new.json": json.dumps(new).encode(), "old.json": json.dumps(old).encode()})]


def _drift(case: Case) -> object:
    new, old = read_report("new.json"), read_report("old.json")
    found = drift_between(old, new)
    hints = find_hints(new, found)
    return drifts_to_json([found], strict=True), drift_block(found, hints), hints


_SPELLED: dict[str, tuple[Callable[[str], object], tuple[str, ...]]] = {
    "target": (lambda text: parse_target(text).title, _TARGETS),
    "measure": (
        lambda text: resolve(text).label,
        ("ndcg(gain=exp)@10", "recall(rel=2,over=k)@5", "P@10", "ap"),
    ),
    "slices": (
        parse_attributes,
        ("type,length(quantiles=3),type*lang", "a(edges=1|2|3)", "type", "a*b"),
    ),
    "chunking": (parse_chunking, ("title", "title+bullets", "title+bullets+description/20+5", "title/300")),
    "memory": (parse_memory, ("2GB", "512MB", "1.5 GiB", "1000000")),
    "fractions": (read_fractions, ("0.8,0.1,0.1", "80/10/10", "8:1:1")),
    "moment": (lambda text: parse_time(text, "s", "validation"), ("2024-01-01", "2024-01-01T10:00:00Z", "978300760")),
    "match": (KeywordMatch.parse, ("all", "any", "graded", "at-least-2")),
}


def _expressions() -> list[Case]:
    return [Case(options={"kind": kind, "text": text}) for kind, (_, texts) in _SPELLED.items() for text in texts]


def _parse(case: Case) -> object:
    try:
        return _SPELLED[case.options["kind"]][0](case.options["text"])
    except RankjuryError:
        if case.options["text"] in _SPELLED[case.options["kind"]][1]:
            return None  # a spelling of another version: seeds only show the way
        raise


def _read_file(case: Case) -> object:
    return parse_targets(Source.open("targets.toml").text(), "targets.toml")


register(Surface("expressions", _expressions, _mutate_expression, _parse, quick=150))
register(Surface("targets-file", lambda: [Case({"targets.toml": _FILE})], _mutate_file, _read_file))
register(Surface("gate", _gates, _mutate_gate, _gate))
register(Surface("drift", _drifting, _mutate_drift, _drift))
