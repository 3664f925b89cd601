"""A checked plan → Report and verdicts."""

import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from os.path import exists
from pathlib import Path

from karat.agreement import ReferenceGold
from karat.assessment import assess
from karat.common_sections import Facts, Fusion, Keywords
from karat.dialects import Asked
from karat.drift import Drift
from karat.errors import KaratError
from karat.formats.attributes import read_attributes, read_column
from karat.gates import Gate, check_targets, measures_of
from karat.hygiene import GoldSpaces
from karat.indexed import drifting, figure_names
from karat.interactions.summary import Interactions
from karat.masking import Masker
from karat.plan.opening import opened
from karat.plan.reading import Checked
from karat.plan.work import TOP, Work
from karat.progress import NO_PROGRESS, Progress
from karat.report import Report
from karat.report_warnings import ReportWarning, as_warnings
from karat.reports.sections.interactions import below_chance
from karat.sections import Section
from karat.slices import Cuts, parse_attributes
from karat.targets import Target
from karat.types import Gold, Ranking
from karat.wording import count, named, of_users

__all__ = ["Outcome", "rankings_of", "run_plan", "timestamp"]


@dataclass(frozen=True)
class Outcome:
    """What came of a plan."""

    report: Report
    gate: Gate | None
    """None where the plan has no targets."""


def run_plan(checked: Checked, progress: Progress = NO_PROGRESS, output: Path | None = None) -> Outcome:
    """Load, rank, score, compare, and hold against the targets. ``output``: where its files will go."""
    plan = checked.plan
    work = Work(checked, progress, output)
    with work.named_at("lab", "earlier"):
        work.check_earlier()
    with work.named_at("lab", "queries"):
        work.lab.query_set  # noqa: B018 - before the work, not after it
    report = _completed(_assessed(work), work)
    looks = opened(checked, work.loaded.recommendations, timestamp())
    if looks is not None:
        report = replace(
            report,
            provenance={**report.provenance, "test_opened": looks.to_json()},
            warnings=(*report.warnings, *as_warnings(looks.notes())),
        )
    if work.trials.stabilities:
        golds = {name: work.gold_of(name) for name in plan.systems}
        report = work.trials.added_to(report, golds, checked.asked, work.how)
    if work.loaded.recommendations is not None:
        told = below_chance(report, next(_of_accuracy(checked), checked.headline[0]))
        warnings = (*report.warnings, *as_warnings(told))
        report = replace(report, warnings=tuple(replace(one, text=of_users(one.text)) for one in warnings))
    targets, notes = _aimed(work, report)
    report = replace(report, warnings=(*report.warnings, *_warnings(notes, report)))
    return Outcome(report, _gate(targets, report, checked.where) if targets else None)


def _of_accuracy(checked: Checked) -> Iterator[str]:
    """The headline's measures that look at the gold."""
    of_gold = {one.label for one in checked.asked if not one.measure.metric.of_lists}
    return (label for label in checked.headline if label in of_gold)


def _assessed(work: Work) -> Report:
    """Scored, compared and broken down."""
    checked, plan = work.checked, work.checked.plan
    side = work.loaded.recommendations
    of_users, of_items = side.cuts() if side is not None else ([], [])
    return assess(
        work.gold_of(next(iter(plan.systems))),
        {name: partial(work.load, name) for name in plan.systems},
        _asked(work),
        golds={name: work.gold_of(name) for name in plan.systems},
        how=work.how,
        baseline=plan.baseline,
        slices=[*_cuts(work, plan.slices, "queries"), *_of_keywords(work), *of_users],
        item_slices=[*_cuts(work, plan.item_slices, "items"), *of_items],
        crossings=side.crossings if side is not None else (),
        tested=checked.headline,
        duplicates=plan.conventions.duplicates,
        keep_top=max([*checked.cuts, TOP]) if checked.cuts else TOP,
        relative=work.loaded.reference is not None,
        background=side.task.background if side is not None else None,
        progress=work.progress,
    )


def _asked(work: Work) -> tuple[Asked, ...]:
    """The measures; an item that has the id of a text is not that text, and is not dropped."""
    asked = work.checked.asked
    if work.loaded.keywords is None or not work.loaded.keywords.asks_by_texts:
        return asked
    return tuple(replace(one, measure=one.measure.having({"self": "keep"})) for one in asked)


def _completed(report: Report, work: Work) -> Report:
    """With what was found beside the scores."""
    checked, plan = work.checked, work.checked.plan
    side, log = work.loaded.keywords, work.loaded.recommendations
    aspects = {name: work.aspect_of(name) for name in plan.systems} if len(work.loaded.golds) > 1 else {}
    names = _column(work, "names", "item", plan.names) if plan.names or log is None else dict(log.titles)
    texts = _column(work, "texts", "query", plan.texts) | (dict(side.texts) if side is not None else {})
    if report.queries is not None:
        answers = report.answers.called(aspects) if report.answers is not None and aspects else report.answers
        data = replace(
            report.queries,
            answers=answers,
            names=names,
            query_texts=texts,
            queries_are_items=work.queries_are_items,
        )
        report = replace(report, queries=data)
    systems = {name: replace(one, gold=aspects.get(name)) for name, one in report.systems.items()}
    notes = [
        *checked.notes,
        *work.loaded.notes,
        *_unused_aspects(work, aspects.values()),
        *plan.gold.cautions(checked.asked),
        *work.notes,
    ]
    report = replace(
        report,
        systems=systems,
        headline=checked.headline,
        warnings=(*report.warnings, *_warnings(notes, report)),
        provenance=_provenance(checked),
    ).with_recorded(plan.figures)
    if log is not None:
        report = report.with_sections(Interactions.from_json(dict(log.about)))
    if work.loaded.reference is not None and checked.cuts:
        report = report.with_sections(ReferenceGold(work.gold_of(next(iter(report.systems))).source))
    if side is not None:
        report = report.with_sections(Keywords(dict(side.about) | {"show": list(side.show)}))
    of_gold = {name: space for name, space in work.all_spaces.items() if name not in report.systems}
    if of_gold:
        report = report.with_sections(GoldSpaces(of_gold))
    agreements = work.pairs.agreements(work.how, plan.baseline) if work.pairs else {}
    for name in report.systems:
        found: list[Section | None] = [
            Fusion(work.fusions[name]) if name in work.fusions else None,
            work.spaces.get(name),
            agreements.get(name),
            Facts(work.facts[name]) if name in work.facts else None,
            work.partials.get(name),
            work.exposures.get(name),
        ]
        report = report.with_sections(*(one for one in found if one is not None), system=name)
    return report


