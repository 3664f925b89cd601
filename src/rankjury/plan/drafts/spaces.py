"""Draft of the movies protocol: embedding spaces and their fusion against ordered lists."""

from rankjury.core.text import plural
from rankjury.plan.draft import (
    RANDOM_SYSTEM,
    VECTORS,
    DraftNotes,
    aspect_for,
    count_queries,
    output_lines,
    register_draft,
    system_lines,
    system_names,
    top_level_lines,
    with_comment,
)
from rankjury.plan.folder_match import file_of_ids, match_items
from rankjury.plan.folder_scan import FolderContents
from rankjury.plan.toml import toml_key, toml_string


@register_draft(
    "spaces",
    "Embedding spaces of one set of items, and their fusion, against ordered lists.",
    rank=20,
    suits=lambda found: bool(found.ordered),
    alias="movies",
)
def _draft_spaces(found: FolderContents, notes: DraftNotes) -> list[str]:
    gold = next(iter(found.ordered), None)
    aspects = found.ordered[gold] if gold else ["overall", "content", "vibes"]
    facts = found.facts_of(gold)
    overall = aspect_for("overall", aspects) or aspects[0]
    match = match_items(found, found.vectors, facts.queries, f"every query of {gold}")
    notes.left_out |= match.left_out | dict.fromkeys(list(found.ordered)[1:], f"another gold; the plan uses {gold}")
    taken = {"combined", "random"}
    files = {space.path: space for space in match.spaces}
    examples = [f"vectors.npz:dense{name}" for name in ("anchor", "content", "vibe")]
    spaces = system_names(list(files) or found.vectors or examples, taken)
    if gold and files:
        fused = " and their fusion" if len(files) > 1 else ""
        notes.summary = (
            f"{plural(len(files), 'embedding', 'embeddings')}{fused} against {gold}{count_queries(facts.queries)}"
        )
    notes.baseline = next(iter(spaces))
    if len(spaces) > 1:
        notes.assumed.append(f"{notes.baseline} is the baseline that the others are compared with")
    k = facts.depth or 5
    lines = top_level_lines(
        ["ndcg(gain=exp)", "hits", "rr"], [k, *({1, 2, 3, 5, 10} - {k})], found, notes,
        ["report.html", "rankjury.json", "scores.csv"], queries=facts.queries,
    )  # fmt: skip
    lines += output_lines("report.json", "retrievers", "means of each system, and every query's scores and top K", k=k)
    lists = '[{"movie_id": "tt1", "5_most_similar_movies_overall_ordered": ["tt2", …], …}, …]'
    lines += ["", "[gold]", 'kind = "ordered"', notes.file_line("path", gold, "gold.json", lists)]
    lines.append(f"# its aspects: {', '.join(aspects)}")
    vectors = f"vectors of the items: {VECTORS}"
    for name, path in spaces.items():
        given = aspect_for(name, aspects) or aspect_for(path, aspects)
        space = files.get(path)
        lines += ["", f"[systems.{toml_key(name)}]", 'kind = "vectors"']
        lines.append(notes.file_line("path", path if path in found.vectors else None, path, vectors))
        if space is not None and space.ids is not None:
            notes.assumed.append(f"row i of {path} is row i of {file_of_ids(space.ids)}")
            lines.append(f"ids = {toml_string(space.ids)}")
        lines.append(_gold_line(given or overall, aspects, assumed=given is None))
        if given is None and len(aspects) > 1:
            others = ", ".join(aspects)
            notes.assumed.append(f"{name} is compared with the lists {overall}: no name tells which of {others}")
        lines += ['# metric = "cosine"        # or ip, l2'] if name == next(iter(spaces)) else []
    if len(spaces) > 1:
        notes.assumed.append("the spaces are fused with equal weights: rankjury tune tries others")
        weights = ", ".join(f"{toml_key(name)} = 1" for name in spaces)
        lines += [
            *system_lines("combined", kind="fusion"),
            f"of = [{', '.join(map(toml_string, spaces))}]",
            'method = "rrf"             # weight / (c + rank), added up',
            f"weights = {{ {weights} }}   # set yours; rankjury tune tries others",
            "c = 60",
            "# depth = 50               # only so many of each list count",
            _gold_line(overall, aspects),
        ]
    lines += RANDOM_SYSTEM
    return [*lines, _gold_line(overall, aspects)]


def _gold_line(aspect: str, aspects: list[str], *, assumed: bool = False) -> str:
    """Return the key gold of a system, with a comment where no name says which aspect it is."""
    others = [f'"{name}"' for name in aspects if name != aspect]
    return with_comment(
        f"gold = {toml_string(aspect)}", f"ASSUMED: or {', '.join(others)}" if assumed and others else ""
    )
