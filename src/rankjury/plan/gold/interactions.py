"""Gold of held-out interactions: the items of users after the training window."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from os.path import isdir
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import ConfigDict, Field

from rankjury.core.params import Setting
from rankjury.core.types import Gold, Ranking
from rankjury.errors import UsageError
from rankjury.evaluation.judge import MatchedRanking, OrderRules
from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import ReportWarning, as_warnings
from rankjury.evaluation.slices import SliceTable
from rankjury.io.ordered_lists import ONLY_ASPECT
from rankjury.measures.dialects import NamedMeasure
from rankjury.plan import GOLD_KINDS
from rankjury.plan.context import GoldContext, GoldTable, Loaded, LoadedGold, PlanTable, fault_of, threshold_warnings
from rankjury.recsys.data.attributes import Attributes, read_items, read_users, side_features
from rankjury.recsys.data.movielens import find_companions
from rankjury.recsys.data.read import read_log
from rankjury.recsys.data.split_folder import is_split_folder, read_split
from rankjury.recsys.data.times import format_time
from rankjury.recsys.recommend import check_recommendations
from rankjury.recsys.sections import Interactions, exposure_of
from rankjury.recsys.split import Split, Window, window_sizes
from rankjury.recsys.splitting import SPLITS, check_options, split_log
from rankjury.recsys.task import Catalogue, Sampled, Task, catalogue_mask
from rankjury.recsys.tiers import CROSSINGS, Tiers, describe, item_cuts, user_cuts
from rankjury.reporting.tables.differences import verdict_style
from rankjury.retrieval.embedding.embed import find_model

_NO_THRESHOLD = (
    "{measures} count every held-out item as relevant, even with a low rating; use (rel=4) for ratings of 4 or higher"
)
_LOG_KEYS = ("user", "item", "value", "time", "scale", "split")
"""Keys that a split folder makes unnecessary."""
SplitOption = Setting | list[float] | datetime | date
TUNING_GRIDS: dict[str, dict[str, list[int | float]]] = {
    "item-knn": {"neighbours": [50, 100, 500], "shrinkage": [0.0, 20.0, 100.0]},
    "als": {"factors": [8, 16, 32, 64], "alpha": [1.0, 5.0]},
    "ease": {"regularization": [100.0, 300.0, 1000.0, 3000.0, 10000.0]},
}
"""Grids of the recommenders in a drafted plan. Each contains the defaults; that of EASE contains the range from which
its default is chosen by the size of the log (docs/explanation/recommenders.md)."""


def _describe_split_options(schema: dict[str, Any]) -> None:
    """Add the parameters of all kinds of splits to the JSON Schema, for editors."""
    helps: dict[str, list[str]] = {}
    for kind in SPLITS.names():
        for name, param in SPLITS.get(kind).params.items():
            helps.setdefault(name, []).append(f"{kind}: {param.help}")
    schema["properties"] |= {name: {"description": "; ".join(texts)} for name, texts in helps.items()}
    schema["additionalProperties"] = False


class SplitTable(PlanTable):
    """The kind of split of a log, and the parameters of that kind (rankjury split --help)."""

    model_config = ConfigDict(extra="allow", json_schema_extra=_describe_split_options)
    __pydantic_extra__: dict[str, SplitOption]
    kind: str = Field("temporal", description="temporal, dates, leave-last, user-fraction, random, users or rolling.")

    @property
    def options(self) -> dict[str, SplitOption]:
        return self.__pydantic_extra__


class TiersTable(PlanTable):
    """Tiers of users and items by their training interactions."""

    activity: Annotated[int, Field(ge=2)] | list[float] = Field(
        4, description="Users by training interactions: a number of quantiles, or edges such as [20, 50, 200]."
    )
    popularity: list[float] = Field(
        [0.5, 0.8], description="Head and torso: the most popular items up to these shares of training interactions."
    )
    cold_users: Annotated[int, Field(ge=1)] = Field(10, description="Users with fewer training interactions are cold.")
    cold_items: Annotated[int, Field(ge=1)] = Field(10, description="Items with fewer training interactions are cold.")
    crossings: bool = Field(
        False, description="Tiers of users crossed with tiers of items: activity with popularity, cold with cold."
    )

    def tiers(self) -> Tiers:
        activity = self.activity if isinstance(self.activity, int) else tuple(self.activity)
        return Tiers(activity, tuple(self.popularity), self.cold_users, self.cold_items, self.crossings)


class CandidatesTable(PlanTable):
    """Sampled candidates instead of the whole catalogue, only for comparison with such values: they are misleading."""

    sampled: Annotated[int, Field(ge=1)] = Field(description="Sampled candidates per user besides held-out items.")
    seed: Annotated[int, Field(ge=0)] = Field(0, description="The random seed.")


@GOLD_KINDS.register("interactions")
class InteractionsGold(GoldTable):
    """Interactions held out of a log: each user's later ratings are the grades."""

    kind: Literal["interactions"]
    path: str = Field(
        description="A log (ratings.dat, ratings.csv, u.data, CSV, TSV, JSONL, Parquet), the folder of a MovieLens "
        "release, or a folder written by rankjury split."
    )
    user: str | None = Field(None, description="Its column of users, if not detected by name.")
    item: str | None = Field(None, description="Its column of items, if not detected by name.")
    value: str | None = Field(None, description="Its column of ratings, if not detected by name.")
    time: str | None = Field(None, description="Its column of times, if not detected by name.")
    scale: list[float] | None = Field(None, description="The lowest and highest possible rating: [0.5, 5].")
    items: str | None = Field(
        None,
        description="The catalogue: movies.dat, movies.csv, u.item or a table with ids; default: that of a MovieLens "
        "folder given as path.",
    )
    users: str | None = Field(
        None,
        description="Attributes of users: users.dat, u.user or a table with ids; default: that of a MovieLens folder "
        "given as path.",
    )
    split: SplitTable = Field(SplitTable(), description="How the log is split; not for a folder of rankjury split.")
    window: Literal["validation", "test"] = Field("test", description="The window that systems are evaluated on.")
    fit_on: Literal["train", "train+validation"] = Field("train", description="The training windows.")
    catalogue: Catalogue | None = Field(
        None,
        description="Items that can be recommended: items (of the file), seen (up to the window's end) or train; "
        "default: items if there is a file, else seen.",
    )
    candidates: CandidatesTable | None = Field(None, description="Sample candidates; default: the whole catalogue.")
    tiers: TiersTable = Field(TiersTable(), description="Tiers of users and items.")
    embed: str | None = Field(
        None, description="A model (wordllama, a folder) that embeds titles and genres as the feature text."
    )

    def on_window(self, window: Literal["validation", "test"], fit_on: str | None = None) -> Self:
        return self.model_copy(update={"window": window} | ({} if fit_on is None else {"fit_on": fit_on}))

    def complete(self, folder: Path) -> "InteractionsGold":
        """Return the table with the item and user files of a MovieLens folder, unless others are given."""
        if is_split_folder(folder / self.path):
            return self
        files = zip(("items", "users"), find_companions(folder / self.path), strict=True)
        added = {key: str(Path(self.path) / file.name) for key, file in files if file and getattr(self, key) is None}
        return self.model_copy(update=added) if added else self

    def load(self, context: GoldContext) -> LoadedGold:
        split, items, users = self._read(context)
        task = self._task(context, split, items, users)
        tiers = self.tiers.tiers()
        about = {
            "window": self.window,
            "fit_on": self.fit_on,
            "split": dict(split.settings),
            "cutoffs": dict(split.cutoffs),
            "cutoff_times": {name: format_time(at, split.log.unit) for name, at in split.cutoffs.items()},
            "windows": window_sizes(split),
            "catalogue": {"kind": self._catalogue(items), "items": int(task.in_catalogue.sum())},
            "candidates": "whole catalogue" if self.candidates is None else self.candidates.model_dump(),
            "tiers": describe(task, tiers),
            "leaks": list(split.leaks),
        }
        return LoadedInteractions(
            {ONLY_ASPECT: task.gold},
            queries_are_items=False,
            sections=(Interactions.from_json(about),),
            warnings=(*as_warnings(task.notes(), "split"), *threshold_warnings(context.asked, _NO_THRESHOLD)),
            names=items.titles if items else {},
            unit=("user", "users"),
            task=task,
            tiers=tiers,
            crossings=CROSSINGS if tiers.crossings else (),
            background=task.background,
            is_test_window=task.window == "test",
        )

    def _read(self, context: GoldContext) -> tuple[Split, Attributes | None, Attributes | None]:
        path = context.path(self.path)
        items = None if self.items is None else read_items(context.path(self.items))
        users = None if self.users is None else read_users(context.path(self.users))
        if is_split_folder(path):
            if idle := [key for key in _LOG_KEYS if key in self.model_fields_set]:
                found = f"the log is already split, so {' and '.join(idle)} would be ignored"
                raise UsageError(found, where=path, expected="a log, or a plan without these keys")
            split = read_split(path)
            return split if items is None else split.with_items(items.ids), items, users
        scale = None if self.scale is None else (self.scale[0], self.scale[1])
        log = read_log(path, user=self.user, item=self.item, value=self.value, time=self.time, scale=scale)
        if items is not None:
            log = log.with_items(items.ids)
        return split_log(log, self.split.kind, **self.split.options), items, users

    def _task(self, context: GoldContext, split: Split, items: Attributes | None, users: Attributes | None) -> Task:
        fit_on: tuple[Window, ...] = ("train",) if self.fit_on == "train" else ("train", "validation")
        item_ids = None if items is None else items.ids
        catalogue, notes = catalogue_mask(self._catalogue(items), split, self.window, fit_on, item_ids)
        sampled = None if self.candidates is None else Sampled(self.candidates.sampled, self.candidates.seed)
        features = side_features(split.log, items, users, trained=split.users_of(*fit_on))
        if self.embed is not None and features.texts:
            path = context.path(self.embed)
            vectors = find_model(path if isdir(path) else self.embed).embed(list(filter(None, features.texts)))
            matrix = np.zeros(
                (len(split.log.items), vectors.shape[1]), dtype=np.float32
            )  # zeros for items without text
            matrix[[bool(text) for text in features.texts]] = vectors
            features = replace(features, items={**features.items, "text": matrix})
        return Task(split, self.window, fit_on, catalogue, sampled, features, (*split.log.notes, *notes))

    def _catalogue(self, items: Attributes | None) -> Catalogue:
        return self.catalogue or ("seen" if items is None else "items")

    def faults(self) -> Iterator[tuple[str, str]]:
        yield from fault_of("split", lambda: check_options(self.split.kind, self.split.options))
        yield from fault_of("tiers", self.tiers.tiers)
        if self.scale is not None and (len(self.scale) != 2 or not self.scale[0] < self.scale[1]):
            yield "scale", f"is {self.scale}; expected the lowest and the highest rating, such as [0.5, 5]"
        if self.catalogue == "items" and self.items is None:
            yield "catalogue", "is items, but items is not set"
        if self.embed is not None and self.items is None:
            yield "embed", "embeds the titles of items, but items is not set"
        if self.fit_on == "train+validation" and self.window == "validation":
            yield "fit_on", "includes the window that systems are evaluated on"

    def measure_faults(self, asked: Sequence[NamedMeasure]) -> Iterator[tuple[str, str]]:
        """Yield a fault if measures need item attributes, and there is no file of them."""
        labels = [named.label for named in asked if named.measure.metric.of_lists and named.measure["by"] is not None]
        if labels and self.items is None:
            yield "items", f"is not set, but {', '.join(labels)} needs attributes of items"


