"""Parser of plans: TOML → a checked plan, or one error with all faults, each with its key and line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from rankjury.core.secrets import Masker
from rankjury.errors import RankjuryError, UnknownName, UsageError, parse_toml, shorten
from rankjury.evaluation.evaluate import at_cutoffs, resolve_measures
from rankjury.evaluation.gate import target_measures
from rankjury.evaluation.slices.groups import parse_attributes
from rankjury.evaluation.targets import Target, parse_target
from rankjury.io.source import Source
from rankjury.measures.dialects import NamedMeasure, find_dialect
from rankjury.plan import GOLD_KINDS, SYSTEM_KINDS
from rankjury.plan.schema import Conventions, Plan, plan_model
from rankjury.plan.toml import KeyPath, find_line, format_path, key_lines
from rankjury.retrieval.bench.measure import select_loss_measure
from rankjury.retrieval.bench.result import CLOCKS, drift_value_names, index_value_names

Fault = tuple[KeyPath, str]
"""The path of a key in the plan, and its fault."""
_DEEPEST = 50
"""Levels of tables and lists; no table of a plan has more than six."""
_MIN_GAIN, _MIN_RECALL, _MAX_MS = 0.85, 0.95, 250


def _targets(plan: Plan, asked: Sequence[NamedMeasure], faults: list[Fault]) -> list[Target]:
    targets = []
    for path, text, options in _target_texts(plan, asked):
        try:
            targets.append(parse_target(text, options))
            _check_subject(targets[-1], plan, asked)
        except RankjuryError as error:
            faults.append((path, str(error).removeprefix("target: ")))
    return targets


def _target_texts(plan: Plan, asked: Sequence[NamedMeasure]) -> Iterator[tuple[KeyPath, str, dict[str, str]]]:
    """Yield the key, the text and the options of each target: those of the plan, or the default ones of an index."""
    if plan.has_default_targets:
        gain = select_loss_measure(asked, plan.lab.k)
        if gain is not None and gain.measure.k == plan.lab.k:
            yield ("lab",), f"{gain.label} >= {_MIN_GAIN}", {}
        yield ("lab",), f"ann_recall@{plan.lab.k} >= {_MIN_RECALL}", {}
        if plan.lab.rounds != 0:
            yield ("lab",), f"latency_p95_ms <= {_MAX_MS}", {}
        if plan.lab.earlier is not None:
            yield ("lab",), f"drift <= {plan.lab.allowed_drift * 100:g} %", {}
    for number, text in enumerate([plan.targets] if isinstance(plan.targets, str) else plan.targets):
        yield ("targets", number), text, {}
    for number, table in enumerate(plan.target):
        yield ("target", number, "require"), table.require, table.model_dump(exclude_none=True, exclude={"require"})


def _lacking(figure: str, plan: Plan) -> str | None:
    """Return the key of the lab that is needed for a value."""
    if any(figure in figures for figures in plan.figures.values()):
        return None
    if figure in drift_value_names(plan.lab.k) and plan.lab.earlier is None:
        return "lab.earlier = an earlier report"
    if figure.startswith("open_loop_") and plan.lab.rate is None:
        return "lab.rate = queries per second"
    if figure.startswith(CLOCKS) and plan.lab.rounds == 0:
        return "lab.rounds = 1 or more"
    return None


def _check_subject(target: Target, plan: Plan, asked: Sequence[NamedMeasure]) -> None:
    """Refuse a target on an unknown value or measure."""
    recorded = [name for figures in plan.figures.values() for name in figures]
    recorded += index_value_names(plan.lab.k) if plan.is_lab else []
    target_measures([target], recorded)
    labels = [named.label for named in asked]
    known = {str(named.measure) for named in asked}
    if target.subject not in (*recorded, *labels) and str(resolve_measures([target.subject])[0].measure) not in known:
        raise UsageError(f"{target.subject} is not among the measures", expected=f"one of {', '.join(labels)}")
    lacking = _lacking(target.subject, plan) if target.subject in index_value_names(plan.lab.k) else None
    if lacking is not None:
        raise UsageError(f"{target.subject} is unknown", expected=lacking)
    if target.relative and plan.baseline is None:
        raise UsageError(f"the target {target.title!r} needs a baseline", expected="baseline = the name of a system")


@dataclass(frozen=True)
class CheckedPlan:
    """A validated plan, and its location."""

    plan: Plan
    where: str
    folder: Path
    asked: tuple[NamedMeasure, ...]
    targets: tuple[Target, ...]
    headline: tuple[str, ...]
    """Labels of the measures to print and to test."""
    places: dict[KeyPath, int] = field(default_factory=dict)
    """The line of each key."""
    notes: tuple[str, ...] = ()
    """Warnings of the parser."""

    def at(self, *path: str | int) -> str:
        """Return the file, line and key of a path, for later errors."""
        return place_of(path, self.where, self.places)

    @property
    def cuts(self) -> tuple[int, ...]:
        return tuple(sorted({named.measure.k for named in self.asked if named.measure.k is not None}))

    @property
    def gold_cut(self) -> int:
        """The largest cut-off at which a measure cuts the gold; 0: none."""
        return max((named.measure.k or 0 for named in self.asked if named.measure["gold"] in ("k", "tied")), default=0)

    @property
    def deepest(self) -> int | None:
        """Maximum depth used by measures and pairs; None: no limit."""
        if not self.cuts or any(named.measure.k is None for named in self.asked):
            return None
        pairs = self.plan.agreement
        return max(self.cuts[-1], (pairs and pairs.k) or 0)


def read_plan(given: str | Path) -> CheckedPlan:
    """Read and check a plan without opening the files that it names."""
    path = Path(given)
    text = Source.open(path).text()
    content = parse_toml(text, str(path), fault=UsageError, expected="a plan, as rankjury init writes it")
    return check_plan(content, str(path), path.parent, key_lines(text))


def check_plan(
    content: dict[str, Any], where: str, folder: Path, places: dict[KeyPath, int] | None = None
) -> CheckedPlan:
    """Check a plan; ``places`` are the lines of its keys, ``folder`` is the base of relative paths."""
    places = places or {}
    if unusable := list(unusable_values(content)):
        raise fault_error(unusable, where, places)
    plan = _validated(content, where, places)
    plan = plan.model_copy(update={"gold": plan.gold.complete(folder)})
    faults: list[Fault] = []
    asked = _asked(plan, faults)
    targets = _targets(plan, asked, faults)
    headline = _headline(plan, asked, faults)
    faults += _misfits(plan, asked)
    faults += [(("gold", key), message) for key, message in plan.gold.measure_faults(asked)]
    if faults:
        raise fault_error(faults, where, places)
    whole = plan
    plan, notes = _drop_unavailable_systems(whole, where)
    if whole.has_default_targets and not plan.indexes:
        targets = []
    targets = [target for target in targets if target.system is None or target.system in plan.systems]
    return CheckedPlan(plan, where, folder, tuple(asked), tuple(targets), headline, places, notes)


def _drop_unavailable_systems(plan: Plan, where: str) -> tuple[Plan, tuple[str, ...]]:
    """Return the plan without optional systems that are not installed and systems made from them, with notes."""
    lacking = {name: reason for name, table in plan.systems.items() if (reason := table.unavailable_reason) is not None}
    if not lacking:
        return plan, ()
    for name in plan.systems:
        without = [other for other in _all_needs(plan, name) if other in lacking]
        if without and name not in lacking:
            lacking[name] = f"omitted, as it is made from {', '.join(sorted(without))}"
    by_reason: dict[str, list[str]] = {}
    for name, reason in lacking.items():
        by_reason.setdefault(reason, []).append(name)
    notes = tuple(f"{', '.join(names)}: {reason}" for reason, names in by_reason.items())
    if lacking.keys() == plan.systems.keys() or plan.baseline in lacking:
        raise UsageError("; ".join(notes), where=where)
    changed: dict[str, Any] = {}
    for key in plan.model_fields_set & {"systems", "sweep", "tune", "figures"}:
        changed[key] = {name: table for name, table in getattr(plan, key).items() if name not in lacking}
    for key in plan.model_fields_set & {"target", "output"}:
        changed[key] = [table for table in getattr(plan, key) if table.system not in lacking]
    return plan.model_copy(update=changed), notes


def _validated(content: dict[str, Any], where: str, places: dict[KeyPath, int]) -> Plan:
    # The default kind of gold is labels, that of a system run.
    if isinstance(content.get("gold"), str):
        content["gold"] = {"path": content["gold"]}
    if isinstance(content.get("gold"), dict):
        content["gold"].setdefault("kind", "labels")
    if isinstance(content.get("systems"), dict):
        for name, table in content["systems"].items():
            if isinstance(table, str):
                content["systems"][name] = table = {"path": table}
            if isinstance(table, dict):
                table.setdefault("kind", "run")
    model = plan_model()
    try:
        return model.model_validate(content)
    except ValidationError as error:
        faults = [_fault_from_error(details, content, model) for details in error.errors()]
        raise fault_error(_merge_faults(faults), where, places) from error


def _asked(plan: Plan, faults: list[Fault]) -> list[NamedMeasure]:
    """Return the measures; those without a cut-off at every cut-off."""
    dialect = plan.conventions.dialect
    if dialect is not None:
        try:
            find_dialect(dialect)
        except UnknownName as error:
            faults.append((("conventions", "dialect"), str(error)))
            dialect = None
    asked: list[NamedMeasure] = []
    for number, measure in enumerate(plan.measures):
        try:
            for spelling in at_cutoffs(measure, plan.cutoffs):
                asked += resolve_measures([spelling], dialect, plan.conventions.overrides())
        except RankjuryError as error:
            faults.append((("measures", number), str(error)))
    return list({named.label: named for named in asked}.values())


def _headline(plan: Plan, asked: list[NamedMeasure], faults: list[Fault]) -> tuple[str, ...]:
    """Return the labels of the measures to print and to test, which may be spelled differently."""
    labels = [named.label for named in asked]
    by_spelling = {str(named.measure): named.label for named in asked} | {label: label for label in labels}
    headline = []
    for number, spelling in enumerate(plan.headline):
        try:
            label = by_spelling.get(spelling) or by_spelling.get(str(plan.conventions.resolve(spelling).measure))
            if label is None:
                raise UnknownName("measure of this plan:", spelling, labels)
            headline.append(label)
        except RankjuryError as error:
            faults.append((("headline", number), str(error)))
    return tuple(headline or labels)


def _misfits(plan: Plan, asked: list[NamedMeasure]) -> Iterator[Fault]:
    """Yield unknown names of systems, cycles, and values that exclude each other."""
    yield from ((("gold", key), message) for key, message in plan.gold.faults())
    if plan.baseline is not None and plan.baseline not in plan.systems:
        yield ("baseline",), str(UnknownName("system", plan.baseline, plan.systems))
    elif plan.baseline is not None and not plan.systems[plan.baseline].ranks:
        yield ("baseline",), f"{plan.baseline} is a random order, which cannot be compared query by query"
    if plan.agreement is not None and not plan.gold.is_model_reference:
        yield ("agreement",), 'needs a reference: gold = { kind = "reference", … }'
    for key, name, table in plan.tables_for_systems():
        yield from (((key, name, *path), message) for path, message in table.faults(name, plan))
    for name in plan.figures:
        if name not in plan.systems:
            yield ("figures", name), str(UnknownName("system", name, plan.systems))
    for name, system in plan.systems.items():
        for number, other in enumerate(system.needs()):
            if other not in plan.systems:
                yield ("systems", name, "of", number), str(UnknownName("system", other, plan.systems))
        if name in _all_needs(plan, name):
            yield ("systems", name, "of"), "depends on itself"
        yield from ((("systems", name, key), message) for key, message in system.faults())
    for number, target in enumerate(plan.target):
        if target.system is not None and target.system not in plan.systems:
            yield ("target", number, "system"), str(UnknownName("system", target.system, plan.systems))
    for key, slices in (("slices", plan.slices), ("item_slices", plan.item_slices)):
        for number, text in enumerate([slices] if isinstance(slices, str) else slices):
            _, colon, attributes = text.rpartition(":")
            try:
                if colon and attributes:
                    parse_attributes(attributes)
            except RankjuryError as error:
                yield (key, number), str(error)
    k = plan.agreement.k if plan.agreement is not None else None
    depth = getattr(plan.gold, "depth", None) or max((named.measure.k or 0 for named in asked), default=0)
    if k is not None and 0 < depth < k:  # the pairs of the top k use the gold's first k
        yield ("agreement", "k"), f"found {k:,}, but the gold has depth {depth:,}; set gold.depth = {k:,}"


def _all_needs(plan: Plan, name: str) -> set[str]:
    """Return the systems that a system is made from, directly or indirectly."""
    needed: set[str] = set()
    waiting = list(plan.systems[name].needs())
    while waiting:
        other = waiting.pop()
        if other not in needed and other in plan.systems:
            needed.add(other)
            waiting += plan.systems[other].needs()
    return needed


def unusable_values(content: Any, path: KeyPath = ()) -> Iterator[Fault]:
    """Yield values that no key accepts: non-finite numbers, numbers over 64 bits, NUL characters."""
    if len(path) > _DEEPEST:
        yield path[:1], "nested too deeply"
    elif isinstance(content, dict):
        for key, value in content.items():
            if "\0" in str(key):
                yield (*path, shorten(str(key))), "a key with a NUL character"
            yield from unusable_values(value, (*path, key))
    elif isinstance(content, list):
        for place, value in enumerate(content):
            yield from unusable_values(value, (*path, place))
    elif isinstance(content, float) and not isfinite(content):
        yield path, f"found {content}, expected a finite number"
    elif isinstance(content, int) and not -(2**63) <= content < 2**63:
        yield path, f"found {shorten(content)}, expected one of at most 64 bits"
    elif isinstance(content, str) and "\0" in content:
        yield path, f"found a NUL character in {shorten(content)!r}"


_OTHER_KEYS = {
    **dict.fromkeys(("metrics", "metric", "measure"), "measures"),
    **dict.fromkeys(("k", "ks", "cutoff", "cut_offs"), "cutoffs"),
    **dict.fromkeys(("qrels", "judgments", "judgements", "truth"), "gold"),
    **dict.fromkeys(("runs", "models", "rankings"), "systems"),
}
"""Words that people write for a key of a plan, and that key."""


def fault_error(faults: list[Fault], where: str, places: dict[KeyPath, int]) -> UsageError:
    """Return one error for all faults, each with its line and key."""
    messages = [f"{place_of(path, where, places)}: {message}" for path, message in faults]
    if len(messages) == 1:
        return UsageError(messages[0])
    return UsageError(f"{len(messages)} faults in the plan", where=where, details=messages)


def place_of(path: KeyPath, where: str, places: dict[KeyPath, int]) -> str:
    """Return the file, the line and the key of a path: ``plan.toml:12, systems.dense.path``."""
    line = find_line(path, places)
    return f"{where}{f':{line}' if line else ''}, {format_path(path)}" if path else where


def _fault_from_error(error: Any, content: dict[str, Any], model: type[BaseModel]) -> Fault:
    path = _path_within(error["loc"], content)
    kind = error["type"]
    if kind == "extra_forbidden":
        key = str(path[-1])
        if len(path) == 1 and key in _OTHER_KEYS:
            return path, f"unknown key {key!r}. Did you mean {_OTHER_KEYS[key]}?"
        if key in Conventions.model_fields and path[:1] != ("conventions",) and path != ("gold", "rel"):
            return path, f"unknown key {key!r}: it is a convention; set it under [conventions]"
        return path, str(UnknownName("key", key, _known_keys(path[:-1], content, model)))
    if kind == "missing":
        return path, "missing"
    if kind == "union_tag_invalid":
        registry = GOLD_KINDS if path[:1] == ("gold",) else SYSTEM_KINDS
        return (*path, "kind"), str(UnknownName(registry.kind, error["ctx"]["tag"], registry.names()))
    message = error["msg"].removeprefix("Value error, ").replace("Input should be ", "expected ")
    found = Masker().plan(error.get("input"), tuple(map(str, path)))
    shown = f"found {shorten(found, quoted=True)}, " if isinstance(found, str | int | float) else ""
    return path, shown + message[:1].lower() + message[1:]


def _path_within(location: tuple[Any, ...], content: Any) -> KeyPath:
    """Return the location without the names of kinds and types, which are not keys of the plan."""
    path: list[str | int] = []
    kind_at = {"gold": 1, "systems": 2}.get(str(location[0]))
    location = tuple(part for place, part in enumerate(location) if place != kind_at)
    for place, part in enumerate(location):
        listed = isinstance(content, list) and isinstance(part, int) and part < len(content)
        if listed or (isinstance(content, dict) and part in content):
            content = content[part]
            path.append(part)
        elif isinstance(content, dict) and place == len(location) - 1 and isinstance(part, str):
            path.append(part)
    return tuple(path)


def _known_keys(path: KeyPath, content: dict[str, Any], model: type[BaseModel]) -> list[str]:
    """Return the valid keys of the table at this path."""
    annotation: Any = model
    table: Any = content
    for part in path:
        table = table[part]
        inside = get_origin(annotation) in (dict, list)
        annotation = get_args(annotation)[-1] if inside else annotation.model_fields[part].annotation
        if get_origin(annotation) not in (dict, list):  # a table, or one of several kinds
            kinds = list(_models_in(annotation))
            if len(kinds) > 1:
                kinds = [kind for kind in kinds if table["kind"] in get_args(kind.model_fields["kind"].annotation)]
            annotation = kinds[0]
    return list(annotation.model_fields)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _merge_faults(faults: list[Fault]) -> list[Fault]:
    """Merge the faults of a value that matches none of several types into one."""
    by_start: dict[tuple[KeyPath, str], list[str]] = {}
    paths = {path for path, _ in faults}
    for path, message in faults:
        if any(other[: len(path)] == path and len(other) > len(path) for other in paths):
            continue  # the faults inside it are reported
        start, expected, wanted = message.partition("expected ")
        by_start.setdefault((path, start + expected), []).append(wanted)
    return [(path, start + " or ".join(dict.fromkeys(all_of))) for (path, start), all_of in by_start.items()]
