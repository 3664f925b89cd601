"""Execution of a plan: load, score, compare, check the targets, write the outputs and archive the run."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from os.path import exists
from pathlib import Path

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.secrets import mask_entry
from rankjury.core.text import join_names, plural, timestamp
from rankjury.core.types import Gold, Ranking
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, RankjuryError, UnknownName, UsageError
from rankjury.evaluation.compare import assess
from rankjury.evaluation.drift import Drift
from rankjury.evaluation.gate import Gate, check_targets, target_measures
from rankjury.evaluation.random_baseline import RandomRanking
from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import ReportWarning, as_warnings, with_unit
from rankjury.evaluation.slices import SliceTable
from rankjury.evaluation.slices.files import read_cuts
from rankjury.evaluation.targets import Target
from rankjury.io.atomic import together
from rankjury.io.attributes import read_column
from rankjury.plan.archive import RunRecorder, archived_page, plan_name, record_test_look
from rankjury.plan.bench import Lab
from rankjury.plan.context import TOP, GoldContext, Loaded, PlanTable, SystemContext
from rankjury.plan.outputs import check_outputs, write_outputs
from rankjury.plan.parse import CheckedPlan, read_plan
from rankjury.reporting.writers import Writer
from rankjury.retrieval.agreement.pairs import PairCollector
from rankjury.retrieval.bench.result import drift_value_names, index_value_names
from rankjury.stats.resampling import Resampling
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.run import ArchivedRun
from rankjury.tracking.archive.store import publish_progress


@dataclass(frozen=True)
class Outcome:
    """Report of a plan and verdicts on its targets."""

    report: Report
    gate: Gate | None
    """None if the plan has no targets."""


@dataclass(frozen=True)
class PlanResult(Outcome):
    """Outcome of a plan, with its output files and the archived run."""

    written: Mapping[Path, Writer] = field(default_factory=dict)
    """The files, each with its writer."""
    record: ArchivedRun | None = None
    """The archived run; None if it was not archived."""
    archive_error: DataError | None = None
    """Reason why it could not be archived: a full disk must not lose the results."""
    repeats: tuple[str, bool] | None = None
    """The earlier run of the same plan and inputs, and whether all values are equal."""
    notes: tuple[str, ...] = ()
    """Notes on the output files."""


@check_arguments
def run_plan(
    plan: str | Path,
    *,
    output: str | Path | None = None,
    archive: str | Path | bool = True,
    write: bool = True,
    strict: bool = False,
    lenient: bool = False,
) -> PlanResult:
    """Run a plan file, like ``rankjury run``.

    Args:
        plan: The plan file.
        output: The folder for the plan's outputs; default: the folder of the plan.
        archive: The archive of the run. True: as with the command, that of ``RANKJURY_ARCHIVE``, else the
            nearest ``.rankjury`` folder, else a new one here. False: do not archive the run.
        write: Whether to write the plan's outputs.
        strict: Whether an unsure gate is false.
        lenient: Whether a target fails only if no part of its interval meets it.

    Returns:
        The report, the gate (None if the plan has no targets), the output files, and the archived run.
        If archiving fails, ``archive_error`` has the reason; the results are not lost.

    Raises:
        RankjuryError: The plan or a file that it names cannot be read, or an output cannot be written.

    Example:
        >>> rankjury.run_plan("rankjury.toml", archive=False).report
    """
    kept = None if archive is False else Archive.at(path=None if isinstance(archive, bool) else Path(archive))
    folder = None if output is None else Path(output)
    return run_checked_plan(read_plan(plan), folder, archive=kept, write=write, strict=strict, lenient=lenient)


def run_checked_plan(
    checked: CheckedPlan,
    output: Path | None = None,
    *,
    archive: Archive | None = None,
    write: bool = True,
    strict: bool = False,
    lenient: bool = False,
    progress: Progress = NO_PROGRESS,
) -> PlanResult:
    """Run a checked plan, write its outputs, all or none, and archive the run."""
    writes = write and bool(checked.plan.outputs or checked.plan.output)
    if writes or (write and output is not None):
        check_outputs(checked, output)
    if archive is None:
        recorder, outcome = None, execute_plan(checked, progress, output)
    else:
        recorder = RunRecorder(checked)
        # The page of the archive shows the progress.
        with publish_progress(archive.path, plan_name(checked), Path(checked.where).name, progress) as live:
            outcome = execute_plan(checked, live, output)
    report = outcome.report
    gate = None if outcome.gate is None else outcome.gate.judged(strict=strict, lenient=lenient)
    if recorder is None and not writes:
        return PlanResult(report, gate)
    record, error, repeats, notes = None, None, None, list[str]()
    with together():
        written = write_outputs(checked, report, output, gate, notes.append) if writes else {}
        if recorder is not None and archive is not None:
            try:
                record = archive.store(report, recorder.origin(), gate=gate, page=partial(archived_page, archive))
            except DataError as failure:
                error = failure
    if record is not None and archive is not None and (earlier := record.manifest["same_inputs_as"]) is not None:
        before = archive.find(earlier).manifest
        repeats = earlier, all(before.get(key) == record.manifest[key] for key in ("results", "summary"))
    return PlanResult(report, gate, written, record, error, repeats, tuple(notes))


class Inputs:
    """Gold and systems of a plan, each loaded once.

    A ranking is dropped after it was passed on, unless another system needs it; sections and warnings are kept.
    """

    def __init__(self, checked: CheckedPlan, progress: Progress = NO_PROGRESS, output: Path | None = None) -> None:
        """``output``: destination of the plan's outputs."""
        plan = checked.plan
        place = checked.folder if output is None else output
        writable = os.access(place if exists(place) else place.parent, os.W_OK)
        resampling = Resampling(**plan.statistics.model_dump())
        scratch = str(place.absolute()) if writable else ""
        self.context = GoldContext(checked, resampling, cache(partial(Lab, plan, checked.folder)), scratch, progress)
        with self.context.located("gold"):
            self.gold = plan.gold.load(self.context)
        self.loaded: dict[str, Loaded] = {}
        """By system, without its ranking."""
        self._shared = {name for table in plan.systems.values() for name in table.needs()}
        self._shared_rankings: dict[str, Ranking | RandomRanking] = {}
        self.pairs: PairCollector | None = None
        pairs = plan.agreement
        if pairs is not None and self.gold.reference is not None:
            k, where = pairs.k or self.context.largest_cut, checked.at("agreement")
            size, seed = pairs.pairs, pairs.seed
            self.pairs = PairCollector(self.gold.reference, over=pairs.over, size=size, seed=seed, k=k, where=where)

    def aspect_of(self, system: str) -> str:
        """Return the aspect of the gold that a system is compared with."""
        golds, checked = self.gold.golds, self.context.checked
        chosen = checked.plan.systems[system].gold
        where = checked.at("systems", system, "gold")
        if chosen is None and len(golds) > 1:
            known = ", ".join(f'"{name}"' for name in golds)
            raise UsageError("the gold has several aspects", where=where, expected=f"gold = one of {known}")
        if chosen is not None and chosen not in golds:
            raise UnknownName("aspect of the gold", chosen, golds, where=where)
        return chosen or next(iter(golds))

    @property
    def golds(self) -> dict[str, Gold]:
        """The golds by system."""
        return {name: self.gold.golds[self.aspect_of(name)] for name in self.context.checked.plan.systems}

    def context_of(self, name: str) -> SystemContext:
        """Return the context for loading a system; the systems that it is made from are loaded."""
        progress, checked = self.context.progress, self.context.checked
        rankings = {other: self.ranking(other) for other in checked.plan.systems[name].needs()}
        labelled = Progress(lambda what, done, of: progress.update(f"{what}: {name}", done, of))
        gold = self.gold.golds[self.aspect_of(name)]
        deepest = None if name in self._shared else checked.deepest
        inherited = vars(self.context) | {"progress": labelled}
        return SystemContext(**inherited, loaded_gold=self.gold, gold=gold, deepest=deepest, rankings=rankings)

    def load(self, name: str) -> Ranking | RandomRanking:
        """Return a system's ranking, and record its sections and warnings."""
        if name in self._shared_rankings:
            return self._shared_rankings[name]
        self.context.progress.update(f"Ranking {name}", 0, 1)
        table = self.context.checked.plan.systems[name]
        with self.context.located(system=name):
            loaded = table.load(self.context_of(name))
            if self.pairs is not None and loaded.similarities is not None and isinstance(loaded.ranking, Ranking):
                self.pairs.add(name, loaded.similarities, loaded.ranking)
            loaded = self.gold.complete(loaded, table.threshold, self.context)
        ranking = loaded.ranking
        assert ranking is not None
        if name in self._shared:
            self._shared_rankings[name] = ranking
        self.loaded[name] = replace(loaded, ranking=None, similarities=None)
        return ranking

    def ranking(self, name: str) -> Ranking:
        """Return the ranking of a system that others are made from."""
        found = self.load(name)
        if isinstance(found, RandomRanking):
            raise UsageError(f"{name} is a random order, which has no ranking", where=self.context.checked.where)
        return found