@dataclass(frozen=True, eq=False, kw_only=True)
class LoadedInteractions(LoadedGold):
    """Gold of users: systems recommend items of the catalogue, and exposure is recorded."""

    task: Task
    tiers: Tiers

    def slices(self, wanted: Collection[str]) -> list[SliceTable]:
        return [user_cuts(self.task, self.tiers)]

    def item_slices(self) -> list[SliceTable]:
        return [item_cuts(self.task, self.tiers)]

    def candidates(self, gold: Gold) -> int | Mapping[str, int] | None:
        return self.task.candidates

    def check_search(self) -> None:
        """Refuse vector search: users are not items, and their training items are unknown to it."""
        raise UsageError(
            "vector search cannot answer users, as it does not know their training items",
            expected='kind = "recommender", model = "factors" with the vectors of users and items',
        )

    def check_run(self, ranking: Ranking) -> tuple[Ranking, list[str]]:
        return check_recommendations(ranking, self.task)

    def complete(self, loaded: Loaded, threshold: float | None, context: GoldContext) -> Loaded:
        loaded = super().complete(loaded, threshold, context)
        if not isinstance(loaded.ranking, Ranking):
            return loaded
        matched = MatchedRanking(self.task.gold, loaded.ranking, duplicates="first", allow_disjoint_queries=True)
        first = next(named for named in context.asked if named.label == context.checked.headline[0])
        k = first.measure.k or context.largest_cut
        return loaded.adding(exposure_of(matched.lists(self.task.background, k, OrderRules(context.ties)), k))

    def final_warnings(self, report: Report, context: GoldContext) -> Iterator[ReportWarning]:
        of_gold = {named.label for named in context.asked if not named.measure.metric.of_lists}
        headline = context.checked.headline
        label = next((label for label in headline if label in of_gold), headline[0])
        yield from as_warnings(below_chance(report, label), "below-chance")


