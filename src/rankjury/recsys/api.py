"""What a script calls to evaluate recommenders on a log: read, split, recommend; then evaluate or compare."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, get_args

from rankjury.core.params import Params, is_whole
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import WHOLE, Ranking
from rankjury.core.validation import check_arguments
from rankjury.errors import UnknownName, UsageError
from rankjury.evaluation.evaluate import DEFAULT_MEASURES, resolve_all
from rankjury.measures.measure import Measure
from rankjury.recsys.data.attributes import Attributes, read_items, read_users, side_features
from rankjury.recsys.data.log import Log
from rankjury.recsys.data.movielens import find_companions
from rankjury.recsys.data.read import read_log
from rankjury.recsys.data.split_folder import is_split_folder, read_split
from rankjury.recsys.models import Recommender, make_recommender
from rankjury.recsys.models.function import wrap_recommender
from rankjury.recsys.recommend import recommend as recommended
from rankjury.recsys.split import Split, Window
from rankjury.recsys.splitting import fold_option, split_log
from rankjury.recsys.task import Catalogue, Sampled, Task, catalogue_mask

_UNCUT_DEPTH = 1_000
"""How many are ranked for measures that have no cut-off, as in plans."""


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
    """The task of predicting a window of a log: by default the last tenth, from the first eight, whole catalogue.

    ``log`` is a path, a Polars or pandas frame, or a Log; or a Split, or the path of one that ``rankjury split`` wrote.
    ``items`` is the catalogue with its attributes, ``users`` are attributes of users; where ``log`` is a MovieLens
    folder, its files of movies and users are taken unless others are given. ``kind`` (``temporal``, unless it is told)
    and ``options`` say how the log is split (``fractions``, ``n``, ``seed`` …), unless it is a Split already; ``fold``
    is which of several splits is meant, of ``users`` or of ``rolling``. ``scale`` is the lowest and highest rating
    there can be. ``sampled`` draws so many candidates, which misleads. ``task.notes()`` tells what to be wary of, as do
    the warnings of what is scored.

    >>> task = rankjury.held_out("ratings.csv", items="movies.csv")
    >>> ranking = rankjury.recommend(task, "popularity", measures=["ndcg@10", "recall@10"])
    >>> rankjury.evaluate(task.gold, ranking, ["ndcg@10", "recall(rel=4)@10"])
    """
    known_as = Attributes | str | Path | None
    _check_kinds(items=(items, known_as), users=(users, known_as), sampled=(sampled, Sampled | Integral | None))
    if isinstance(log, str | Path) and is_split_folder(log):
        log = read_split(log)
    in_folder = find_companions(log)
    items, users = in_folder[0] if items is None else items, in_folder[1] if users is None else users
    known = read_items(items) if isinstance(items, str | Path) else items
    about = read_users(users) if isinstance(users, str | Path) else users
    given = {"kind": kind, "fold": fold, "scale": scale, **options}
    told = [name for name, value in given.items() if value is not None]
    if isinstance(log, Split) and told:
        raise UsageError(f"the log is split already, and {', '.join(told)} would not count", expected="a log")
    split = log if isinstance(log, Split) else _split(log, known, kind or "temporal", fold, scale, options)
    if known is not None:
        split = split.with_items(known.ids)
    chosen = catalogue or ("seen" if known is None else "items")
    if chosen not in get_args(Catalogue):
        raise UnknownName("catalogue", chosen, get_args(Catalogue))
    Task(split, window, fit_on)  # windows are looked over before anything is read from them
    mask, notes = catalogue_mask(chosen, split, window, fit_on, None if known is None else known.ids)
    drawn = sampled if sampled is None or isinstance(sampled, Sampled) else Sampled(sampled)
    facts = side_features(split.log, known, about, trained=split.users_of(*fit_on))
    return Task(split, window, fit_on, mask, drawn, facts, (*split.log.notes, *notes))


def _check_kinds(**given: tuple[object, Any]) -> None:
    for name, (value, wanted) in given.items():
        if not isinstance(value, wanted):
            expected = ", ".join(one.__name__ for one in get_args(wanted) if one is not type(None))
            raise UsageError(f"{name} is of type {type(value).__name__}", expected=expected)


def _split(
    log: Any,
    items: Attributes | None,
    kind: str,
    fold: int | None,
    scale: tuple[float, float] | None,
    options: dict[str, object],
) -> Split:
    if isinstance(log, Log) and scale is not None:
        raise UsageError("scale, where the log was read already", expected="a file", hint="read_log takes a scale.")
    read = log if isinstance(log, Log) else read_log(log, scale=scale)
    which = fold_option(kind)
    if fold is not None and which is None:
        raise UsageError(f"a {kind} split has no folds", expected="fold with kind users or rolling")
    chosen = options if fold is None or which is None else {**options, which: fold}
    return split_log(read if items is None else read.with_items(items.ids), kind, **chosen)


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
        model: A name (``rankjury recommenders`` lists them), a Recommender, or a function, class or object of your own
        (as
            the model callable takes them).
        k: How many items to rank for a user. None: as many as ``measures`` look at. Measures that look deeper than k
            are refused when the ranking is scored.
        measures: The measures that the ranking will be scored by; they only say how deep to rank.
        params: Parameters of a model that is given by its name.
        cold_users: What users get whom the model does not know: the most popular items (``popularity``), or
            ``nothing``.
        progress: Called with how much is done, and of how much.

    Returns:
        A Ranking. Notes on the task and the lists are among the warnings of what is scored (``scores.warnings``).

    Raises:
        UsageError: An argument has a value that is not possible.

    >>> ranking = rankjury.recommend(task, "popularity", measures=["ndcg@20"])
    """
    if not isinstance(task, Task):
        raise UsageError(f"found a task of type {type(task).__name__}", expected="a task as rankjury.held_out makes it")
    if k is None:
        listed = [measures] if isinstance(measures, str | Measure) else measures
        cuts = [one.measure.k for one in resolve_all(listed) if one.measure.k is not None]
        k = max(cuts, default=_UNCUT_DEPTH)
    if not is_whole(k) or k < 1:
        raise UsageError(f"k is {k!r}", expected="a whole number from 1 on")
    if params is not None and not isinstance(model, str):
        raise UsageError("params, where the model is made already", expected="params with the name of a model")
    made = make_recommender(model, params) if isinstance(model, str) else model
    made = made if isinstance(made, Recommender) else wrap_recommender(made)
    shown = Progress.of(progress)
    made.fit(task.train, task.facts, shown)
    name = model if isinstance(model, str) else getattr(model, "__name__", type(model).__name__)
    few = min(k, max(len(task.log.items), 1))  # deeper lists would be padding
    found = recommended(made, task, few, cold=cold_users, source=name, progress=shown)
    depth = k if k < int(task.in_catalogue.sum()) else WHOLE
    return replace(found.ranking(task, name), depth=depth, notes=(*task.notes(), *made.notes(), *found.notes()))
