"""What a script calls to hold recommenders against a log: read, split, recommend; then evaluate or compare."""

from pathlib import Path
from typing import Any, get_args

from karat.errors import UnknownName, UsageError
from karat.interactions.attributes import Attributes, facts_of, read_items, read_users
from karat.interactions.candidates import Catalogue, catalogue_of
from karat.interactions.loading import is_split, read_split
from karat.interactions.log import Log
from karat.interactions.reading import read_log
from karat.interactions.split import Split, Window
from karat.interactions.splitting import split_log
from karat.interactions.task import Sampled, Task
from karat.recommenders import Progress, Recommender, make_recommender
from karat.recommenders.called import recommender_of
from karat.recommenders.ranking import recommend as recommended
from karat.settings import Params
from karat.types import Ranking

__all__ = ["held_out", "recommend"]


def held_out(
    log: Log | Split | str | Path,
    *,
    items: Attributes | str | Path | None = None,
    users: Attributes | str | Path | None = None,
    window: Window = "test",
    fit_on: tuple[Window, ...] = ("train",),
    catalogue: Catalogue | None = None,
    sampled: Sampled | None = None,
    kind: str | None = None,
    **options: object,
) -> Task:
    """The task of predicting a window of a log: by default the last tenth, from the first eight, whole catalogue.

    ``items`` is the catalogue with its attributes. ``kind`` (``temporal``, unless it is told) and ``options`` say how
    the log is split (``fractions``, ``n``, ``seed`` …), unless it is a Split already, or a folder of ``karat split``.

    >>> task = karat.held_out("ratings.csv", items="movies.csv")
    >>> ranking = karat.recommend(task, "popularity", k=20)
    >>> karat.evaluate(task.gold, ranking, ["ndcg@10", "recall(rel=4)@10"])
    """
    known = read_items(items) if isinstance(items, str | Path) else items
    about = read_users(users) if isinstance(users, str | Path) else users
    if isinstance(log, str | Path) and is_split(log):
        log = read_split(log)
    told = [*(["kind"] if kind is not None else []), *options]
    if isinstance(log, Split) and told:
        raise UsageError(f"the log is split already, and {', '.join(told)} would split it", expected="a log")
    split = log if isinstance(log, Split) else _split(log, known, kind or "temporal", options)
    if known is not None:
        split = split.with_items(known.ids)
    chosen = catalogue or ("seen" if known is None else "items")
    if chosen not in get_args(Catalogue):
        raise UnknownName("catalogue", chosen, get_args(Catalogue))
    Task(split, window, fit_on)  # windows are looked over before anything is read from them
    mask, _ = catalogue_of(chosen, split, window, fit_on, None if known is None else known.ids)
    return Task(split, window, fit_on, mask, sampled, facts_of(split.log, known, about))


def _split(log: Log | str | Path, items: Attributes | None, kind: str, options: dict[str, object]) -> Split:
    read = log if isinstance(log, Log) else read_log(log)
    return split_log(read if items is None else read.with_items(items.ids), kind, **options)


def recommend(
    task: Task,
    model: Any,
    k: int = 10,
    *,
    params: Params | None = None,
    cold_users: str = "popularity",
    progress: Progress | None = None,
) -> Ranking:
    """Fit a model on the task's training window, and rank the candidates of each of its users: the first k.

    ``model`` is a name (``karat recommenders`` lists them), a Recommender, or a function, class or object of your own
    (as the model callable takes them). Users that it does not know get the most popular items, or ``nothing``.
    """
    if k < 1:
        raise UsageError(f"k is {k}", expected="1 or more")
    made = make_recommender(model, params) if isinstance(model, str) else model
    made = made if isinstance(made, Recommender) else recommender_of(made)
    made.fit(task.train, task.facts, progress)
    name = model if isinstance(model, str) else getattr(model, "__name__", type(model).__name__)
    return recommended(made, task, k, cold=cold_users, source=name, progress=progress).ranking(task, name)