_FILE_KEYS = ("path", "ids", "queries", "queries_ids", "items", "users")


def _check_files(checked: CheckedPlan) -> None:
    """Name all files together where several are missing; a single one is reported by what reads it."""
    plan, missing = checked.plan, dict[str, str]()
    tables = [(("gold",), plan.gold), *((("systems", name), table) for name, table in plan.systems.items())]
    for path, table in [*tables, (("lab",), plan.lab)]:
        for key in _FILE_KEYS:
            value = getattr(table, key, None)
            if isinstance(value, str) and value not in ("", "-"):
                name = value if exists(checked.folder / value) else value.rpartition(":")[0] or value
                if not exists(checked.folder / name):
                    missing.setdefault(name, f"{name}: no such file ({checked.at(*path, key)})")
    if len(missing) > 1:
        hint = "Add them, or change the paths in the plan."
        raise DataError(
            f"{len(missing)} files are missing", where=checked.where, hint=hint, details=[*missing.values()]
        )


def execute_plan(checked: CheckedPlan, progress: Progress = NO_PROGRESS, output: Path | None = None) -> Outcome:
    """Load, rank, score, compare, and check the targets. ``output``: destination of the outputs."""
    try:
        return _execute(checked, progress, output)
    except RankjuryError as error:
        error.hint = error.plan_hint or error.hint
        raise


