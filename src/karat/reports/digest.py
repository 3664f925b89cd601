"""What a report's form says first, as cells: for pull requests and notebooks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from karat.reports.charts.from_form.reading import Form, idle_systems, labels_of, less_is_better, level_of
from karat.reports.html.sections import headline_labels, headline_of, verdicts_of, who_of
from karat.reports.html.slices import slices_of
from karat.reports.table import Table
from karat.wording import count, difference_shown, percent

__all__ = [
    "MOVES",
    "Names",
    "about",
    "headline_table",
    "labels_first",
    "losses_table",
    "names_in",
    "names_kept",
    "slices_table",
    "verdict_counts",
    "verdicts_table",
]

MOVES = "relevant items (grade): rank before → after"
_MOST_ROWS = 24
_MOVES_SHOWN = 3
_LONGEST_NAME = 28
"""So that three of them, with their ranks, are one line."""
_WORDS = {"better": "▲ better", "worse": "▼ worse", "same": "≈ noise", "": ""}


class Names(NamedTuple):
    """What queries and items are called, apart: a query and an item may have the same id."""

    queries: Mapping[str, str]
    items: Mapping[str, str]

    def __or__(self, other: "Names") -> "Names":
        """Join two; the other's count where both know an id."""
        return Names({**self.queries, **other.queries}, {**self.items, **other.items})


def about(form: Form) -> str:
    """``50 queries · 5 systems · compared with bm25``"""
    sizes = [entry["n"] + entry.get("undefined", 0) for one in form["systems"].values()
             for entry in one["measures"].values()]  # fmt: skip
    parts = [count(max(sizes, default=0), *who_of(form)), count(len(form["systems"]), "system", "systems")]
    return " · ".join([*parts, *([f"compared with {form['baseline']}"] if form.get("baseline") else ())])


