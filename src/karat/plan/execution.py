"""A checked plan → Report and verdicts."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import polars as pl

from karat.assessment import assess
from karat.chance import Chance
from karat.errors import KaratError, UnknownName, UsageError
from karat.formats.attributes import read_attributes
from karat.gates import Gate, check_targets, measures_of
from karat.hygiene import Hygiene, notes_of
from karat.indexed import Equivalence, figure_names
from karat.lab.measuring import Measured
from karat.pairing import PairsOfSystems
from karat.plan.lab import LabWork
from karat.plan.reading import Checked
from karat.plan.tables import Loaded
from karat.plan.trials import Trials
from karat.report import Report
from karat.saved import Saved
from karat.similarities import Similarities
from karat.slices import Cuts, parse_attributes
from karat.statistics.intervals import Resampling
from karat.targets import Target
from karat.types import Floats, Gold, Ranking, Vectors

__all__ = ["Outcome", "Steps", "rankings_of", "run_plan"]

Steps = Callable[[str, int, int], None]
"""Told what is being done, how many steps of it are done, and of how many."""
_TOP = 10


@dataclass(frozen=True)
class Outcome:
    """What came of a plan."""

    report: Report
    gate: Gate | None
    """None where the plan has no targets."""


def run_plan(checked: Checked, steps: Steps | None = None, output: Path | None = None) -> Outcome:
    """Load, rank, score, compare, and hold against the targets. ``output``: where its files will go."""
    plan = checked.plan
    work = Work(checked, steps or (lambda what, done, of: None), output)
    report = assess(
        work.gold_of(next(iter(plan.systems))),
        {name: partial(work.load, name) for name in plan.systems},
        checked.asked,
        golds={name: work.gold_of(name) for name in plan.systems},
        how=work.how,
        baseline=plan.baseline,
        slices=list(_cuts(work, plan.slices, "queries")),
        item_slices=list(_cuts(work, plan.item_slices, "items")),
        tested=checked.headline,
        duplicates=plan.conventions.duplicates,
        keep_top=max([*checked.cuts, _TOP]) if checked.cuts else _TOP,
        relative=work.loaded.reference is not None,
    )
    report = replace(
        report,
        figures={name: dict(found) for name, found in plan.figures.items()},
        golds={name: work.aspect_of(name) for name in plan.systems} if len(work.loaded.golds) > 1 else {},
        names=_names(work, plan.names),
        spaces=work.all_spaces,
        agreements=work.pairs.agreements(work.how, plan.baseline) if work.pairs else {},
        fusions=work.fusions,
        facts=work.facts,
        warnings=(*report.warnings, *checked.notes, *work.loaded.notes, *work.notes, *notes_of(work.all_spaces)),
        provenance=_provenance(checked),
    )
    if work.trials.stabilities:
        golds = {name: work.gold_of(name) for name in plan.systems}
        report = work.trials.added_to(report, golds, checked.asked, work.how)
    targets, notes = _aimed(work, report)
    report = replace(report, warnings=(*report.warnings, *notes))
    return Outcome(report, _gate(targets, report, checked.where) if targets else None)


def rankings_of(checked: Checked, system: str, steps: Steps | None = None) -> tuple[Gold, dict[str, Ranking], bool]:
    """The gold of a system, the rankings that it is made from, and whether its queries are the candidates."""
    work = Work(checked, steps or (lambda what, done, of: None))
    needed = checked.plan.systems[system].needs()
    return work.gold_of(system), {name: work.ranking(name) for name in needed}, work.loaded.closed


class Work:
    """What is loaded while a plan runs, each once."""

    def __init__(self, checked: Checked, steps: Steps, output: Path | None = None) -> None:
        self.checked = checked
        place = checked.folder if output is None else output
        self.scratch = str(place.absolute()) if os.access(place if place.exists() else place.parent, os.W_OK) else ""
        self.steps = steps
        self.spaces: dict[str, Hygiene] = {}
        self.fusions: dict[str, dict[str, object]] = {}
        self.facts: dict[str, dict[str, object]] = {}
        self.notes: list[str] = []
        self._made: dict[str, Ranking | Chance] = {}
        self._used = {name for table in checked.plan.systems.values() for name in table.needs()}
        self._doing = "Reading the gold"
        self.how = Resampling(**checked.plan.statistics.model_dump())
        self.is_lab = checked.plan.is_lab
        self.lab = LabWork(checked.plan.lab, self)
        self.trials = Trials(self.lab)
        self.cuts, self.gold_cut = checked.cuts, checked.gold_cut
        with self.named_at("gold"):
            self.loaded: Loaded = checked.plan.gold.load(self)
        self.pairs = _pairs(checked, self.loaded)

    @contextmanager
    def named_at(self, *path: str | int) -> Iterator[None]:
        """Say of an error in a file which key of the plan names it."""
        try:
            yield
        except KaratError as error:
            if self.checked.places and self.checked.where not in str(error):
                place = self.checked.at(*path).replace(self.checked.where, Path(self.checked.where).name)
                error.where = f"{error.where} ({place})" if error.where else place
            raise

    def path(self, text: str) -> str:
        return text if text == "-" or Path(text).is_absolute() else str(self.checked.folder / text)

    def progress(self, done: int, of: int) -> None:
        self.steps(self._doing, done, of)

    @property
    def all_spaces(self) -> dict[str, Hygiene]:
        """The gold's own, and by system."""
        own = {name if name not in self.spaces else f"{name} (gold)": one for name, one in self.loaded.spaces.items()}
        return own | self.spaces

    def aspect_of(self, system: str) -> str:
        """The aspect of the gold that a system is held against."""
        golds = self.loaded.golds
        chosen = self.checked.plan.systems[system].gold
        where = self.checked.at("systems", system, "gold")
        if chosen is None and len(golds) > 1:
            known = ", ".join(f'"{name}"' for name in golds)
            raise UsageError("the gold has several aspects", where=where, expected=f"gold = one of {known}")
        if chosen is not None and chosen not in golds:
            raise UnknownName("aspect of the gold", chosen, golds, where=where)
        return chosen or next(iter(golds))

    def gold_of(self, system: str) -> Gold:
        return self.loaded.golds[self.aspect_of(system)]

    def load(self, name: str) -> Ranking | Chance:
        """A system's ranking; kept where another is made from it."""
        if name in self._made:
            return self._made[name]
        self._doing = f"Ranking {name}"
        self.progress(0, 1)
        with self.named_at("systems", name, "path"):
            made = self.checked.plan.systems[name].load(_Bench(self, name))
        if name in self._used:
            self._made[name] = made
        return made

    def is_used(self, name: str) -> bool:
        """Whether another system is made from it."""
        return name in self._used

    def ranking(self, name: str) -> Ranking:
        made = self.load(name)
        if isinstance(made, Chance):
            raise UsageError(f"{name} is a random order, which has no ranking", where=self.checked.where)
        return made


