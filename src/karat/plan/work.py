"""A plan at work: what is loaded while it runs, each once, and what its parts may use."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os.path import exists
from pathlib import Path
from typing import cast, get_args

import numpy as np

from karat.chance import Chance
from karat.errors import DataError, KaratError, UnknownName, UsageError
from karat.exposures import Exposure
from karat.hygiene import Hygiene
from karat.indexed import Equivalence
from karat.lab.measuring import Measured
from karat.ordering import TieRule
from karat.pairing import PairsOfSystems
from karat.partial import Partial
from karat.plan.lab import LabWork
from karat.plan.reading import Checked
from karat.plan.tables import Loaded
from karat.plan.trials import Trials
from karat.progress import NO_PROGRESS, Progress
from karat.rankers.others import without_own
from karat.rankers.threshold import shown_from
from karat.similarities import Similarities
from karat.statistics.intervals import Resampling
from karat.types import Floats, Gold, Ranking, Vectors
from karat.wording import count, named

__all__ = ["TOP", "Work"]

TOP = 10
"""How many of each query are kept where no measure says how deep it looks."""
_UNKNOWN = "of no annotated item"
_MOST_LOOKED_AT = 50
"""How many results of a query are looked at keyword by keyword."""


class Work:
    """What is loaded while a plan runs, each once."""

    def __init__(self, checked: Checked, progress: Progress = NO_PROGRESS, output: Path | None = None) -> None:
        self.checked = checked
        place = checked.folder if output is None else output
        writable = os.access(place if exists(place) else place.parent, os.W_OK)
        self.scratch = str(place.absolute()) if writable else ""
        self.progress = progress
        self.spaces: dict[str, Hygiene] = {}
        self.fusions: dict[str, dict[str, object]] = {}
        self.facts: dict[str, dict[str, object]] = {}
        self.partials: dict[str, Partial] = {}
        self.exposures: dict[str, Exposure] = {}
        self.notes: list[str] = []
        self._made: dict[str, Ranking | Chance] = {}
        self._used = {name for table in checked.plan.systems.values() for name in table.needs()}
        self.how = Resampling(**checked.plan.statistics.model_dump())
        self.is_lab = checked.plan.is_lab
        self.lab = LabWork(checked.plan.lab, self, alone=len(checked.plan.systems) == 1, plan=checked.plan.name)
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
            self._name(error, path)
            raise

    @contextmanager
    def named_by(self, system: str) -> Iterator[None]:
        """The same of whatever file a system is made from; where it is none of these, the system itself."""
        try:
            yield
        except KaratError as error:
            self._name(error, self._key_of(error.where or "", system))
            raise

    def _name(self, error: KaratError, path: tuple[str | int, ...]) -> None:
        if self.checked.places and self.checked.where not in str(error):
            place = self.checked.at(*path).replace(self.checked.where, Path(self.checked.where).name)
            error.where = f"{error.where} ({place})" if error.where else place

    def _key_of(self, where: str, system: str) -> tuple[str, ...]:
        """The key of the system, or of the lab, whose file stands at the place of an error."""
        plan = self.checked.plan
        for path, table in ((("systems", system), plan.systems[system]), (("lab",), plan.lab)):
            for key, value in table:
                files = {value, value.rpartition(":")[0]} - {""} if isinstance(value, str) else set()
                if any(self.path(file) in where for file in files):
                    return (*path, key)
        return ("systems", system)

    def path(self, text: str) -> str:
        return text if text == "-" or Path(text).is_absolute() else str(self.checked.folder / text)

    def note(self, text: str) -> None:
        self.notes.append(text)

    @property
    def all_spaces(self) -> dict[str, Hygiene]:
        """The gold's own, and by system."""
        own = {name if name not in self.spaces else f"{name} (gold)": one for name, one in self.loaded.spaces.items()}
        return own | self.spaces

    def check_earlier(self) -> None:
        """Choose the earlier reports before the work. A single file must hold a system of the plan."""
        references, plan = self.lab.references, self.checked.plan
        if references is None:
            return
        searched = plan.indexes if references.is_by_index else plan.systems
        found = [self.lab.earlier_of(name) for name in searched]
        if references.is_one_file and all(one.report is None for one in found):
            raise DataError(
                "found none of the plan's systems", where=plan.lab.earlier, expected=f"one of {', '.join(plan.systems)}"
            )

    @property
    def queries_are_items(self) -> bool:
        """Whether queries are items, by what the plan says: equal ids alone may be those of queries and documents."""
        loaded = self.loaded
        if loaded.recommendations is not None or (loaded.keywords is not None and loaded.keywords.asks_by_texts):
            return False
        return (
            loaded.closed
            or loaded.queries_are_items
            or (loaded.keywords is not None and loaded.keywords.predicates.own is not None)
            or any(one.searches_itself for one in self.checked.plan.systems.values())
        )

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
        self.progress.update(f"Ranking {name}", 0, 1)
        with self.named_by(name):
            table = self.checked.plan.systems[name]
            made = table.load(_Bench(self, name))
            if isinstance(made, Ranking):
                made = self._shown(name, made, table.threshold)
        if name in self._used:
            self._made[name] = made
        return made

    def _shown(self, name: str, ranking: Ranking, threshold: float | None) -> Ranking:
        """What a person would see of a ranking; what its results have of the keywords is kept."""
        side = self.loaded.keywords
        if side is not None and self.exclude_self:
            ranking = without_own(ranking)
        if side is not None:
            looked_at = min(max(self.cuts, default=TOP), _MOST_LOOKED_AT)
            self.partials[name] = found = side.looked_at(ranking, looked_at, threshold, self._ties)
            if found.unknown and not any(_UNKNOWN in note for note in self.notes if note.startswith(f"{name}: ")):
                told = count(len(found.unknown), "result is", "results are")
                self.notes.append(f"{name}: {told} {_UNKNOWN}, and never relevant: {named(found.unknown)}")
        shown = ranking if threshold is None else shown_from(ranking, threshold)
        if self.loaded.recommendations is not None:
            self.exposures[name] = self.loaded.recommendations.exposure(shown, self._exposed, self._ties)
        if threshold is None:
            return ranking
        self.facts[name] = self.facts.get(name, {}) | {"threshold": threshold}
        bare = int((np.diff(shown.starts) == 0).sum())
        if bare > len(shown) / 2:
            self.notes.append(
                f"{name}: the threshold {threshold:g} leaves {bare:,} of {len(shown):,} queries no result"
            )
        return shown

    @property
    def _exposed(self) -> int:
        """As many as the first measure of the headline looks at."""
        headline = self.checked.headline
        first = next((one for one in self.checked.asked if headline and one.label == headline[0]), None)
        return (first.measure.k if first is not None else None) or max(self.cuts, default=TOP)

    @property
    def _ties(self) -> TieRule:
        """How the first measure orders equal scores."""
        rule = self.checked.asked[0].measure["ties"] if self.checked.asked else "id"
        return cast(TieRule, rule) if rule in get_args(TieRule) else "id"

    @property
    def exclude_self(self) -> bool | None:
        """Whether the gold says that the queries are items, which do not find themselves; None: it does not say."""
        loaded = self.loaded
        items = loaded.closed or (loaded.keywords is not None and not loaded.keywords.asks_by_texts)
        return True if items else loaded.exclude_self

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
        self.progress = Progress(lambda what, done, of: work.progress.update(f"{what}: {name}", done, of))
        self.gold = work.gold_of(name)
        self.closed, self.exclude_self = work.loaded.closed, work.exclude_self
        self.cuts, self.gold_cut = work.cuts, work.gold_cut
        self.reference, self.keywords = work.loaded.reference, work.loaded.keywords
        self.recommendations = work.loaded.recommendations
        self.how, self.lab, self.is_lab, self.scratch = work.how, work.lab, work.is_lab, work.scratch
        self.deepest = None if work.is_used(name) else work.checked.deepest

    def path(self, text: str) -> str:
        return self.work.path(text)

    def ranking(self, name: str) -> Ranking:
        return self.work.ranking(name)

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
    deepest = max(checked.cuts, default=TOP)
    return PairsOfSystems(
        loaded.reference, over=table.over, size=table.pairs, seed=table.seed, k=table.k or deepest,
        where=checked.at("agreement"),
    )  # fmt: skip
