"""Per-query data packed into a page: columns as JSON, deflated, in blocks that the page opens when it needs them.

The table of all queries is one block. Gold and rankings come in blocks of a hundred queries; where they would make the
page too large, the queries that matter most are held whole: those that differ most from the baseline, or, without one,
those that went worst. Then come the ids alone, of as many as there is room for.
"""

import json
import zlib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from karat.answers import Answers, Listed
from karat.reports.html.details import Details, shortened
from karat.types import Floats, Ints, gathered

__all__ = ["Packed", "pack"]

_BLOCK = 100
_DIGITS = 4
"""Significant ones, of scores on the page; the report's JSON has all."""
_MOST_SLICES = 200
_FOR_TABLE = 0.5
"""The share of the room that the table may take before it loses measures."""
_FOR_WHOLE = 0.7
"""The share of what is left that queries held whole may take, where not all can be."""


@dataclass(frozen=True)
class Packed:
    """Blocks as text that an HTML page can hold."""

    labels: tuple[str, ...]
    """The measures in the table."""
    table: str
    blocks: tuple[str, ...]
    order: str | None
    """The rows whose answers are held, block by block; None: all, in order."""
    held: int
    """Of how many queries the answers are held,"""
    whole: int
    """and of how many of them with names and scores."""
    slices: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.table) + sum(map(len, self.blocks)) + len(self.order or "")


def pack(details: Details, labels: Sequence[str], baseline: str | None, lower: Sequence[str], most: int) -> Packed:
    """Into about ``most`` bytes, for the measures ``labels``; ``lower``: those of which less is better."""
    slices = tuple(list(details.slices)[:_MOST_SLICES])
    table = _table(details, labels, slices)
    while len(table) > _FOR_TABLE * most and len(labels) > 1:
        labels = labels[:-1]
        table = _table(details, labels, slices)
    kept = tuple(labels)
    room, queries = most - len(table), len(details.ids)
    if details.answers is None:
        return Packed(kept, table, (), None, 0, 0, slices)
    rows = np.arange(queries)
    likely = len(_deflated(_block(details, rows[:_BLOCK]))) * queries / max(min(_BLOCK, queries), 1)
    if likely < 1.2 * room:
        blocks = _fitting(details, rows, room)
        if len(blocks) * _BLOCK >= queries:
            return Packed(kept, table, blocks, None, queries, queries, slices)
    rows = np.argsort(_rank_of_importance(details, labels[0], baseline, labels[0] in lower), kind="stable")
    room -= 4 * queries
    blocks = _fitting(details, rows, int(_FOR_WHOLE * room))
    whole = len(blocks) * _BLOCK
    blocks += _fitting(details, rows[whole:], room - sum(map(len, blocks)), lean=True)
    held = min(len(blocks) * _BLOCK, queries)
    return Packed(kept, table, blocks, _deflated(rows[:held].tolist()), held, min(whole, held), slices)


def _table(details: Details, labels: Sequence[str], slices: Sequence[str]) -> str:
    nothing = np.full(len(details.ids), np.nan)
    scores = [[_rounded(columns.get(label, nothing)) for label in labels] for columns in details.scores.values()]
    texts = list(details.texts) if any(text is not None for text in details.texts) else None
    members = [list(details.slices[name]) for name in slices]
    return _deflated({"ids": list(details.ids), "texts": texts, "scores": scores, "slices": members})


def _fitting(details: Details, rows: Ints, room: int, *, lean: bool = False) -> tuple[str, ...]:
    """As many blocks as there is room for."""
    blocks: list[str] = []
    for first in range(0, len(rows), _BLOCK):
        block = _deflated(_block(details, rows[first : first + _BLOCK], lean=lean))
        room -= len(block) + 3
        if room < 0:
            break
        blocks.append(block)
    return tuple(blocks)


def _rank_of_importance(details: Details, label: str, baseline: str | None, lower: bool) -> Floats:
    """Lower comes first: the largest differences to the baseline, or the worst scores."""
    columns = {name: one[label] for name, one in details.scores.items() if label in one}
    values = np.column_stack(list(columns.values()))
    if baseline in columns and len(columns) > 1:
        apart = np.nan_to_num(np.abs(values - columns[baseline][:, None]), nan=0.0)
        return -np.asarray(apart.max(axis=1))
    worst = (
        np.nan_to_num(values, nan=np.inf).min(axis=1) if not lower else -np.nan_to_num(values, nan=-np.inf).max(axis=1)
    )
    return np.asarray(worst)


