"""Gold from files of labels: graded ones, and ordered lists of one aspect or several."""

from typing import Literal

import polars as pl
from pydantic import Field

from rankjury.io.formats import read_gold
from rankjury.io.ordered_lists import ONLY_ASPECT, read_ordered
from rankjury.plan import GOLD_KINDS
from rankjury.plan.context import GoldContext, GoldTable, LoadedGold
from rankjury.plan.draft import (
    RANDOM_SYSTEM,
    aspect_for,
    register_draft,
    system_lines,
    system_names,
    table_lines,
    top_level_lines,
)
from rankjury.plan.folder_scan import FolderContents
from rankjury.plan.toml import toml_key, toml_string


@GOLD_KINDS.register("labels")
class LabelsGold(GoldTable):
    """Graded labels: qrels or a table with query_id, item_id and grade."""

    kind: Literal["labels"] = "labels"
    path: str = Field(description="TREC qrels, JSON, JSONL, CSV, TSV or Parquet, also .gz and .zst.")
    format: str | None = Field(None, description="The format, where the file does not tell.")
    relevant_from: float | None = Field(None, description="The grade from which an item is relevant.")

    def load(self, context: GoldContext) -> LoadedGold:
        gold = read_gold(context.path(self.path), self.format, relevant_from=self.relevant_from)
        return LoadedGold({ONLY_ASPECT: gold})


@GOLD_KINDS.register("ordered")
class OrderedGold(GoldTable):
    """Ordered lists, best first, of one aspect or several; the grade is the length + 1 − the position."""

    kind: Literal["ordered"]
    path: str = Field(description="A JSON array of objects with an id and a list for each aspect.")
    closed: bool | None = Field(
        None, description="Every listed item must be a query; unset: where fields are named N_most_similar_…_ordered."
    )

    def load(self, context: GoldContext) -> LoadedGold:
        golds = read_ordered(context.path(self.path), closed=self.closed)
        queries = frozenset(next(iter(golds.values())).queries)
        closed = all(set(gold.items.cast(pl.String)) <= queries for gold in golds.values())
        closed = closed and self.closed is not False
        return LoadedGold(golds, closed, queries_are_items=closed or None, exclude_self=closed or None)


@register_draft(
    "runs", "Saved runs against graded labels.", rank=30, suits=lambda found: bool(found.runs and found.golds)
)
def _draft_runs(found: FolderContents) -> list[str]:
    runs = system_names(found.runs or ["bm25.trec", "dense.trec"])
    measures = ["ndcg@10", "ap", "rr", "recall@100", "precision@10"]
    baseline = next(iter(runs)) if len(runs) > 1 else None
    lines = top_level_lines(measures, [], baseline, found, ["report.html", "report.json", "report.md"])
    lines += table_lines("gold", kind="labels", path=next(iter(found.golds), "qrels.txt"))
    lines.append("# relevant_from = 2        # the grade from which an item is relevant")
    for name, path in runs.items():
        lines += system_lines(name, kind="run", path=path)
    return lines


@register_draft(
    "search",
    "Search by vectors of queries, against graded labels.",
    rank=40,
    suits=lambda found: bool(found.golds and found.vectors) or (found.has_texts and not found.vectors),
    alias="fashion",
)
def _draft_search(found: FolderContents) -> list[str]:
    embedded = found.has_texts and not found.vectors
    texts = next(iter(found.texts), None)
    spaces = {"title": found.products[0]} if embedded else system_names(found.vectors or ["items.npz"])
    queries = next(iter(found.query_vectors), "queries.npz")
    measures = ["ndcg(gain=exp)@10", "recall(rel=2)@10", "precision(rel=2)@10", "rr(rel=2)@10"]
    baseline = next(iter(spaces)) if len(spaces) > 1 else None
    lines = top_level_lines(measures, [], baseline, found, ["report.html", "report.json", "scores.csv"])
    lines += table_lines("gold", kind="labels", path=next(iter(found.golds), "labels.jsonl"))
    if found.has_texts and not found.golds:
        lines.append(f"# made by: rankjury label {found.products[0]} {texts} -o labels.jsonl")
    for name, path in spaces.items():
        if embedded:
            lines += [
                *system_lines(name),
                'kind = "texts"             # embedded by a small model that comes with rankjury[text]',
                f"items = {toml_string(path)}",
                f"queries = {toml_string(str(texts))}",
                'chunking = "title"         # or title+bullets, title+description/300+50',
            ]
            continue
        lines += system_lines(name, kind="vectors", path=path, queries=queries)
        if texts is not None and not found.query_vectors:
            lines.append(f"# made by: rankjury embed {texts} -o {queries} --model …   # the model of the items")
    name = next(iter(spaces))
    return [
        *lines,
        "",
        f"# [figures.{toml_key(name)}]       # measured elsewhere, for targets such as latency_p95_ms <= 150",
        "# latency_p95_ms = 12.5",
    ]


@register_draft(
    "spaces",
    "Embedding spaces of one set of items, fused, against ordered lists.",
    rank=20,
    suits=lambda found: bool(found.ordered),
    alias="movies",
)
def _draft_spaces(found: FolderContents) -> list[str]:
    gold, aspects = next(iter(found.ordered.items()), ("gold.json", ["overall", "content", "vibes"]))
    overall = aspect_for("overall", aspects)
    taken = {"combined", "random"}
    spaces = system_names(found.vectors or ["vectors.npz:anchor", "vectors.npz:content"], taken)
    lines = top_level_lines(
        ["ndcg(gain=exp)", "hits", "rr"], [5, 10], next(iter(spaces)), found, ["rankjury.json", "scores.csv"]
    )
    lines += [*table_lines("gold", kind="ordered", path=gold), f"# its aspects: {', '.join(aspects)}"]
    for name, path in spaces.items():
        aspect = aspect_for(name, aspects) or aspect_for(path, aspects)
        lines += [*system_lines(name, kind="vectors", path=path), _gold_line(aspect, aspects)]
        lines += ['# metric = "cosine"        # or ip, l2'] if name == next(iter(spaces)) else []
    if len(spaces) > 1:
        weights = ", ".join(f"{toml_key(name)} = 1" for name in spaces)
        lines += [
            *system_lines("combined", kind="fusion"),
            f"of = [{', '.join(map(toml_string, spaces))}]",
            'method = "rrf"',
            f"weights = {{ {weights} }}   # rankjury tune finds better ones",
            "c = 60",
            "# depth = 50               # only so many of each list count",
            _gold_line(overall, aspects),
        ]
    lines += RANDOM_SYSTEM
    return [*lines, _gold_line(overall, aspects)]


def _gold_line(aspect: str | None, aspects: list[str]) -> str:
    """Return the key gold of a system; a comment where no name says which aspect it is, so that the run asks."""
    if aspect is not None:
        return f"gold = {toml_string(aspect)}"
    return f"# gold = …                # the lists to compare with: {', '.join(map(toml_string, aspects))}"
