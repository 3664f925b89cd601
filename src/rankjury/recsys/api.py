"""Public functions to evaluate recommenders on a log: held_out makes the task, recommend ranks for its users."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from rankjury.core.params import Params, is_whole
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import WHOLE, Ranking
from rankjury.core.validation import check_arguments
from rankjury.errors import UnknownName, UsageError
from rankjury.evaluation.evaluate import DEFAULT_MEASURES, resolve_measures
from rankjury.measures.measure import Measure
from rankjury.recsys.data.attributes import Attributes, read_items, read_users, side_features
from rankjury.recsys.data.log import Log
from rankjury.recsys.data.movielens import find_companions
from rankjury.recsys.data.read import read_log
from rankjury.recsys.data.split_folder import is_split_folder, read_split
from rankjury.recsys.models import Recommender, make_recommender
from rankjury.recsys.models.function import wrap_recommender
from rankjury.recsys.recommend import recommend as recommend_items
from rankjury.recsys.split import Split, Window
from rankjury.recsys.splitting import SPLITS, split_log
from rankjury.recsys.task import Catalogue, Sampled, Task, catalogue_mask

_UNCUT_DEPTH = 1_000
"""How many items are ranked for measures that have no cut-off, as in plans."""


@check_arguments
def held_out(
    log: Any,
    *,
    items: Attributes | str | Path | None = None,
    users: Attributes | str | Path | None = None,
    window: Window = "test",
    fit_on: tuple[Window, ...] = ("train",),
    catalogue: Catalogue | None = None,
    sampled: Sampled | int | None = None,
    scale: tuple[float, float] | None = None,
    kind: str | None = None,
    fold: int | None = None,
    **options: object,
) -> Task:
    """Return the task of predicting a window of a log, by default its last tenth from the first eight tenths.

    Args:
        log: A path, a Polars or pandas frame, or a Log; or a Split, or the path of a folder from ``rankjury split``.
        items: The catalogue with its attributes. Unset, it is the file of items of a MovieLens folder.
        users: Attributes of users. Unset, it is the file of users of a MovieLens folder.
        window: The window to predict.
        fit_on: The windows that models learn from.
        catalogue: What can be recommended: ``items`` (those of the file), ``seen`` (all up to the window's end) or
            ``train``. Unset: ``items`` where there is a file, else ``seen``.
        sampled: Draw so many candidates per user instead of ranking the whole catalogue, which misleads.
        scale: The lowest and highest rating there can be.
        kind: How to split the log; ``temporal`` if unset.
        fold: Which of several splits, for the kinds ``users`` and ``rolling``.
        options: Parameters of the kind of split: ``fractions``, ``n``, ``seed`` …

    Returns:
        The task. Its ``notes()``, and the warnings of what is scored, say what to be careful about.

    Raises:
        UsageError: An argument is not valid, or does not go with a log that is split already.
        DataError: A file cannot be read, or a window is empty.

    Example:
        >>> task = rankjury.held_out("ratings.csv", items="movies.csv")
        >>> ranking = rankjury.recommend(task, "popularity", measures=["ndcg@10", "recall@10"])
        >>> rankjury.evaluate(task.gold, ranking, ["ndcg@10", "recall(rel=4)@10"])
    """
    if isinstance(log, str | Path) and is_split_folder(log):
        log = read_split(log)
    companions = find_companions(log)
    items, users = companions[0] if items is None else items, companions[1] if users is None else users
    of_items = read_items(items) if isinstance(items, str | Path) else items
    of_users = read_users(users) if isinstance(users, str | Path) else users
    settings = {"kind": kind, "fold": fold, "scale": scale, **options}
    unused = [name for name, value in settings.items() if value is not None]
    if isinstance(log, Split) and unused:
        raise UsageError(f"the log is split already, and {', '.join(unused)} would not count", expected="a log")
    if isinstance(log, Log) and scale is not None:
        raise UsageError("scale, where the log was read already", expected="a file", hint="read_log takes a scale.")
    if not isinstance(log, Log | Split):
        log = read_log(log, scale=scale)
    if of_items is not None:
        log = log.with_items(of_items.ids)
    kind = kind or "temporal"
    if fold is not None:
        fold_param = SPLITS.get(kind).fold_param
        if fold_param is None:
            raise UsageError(f"a {kind} split has no folds", expected="fold with kind users or rolling")
        options[fold_param] = fold
    split = log if isinstance(log, Split) else split_log(log, kind, **options)
    chosen = catalogue or ("seen" if of_items is None else "items")
    if chosen not in get_args(Catalogue):
        raise UnknownName("catalogue", chosen, get_args(Catalogue))
    Task(split, window, fit_on)  # checks the windows before anything is read from them
    mask, notes = catalogue_mask(chosen, split, window, fit_on, None if of_items is None else of_items.ids)
    sampling = sampled if sampled is None or isinstance(sampled, Sampled) else Sampled(sampled)
    features = side_features(split.log, of_items, of_users, trained=split.users_of(*fit_on))
    return Task(split, window, fit_on, mask, sampling, features, (*split.log.notes, *notes))


@check_arguments
def recommend(
    task: Task,
    model: Any,
    k: int | None = None,
    *,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    params: Params | None = None,
    cold_users: str = "popularity",
    progress: Progress | Callable[[int, int], None] = NO_PROGRESS,
) -> Ranking:
    """Fit a model on the task's training window, and rank the first k candidates for each of its users.

    Args:
        task: What is predicted from what, as ``rankjury.held_out`` makes it.
        model: A name (see ``rankjury list recommenders``), a Recommender, or a function, class or object of your own
            (as the model callable takes them).
        k: How many items to rank for a user. None: as many as ``measures`` look at. Measures that look deeper than k
            are refused when the ranking is scored.
        measures: The measures that the ranking will be scored by; they only say how deep to rank.
        params: Parameters of a model that is given by its name.
        cold_users: What users get that the model does not know: the most popular items (``popularity``), or
            ``nothing``.
        progress: Called with how much is done, and of how much.

    Returns:
        A Ranking. Notes on the task and the lists are among the warnings of what is scored (``scores.warnings``).

    Raises:
        UsageError: An argument has a value that is not possible.

    Example:
        >>> ranking = rankjury.recommend(task, "popularity", measures=["ndcg@20"])
    """
    if not isinstance(task, Task):
        raise UsageError(f"found a task of type {type(task).__name__}", expected="a task as rankjury.held_out makes it")
    if k is None:
        cuts = [asked.measure.k for asked in resolve_measures(measures) if asked.measure.k is not None]
        k = max(cuts, default=_UNCUT_DEPTH)
    if not is_whole(k) or k < 1:
        raise UsageError(f"k is {k!r}", expected="a whole number from 1 on")
    if params is not None and not isinstance(model, str):
        raise UsageError("params, where the model is made already", expected="params with the name of a model")
    recommender = make_recommender(model, params) if isinstance(model, str) else model
    recommender = recommender if isinstance(recommender, Recommender) else wrap_recommender(recommender)
    shown = Progress.of(progress)
    recommender.fit(task.train, task.features, shown)
    name = model if isinstance(model, str) else getattr(model, "__name__", type(model).__name__)
    width = min(k, max(len(task.log.items), 1))  # deeper lists would be padding
    lists = recommend_items(recommender, task, width, cold=cold_users, source=name, progress=shown)
    depth = k if k < int(task.in_catalogue.sum()) else WHOLE
    notes = (*task.notes(), *recommender.notes(), *lists.notes())
    return replace(lists.ranking(task, name), depth=depth, notes=notes)
