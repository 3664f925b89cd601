"""The tables of a run read back: answers, names, and the report with every query's scores."""

from collections.abc import Iterable
from typing import Any

import polars as pl

from karat.answers import Answers
from karat.archive.contents import GOLDS, ITEMS, RANKINGS
from karat.archive.run import Run
from karat.columns import ITEM, QUERY
from karat.errors import DataError, UnknownName
from karat.saved import Saved

__all__ = ["answers_of", "names_of", "saved_of", "texts_of"]


def answers_of(run: Run, query: str | None) -> Answers | None:
    """Of one query, or of all."""
    about = run.manifest.get("answers")
    rankings, golds = run.file(RANKINGS), run.file(GOLDS)
    if about is None or rankings is None or golds is None:
        return None
    frames = []
    for path in (rankings, golds):
        rows = run.table(path.name)
        try:
            frames.append((rows if query is None else rows.filter(pl.col(QUERY) == query)).collect())
        except (OSError, pl.exceptions.PolarsError) as error:
            raise DataError(f"cannot be read: {error}", where=str(path)) from error
    if query is None:
        queries = run.queries().select(QUERY).collect()[QUERY]
    else:
        queries = pl.Series(QUERY, [query], dtype=pl.String)
        if not any(map(len, frames)) and not _is_asked(run, query):
            raise UnknownName("query", query, (), where=run.name)
    known = about["systems"], about["golds"], about["gold_of"]
    return Answers.from_frames(queries, *known, frames[0], frames[1], about.get("depth"))


def _is_asked(run: Run, query: str) -> bool:
    return len(run.queries().filter(pl.col(QUERY) == query).select(QUERY).collect()) > 0


def names_of(run: Run, ids: Iterable[str] | None) -> dict[str, str]:
    if run.file(ITEMS) is None:
        return {}
    rows = run.table(ITEMS)
    if ids is not None:
        rows = rows.filter(pl.col(ITEM).is_in(list(dict.fromkeys(ids))))
    frame = rows.collect()
    return dict(zip(frame[ITEM].to_list(), frame["name"].to_list(), strict=True))


def texts_of(run: Run, ids: Iterable[str]) -> dict[str, str]:
    rows = run.queries().filter(pl.col(QUERY).is_in(list(dict.fromkeys(ids))), pl.col("text").is_not_null())
    frame = rows.select(QUERY, "text").collect()
    return dict(zip(frame[QUERY].to_list(), frame["text"].to_list(), strict=True))


def saved_of(run: Run) -> Saved:
    """The form with ``queries`` as a report that was written with them has it."""
    asked = run.queries().collect()
    scores = run.scores().collect()
    ids = asked.select(QUERY)
    by_system: dict[str, dict[str, list[float | None]]] = {}
    for name, system in run.form["systems"].items():
        rows = ids.join(scores.filter(pl.col("system") == name), on=QUERY, how="left", maintain_order="left")
        by_system[name] = {label: rows[label].to_list() for label in system["measures"]}
    queries: dict[str, Any] = {"ids": ids[QUERY].to_list(), "scores": by_system, "slices": _slices(run, asked)}
    answers = run.answers()
    if answers is not None and answers.systems:
        queries["top"] = {
            name: [list(items) for items in one.tuples(answers.depth)] for name, one in answers.systems.items()
        }
    return Saved(run.form | {"queries": queries}, run.name)


def _slices(run: Run, asked: pl.DataFrame) -> dict[str, list[int]]:
    """By name, the places of the queries in it; in the report's order."""
    rows = asked.with_row_index("row").select("row", "slices").explode("slices").drop_nulls("slices")
    grouped = rows.group_by("slices", maintain_order=True).agg("row")
    found = dict(zip(grouped["slices"].to_list(), grouped["row"].to_list(), strict=True))
    order = [part["slice"] for part in run.form.get("slices") or () if part["slice"] in found]
    return {name: found[name] for name in dict.fromkeys((*order, *found))}