def labels_first(form: Form) -> tuple[list[str], list[str]]:
    """The measures to show at once, as many as a reader takes in, and the others."""
    compared = {one["measure"] for one in form.get("comparisons") or ()}
    headline = headline_labels(form)
    if not form.get("headline"):
        headline = [label for label in headline if label in compared] or headline
    shown = headline[: max(1, _MOST_ROWS // max(1, len(form["systems"])))]
    return shown, [label for label in labels_of(form) if label not in shown]


def headline_table(form: Form, labels: Sequence[str]) -> Table:
    """A row for each measure and system; differences to the baseline where there is one."""
    headline = headline_of(form, labels)
    beside = {(one["measure"], one["system"]): one for one in form.get("comparisons") or ()}
    compared = any(cell.difference for row in headline.rows for cell in row.cells)
    rows = []
    for place, title in enumerate(headline.titles):
        shown = [row for row in headline.rows if labels[place] in form["systems"][row.system]["measures"]]
        for number, row in enumerate(shown):
            cell = row.cells[place]
            system = row.system + (" (baseline)" if row.is_baseline else " (by chance)" if row.by_chance else "")
            cells = ["" if number else title, system, f"{cell.mean} {cell.ci}".strip()]
            if compared:
                tally = _tally(beside.get((labels[place], row.system)))
                cells += [f"{cell.difference} {cell.difference_ci}".strip(), _WORDS[cell.sign], cell.p, tally]
            rows.append([*cells, f"{cell.n:,}"])
    between = [f"difference [{headline.level}]", "", "p", "+/=/−"] if compared else []
    return ["measure", "system", f"mean [{headline.level}]", *between, "n"], rows


def _tally(one: Form | None) -> str:
    """How many queries are better, equal and worse; nothing of a figure over all of them."""
    return f"{one['better']}/{one['equal']}/{one['worse']}" if one and one.get("better") is not None else ""


def slices_table(form: Form, label: str, *, losing: bool = False) -> Table:
    """A measure in every slice, worst first, without those in which nothing differs from the baseline.

    ``losing``: only those that do worse than the baseline does there.
    """
    same = {(part["slice"], one["system"]) for part in form.get("slices") or () for one in part.get("comparisons") or ()
            if one["measure"] == label and one["n"] == one.get("equal")}  # fmt: skip
    idle = idle_systems(form)
    found = [row for row in slices_of(form, label) if (row.slice, row.system) not in same and row.system not in idle]
    compared = any(row.cell.difference for row in found)
    several = len({row.system for row in found}) > 1
    rows = []
    for row in found:
        if losing and compared and row.gain >= 0:
            continue
        cell, system = row.cell, [row.system] if several else []
        mean = [cell.mean] if compared else [f"{cell.mean} {cell.ci}".strip()]
        beside = [f"{cell.difference} {cell.difference_ci}".strip(), _WORDS[cell.sign], cell.p] if compared else []
        rows.append([row.slice, *system, row.n, *mean, *beside])
    level = percent(level_of(form))
    figures = ["mean", f"difference [{level}]", "", "p"] if compared else [f"mean [{level}]"]
    return ["slice", *(["system"] if several else ()), "n", *figures], rows


def losses_table(form: Form, label: str, most: int, names: Names) -> Table:
    """The queries that lost most under a measure, with where their relevant items went."""
    sign = -1.0 if less_is_better(form, label) else 1.0
    idle = idle_systems(form)
    lost = [
        one
        for one in form.get("changes") or ()
        if one["measure"] == label and one["system"] not in idle and sign * one["difference"] < 0
    ]
    lost.sort(key=lambda one: (sign * one["difference"], one["query_id"], one["system"]))
    several = len({one["system"] for one in lost}) > 1
    rows = [
        [
            names.queries.get(one["query_id"], one["query_id"]),
            *([one["system"]] if several else ()),
            f"{one['baseline']:.3f} → {one['value']:.3f}",
            difference_shown(one["difference"], None, decimals=3),
            ", ".join(_moves(one.get("moves") or (), names.items)),
        ]
        for one in lost[:most]
    ]
    return [who_of(form)[0], *(["system"] if several else ()), "before → after", "change", MOVES], rows


def _moves(moves: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Iterator[str]:
    """Those that stood, or stand, highest come first."""
    moved = [one for one in moves if one["from"] != one["to"]]
    moved.sort(key=lambda one: (min(rank for rank in (one["from"], one["to"]) if rank is not None), -one["grade"]))
    for one in moved[:_MOVES_SHOWN]:
        ranks = " → ".join("–" if rank is None else str(rank) for rank in (one["from"], one["to"]))
        name = names.get(one["item_id"], one["item_id"])
        shown = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
        yield f"{shown} ({one['grade']:g}): {ranks}"
    if len(moved) > _MOVES_SHOWN:
        yield f"{len(moved) - _MOVES_SHOWN} more"


def names_kept(run: Any) -> Names:
    """Return the names of the queries and items among an archived run's changes; none of what keeps no names."""
    texts, names = getattr(run, "texts", None), getattr(run, "names", None)
    changes = run.report.changes if callable(texts) and callable(names) else ()
    if not changes or texts is None or names is None:
        return Names({}, {})
    moved = {move.item for one in changes for move in one.moves}
    return Names(texts({one.query for one in changes}), names(moved))


def names_in(form: Form) -> Names:
    """Return what the form itself says that queries and items are called."""
    found = Names({}, {})
    for one in form["systems"].values():
        for example in one.get("examples") or ():
            items = (*example.get("items", ()), *example.get("missed", ()))
            texts = {example["query"]: example["text"]} if example.get("text") else {}
            found |= Names(texts, {item["id"]: item["name"] for item in items if item.get("name")})
    return found


def verdicts_table(form: Form, *outcomes: str) -> Table:
    """Targets with these outcomes, failures first."""
    rows = [row for row in verdicts_of(form) if row.outcome in outcomes]
    several = len({row.system for row in rows}) > 1
    cells = [
        [row.outcome.upper(), row.target, *([row.system] if several else ()), row.found, row.n, row.wanted]
        for row in rows
    ]
    return ["verdict", "target", *(["system"] if several else ()), "found", "n", "wanted"], cells


def verdict_counts(form: Form) -> str:
    """``1 fail · 3 pass``"""
    found = [row.outcome for row in verdicts_of(form)]
    return " · ".join(f"{found.count(one):,} {one}" for one in ("fail", "unsure", "pass") if one in found)