def below_chance(report: Report, label: str) -> Iterator[str]:
    """Name the systems that are not better than a random order, and those not shown to be better than popularity.

    Measures beyond accuracy are ignored: a random order covers most.
    """
    measure = report.measure(label)
    if measure is not None and measure.metric.of_lists:
        return
    means = {name: of[label].mean for name, of in report.estimates.items() if label in of}
    random = {*report.random_systems, *(name for name in report.systems if report.fact(name, "model") == "random")}
    chance = max((means[name] for name in random if name in means), default=float("-inf"))
    for name, mean in means.items():
        if name not in random and mean <= chance:
            yield f"{name} is not better than a random order: {label} {mean:.4f}, a random order has {chance:.4f}"
    if report.baseline is not None and report.fact(report.baseline, "model") == "popularity":
        verdicts = {
            comparison.system: verdict_style(comparison, report.level)
            for comparison in report.comparisons
            if comparison.measure == label and comparison.system not in random
        }
        if worse := [name for name, verdict in verdicts.items() if verdict == "worse"]:
            yield f"worse than {report.baseline} on {label}: {', '.join(worse)}"
        if even := [name for name, verdict in verdicts.items() if verdict not in ("better", "worse")]:
            yield f"not shown to be better than {report.baseline} on {label}: {', '.join(even)}"