def _block(details: Details, rows: Ints, *, lean: bool = False) -> dict[str, Any]:
    """Some queries: each item's id and name once, then of every query the items that anybody lists, and who does where.

    ``lean``: without names, scores and keywords.
    """
    answers = details.answers
    assert answers is not None
    parts = [_part(one, rows) for one in (*answers.golds.values(), *answers.systems.values())]
    items = pl.concat([part.items for part in parts])
    known = items.unique(maintain_order=True)
    codes = pl.DataFrame({"item": known, "code": np.arange(len(known))})
    code = items.to_frame("item").join(codes, on="item", how="left", maintain_order="left")["code"].to_numpy()
    owner = np.concatenate([np.repeat(np.arange(len(rows)), part.lengths) for part in parts])
    union, place, sizes = _unions(owner, code, len(rows), len(known))
    ends = np.cumsum([len(part.items) for part in parts])[:-1]
    places = np.split(place, ends)
    golds = len(answers.golds)
    return {
        "items": known.to_list(),
        "names": None if lean else _names(details, known.to_list()),
        "sizes": sizes.tolist(),
        "union": union.tolist(),
        "golds": [_packed(part, at, lean=True) for part, at in zip(parts[:golds], places[:golds], strict=True)],
        "systems": [_packed(part, at, lean=lean) for part, at in zip(parts[golds:], places[golds:], strict=True)],
        "keywords": None if lean else _keywords(details, answers, rows),
    }


@dataclass(frozen=True, eq=False)
class _Part:
    lengths: Ints
    items: pl.Series
    grades: Floats
    scores: Floats | None
    total: Ints


def _part(one: Listed, rows: Ints) -> _Part:
    starts, at = gathered(one.starts, rows)
    scores = None if one.scores is None else one.scores[at]
    return _Part(np.diff(starts), one.items.gather(at), one.grades[at], scores, one.total[rows])


def _unions(owner: Ints, code: Ints, queries: int, known: int) -> tuple[Ints, Ints, Ints]:
    """Of every query its items, each once, as they first come; where each entry stands there; how many there are."""
    pair = owner * known + code
    distinct, first, inverse = np.unique(pair, return_index=True, return_inverse=True)
    asked = distinct // known
    order = np.lexsort((first, asked))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    sizes = np.bincount(asked, minlength=queries)
    begins = np.concatenate(([0], np.cumsum(sizes)))[:-1]
    return (distinct % known)[order], (rank[inverse] - begins[owner]).astype(np.int64), sizes


def _packed(part: _Part, places: Ints, *, lean: bool) -> dict[str, Any]:
    return {
        "lengths": part.lengths.tolist(),
        "places": places.tolist(),
        "total": part.total.tolist(),
        "grades": _rounded(part.grades),
        "scores": None if lean or part.scores is None else _rounded(part.scores),
    }


def _names(details: Details, items: Sequence[str]) -> list[str | None] | None:
    if not details.names:
        return None
    return [shortened(details.names.get(item)) for item in items]


def _keywords(details: Details, answers: Answers, rows: Ints) -> list[Any] | None:
    """By system and query."""
    if not details.keywords:
        return None
    return [[details.keywords.get(name, {}).get(details.ids[row]) for row in rows.tolist()] for name in answers.systems]


def _rounded(values: Floats) -> list[float | int | None]:
    """To a few significant digits; whole numbers without a point, NaN as null."""
    known = np.isfinite(values)
    held = np.where(known, values, 0.0)
    with np.errstate(divide="ignore"):
        power = np.where(held != 0, np.floor(np.log10(np.abs(held))), 0.0)
    decimals = np.clip(_DIGITS - 1 - power, 0, 17).astype(int)
    shown = zip(held.tolist(), decimals.tolist(), known.tolist(), strict=True)
    return [_short(value, places) if is_known else None for value, places, is_known in shown]


def _short(value: float, places: int) -> float | int:
    rounded = round(value, places)
    return int(rounded) if rounded == int(rounded) else rounded


def _deflated(form: Any) -> str:
    text = json.dumps(form, separators=(",", ":"), allow_nan=False)
    return b64encode(zlib.compress(text.encode(), 9)).decode()