class _Bench:
    """What one system may use."""

    def __init__(self, work: Work, name: str) -> None:
        self.work = work
        self.name = name
        self.gold = work.gold_of(name)
        self.closed = work.loaded.closed
        self.cuts, self.gold_cut = work.cuts, work.gold_cut
        self.reference = work.loaded.reference
        self.how, self.lab, self.is_lab, self.scratch = work.how, work.lab, work.is_lab, work.scratch
        self.deepest = None if work.is_used(name) else work.checked.deepest

    def path(self, text: str) -> str:
        return self.work.path(text)

    def ranking(self, name: str) -> Ranking:
        return self.work.ranking(name)

    def progress(self, done: int, of: int) -> None:
        self.work.progress(done, of)

    def tell(self, what: str, done: int, of: int) -> None:
        self.work.steps(f"{what}: {self.name}", done, of)

    def keep_index(self, measured: Measured, same: Equivalence | None) -> None:
        self.work.trials.keep_index(self.name, measured, same)

    def keep_vectors(self, corpus: Vectors, queries: Vectors, scores: Floats) -> None:
        self.work.trials.keep_vectors(self.name, corpus, queries, scores)

    def note(self, text: str) -> None:
        self.work.notes.append(f"{self.name}: {text}")

    def keep_space(self, hygiene: Hygiene) -> None:
        self.work.spaces[self.name] = hygiene

    def keep_similarities(self, similarities: Similarities, ranking: Ranking) -> None:
        if self.work.pairs is not None:
            self.work.pairs.add(self.name, similarities, ranking)

    def keep_fusion(self, how: Mapping[str, object]) -> None:
        self.work.fusions[self.name] = dict(how)

    def keep_facts(self, facts: Mapping[str, object]) -> None:
        self.work.facts[self.name] = self.work.facts.get(self.name, {}) | dict(facts)


