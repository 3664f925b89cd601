"""Drafts of the driving protocol: text → item and item → item, by keywords."""

from dataclasses import replace

from rankjury.core.text import plural
from rankjury.labeling.keywords.annotations import SEPARATOR
from rankjury.plan.draft import (
    RANDOM_SYSTEM,
    VECTORS,
    DraftNotes,
    register_draft,
    system_lines,
    system_names,
    top_level_lines,
    with_comment,
)
from rankjury.plan.folder_match import file_of_ids, ids_for, match_items
from rankjury.plan.folder_scan import FolderContents
from rankjury.plan.toml import toml_key, toml_string


@register_draft(
    "keywords",
    "Items that have all keywords of a query: of a text, or of another item.",
    rank=50,
    suits=lambda found: bool(found.annotated) and not found.golds and found.reference is None,
    alias="driving",
)
def _draft_keywords(found: FolderContents, notes: DraftNotes) -> list[str]:
    """Return text → item where there are texts with vectors or runs; item → item is then a second plan."""
    texts = next((name for name in found.texts if name not in found.annotated), None)
    vectors = next((name for name in found.query_vectors if _has_ids_of(found, name, texts)), None)
    asks = texts is not None and (vectors is not None or (bool(found.runs) and not found.vectors))
    if asks or (notes.protocol and not found.vectors):
        lines = _keyword_lines(found, notes, texts, vectors, "report", asks_texts=True)
        if found.vectors or not found.runs:
            notes.companions["items"] = _keyword_lines(found, notes, None, None, "items", asks_texts=False)
        return lines
    if texts is not None or notes.protocol:
        what = f"vectors of the texts in {texts or 'queries.jsonl'}"
        notes.missing["queries.npz"] = f"{what}, for text → item: {VECTORS}; without them every item is a query"
    return _keyword_lines(found, notes, None, None, "report", asks_texts=False)


def _has_ids_of(found: FolderContents, vectors: str, texts: str | None) -> bool:
    return ids_for(found, vectors, found.facts_of(texts).items) == ""


def _keyword_lines(
    found: FolderContents, notes: DraftNotes, texts: str | None, vectors: str | None, stem: str, *, asks_texts: bool
) -> list[str]:
    table = next(iter(found.annotated), None)
    columns = found.annotated[table] if table else ["pv_object_type", "pv_actor_behavior", "pv_scene_type"]
    ids = found.facts_of(table).items
    match = match_items(found, [] if asks_texts and not vectors and found.runs else found.vectors, None, "")
    usable = {space.path: ids_for(found, space.path, ids) for space in match.spaces}
    notes.left_out |= {name: f"its ids are not those of {table}" for name, file in usable.items() if file is None}
    spaces = {name: file for name, file in usable.items() if file is not None}
    runs = found.runs if asks_texts or (texts is None and not found.texts) else []
    if table and (spaces or runs) and not notes.summary:
        of = f"the texts in {texts}" if asks_texts else "every item as a query"
        systems = plural(len(spaces) + len(runs), "system", "systems")
        notes.summary = f"{systems} against the keywords in {table}, {of}"
        notes.assumed.append(f"the columns {', '.join(columns)} hold keywords, split by {SEPARATOR}")
    measures = [f"{name}@{k}" for name in ("Recall", "Precision", "NDCG", "MAP") for k in (1, 3, 5)]
    head = ["Recall@1", "Recall@3", "Recall@5", "Precision@5", "NDCG@5", "MAP"]
    bare = replace(found, tables={}, item_tables={}, names=None)
    outputs = [f"{stem}.{suffix}" for suffix in ("html", "json", "md")]
    lines = top_level_lines([*measures, "MAP"], [], bare, notes, outputs, headline=head)
    clips = "one row for each clip: an id, and columns of keywords, several in a cell split by |"
    listed = ", ".join(map(toml_string, columns))
    off = "" if stem == "items" and len(columns) > 2 else "# "
    lines += [
        "",
        "[conventions]",
        with_comment('dialect = "alfa"', "Recall@k divides by k, Precision@k by all that is relevant"),
        "",
        "[gold]",
        'kind = "keywords"',
        notes.file_line("path", table, "unified_annotation.csv", clips),
        with_comment(f"groups = [{listed}]", 'columns; or { object = ["type", "size"], … }'),
        with_comment(
            f"{off}select = [{', '.join(map(toml_string, columns[:2]))}]", "the groups that count; unset: all"
        ),
        '# match = "all"            # any, at-least-2, graded',
    ]
    if asks_texts:
        what = "id, text, and keywords where these are known"
        lines += [
            notes.file_line("queries", texts, "queries.jsonl", what, comment="texts; without it every item is a query"),
            '# keywords = "mapped"      # map all texts; unset: keywords in the file are taken as they are',
            "",
            "[gold.mapping]             # from texts to keywords",
            'method = "exact"           # embedding, keybert: rankjury keywords shows what they find',
            f"synonyms = {toml_string(found.synonyms)}" if found.synonyms else '# synonyms = "synonyms.toml"',
        ]
    elif texts is None:
        lines.append('# queries = "queries.jsonl"   # texts; without it every item is a query')
    taken = {"random"}
    examples = [] if runs else ["vectors.npz:clips"]
    of_clips, of_texts = f"vectors of the clips: {VECTORS}", f"vectors of the texts: {VECTORS}"
    for name, path in system_names(list(spaces) or examples, taken).items():
        known = path in spaces
        lines += ["", f"[systems.{toml_key(name)}]", 'kind = "vectors"']
        lines.append(notes.file_line("path", path if known else None, path, of_clips))
        if known and spaces[path]:
            notes.assumed.append(f"row i of {path} is row i of {file_of_ids(spaces[path])}")
            lines.append(f"ids = {toml_string(spaces[path])}")
        if asks_texts:
            lines.append(notes.file_line("queries", vectors, "vectors.npz:queries", of_texts))
        cut = "threshold = 0.15" if asks_texts and notes.protocol else "# threshold = 0.15"
        lines.append(with_comment(cut, "a result that scores less is not shown, and does not count"))
    for name, path in system_names(runs, taken).items():
        lines += system_lines(name, kind="run", path=path)
    notes.assumed = list(dict.fromkeys(notes.assumed))
    return [*lines, *RANDOM_SYSTEM]