def _execute(checked: CheckedPlan, progress: Progress, output: Path | None) -> Outcome:
    timestamp()  # an invalid SOURCE_DATE_EPOCH is an error before anything is computed
    _check_files(checked)
    inputs = Inputs(checked, progress, output)
    context, gold = inputs.context, inputs.gold
    for key, table in checked.plan:
        if isinstance(table, PlanTable) and key in checked.plan.model_fields_set:
            table.check_files(context)
    golds = inputs.golds
    report = _assembled(_assessed(inputs, golds), inputs, golds)
    looks = record_test_look(checked, timestamp()) if gold.is_test_window else None
    if looks is not None:
        opened, notes = looks
        warnings = (*report.warnings, *as_warnings(notes, "test-opened"))
        report = replace(report, provenance={**report.provenance, "test_opened": opened}, warnings=warnings)
    for step in dict.fromkeys(step for loaded in inputs.loaded.values() for step in loaded.last_steps):
        report = step(report, context, golds)
    aspects = {name: inputs.aspect_of(name) for name in checked.plan.systems}
    targets, omitted = _aim_targets(checked, report, aspects)
    warnings = (*report.warnings, *gold.final_warnings(report, context), *as_warnings(omitted, "target"))
    report = replace(report, warnings=with_unit(warnings, gold.unit))
    if not targets:
        return Outcome(report, None)
    recorded = [name for system in report.systems.values() for name in system.recorded]
    target_measures(targets, recorded, checked.where)
    try:
        return Outcome(report, check_targets(targets, replace(report, source=checked.where)))
    except RankjuryError as error:
        error.where = error.where or checked.where
        raise


def _assessed(inputs: Inputs, golds: dict[str, Gold]) -> Report:
    """Score the systems, compare them and compute slices."""
    context, gold = inputs.context, inputs.gold
    checked, plan = context.checked, context.checked.plan
    wanted = {target.slice for target in checked.targets if target.slice is not None}
    return assess(
        next(iter(golds.values())),
        ((name, inputs.load(name)) for name in plan.systems),
        gold.measures(checked.asked),
        golds=golds,
        resampling=context.resampling,
        baseline=plan.baseline,
        slices=[*_cuts(context, plan.slices, "queries"), *gold.slices(wanted)],
        item_slices=[*_cuts(context, plan.item_slices, "items"), *gold.item_slices()],
        crossings=gold.crossings,
        tested=checked.headline,
        duplicates=plan.conventions.duplicates,
        keep_top=max([*checked.cuts, TOP]),
        relative=gold.reference is not None,
        background=gold.background,
        unit=gold.unit,
        progress=context.progress,
    )


