"""The queries that went best and worst, with what they found and missed, for a page."""

from dataclasses import dataclass

import numpy as np

from karat.answers import Answers
from karat.reports.html.details import Details, shortened
from karat.wording import figure_shown

__all__ = ["Case", "Item", "cases_of"]

_MOST = 5
_ITEMS = 5
_MOST_SYSTEMS = 8


@dataclass(frozen=True)
class Item:
    name: str
    grade: str
    relevant: bool


@dataclass(frozen=True)
class Case:
    """One query."""

    id: str
    text: str | None
    score: str
    found: tuple[Item, ...]
    missed: tuple[Item, ...]


def cases_of(details: Details, label: str, *, lower: bool) -> list[tuple[str, list[Case], list[Case]]]:
    """Of each system five successes and five failures under a measure; equal scores go by id, and none is both."""
    found = []
    for system in list(details.scores)[:_MOST_SYSTEMS]:
        values = details.scores[system].get(label)
        if values is None or (details.answers is not None and system not in details.answers.systems):
            continue
        known = np.flatnonzero(~np.isnan(values))
        good = -values if lower else values
        best = known[np.argsort(-good[known], kind="stable")]
        half = min(_MOST, (len(best) + 1) // 2)
        rest = np.sort(best[half:])
        worst = rest[np.argsort(good[rest], kind="stable")][:_MOST]
        if len(known):
            rows = ([_case(details, system, row, float(values[row])) for row in some.tolist()]
                    for some in (best[:half], worst))  # fmt: skip
            successes, failures = rows
            found.append((system, successes, failures))
    return found


def _case(details: Details, system: str, row: int, score: float) -> Case:
    answers = details.answers
    found, missed = ((), ()) if answers is None else _items(details, answers, system, row)
    return Case(details.ids[row], details.texts[row], figure_shown(score, 3), found, missed)


def _items(details: Details, answers: Answers, system: str, row: int) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """The first that came, and the best that did not."""
    ours, gold = answers.systems[system], answers.golds[answers.gold_of[system]]
    came = [(item, grade) for item, _, grade in ours.of(row)]
    ids = {item for item, _ in came}
    lacking = [(item, grade) for item, _, grade in gold.of(row) if grade > 0 and item not in ids]
    return (
        tuple(_item(details, item, grade) for item, grade in came[:_ITEMS]),
        tuple(_item(details, item, grade) for item, grade in lacking[:_ITEMS]),
    )


def _item(details: Details, item: str, grade: float) -> Item:
    name = shortened(details.names.get(item)) or item
    return Item(name, "" if grade != grade else f"{grade:g}", grade > 0)