def _pairs(checked: Checked, loaded: Loaded) -> PairsOfSystems | None:
    table = checked.plan.agreement
    if table is None or loaded.reference is None:
        return None
    deepest = max(checked.cuts, default=_TOP)
    return PairsOfSystems(
        loaded.reference, over=table.over, size=table.pairs, seed=table.seed, k=table.k or deepest,
        where=checked.at("agreement"),
    )  # fmt: skip


def _cuts(work: Work, given: str | list[str], of: str) -> Iterable[Cuts]:
    for text in [given] if isinstance(given, str) else given:
        path, attributes = text, ""
        if not Path(work.path(text)).exists() and ":" in text:
            path, _, attributes = text.rpartition(":")
        with work.named_at("slices" if of == "queries" else "item_slices"):
            table, id_column = read_attributes(work.path(path), "query" if of == "queries" else "item")
        yield Cuts(table, id_column, of, parse_attributes(attributes) if attributes else None, work.path(path))


def _names(work: Work, given: str | None) -> dict[str, str]:
    """``items.jsonl:title``: what each id is called."""
    if given is None:
        return {}
    path, _, column = given.rpartition(":")
    if not path or Path(work.path(given)).exists():
        raise UsageError(
            f"names is {given!r}", where=work.checked.where, expected="FILE:COLUMN, such as items.csv:title"
        )
    with work.named_at("names"):
        table, id_column = read_attributes(work.path(path), "item")
        if column not in table.columns:
            raise UnknownName("column", column, table.columns, where=work.path(path))
    ids, names = table[id_column].cast(pl.String), table[column].cast(pl.String)
    return {str(id_): name for id_, name in zip(ids, names, strict=True) if name}


def _aimed(work: Work, report: Report) -> tuple[tuple[Target, ...], tuple[str, ...]]:
    """A target that names no system is for all that it can hold for: no random order, where it is about a difference,
    none that is held against another gold than the baseline, and where it is about a figure, none without that.

    A usual target that can hold for none is left out, which is noted; one of the plan is left to fail.
    """
    plan = work.checked.plan
    others = [name for name, system in plan.systems.items() if system.ranks and name != plan.baseline]
    usual = not (plan.targets or plan.target)
    notes: list[str] = []
    same_gold = [name for name in others if plan.baseline and work.aspect_of(name) == work.aspect_of(plan.baseline)]

    def aims(target: Target) -> list[Target]:
        chosen = same_gold if target.relative else others
        if target.subject in figure_names(plan.lab.k) and plan.is_lab:
            held = [name for name in plan.systems if target.subject in report.figures.get(name, {})]
            if usual and not held:
                notes.append(f"{target.title} is not known, so that the usual target on it was left out")
                return []
            chosen = [name for name in chosen if name in held] or held
        return [target] if target.system or not chosen else [replace(target, system=name) for name in chosen]

    return tuple(aimed for target in work.checked.targets for aimed in aims(target)), tuple(notes)


def _gate(targets: tuple[Target, ...], report: Report, where: str) -> Gate:
    measures_of(targets, [name for figures in report.figures.values() for name in figures], where)
    try:
        return check_targets(targets, Saved(report.as_json(), where))
    except KaratError as error:
        error.where = error.where or where
        raise


def _provenance(checked: Checked) -> dict[str, object]:
    plan = checked.plan
    return {
        "plan": Path(checked.where).name,
        "name": plan.name,
        "made": timestamp(),
        "dialect": plan.conventions.dialect,
        "meta": dict(plan.meta),
    }


def timestamp() -> str:
    """Now, or what SOURCE_DATE_EPOCH says, for results that are the same to the byte."""
    try:
        now = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
    except (KeyError, ValueError, OverflowError, OSError):
        now = datetime.now(UTC)
    return now.isoformat(timespec="seconds").replace("+00:00", "Z")
