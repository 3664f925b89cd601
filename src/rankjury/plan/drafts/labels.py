"""Drafts of plans with graded labels: of saved runs, and of search by vectors or texts."""

from typing import Any

from rankjury.core.text import plural
from rankjury.plan.draft import (
    LABELS,
    RUN,
    VECTORS,
    DraftNotes,
    choose_baseline,
    count_queries,
    register_draft,
    system_lines,
    system_names,
    top_level_lines,
)
from rankjury.plan.folder_match import Match, file_of_ids, match_gold
from rankjury.plan.folder_scan import FolderContents
from rankjury.plan.toml import toml_key, toml_string

_MANY_GRADES = 3
"""From this highest grade on, items are relevant from grade 2, as with grades 0 to 3."""


@register_draft(
    "runs",
    "Saved runs against graded labels.",
    rank=30,
    suits=lambda found: bool(found.golds and match_gold(found).runs),
)
def _draft_runs(found: FolderContents, notes: DraftNotes) -> list[str]:
    match = match_gold(found)
    return _draft_labels(found, match, notes, ["ndcg@10", "ap", "rr", "recall@100", "precision@10"], "report.md")


@register_draft(
    "search",
    "Search by vectors or texts of queries, against graded labels.",
    rank=40,
    suits=lambda found: bool(found.golds and match_gold(found).systems) or (found.has_texts and not found.vectors),
)
def _draft_search(found: FolderContents, notes: DraftNotes) -> list[str]:
    match = match_gold(found)
    rel = assume_relevance(found, match, notes)
    measures = ["ndcg@10", *(f"{name}{rel}@10" for name in ("recall", "precision", "rr"))]
    return _draft_labels(found, match, notes, measures, "scores.csv")


def relevant_from(found: FolderContents, match: Match) -> str:
    """Return the option of measures that says from which grade an item is relevant, if it is not the first."""
    highest = found.facts_of(match.gold).highest
    return "(rel=2)" if match.gold is None or (highest is not None and highest >= _MANY_GRADES) else ""


def assume_relevance(found: FolderContents, match: Match, notes: DraftNotes) -> str:
    """Return the same option, and record it as an assumption."""
    rel, highest = relevant_from(found, match), found.facts_of(match.gold).highest
    if rel:
        reason = "" if highest is None else f", as the highest grade of {match.gold} is {highest:g}"
        notes.assumed.append(f"items are relevant from grade 2 {rel}{reason}; by default, from any grade above 0")
    return rel


def _draft_labels(
    found: FolderContents, match: Match, notes: DraftNotes, measures: list[str], output: str
) -> list[str]:
    """Return a plan of all that the gold can judge: saved runs, vectors, or texts where there is nothing else."""
    notes.left_out |= match.left_out
    gold = found.facts_of(match.gold)
    taken = set[str]()
    runs = system_names(match.runs, taken)
    paths = {space.path: space for space in match.spaces}
    spaces = {name: paths[path] for name, path in system_names(list(paths), taken).items()}
    embedded = not runs and not spaces and match.products and match.texts
    names = [*runs, *spaces, *(["title"] if embedded else [])]
    if not names:
        runs = {"bm25": "", "dense": ""} if output == "report.md" else {}
        names = list(runs)
    elif match.gold is not None and len(match.left_out) < len(found.golds) + len(found.runs) + len(found.vectors):
        notes.summary = f"{_systems(runs, spaces)} against {match.gold}{count_queries(gold.queries)}"
    if len(found.golds) > 1:
        notes.assumed.append(f"{match.gold} is the gold")
    choose_baseline(names, notes)
    lines = top_level_lines(
        measures, [], found, notes, ["report.html", "report.json", output],
        queries=gold.queries, items=gold.items, texts=match.texts,
    )  # fmt: skip
    make = f"rankjury label {match.products} {match.texts} -o labels.jsonl" if match.products and match.texts else ""
    example = "labels.jsonl" if make else "qrels.txt"
    lines += ["", "[gold]", 'kind = "labels"', notes.file_line("path", match.gold, example, LABELS, make)]
    if not relevant_from(found, match):
        lines.append("# relevant_from = 2        # the grade from which an item is relevant; unset: 1")
    for name, path in runs.items():
        line = notes.file_line("path", path or None, f"{name}.trec", RUN)
        lines += ["", f"[systems.{toml_key(name)}]", 'kind = "run"', line]
    for name, space in spaces.items():
        lines += system_lines(name, kind="vectors", **space.keys())
        for key, file in (("ids", space.ids), ("queries_ids", space.queries_ids)):
            if file is not None:
                rows = space.path if key == "ids" else space.queries
                notes.assumed.append(f"row i of {rows} is row i of {file_of_ids(file)}")
    if embedded:
        notes.assumed.append(f"titles in {match.products} are embedded by the small model wordllama (rankjury[text])")
        lines += [
            *system_lines("title"),
            'kind = "texts"             # embedded by a small model that comes with rankjury[text]',
            f"items = {toml_string(str(match.products))}",
            f"queries = {toml_string(str(match.texts))}",
            'chunking = "title"         # or title+bullets, title+description/300+50',
        ]
    elif not names:
        lines += ["", "[systems.vectors]", 'kind = "vectors"', *vector_lines(found, match, notes)]
    return lines


def _systems(runs: dict[str, str], spaces: dict[str, Any]) -> str:
    parts = [plural(len(runs), "run", "runs")] if runs else []
    parts += [plural(len(spaces), "embedding", "embeddings")] if spaces else []
    return " and ".join(parts) or "texts"


def vector_lines(found: FolderContents, match: Match, notes: DraftNotes) -> list[str]:
    """Return the lines that name the vectors of items and of queries; what is missing is marked."""
    space = next(iter(match.spaces), None)
    path = space.path if space is not None else next(iter(found.vectors), None)
    queries = space.queries if space is not None else next(iter(found.query_vectors), None)
    embed = "rankjury embed {} --text {} --model MODEL -o {}"
    of_items = embed.format(match.products, "title", "items.npz") if match.products else ""
    texts = match.texts or next(iter(found.texts), None)
    of_queries = embed.format(texts, "text", "queries.npz") if texts else ""
    lines = [notes.file_line("path", path, "items.npz", f"vectors of the items: {VECTORS}", of_items)]
    if space is None or space.queries is not None:
        line = notes.file_line("queries", queries, "queries.npz", f"vectors of the queries: {VECTORS}", of_queries)
        lines.append(line)
    more = {} if space is None else {key: value for key, value in space.keys().items() if key.endswith("ids")}
    return [*lines, *(f"{key} = {toml_string(value)}" for key, value in more.items())]