def _assembled(report: Report, inputs: Inputs, golds: dict[str, Gold]) -> Report:
    """Return the report with the sections and warnings of the gold and the systems."""
    context, gold = inputs.context, inputs.gold
    checked, plan = context.checked, context.checked.plan
    aspects = {name: inputs.aspect_of(name) for name in plan.systems} if len(gold.golds) > 1 else {}
    if report.queries is not None:
        search_themselves = any(system.searches_itself for system in plan.systems.values())
        data = replace(
            report.queries,
            answers=report.answers.called(aspects) if report.answers is not None and aspects else report.answers,
            names=_column(context, "names", "item", plan.names) if plan.names else gold.names,
            query_texts={**_column(context, "texts", "query", plan.texts), **gold.texts},
            queries_are_items=search_themselves if gold.queries_are_items is None else gold.queries_are_items,
        )
        report = replace(report, queries=data)
    warnings = [*report.warnings, *as_warnings(checked.notes, "plan"), *gold.warnings]
    if unused := [name for name in gold.golds if name not in aspects.values()] if aspects else []:
        are = plural(len(unused), "aspect of the gold is", "aspects of the gold are")
        text = f"{are} used by no system: {join_names(unused)} (set an aspect with a system's key gold)"
        warnings.append(ReportWarning(text, code="unused-aspects", count=len(unused)))
    warnings += [warning.about(name) for name in plan.systems for warning in inputs.loaded[name].warnings]
    report = (
        replace(
            report,
            systems={name: replace(system, gold=aspects.get(name)) for name, system in report.systems.items()},
            headline=checked.headline,
            warnings=tuple(warnings),
            provenance={
                "plan": Path(checked.where).name,
                "name": plan.name,
                "made": timestamp(),
                "dialect": plan.conventions.dialect,
                "meta": {name: mask_entry(name, value) for name, value in plan.meta.items()},
            },
        )
        .with_recorded(plan.figures)
        .with_sections(*gold.sections)
    )
    agreements = inputs.pairs.agreements(context.resampling, plan.baseline) if inputs.pairs else {}
    for name in report.systems:
        sections = inputs.loaded[name].final_sections(report, name, context, golds[name])
        report = report.with_sections(*sections, *filter(None, [agreements.get(name)]), system=name)
    return report


def load_rankings(
    checked: CheckedPlan, system: str, progress: Progress = NO_PROGRESS
) -> tuple[Gold, dict[str, Ranking], bool]:
    """Return the gold of a system, the rankings that it is made from, and whether its queries are the candidates."""
    inputs = Inputs(checked, progress)
    needed = checked.plan.systems[system].needs()
    return inputs.golds[system], {name: inputs.ranking(name) for name in needed}, inputs.gold.closed


def _cuts(context: GoldContext, texts: str | list[str], of: str) -> Iterable[SliceTable]:
    for text in [texts] if isinstance(texts, str) else texts:
        with context.located("slices" if of == "queries" else "item_slices"):
            yield read_cuts(text, of, context.path)


def _column(context: GoldContext, key: str, kind: str, text: str | None) -> Mapping[str, str]:
    """Read the names or texts by id from ``items.jsonl:title``."""
    with context.located(key):
        return {} if text is None else read_column(text, kind, key, context.path)


def _aim_targets(
    checked: CheckedPlan, report: Report, aspects: Mapping[str, str]
) -> tuple[tuple[Target, ...], tuple[str, ...]]:
    """Return the targets by system, and notes on omitted ones; ``aspects`` of the gold are by system.

    A target without a system applies to all systems except random orders and the baseline; a difference applies to
    systems with the baseline's gold, and a recorded value to systems that have it. Drift targets apply to the baseline
    as well, which is compared with its own earlier report.

    A default target that applies to no system is omitted with a note; one of the plan fails, unless it is about drift
    and the system has no earlier report, as in the first run of an index.
    """
    plan = checked.plan
    others = [name for name, system in plan.systems.items() if system.ranks and name != plan.baseline]
    notes: list[str] = []
    same_gold = [name for name in others if plan.baseline and aspects[name] == aspects[plan.baseline]]

    def aims(target: Target) -> list[Target]:
        chosen = same_gold if target.relative else others
        if target.subject in index_value_names(plan.lab.k) and plan.is_lab:
            known = [name for name in plan.systems if target.subject in report.systems[name].recorded]
            wanted = [target.system] if target.system in plan.systems else list(plan.systems)
            comparable = {*known, *report.sections_of(Drift)}
            note = None
            if plan.has_default_targets and not known:
                note = f"{target.title} is unknown, so its default target was omitted"
            elif target.subject in drift_value_names(plan.lab.k) and comparable.isdisjoint(wanted):
                note = f"the target on {target.title} was not checked: there is no earlier report"
            if note is not None:
                notes.append(note)
                return []
            chosen = known if target.about_drift else [name for name in chosen if name in known] or known
        return [target] if target.system or not chosen else [replace(target, system=name) for name in chosen]

    return tuple(aimed for target in checked.targets for aimed in aims(target)), tuple(notes)