def _warnings(notes: Iterable[str], report: Report) -> Iterator[ReportWarning]:
    """Notes of systems begin with the system's name."""
    for note in notes:
        name, colon, text = note.partition(": ")
        yield ReportWarning(text, name) if colon and name in report.systems else ReportWarning(note)


def _unused_aspects(work: Work, used: Collection[str]) -> Iterator[str]:
    """Warn about aspects of the gold that no system is evaluated against: a wrong ``gold`` may be the reason."""
    unused = [name for name in work.loaded.golds if name not in used] if used else []
    if unused:
        are = count(len(unused), "aspect of the gold is", "aspects of the gold are")
        yield f"{are} used by no system: {named(unused)} (a system's key gold names its aspect)"


def rankings_of(
    checked: Checked, system: str, progress: Progress = NO_PROGRESS
) -> tuple[Gold, dict[str, Ranking], bool]:
    """The gold of a system, the rankings that it is made from, and whether its queries are the candidates."""
    work = Work(checked, progress)
    needed = checked.plan.systems[system].needs()
    return work.gold_of(system), {name: work.ranking(name) for name in needed}, work.loaded.closed


def _of_keywords(work: Work) -> list[Cuts]:
    named = {target.slice for target in work.checked.targets if target.slice is not None}
    cuts = None if work.loaded.keywords is None else work.loaded.keywords.cuts(named)
    return [] if cuts is None else [cuts]


def _cuts(work: Work, given: str | list[str], of: str) -> Iterable[Cuts]:
    for text in [given] if isinstance(given, str) else given:
        path, attributes = text, ""
        if not exists(work.path(text)) and ":" in text:
            path, _, attributes = text.rpartition(":")
        with work.named_at("slices" if of == "queries" else "item_slices"):
            table, id_column = read_attributes(work.path(path), "query" if of == "queries" else "item")
        yield Cuts(table, id_column, of, parse_attributes(attributes) if attributes else None, work.path(path))


def _column(work: Work, key: str, kind: str, given: str | None) -> dict[str, str]:
    """``items.jsonl:title``: what each id is called, or says."""
    if given is None:
        return {}
    with work.named_at(key):
        return read_column(given, kind, key, work.path)


def _aimed(work: Work, report: Report) -> tuple[tuple[Target, ...], tuple[str, ...]]:
    """A target that names no system is for all that it can hold for: no random order, where it is about a difference,
    none that is held against another gold than the baseline, and where it is about a figure, none without that. The
    baseline is left out, but for targets on drift: it is compared with its own past.

    A default target that can hold for none is omitted with a note; one of the plan is left to fail, unless it is about
    drift and the system has no earlier report: the first run of an index has none.
    """
    plan = work.checked.plan
    others = [name for name, system in plan.systems.items() if system.ranks and name != plan.baseline]
    usual = not (plan.targets or plan.target)
    notes: list[str] = []
    same_gold = [name for name in others if plan.baseline and work.aspect_of(name) == work.aspect_of(plan.baseline)]

    def aims(target: Target) -> list[Target]:
        chosen = same_gold if target.relative else others
        if target.subject in figure_names(plan.lab.k) and plan.is_lab:
            held = [name for name in plan.systems if target.subject in report.systems[name].recorded]
            if usual and not held:
                notes.append(f"{target.title} is not known, so that the usual target on it was left out")
                return []
            wanted = [target.system] if target.system in plan.systems else list(plan.systems)
            known = {*held, *report.sections_of(Drift)}
            if target.subject in drifting(plan.lab.k) and known.isdisjoint(wanted):
                notes.append(
                    f"the target on {target.title} was not checked: there is no earlier report to compare with"
                )
                return []
            chosen = held if target.about_drift else [name for name in chosen if name in held] or held
        return [target] if target.system or not chosen else [replace(target, system=name) for name in chosen]

    return tuple(aimed for target in work.checked.targets for aimed in aims(target)), tuple(notes)


def _gate(targets: tuple[Target, ...], report: Report, where: str) -> Gate:
    measures_of(targets, [name for one in report.systems.values() for name in one.recorded], where)
    try:
        return check_targets(targets, replace(report, source=where))
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
        "meta": Masker().plan(plan.meta, ("meta",)),
    }


def timestamp() -> str:
    """Now, or what SOURCE_DATE_EPOCH says, for results that are the same to the byte."""
    try:
        now = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
    except (KeyError, ValueError, OverflowError, OSError):
        now = datetime.now(UTC)
    return now.isoformat(timespec="seconds").replace("+00:00", "Z")
