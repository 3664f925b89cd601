"""Draft of the movielens protocol: recommenders on a log of interactions, split by time."""

from pathlib import Path

from rankjury.plan.draft import (
    RANDOM_SYSTEM,
    DraftNotes,
    output_lines,
    register_draft,
    system_lines,
    system_names,
    with_comment,
)
from rankjury.plan.folder_scan import FolderContents
from rankjury.plan.gold.interactions import TUNING_GRIDS
from rankjury.plan.toml import toml_string


@register_draft(
    "recommenders",
    "Recommenders on a log of interactions: learn from the past, evaluated on what came later.",
    rank=10,
    suits=lambda found: bool(found.logs) and not found.golds,
    alias="movielens",
)
def _draft_recommenders(found: FolderContents, notes: DraftNotes) -> list[str]:
    log = next(iter(found.logs), None)
    place = log and Path(log).parent
    items, users = (
        next((name for name in names if Path(name).parent == place), next(iter(names), None))
        for names in (found.catalogues, found.people)
    )
    notes.left_out |= dict.fromkeys(found.logs[1:], f"another log; the plan uses {log}")
    beyond = ["coverage@10", "novelty@10", *(["diversity@10"] if items or log is None else [])]
    liked = None if log in found.unrated else _liked_from(found.facts_of(log).highest)
    rel = f"(rel={liked})" if liked else ""
    if log:
        notes.summary = f"4 recommenders on {log}"
        if liked:
            notes.assumed.append(f"a rating of {liked} or more means that an item was liked")
        if items is None:
            notes.missing["items.csv"] = f"{_ITEMS}; without it diversity is not measured"
    accuracy = ["ndcg", f"precision{rel}", f"recall{rel}"]
    main = ["ndcg@10", f"precision{rel}@10", f"recall{rel}@10", *beyond]
    notes.headline, notes.baseline = main[0], "popularity"
    notes.assumed.append("popularity is the baseline that the others are compared with")
    is_timed = log not in found.untimed
    kind, fractions = ("temporal", "train before validation before test") if is_timed else ("random", "it has no times")
    if log:
        split = "by time" if is_timed else "at random, as it has no times"
        notes.assumed.append(f"the log is split {split}: 80 % train, 10 % validation, 10 % test")
    comment = "rel: the rating from which an item is liked" if rel else "every held-out item is relevant"
    lines = [
        'baseline = "popularity"    # the others are compared with it',
        "",
        with_comment(f"measures = [{', '.join(map(toml_string, [*accuracy, *beyond]))}]", comment),
        "cutoffs = [5, 10, 20]      # of measures that have none",
        f"headline = [{', '.join(map(toml_string, main))}]",
        'outputs = ["report.html", "report.json", "report.md"]',
        *output_lines("recommenders.png", "recommenders", "by tier, by popularity, by cut-off"),
        "",
        "[gold]",
        'kind = "interactions"',
        notes.file_line("path", log, "ratings.csv", _LOG, comment="rankjury audit looks at it first"),
        notes.file_line("items", items, "movies.csv", _ITEMS, comment="the catalogue, with genres")
        if items or log is None
        else f'# items = "items.csv"      # {_ITEMS}',
        *([with_comment(f"users = {toml_string(users)}", "attributes of users")] if users else []),
        'window = "test"            # "validation" while you are choosing',
        "",
        "[gold.split]",
        with_comment(f"kind = {toml_string(kind)}", f"{fractions}; rankjury split lists other kinds"),
        "fractions = [0.8, 0.1, 0.1]",
        "",
        "[gold.tiers]               # results are broken down by these",
        "activity = 4               # users: quarters by their training interactions",
        "popularity = [0.5, 0.8]    # items: head and torso, up to these shares of training interactions",
        "cold_users = 10            # fewer training interactions: cold",
        "cold_items = 10",
    ]
    for model, extra in (("popularity", ""), ("item-knn", "recsys"), ("als", "recsys"), ("ease", "recsys")):
        lines += ["", f"[systems.{model}]", 'kind = "recommender"', f"model = {toml_string(model)}"]
        lines += ["optional = true            # omitted where rankjury[recsys] is not installed"] if extra else []
    taken = {"popularity", "item-knn", "als", "ease", "random"}
    for name, path in system_names(found.runs, taken).items():
        lines += system_lines(name, kind="run", path=path)
    lines += RANDOM_SYSTEM
    lines += [
        "",
        "# rankjury tune --extend tries these on validation, and widens a grid whose best value is at its edge",
    ]
    for model, grid in TUNING_GRIDS.items():
        inside = ", ".join(f"{name} = [{', '.join(map(str, values))}]" for name, values in grid.items())
        lines += [f"[tune.{model}]", f"params = {{ {inside} }}", ""]
    return lines[:-1]


_LOG = "user, item, rating and timestamp in each row (ratings.dat, u.data, or a table)"
_ITEMS = "the catalogue: an id, a title and genres in each row"


def _liked_from(highest: float | None) -> int | None:
    """Return the rating from which an item counts as liked: 4 of 5, and the same share of other scales."""
    return 4 if highest is None else int(highest * 4 / 5) or None
